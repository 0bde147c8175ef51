# SPDX-License-Identifier: Apache-2.0
"""The table of mechanisms that the package comes with: what a policy has to know of each, and where it is found.

The facts stand here and not beside the draws, because a policy is also read where nothing that draws may be loaded: an
audit shares no code with what it checks. A new mechanism is one file with a `MECHANISM`, and one line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.exact_bounds import MOST_EPSILON_QUASIS


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A mechanism whose file is imported when it is first asked for."""

    name: str
    range_kinds: tuple[str, ...]
    most_attributes: int
    home: str
    """The module with its `MECHANISM`."""

    @property
    def mechanism(self) -> Any:
        """As `perturb.mechanisms.protocol.Mechanism` has it."""
        return import_module(self.home).MECHANISM


_HOME = "kepsilon.perturb.mechanisms"

for _mechanism in (
    BuiltIn(
        name="laplace",
        range_kinds=("class", "coarse", "declared"),
        most_attributes=MOST_EPSILON_QUASIS,
        home=f"{_HOME}.laplace",
    ),
):
    MECHANISMS.add(_mechanism)
