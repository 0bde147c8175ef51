# SPDX-License-Identifier: Apache-2.0
"""A hierarchy of codes such as ZIP, one more character masked per level: 23740, 2374*, 237**, … *****."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from kepsilon.policy.hierarchies.levels import Levels, Specification


class MaskHierarchy(Specification):
    type: Literal["mask"]
    side: Literal["right", "left"] = "right"
    """Which end is masked first."""
    char: Annotated[str, Field(min_length=1, max_length=1)] = "*"
    label: str | None = None
    """Label of the top level; by default the mask character, as often as a value has characters."""

    length: Annotated[int, Field(ge=1, le=100)] | None = None
    """Number of characters of a value; by default that of the longest, even if its record is suppressed later."""

    def level_in_words(self, level: int) -> str:
        where = "last" if self.side == "right" else "first"
        return f"its {where} {f'{level} characters' if level > 1 else 'character'} masked"

    def place(self, values: Sequence[str]) -> Levels:
        """One level per character; values shorter than `length` are padded, longer ones are not covered."""
        length = self.length or max(map(len, values), default=1) or 1
        top = self.label if self.label is not None else self.char * length
        labels = [tuple(self._masked(value, level, length) for value in values) for level in range(1, length)]
        return Levels(
            labels=(*labels, (top,) * len(values)),
            not_covered=tuple(i for i, value in enumerate(values) if len(value) > length),
            top=top,
        )

    def _masked(self, value: str, level: int, length: int) -> str:
        n_shown = length - level
        if self.side == "right":
            return value.ljust(length, self.char)[:n_shown] + self.char * level
        return self.char * level + value.rjust(length, self.char)[level:]
