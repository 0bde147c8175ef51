# SPDX-License-Identifier: Apache-2.0
"""Expected figures of averages, a batch at a time: errors are exact or in closed form, and so is the risk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass, Preview
from kepsilon.evaluate.error.best_constant import errors_of_medians
from kepsilon.evaluate.error.relative_error import ErrorSums, errors_of
from kepsilon.evaluate.error.value_cells import ValueCells
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.tally import Expected
from kepsilon.perturb.averages.spreading import clamped_normal_distances
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.policy.policy import Policy
from kepsilon.predict.averaged import AveragedBatch, average_batch
from kepsilon.predict.counted_batch import count_batch
from kepsilon.predict.noise_ranges import constant_classes, ranges_of, refuse_too_fine
from kepsilon.predict.outlook import Outlook
from kepsilon.predict.recheck import RequirementsAgain
from kepsilon.predict.spreads import cells_of, spreads_of
from kepsilon.stopwatch import each_counted
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.steps import steps_of


def outlook_of_averages(
    classes: Preview, policy: Policy, epsilons: Sequence[float], *, again: RequirementsAgain | None
) -> Outlook:
    """Ranges of all classes, groups, and expected figures for each ε, where averages are published."""
    within = None
    if policy.averages is not None and policy.averages.spread:
        within = group_sums_of(classes, policy, again=again).within
    low = np.empty((len(classes.sizes), len(policy.epsilon_quasis)))
    high = np.empty_like(low)
    clipped: dict[str, int] = {}
    expected: list[Expected] = []
    of_constant: list[ErrorSums] = [ErrorSums()] * len(policy.epsilon_quasis)
    cells: list[ValueCells] = [ValueCells()] * len(policy.epsilon_quasis)
    groups = GroupSums()
    n_persons, most = np.zeros((2, len(classes.sizes)), dtype=np.int64)
    look = partial(averaged_outlook_of_batch, policy=policy, epsilons=tuple(epsilons), again=again, within=within)
    for own in each_counted(classes.each(look), n_classes=len(classes.sizes)):
        low[own.classes], high[own.classes] = own.low, own.high
        clipped = {name: clipped.get(name, 0) + n for name, n in own.clipped.items()}
        pairs = zip(expected, own.expected, strict=True)
        expected = [one + more for one, more in pairs] if expected else list(own.expected)
        of_constant = [one + more for one, more in zip(of_constant, own.errors_of_constant, strict=True)]
        cells = [one + more for one, more in zip(cells, own.cells, strict=True)]
        groups += own.groups
        if own.n_persons is not None and own.most_of_a_person is not None:
            n_persons[own.classes], most[own.classes] = own.n_persons, own.most_of_a_person
    if policy.draws_noise:
        refuse_too_fine(low, high, policy)
    return Outlook(
        low=low,
        high=high,
        clipped=clipped,
        constant_classes=constant_classes(low, high, policy),
        outliers={},
        expected=tuple(expected),
        errors_of_constant=tuple(of_constant),
        spreads=spreads_of(classes, cells),
        n_persons=None if policy.person is None else n_persons,
        most_of_a_person=None if policy.person is None else most,
        groups=groups,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragedOutlook:
    """Ranges and expected figures of one batch; small enough to return from a worker."""

    classes: slice
    low: FloatArray
    high: FloatArray
    clipped: dict[str, int]
    expected: tuple[Expected, ...]
    errors_of_constant: tuple[ErrorSums, ...]
    cells: tuple[ValueCells, ...]
    groups: GroupSums
    n_persons: IntArray | None
    most_of_a_person: IntArray | None


def averaged_outlook_of_batch(
    batch: Batch | LargeClass,
    *,
    policy: Policy,
    epsilons: Sequence[float],
    again: RequirementsAgain | None,
    within: FloatArray | None,
) -> AveragedOutlook:
    """Ranges and expected figures of one batch, for each ε; `within` is W of all classes, where records spread around averages."""
    averaged = average_batch(batch, policy, again=again)
    if not isinstance(batch, Batch):
        raise TypeError("a class in parts has no averages")
    n_classes = batch.classes.stop - batch.classes.start
    ranges = ranges_of(batch.values, batch.class_ids, n_classes=n_classes, policy=policy)
    links, largest = averaged.links, averaged.largest_possible
    members = None
    if batch.persons is not None:
        members = members_of(batch.persons, batch.class_ids, n_classes=n_classes)
    return AveragedOutlook(
        classes=batch.classes,
        low=ranges.low,
        high=ranges.high,
        clipped=averaged.clipped,
        expected=tuple(
            Expected(
                n_records=len(batch.class_ids),
                errors=_expected_errors(averaged, ranges.low, ranges.high, batch.class_ids, policy, epsilon, within),
                links=ExpectedLinks(fair=Estimate(total=links.fair), paper=Estimate(total=links.paper)),
                largest_possible=largest,
                largest_possible_by_matching=largest,
                suppressed=None,
            )
            for epsilon in epsilons
        ),
        errors_of_constant=errors_of_medians(
            batch.values, batch.class_ids, n_classes=n_classes, coded=batch.coded, counted=count_batch(batch) or None
        ),
        cells=cells_of(batch),
        groups=averaged.sums,
        n_persons=None if members is None else members.n_persons,
        most_of_a_person=None if members is None else members.most,
    )


def _expected_errors(
    averaged: AveragedBatch,
    low: FloatArray,
    high: FloatArray,
    class_ids: IntArray,
    policy: Policy,
    epsilon: float,
    within: FloatArray | None,
) -> tuple[ErrorSums, ...]:
    """The expected error of every ε-quasi: exact without noise, in closed form with it."""
    originals, of_record = averaged.originals, averaged.groups.of_record
    if policy.draws_noise:
        sizes = averaged.groups.sizes[of_record][:, np.newaxis]
        distances = LAPLACE.expected_distances(
            averaged.exact[of_record],
            originals,
            np.zeros(originals.shape),
            (high - low)[class_ids] / sizes,
            epsilon=epsilon,
            steps=steps_of(policy),
        )
    elif within is not None:
        averages = averaged.exact[of_record]
        distances = np.empty(originals.shape)
        for j, own in enumerate(steps_of(policy)):
            distances[:, j] = clamped_normal_distances(
                averages[:, j], originals[:, j], math.sqrt(within[j, j]), domain=own.domain
            )
    else:
        distances = np.abs(averaged.published(policy) - originals)
    return tuple(
        errors_of(originals[:, j], distances[:, j]).with_relative_errors(originals[:, j], distances[:, j])
        for j in range(originals.shape[1])
    )


def group_sums_of(classes: Preview, policy: Policy, *, again: RequirementsAgain | None) -> GroupSums:
    """The groups of all classes, counted and measured, in one pass."""
    sums = GroupSums()
    for own in classes.each(partial(_group_sums_of_batch, policy=policy, again=again)):
        sums += own
    return sums


def _group_sums_of_batch(batch: Batch | LargeClass, *, policy: Policy, again: RequirementsAgain | None) -> GroupSums:
    return average_batch(batch, policy, again=again).sums
