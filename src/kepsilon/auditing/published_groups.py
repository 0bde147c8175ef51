# SPDX-License-Identifier: Apache-2.0
"""Tells from the release which records of a class were averaged together: those that publish the same averages.

Two groups of a class may publish the same averages by chance. Records that do are one set here; it is one group for sure if
it has fewer than 2g records, or persons where they are known, because a group has at least g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.noise_law import ClaimedNoise
from kepsilon.auditing.tables import n_persons
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.keys import number


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGroups:
    """Sets of records of a class that publish the same averages, each of them one group or several."""

    of_released: IntArray
    """The set of every released record, shape (n_released,)."""
    class_ids: IntArray
    """The class of each set, shape (n_sets,)."""
    n_records: IntArray
    """Shape (n_sets,)."""
    n_members: IntArray
    """What groups are counted by, shape (n_sets,): persons where they are known, otherwise records."""
    n_of_class: IntArray
    """The same of the whole class of each set, shape (n_sets,)."""
    are_persons: bool
    """Whether members are persons."""
    asked: int
    """g: members that a group has at least, unless it is its whole class."""

    @property
    def n_sets(self) -> int:
        return len(self.n_records)

    @property
    def is_too_small(self) -> BoolArray:
        """Whether a set has fewer members than any group may have, shape (n_sets,)."""
        small: BoolArray = self.n_members < np.minimum(self.asked, self.n_of_class)
        return small

    @property
    def most_groups(self) -> IntArray:
        """How many groups each set can be, at most, shape (n_sets,)."""
        most: IntArray = np.maximum(1, self.n_members // self.asked)
        return most

    @property
    def is_one_group(self) -> BoolArray:
        """Whether each set is one group for sure, shape (n_sets,)."""
        one: BoolArray = self.most_groups == 1
        return one


def publishes_groups(policy: Policy) -> bool:
    """Whether records that were averaged together publish the same values."""
    return policy.averages is not None and not policy.averages.spread


def published_groups(case: AuditCase) -> PublishedGroups:
    """The sets of records with the same averages, for a policy that publishes groups."""
    if case.policy.averages is None:
        raise ValueError("the policy asks for no averages")
    columns, sizes = [case.classes.of_released], [case.classes.n_classes]
    for name in case.policy.epsilon_quasis:
        values = case.released.numbers[name]
        codes = np.unique(np.nan_to_num(values), return_inverse=True)[1]
        columns += [codes.reshape(-1), np.isnan(values).astype(np.int64)]
        sizes += [int(codes.max()) + 1, 2]
    found, n_sets = number(columns, sizes=sizes, length=case.released.n_records)
    of_released = found.astype(np.int64)
    class_ids = np.zeros(n_sets, dtype=np.int64)
    class_ids[of_released] = case.classes.of_released
    n_records: IntArray = np.bincount(of_released, minlength=n_sets)
    n_members, n_of_class = n_records, case.classes.n_released[class_ids]
    persons, linkage = case.original.persons, case.linkage
    if persons is not None and linkage is not None:
        own = persons[linkage.original_row]
        n_members = n_persons(of_released, own, n_classes=n_sets)
        n_of_class = n_persons(case.classes.of_released, own, n_classes=case.classes.n_classes)[class_ids]
    return PublishedGroups(
        of_released=of_released,
        class_ids=class_ids,
        n_records=n_records,
        n_members=n_members,
        n_of_class=n_of_class,
        are_persons=persons is not None and linkage is not None,
        asked=case.policy.averages.group,
    )


def largest_binary_error(case: AuditCase, j: int) -> FloatArray:
    """How far an average of the j-th ε-quasi may be off because sums are rounded, by class, in units of the precision.

    A release may sum values in steps of 2^−20 units, or in coarser ones where a whole sum would have more than 61 bits.
    """
    classes, noise = case.classes, case.noise
    step = step_of(case, j)
    width = np.nan_to_num(noise.high[:, j] - noise.low[:, j]) / step
    farthest = np.nan_to_num(np.fmax(np.abs(noise.low[:, j]), np.abs(noise.high[:, j]))) / step
    error: FloatArray = 2.0**-20 + (width + 1) * classes.n_released * 2.0**-50 + farthest * 2.0**-48
    return error


def step_of(case: AuditCase, j: int) -> float:
    """The precision of the j-th ε-quasi."""
    attribute = list(case.policy.epsilon_quasis.values())[j]
    return float(fraction(attribute.precision))


def groups_as_classes(case: AuditCase, groups: PublishedGroups) -> AuditCase:
    """The case as whoever can make the groups sees it: its classes are the groups, and no value is noisy; needs a linkage."""
    if case.linkage is None:
        raise ValueError("without a linkage it is not known which originals a group has")
    of_original = np.full(case.original.n_records, NOWHERE, dtype=np.int64)
    of_original[case.linkage.original_row] = groups.of_released
    nothing = np.zeros((groups.n_sets, 0))
    return replace(
        case,
        classes=replace(
            case.classes,
            of_released=groups.of_released,
            of_original=of_original,
            n_released=groups.n_records,
            n_covered=groups.n_records,
            n_originals=groups.n_records,
            is_known=np.ones(groups.n_sets, dtype=np.bool_),
            cover=None,
        ),
        noise=ClaimedNoise(
            values=np.zeros((case.original.n_records, 0)),
            low=nothing,
            high=nothing,
            ranges=nothing,
            starts=nothing,
            n_active=np.zeros(groups.n_sets, dtype=np.int64),
            n_clipped={},
        ),
    )


def groups_follow_from_values(case: AuditCase, groups: PublishedGroups) -> bool:
    """Whether the values of the originals alone say which records are averaged together, and the release shows it.

    Otherwise chance decides between records with equal values, and what was predicted of groups need not be what the
    groups of the release are. So it may be with persons, and with requirements on sensitive values, too.
    """
    policy, linkage = case.policy, case.linkage
    if linkage is None or policy.person is not None or policy.diverse or not groups.is_one_group.all():
        return False
    columns, sizes = [groups.class_ids[groups.of_released]], [case.classes.n_classes]
    for j in range(case.noise.values.shape[1]):
        coarse = step_of(case, j) * max(2.0**-12, 4 * float(largest_binary_error(case, j).max()))
        places = np.floor(np.nan_to_num(case.noise.values[linkage.original_row, j]) / coarse)
        codes = np.unique(places, return_inverse=True)[1].reshape(-1)
        columns.append(codes)
        sizes.append(int(codes.max()) + 1)
    n = case.released.n_records
    n_tuples = number(columns, sizes=sizes, length=n)[1]
    return n_tuples == number([*columns, groups.of_released], sizes=[*sizes, groups.n_sets], length=n)[1]
