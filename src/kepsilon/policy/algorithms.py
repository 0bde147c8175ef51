# SPDX-License-Identifier: Apache-2.0
"""The table of algorithms that the package comes with: what a policy has to know of each, and where it is found.

The facts stand here and not beside the searches, because a policy is also read where no search may be loaded: an audit
shares no code with what it checks. A new algorithm is one file with a `find`, and one line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kepsilon.policy.choices import ALGORITHMS


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """An algorithm whose file is imported when classes are first asked of it."""

    name: str
    title: str
    needs_hierarchies: bool
    may_suppress: bool
    has_levels: bool
    home: str
    """The module with its `find`."""

    @property
    def find(self) -> Callable[..., Any]:
        """As `kanonymise.algorithms.protocol.Algorithm` has it."""
        found: Callable[..., Any] = import_module(self.home).find
        return found


_HOME = "kepsilon.kanonymise.algorithms"

for _algorithm in (
    BuiltIn(
        name="ola", title="OLA", needs_hierarchies=True, may_suppress=True, has_levels=True, home=f"{_HOME}.ola",
    ),
    BuiltIn(
        name="mondrian", title="Mondrian", needs_hierarchies=False, may_suppress=False, has_levels=False, home=f"{_HOME}.mondrian",
    ),
):  # fmt: skip
    ALGORITHMS.add(_algorithm)
