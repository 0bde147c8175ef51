# SPDX-License-Identifier: Apache-2.0
"""Averages the records of a batch with their neighbours, once, and measures what that did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass, Random, Store
from kepsilon.evaluate.error.relative_error import realised_errors
from kepsilon.evaluate.linking.reidentification import class_sizes
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.pictures import spread_of
from kepsilon.evaluate.released_persons import released_persons
from kepsilon.evaluate.survival.collected import CollectedSurvival, survival_sums
from kepsilon.evaluate.tally import Realised
from kepsilon.measured import BatchMeasured, between, sample_of
from kepsilon.perturb.averages.averages import noisy_averages_of, spread_averages_of
from kepsilon.policy.policy import Policy
from kepsilon.predict.averaged import AveragedBatch, average_batch
from kepsilon.predict.known_links import KnownAttacks, TriedRecords
from kepsilon.predict.noise_ranges import declared_ends
from kepsilon.predict.recheck import RequirementsAgain
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.steps import steps_of


def average_and_measure(
    batch: Batch | LargeClass,
    random: Random,
    store: Store,
    *,
    policy: Policy,
    again: RequirementsAgain | None,
    within: FloatArray,
    sampled: IntArray,
    n_before: IntArray,
    numeric: Sequence[str] = (),
    attacks: KnownAttacks | None = None,
) -> BatchMeasured:
    """Publishes averages of the groups of one batch, hands the records to `store`, and returns what that did.

    `within` is W of all classes; `sampled`, `n_before` and `numeric` and `attacks` as for `draw.perturb_batch`. Every record stays.
    """
    clock = Stopwatch(ignore_step)
    with clock.step("perturb"):
        averaged = average_batch(batch, policy, again=again, source=random)
        published = _published(averaged, policy, within=within, random=random)
    if not isinstance(batch, Batch):
        raise TypeError("a class in parts has no averages")
    n_classes = batch.classes.stop - batch.classes.start
    with clock.step("measure"):
        stays = np.ones(len(batch.class_ids), dtype=np.bool_)
        sizes = np.bincount(batch.class_ids, minlength=n_classes)
        first = int(n_before[batch.classes.start])
        chosen = between(sampled, first, first + len(stays))
        survival = CollectedSurvival(published.shape[1])
        survival.sums = survival_sums(batch.values, published, batch.class_ids, stays, n_classes=n_classes)
        survival.originals.append(batch.values[chosen])
        if numeric and batch.kept_at is not None:
            survival.kept.append(batch.kept_at(chosen, numeric))
        known = None
        if attacks is not None:
            tried = TriedRecords(attacks)
            tried.add(batch, averaged.values, published, stays, groups=averaged.sets)
            known = tried.links(batch, within, within, policy)
        persons = None
        if batch.persons is not None:
            persons = released_persons(members_of(batch.persons, batch.class_ids, n_classes=n_classes), stays)
        measured = BatchMeasured(
            classes=batch.classes,
            realised=Realised(
                sizes=class_sizes(sizes, sizes),
                errors=tuple(
                    realised_errors(averaged.originals[:, j], published[:, j]) for j in range(published.shape[1])
                ),
                links=averaged.links,
                persons=persons,
            ),
            sizes=sizes,
            spreads=[spread_of(averaged.values[:, j]) for j in range(published.shape[1])],
            samples=[sample_of(batch, averaged.values, published, stays, chosen)],
            survival=survival,
            seconds=clock.seconds,
            # Who of equal records is in which group makes no difference to these sums, so they are those predicted.
            groups=None if batch.persons is None and again is None else averaged.sums,
            known=known,
        )
    with clock.step("keep"):
        store(batch, published, stays)
    return measured


def _published(averaged: AveragedBatch, policy: Policy, *, within: FloatArray, random: Random) -> FloatArray:
    """What every record publishes, shape (n_records, n_epsilon_quasis)."""
    groups, steps = averaged.groups, steps_of(policy)
    if policy.draws_noise:
        noisy = noisy_averages_of(
            averaged.values,
            groups,
            *declared_ends(policy),
            epsilon=policy.record_epsilon,
            steps=steps,
            source=random,
        )
        return noisy[groups.of_record]
    if policy.averages is not None and policy.averages.spread:
        return spread_averages_of(averaged.exact[groups.of_record], within, steps=steps, source=random)
    return averaged.published(policy)
