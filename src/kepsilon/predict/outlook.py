# SPDX-License-Identifier: Apache-2.0
"""The ranges and expected figures of all classes, found a batch at a time, before noise is drawn.

A class that is too large for a batch comes in parts. With at most one ε-quasi its distinct values with counts stand for
it, and give the same figures. With several ε-quasis engines never divide a class, and where it matters whom records are
about, or what confident k leaves of a class, a divided class is refused.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass, Preview
from kepsilon.evaluate.confident_k.simulated_suppression import Counting
from kepsilon.evaluate.error.best_constant import errors_of_median, errors_of_medians
from kepsilon.evaluate.error.relative_error import ErrorSums
from kepsilon.evaluate.error.value_cells import ValueCells
from kepsilon.evaluate.expectations import Expectations, NoiseSetting, expect, expect_nothing, expect_of_counts
from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.evaluate.large_class import merge_counts, one_class
from kepsilon.evaluate.linking.joined_records import JoinedLinks
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.outliers import OutlierSums
from kepsilon.evaluate.simulation import Blocks
from kepsilon.evaluate.tally import Expected
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.mechanisms.protocol import Mechanism
from kepsilon.policy.policy import Policy
from kepsilon.predict.counted_batch import CountedBatch, code_batch, codes_of, count_batch
from kepsilon.predict.divided_classes import count_large, refuse_divided, require_persons
from kepsilon.predict.noise_ranges import (
    NoiseRanges,
    are_coarse_enough,
    clip,
    clip_coded,
    constant_classes,
    ranges_of,
    refuse_too_fine,
)
from kepsilon.predict.outliers_of_classes import outliers_of
from kepsilon.predict.persons import PersonLook, joined_links_of, look_at_persons
from kepsilon.predict.recheck import Recheck, RecheckOfDraws
from kepsilon.predict.spreads import cells_of, spreads_of
from kepsilon.stopwatch import each_counted
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues
from kepsilon.table.steps import steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The ranges and expected figures of all classes, known before any noise is drawn."""

    low: FloatArray
    """Ends of the ranges, shape (n_classes, n_epsilon_quasis)."""
    high: FloatArray
    clipped: dict[str, int]
    """Values outside declared bounds, by ε-quasi."""
    constant_classes: dict[str, int]
    """Classes whose range is 0, by ε-quasi."""
    outliers: dict[str, OutlierSums]
    """How well the extreme records of classes could be worked out from the size of the noise, by ε-quasi; those with
    declared bounds are not in it."""
    expected: tuple[Expected, ...]
    """Expected figures, one for each setting asked about."""
    links_beside: tuple[ExpectedLinks, ...] = ()
    """Expected links at further ε, at which nothing else is wanted."""
    errors_of_constant: tuple[ErrorSums, ...] = ()
    """The error of the best constant per class, by ε-quasi."""
    spreads: tuple[float | None, ...] = ()
    """The mean distance of the true values from their median, by ε-quasi; None where no record holds a value."""
    n_persons: IntArray | None = None
    """Distinct persons of every class, shape (n_classes,); None where the policy names no person."""
    most_of_a_person: IntArray | None = None
    """The largest number of records that one person has in each class, shaped like `n_persons`."""
    look: PersonLook | None = None
    """The persons of all classes together, where all records of a person get one draw; otherwise None."""
    joined: tuple[JoinedLinks, ...] | None = None
    """What whoever joins records with equal noisy values gains in each setting; None where there is no single draw."""
    groups: GroupSums | None = None
    """The groups whose averages are published; None where there are none."""

    @property
    def widths(self) -> FloatArray:
        """R, shaped like its ends."""
        return self.high - self.low


def outlook_of(
    classes: Preview,
    policy: Policy,
    settings: Sequence[NoiseSetting],
    *,
    beside: Sequence[float] = (),
    recheck: Recheck | None = None,
) -> Outlook:
    """Ranges of all classes, and expected figures in each setting; at the ε `beside` these only expected links.

    Refuses precisions so fine that the grid of the noise would show, and ε-quasis that differ between the records of a
    person who is to get one draw. What confident k is expected to suppress includes classes that fail `recheck` afterwards.
    """
    person_look = None
    if policy.draws_once_per_person:
        person_look = look_at_persons(classes, policy)
        person_look.refuse_varying()
    low = np.empty((len(classes.sizes), len(policy.epsilon_quasis)))
    high = np.empty_like(low)
    clipped: dict[str, int] = {}
    outliers: dict[str, OutlierSums] = {}
    expected: list[Expected] = []
    links_beside = [ExpectedLinks()] * len(beside)
    of_constant: list[ErrorSums] = [ErrorSums()] * len(policy.epsilon_quasis)
    cells: list[ValueCells] = [ValueCells()] * len(policy.epsilon_quasis)
    look = partial(
        outlook_of_batch,
        policy=policy,
        settings=tuple(settings),
        beside=tuple(beside),
        mechanism=mechanism_of(policy),
        blocks=Blocks.of(classes.sizes),
        recheck=recheck,
    )
    n_persons, most = np.zeros((2, len(classes.sizes)), dtype=np.int64)
    for own in each_counted(classes.each(look), n_classes=len(classes.sizes)):
        if own.n_persons is not None and own.most_of_a_person is not None:
            n_persons[own.classes], most[own.classes] = own.n_persons, own.most_of_a_person
        low[own.classes], high[own.classes] = own.low, own.high
        clipped = {name: clipped.get(name, 0) + n for name, n in own.clipped.items()}
        outliers = {name: outliers.get(name, OutlierSums()) + more for name, more in own.outliers.items()}
        of_constant = [one + more for one, more in zip(of_constant, own.errors_of_constant, strict=True)]
        cells = [one + more for one, more in zip(cells, own.cells, strict=True)]
        pairs = zip(expected, own.expected, strict=True)
        expected = [one + more for one, more in pairs] if expected else list(own.expected)
        links_beside = [one + more for one, more in zip(links_beside, own.links_beside, strict=True)]
    refuse_too_fine(low, high, policy)
    return Outlook(
        low=low,
        high=high,
        clipped=clipped,
        constant_classes=constant_classes(low, high, policy),
        outliers=outliers,
        expected=tuple(expected),
        links_beside=tuple(links_beside),
        errors_of_constant=tuple(of_constant),
        spreads=spreads_of(classes, cells),
        n_persons=None if policy.person is None else n_persons,
        most_of_a_person=None if policy.person is None else most,
        look=person_look,
        joined=None
        if person_look is None
        else tuple(joined_links_of(person_look, policy, [epsilon for epsilon, _ in settings])),
    )


def largest_posteriors_of(classes: Preview, policy: Policy, epsilons: Sequence[float]) -> list[float]:
    """The most that any published value can make a record's own original probable, in any class, for each ε.

    To an attacker who considers one record at a time, or one person, where records with equal noisy values can be joined.
    It takes one pass over the classes, or two, and no other figure is worked out.
    """
    look = partial(
        _largest_posteriors_of_batch,
        policy=policy,
        epsilons=tuple(float(policy.epsilon_of_a_record(epsilon)) for epsilon in epsilons),
        mechanism=mechanism_of(policy),
        blocks=Blocks.of(classes.sizes),
    )
    largest = np.zeros(len(epsilons))
    for own in classes.each(look):
        np.maximum(largest, own, out=largest)
    if policy.draws_once_per_person:
        joined = joined_links_of(look_at_persons(classes, policy), policy, list(map(float, epsilons)))
        np.maximum(largest, [own.largest for own in joined], out=largest)
    found: list[float] = largest.tolist()
    return found


def _largest_posteriors_of_batch(
    batch: Batch | LargeClass, *, policy: Policy, epsilons: Sequence[float], mechanism: Mechanism, blocks: Blocks
) -> list[float]:
    """The largest posterior of one batch for each ε; `blocks` divides all classes, not only those of the batch."""
    if isinstance(batch, Batch):
        _, expectations = expect_batch(batch, policy, mechanism, blocks.within(batch.classes))
    else:
        refuse_divided(policy)
        own = slice(batch.class_id, batch.class_id + 1)
        _, _, expectations = _expect_large(batch, policy, mechanism, blocks.within(own))
    return list(expectations.figures.largest(epsilons))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutlook:
    """Ranges and expected figures of one batch; small enough to return from a worker."""

    classes: slice
    low: FloatArray
    high: FloatArray
    clipped: dict[str, int]
    outliers: dict[str, OutlierSums]
    expected: tuple[Expected, ...]
    links_beside: tuple[ExpectedLinks, ...]
    errors_of_constant: tuple[ErrorSums, ...]
    cells: tuple[ValueCells, ...]
    """The true values of the ε-quasis in cells."""
    n_persons: IntArray | None = None
    most_of_a_person: IntArray | None = None


def outlook_of_batch(
    batch: Batch | LargeClass,
    *,
    policy: Policy,
    settings: Sequence[NoiseSetting],
    mechanism: Mechanism,
    blocks: Blocks,
    beside: Sequence[float] = (),
    recheck: Recheck | None = None,
) -> BatchOutlook:
    """Ranges and expected figures of one batch; `blocks` divides all classes, not only those of the batch."""
    members = persons = None
    counted: CountedBatch = ()
    if isinstance(batch, Batch):
        own = batch.classes
        batch = code_batch(batch, policy)
        counted = count_batch(batch)
        of_constant = errors_of_medians(
            batch.values, batch.class_ids, n_classes=own.stop - own.start, coded=batch.coded, counted=counted
        )
        ranges, expectations = expect_batch(
            batch, policy, mechanism, blocks.within(own), recheck=recheck, counted=counted
        )
        cells = cells_of(batch)
        counts = None
        if batch.persons is not None:
            # In the order of the batch, which expectations need not keep.
            ranges = dataclasses.replace(ranges, values=clip(batch.values, policy)[0], class_ids=batch.class_ids)
            persons = batch.persons
            members = members_of(batch.persons, batch.class_ids, n_classes=own.stop - own.start)
    else:
        refuse_divided(policy, recheck)
        own = slice(batch.class_id, batch.class_id + 1)
        ranges, counts, expectations = _expect_large(batch, policy, mechanism, blocks.within(own))
        true_values = (ranges.values if ranges.unclipped is None else ranges.unclipped).T
        of_constant = tuple(errors_of_median(values, counts) for values in true_values)
        cells = tuple(ValueCells.of(values, counts) for values in true_values)
    if mechanism.exponential is None and not are_coarse_enough(ranges.low, ranges.high, policy):
        # Not even a simulation can draw for them. `outlook_of` refuses the policy, with the classes of all batches.
        expectations = expect_nothing(expectations.n_records, n_attributes=ranges.low.shape[1])
    links = expectations.figures.links([*(epsilon for epsilon, _ in settings), *beside])
    return BatchOutlook(
        classes=own,
        low=ranges.low,
        high=ranges.high,
        clipped=ranges.clipped,
        outliers={}
        if mechanism.exponential is None
        else outliers_of(ranges, policy, counts=counts, persons=persons, counted=counted),
        expected=expectations.at_each(settings, links=links[: len(settings)]),
        links_beside=tuple(links[len(settings) :]),
        errors_of_constant=of_constant,
        cells=cells,
        n_persons=None if members is None else members.n_persons,
        most_of_a_person=None if members is None else members.most,
    )


def expect_batch(
    batch: Batch,
    policy: Policy,
    mechanism: Mechanism,
    blocks: Blocks | None = None,
    *,
    recheck: Recheck | None = None,
    counted: CountedBatch = (),
) -> tuple[NoiseRanges, Expectations]:
    """The ranges of some whole classes, and their expected figures for any ε.

    `counted` are the values of the batch counted by class, where they were.
    """
    require_persons(batch, policy)
    n_classes = batch.classes.stop - batch.classes.start
    is_several = len(policy.epsilon_quasis) > 1
    counting = None
    if is_several or batch.persons is not None or recheck is not None:
        batch = _in_order(batch, policy)
    if batch.persons is not None or recheck is not None:
        counting = Counting(
            persons=batch.persons,
            draws_once=policy.draws_once_per_person,
            still_meets=None if recheck is None else RecheckOfDraws(recheck=recheck, batch=batch),
        )
    ranges = ranges_of(batch.values, batch.class_ids, n_classes=n_classes, policy=policy)
    if is_several:
        coded: Sequence[CodedValues] = ()
    elif batch.coded is None:
        coded = codes_of(ranges.values, policy)
    else:
        coded = [
            clip_coded(own, attribute, policy)
            for own, attribute in zip(batch.coded, policy.epsilon_quasis.values(), strict=True)
        ]
    is_clipped = bool(coded) and batch.coded is not None and coded[0] is not batch.coded[0]
    expectations = expect(
        ranges.values,
        coded,
        ranges.class_ids,
        mechanism=mechanism,
        low=ranges.low,
        high=ranges.high,
        steps=steps_of(policy),
        originals=ranges.unclipped,
        blocks=blocks,
        counting=counting,
        counted=counted[0] if coded and counted and not is_clipped else None,
    )
    return ranges, expectations


def _in_order(batch: Batch, policy: Policy) -> Batch:
    """The batch with its records sorted by class, values and persons.

    With several ε-quasis, or persons, figures are simulated from records that are sampled by position. These have to be the
    same records whatever order an engine holds them in, or `check` could refuse what `anonymise` releases.
    """
    coded = codes_of(batch.values, policy) if batch.coded is None else batch.coded
    sizes = [len(own.distinct) for own in coded]
    if math.prod(sizes) * (batch.classes.stop - batch.classes.start) < 1 << 63:
        keys = batch.class_ids.astype(
            np.int64
        )  # one number for class and values: sorting by several keys takes much longer
        for n_values, own in zip(sizes, coded, strict=True):
            keys *= n_values
            keys += own.codes
        if batch.persons is None:
            order = np.argsort(keys)
        else:
            order = np.argsort(batch.persons, kind="stable")
            order = order[np.argsort(keys[order], kind="stable")]
    else:
        persons = () if batch.persons is None else (batch.persons,)
        order = np.lexsort((*persons, *(own.codes for own in reversed(coded)), batch.class_ids))
    return dataclasses.replace(
        batch,
        class_ids=batch.class_ids[order],
        values=batch.values[order],
        coded=None if len(coded) > 1 else tuple(own.of(order) for own in coded),
        persons=None if batch.persons is None else batch.persons[order],
        sensitive=None if batch.sensitive is None else batch.sensitive[order],
    )


def _expect_large(
    batch: LargeClass, policy: Policy, mechanism: Mechanism, blocks: Blocks
) -> tuple[NoiseRanges, IntArray, Expectations]:
    """The range of a large class, and its expected figures for any ε, from its distinct values and their counts.

    The ranges have one row for each distinct value; the counts of these rows are returned too.
    """
    values, counts = count_large(batch, policy)
    as_records = values[:, np.newaxis][:, : len(policy.epsilon_quasis)]
    ranges = ranges_of(as_records, np.zeros(len(values), dtype=np.int64), n_classes=1, policy=policy)
    moved = ranges.values[:, 0] if policy.epsilon_quasis else values
    expectations = expect_of_counts(
        one_class(*merge_counts(moved, counts)),
        mechanism=mechanism,
        low=ranges.low,
        high=ranges.high,
        steps=steps_of(policy),
        noisy_values=moved,
        original_values=values,
        original_counts=counts,
        blocks=blocks,
    )
    n_clipped = int(counts[(values < moved) | (values > moved)].sum())
    return dataclasses.replace(ranges, clipped=dict.fromkeys(ranges.clipped, n_clipped)), counts, expectations
