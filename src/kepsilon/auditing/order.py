# SPDX-License-Identifier: Apache-2.0
"""Checks that the release is shuffled: its order is neither that of the input nor a sorted or grouped one.

Each function gives a bound on the probability that a random permutation of the released records shows as much order. Most
use the exact mean and variance over permutations in Bernstein's bound, which is wider than the normal law.
"""

from __future__ import annotations

import math

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.noise_law import bernstein_bound, chernoff_bound
from kepsilon.auditing.tables import codes_of_both
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
        suspicions["neighbours in the input are neighbours in the release"] = _adjacency_probability(
            linkage.original_row
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
        suspicions[f"records are sorted by {name}"] = trend_probability(sorting_ranks(texts)[codes])
    for name, values in released.numbers.items():
        suspicions[f"records are sorted by {name}"] = trend_probability(np.nan_to_num(values))
    for name, (texts, codes) in released.labels.items():
        suspicions[f"records are sorted by {name}"] = trend_probability(sorting_ranks(texts)[codes])
    suspicions |= _side_by_side(case)
    found = [what for what, probability in suspicions.items() if probability < case.alpha]
    if found:
        case.findings.broken("order", f"the release is not shuffled: {'; '.join(found)}.")
    else:
        case.findings.passed("order", f"{len(suspicions)} ways in which an order could show, and none does.")


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
    """Bound on the probability that a random order has so strong a rank correlation, of either sign, with the position.

    Positions are uniform, and a uniform variable has tails no heavier than a normal one of equal variance.
    """
    correlation, n = _correlation(np.arange(len(values), dtype=np.float64), values), len(values)
    return min(1.0, 2 * math.exp(-(correlation**2) * (n - 1) / 2))


def correlation_probability(first: FloatArray, second: FloatArray) -> float:
    """Bound on the probability that two columns, one in random order, have so strong a rank correlation; ties allowed."""
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    variance = float(a @ a) * float(b @ b) / (len(a) - 1)
    largest = 2 * float(np.abs(a).max()) * float(np.abs(b).max())
    return 2 * bernstein_bound(abs(float(a @ b)), variance=variance, largest=largest) if variance > 0 else 1.0


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Rank correlation of two columns; 0 where one of them has a single value."""
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size else 0.0


def _ranks(values: FloatArray) -> FloatArray:
    """Rank of each value from 0; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle: FloatArray = ends - (counts + 1) / 2
    return middle[inverse]


def _adjacency_probability(original_row: IntArray) -> float:
    """Bound on the probability that so many neighbours in the release were neighbours among the released originals.

    In a random order their number is about Poisson with mean 2.
    """
    ranks = np.argsort(np.argsort(original_row))
    found = int(np.count_nonzero(np.abs(np.diff(ranks)) == 1))
    return chernoff_bound(found, 2.0)


def grouping_probability(codes: IntArray) -> float:
    """Bound on the probability of so many equal neighbours in a random order, given how often each value occurs."""
    numbers, n_distinct = number([codes.astype(np.int64)], sizes=[int(codes.max(initial=0)) + 1], length=len(codes))
    counts = np.bincount(numbers, minlength=n_distinct).astype(np.float64)
    n = len(codes)
    pairs = float((counts * (counts - 1)).sum())
    triples = float((counts * (counts - 1) * (counts - 2)).sum())
    found = float(np.count_nonzero(numbers[1:] == numbers[:-1]))
    one = pairs / (n * (n - 1))
    both_overlapping = triples / (n * (n - 1) * (n - 2))
    quadruples = float((counts * (counts - 1) * (counts - 2) * (counts - 3)).sum())
    different = pairs**2 - float(((counts * (counts - 1)) ** 2).sum())
    both_apart = (quadruples + different) / (n * (n - 1) * (n - 2) * (n - 3))
    m = n - 1
    variance = m * one + 2 * (m - 1) * both_overlapping + (m * (m - 1) - 2 * (m - 1)) * both_apart - (m * one) ** 2
    return bernstein_bound(found - m * one, variance=max(variance, 0.0), largest=2.0)


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
    common = float((a * b).sum())
    squares = common - float((a * b**2).sum()) / n - float((b * a**2).sum()) / n + common**2 / n**2
    return bernstein_bound(found - common / n, variance=squares / (n - 1), largest=2.0)
