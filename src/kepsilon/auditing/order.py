# SPDX-License-Identifier: Apache-2.0
"""Checks that the release is shuffled: its order is neither that of the input nor a sorted or grouped one.

Each function gives a bound on the probability that a random permutation of the released records shows as much order. The
bounds of `tail_bounds` that they use are proven for permutations, whose places are not independent of each other.
"""

from __future__ import annotations

import math

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.grouped import mean_ranks
from kepsilon.auditing.tables import Released, codes_of_both
from kepsilon.auditing.tail_bounds import (
    chernoff_bound,
    neighbours_bound,
    permuted_matches_bound,
    permuted_sum_bound,
    permuted_trend_bound,
)
from kepsilon.policy.numbers import parse_double
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Label
from kepsilon.table.keys import number

FEWEST_RECORDS = 20
"""Records that a release needs before its order is judged."""

FARTHEST_SHIFT = 10
"""Places by which a release may be shifted against the input and still be recognised without a linkage."""


def check_order(case: AuditCase) -> None:
    """Tests every way in which the order of the release could tell something, and reports those that it does."""
    released, classes, linkage = case.released, case.classes, case.linkage
    if released.n_records < FEWEST_RECORDS:
        case.findings.note("order", "too few records to tell a shuffled order from another.")
        return
    suspicions: dict[str, float] = {}
    if linkage is not None:
        suspicions["records follow the order of the input"] = trend_probability(linkage.original_row.astype(np.float64))
        suspicions["neighbours in the input are neighbours in the release"] = adjacency_probability(
            linkage.original_row
        )
        suspicions["stretches of records follow the order of the input"] = stretches_probability(
            linkage.original_row.astype(np.float64)
        )
    suspicions["records are grouped by class"] = grouping_probability(classes.of_released)
    place = np.arange(case.original.n_records, dtype=np.float64)
    belongs = classes.of_original != NOWHERE
    totals = np.bincount(classes.of_original[belongs], weights=place[belongs], minlength=classes.n_classes)
    means = totals / np.maximum(1, np.bincount(classes.of_original[belongs], minlength=classes.n_classes))
    suspicions["classes follow the order of the input"] = trend_probability(means[classes.of_released])
    for name in case.policy.kept:
        texts, codes = released.table.texts(name)
        suspicions[f"records are grouped by {name}"] = grouping_probability(codes)
        suspicions |= _sorted_by(name, sorting_ranks(texts)[codes])
    for name, values in released.numbers.items():
        suspicions |= _sorted_by(name, np.nan_to_num(values))
    for name, (texts, codes) in released.labels.items():
        suspicions |= _sorted_by(name, sorting_ranks(texts)[codes])
    if len(released.labels) > 1:
        suspicions |= _sorted_by("all k-quasis", _ranks_of_labels(released))
    suspicions |= _side_by_side(case)
    level = case.false_alarms.level("order", n_tests=len(suspicions))
    found = [what for what, probability in suspicions.items() if probability < level]
    if found:
        case.findings.broken("order", f"the release is not shuffled: {'; '.join(found)}.")
    else:
        case.findings.passed("order", f"{len(suspicions)} ways in which an order could show, and none does.")


def _sorted_by(name: str, values: FloatArray) -> dict[str, float]:
    """Probabilities, at most, that the whole release is sorted so much by one column, and that stretches of it are."""
    return {
        f"records are sorted by {name}": trend_probability(values),
        f"stretches of records are sorted by {name}": stretches_probability(values),
    }


def _ranks_of_labels(released: Released) -> FloatArray:
    """Rank of each record in a table that is sorted by its first k-quasi, then by its second, and so on."""
    ranks, sizes = [], []
    for texts, codes in released.labels.values():
        ranks.append(sorting_ranks(texts).astype(np.int64)[codes])
        sizes.append(len(texts))
    numbers, _ = number(ranks, sizes=sizes, length=released.n_records)
    return numbers.astype(np.float64)


def sorting_ranks(texts: tuple[Label, ...]) -> FloatArray:
    """Rank of each text in a sorted table: nulls first, then by size if all texts are numbers, otherwise by alphabet."""
    numbers = [parse_double(text) for text in texts if text is not None]
    are_numbers = all(number is not None for number in numbers)

    def key(i: int) -> tuple[bool, float, str]:
        text = texts[i]
        return text is not None, (parse_double(text) or 0.0) if are_numbers and text is not None else 0.0, text or ""

    rank = np.empty(len(texts))
    rank[sorted(range(len(texts)), key=key)] = np.arange(len(texts))
    return rank


def _side_by_side(case: AuditCase) -> dict[str, float]:
    """Probabilities that the release agrees so well, position by position, with the released originals in their order.

    Without a linkage it must be known which originals were released: all that stay, or all of the released classes.
    Otherwise the answer is empty.
    """
    original, released, classes = case.original, case.released, case.classes
    belongs = np.flatnonzero(original.stays)
    if len(belongs) != released.n_records:
        belongs = np.flatnonzero(classes.of_original != NOWHERE)
    if len(belongs) != released.n_records:
        return {}
    suspicions = {}
    if (classes.of_original[belongs] != NOWHERE).all():
        suspicions["classes stand where they stood in the input"] = shifted_match_probability(
            classes.of_released, classes.of_original[belongs], n_codes=classes.n_classes
        )
    for name in case.policy.kept:
        theirs, ours, n_codes = codes_of_both(original, released, name)
        suspicions[f"values of {name} stand where they stood in the input"] = shifted_match_probability(
            ours, theirs[belongs], n_codes=n_codes
        )
    for name, values in released.numbers.items():
        suspicions[f"values of {name} stand where they stood in the input"] = correlation_probability(
            np.nan_to_num(values), np.nan_to_num(original.numbers[name][belongs])
        )
    return suspicions


def trend_probability(values: FloatArray) -> float:
    """Bound on the probability that a random order has so strong a rank correlation, of either sign, with the position."""
    places, ranks = np.arange(len(values), dtype=np.float64), mean_ranks(values)
    places, ranks = places - places.mean(), ranks - ranks.mean()
    size = math.sqrt(float(places @ places) * float(ranks @ ranks))
    return permuted_trend_bound(float(places @ ranks) / size, len(values)) if size else 1.0


def stretches_probability(values: FloatArray) -> float:
    """Bound on the probability that so many of the records 1 to 3, 4 to 6, … rise or fall throughout.

    Given which three records stand together, their order is random and independent of that of other threes. Two orders of
    six rise or fall throughout, and none does if two values are equal.
    """
    n_threes = len(values) // 3
    first, second, third = values[: 3 * n_threes].reshape(n_threes, 3).T
    found = int(np.count_nonzero(((first < second) & (second < third)) | ((first > second) & (second > third))))
    n_different = int(np.count_nonzero((first != second) & (second != third) & (first != third)))
    return chernoff_bound(found, n_different / 3)


def correlation_probability(first: FloatArray, second: FloatArray) -> float:
    """Bound on the probability that two columns, one in random order, have so strong a rank correlation; ties allowed."""
    a, b = mean_ranks(first), mean_ranks(second)
    a, b = a - a.mean(), b - b.mean()
    return permuted_sum_bound(abs(float(a @ b)), a, b)


def adjacency_probability(original_row: IntArray) -> float:
    """Bound on the probability that so many neighbours in the release were neighbours among the released originals."""
    ranks = np.argsort(np.argsort(original_row))
    found = int(np.count_nonzero(np.abs(np.diff(ranks)) == 1))
    return neighbours_bound(found, len(original_row))


def grouping_probability(codes: IntArray) -> float:
    """Bound on the probability of so many equal neighbours in a random order, given how often each value occurs.

    Neighbours are taken in two sets of pairs that do not overlap: places 1 and 2, 3 and 4, …, and places 2 and 3, 4 and
    5, …. Given which records stand first in their pair and which second, the second ones stand beside the first in random
    order. If a value occurs a times among m firsts and b times among m seconds, Σ a·b/m matches are expected, which is at
    most Σ (a + b)²/4m, however the records were divided.
    """
    numbers, n_distinct = number([codes.astype(np.int64)], sizes=[int(codes.max(initial=0)) + 1], length=len(codes))
    smallest = 1.0
    for own in (numbers, numbers[1:]):
        n_pairs = len(own) // 2
        if not n_pairs:
            continue
        firsts, seconds = own[0 : 2 * n_pairs : 2], own[1 : 2 * n_pairs : 2]
        # The record that is left over may be of any value, so all of them are counted.
        counts = np.bincount(numbers, minlength=n_distinct).astype(np.float64)
        most = float((counts**2).sum()) / (4 * n_pairs)
        found = float(np.count_nonzero(firsts == seconds))
        smallest = min(smallest, permuted_matches_bound(found, most))
    return min(1.0, 2 * smallest)


def shifted_match_probability(ours: IntArray, theirs: IntArray, *, n_codes: int) -> float:
    """Bound on the probability that a random order matches so well as it stands, backwards or shifted by a few places.

    It is the smallest bound over these ways times their number.
    """
    others = [theirs[::-1], *(np.roll(theirs, shift) for shift in range(-FARTHEST_SHIFT, FARTHEST_SHIFT + 1))]
    return min(1.0, len(others) * min(match_probability(ours, other, n_codes=n_codes) for other in others))


def match_probability(ours: IntArray, theirs: IntArray, *, n_codes: int) -> float:
    """Bound on the probability that two sequences, one in random order, agree at so many positions."""
    n = len(ours)
    a = np.bincount(ours, minlength=n_codes).astype(np.float64)
    b = np.bincount(theirs, minlength=n_codes).astype(np.float64)
    found = float(np.count_nonzero(ours == theirs))
    return permuted_matches_bound(found, float((a * b).sum()) / n)
