# SPDX-License-Identifier: Apache-2.0
"""The shortest hierarchy: the value, then one label for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kepsilon.policy.hierarchies.levels import Labels, Levels, Specification


class SuppressHierarchy(Specification):
    type: Literal["suppress"]
    label: str = "*"

    @property
    def height(self) -> int:
        """The highest level, the one label for all."""
        return 1

    def level_in_words(self, level: int) -> str:  # noqa: ARG002 (its levels have no names)
        return ""

    def place(self, values: Sequence[str]) -> Levels:
        return Levels(labels=((self.label,) * len(values),), top=self.label)

    def levels_of(self, labels: Labels) -> tuple[int, ...]:
        """Level 1 for a column of nothing but the top label, which is not taken for a value; level 0 for any other."""
        return (1,) if {label or None for label in labels} == {self.label or None} else (0,)
