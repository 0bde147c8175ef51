# SPDX-License-Identifier: Apache-2.0
"""From a source and a policy to the frequency table: read, check everything at once, leave out, count."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kepsilon.classify import classify
from kepsilon.engines.protocol import Columns, Distinct, Engine, LeftOut, Source
from kepsilon.errors import DataError, Problem
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.precision import largest_unit
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import ColumnRoles, EpsilonQuasi, fraction, written
from kepsilon.stopwatch import Stopwatch
from kepsilon.table.domains import PlacedValues, domain_of, not_covered, place_values
from kepsilon.table.frequency import FrequencyTable

if TYPE_CHECKING:
    from kepsilon.engines.spark import SparkEngine
    from kepsilon.engines.spilling import SpillingEngine


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


def read_and_count(source: object, policy: Policy, *, engine: Engine, clock: Stopwatch) -> Counted:
    """Reads the columns to publish, checks them against the policy, and counts combinations of k-quasis."""
    with clock.step("read"):
        opened = engine.open_source(source)
        roles = classify(opened.column_names, policy, source=opened.name)
        is_simulated = len(policy.epsilon_quasis) > 1 or mechanism_of(policy).exponential is None
        roles = replace(roles, are_figures_simulated=is_simulated)
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
        largest = columns.largest(name)
    except DataError as error:
        return error.problems
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


def local_engine() -> Engine:
    from kepsilon.engines import local

    return local


def engine_for(
    source: object,
    engine: Engine | None,
    *,
    memory: str | int | None,
    spill_folder: str | Path | None,
    with_linkage: bool = False,
    to_release: bool = False,
) -> Engine:
    """The engine that was given; or where none was, Spark for a Spark DataFrame, and spilling under a limit on memory."""
    if engine is not None and memory is not None:
        raise ValueError("an engine has its own limit on memory: give one or the other")
    if engine is not None:
        return engine
    session = getattr(source, "sparkSession", None)
    if session is not None:
        return spark_engine(session, staging=spill_folder, memory="4GB" if memory is None else memory)
    if memory is None:
        return local_engine()
    return spilling_engine(memory, spill_folder, linkage=with_linkage, to_release=to_release)


def spilling_engine(
    memory: str | int, folder: str | Path | None, *, linkage: bool, to_release: bool = True
) -> SpillingEngine:
    """The local engine under a limit on memory; a folder that cannot be spilt to is refused before any work."""
    from kepsilon.engines.limits import bytes_of
    from kepsilon.engines.machine import refuse_more_memory_than_there_is
    from kepsilon.engines.spilling import SpillingEngine
    from kepsilon.private_folders import SpillFolder

    limit = bytes_of(memory)
    refuse_more_memory_than_there_is(limit)
    where = Path(tempfile.gettempdir() if folder is None else folder)
    SpillFolder(where).close()
    return SpillingEngine(memory=limit, folder=where, linkage=linkage, to_release=to_release)


def spark_engine(
    session: object | None = None,
    *,
    master: str | None = None,
    staging: str | Path | None = None,
    memory: str | int = "4GB",
    with_linkage: bool = True,
) -> Engine:
    """Spark as the engine: on a session that is there, or on a new one at a master (`spark://…`, `local[4]`, `sc://…`).

    `staging` is a folder that this machine and all workers see by the same name; records are kept in a private folder
    inside it until the release is closed. `memory` is for the frequency table here, and for what each task on a worker
    looks at.
    """
    from kepsilon.engines.spark_session import open_session

    engine = unstarted_spark(memory, staging, linkage=with_linkage)
    return replace(engine, session=open_session(master) if session is None else session)


def unstarted_spark(memory: str | int, staging: str | Path | None, *, linkage: bool) -> SparkEngine:
    """The engine before it has a session; a folder that cannot be written to is refused before any work."""
    from kepsilon.engines.limits import bytes_of
    from kepsilon.engines.spark import SparkEngine
    from kepsilon.private_folders import SpillFolder

    limit = bytes_of(memory)
    where = Path(tempfile.gettempdir() if staging is None else staging).absolute()
    SpillFolder(where).close()
    return SparkEngine(session=None, memory=limit, staging=where, linkage=linkage)
