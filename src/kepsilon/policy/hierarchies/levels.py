# SPDX-License-Identifier: Apache-2.0
"""What every kind of hierarchy gives: the labels of some values at each level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict


class Specification(BaseModel):
    """A part of the policy: frozen, and refusing keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Labels of values, level by level from level 1; level 0 is the values themselves.

    Null is not among the values: it is a value of its own at every level, and joins the others at a top that has one
    label for all (`table.domains` sees to that).
    """

    labels: tuple[tuple[str, ...], ...]
    """`labels[l - 1][i]` is value i at level l. Labels of values that are not covered mean nothing."""
    not_covered: tuple[int, ...] = ()
    """Positions of values the hierarchy cannot place."""
    positions: tuple[float, ...] | None = None
    """Where each value lies on the number line, if it does."""
    null_labels: tuple[str, ...] | None = None
    """Labels of null from level 1, where the curator wrote them down."""
    top: str | None = field(default=None)
    """The one label that all values share at the top, null included."""


def first_cycle(edges: Iterable[tuple[str, str]]) -> str | None:
    """A label that is its own ancestor by way of another label, or None.

    Such a hierarchy can be nested level by level, but it is a mistake all the same: A under B and B under A.
    """
    parents: dict[str, set[str]] = {}
    for child, parent in edges:
        if child != parent:
            parents.setdefault(child, set()).add(parent)
    done: set[str] = set()
    for start in parents:
        path: dict[str, None] = {}
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            label, leaving = stack.pop()
            if leaving:
                path.pop(label)
                done.add(label)
            elif label in path:
                return label
            elif label not in done:
                path[label] = None
                stack.append((label, True))
                stack.extend((parent, False) for parent in parents.get(label, ()))
    return None


def look_up(values: Sequence[str], labels_of: Mapping[str, Sequence[str]], *, n_levels: int) -> Levels:
    """Levels of values that are listed one by one."""
    unknown = ("",) * n_levels
    listed = [labels_of.get(value, unknown) for value in values]
    return Levels(
        labels=tuple(tuple(labels[level] for labels in listed) for level in range(n_levels)),
        not_covered=tuple(i for i, value in enumerate(values) if value not in labels_of),
    )
