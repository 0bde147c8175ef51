# SPDX-License-Identifier: Apache-2.0
"""Warnings: facts that do not stop a release, but are worth knowing before it is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kepsilon.count import Counted
from kepsilon.engines.protocol import Source
from kepsilon.errors import Problem
from kepsilon.policy.policy import Policy
from kepsilon.predict.outlook import Outlook
from kepsilon.table.classes import Recoding


def warnings_about_classes(outlook: Outlook, recoding: Recoding) -> tuple[Problem, ...]:
    """Warnings about the classes of one partition: constant classes and clipped values."""
    return (
        *_constant(outlook.constant_classes, recoding.n_classes),
        *_clipped(outlook.clipped, int(recoding.sizes.sum())),
    )


def warnings_about_source(counted: Counted, policy: Policy) -> tuple[Problem, ...]:
    """Warnings about the columns themselves, whatever the classes. Identifiers are read for this purpose only."""
    return (*counted.source.notes, *policy.notes, *_repeating_persons(counted.source, policy), *_formulas(counted))


def _repeating_persons(source: Source, policy: Policy) -> Iterator[Problem]:
    """A warning for each identifier that some records share."""
    for name in policy.identifiers:
        found = source.repetition(name)
        if found.n_distinct < found.n_records:
            about = "about " * found.is_estimate
            yield Problem(
                where=f'column "{name}"',
                what=f"{found.n_records:,} records hold only {about}{found.n_distinct:,} identifiers.",
                fix="Unless they are namesakes, some persons have several records. k then counts records, not persons: "
                "a class of k records can hold fewer than k persons.",
            )


def _formulas(counted: Counted) -> Iterator[Problem]:
    """A warning for each kept column with values that a spreadsheet would run as formulas."""
    for name in counted.roles.kept:
        n = counted.columns.n_formulas(name)
        if n:
            yield Problem(
                where=f'column "{name}"',
                what=f"{n:,} cells begin like a formula (=, +, -, @).",
                fix="They are published as they are. Whoever opens the release in a spreadsheet should import them as text.",
            )


def _constant(constant: Mapping[str, int], n_classes: int) -> Iterator[Problem]:
    """A warning for each ε-quasi that gets no noise in some classes."""
    for name, n in constant.items():
        if n:
            yield Problem(
                where=f"attributes.{name}.range",
                what=f"in {n:,} of {n_classes:,} classes all records agree on {name}, so it gets no noise and is published "
                "as it is.",
                fix="A coarse range, { coarse = step }, or declared bounds, [low, high], would hide it.",
            )


def _clipped(clipped: Mapping[str, int], n_released: int) -> Iterator[Problem]:
    """A warning for each ε-quasi with values outside its declared bounds."""
    for name, n in clipped.items():
        if n:
            yield Problem(
                where=f"attributes.{name}.range",
                what=f"{n:,} of {n_released:,} values lie outside the declared bounds and would be clipped to them.",
            )
