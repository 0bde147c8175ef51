# SPDX-License-Identifier: Apache-2.0
"""Tests the noise on averages: one draw for each group, on the sum of its values, of the scale R/ε of the declared range.

On the average of s records the noise has the scale R/(sε). So a group is tested as a record would be whose value is the
average of the group and whose range is R/s. A set of records that may be several groups counts as that many groups of which
nothing is known, as records do that confident k took out. Without a linkage the groups are known that are a whole class: a
class of fewer than 2g records is one, whatever was drawn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.few_records import check_exact_values
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise import TESTS_OF_ONE, judge_noise
from kepsilon.auditing.noise_law import ClaimedNoise
from kepsilon.auditing.noise_of_records import check_noise_of_records, n_tests_of_records
from kepsilon.auditing.published_groups import PublishedGroups
from kepsilon.auditing.residuals import SEED, residuals_of
from kepsilon.table.arrays import FloatArray, IntArray

GROUPS = "groups"
"""What the findings call what was drawn for."""


def check_noise_of_groups(case: AuditCase, groups: PublishedGroups) -> None:
    """Tests scale, centre and shape of the noise on the averages, and how that on several ε-quasis goes together."""
    own = _groups_as_records(case, groups)
    names = list(case.policy.epsilon_quasis)
    if own is None or not own.released.n_records:
        case.findings.note("noise", "no group is known whose originals are known too, so its noise was not tested.")
        return
    rng = np.random.default_rng(SEED)
    level = case.false_alarms.level("noise", n_tests=TESTS_OF_ONE * len(names) + n_tests_of_records(len(names)))
    has_more = []
    for j, name in enumerate(names):
        residuals = residuals_of(own, j, rng)
        if residuals.is_released.any():
            has_more.append(judge_noise(own, residuals, name, level=level, units=GROUPS))
    if len(names) > 1:
        check_noise_of_records(own, has_more=all(has_more), level=level, units=GROUPS)
    check_exact_values(own, units=GROUPS)
    n_open = own.original.n_records - own.released.n_records
    if n_open:
        case.findings.note(
            "noise",
            f"{n_open:,} groups at most publish the same averages as another group of their class; the tests allow for any "
            "noise of theirs, and see less.",
        )
    case.findings.note("noise", "not tried: whether the noise of a group goes with anything else than the group.")


def _groups_as_records(case: AuditCase, groups: PublishedGroups) -> AuditCase | None:
    """A case whose records are the groups; those that do not show are originals without a released record."""
    found = _linked(case, groups) if case.linkage is not None else _whole_classes(case)
    if found is None:
        return None
    averages, sizes, class_ids, published = found
    n_open = np.zeros(0, dtype=np.int64)
    if case.linkage is not None:
        is_open = ~groups.is_one_group
        n_open = np.repeat(groups.class_ids[is_open], groups.most_groups[is_open])
    n_seen, n = len(sizes), len(sizes) + len(n_open)
    all_classes = np.concatenate([class_ids, n_open])
    all_sizes = np.concatenate([sizes, np.full(len(n_open), groups.asked)])
    ranges = case.noise.ranges[all_classes] / all_sizes[:, np.newaxis]
    values = np.vstack([averages, np.zeros((len(n_open), averages.shape[1]))])
    numbers, rows, seen = np.arange(n), np.arange(n_seen), np.ones(n, dtype=np.int64)
    names = list(case.policy.epsilon_quasis)
    return replace(
        case,
        original=replace(
            case.original, n_records=n, stays=seen.astype(np.bool_), persons=None, n_still_capped=0,
            numbers=dict(zip(names, values.T, strict=True)),
        ),
        released=replace(case.released, n_records=n_seen, numbers=dict(zip(names, published.T, strict=True))),
        linkage=Linkage(original_row=rows, released_row=rows, class_id=rows),
        classes=replace(
            case.classes, of_released=rows, of_original=numbers, n_released=seen, n_covered=seen, n_originals=seen,
            is_known=seen.astype(np.bool_), cover=None, of_node=None,
        ),
        noise=ClaimedNoise(
            values=values, low=values, high=values, ranges=ranges, starts=values,
            n_active=np.count_nonzero(np.nan_to_num(ranges) > 0, axis=1), n_clipped={},
        ),
    )  # fmt: skip


def _linked(case: AuditCase, groups: PublishedGroups) -> tuple[FloatArray, IntArray, IntArray, FloatArray] | None:
    """Exact averages, sizes, classes and published averages of the sets that are one group, where a linkage tells all."""
    if case.linkage is None:
        return None
    values = case.noise.values[case.linkage.original_row]
    chosen = np.flatnonzero(groups.is_one_group)
    sums = [np.bincount(groups.of_released, weights=own, minlength=groups.n_sets) for own in values.T]
    example = np.zeros(groups.n_sets, dtype=np.int64)
    example[groups.of_released] = np.arange(case.released.n_records)
    sizes = groups.n_records[chosen]
    averages = np.column_stack(sums)[chosen] / sizes[:, np.newaxis]
    return averages, sizes, groups.class_ids[chosen], _published(case)[example[chosen]]


def _whole_classes(case: AuditCase) -> tuple[FloatArray, IntArray, IntArray, FloatArray] | None:
    """Exact averages, sizes, classes and published averages of the groups that are a whole class with known originals."""
    if case.policy.averages is None:
        return None
    group, published = case.policy.averages.group, _published(case)
    averages, sizes, class_ids, shown = [], [], [], []
    for c, records, originals in case.classes.members():
        if len(records) == len(originals) < 2 * group:
            averages.append(case.noise.values[originals].mean(axis=0))
            sizes.append(len(originals))
            class_ids.append(c)
            shown.append(published[records[0]])
    if not sizes:
        return None
    return np.array(averages), np.array(sizes), np.array(class_ids), np.array(shown)


def _published(case: AuditCase) -> FloatArray:
    return np.column_stack([case.released.numbers[name] for name in case.policy.epsilon_quasis])
