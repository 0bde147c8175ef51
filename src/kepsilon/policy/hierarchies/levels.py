# SPDX-License-Identifier: Apache-2.0
"""What every kind of hierarchy returns: the labels of some values at each level."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Specification(BaseModel):
    """Base of everything that a policy is made of: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Labels of values, level by level from level 1; level 0 is the values themselves.

    Null is not among the values. `table.domains` adds it as a value of its own at every level, except that a top level
    with one label for all has that label for null too.
    """

    labels: tuple[tuple[str, ...], ...]
    """`labels[l - 1][i]` is the label of value i at level l; it means nothing if value i is not covered."""
    not_covered: tuple[int, ...] = ()
    """Positions of the values that the hierarchy does not cover."""
    positions: tuple[float, ...] | None = None
    """Where each value lies: on the number line, or in the order in which the curator listed the values; None where nobody
    wrote an order down."""
    null_labels: tuple[str, ...] | None = None
    """Labels of null from level 1, where the hierarchy lists them."""
    null_position: float | None = None
    """Where null lies among the positions, where the hierarchy lists it."""
    misfit: str | None = None
    """Why the hierarchy cannot place these values together, without any of them; None where it can."""
    top: str | None = field(default=None)
    """The label that all values, null included, share at the top level; None where there are several."""


Labels = Collection[str | None]
"""The distinct labels of a released column; None is a null, and an empty label is one too."""


def levels_allowing(labels: Labels, n_levels: int, allows: Callable[[str | None, int], bool]) -> tuple[int, ...]:
    """Levels, of `n_levels`, at which every one of the labels is allowed; lowest first."""
    return tuple(level for level in range(n_levels) if all(allows(label or None, level) for label in labels))


def levels_below_label(
    labels: Labels, top: int, *, label: str, allows: Callable[[str | None, int], bool]
) -> tuple[int, ...]:
    """Only the level `top` where nothing but its one label is shown; otherwise levels below it that allow every label."""
    if {own or None for own in labels} == {label or None}:
        return (top,)
    return levels_allowing(labels, top, allows)


MOST_MISTAKES = 20
"""Mistakes of one hierarchy that are listed; a hierarchy of many values can have as many."""


def refuse_mistakes(kind: str, mistakes: Iterable[str]) -> None:
    """Raises one pydantic error that holds all mistakes of a hierarchy; `document.problems_of` makes one problem of each."""
    found = list(mistakes)
    if not found:
        return
    n_more = len(found) - MOST_MISTAKES
    if n_more > 0:
        found = [*found[:MOST_MISTAKES], f"and {n_more:,} mistakes more, of the kinds above"]
    raise PydanticCustomError("mistakes", "{problem}", {"problem": "; ".join(found), "mistakes": found, "of": kind})


def first_cycle(edges: Iterable[tuple[str, str]]) -> str | None:
    """A label that is its own ancestor by way of another label, or None.

    Each level may be valid by itself, but A under B at one level and B under A at another is a mistake.
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
    """Levels of some values, from a table with the labels of every listed value, in the order in which they are listed."""
    rank = {value: float(i) for i, value in enumerate(labels_of)}
    unknown = ("",) * n_levels
    listed = [labels_of.get(value, unknown) for value in values]
    return Levels(
        labels=tuple(tuple(labels[level] for labels in listed) for level in range(n_levels)),
        not_covered=tuple(i for i, value in enumerate(values) if value not in labels_of),
        positions=tuple(rank.get(value, 0.0) for value in values),
    )
