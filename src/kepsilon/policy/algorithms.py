# SPDX-License-Identifier: Apache-2.0
"""The algorithms that come with the package: the facts that a policy needs about each, and the module that holds it.

The facts stand here and not beside the algorithms, because an audit reads the policy too, and must not load the code
that it checks. A new algorithm is one module with a function `find`, and one entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kepsilon.policy.choices import ALGORITHMS


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInAlgorithm:
    """An algorithm of the package, whose module is imported when `find` is first read."""

    name: str
    title: str
    home: str
    """Name of the module that defines `find`."""
    needs_hierarchies: bool = False
    may_suppress: bool = True
    suppresses_freely: bool = False
    cuts_apart: bool = True
    has_levels: bool = False

    @property
    def find(self) -> Callable[..., Any]:
        """The function that finds classes; `kanonymise.algorithms.protocol.Algorithm` describes it."""
        found: Callable[..., Any] = import_module(self.home).find
        return found


_HOME = "kepsilon.kanonymise.algorithms"

for _algorithm in (
    BuiltInAlgorithm(
        name="ola",
        title="OLA",
        needs_hierarchies=True,
        may_suppress=True,
        suppresses_freely=True,
        has_levels=True,
        home=f"{_HOME}.ola",
    ),
    BuiltInAlgorithm(name="mondrian", title="Mondrian", home=f"{_HOME}.mondrian"),
    BuiltInAlgorithm(name="local-recoding", title="Local recoding", cuts_apart=False, home=f"{_HOME}.local_recoding"),
):
    ALGORITHMS.add(_algorithm)
