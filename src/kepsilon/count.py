# SPDX-License-Identifier: Apache-2.0
"""Reads a source, checks it against the policy, leaves records out and counts combinations of k-quasis."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kepsilon.classify import classify
from kepsilon.engines.protocol import Columns, DistinctValues, Engine, LeftOut, Repetition, Source
from kepsilon.errors import DataError, Problem, UnsatisfiableError
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.precision import largest_unit
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import ColumnRoles, EpsilonQuasi, fraction, written
from kepsilon.stopwatch import Stopwatch
from kepsilon.table.domains import PlacedValues, domain_of, place_values, refused_values, unplaceable
from kepsilon.table.frequency import FrequencyTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A table that fits its policy, read and counted, ready for the search."""

    source: Source
    columns: Columns
    roles: ColumnRoles
    table: FrequencyTable
    left_out: LeftOut
    namesakes: Mapping[str, Repetition]
    """Identifiers that seem to be names, and that several records share; empty where the policy says what a person is."""

    @property
    def n_staying(self) -> int:
        """How many records were not left out."""
        left_out = self.left_out
        return self.columns.n_records - left_out.missing - left_out.unlisted - left_out.by_cap


def read_and_count(source: object, policy: Policy, *, engine: Engine, clock: Stopwatch) -> Counted:
    """Reads the columns to publish, checks them against the policy, and counts combinations of k-quasis.

    DataError with every problem at once where they do not fit the policy. UnsatisfiableError where some persons have
    several records, and the policy does not say how to count persons.
    """
    with clock.step("read"):
        opened = engine.open_source(source)
        roles = classify(opened.column_names, policy, source=opened.name)
        # Where a person has several records in a class, or classes are checked again after confident k, too.
        is_simulated = (
            len(policy.epsilon_quasis) > 1
            or mechanism_of(policy).exponential is None
            or policy.person is not None
            or (policy.confidence is not None and bool(policy.diverse))
        )
        roles = replace(roles, are_figures_simulated=is_simulated)
        columns = opened.read(roles)
    with clock.step("count"):
        placed = {name: _place(columns, name, policy) for name in roles.k_quasis}
        problems = [problem for name in placed for problem in _refused(placed[name], policy)]
        for name, attribute in policy.epsilon_quasis.items():
            problems += _unusable(columns, name, attribute, opened.name)
        if problems:
            raise DataError([Problem(where=_at(p.where, opened.name), what=p.what, fix=p.fix) for p in problems])
        left_out = columns.leave_out(
            {name: values.is_covered for name, (values, _) in placed.items()},
            drop_missing=[n for n, a in policy.epsilon_quasis.items() if a.missing == "suppress"],
        )
        if left_out.missing or left_out.unlisted or left_out.by_cap:
            # A value that only left-out records held must not influence a label, so hierarchies place values again.
            placed = {name: _place(columns, name, policy) for name in roles.k_quasis}
            problems = [problem for values, _ in placed.values() for problem in unplaceable(values)]
            if problems:
                raise DataError(problems)
        table = columns.count(
            {name: domain_of(values) for name, (values, _) in placed.items()},
            missing_in_class=[n for n, a in policy.epsilon_quasis.items() if a.missing == "class"],
        )
        namesakes = _namesakes(opened, policy)
    counted = Counted(source=opened, columns=columns, roles=roles, table=table, left_out=left_out, namesakes=namesakes)
    if counted.n_staying < policy.k:
        raise DataError(
            Problem(
                where=opened.name,
                what=f"k = {policy.k}, but only {counted.n_staying:,} records are there to be released "
                f"({columns.n_records:,} read, {left_out.missing:,} left out as missing, {left_out.unlisted:,} as unlisted"
                f"{f', {left_out.by_cap:,} above max_records_per_person' if left_out.by_cap else ''}).",
                fix="Choose a smaller k, or give more records.",
            )
        )
    return counted


def _namesakes(source: Source, policy: Policy) -> dict[str, Repetition]:
    """Identifiers that several records share, and that may be names of different persons.

    An identifier of codes that repeats is refused: a class of k records could be one person's. Identifiers are read only if
    the policy does not say what a person is.
    """
    if policy.person is not None or policy.records_are_persons:
        return {}
    found = {name: source.repetition(name) for name in policy.identifiers}
    repeating = {name: own for name, own in found.items() if own.repeats}
    problems = [
        Problem(
            where=f'column "{name}"',
            what=f"{own.n_records:,} records hold only {'about ' * own.is_estimate}{own.n_distinct:,} different values, so some "
            "persons have several records. k would count records, not persons: a class of k records could be one person's.",
            fix=f"State person = {json.dumps(name, ensure_ascii=False)} in the policy, so that k counts persons; or "
            "records_are_persons = true, if every record is about another person. A column that does not tell persons apart "
            'is dropped where the policy does not list it and states unlisted_columns = "drop".',
        )
        for name, own in repeating.items()
        if own.is_of_codes
    ]
    if problems:
        raise UnsatisfiableError(problems)
    return repeating


def _place(columns: Columns, name: str, policy: Policy) -> tuple[PlacedValues, DistinctValues]:
    """The distinct values of a k-quasi with their labels, and with their counts."""
    distinct = columns.distinct(name)
    placed = place_values(
        name, policy.k_quasis[name], distinct.values, reading=policy.readings[name], is_typed=distinct.is_typed
    )
    return placed, distinct


def _refused(placed: tuple[PlacedValues, DistinctValues], policy: Policy) -> list[Problem]:
    """Problems of values that cannot be placed, unless the policy leaves such records out, and of columns that cannot be placed."""
    values, distinct = placed
    is_left_out = policy.k_quasis[values.name].unlisted == "suppress"
    return [*([] if is_left_out else refused_values(values, distinct.counts)), *unplaceable(values)]


def _unusable(columns: Columns, name: str, attribute: EpsilonQuasi, source: str) -> tuple[Problem, ...]:
    """Why an ε-quasi cannot be given noise: it is not all numbers, or too large for its precision."""
    try:
        largest = columns.largest(name)
    except DataError as error:
        return error.problems
    precision = fraction(attribute.precision)
    # The other half of what can be written exactly is left for noise, which R/2^24 ≤ precision keeps far below that.
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
    """Where a problem is, with the name of the source in front unless it is in the policy."""
    return where if where.startswith((source, "attributes.")) else f"{source}: {where}"
