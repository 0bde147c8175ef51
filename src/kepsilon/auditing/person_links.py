# SPDX-License-Identifier: Apache-2.0
"""Links to persons: who names, for each released record, the person whose originals of the class are together likeliest.

Persons whose likelihoods differ by next to nothing are equally likely, or not, as sums are rounded; so links have bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.attacks import published_numbers
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.comparison import Between
from kepsilon.auditing.nearest_links import binary_error_of_distances
from kepsilon.auditing.residuals import GONE, released_as
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.json_values import Json
from kepsilon.table.arrays import FloatArray, IntArray

MOST_PAIRS = 1 << 22
"""Released records times originals of the largest class, at most; beyond, the record may rest on a sample."""

SURELY, PERHAPS = 1 - 1e-13, 1 - 1e-7
"""Likelihoods of two persons are equal if their quotient is at least the first, and may be if it is at least the second."""


@dataclass(slots=True)
class _Sums:
    """Links added up over records, at least and at most."""

    fair: Between
    paper: Between
    over_half: Between
    over_nine_tenths: Between
    largest: float = 0.0


def realised_links(case: AuditCase) -> Json:
    """What the record says about realised links to persons; empty where not every released record can be attacked."""
    classes, persons, noise = case.classes, case.original.persons, case.noise
    n = case.released.n_records
    is_small = int(classes.n_originals.max()) * n <= MOST_PAIRS
    if persons is None or case.linkage is None or not classes.all_known or not is_small:
        return {}
    if why_not_judged(case.policy) is not None:
        return {}
    of_original, published = released_as(case), published_numbers(case)
    nothing = Between(0.0, 0.0)
    sums = _Sums(nothing, nothing, nothing, nothing)
    n_attacked = 0
    for c, _, originals in classes.members():
        place = np.flatnonzero(of_original[originals] != GONE)
        place = place[classes.of_released[of_original[originals[place]]] == c]
        shown, values, ranges = published[of_original[originals[place]]], noise.values[originals], noise.ranges[c]
        if (_error_of_distances(shown, values, ranges, place) * case.epsilon > 1 - PERHAPS).any():
            return {}
        _attack(sums, shown, values, ranges, persons[originals], place, epsilon=case.epsilon)
        n_attacked += len(place)
    if n_attacked != n:
        return {}
    per_original = n / case.original.n_records
    realised = sums.fair * (1 / n)
    return {
        "realised": realised,
        "realised_paper_ties": sums.paper * (1 / n),
        "largest": sums.largest,
        "over_half": sums.over_half * (1 / n),
        "over_nine_tenths": sums.over_nine_tenths * (1 / n),
        "per_original": {"realised": realised * per_original},
    }


def _error_of_distances(published: FloatArray, values: FloatArray, ranges: FloatArray, own: IntArray) -> FloatArray:
    """How far apart a record's distances may be that are equal in decimals, shape (n_records,).

    Ranges are differences of decimals, and so are off as well. All distances along one ε-quasi are off by the same factor
    then; a distance along one and a distance along another may be equal all the same.
    """
    error = binary_error_of_distances(published, values, ranges)
    active = ranges > 0
    if np.count_nonzero(active) < 2:
        return error
    distances = np.abs(published[:, active] - values[own][:, active]) / ranges[active]
    widened: FloatArray = 2 * error * (1 + np.nan_to_num(distances).max(axis=1))
    return widened


def _attack(
    sums: _Sums,
    published: FloatArray,
    values: FloatArray,
    ranges: FloatArray,
    persons: IntArray,
    own: IntArray,
    *,
    epsilon: float,
) -> None:
    """Attacks the released records of a class; record i is that of original `own[i]`."""
    farthest = np.zeros((len(published), len(values)))
    for j in range(values.shape[1]):
        if ranges[j] > 0:
            distance = np.abs(published[:, j, np.newaxis] - values[:, j]) / ranges[j]
            np.fmax(farthest, distance, out=farthest)
    weights = np.exp(-epsilon * (farthest - farthest.min(axis=1, keepdims=True)))
    _, of_whom = np.unique(persons, return_inverse=True)
    by_person = np.zeros((len(published), int(of_whom.max()) + 1))
    for i, person in enumerate(of_whom.tolist()):
        by_person[:, person] += weights[:, i]
    likeliest = by_person.max(axis=1, keepdims=True)
    rows, whom = np.arange(len(own)), of_whom[own]
    surely, perhaps = by_person >= likeliest * SURELY, by_person >= likeliest * PERHAPS
    least = np.where(surely[rows, whom], 1 / perhaps.sum(axis=1), 0.0)
    most = np.where(perhaps[rows, whom], 1 / surely.sum(axis=1), 0.0)
    sums.fair = _plus(sums.fair, least, most)
    sums.paper = _plus(sums.paper, surely[rows, whom], perhaps[rows, whom])
    posterior = by_person[rows, whom] / by_person.sum(axis=1)
    sums.over_half = _plus(sums.over_half, posterior > 0.5 / PERHAPS, posterior > 0.5 * PERHAPS)
    sums.over_nine_tenths = _plus(sums.over_nine_tenths, posterior > 0.9 / PERHAPS, posterior > 0.9 * PERHAPS)
    sums.largest = max(sums.largest, float(posterior.max(initial=0.0)))


def _plus(sums: Between, least: np.ndarray, most: np.ndarray) -> Between:
    return Between(sums.least + float(least.sum()), sums.most + float(most.sum()))
