# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1, in order; the only module that knows the order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np

from kepsilon.classify import classify
from kepsilon.engines.protocol import Columns, Distinct, Engine, LeftOut, Source
from kepsilon.errors import DataError, PolicyError, Problem
from kepsilon.evaluate.noise_size import expected_noise
from kepsilon.evaluate.precision_loss import precision_loss
from kepsilon.evaluate.tally import Tally, tally_classes
from kepsilon.kanonymise.algorithms import ALGORITHMS, KAnonymised
from kepsilon.perturb.laplace import finest_precision_ok, perturb
from kepsilon.perturb.precision import largest_unit
from kepsilon.perturb.randomness import ByteSource, system_bytes, unsafe_seeded_bytes
from kepsilon.perturb.ranges import ClassRange, CoarseRange, DeclaredRange, Range, clip_to_range
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification, ColumnRoles, EpsilonQuasi, fraction
from kepsilon.publish.guarantee import range_in_words, statement, written
from kepsilon.publish.manifest import Json, normalised
from kepsilon.publish.release import Release
from kepsilon.publish.shuffle import shuffled_positions
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding, class_ranges
from kepsilon.table.domains import PlacedValues, domain_of, not_covered, place_values
from kepsilon.table.frequency import FrequencyTable
from kepsilon.version import __version__


def ignore_step(step: str) -> None:
    """Shows nothing."""


@dataclass(slots=True)
class Stopwatch:
    """Seconds per step, telling `on_step` what begins."""

    on_step: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.on_step(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Data that fits its policy, counted and ready for the search."""

    source: Source
    columns: Columns
    roles: ColumnRoles
    table: FrequencyTable
    left_out: LeftOut

    @property
    def n_staying(self) -> int:
        return self.columns.n_records - self.left_out.missing - self.left_out.unlisted


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRanges:
    """The ε-quasis of the released records, in the order of the input, and the range of every class."""

    values: FloatArray
    """Shape (n_released, n_epsilon_quasis); clipped where bounds were declared."""
    class_ids: IntArray
    low: FloatArray
    """Shape (n_classes, n_epsilon_quasis)."""
    high: FloatArray
    clipped: dict[str, int]
    constant_classes: dict[str, int]
    """Classes whose range is 0, so that the exact value is published."""


def anonymise(
    source: object,
    policy: Policy,
    *,
    engine: Engine | None = None,
    unsafe_seed: int | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Release:
    """A (k,ε)-anonymous release of a file or frame.

    `unsafe_seed` makes noise and order repeatable, so that whoever knows it can undo them: for tests only, never for
    publishing, and the manifest says so.
    """
    engine = engine or local_engine()
    random = system_bytes() if unsafe_seed is None else unsafe_seeded_bytes(unsafe_seed)
    clock = Stopwatch(on_step)
    counted = read_and_count(source, policy, engine=engine, clock=clock)
    with clock.step("k-anonymise"):
        anonymous = ALGORITHMS[policy.algorithm](counted.table, policy)
        recoding = anonymous.recoding
        class_ids = counted.columns.by_class(recoding)
    with clock.step("perturb"):
        ranges = noise_ranges(counted.columns, class_ids, recoding, policy)
        published = perturb_released(ranges, policy, random=random)
    with clock.step("measure"):
        measured = measure(counted, class_ids, ranges, published, policy)
    record = _record(counted, anonymous, ranges, measured, policy, engine=engine.name, seeded=random.seeded)
    del ranges
    with clock.step("merge and shuffle"):
        merged = counted.columns.merge(
            recoding,
            class_ids,
            published,
            whole=[n for n, a in policy.epsilon_quasis.items() if fraction(a.precision).denominator == 1],
            shuffle=lambda n: shuffled_positions(n, random_bytes=random.bytes),
        )
    record["seconds"] = clock.seconds
    return Release(merged, record)


def read_and_count(source: object, policy: Policy, *, engine: Engine, clock: Stopwatch) -> Counted:
    """Reads the columns to publish, checks them against the policy, and counts combinations of k-quasis."""
    with clock.step("read"):
        opened = engine.open_source(source)
        roles = classify(opened.column_names, policy, source=opened.name)
        columns = opened.read(roles)
    with clock.step("count"):
        placed = {name: _place(columns, name, policy) for name in roles.k_quasis}
        problems = [problem for name in placed for problem in _unlisted(placed[name], policy)]
        for name, attribute in policy.epsilon_quasis.items():
            problems += _unusable(columns, name, attribute, opened.name)
        if problems:
            raise DataError([Problem(where=_at(p.where, opened.name), what=p.what, fix=p.fix) for p in problems])
        left_out = columns.leave_out(
            {name: values.is_covered for name, (values, _) in placed.items()},
            drop_missing=[n for n, a in policy.epsilon_quasis.items() if a.missing == "suppress"],
        )
        if left_out.missing or left_out.unlisted:
            # Values that only those records held must not shape a label, so the hierarchies are laid out anew.
            placed = {name: _place(columns, name, policy) for name in roles.k_quasis}
        table = columns.count(
            {name: domain_of(values) for name, (values, _) in placed.items()},
            missing_in_class=[n for n, a in policy.epsilon_quasis.items() if a.missing == "class"],
        )
    counted = Counted(source=opened, columns=columns, roles=roles, table=table, left_out=left_out)
    if counted.n_staying < policy.k:
        raise DataError(
            Problem(
                where=opened.name,
                what=f"k = {policy.k}, but only {counted.n_staying:,} records are there to be released "
                f"({columns.n_records:,} read, {left_out.missing:,} left out as missing, {left_out.unlisted:,} as unlisted).",
                fix="Choose a smaller k, or give more records.",
            )
        )
    return counted


def noise_ranges(columns: Columns, class_ids: IntArray, recoding: Recoding, policy: Policy) -> NoiseRanges:
    """What sets the noise of every class, from the records that are released in it."""
    quasis = policy.epsilon_quasis
    released = class_ids != SUPPRESSED
    ids = class_ids[released]
    values = np.empty((len(ids), len(quasis)))
    low = np.empty((recoding.n_classes, len(quasis)))
    high = np.empty_like(low)
    clipped, constant = {}, {}
    problems: list[Problem] = []
    for j, (name, attribute) in enumerate(quasis.items()):
        own = columns.numbers(name)[released]
        chosen = _range(attribute)
        if isinstance(chosen, DeclaredRange):
            own, clipped[name] = clip_to_range(own, float(chosen.low), float(chosen.high))
        precision = fraction(attribute.precision)
        extremes = class_ranges(own, ids, n_classes=recoding.n_classes)
        low[:, j], high[:, j] = chosen.of_classes(*extremes, precision=precision)
        constant[name] = int(np.count_nonzero(high[:, j] == low[:, j]))
        problems += _too_fine(name, low[:, j], high[:, j], precision)
        values[:, j] = own
    if problems:
        raise PolicyError(problems)
    return NoiseRanges(values=values, class_ids=ids, low=low, high=high, clipped=clipped, constant_classes=constant)


def perturb_released(ranges: NoiseRanges, policy: Policy, *, random: ByteSource) -> dict[str, FloatArray]:
    """Noise on the ε-quasis of the released records, each record as one unit. Algorithm 1, lines 6 and 7."""
    quasis = policy.epsilon_quasis
    if not quasis:
        return {}
    published = perturb(
        ranges.values,
        ranges.class_ids,
        ranges.low,
        ranges.high,
        epsilon=policy.exact_epsilon,
        precisions=[fraction(attribute.precision) for attribute in quasis.values()],
        domains=[None if a.domain is None else (fraction(a.domain[0]), fraction(a.domain[1])) for a in quasis.values()],
        source=random,
    )
    return {name: published[:, j] for j, name in enumerate(quasis)}


def measure(
    counted: Counted, class_ids: IntArray, ranges: NoiseRanges, published: dict[str, FloatArray], policy: Policy
) -> Tally:
    """What the noise cost and how many records it leaves linkable, from the values that are about to be published."""
    originals = None
    if any(ranges.clipped.values()):
        released = class_ids != SUPPRESSED
        originals = np.column_stack([counted.columns.numbers(name)[released] for name in policy.epsilon_quasis])
    return tally_classes(
        ranges.values,
        [published[name] for name in policy.epsilon_quasis],
        ranges.class_ids,
        expected_noise=expected_noise(ranges.high - ranges.low, epsilon=float(policy.exact_epsilon)),
        ranges=ranges.high - ranges.low,
        epsilon=float(policy.exact_epsilon),
        originals=originals,
    )


def _place(columns: Columns, name: str, policy: Policy) -> tuple[PlacedValues, Distinct]:
    distinct = columns.distinct(name)
    return place_values(name, policy.k_quasis[name], distinct.values), distinct


def _unlisted(placed: tuple[PlacedValues, Distinct], policy: Policy) -> tuple[Problem, ...]:
    values, distinct = placed
    if policy.k_quasis[values.name].unlisted == "suppress":
        return ()
    error = not_covered(values, distinct.counts)
    return () if error is None else error.problems


def _unusable(columns: Columns, name: str, attribute: EpsilonQuasi, source: str) -> tuple[Problem, ...]:
    """Why an ε-quasi cannot be given noise: not numbers, or too large for its precision."""
    try:
        values = columns.numbers(name)
    except DataError as error:
        return error.problems
    largest = np.nanmax(np.abs(values)) if not np.isnan(values).all() else 0.0
    precision = fraction(attribute.precision)
    # Half of what can be written exactly leaves room for noise, which R/2^24 ≤ precision keeps far below the other half.
    if largest < float(largest_unit(precision) * precision) / 2:
        return ()
    return (
        Problem(
            where=f'{source}: column "{name}"',
            what=f"holds values too large to be published in steps of {written(attribute.precision)}.",
            fix=f"Choose a coarser attributes.{name}.precision.",
        ),
    )


def _at(where: str, source: str) -> str:
    return where if where.startswith((source, "attributes.")) else f"{source}: {where}"


def _range(attribute: EpsilonQuasi) -> Range:
    if attribute.range == "class":
        return ClassRange()
    if isinstance(attribute.range, CoarseSpecification):
        return CoarseRange(step=fraction(attribute.range.coarse))
    return DeclaredRange(low=fraction(attribute.range[0]), high=fraction(attribute.range[1]))


def _too_fine(name: str, low: FloatArray, high: FloatArray, precision: Fraction) -> list[Problem]:
    """Refuses a precision so fine that the grid of the noise would show, and with it a class's extremes."""
    fits = finest_precision_ok(low, high, precision)
    if fits.all():
        return []
    enough = precision
    while not finest_precision_ok(low, high, enough).all():
        enough *= 10
    return [
        Problem(
            where=f"attributes.{name}.precision",
            what=f"{written(float(precision))} is too fine in {int((~fits).sum()):,} of {len(fits):,} classes: below 1/2^24 of "
            "a class's range, published values would show the grid that noise is drawn on.",
            fix=f"A precision of {written(float(enough))} is coarse enough.",
        )
    ]


def _record(
    counted: Counted,
    anonymous: KAnonymised,
    ranges: NoiseRanges,
    measured: Tally,
    policy: Policy,
    *,
    engine: str,
    seeded: bool,
) -> Json:
    """Everything known about the release."""
    recoding = anonymous.recoding
    released = int(recoding.sizes.sum())
    precision = precision_loss(recoding)
    names = counted.roles.k_quasis
    record: Json = {
        "kepsilon_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": normalised(policy),
        "guarantee": {
            "statement": statement(policy),
            "k": policy.k,
            "epsilon": policy.epsilon,
            "confidence": None,
            "ranges": {name: range_in_words(attribute) for name, attribute in policy.epsilon_quasis.items()},
        },
        "seeded": seeded,
        "engine": engine,
        "digest": None,
        "records": {
            "read": counted.columns.n_records,
            "released": released,
            "suppressed_by_k": counted.n_staying - released,
            "suppressed_by_confidence": 0,
            "suppressed_missing": counted.left_out.missing,
            "suppressed_unlisted": counted.left_out.unlisted,
        },
        "clipped": ranges.clipped,
        "classes": {
            "count": recoding.n_classes,
            "smallest": int(recoding.sizes.min()),
            "largest": int(recoding.sizes.max()),
            "mean": round(released / recoding.n_classes, 2),
        },
    }
    if recoding.levels is not None:
        record["levels"] = dict(zip(names, recoding.levels, strict=True))
    record["loss"] = {
        "dm*": anonymous.dm_star,
        "precision": {**dict(zip(names, precision.by_attribute, strict=True)), "overall": precision.overall},
    }
    record["constant_classes"] = ranges.constant_classes
    record["error"] = {
        name: {
            "expected_relative": sums.expected_relative,
            "realised_relative": sums.realised_relative,
            "range_relative": sums.expected_range_relative,
            "realised_range_relative": sums.realised_range_relative,
            "zeros_left_out": sums.n_zeros,
        }
        for name, sums in zip(policy.epsilon_quasis, measured.errors, strict=True)
    }
    shares = measured.linking_shares()
    per_original = measured.linking_shares(n_records=counted.columns.n_records)
    if shares is not None and per_original is not None:
        record["linking_risk"] = {
            **asdict(shares),
            "per_original": {"expected": per_original.expected, "realised": per_original.realised},
        }
    return record


def local_engine() -> Engine:
    from kepsilon.engines import local

    return local
