# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1, in order; the only module that knows the order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kepsilon.counting import Counted, local_engine, read_and_count, spark_engine, spilling_engine
from kepsilon.draw import Measured, count_in_cells, perturb_and_measure
from kepsilon.engines.protocol import Classes, Columns, Engine, Merged
from kepsilon.errors import EngineError, Problem, UnsatisfiableError
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.pictures import KQuasiPicture, picture_sample
from kepsilon.evaluate.precision_loss import precision_loss
from kepsilon.evaluate.tally import Tally
from kepsilon.kanonymise.algorithms import KAnonymised, k_anonymise
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.randomness import ByteSource, system_bytes, unsafe_seeded_bytes
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.predict.outlook import Cell, Outlook, look_ahead
from kepsilon.predict.total_suppression import refuse_above_total
from kepsilon.publish import record as records
from kepsilon.publish.manifest import Json
from kepsilon.publish.release import Release
from kepsilon.publish.shuffle import shuffled_positions
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import Recoding, only_released
from kepsilon.table.steps import steps_of

EPSILONS = (0.05, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Those of the paper; the report shows the risk at each of them."""


def anonymise(
    source: object,
    policy: Policy,
    *,
    engine: Engine[Columns] | None = None,
    memory: str | int | None = None,
    spill_folder: str | Path | None = None,
    with_linkage: bool = True,
    unsafe_seed: int | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Release:
    """A (k,ε)-anonymous release of a file or frame.

    With `memory`, such as "2GB", Parquet larger than that can be released: records go to a private folder inside
    `spill_folder` (the system's folder for temporary files unless it is given) until the release is closed or forgotten.
    `with_linkage=False` saves room there if nobody will ask for the release's `linkage`.

    `unsafe_seed` makes noise and order repeatable, so that whoever knows it can undo them: for tests only, never for
    publishing, and the manifest says so.
    """
    if engine is not None and memory is not None:
        raise ValueError("an engine has its own limit on memory: give one or the other")
    if engine is None:
        engine = _engine_for(source, memory, spill_folder, with_linkage=with_linkage)
    random = system_bytes() if unsafe_seed is None else unsafe_seeded_bytes(unsafe_seed)
    clock = Stopwatch(on_step)
    counted = read_and_count(source, policy, engine=engine, clock=clock)
    with clock.step("k-anonymise"):
        anonymous = k_anonymise(counted.table, policy)
    with clock.step("bring classes together"):
        classes = counted.columns.classes(anonymous.recoding)
    try:
        merged, record, pictures = _release(classes, anonymous, counted, policy, random=random, clock=clock)
    except BaseException:
        classes.close()
        raise
    record = {**records.opening(policy, seeded=random.seeded, engine=engine.name), **record, "seconds": clock.seconds}
    return Release(merged, record, pictures)


def _engine_for(
    source: object, memory: str | int | None, spill_folder: str | Path | None, *, with_linkage: bool
) -> Engine[Columns]:
    """Where nobody chose one: a Spark DataFrame stays on its cluster, and a limit on memory means spilling."""
    session = getattr(source, "sparkSession", None)
    if session is not None:
        return spark_engine(session, staging=spill_folder, memory="4GB" if memory is None else memory)
    return local_engine() if memory is None else spilling_engine(memory, spill_folder, linkage=with_linkage)


def _release(
    classes: Classes,
    anonymous: KAnonymised,
    counted: Counted[Columns],
    policy: Policy,
    *,
    random: ByteSource,
    clock: Stopwatch,
) -> tuple[Merged, Json, Json]:
    """Class by class: what to expect, noise, what it did; then all records together in an order nobody can guess."""
    with clock.step("expect"):
        outlook = look_ahead(classes, policy, _cells(policy))
        expected = outlook.expected[0]
        refuse_above_total(
            expected,
            at=lambda epsilon: look_ahead(classes, policy, [(epsilon, ConfidentK.asked_by(policy))]).expected[0],
            n_counted=counted.n_staying,
            policy=policy,
        )
    measured = perturb_and_measure(classes, outlook, policy, random=random, clock=clock)
    if measured.realised is None or not measured.realised.sizes.n_records:
        raise _nobody_left(policy)
    recoding, new_ids = only_released(anonymous.recoding, measured.sizes)
    with clock.step("picture"):
        pictures = _pictures(classes, measured, outlook, anonymous, recoding, new_ids, counted, policy)
    tally = Tally(expected=expected, realised=measured.realised)
    record = _record(counted, anonymous, outlook, tally, policy)
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
    return merged, record, pictures


def _cells(policy: Policy) -> list[Cell]:
    """The policy's own ε first, and then others that the report shows the risk at."""
    chosen = float(policy.exact_epsilon)
    others = [epsilon for epsilon in EPSILONS if epsilon != chosen] if policy.epsilon_quasis else []
    return [(chosen, ConfidentK.asked_by(policy)), *((epsilon, None) for epsilon in others)]


def _risk_by_epsilon(outlook: Outlook, policy: Policy) -> list[tuple[float, float]]:
    """The linking risk that other ε would have left, for the report."""
    if not policy.epsilon_quasis:
        return []
    curve = zip(_cells(policy), outlook.expected, strict=True)
    return sorted((epsilon, expected.links.fair.total / expected.n_records) for (epsilon, _), expected in curve)


def _pictures(
    classes: Classes,
    measured: Measured,
    outlook: Outlook,
    anonymous: KAnonymised,
    recoding: Recoding,
    new_ids: IntArray,
    counted: Counted[Columns],
    policy: Policy,
) -> Json:
    """What the report draws, while the records are there."""
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
    return picture_sample(
        k=policy.k,
        names=list(policy.epsilon_quasis),
        sample=measured.sample(),
        spreads=measured.spreads,
        count=lambda cells: count_in_cells(classes, cells, policy, new_ids=new_ids),
        sizes=recoding.sizes,
        mechanism=mechanism_of(policy),
        low=outlook.low,
        high=outlook.high,
        epsilon=float(policy.exact_epsilon),
        steps=steps_of(policy),
        k_quasis=k_quasis,
        risk_by_epsilon=_risk_by_epsilon(outlook, policy),
    ).as_json()


def _nobody_left(policy: Policy) -> UnsatisfiableError:
    return UnsatisfiableError(
        Problem(
            where="",
            what=f"k = {policy.k} at confidence {written(policy.confidence or 0)} leaves out every record.",
            fix="Choose a smaller epsilon, a higher confidence, or a smaller k.",
        )
    )


def _record(counted: Counted[Columns], anonymous: KAnonymised, outlook: Outlook, tally: Tally, policy: Policy) -> Json:
    """Everything known about the release but how it was made."""
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
    record: Json = {
        "records": records.records_json(fates),
        "clipped": outlook.clipped,
        "constant_classes": outlook.constant_classes,
    }
    if anonymous.recoding.levels is not None:
        record["levels"] = dict(zip(names, anonymous.recoding.levels, strict=True))
    precision = precision_loss(anonymous.recoding)
    record["loss"] = {
        "dm*": anonymous.dm_star,
        "precision": {**dict(zip(names, precision.by_attribute, strict=True)), "overall": precision.overall},
    }
    return {**record, **records.figures(tally, fates, policy)}
