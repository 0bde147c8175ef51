# SPDX-License-Identifier: Apache-2.0
"""Everything wrong with data and policy at once, and what the policy can achieve. Nothing is drawn or written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kepsilon.counting import local_engine, read_and_count
from kepsilon.engines.protocol import ColumnsInMemory, Engine, Source
from kepsilon.errors import DataError, Problem
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.precision_loss import precision_loss
from kepsilon.kanonymise.algorithms import k_anonymise
from kepsilon.policy.policy import Policy
from kepsilon.predict.noise_ranges import code_all, expect_noise, noise_ranges
from kepsilon.predict.total_suppression import refuse_above_total
from kepsilon.publish.manifest import Json
from kepsilon.publish.record import expected_error, expected_risk, expected_suppression
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.classes import SUPPRESSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a policy achieves on some data, before any noise is drawn."""

    n_records: int
    n_missing: int
    n_unlisted: int
    n_combinations: int
    n_suppressed: int
    n_classes: int
    smallest_class: int
    largest_class: int
    levels: dict[str, int] | None
    precision_loss: dict[str, float]
    error: dict[str, Json]
    """By ε-quasi, as in the curator's record."""
    linking_risk: Json
    confident_k: Json | None
    """What confidence is expected to leave out; None where it is not asked for."""
    notes: tuple[Problem, ...]
    """Not wrong, but worth knowing."""

    @property
    def suppression(self) -> float:
        """Share of the counted records that OLA leaves out."""
        return self.n_suppressed / (self.n_records - self.n_missing - self.n_unlisted)


def check(
    source: object,
    policy: Policy,
    *,
    engine: Engine[ColumnsInMemory] | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Finding:
    """What the policy achieves, or every reason why it cannot be applied."""
    engine = engine or local_engine()
    clock = Stopwatch(on_step)
    counted = read_and_count(source, policy, engine=engine, clock=clock)
    with clock.step("k-anonymise"):
        recoding = k_anonymise(counted.table, policy).recoding
        class_ids = counted.columns.by_class(recoding)
    with clock.step("look at ranges"):
        released = class_ids[class_ids != SUPPRESSED]
        ranges = noise_ranges(counted.columns, class_ids, recoding, policy)
        expectations = expect_noise(code_all(counted.columns, policy), class_ids, ranges, policy)
        confident = ConfidentK.asked_by(policy)
        expected = expectations.at(float(policy.exact_epsilon), confident=confident)
        refuse_above_total(
            expected,
            at=lambda epsilon: expectations.at(epsilon, confident=confident),
            n_counted=counted.n_staying,
            policy=policy,
        )
        notes = [
            *_repeating_persons(counted.source, policy),
            *_constant(ranges.constant_classes, recoding.n_classes),
            *_clipped(ranges.clipped, len(released)),
            *_formulas({name: counted.columns.formula_cells(name) for name in counted.roles.kept}),
        ]
    loss = precision_loss(recoding)
    names = counted.roles.k_quasis
    return Finding(
        n_records=counted.columns.n_records,
        n_missing=counted.left_out.missing,
        n_unlisted=counted.left_out.unlisted,
        n_combinations=counted.table.n_combinations,
        n_suppressed=counted.n_staying - len(released),
        n_classes=recoding.n_classes,
        smallest_class=int(recoding.sizes.min()),
        largest_class=int(recoding.sizes.max()),
        levels=None if recoding.levels is None else dict(zip(names, recoding.levels, strict=True)),
        precision_loss=dict(zip(names, loss.by_attribute, strict=True)),
        error={
            name: expected_error(sums, policy, epsilon=policy.epsilon)
            for name, sums in zip(policy.epsilon_quasis, expected.errors, strict=True)
        },
        linking_risk=expected_risk(expected),
        confident_k=None
        if expected.suppressed is None
        else expected_suppression(expected, n_counted=counted.n_staying),
        notes=tuple(notes),
    )


def offending_values(
    source: object, policy: Policy, column: str, *, engine: Engine[ColumnsInMemory] | None = None
) -> list[tuple[str, int]]:
    """Values of one column that the policy cannot place, most frequent first, with how many records hold each.

    The only function that gives back values of records; the curator asks for it, on their own machine.
    """
    opened = (engine or local_engine()).open_source(source)
    if column not in policy.attributes or column not in opened.column_names:
        raise DataError(Problem(where=opened.name, what=f'there is no column "{column}" with a role to look into.'))
    return opened.offending(column, policy.attributes[column])


def _repeating_persons(opened: Source[ColumnsInMemory], policy: Policy) -> list[Problem]:
    notes = []
    for name in policy.identifiers:
        n_distinct, n_records = opened.n_distinct(name)
        if n_distinct < n_records:
            notes.append(
                Problem(
                    where=f'column "{name}"',
                    what=f"{n_records:,} records hold only {n_distinct:,} identifiers.",
                    fix="Unless they are namesakes, some persons have several records. k then counts records, not persons: "
                    "a class of k records can hold fewer than k persons.",
                )
            )
    return notes


def _constant(constant: dict[str, int], n_classes: int) -> list[Problem]:
    return [
        Problem(
            where=f"attributes.{name}.range",
            what=f"in {n:,} of {n_classes:,} classes all records agree on {name}, so it gets no noise and is published as it is.",
            fix="A coarse range, { coarse = step }, or declared bounds, [low, high], would hide it.",
        )
        for name, n in constant.items()
        if n
    ]


def _formulas(cells: dict[str, int]) -> list[Problem]:
    return [
        Problem(
            where=f'column "{name}"',
            what=f"{n:,} cells begin like a formula (=, +, -, @).",
            fix="They are published as they are. Whoever opens the release in a spreadsheet should import them as text.",
        )
        for name, n in cells.items()
        if n
    ]


def _clipped(clipped: dict[str, int], n_released: int) -> list[Problem]:
    return [
        Problem(
            where=f"attributes.{name}.range",
            what=f"{n:,} of {n_released:,} values lie outside the declared bounds and would be clipped to them.",
        )
        for name, n in clipped.items()
        if n
    ]
