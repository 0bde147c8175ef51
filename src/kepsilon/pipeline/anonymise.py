# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 from reading to the release; no other module knows the order of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kepsilon.count import Counted, read_and_count
from kepsilon.draw import perturb_and_measure
from kepsilon.engines.choose import engine_for
from kepsilon.engines.protocol import Classes, Engine, Merged
from kepsilon.errors import EngineError, Problem, UnsatisfiableError, guarded
from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.evaluate.label_counts import count_labels
from kepsilon.evaluate.linking.attackers import BY_JOINING, Attacker
from kepsilon.evaluate.loss.label_loss import entropy_share, ncp
from kepsilon.evaluate.pictures import KQuasiPicture, Pictures, picture_sample
from kepsilon.evaluate.survival.figures import Survival
from kepsilon.evaluate.survival.measure import survivals
from kepsilon.evaluate.tally import Realised, Tally
from kepsilon.grid.cells import PAPER_EPSILONS
from kepsilon.kanonymise.algorithms import KAnonymised, k_anonymise
from kepsilon.measured import Measured
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.pipeline.counted_bins import count_in_bins
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.predict.known_links import KnownAttacks, known_attacks, realised_attackers
from kepsilon.predict.limits import refuse_outside_limits
from kepsilon.predict.predict import Predicted, predict
from kepsilon.predict.prediction import Prediction
from kepsilon.predict.recheck import recheck_of
from kepsilon.predict.warnings import warnings_about_reading
from kepsilon.publish.inputs import inputs_of
from kepsilon.publish.manifest import ReleasedClasses
from kepsilon.publish.record import Record, record_of
from kepsilon.publish.release import Release
from kepsilon.randomness import ByteSource, shuffled_positions, system_bytes, unsafe_seeded_bytes
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import Recoding, only_released
from kepsilon.table.steps import steps_of


@guarded
def anonymise(
    source: object,
    policy: Policy,
    *,
    engine: Engine | None = None,
    memory: str | int | None = None,
    spill_folder: str | Path | None = None,
    with_linkage: bool = True,
    unsafe_seed: int | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Release:
    """A (k,ε)-anonymous release of a file or frame.

    With `memory`, such as "2GB", Parquet larger than that can be released: records go to a private folder inside
    `spill_folder` (the system's folder for temporary files unless it is given) until the release is closed or
    garbage-collected. `with_linkage=False` saves disk space there if nobody will ask for the release's `linkage`.

    `unsafe_seed` makes noise and order repeatable, so that whoever knows it can undo them: for tests only, never for
    publishing, and the manifest says so.
    """
    engine = engine_for(
        source, engine, memory=memory, spill_folder=spill_folder, with_linkage=with_linkage, to_release=True
    )
    random = system_bytes() if unsafe_seed is None else unsafe_seeded_bytes(unsafe_seed)
    clock = Stopwatch(on_step)
    counted = read_and_count(source, policy, engine=engine, clock=clock)
    with clock.step("k-anonymise"):
        anonymous = k_anonymise(counted.table, policy)
    with clock.step("bring classes together"):
        classes = counted.columns.classes(anonymous.recoding)
    try:
        drawn = _release(classes, anonymous, counted, policy, random=random, clock=clock)
        record = record_of(
            drawn.prediction,
            drawn.tally,
            policy,
            attackers=drawn.attackers,
            groups=drawn.groups,
            survives=drawn.survives,
            seeded=random.seeded,
            engine=engine.name,
            seconds=clock.seconds,
        )
        return Release(
            drawn.merged,
            record,
            drawn.pictures,
            policy=policy,
            released=ReleasedClasses.of(drawn.recoding, policy),
            page=_page,
            inputs=inputs_of(*drawn.merged.inputs, policy=policy),
            warnings=(*drawn.prediction.warnings, *warnings_about_reading(counted, policy)),
        )
    except BaseException:
        classes.close()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """What there is once noise is drawn and records are merged."""

    merged: Merged
    recoding: Recoding
    """The classes that are left, as they are released."""
    prediction: Prediction
    attackers: tuple[Attacker, ...]
    """Those of the prediction, with what those who know kept columns linked in the release."""
    survives: Mapping[str, Survival]
    tally: Tally
    groups: GroupSums | None
    """The groups whose averages were published; None where there are none."""
    pictures: Pictures


def _release(
    classes: Classes,
    anonymous: KAnonymised,
    counted: Counted,
    policy: Policy,
    *,
    random: ByteSource,
    clock: Stopwatch,
) -> _Drawn:
    """Predicts, draws noise and measures it class by class; then merges all records in random order."""
    with clock.step("expect"):
        predicted = predict(classes, anonymous, counted, policy, beside=_other_epsilons(policy))
        refuse_outside_limits(predicted, classes, anonymous, counted, policy)
    attacks = known_attacks(predicted.prediction.attackers, predicted.look)
    measured = perturb_and_measure(
        classes,
        predicted.outlook,
        policy,
        random=random,
        clock=clock,
        recheck=recheck_of(policy, counted.table),
        numeric=() if predicted.look is None else predicted.look.numeric,
        attacks=attacks,
    )
    if measured.realised is None or not measured.realised.sizes.n_records:
        raise _nobody_left(policy)
    recoding, new_ids = only_released(anonymous.recoding, measured.sizes)
    with clock.step("picture"):
        pictures = _pictures(classes, measured, predicted, anonymous, recoding, new_ids, counted, policy)
    attackers = _attacked(predicted, measured, attacks, policy)
    with clock.step("compare"):
        survives = _compared(measured, predicted, measured.realised, policy)
    tally = Tally(expected=predicted.outlook.expected[0], realised=measured.realised)
    with clock.step("merge and shuffle"):
        merged = classes.merge(
            recoding,
            new_ids,
            whole=[n for n, a in policy.epsilon_quasis.items() if fraction(a.precision).denominator == 1],
            shuffle=shuffled_positions,
            random=random,
        )
    if merged.n_records != measured.realised.sizes.n_records:
        raise EngineError(
            Problem(where="", what="the records that are there are not those that were measured; nothing was released.")
        )
    return _Drawn(
        merged=merged,
        recoding=recoding,
        prediction=predicted.prediction,
        attackers=attackers,
        survives=survives,
        tally=tally,
        groups=measured.groups or predicted.outlook.groups,
        pictures=pictures,
    )


def _compared(measured: Measured, predicted: Predicted, realised: Realised, policy: Policy) -> dict[str, Survival]:
    """What of the statistics of ε-quasis survives, by name."""
    look = predicted.look
    if look is None or not policy.epsilon_quasis:
        return {}
    sample = measured.sample()
    return survivals(
        list(policy.epsilon_quasis),
        list(predicted.prediction.survives.values()),
        realised.errors,
        measured.survival.sums,
        measured.survival.sampled(np.column_stack(sample.published), sample.stays),
        look.left_out,
        k=policy.k,
    )


def _attacked(
    predicted: Predicted, measured: Measured, attacks: KnownAttacks | None, policy: Policy
) -> tuple[Attacker, ...]:
    """The attackers of the prediction, with what those who know kept columns, or join records, link in what was drawn."""
    attackers = (
        replace(own, realised=measured.joined_share) if own.name == BY_JOINING else own
        for own in predicted.prediction.attackers
    )
    return tuple(realised_attackers(attackers, attacks, measured.known, policy))


def _page(record: Record, pictures: Pictures, file_name: str | None, problems: tuple[Problem, ...]) -> str:
    """The report of a release. Pages are imported here, because a release that nobody looks at does not need them."""
    from kepsilon.pages.render import release_page

    return release_page(record, pictures, file_name=file_name, problems=problems)


def _other_epsilons(policy: Policy) -> list[float]:
    """Values of ε other than the policy's at which the report shows the linking risk."""
    own = float(policy.exact_epsilon)
    return [float(epsilon) for epsilon in PAPER_EPSILONS if epsilon != own] if _depends_on_epsilon(policy) else []


def _risk_by_epsilon(predicted: Predicted, policy: Policy) -> list[tuple[float, float]]:
    """Pairs of ε and linking risk for the report, at the policy's ε and at others."""
    own = (float(policy.exact_epsilon), predicted.prediction.linking_risk.fair.total)
    return sorted([own, *predicted.risk_beside]) if _depends_on_epsilon(policy) else []


def _depends_on_epsilon(policy: Policy) -> bool:
    """Whether the linking risk depends on ε; that of averages depends on the groups alone."""
    return bool(policy.epsilon_quasis) and policy.averages is None


def _pictures(
    classes: Classes,
    measured: Measured,
    predicted: Predicted,
    anonymous: KAnonymised,
    recoding: Recoding,
    new_ids: IntArray,
    counted: Counted,
    policy: Policy,
) -> Pictures:
    """Data for the charts of the report, taken before the records are merged."""
    levels = recoding.levels or [None] * len(recoding.attributes)
    losses = ncp(anonymous.recoding, counted.table).by_attribute
    bits_lost = entropy_share(anonymous.recoding, counted.table).by_attribute
    k_quasis = [
        KQuasiPicture(
            name=domain.name,
            n_levels=domain.n_levels,
            level=level,
            n_values_before=domain.n_values,
            n_labels_after=len(attribute.labels),
            loss=loss,
            bits_lost=bits,
            labels=count_labels(attribute, recoding.sizes, k=policy.k),
        )
        for domain, level, attribute, loss, bits in zip(
            counted.table.domains, levels, recoding.attributes, losses, bits_lost, strict=False
        )
    ]
    return picture_sample(
        k=policy.k,
        names=list(policy.epsilon_quasis),
        sample=measured.sample(),
        spreads=measured.spreads,
        count=lambda bins: count_in_bins(classes, bins, policy, new_ids=new_ids),
        sizes=recoding.sizes,
        mechanism=mechanism_of(policy) if policy.averages is None else None,
        low=predicted.outlook.low,
        high=predicted.outlook.high,
        epsilon=float(policy.record_epsilon),
        steps=steps_of(policy),
        k_quasis=k_quasis,
        risk_by_epsilon=_risk_by_epsilon(predicted, policy),
    )


def _nobody_left(policy: Policy) -> UnsatisfiableError:
    return UnsatisfiableError(
        Problem(
            where="",
            what=f"k = {policy.k} at confidence {written(policy.confidence or 0)} leaves out every record.",
            fix="Choose a smaller epsilon, a higher confidence, or a smaller k.",
        )
    )
