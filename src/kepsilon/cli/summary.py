# SPDX-License-Identifier: Apache-2.0
"""What `check` says of a release that would be, and `anonymise` of one that is: figures, attackers and the promise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import kepsilon
from kepsilon.cli.screen import show_heading, show_lines, show_point, show_table
from kepsilon.rounding import number, percent, percent_at_most

if TYPE_CHECKING:  # commands load slow modules only when they need them
    Found = kepsilon.Prediction | kepsilon.Record


def show_figures(lines: Iterable[tuple[str, str]]) -> None:
    """Prints the figures, each with its name."""
    show_heading("Figures")
    show_lines(lines)


def show_attackers(attackers: Sequence[kepsilon.Attacker]) -> None:
    """Prints who could link how many records, those who know least first.

    The second attacker knows all quasis, if there is one; their names are not listed again after it.
    """
    show_heading("Who could link how many records")
    quasis = attackers[1].knows if len(attackers) > 1 else ""
    rows = []
    for i, attacker in enumerate(attackers):
        who = attacker.in_words
        if i > 1 and f"{attacker.knows} and ".startswith(f"{quasis} and "):  # not a name that begins like a quasi's
            who = who.replace(f"knows {quasis}", "knows the quasis", 1)
        rows.append(
            [
                "" if attacker.risk is None else percent(attacker.risk.total),
                "" if attacker.realised is None else percent(attacker.realised),
                "" if attacker.largest is None else percent_at_most(attacker.largest),
                who + (f" ({attacker.measured_on})" if attacker.measured_on else ""),
            ]
        )
    show_table(["expected", "as drawn", "surest", "attacker"], rows)


def show_promise(statement: str) -> None:
    """Prints what a release promises, one promise a point."""
    show_heading("What is promised")
    for line in statement.split("\n"):
        show_point(line)


def figures_of_prediction(found: kepsilon.Prediction) -> Iterator[tuple[str, str]]:
    """Figures of a release that would be, each with its name."""
    records, classes = found.records, found.classes
    of = " of the counted" if records.counted < records.read else ""
    yield "records", f"{records.read:,}"
    yield from _left_before(found)
    yield "left out for k", f"{records.suppressed_by_k:,}  ({percent(found.suppressed_by_k)}{of})"
    if found.confident_k is not None:
        yield "left out for confidence", f"{percent(found.confident_k.of_entering.total)} of the rest, expected"
    if found.confident_k is not None or of:
        expected = ", expected" if found.confident_k is not None else ""
        yield "left out altogether", f"{percent(found.suppression.total)} of those read{expected}"
    sizes = f"{classes.smallest:,} to {classes.largest:,} records each (k = {found.k})"
    yield "classes", f"{classes.count:,} of {found.n_combinations:,} combinations of k-quasis, with {sizes}"
    yield from _generalised(found)
    for name, error in found.error.items():
        yield from _error(name, found.survives[name].in_words, error.expected_relative)
    yield from _outliers(found)
    yield from _agreements(found)
    yield "linking risk", found.risk_in_words
    yield (
        "largest single risk",
        found.linking_risk.by_matching_in_words(
            [*found.loss.ncp.by_attribute, *found.error], averaged=found.groups is not None, noisy=bool(found.error)
        ),
    )


def figures_of_record(record: kepsilon.Record) -> Iterator[tuple[str, str]]:
    """Figures of a release that was drawn, each with its name."""
    records, classes = record.records, record.classes
    yield "records read", f"{records.read:,}"
    yield "released", _share_of(records.released, records.read)
    yield "left out for k", _share_of(records.suppressed_by_k, records.read)
    confident = record.confident_k
    if confident is not None:
        n, expected = records.suppressed_by_confidence, confident.predicted.of_entering.total
        shares = f"{percent(confident.realised)} of the rest; {percent(expected)} expected"
        yield "left out for confidence", f"{n:,}  ({shares})"
    yield from _left_before(record)
    yield (
        "classes",
        f"{classes.count:,}, with {classes.smallest:,} to {classes.largest:,} records each (k = {record.guarantee.k})",
    )
    yield from _generalised(record)
    for name, error in record.error.items():
        yield from _treatment(record, name)
        survival = record.survives.get(name)
        in_units = None if survival is None else survival.error_in_words
        yield from _error(name, in_units, error.predicted.expected_relative)
    yield from _outliers(record)
    yield from _agreements(record)
    yield "linking risk", record.risk_in_words
    yield (
        "largest single risk",
        record.linking_risk.predicted.by_matching_in_words(
            [*record.loss.ncp.by_attribute, *record.error],
            averaged=record.groups is not None,
            noisy=bool(record.error),
        ),
    )
    if record.seeded:
        drawn = "order of the records" if record.guarantee.epsilon is None else "noise"
        yield "SEEDED", f"whoever knows the seed can repeat the {drawn}: do not publish"
    yield "seconds", number(sum(record.seconds.values()))


def _left_before(found: Found) -> Iterator[tuple[str, str]]:
    """Lines about records that left before anything was counted."""
    records = found.records
    for why, n in (
        ("value missing", records.suppressed_missing),
        ("value unlisted", records.suppressed_unlisted),
        ("cap per person", records.suppressed_by_cap),
    ):
        if n:
            yield f"left out, {why}", _share_of(n, records.read)


def _generalised(found: Found) -> Iterator[tuple[str, str]]:
    """Lines about persons, groups and levels, and about what generalising loses.

    The paper's measure of loss is shown where it differs: level over height, of an algorithm that has levels.
    """
    if found.persons is not None:
        yield "persons", found.persons.in_words
    if found.groups is not None:
        yield "averages", found.groups.in_words(of="records" if found.persons is None else "persons")
    if found.levels:
        yield "levels", ", ".join(f"{name} {level}" for name, level in found.levels.items())
    loss = found.loss
    measures = [("lost (ncp)", loss.ncp), ("bits lost", loss.entropy_share)]
    if found.levels is not None:
        measures.append(("levels over height", loss.precision))
    for name, measure in measures:
        if measure.by_attribute:
            shown = ", ".join(f"{attribute} {percent(own)}" for attribute, own in measure.by_attribute.items())
            yield name, f"{percent(measure.overall)}: {shown}"


def _error(name: str, in_units: str | None, relative: float | None) -> Iterator[tuple[str, str]]:
    """A line about how far published values of an ε-quasi are from the true ones."""
    parts = [] if in_units is None else [in_units]
    if relative is not None:
        parts.append(f"{percent(relative)} of the value, expected")
    if parts:
        yield f"{name} is off by", "; ".join(parts)


def _outliers(found: Found) -> Iterator[tuple[str, str]]:
    """Lines about extreme records that stand out, of ε-quasis that have some."""
    for name, own in found.outliers.items():
        if own.standing_out:
            yield f"outliers of {name}", own.in_words()


def _agreements(found: Found) -> Iterator[tuple[str, str]]:
    """Lines about how far classes, or the groups that are averaged, agree on sensitive columns; none where they do not."""
    one, many = ("class", "classes") if found.groups is None else ("group", "groups")
    for name, agreeing in found.homogeneity.items():
        if agreeing.is_notable:
            yield f"{many} agree on {name}", agreeing.in_words(name, of=one)


def _treatment(record: kepsilon.Record, name: str) -> Iterator[tuple[str, str]]:
    """A line about what was done to an ε-quasi."""
    clipped = record.clipped.get(name, 0)
    if name in record.guarantee.ranges:
        yield f"noise on {name}", _noise(record, name)
    elif clipped:
        yield f"averages of {name}", f"{clipped:,} values clipped to the domain first"


def _noise(record: kepsilon.Record, name: str) -> str:
    """The noise of an ε-quasi: its range and ε, and where there is none."""
    clipped = record.clipped.get(name, 0)
    constant = 0 if record.groups is not None else record.constant_classes.get(name, 0)
    extras = [f"{clipped:,} values clipped"] * bool(clipped)
    extras += [f"no noise in {constant:,} classes whose records agree"] * bool(constant)
    small = record.small_noise.get(name)
    if small is not None and small.classes:
        extras.append(f"lost by rounding in {small.classes:,} classes")
    sums = "on the sum of each group, " if record.groups is not None else ""
    noise = (
        f"{sums}range {record.guarantee.ranges[name]}, ε = {record.guarantee.epsilon}{record.policy.share_of_epsilon}"
    )
    return "; ".join([noise, *extras])


def _share_of(n: int, of: int) -> str:
    """A number of records, and what share that is."""
    return f"{n:,}  ({percent(n / of if of else 0.0)})"
