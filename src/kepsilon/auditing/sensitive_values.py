# SPDX-License-Identifier: Apache-2.0
"""Sensitive values of originals and release: how varied those of a class are, and how far from those of all records.

A missing value is no value. Everything is decided by whole numbers, apart from entropy, which is a logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kepsilon.auditing.tables import ZEROS_OF_SECONDS, Original, Released
from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.errors import DataError
from kepsilon.policy.numbers import parse_double
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import Kept, LDiversity, fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Label

MISSING = -1
"""In place of a value, where it is missing."""

NAN = "nan"
"""A double that is no number, as text: no value in a column of numbers."""

ENTROPY_SLACK = 1e-9
"""An entropy so little below what is asked for meets it: logarithms are rounded."""

FITS = 1 << 62
"""Products below this fit into 64 bits; larger ones are worked out with Python's integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveColumn:
    """One sensitive column; values are numbers from 0, in the order of numbers where all of them are such."""

    of_original: IntArray
    """Value of each original, or MISSING, shape (n_originals,); of no meaning for records that do not stay."""
    of_released: IntArray
    """Value of each released record, or MISSING, shape (n_released,)."""
    n_values: int
    is_ordered: bool
    """Whether all values are numbers."""
    is_number: BoolArray
    """Whether each value is a number, shape (n_values,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesInClasses:
    """How often each value occurs in each class: pairs of a class and a value, by class and then by value."""

    class_ids: IntArray
    values: IntArray
    counts: IntArray
    n_classes: int

    @classmethod
    def of(cls, class_ids: IntArray, values: IntArray, *, n_classes: int) -> ValuesInClasses:
        """Counts records; class and value of each have one shape, and those without class (−1) or value are left out."""
        is_counted = (class_ids >= 0) & (values != MISSING)
        pairs, counts = np.unique(
            np.stack([class_ids[is_counted], values[is_counted]]).astype(np.int64), axis=1, return_counts=True
        )
        return cls(class_ids=pairs[0], values=pairs[1], counts=counts, n_classes=n_classes)

    @property
    def totals(self) -> IntArray:
        """Records with a value in each class, shape (n_classes,)."""
        return np.bincount(self.class_ids, weights=self.counts, minlength=self.n_classes).astype(np.int64)


def sensitive_columns(policy: Policy) -> Iterator[tuple[str, Kept]]:
    """The columns that something is asked of, with what is asked."""
    for name, attribute in policy.attributes.items():
        if isinstance(attribute, Kept) and attribute.asks_for_diversity:
            yield name, attribute


def read_sensitive(original: Original, released: Released | None, name: str) -> SensitiveColumn:
    """A column of originals and release; values are those of records that stay or are released."""
    texts, theirs = _texts(original.table, name)
    own_texts, own = ((), np.zeros(0, dtype=np.int64)) if released is None else _texts(released.table, name)
    occurs = np.bincount(theirs[original.stays], minlength=len(texts)) > 0
    are_times = original.table.is_time(name) or (released is not None and released.table.is_time(name))
    plain = [_plain(text, are_times=are_times) for text in texts]
    own_plain = [_plain(text, are_times=are_times) for text in own_texts]
    if "-0" not in plain:  # a column of numbers, where minus zero is zero; a text file writes it with its sign
        own_plain = ["0" if text == "-0" else text for text in own_plain]
    listed = sorted({text for text, is_there in zip(plain, occurs.tolist(), strict=True) if is_there} | set(own_plain))
    listed = [text for text in listed if text]
    if all(text == NAN or parse_double(text) is not None for text in listed):
        listed = [text for text in listed if text != NAN]
    numbers = [parse_double(text) for text in listed]
    is_ordered = bool(listed) and all(number is not None for number in numbers)
    keys: list[Any] = numbers if is_ordered else listed
    place = {key: i for i, key in enumerate(sorted(set(keys)))}
    code = {text: place[key] for text, key in zip(listed, keys, strict=True)}
    is_number = np.ones(len(place), dtype=np.bool_)
    if not is_ordered:
        is_number[:] = [number is not None or text == NAN for number, text in zip(numbers, listed, strict=True)]
    return SensitiveColumn(
        of_original=np.array([code.get(text, MISSING) for text in plain], dtype=np.int64)[theirs],
        of_released=np.array([code.get(text, MISSING) for text in own_plain], dtype=np.int64)[own],
        n_values=len(place),
        is_ordered=is_ordered,
        is_number=is_number,
    )


def _texts(table: AuditedTable, name: str) -> tuple[tuple[Label, ...], IntArray]:
    """Distinct values as text, and the position of every record's value among them."""
    try:
        return table.labels(name)
    except DataError:  # a type that is no text in this format
        return table.texts(name)


def _plain(text: Label, *, are_times: bool) -> str:
    """A value as it is compared; empty where it is missing."""
    trimmed = (text or "").strip()
    return ZEROS_OF_SECONDS.sub(r"\1", trimmed) if are_times else trimmed


def lacks_diversity(found: ValuesInClasses, asked: LDiversity) -> BoolArray:
    """Whether each class lacks what is asked for, shape (n_classes,); a class without any value does."""
    if asked.distinct is not None:
        return np.bincount(found.class_ids, minlength=found.n_classes) < asked.distinct
    if asked.entropy is not None:
        totals = found.totals
        shares = found.counts / totals[found.class_ids]
        entropy = np.bincount(found.class_ids, weights=-shares * np.log(shares), minlength=found.n_classes)
        lacks: BoolArray = (totals == 0) | (entropy < math.log(asked.entropy) - ENTROPY_SLACK)
        return lacks
    factor, place = asked.recursive or (1, 2)
    lacks = np.ones(found.n_classes, dtype=np.bool_)
    exact = fraction(factor)
    starts = np.flatnonzero(np.diff(found.class_ids, prepend=-1))
    for c, counts in zip(found.class_ids[starts].tolist(), np.split(found.counts, starts[1:]), strict=False):
        falling = sorted(counts.tolist(), reverse=True)
        lacks[c] = not falling[0] < exact * sum(falling[place - 1 :])
    return lacks


def distances(found: ValuesInClasses, reference: IntArray, *, is_ordered: bool) -> list[Fraction]:
    """How far the values of each class are from the reference, exactly; 0 for a class without a value.

    `reference` is how often each value occurs in all records, shape (n_values,). Any two categories are 1 apart, numbers
    that follow each other 1/(m − 1), where m of them occur.
    """
    occurs = np.flatnonzero(reference + np.bincount(found.values, minlength=len(reference)))
    rank = np.zeros(len(reference), dtype=np.int64)
    rank[occurs] = np.arange(len(occurs))
    all_counts, totals = reference[occurs], found.totals
    n_all = int(all_counts.sum())
    if not n_all:
        return [Fraction(0)] * found.n_classes
    m = len(occurs)
    is_large = n_all * max(1, int(totals.max(initial=0))) * max(1, m) >= FITS
    kind: Any = np.object_ if is_large else np.int64
    upto = np.cumsum(all_counts).astype(kind)
    work = (_ordered if is_ordered else _equal)(found, rank[found.values], all_counts.astype(kind), upto, totals)
    per = n_all * max(1, m - 1) if is_ordered else n_all
    by_class: dict[int, int] = {}
    for c, own in zip(found.class_ids.tolist(), work.tolist(), strict=True):
        by_class[c] = by_class.get(c, 0) + own
    return [
        Fraction(by_class.get(c, 0), per * total) if total else Fraction(0) for c, total in enumerate(totals.tolist())
    ]


def _equal(found: ValuesInClasses, ranks: IntArray, all_counts: IntArray, upto: IntArray, totals: IntArray) -> IntArray:
    """What each pair of class and value has more than the reference would give it, times both numbers of records."""
    kind = all_counts.dtype
    more = found.counts.astype(kind) * upto[-1] - all_counts[ranks] * totals[found.class_ids].astype(kind)
    surplus: IntArray = np.maximum(more, 0)
    return surplus


def _ordered(
    found: ValuesInClasses, ranks: IntArray, all_counts: IntArray, upto: IntArray, totals: IntArray
) -> IntArray:
    """Sum of |C·N − F·n| over the places that belong to each pair: from its value up to the next one of its class.

    C of the n records of the class and F of all N records have a value up to the place. The places before the first value
    of a class, where C is 0, go with its first pair. Between two values of the class C is the same and F rises, so that the
    difference changes its sign once at most.
    """
    kind, m = all_counts.dtype, len(all_counts)
    ids = found.class_ids
    n_all, own = upto[-1], totals[ids].astype(kind)
    is_first = np.diff(ids, prepend=-1) != 0
    is_last = np.append(is_first[1:], True)[: len(ids)]
    running = np.cumsum(found.counts)
    before = (running - found.counts)[np.flatnonzero(is_first)]
    reached = (running - np.repeat(before, np.diff(np.append(np.flatnonzero(is_first), len(ids))))).astype(kind) * n_all
    end = np.where(is_last, m, np.append(ranks[1:], 0))
    sums = np.concatenate([np.zeros(1, dtype=kind), np.cumsum(upto)])
    turn = np.clip(np.searchsorted(upto.astype(np.int64), (reached // own).astype(np.int64), side="right"), ranks, end)
    work = reached * (turn - ranks) - own * (sums[turn] - sums[ranks])
    work = work + own * (sums[end] - sums[turn]) - reached * (end - turn)
    in_front: IntArray = np.where(is_first, own * sums[ranks], 0)
    total: IntArray = work + in_front
    return total


def not_meeting(original: Original, policy: Policy, class_ids: IntArray, *, n_classes: int) -> BoolArray:
    """Which classes of originals fail what is asked of sensitive values, shape (n_classes,).

    `class_ids` is the class of each original, or −1, shape (n_originals,). The reference are all records that stay.
    """
    fails = np.zeros(n_classes, dtype=np.bool_)
    for name, asked in sensitive_columns(policy):
        column = read_sensitive(original, None, name)
        found = ValuesInClasses.of(class_ids, column.of_original, n_classes=n_classes)
        if asked.l_diversity is not None:
            fails |= lacks_diversity(found, asked.l_diversity)
        if asked.t_closeness is not None:
            far = distances(found, reference_of(original, column), is_ordered=column.is_ordered)
            fails |= np.array([own > fraction(asked.t_closeness) for own in far], dtype=np.bool_)
    return fails


def reference_of(original: Original, column: SensitiveColumn) -> IntArray:
    """How often each value occurs in the records that stay, shape (n_values,)."""
    own = column.of_original[original.stays]
    return np.bincount(own[own != MISSING], minlength=column.n_values)


def margin_of(original: Original, column: SensitiveColumn) -> float:
    """By how much the distance of a class may be less, because it is not known which records the cap left out.

    Leaving x of n records out moves their distribution by x/n at most. Where v of m numbers may not occur any more, the
    distance in ranks is less by v/(m − 1) at most: the sum over places loses at most 1 for each, and is divided by less.
    """
    if original.is_exact:
        return 0.0
    has_value = original.stays & (column.of_original != MISSING)
    n = int(np.count_nonzero(has_value))
    is_open = has_value & ~original.is_sure
    n_gone = min(original.n_still_capped, int(np.count_nonzero(is_open)))
    margin = n_gone / max(1, n) + 1e-12  # for the rounding of the quotients
    if column.is_ordered:
        sure = np.bincount(column.of_original[has_value & original.is_sure], minlength=column.n_values)
        shown = column.of_released[column.of_released != MISSING]
        sure += np.bincount(shown, minlength=column.n_values)
        n_open = min(n_gone, int(np.count_nonzero(sure == 0)))
        margin += n_open / max(1, column.n_values - 1)
    return margin


def may_be_ordered(original: Original, column: SensitiveColumn) -> bool:
    """Whether values that are no numbers may all be of records that the cap left out; numbers are compared by order then."""
    if original.is_exact or column.is_ordered:
        return False
    sure = original.stays & original.is_sure & (column.of_original != MISSING)
    shown: FloatArray = np.concatenate([column.of_original[sure], column.of_released[column.of_released != MISSING]])
    return bool(column.is_number[shown].all())
