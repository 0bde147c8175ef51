# SPDX-License-Identifier: Apache-2.0
"""Whether the order of the release could be a random one: nothing of the input's order, and no order of its own.

Each statistic is compared with what a random permutation of the released records gives: exact mean and variance, and a
bound that is wider than the normal law's.
"""

from __future__ import annotations

import math

import numpy as np

from kepsilon.auditing.classes import NOWHERE, Classes
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise_law import bernstein, chernoff
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Label
from kepsilon.table.keys import number

FEWEST = 20
"""Below this many records an order says too little."""

FARTHEST_SHIFT = 10
"""Places by which a release may be moved against the input and still be recognised without a linkage."""


def check_order(
    original: Original,
    released: Released,
    classes: Classes,
    policy: Policy,
    findings: Findings,
    *,
    linkage: Linkage | None,
    alpha: float,
) -> None:
    n = released.n_records
    if n < FEWEST:
        findings.note("order", "too few records to tell a shuffled order from another.")
        return
    suspicions: dict[str, float] = {}
    if linkage is not None:
        suspicions["records follow the order of the input"] = trend(linkage.original_row.astype(np.float64))
        suspicions["neighbours in the input are neighbours in the release"] = _adjacent_rows(linkage.original_row)
    suspicions["records are grouped by class"] = grouped(classes.of_released)
    place = np.arange(original.n_records, dtype=np.float64)
    belongs = classes.of_original != NOWHERE
    totals = np.bincount(classes.of_original[belongs], weights=place[belongs], minlength=classes.n_classes)
    means = totals / np.maximum(1, np.bincount(classes.of_original[belongs], minlength=classes.n_classes))
    suspicions["classes follow the order of the input"] = trend(means[classes.of_released])
    columns = {name: released.table.texts(name)[1] for name in policy.kept}
    for name, codes in columns.items():
        suspicions[f"records are grouped by {name}"] = grouped(codes)
        suspicions[f"records are sorted by {name}"] = trend(ranked(released.table.texts(name)[0])[codes])
    for name, values in released.numbers.items():
        suspicions[f"records are sorted by {name}"] = trend(np.nan_to_num(values))
    for name, (texts, codes) in released.labels.items():
        suspicions[f"records are sorted by {name}"] = trend(ranked(texts)[codes])
    suspicions |= _side_by_side(original, released, classes, policy)
    found = [what for what, probability in suspicions.items() if probability < alpha]
    if found:
        findings.broken("order", f"the release is not shuffled: {'; '.join(found)}.")
    else:
        findings.passed("order", f"{len(suspicions)} ways in which an order could show, and none does.")


def ranked(texts: tuple[Label, ...]) -> FloatArray:
    """What a sorted table would be sorted by: nulls first, then numbers by size if all are numbers, or else texts."""
    numbers = [_as_number(text) for text in texts if text is not None]
    are_numbers = all(number is not None for number in numbers)

    def key(i: int) -> tuple[bool, float, str]:
        text = texts[i]
        return text is not None, (_as_number(text) or 0.0) if are_numbers and text is not None else 0.0, text or ""

    rank = np.empty(len(texts))
    rank[sorted(range(len(texts)), key=key)] = np.arange(len(texts))
    return rank


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _side_by_side(original: Original, released: Released, classes: Classes, policy: Policy) -> dict[str, float]:
    """Position by position against the originals in their order, where the released ones are known to be these."""
    belongs = np.flatnonzero(original.stays)
    if len(belongs) != released.n_records:
        belongs = np.flatnonzero(classes.of_original != NOWHERE)
    if len(belongs) != released.n_records:
        return {}
    suspicions = {}
    if (classes.of_original[belongs] != NOWHERE).all():
        suspicions["classes stand where they stood in the input"] = matched_somehow(
            classes.of_released, classes.of_original[belongs], n_codes=classes.n_classes
        )
    for name in policy.kept:
        ours, theirs, n_codes = _on_one_scale(released, original, name, belongs)
        suspicions[f"values of {name} stand where they stood in the input"] = matched_somehow(
            ours, theirs, n_codes=n_codes
        )
    for name, values in released.numbers.items():
        suspicions[f"values of {name} stand where they stood in the input"] = correlated(
            np.nan_to_num(values), np.nan_to_num(original.numbers[name][belongs])
        )
    return suspicions


def _on_one_scale(
    released: Released, original: Original, name: str, belongs: IntArray
) -> tuple[IntArray, IntArray, int]:
    texts, codes = original.table.texts(name)
    own_texts, own = released.table.texts(name)
    positions = {text: i for i, text in enumerate(texts)}
    return (
        np.array([positions.setdefault(text, len(positions)) for text in own_texts], dtype=np.int64)[own],
        codes[belongs],
        len(positions),
    )


def trend(values: FloatArray) -> float:
    """How probable so strong a rank correlation with the position is for a random order; both ways.

    Positions are uniform, and a uniform variable has tails no heavier than the normal one of the same variance.
    """
    correlation, n = _correlation(np.arange(len(values), dtype=np.float64), values), len(values)
    return min(1.0, 2 * math.exp(-(correlation**2) * (n - 1) / 2))


def correlated(first: FloatArray, second: FloatArray) -> float:
    """The same for two columns with ties, of which one is put in random order."""
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    variance = float(a @ a) * float(b @ b) / (len(a) - 1)
    largest = 2 * float(np.abs(a).max()) * float(np.abs(b).max())
    return 2 * bernstein(abs(float(a @ b)), variance=variance, largest=largest) if variance > 0 else 1.0


def _correlation(first: FloatArray, second: FloatArray) -> float:
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size else 0.0


def _ranks(values: FloatArray) -> FloatArray:
    """Mean ranks, ties alike."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle: FloatArray = ends - (counts + 1) / 2
    return middle[inverse]


def _adjacent_rows(original_row: IntArray) -> float:
    """Neighbours in the release that were neighbours among the released originals; about 2 by chance, as Poisson has it."""
    ranks = np.argsort(np.argsort(original_row))
    found = int(np.count_nonzero(np.abs(np.diff(ranks)) == 1))
    return chernoff(found, 2.0)


def grouped(codes: IntArray) -> float:
    """How probable so many equal neighbours are in a random order, given how often each value occurs."""
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
    return bernstein(found - m * one, variance=max(variance, 0.0), largest=2.0)


def matched_somehow(ours: IntArray, theirs: IntArray, *, n_codes: int) -> float:
    """The least probable of: as they stand, backwards, and shifted by a few places; times how many that are."""
    others = [theirs[::-1], *(np.roll(theirs, shift) for shift in range(-FARTHEST_SHIFT, FARTHEST_SHIFT + 1))]
    return min(1.0, len(others) * min(matched(ours, other, n_codes=n_codes) for other in others))


def matched(ours: IntArray, theirs: IntArray, *, n_codes: int) -> float:
    """How probable so many equal positions are if one of two sequences is put in random order."""
    n = len(ours)
    a = np.bincount(ours, minlength=n_codes).astype(np.float64)
    b = np.bincount(theirs, minlength=n_codes).astype(np.float64)
    found = float(np.count_nonzero(ours == theirs))
    common = float((a * b).sum())
    squares = common - float((a * b**2).sum()) / n - float((b * a**2).sum()) / n + common**2 / n**2
    return bernstein(found - common / n, variance=squares / (n - 1), largest=2.0)
