# SPDX-License-Identifier: Apache-2.0
"""Reads a published label: which values of the original it covers, and its precision loss.

This follows the documented meaning of labels, not the code that writes them: a value stands for itself, a label of the
hierarchy for all values below it, `{a, b}` for a set, `[a, b]`, `(a, b]`, `<= a` and `> a` for intervals between values
that occur, `null or …` for an interval and missing values, `not null` for all but missing values, and `*` for everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.tables import folded
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain, Label

NULL = "null"
OR_NULL = "null or "


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLabel:
    """The meaning of one label."""

    covers: BoolArray
    """Whether the label covers each value of the domain, by code, shape (n_values,)."""
    loss: float
    """Precision loss; NaN where the label can be read in several ways with different losses."""


def read_label(domain: Domain, label: Label, *, reads_empty_as_null: bool = False) -> ReadLabel | None:
    """The meaning of a label of Mondrian, all its readings together; None if it cannot be understood."""
    written: tuple[Label, ...] = (label, "") if label is None and reads_empty_as_null else (label,)
    readings = [reading for own in written for reading in _readings(domain, own) if reading.covers.any()]
    if not readings:
        return None
    covers = np.logical_or.reduce([reading.covers for reading in readings])
    losses = {reading.loss for reading in readings}
    return ReadLabel(covers=covers, loss=losses.pop() if len(losses) == 1 else np.nan)


def levels_of(domain: Domain, labels: tuple[Label, ...], *, reads_empty_as_null: bool = False) -> tuple[int, ...]:
    """Levels of the hierarchy that have all of these labels; empty if the labels are not those of one level."""
    return tuple(
        level
        for level, known in enumerate(domain.levels)
        if set(labels) <= {folded(label, reads_empty_as_null) for label in known}
    )


def label_of_values(
    domain: Domain, level: int, labels: tuple[Label, ...], *, reads_empty_as_null: bool = False
) -> IntArray:
    """Number of the label that each value of the domain has at a level, by code, shape (n_values,).

    `labels` are numbered as they stand; the others of the level follow in the order in which values have them. Levels
    that divide the values in the same way, and show the same labels for them, have the same numbers.
    """
    numbers = {label: i for i, label in enumerate(labels)}
    of_label = [folded(label, reads_empty_as_null) for label in domain.levels[level]]
    return np.array(
        [numbers.setdefault(of_label[i], len(numbers)) for i in domain.at_level(level).tolist()], dtype=np.int64
    )


def _readings(domain: Domain, label: Label) -> Iterator[ReadLabel]:
    """Every way to read the label: as an interval, at each level of the hierarchy that has it, and as a set."""
    if domain.positions is not None:
        yield from _intervals(domain, domain.positions, label)
        return
    is_set = label is not None and label.startswith("{") and label.endswith("}")
    for level, known in enumerate(domain.levels if domain.generalises else domain.levels[:1]):
        if label in known:
            covers = domain.at_level(level) == known.index(label)
            yield ReadLabel(covers=covers, loss=level / max(1, domain.n_levels - 1))
    if is_set and label is not None:
        members = _members(label)
        if members is not None and members <= set(domain.levels[0]):
            covers = np.array([value in members for value in domain.levels[0]], dtype=np.bool_)
            yield ReadLabel(covers=covers, loss=(len(members) - 1) / max(1, domain.n_values - 1))


def _intervals(domain: Domain, positions: FloatArray, label: Label) -> Iterator[ReadLabel]:
    """Every way to read a label of numbers or dates; `positions` holds these by code, NaN for the missing value."""
    is_null = np.isnan(positions)
    everything = np.ones(domain.n_values, dtype=np.bool_)
    numbers = positions[~is_null]
    lowest, highest = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    width = highest - lowest or 1.0
    if label is None:
        yield ReadLabel(covers=is_null, loss=0.0)
        return
    if label == "*":
        yield ReadLabel(covers=everything, loss=1.0)
    place = {text: float(at) for text, at in zip(domain.levels[0], positions, strict=True) if text is not None}
    with_null = label.startswith(OR_NULL)
    rest = label.removeprefix(OR_NULL)

    def between(low: float, high: float, loss: float) -> ReadLabel:
        """The reading that covers the values from low to high, and missing ones where the label says so."""
        with np.errstate(invalid="ignore"):
            covers = (positions >= low) & (positions <= high)
        return ReadLabel(covers=covers | (is_null & with_null), loss=loss)

    def after(low: float) -> float:
        """The smallest value above `low`: the first one covered where `low` is an open bound."""
        return float(numbers[numbers > low].min(initial=np.inf))

    start = lowest if with_null else None
    if rest in place:
        own = place[rest]
        yield between(own, own, (own - lowest) / width if with_null else 0.0)
    if rest == "not null":
        yield between(lowest, highest, 1.0)
    if rest.startswith("<= ") and rest[3:] in place:
        yield between(-np.inf, place[rest[3:]], (place[rest[3:]] - lowest) / width)
    if rest.startswith("> ") and rest[2:] in place:
        yield between(after(place[rest[2:]]), np.inf, (highest - place[rest[2:]]) / width)
    for low, high in _pairs(rest, "[", "]", place):
        yield between(low, high, (high - (low if start is None else start)) / width)
    for low, high in _pairs(rest, "(", "]", place):
        yield between(after(low), high, (high - low) / width)


def _pairs(text: str, opening: str, closing: str, place: dict[str, float]) -> Iterator[tuple[float, float]]:
    """Both ends of an interval, for each way to cut its text into two values that occur; values may hold commas."""
    if not (text.startswith(opening) and text.endswith(closing)):
        return
    parts = text[1:-1].split(", ")
    for cut in range(1, len(parts)):
        low, high = ", ".join(parts[:cut]), ", ".join(parts[cut:])
        if low in place and high in place and place[low] <= place[high]:
            yield place[low], place[high]


def _members(label: str) -> set[Label] | None:
    """The values of a set such as {A, "C, D", null}; None if it is not well formed."""
    rest, members = label[1:-1], set[Label]()
    while True:
        if rest.startswith('"'):
            try:
                member, end = json.JSONDecoder().raw_decode(rest)
            except ValueError:
                return None
            members.add(str(member))
        else:
            end = rest.find(", ") if ", " in rest else len(rest)
            members.add(None if rest[:end] == NULL else rest[:end])
        rest = rest[end:]
        if not rest:
            return members
        if not rest.startswith(", "):
            return None
        rest = rest[2:]
