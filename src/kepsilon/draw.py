# SPDX-License-Identifier: Apache-2.0
"""Draws the noise of every record, or averages it with others, once, and measures what that did.

A batch of whole classes is drawn at a time, wherever its records are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kepsilon.average import average_and_measure
from kepsilon.engines.protocol import Batch, Classes, Draw, LargeClass, Random, Store
from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.large_class import LargeClassFigures, merge_counts, one_class
from kepsilon.evaluate.linking.person_links import comparisons_of_a_record
from kepsilon.evaluate.pictures import Spread, sample_positions, spread_of
from kepsilon.evaluate.survival.collected import CollectedSurvival, LargeClassMoments, survival_sums
from kepsilon.evaluate.tally import Realised, realise
from kepsilon.measured import BatchMeasured, Measured, between, sample_of
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.mechanisms.protocol import Mechanism
from kepsilon.policy.policy import Policy
from kepsilon.predict.divided_classes import count_large, refuse_divided, require_persons
from kepsilon.predict.known_links import KnownAttacks, TriedRecords
from kepsilon.predict.noise_ranges import clip, declared_ends
from kepsilon.predict.outlook import Outlook
from kepsilon.predict.persons import PersonLook, realised_joined
from kepsilon.predict.recheck import Recheck, RequirementsAgain
from kepsilon.stopwatch import Stopwatch, each_counted, ignore_step
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import steps_of


def perturb_and_measure(
    classes: Classes,
    outlook: Outlook,
    policy: Policy,
    *,
    random: Random,
    clock: Stopwatch,
    recheck: RequirementsAgain | None = None,
    numeric: Sequence[str] = (),
    attacks: KnownAttacks | None = None,
) -> Measured:
    """Draws the noise of every record, once, and returns what it did. Algorithm 1, lines 6 and 7.

    Classes that fail `recheck` with what confident k leaves of them are not released. Where all records of a person get one
    draw, that is drawn for all persons before anything else. `numeric` names kept columns of numbers, to see how they go with
    the ε-quasis before and after; `attacks` are tried on what is drawn.
    """
    n_before = np.cumsum(classes.sizes) - classes.sizes
    measured = Measured(sizes=np.zeros_like(classes.sizes), spreads=[Spread()] * len(policy.epsilon_quasis))
    seconds: dict[str, float] = {}
    with clock.step("perturb"):
        drawn = None if outlook.look is None else draw_persons(outlook.look, policy, random=random)
        sampled = sample_positions(outlook.expected[0].n_records)
        draw: Draw[BatchMeasured] = partial(
            perturb_batch,
            low=outlook.low,
            high=outlook.high,
            policy=policy,
            mechanism=mechanism_of(policy),
            sampled=sampled,
            n_before=n_before,
            comparisons=comparisons_of_a_record(outlook.expected[0].n_records),
            recheck=recheck,
            drawn=drawn,
            numeric=numeric,
            attacks=attacks,
        )
        if outlook.groups is not None:
            draw = partial(
                average_and_measure,
                policy=policy,
                again=recheck,
                within=outlook.groups.within,
                sampled=sampled,
                n_before=n_before,
                numeric=numeric,
                attacks=attacks,
            )
        start = time.perf_counter()
        for own in each_counted(classes.draw(draw, random=random), n_classes=len(classes.sizes)):
            measured.add(own)
            seconds = {step: seconds.get(step, 0.0) + own.seconds[step] for step in own.seconds}
        passed = time.perf_counter() - start
        if drawn is not None and outlook.look is not None and policy.confidence is None:
            measured.joined_share = realised_joined(outlook.look, drawn.published, policy)
    clock.divide("perturb", seconds, passed)
    return measured


def perturb_batch(
    batch: Batch | LargeClass,
    random: Random,
    store: Store,
    *,
    low: FloatArray,
    high: FloatArray,
    policy: Policy,
    mechanism: Mechanism,
    sampled: IntArray,
    n_before: IntArray,
    comparisons: float = math.inf,
    recheck: Recheck | None = None,
    drawn: DrawnPersons | None = None,
    numeric: Sequence[str] = (),
    attacks: KnownAttacks | None = None,
) -> BatchMeasured:
    """Draws the noise of one batch of classes, hands the records to `store`, and returns what the noise did.

    `low` and `high` are the ends of the ranges of all classes, and `n_before` says for each class how many records the
    classes before it have. `sampled` are the positions, among all records in the order of their classes, of those that
    pictures show, rising. `comparisons` as for `evaluate.tally.realise`. `drawn` holds what is published of each person, where
    all records of a person get one draw.
    """
    if policy.draws_once_per_person and drawn is None:
        raise ValueError("all records of a person get one draw, but nothing was drawn for persons")
    clock = Stopwatch(ignore_step)
    figures = None
    if not isinstance(batch, Batch):
        refuse_divided(policy, recheck)
        figures = _figures_of_large(batch, low, high, policy, mechanism)
    own = batch.classes if isinstance(batch, Batch) else slice(batch.class_id, batch.class_id + 1)
    measured = BatchMeasured(
        classes=own,
        realised=None,
        sizes=np.zeros(own.stop - own.start, dtype=np.int64),
        spreads=[Spread()] * len(policy.epsilon_quasis),
        samples=[],
        survival=CollectedSurvival(len(policy.epsilon_quasis)),
        seconds=clock.seconds,
    )
    n_passed = int(n_before[own.start])
    in_parts = LargeClassMoments(len(policy.epsilon_quasis))
    tried = None if attacks is None else TriedRecords(attacks)
    for part in parts_of(batch):
        require_persons(part, policy)
        with clock.step("perturb"):
            noisy = (
                _perturb(part, low[own], high[own], policy, mechanism, random=random)
                if drawn is None
                else _take_drawn(part, drawn, policy)
            )
        with clock.step("measure"):
            if figures is None:
                stays, measured.realised = _realise(
                    part, noisy, low[own], high[own], policy, mechanism, comparisons=comparisons, recheck=recheck
                )
            else:
                stays = figures.measure(noisy.values, noisy.columns, originals=noisy.originals)
            staying = part.class_ids if stays.all() else part.class_ids[stays]
            measured.sizes += np.bincount(staying, minlength=len(measured.sizes))
            measured.spreads = [one + spread_of(noisy.values[:, j]) for j, one in enumerate(measured.spreads)]
            if figures is None:
                measured.survival.sums = survival_sums(
                    part.values, noisy.published, part.class_ids, stays, n_classes=len(measured.sizes)
                )
            else:
                in_parts.add(part.values, noisy.published, stays)
            if tried is not None:
                tried.add(part, noisy.values, noisy.published, stays)
            chosen = between(sampled, n_passed, n_passed + len(stays))
            measured.samples.append(sample_of(part, noisy.values, noisy.published, stays, chosen))
            measured.survival.originals.append(part.values[chosen])
            n_passed += len(stays)
        with clock.step("keep"):
            store(part, noisy.published, stays)
    first = int(n_before[own.start])
    if numeric and policy.epsilon_quasis and batch.kept_at is not None:
        with clock.step("measure"):
            measured.survival.kept.append(batch.kept_at(between(sampled, first, n_passed), numeric))
    if figures is not None:
        measured.realised = figures.realised()
        measured.survival.add_large(in_parts, is_released=measured.realised is not None)
        if measured.realised is None:
            measured.sizes[:] = 0  # `Classes.merge` leaves out what was stored of it
    if tried is not None:
        with clock.step("measure"):
            is_released = measured.realised is not None
            measured.known = tried.links(batch, low[own], high[own], policy, is_released=is_released)
    return measured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noisy:
    """The values of some records before noise and as published."""

    values: FloatArray
    """Shape (n_records, n_epsilon_quasis); clipped where bounds were declared."""
    originals: FloatArray | None
    """The values before clipping; None if none of them was clipped."""
    published: FloatArray
    """Shaped like `values`."""

    @property
    def columns(self) -> list[FloatArray]:
        """The published values, one array per ε-quasi."""
        return [self.published[:, j] for j in range(self.published.shape[1])]


def _perturb(
    part: Batch, low: FloatArray, high: FloatArray, policy: Policy, mechanism: Mechanism, *, random: Random
) -> _Noisy:
    """Draws noise for some records, for all ε-quasis of a record together: a record spends ε once."""
    values, clipped = clip(part.values, policy)
    published = values
    if policy.epsilon_quasis:
        published = mechanism.draw(
            values,
            part.class_ids,
            low,
            high,
            epsilon=policy.record_epsilon,
            steps=steps_of(policy),
            source=random,
        )
    return _Noisy(values=values, originals=part.values if any(clipped.values()) else None, published=published)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPersons:
    """What is published of every person, where all records of a person get one draw."""

    persons: IntArray
    """The number of every person, rising, shape (n_persons,)."""
    values: FloatArray
    """What noise was drawn for, shape (n_persons, n_epsilon_quasis)."""
    published: FloatArray
    """Shaped like `values`."""


def draw_persons(look: PersonLook, policy: Policy, *, random: Random) -> DrawnPersons:
    """Draws noise for every person, once: a person spends ε once, whatever number of records and classes.

    The range is the declared one in every class: if one draw were scaled by the ranges of two classes, both published values
    together would give the true one away.
    """
    look.refuse_varying()
    low, high = declared_ends(policy)
    published = mechanism_of(policy).draw(
        look.values,
        np.zeros(look.n_persons, dtype=np.int64),
        low[np.newaxis],
        high[np.newaxis],
        epsilon=policy.record_epsilon,
        steps=steps_of(policy),
        source=random,
    )
    return DrawnPersons(persons=look.persons, values=look.values, published=published)


def _take_drawn(part: Batch, drawn: DrawnPersons, policy: Policy) -> _Noisy:
    """What was drawn for the persons whom some records are about."""
    values, clipped = clip(part.values, policy)
    persons = np.zeros(0, dtype=np.int64) if part.persons is None else part.persons
    places = np.minimum(np.searchsorted(drawn.persons, persons), len(drawn.persons) - 1)
    if not np.array_equal(drawn.persons[places], persons) or not np.array_equal(values, drawn.values[places]):
        raise ValueError("some records are not those that noise was drawn for")
    return _Noisy(
        values=values,
        originals=part.values if any(clipped.values()) else None,
        published=drawn.published[places],
    )


def _realise(
    part: Batch,
    noisy: _Noisy,
    low: FloatArray,
    high: FloatArray,
    policy: Policy,
    mechanism: Mechanism,
    *,
    comparisons: float,
    recheck: Recheck | None,
) -> tuple[BoolArray, Realised]:
    """Which records of a batch stay once confident k is applied, and the figures of those."""
    confident = ConfidentK.asked_by(policy)
    return realise(
        noisy.values,
        noisy.columns,
        part.class_ids,
        mechanism=mechanism,
        low=low,
        high=high,
        epsilon=float(policy.record_epsilon),
        steps=steps_of(policy),
        confident=confident,
        originals=noisy.originals,
        persons=part.persons,
        still_meets=None if recheck is None or confident is None else partial(recheck, part),
        comparisons=comparisons,
    )


def _figures_of_large(
    batch: LargeClass, low: FloatArray, high: FloatArray, policy: Policy, mechanism: Mechanism
) -> LargeClassFigures:
    """What collects the figures of a large class, which has at most one ε-quasi, part by part.

    The class is read once for its distinct values before its parts can be measured.
    """
    values, counts = count_large(batch, policy)
    own = slice(batch.class_id, batch.class_id + 1)
    moved, _ = clip(values[:, np.newaxis][:, : len(policy.epsilon_quasis)], policy)
    return LargeClassFigures(
        one_class(*merge_counts(moved[:, 0] if policy.epsilon_quasis else values, counts)),
        mechanism=mechanism,
        low=low[own],
        high=high[own],
        epsilon=float(policy.record_epsilon),
        steps=steps_of(policy),
        confident=ConfidentK.asked_by(policy),
    )


def parts_of(batch: Batch | LargeClass) -> Iterator[Batch]:
    """The batch itself, or the parts of a large class."""
    if isinstance(batch, Batch):
        yield batch
    else:
        yield from batch.parts()
