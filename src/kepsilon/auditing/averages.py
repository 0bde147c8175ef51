# SPDX-License-Identifier: Apache-2.0
"""Checks averages: how many records share them, that they are the averages of their originals, and whose sums they keep.

A set of records with the same averages that is really several groups is the union of groups that all round to what is
published, and so does the average of all its records; nothing here depends on which of the two it is.
"""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.findings import counted
from kepsilon.auditing.noise_law import Rounding
from kepsilon.auditing.noise_of_groups import check_noise_of_groups
from kepsilon.auditing.published_groups import (
    PublishedGroups,
    largest_binary_error,
    published_groups,
    step_of,
)
from kepsilon.auditing.sums_of_classes import check_noisy_sums, check_spread_sums
from kepsilon.auditing.tables import NOBODY
from kepsilon.table.arrays import IntArray

CHECK = "averages"


def check_averages(case: AuditCase) -> None:
    """Makes all checks of averages; what a policy without averages publishes is checked elsewhere."""
    averages = case.policy.averages
    if averages is None:
        return
    if averages.spread:
        case.findings.note(
            CHECK,
            "records have draws of their own around the averages, so that groups do not show: only sums of classes were "
            "tested; who was averaged with whom, how large groups are and what was drawn was not tried.",
        )
        check_spread_sums(case)
        return
    groups = published_groups(case)
    check_group_sizes(case, groups)
    check_groups_of_persons(case, groups)
    if averages.noise:
        check_noise_of_groups(case, groups)
        check_noisy_sums(case)
    else:
        check_exact_averages(case, groups)
        check_exact_sums(case)
        _warn_of_constant_classes(case)


def check_group_sizes(case: AuditCase, groups: PublishedGroups) -> None:
    """Counts who shares the averages of each group: at least g, or the whole class."""
    n_small = int(np.count_nonzero(groups.is_too_small))
    who = "persons" if groups.are_persons else "records"
    case.findings.require(
        n_small == 0,
        CHECK,
        right=f"all averages are shared by at least {groups.asked:,} {who} of a class, or by the whole class: "
        f"{groups.n_sets:,} different ones, by {int(groups.n_members.min()):,} {who} at least.",
        wrong=f"{counted(n_small, 'average is', 'averages are')} shared by fewer than {groups.asked:,} {who}, and not by the "
        "whole class.",
    )
    if case.policy.person is not None and not groups.are_persons:
        case.findings.warning(
            CHECK, "without a linkage the persons who share an average were not counted, only their records."
        )


def check_groups_of_persons(case: AuditCase, groups: PublishedGroups) -> None:
    """With a linkage, checks that all records of a person in a class publish the same averages."""
    persons, linkage = case.original.persons, case.linkage
    if persons is None or linkage is None:
        return
    own = persons[linkage.original_row]
    is_somebody = own != NOBODY
    pairs = np.stack([case.classes.of_released, own, groups.of_released])[:, is_somebody]
    n_divided = np.unique(pairs, axis=1).shape[1] - np.unique(pairs[:2], axis=1).shape[1]
    case.findings.require(
        n_divided == 0,
        CHECK,
        right="all records of a person in a class publish the same averages.",
        wrong="records of one person in one class publish different averages: groups were made of records, not of persons.",
    )


def check_exact_averages(case: AuditCase, groups: PublishedGroups) -> None:
    """With a linkage, checks that what is published is the average of the originals, rounded once.

    An average halfway between two multiples of the precision may be rounded to either.
    """
    if case.linkage is None:
        return
    rows = case.linkage.original_row
    for j, name in enumerate(case.policy.epsilon_quasis):
        step = step_of(case, j)
        apart = np.nan_to_num((case.noise.values[rows, j] - case.released.numbers[name]) / step)
        means = np.bincount(groups.of_released, weights=apart, minlength=groups.n_sets) / groups.n_records
        n_wrong = int(np.count_nonzero(np.abs(means) > 0.5 + largest_binary_error(case, j)[groups.class_ids]))
        case.findings.require(
            n_wrong == 0,
            CHECK,
            right=f"every published {name} is the average of the originals that publish it.",
            wrong=f"{counted(n_wrong, 'published average', 'published averages')} of {name} not that of the originals.",
        )


def check_exact_sums(case: AuditCase) -> None:
    """Without a linkage, checks that averages keep the sum of every class, and are no more extreme than its values.

    The j largest averages of a class cannot sum to more than its j largest values do, and all of them sum to as much as all
    values, up to half a unit of the precision for each record.
    """
    if case.linkage is not None:
        return
    classes = case.classes
    n_tried = n_wrong = 0
    for j, name in enumerate(case.policy.epsilon_quasis):
        published, step = case.released.numbers[name], step_of(case, j)
        error = largest_binary_error(case, j)
        for c, records, originals in classes.members():
            if len(records) != len(originals):
                continue  # the counts show it
            n_tried += 1
            n_wrong += not _is_averaged(
                published[records] / step, case.noise.values[originals, j] / step, error=float(error[c])
            )
    if not n_tried:
        case.findings.note(CHECK, "without a linkage no class has originals that are known, so sums were not compared.")
        return
    case.findings.require(
        n_wrong == 0,
        CHECK,
        right="the averages of every class keep its sum, and are no more extreme than its values"
        + ("." if classes.all_known else ", as far as the originals of classes are known."),
        wrong=f"{counted(n_wrong, 'column of a class', 'columns of classes')} published with values that are no averages of "
        "the originals: they sum to something else, or are more extreme.",
    )
    case.findings.note(CHECK, "without a linkage it was not tried who was averaged with whom.")


def _is_averaged(published: np.ndarray, originals: np.ndarray, *, error: float) -> bool:
    """Whether numbers, in units of their precision, can be averages of others, each off by half a unit and `error`."""
    if np.isnan(published).any() or np.isnan(originals).any():
        return True  # other checks report what is missing on one side only
    more = np.cumsum(np.sort(published)[::-1] - np.sort(originals)[::-1])
    allowed = (0.5 + error) * np.arange(1, len(more) + 1)
    return bool((more <= allowed).all()) and bool(more[-1] >= -allowed[-1])


def _warn_of_constant_classes(case: AuditCase) -> None:
    """Warns of classes that agree on a value, which is then their average, exactly."""
    for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
        constant: IntArray = np.flatnonzero(case.classes.is_known & (case.noise.ranges[:, j] == 0))
        if len(constant):
            case.findings.warning(
                CHECK,
                f"{counted(len(constant), 'class agrees', 'classes agree')} on {name}, so that its value is published as it "
                f"is, up to the precision of {Rounding.of(attribute).step:g}; noise on averages would hide it.",
            )
