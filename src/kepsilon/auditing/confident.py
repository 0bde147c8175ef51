# SPDX-License-Identifier: Apache-2.0
"""Checks confident k: each published value has k originals of its class in reach, at the confidence of the policy.

Where the policy names persons, it is k persons who have an original in reach.
"""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import reach_in_ranges
from kepsilon.auditing.findings import counted
from kepsilon.auditing.tables import n_persons
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

BINARY_ERROR = 4 * np.finfo(np.float64).eps
"""Relative error of a distance between two decimals that are held as doubles."""

PAIRS_AT_ONCE = 1 << 22
"""Distances between published values and originals that are held in memory together."""


def check_confident_k(case: AuditCase) -> None:
    """Counts published values with too few originals in reach under the policy's rule, in classes that are known."""
    policy, classes, findings = case.policy, case.classes, case.findings
    confidence = policy.confidence
    if confidence is None:
        return
    rule = policy.confidence_rule
    what = "originals" if policy.person is None else "persons"
    reach = _originals_in_reach(case)
    seen = classes.is_known[classes.of_released]
    if not seen.any():
        findings.note("confident k", "the originals of no class are known, so that nothing was looked at.")
        return
    n_known = int(np.count_nonzero(classes.is_known))
    n_few = int(np.count_nonzero((reach > 0) & (reach < policy.k) & seen))
    n_zero = int(np.count_nonzero((reach == 0) & seen))
    findings.require(
        n_few == 0,
        "confident k",
        right=f"in the {counted(n_known, 'class', 'classes')} whose originals are known no published value has 1 to "
        f"{policy.k - 1} {what} in reach at confidence {confidence}; {counted(n_zero, 'has', 'have')} none in reach"
        + ("." if rule == "suppress_zero" or not n_zero else f", which the rule {rule} allows."),
        wrong=f"{counted(n_few, 'published value has', 'published values have')} fewer than k = {policy.k} {what} of "
        "their class in reach at confidence "
        f"{confidence}, and should have been left out.",
    )
    if rule == "suppress_zero" and n_zero:
        findings.broken(
            "confident k",
            f"{counted(n_zero, 'published value has', 'published values have')} no original in reach, and should have been "
            "left out.",
        )
    if rule == "strict":
        is_near = reach >= policy.k
        near: IntArray = np.bincount(classes.of_released[is_near], minlength=classes.n_classes)
        if case.original.persons is not None and case.linkage is not None:
            persons = case.original.persons[case.linkage.original_row]
            near = n_persons(classes.of_released[is_near], persons[is_near], n_classes=classes.n_classes)
        n_thin = int(np.count_nonzero(near[classes.is_known] < policy.k))
        if n_thin:
            findings.broken(
                "confident k",
                f"{counted(n_thin, 'class has', 'classes have')} fewer than k {'records' if policy.person is None else 'persons'} "
                f"with k {what} in reach.",
            )
    if not classes.all_known:
        findings.note("confident k", "classes whose originals are not known were not looked at.")


def _originals_in_reach(case: AuditCase) -> IntArray:
    """Originals of its class that lie within the linking range of each released record, in all ε-quasis together.

    Shape (n_released,); 0 for records of classes whose originals are not known. Where the policy names persons, the number
    of persons who have such an original; k for all who have k and more.
    """
    policy, noise = case.policy, case.noise
    names = list(policy.epsilon_quasis)
    radii = np.array([0.0, *(reach_in_ranges(policy, d) for d in range(1, len(names) + 1))])
    half = np.array([float(fraction(attribute.precision)) / 2 for attribute in policy.epsilon_quasis.values()])
    reach = noise.ranges * radii[noise.n_active][:, np.newaxis] + half
    reach = np.where(noise.ranges > 0, reach, np.nan)  # a value that the whole class shares rules nobody out
    published = np.column_stack([case.released.numbers[name] for name in names])
    counts = np.zeros(case.released.n_records, dtype=np.int64)
    for c, records, originals in case.classes.members():
        values, own = noise.values[originals], published[records]
        if len(names) == 1 and not np.isnan(values).any() and not np.isnan(reach[c, 0]):
            ordered = np.sort(values[:, 0])
            slack = np.minimum(BINARY_ERROR * (np.abs(own[:, 0]) + reach[c, 0]), half[0] / 2)
            counts[records] = np.searchsorted(ordered, own[:, 0] + reach[c, 0] + slack, side="right") - np.searchsorted(
                ordered, own[:, 0] - reach[c, 0] - slack, side="left"
            )
        else:
            at_once = max(1, PAIRS_AT_ONCE // max(1, len(originals)))
            for start in range(0, len(records), at_once):
                near = _are_within(own[start : start + at_once], values, reach[c], half)
                counts[records[start : start + at_once]] = np.count_nonzero(near, axis=1)
        if case.original.persons is not None:
            persons = case.original.persons[originals]
            counts[records] = _persons_within(counts[records], own, values, persons, reach[c], half, enough=policy.k)
    return counts


def _persons_within(
    n_near: IntArray,
    published: FloatArray,
    values: FloatArray,
    persons: IntArray,
    reach: FloatArray,
    half: FloatArray,
    *,
    enough: int,
) -> IntArray:
    """Persons who have one of `values` within `reach` of each published record, shape (n_published,), `enough` at most.

    `n_near` is the number of values in reach. Whoever has more of them there than `enough` − 1 persons have in all needs no
    further look.
    """
    _, persons, sizes = np.unique(persons, return_inverse=True, return_counts=True)
    most = int(np.sort(sizes)[::-1][: enough - 1].sum())
    found = np.where(n_near > most, enough, np.minimum(n_near, enough))
    is_open = np.flatnonzero((n_near > 0) & (n_near <= most))
    order = np.argsort(persons, kind="stable")
    starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
    at_once = max(1, PAIRS_AT_ONCE // max(1, len(values)))
    for begin in range(0, len(is_open), at_once):
        rows = is_open[begin : begin + at_once]
        near = _are_within(published[rows], values[order], reach, half)
        found[rows] = np.minimum(np.logical_or.reduceat(near, starts, axis=1).sum(axis=1), enough)
    return found


def _are_within(published: FloatArray, values: FloatArray, reach: FloatArray, half: FloatArray) -> BoolArray:
    """Whether each of `values` is within `reach` of each published record, shape (n_published, n_values).

    `reach` and `half`, half the precision, have one entry per ε-quasi. Where `reach` is NaN, because the class has no
    noise on the attribute or misses it, the attribute rules nobody out.
    """
    near = np.ones((len(published), len(values)), dtype=np.bool_)
    for j in range(published.shape[1]):
        if np.isnan(reach[j]):
            continue
        distance = np.abs(published[:, j, np.newaxis] - values[:, j])
        near &= distance <= reach[j] + np.minimum(
            BINARY_ERROR * (np.abs(published[:, j, np.newaxis]) + reach[j]), half[j] / 2
        )
    return near
