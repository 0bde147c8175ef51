# SPDX-License-Identifier: Apache-2.0
"""A hierarchy of categories: listed groups of values, then listed groups of groups, then one label for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kepsilon.policy.hierarchies.levels import (
    Labels,
    Levels,
    Specification,
    first_cycle,
    levels_allowing,
    look_up,
    refuse_mistakes,
)

Member = str | int
Groups = Annotated[dict[str, Annotated[tuple[Member, ...], Field(min_length=1)]], Field(min_length=1)]


class GroupsHierarchy(Specification):
    type: Literal["groups"]
    levels: Annotated[tuple[Groups, ...], Field(min_length=1)]
    label: str = "*"

    @model_validator(mode="after")
    def _each_level_places_every_label_below_once(self) -> Self:
        refuse_mistakes("groups", self._problems())
        return self

    def _problems(self) -> Iterator[str]:
        below: set[str] | None = None
        for number, groups in enumerate(self.levels, start=1):
            seen: dict[str, str] = {}
            for label, members in groups.items():
                for member in map(str, members):
                    if member in seen:
                        yield f'level {number} gives "{member}" two parents, "{seen[member]}" and "{label}"'
                    seen[member] = label
            if below is not None:
                for label in sorted(below - seen.keys()):
                    yield f'level {number} does not place "{label}" of level {number - 1}'
                for member in sorted(seen.keys() - below):
                    yield f'level {number} places "{member}", which is not a label of level {number - 1}'
            below = set(groups)
        cyclic = first_cycle((str(m), label) for groups in self.levels for label, ms in groups.items() for m in ms)
        if cyclic is not None:
            yield f'"{cyclic}" is its own ancestor: the hierarchy is cyclic'

    @property
    def height(self) -> int:
        """The highest level, the one label for all."""
        return len(self.levels) + 1

    def level_in_words(self, level: int) -> str:  # noqa: ARG002 (its levels have no names)
        return ""

    def place(self, values: Sequence[str]) -> Levels:
        parents = [{str(m): label for label, ms in groups.items() for m in ms} for groups in self.levels]
        labels_of: dict[str, tuple[str, ...]] = {}
        for value in self._in_order():
            chain = [value]
            for level in parents:
                chain.append(level[chain[-1]])
            labels_of[value] = (*chain[1:], self.label)
        listed = look_up(values, labels_of, n_levels=len(parents) + 1)
        return replace(listed, top=self.label)

    def _in_order(self) -> list[str]:
        """All values in the order in which the curator wrote the groups, from the coarsest level down."""
        ordered = list(self.levels[-1])
        for groups in reversed(self.levels):
            ordered = [str(member) for label in ordered for member in groups[label]]
        return ordered

    def levels_of(self, labels: Labels) -> tuple[int, ...]:
        """Levels at which these can be the labels of a column."""
        listed = [{str(member) for members in self.levels[0].values() for member in members}, *map(set, self.levels)]
        below = [{label or None for label in own} | {None} for own in listed]
        by_level: list[set[str | None]] = [*below, {self.label or None}]
        return levels_allowing(labels, len(by_level), lambda label, level: label in by_level[level])
