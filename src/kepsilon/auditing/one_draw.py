# SPDX-License-Identifier: Apache-2.0
"""Where all records of a person carry one draw: checks that they do, and says which record stands for its person.

Tests of noise need draws that are independent. Records of one person are not, so that one of them is looked at, and which
one does not depend on the noise: the first in the input.
"""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.findings import counted
from kepsilon.auditing.tables import NOBODY
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


def check_one_draw(case: AuditCase) -> None:
    """With a linkage, checks that the records of a person whose originals are equal are published with equal values."""
    original, policy, findings = case.original, case.policy, case.findings
    if not policy.draws_once_per_person or original.persons is None:
        return
    if case.linkage is None:
        findings.warning(
            "one draw",
            "not tried without a linkage: whether all records of a person carry one draw, and whether the noise of persons "
            "goes with anything else.",
        )
        return
    rows = case.linkage.original_row
    is_somebody = original.persons[rows] != NOBODY
    rows = rows[is_somebody]
    persons = np.unique(original.persons[rows], return_inverse=True)[1]
    before = case.noise.values[rows]
    after = np.column_stack([case.released.numbers[name] for name in policy.epsilon_quasis])[is_somebody]
    first = np.zeros(int(persons.max(initial=-1)) + 1, dtype=np.int64)
    first[persons[::-1]] = np.arange(len(rows))[::-1]
    is_alike = _equal(before, before[first[persons]])
    n_unlike = len(np.unique(persons[~is_alike]))
    is_other = is_alike & ~_equal(after, after[first[persons]])
    n_other = len(np.unique(persons[is_other]))
    findings.require(
        n_other == 0,
        "one draw",
        right="all records of a person are published with one draw.",
        wrong=f"{counted(n_other, 'person has', 'persons have')} records published with different draws, though their "
        "originals are equal: averaging them takes noise away.",
    )
    if n_unlike:
        findings.broken(
            "one draw",
            f"{counted(n_unlike, 'person has', 'persons have')} records whose originals differ; one draw does not cover "
            "these.",
        )


def _equal(one: FloatArray, other: FloatArray) -> BoolArray:
    """Whether the rows of two arrays are equal, missing values included."""
    equal: BoolArray = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
    return equal


def has_own_draw(case: AuditCase) -> BoolArray:
    """Whether each original is one that the tests of noise look at, shape (n_originals,).

    These are all, unless records of a person share one draw: then the first of each person that stays. Without confident k
    it is the first in a released class, for then noise does not decide which classes these are.
    """
    original = case.original
    if not case.policy.draws_once_per_person or original.persons is None:
        return np.ones(original.n_records, dtype=np.bool_)
    is_there = case.policy.confidence is not None or case.classes.of_original != NOWHERE
    rows = np.flatnonzero(original.stays & is_there)
    chosen = np.zeros(original.n_records, dtype=np.bool_)
    chosen[rows[np.unique(original.persons[rows], return_index=True)[1]]] = True
    return chosen


def most_with_one_draw(case: AuditCase) -> int:
    """The largest number of records that one draw is published in."""
    original = case.original
    if not case.policy.draws_once_per_person or original.persons is None:
        return 1
    return int(np.bincount(original.persons[original.stays], minlength=1).max())


def sums_by_draw(case: AuditCase, rows: IntArray, values: FloatArray) -> FloatArray:
    """Sums of values over the originals of each draw, from (n_originals, n) to (n_draws, n); `rows` are the originals."""
    persons = case.original.persons
    if not case.policy.draws_once_per_person or persons is None:
        return values
    return np.column_stack([np.bincount(persons[rows], weights=own) for own in values.T])


def variance_by_draw(case: AuditCase, rows: IntArray, variances: FloatArray) -> FloatArray:
    """Variance, at most, of sums over all originals in `rows`, from the variances of each, shape (n,).

    Values that rest on one draw may go together: the deviation of their sum is at most the sum of their deviations.
    """
    sums = sums_by_draw(case, rows, np.sqrt(np.maximum(0.0, variances)))
    return np.asarray((sums**2).sum(axis=0))
