# SPDX-License-Identifier: Apache-2.0
"""The mechanisms that come with the package: the facts that a policy needs about each, and the module that holds it.

The facts stand here and not beside the mechanisms, because an audit reads the policy too, and must not load the code
that it checks. A new mechanism is one module with a value `MECHANISM`, a promise in words in `promises`, and one entry
here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kepsilon.policy import promises
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.exact_bounds import MOST_EPSILON_QUASIS


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInMechanism:
    """A mechanism of the package, whose module is imported when `mechanism` is first read."""

    name: str
    range_kinds: tuple[str, ...]
    most_attributes: int
    nearest_is_likeliest: bool
    promise: Callable[[str, Any, Any], str]
    home: str
    """Name of the module that defines `MECHANISM`."""

    @property
    def mechanism(self) -> Any:
        """The mechanism itself; `perturb.mechanisms.protocol.Mechanism` describes it."""
        return import_module(self.home).MECHANISM


_HOME = "kepsilon.perturb.mechanisms"

for _mechanism in (
    BuiltInMechanism(
        name="laplace",
        range_kinds=("class", "coarse", "declared"),
        most_attributes=MOST_EPSILON_QUASIS,
        nearest_is_likeliest=True,
        promise=promises.laplace,
        home=f"{_HOME}.laplace",
    ),
    BuiltInMechanism(
        name="bounded-laplace",
        range_kinds=("coarse", "declared"),
        most_attributes=MOST_EPSILON_QUASIS,
        nearest_is_likeliest=False,
        promise=promises.bounded_laplace,
        home=f"{_HOME}.bounded_laplace",
    ),
):
    MECHANISMS.add(_mechanism)
