# SPDX-License-Identifier: Apache-2.0
"""Reads a published label: which values of the original it covers, its loss, and whether it shows more than it may.

This follows the documented meaning of labels, not the code that writes them. A value stands for itself, a label of the
hierarchy for all values below it, `{a, b}` for a set of siblings or of values, `[a, b)` for the numbers from a up to, not
including, b, `null or …` for an interval and missing values, and `*` for everything.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.auditing.tables import Original, n_persons
from kepsilon.policy.hierarchies import IntervalsHierarchy
from kepsilon.policy.numbers import parse_number
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import KQuasi, fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain, Label

NULL = "null"
OR_NULL = "null or "
INTERVAL = re.compile(r"\[(-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?)\)")
MOST_SIBLINGS = 4
BEYOND_LEVEL = "hold values that max_level keeps apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLabel:
    """The meaning of one label."""

    covers: BoolArray
    """Whether the label covers each value of the domain, by code, shape (n_values,)."""
    loss: float
    """Loss of the label; NaN where it can be read in several ways with different losses."""
    is_narrow: bool
    """Whether the label covers no value beyond the cuts that made its class."""
    too_much: str | None = None
    """What the label shows though it may not, in words; None where it keeps to the policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRules:
    """What a label of one k-quasi may show."""

    shows_regions: bool
    """Whether labels are regions of hierarchy and number line (`labels = "ancestor"`)."""
    step: Fraction | None
    """The public step of numbers, if the attribute has one."""
    k: int
    counts: IntArray
    """Originals, or persons, that hold each value, by code, shape (n_values,)."""
    counted: str = "records"
    """What `counts` counts, in words."""
    regions: IntArray | None = None
    """The region of `max_level` that each value lies in, by code, shape (n_values,); None where labels may hold any."""
    widest: tuple[Fraction, Fraction] | None = None
    """Where intervals of `max_level` begin, and their width; None where labels of numbers may have any width."""


class LabelReader:
    """Reads the labels of one k-quasi, as local algorithms publish them."""

    def __init__(self, domain: Domain, rules: LabelRules) -> None:
        self._domain = domain
        self._rules = rules
        self._codes = [{label: code for code, label in enumerate(labels)} for labels in domain.levels]
        self._is_null = np.array([value is None for value in domain.levels[0]], dtype=np.bool_)
        if rules.step is not None:
            numbers = [Fraction(0) if value is None else parse_number(value) for value in domain.levels[0]]
            by_code = [Fraction(0) if number is None else number for number in numbers]
            self._numbers = sorted(set(by_code))
            rank = {number: i for i, number in enumerate(self._numbers)}
            self._ranks: IntArray = np.array([rank[number] for number in by_code], dtype=np.int64)
            self._floats: FloatArray = np.array([float(number) for number in by_code])

    def read(self, label: Label) -> ReadLabel | None:
        """The meaning of a label, all its readings together; None if it cannot be understood.

        Readings that show too much count only if there is no other.
        """
        found = self._numeric(label, self._rules.step) if self._rules.step is not None else self._categories(label)
        readings = [reading for reading in found if reading.covers.any()]
        readings = [reading for reading in readings if reading.too_much is None] or readings
        if not readings:
            return None
        covers = np.logical_or.reduce([reading.covers for reading in readings])
        losses = {reading.loss for reading in readings}
        return ReadLabel(
            covers=covers,
            loss=losses.pop() if len(losses) == 1 else np.nan,
            is_narrow=all(reading.is_narrow and np.array_equal(reading.covers, covers) for reading in readings),
            too_much=readings[0].too_much,
        )

    def _numeric(self, label: Label, step: Fraction) -> Iterator[ReadLabel]:
        """The way to read a label of numbers on a step."""
        if label is None:
            yield self._reading(self._is_null, is_narrow=True)
        elif label == "*":
            yield self._reading(np.ones_like(self._is_null), is_narrow=False)
        else:
            interval = INTERVAL.fullmatch(label.removeprefix(OR_NULL))
            low, high = (Fraction(text) for text in interval.groups()) if interval else (Fraction(0), Fraction(0))
            if low >= high:
                return
            with_null = label.startswith(OR_NULL)
            first, end = bisect_left(self._numbers, low), bisect_left(self._numbers, high)
            inside = (self._ranks >= first) & (self._ranks < end)
            too_much = None
            n_cells = (high - low) / step
            if low % step or high % step:
                too_much = "have a bound that is no multiple of the step"
            elif self._rules.shows_regions and (not _is_power_of_two(n_cells) or low % (high - low)):
                too_much = 'are no regions, which labels = "ancestor" asks for'
            elif self._rules.widest is not None and not _is_inside_one(low, high, *self._rules.widest):
                too_much = BEYOND_LEVEL
            yield self._reading(
                np.where(self._is_null, with_null, inside),
                is_narrow=not self._rules.shows_regions or n_cells == 1,
                too_much=too_much,
            )

    def _categories(self, label: Label) -> Iterator[ReadLabel]:
        """Every way to read a label of categories: as everything, at each level of the hierarchy, and as a set."""
        domain = self._domain
        is_set = label is not None and label.startswith("{") and label.endswith("}")
        has_no_top = not domain.generalises or len(domain.levels[-1]) > 1
        if label == "*" and has_no_top:
            yield self._reading(np.ones_like(self._is_null), is_narrow=False)
            if not domain.generalises:
                return  # a value that is called * is published as a set
        for level, codes in enumerate(self._codes if domain.generalises else self._codes[:1]):
            if label in codes and not is_set:
                covers = domain.at_level(level) == codes[label]
                yield self._reading(covers, is_narrow=int(covers.sum()) == 1)
        members = members_of(label) if is_set and label is not None else None
        if members is None:
            return
        for level, codes in enumerate(self._codes if domain.generalises else self._codes[:1]):
            if set(members) <= set(codes) and (len(members) > 1 or _needs_braces(members[0])):
                nodes = [codes[member] for member in members]
                covers = np.isin(domain.at_level(level), nodes)
                yield self._reading(
                    covers,
                    is_narrow=int(covers.sum()) == len(nodes),
                    too_much=self._too_much(nodes, level) if len(nodes) > 1 else None,
                )

    def _too_much(self, nodes: list[int], level: int) -> str | None:
        """Why a set of several nodes of one level may not be shown; None if it may."""
        domain, rules = self._domain, self._rules
        if nodes != sorted(set(nodes)):
            return "name values in another order than that of the hierarchy, or one of them twice"
        if rules.shows_regions:
            return 'are sets, which labels = "ancestor" does not publish'
        if not domain.generalises:
            is_rare = bool((rules.counts[nodes] < rules.k).any())
            return f"name a value of the original that fewer than k {rules.counted} hold" if is_rare else None
        if len(nodes) > MOST_SIBLINGS:
            return f"name more than {MOST_SIBLINGS} siblings"
        parents = set(domain.up[level][nodes].tolist()) if level + 1 < domain.n_levels else {0}
        return "name labels of the hierarchy that are no siblings" if len(parents) > 1 else None

    def _reading(self, covers: BoolArray, *, is_narrow: bool, too_much: str | None = None) -> ReadLabel:
        """One way to read a label, with its loss: the share of what occurs that it leaves open."""
        if self._rules.step is not None:
            numbers = self._floats[~self._is_null]
            width = float(numbers.max() - numbers.min()) if numbers.size else 0.0
            covered = self._floats[covers & ~self._is_null]
            lowest = numbers if covers[self._is_null].any() else covered
            loss = float(covered.max() - lowest.min()) / (width or 1.0) if covered.size else 0.0
        else:
            loss = (int(covers.sum()) - 1) / max(1, self._domain.n_values - 1)
        regions = self._rules.regions
        if too_much is None and regions is not None and len(set(regions[covers].tolist())) > 1:
            too_much = BEYOND_LEVEL
        return ReadLabel(covers=covers, loss=loss, is_narrow=is_narrow, too_much=too_much)


def label_reader(original: Original, policy: Policy, name: str) -> LabelReader:
    """The reader of one k-quasi's labels, by what the policy says and the original holds."""
    domain, step = original.domains[name], policy.k_quasis[name].step
    codes, persons = original.codes[name][original.stays], original.persons
    rules = LabelRules(
        shows_regions=policy.labels == "ancestor",
        step=None if step is None else fraction(step),
        k=policy.k,
        counts=np.bincount(codes, minlength=domain.n_values)
        if persons is None
        else n_persons(codes, persons[original.stays], n_classes=domain.n_values),
        counted="records" if persons is None else "persons",
        regions=_regions(domain, policy.k_quasis[name]),
        widest=_widest(policy.k_quasis[name]),
    )
    return LabelReader(domain, rules)


def _regions(domain: Domain, attribute: KQuasi) -> IntArray | None:
    """Number of the region of `max_level` that each value lies in; None where nothing limits labels."""
    if attribute.max_level is None:
        return None
    if attribute.hierarchy is not None:
        return domain.at_level(attribute.max_level)
    widest = _widest(attribute)
    numbers = [None if value is None else parse_number(value) for value in domain.levels[0]]
    places = [None if number is None or widest is None else number // widest[1] for number in numbers]
    known = {place: i for i, place in enumerate(dict.fromkeys(places))}
    return np.array([known[place] for place in places], dtype=np.int64)


def _widest(attribute: KQuasi) -> tuple[Fraction, Fraction] | None:
    """Where intervals of `max_level` begin, and their width; None where numbers have no step, or no limit."""
    level, step, hierarchy = attribute.max_level, attribute.step, attribute.hierarchy
    if level is None or step is None:
        return None
    if hierarchy is None:
        return Fraction(0), fraction(step) * 2**level
    if isinstance(hierarchy, IntervalsHierarchy) and 0 < level <= len(hierarchy.widths):
        return fraction(hierarchy.origin), fraction(hierarchy.widths[level - 1])
    return None


def _is_inside_one(low: Fraction, high: Fraction, origin: Fraction, width: Fraction) -> bool:
    """Whether the interval lies in one of those of a width that begin at the origin."""
    return high - origin <= ((low - origin) // width + 1) * width


def levels_of(domain: Domain, labels: tuple[Label, ...]) -> tuple[int, ...]:
    """Levels of the hierarchy that have all of these labels; empty if the labels are not those of one level."""
    return tuple(level for level, known in enumerate(domain.levels) if set(labels) <= set(known))


def label_of_values(domain: Domain, level: int, labels: tuple[Label, ...]) -> IntArray:
    """Number of the label that each value of the domain has at a level, by code, shape (n_values,).

    `labels` are numbered as they stand; the others of the level follow in the order in which values have them. Levels
    that divide the values in the same way, and show the same labels for them, have the same numbers.
    """
    numbers = {label: i for i, label in enumerate(labels)}
    of_label = domain.levels[level]
    return np.array(
        [numbers.setdefault(of_label[i], len(numbers)) for i in domain.at_level(level).tolist()], dtype=np.int64
    )


def _is_power_of_two(number: Fraction) -> bool:
    return number.denominator == 1 and number.numerator.bit_count() == 1


def _needs_braces(member: Label) -> bool:
    """Whether a single value is published as a set of one, because it could be taken for a set or for everything."""
    return member is not None and (member == "*" or (member.startswith("{") and member.endswith("}")))


def members_of(label: str) -> list[Label] | None:
    """The values of a set such as {A, "C, D", null}, in their order; None if it is not well formed."""
    rest, members = label[1:-1], list[Label]()
    while True:
        if rest.startswith('"'):
            try:
                member, end = json.JSONDecoder().raw_decode(rest)
            except ValueError:
                return None
            members.append(str(member))
        else:
            end = rest.find(", ") if ", " in rest else len(rest)
            members.append(None if rest[:end] == NULL else rest[:end])
        rest = rest[end:]
        if not rest:
            return members
        if not rest.startswith(", "):
            return None
        rest = rest[2:]
