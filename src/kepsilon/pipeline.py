# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1, in order; the only module that knows the order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kepsilon.counting import Counted, local_engine, read_and_count
from kepsilon.engines.protocol import Engine
from kepsilon.errors import Problem, UnsatisfiableError
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.expectations import Expectations
from kepsilon.evaluate.pictures import KQuasiPicture, picture_release
from kepsilon.evaluate.precision_loss import precision_loss
from kepsilon.evaluate.tally import Expected, Tally, realise
from kepsilon.kanonymise.algorithms import KAnonymised, k_anonymise
from kepsilon.noise_ranges import NoiseRanges, code_all, expect_noise, noise_ranges
from kepsilon.perturb.laplace import perturb
from kepsilon.perturb.randomness import ByteSource, system_bytes, unsafe_seeded_bytes
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.publish import record as records
from kepsilon.publish.manifest import Json
from kepsilon.publish.release import Release
from kepsilon.publish.shuffle import shuffled_positions
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.arrays import BoolArray, FloatArray
from kepsilon.table.classes import SUPPRESSED, Recoding, only_released
from kepsilon.total_suppression import refuse_above_total

EPSILONS = (0.05, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Those of the paper; the report shows the risk at each of them."""


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
    confident = ConfidentK.asked_by(policy)
    counted = read_and_count(source, policy, engine=engine, clock=clock)
    with clock.step("k-anonymise"):
        anonymous = k_anonymise(counted.table, policy)
        recoding = anonymous.recoding
        class_ids = counted.columns.by_class(recoding)
    with clock.step("expect"):
        ranges = noise_ranges(counted.columns, class_ids, recoding, policy)
        expectations = expect_noise(code_all(counted.columns, policy), class_ids, ranges)
        expected = expectations.at(float(policy.exact_epsilon), confident=confident)
        refuse_above_total(expectations, expected, n_counted=counted.n_staying, policy=policy)
        curve = risk_by_epsilon(expectations, expected, policy)
        del expectations
    with clock.step("perturb"):
        published = perturb_released(ranges, policy, random=random)
    with clock.step("measure"):
        all_published = list(published.values())
        stays, realised = realise(
            ranges.values,
            all_published,
            ranges.class_ids,
            ranges=ranges.widths,
            epsilon=float(policy.exact_epsilon),
            confident=confident,
            originals=ranges.unclipped,
        )
        if not realised.sizes.n_records:
            raise _nobody_left(policy)
        if not stays.all():
            released = np.flatnonzero(class_ids != SUPPRESSED)
            class_ids[released[~stays]] = SUPPRESSED
            published = {name: values[stays] for name, values in published.items()}
            recoding, class_ids = only_released(recoding, class_ids)
        pictures = _pictures(counted, anonymous, recoding, ranges, all_published, stays, curve, policy)
    tally = Tally(expected=expected, realised=realised)
    record = _record(counted, anonymous, ranges, tally, policy, engine=engine.name, seeded=random.seeded)
    del ranges, all_published
    with clock.step("merge and shuffle"):
        merged = counted.columns.merge(
            recoding,
            class_ids,
            published,
            whole=[n for n, a in policy.epsilon_quasis.items() if fraction(a.precision).denominator == 1],
            shuffle=lambda n: shuffled_positions(n, random_bytes=random.bytes),
        )
    record["seconds"] = clock.seconds
    return Release(merged, record, pictures)


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


def risk_by_epsilon(expectations: Expectations, expected: Expected, policy: Policy) -> list[tuple[float, float]]:
    """The linking risk that other ε would have left, for the report."""
    if not policy.epsilon_quasis:
        return []
    chosen = float(policy.exact_epsilon)
    others = {epsilon: expectations.at(epsilon) for epsilon in EPSILONS if epsilon != chosen}
    curve = {**others, chosen: expected}
    return [(epsilon, curve[epsilon].links.fair.total / expected.n_records) for epsilon in sorted(curve)]


def _pictures(
    counted: Counted,
    anonymous: KAnonymised,
    recoding: Recoding,
    ranges: NoiseRanges,
    published: Sequence[FloatArray],
    stays: BoolArray,
    curve: Sequence[tuple[float, float]],
    policy: Policy,
) -> Json:
    """What the report draws, while the arrays are there."""
    levels = recoding.levels or [None] * len(recoding.attributes)
    losses = precision_loss(anonymous.recoding).by_attribute
    k_quasis = [
        KQuasiPicture(
            name=domain.name,
            n_levels=domain.n_levels,
            level=level,
            n_values_before=domain.n_values,
            n_labels_after=len(attribute.labels),
            loss=loss,
        )
        for domain, level, attribute, loss in zip(
            counted.table.domains, levels, recoding.attributes, losses, strict=False
        )
    ]
    return picture_release(
        k=policy.k,
        names=list(policy.epsilon_quasis),
        values=ranges.values,
        published=published,
        class_ids=ranges.class_ids,
        stays=stays,
        ranges=ranges.widths,
        epsilon=float(policy.exact_epsilon),
        precisions=[fraction(attribute.precision) for attribute in policy.epsilon_quasis.values()],
        k_quasis=k_quasis,
        risk_by_epsilon=curve,
    ).as_json()


def _nobody_left(policy: Policy) -> UnsatisfiableError:
    return UnsatisfiableError(
        Problem(
            where="",
            what=f"k = {policy.k} at confidence {written(policy.confidence or 0)} leaves out every record.",
            fix="Choose a smaller epsilon, a higher confidence, or a smaller k.",
        )
    )


def _record(
    counted: Counted,
    anonymous: KAnonymised,
    ranges: NoiseRanges,
    tally: Tally,
    policy: Policy,
    *,
    engine: str,
    seeded: bool,
) -> Json:
    """Everything known about the release."""
    names = counted.roles.k_quasis
    n_released, n_entering = tally.realised.sizes.n_records, tally.expected.n_records
    fates = records.Fates(
        read=counted.columns.n_records,
        released=n_released,
        by_k=counted.n_staying - n_entering,
        by_confidence=n_entering - n_released,
        missing=counted.left_out.missing,
        unlisted=counted.left_out.unlisted,
    )
    record = {
        **records.opening(policy, seeded=seeded, engine=engine),
        "records": records.records_json(fates),
        "clipped": ranges.clipped,
        "constant_classes": ranges.constant_classes,
    }
    if anonymous.recoding.levels is not None:
        record["levels"] = dict(zip(names, anonymous.recoding.levels, strict=True))
    precision = precision_loss(anonymous.recoding)
    record["loss"] = {
        "dm*": anonymous.dm_star,
        "precision": {**dict(zip(names, precision.by_attribute, strict=True)), "overall": precision.overall},
    }
    return {**record, **records.figures(tally, fates, policy)}
