# SPDX-License-Identifier: Apache-2.0
"""A hierarchy of codes such as ZIP, one more character masked per level: 23740, 2374*, 237**, … *****."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from kepsilon.policy.hierarchies.levels import Labels, Levels, Specification


class MaskHierarchy(Specification):
    type: Literal["mask"]
    side: Literal["right", "left"] = "right"
    """Which end is masked first."""
    char: Annotated[str, Field(min_length=1, max_length=1)] = "*"
    label: str | None = None
    """Label of the top level; by default the mask character, as often as a value has characters."""

    length: Annotated[int, Field(ge=1, le=100)] | None = None
    """Number of characters that a value can have: a public number. It may be left out where all values have equally many.

    The longest value of the data does not set it, because one record would then show in the labels of all.
    """

    @property
    def height(self) -> int | None:
        """The highest level, at which every character is masked; None where only the data tells the length."""
        return self.length

    def level_in_words(self, level: int) -> str:
        where = "last" if self.side == "right" else "first"
        return f"its {where} {f'{level} characters' if level > 1 else 'character'} masked"

    def place(self, values: Sequence[str]) -> Levels:
        """One level per character; values shorter than `length` are padded, longer ones are not covered.

        Without `length`, values of the most frequent length are covered, and any other length is a misfit.
        """
        lengths = Counter(map(len, values))
        commonest = max(lengths, key=lambda own: (lengths[own], -own), default=1)
        length = self.length or commonest or 1
        top = self.label if self.label is not None else self.char * length
        labels = [tuple(self._masked(value, level, length) for value in values) for level in range(1, length)]
        # In the order of what masks show last, so that it depends on no other value which of two labels comes first.
        padded = [self._masked(value, 0, length)[:: 1 if self.side == "right" else -1] for value in values]
        place = {own: float(i) for i, own in enumerate(sorted(set(padded)))}
        return Levels(
            labels=(*labels, (top,) * len(values)),
            not_covered=tuple(
                i
                for i, value in enumerate(values)
                if len(value) > length or (self.length is None and len(value) != length)
            ),
            positions=tuple(place[own] for own in padded),
            misfit=None if self.length is not None or len(lengths) < 2 else _unequal(lengths),
            top=top,
        )

    def levels_of(self, labels: Labels) -> tuple[int, ...]:
        """The one level that the labels are read at, or none if a label is longer than a value may be.

        Mask characters at the masked end are read as masked characters, not as those of a value or as padding. The level
        is the number of them that all labels have; so it is the finest level at which no label would need more.
        """
        if self.label is not None and {label or None for label in labels} == {self.label or None}:
            return (self.length or 1,)  # without a length, labels do not tell how many levels there are
        texts = [label for label in labels if label]
        lengths = {len(text) for text in texts}
        if self.length is not None and max(lengths, default=0) > self.length:
            return ()
        if len(lengths) != 1 or lengths != {self.length or max(lengths)}:
            return (0,)
        highest = max(lengths) - (self.label is not None)
        return (min(highest, *(self._n_masked(text) for text in texts)),)

    def _n_masked(self, text: str) -> int:
        """Number of mask characters at the end that is masked first."""
        rest = text.rstrip(self.char) if self.side == "right" else text.lstrip(self.char)
        return len(text) - len(rest)

    def _masked(self, value: str, level: int, length: int) -> str:
        n_shown = length - level
        if self.side == "right":
            return value.ljust(length, self.char)[:n_shown] + self.char * level
        return self.char * level + value.rjust(length, self.char)[level:]


def _unequal(lengths: Mapping[int, int]) -> str:
    """Why a length has to be stated, from how many values have each length; the most frequent lengths first."""
    ranked = sorted(lengths, key=lambda own: (-lengths[own], own))
    shown = ", ".join(f"{own} characters: {lengths[own]:,}" for own in ranked[:4])
    others = sum(lengths[own] for own in ranked[4:])
    return (
        f"its different values have unequal lengths ({shown}{f', other lengths: {others:,}' if others else ''}), and its mask "
        "states no length."
    )
