# SPDX-License-Identifier: Apache-2.0
"""What commands show: progress on stderr if it is a terminal, and small tables on stdout."""

from __future__ import annotations

import functools
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.losses import losses_in_words


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function that shows the name of the current step; it shows nothing unless stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda step: None  # noqa: ARG005 (the name of the step is not shown)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda step: status.update(f"{step} …")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """A function that shows what was done last and the share of all work that is done.

    It shows nothing unless stderr is a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda words, share: None  # noqa: ARG005 (nothing is shown)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("so far, about"),
        TimeRemainingColumn(),
        TextColumn("left;"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=120) as shown:
        bar = shown.add_task("starting", total=1.0)
        yield lambda words, share: shown.update(bar, completed=share, description=words)


def show_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Prints labels and values in two columns, with values wrapped to the width of the screen."""
    rows = list(lines)
    width = max(40, min(110, shutil.get_terminal_size().columns))
    indent = min(max((len(label) for label, _ in rows), default=0) + 2, width // 2)
    for label, value in rows:
        wrapped = click.wrap_text(visible(value), width=width - indent).splitlines() or [""]
        label_alone = len(label) + 2 > indent  # the label is too long to stand beside its value
        click.echo(click.style(visible(label).ljust(indent), bold=True) + ("" if label_alone else wrapped[0]))
        for more in wrapped if label_alone else wrapped[1:]:
            click.echo(" " * indent + more)


def visible(text: str) -> str:
    """The text with control characters as escapes: the name of a column could otherwise forge or reverse a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def shown(path: Path) -> str:
    """A path for the screen, with control characters as escapes."""
    return visible(str(path))


def show_wrapped(text: str) -> None:
    click.echo(click.wrap_text(visible(text), width=min(100, shutil.get_terminal_size().columns)))


def note(about: object) -> str:
    """A note about something, ready to be printed: wrapped to the width of the screen, its further lines indented."""
    width = max(40, min(100, shutil.get_terminal_size().columns))
    first, *more = str(about).splitlines()
    wrap = functools.partial(
        textwrap.fill, width=width, subsequent_indent="  ", break_on_hyphens=False
    )  # names have some
    lines = [wrap(visible(f"note: {first}"))]
    lines += [wrap(visible(line.strip()), initial_indent="  ") for line in more]
    return "\n".join(lines)


def show_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table with numbers aligned to the right; columns that are empty in every row are not shown."""
    lines = [list(names), *([*row, *[""] * (len(names) - len(row))] for row in rows)]
    used = [i for i in range(len(names)) if any(line[i] for line in lines[1:])]
    widths = {i: max(len(line[i]) for line in lines) for i in used}
    numeric = {i: all(line[i][:1].isdigit() or not line[i] for line in lines[1:]) for i in used}
    for n, line in enumerate(lines):
        fields = [line[i].rjust(widths[i]) if numeric[i] else line[i].ljust(widths[i]) for i in used]
        text = "  ".join(fields).rstrip()
        click.echo(click.style(text, bold=True) if n == 0 else text)


def show_record(record: kepsilon.Record, *, where: str) -> None:
    """Prints what may be used, what became of the records in a small table, and what is promised; `where` is printed last."""
    if record.survival_in_words is not None:
        _show_paragraph(record.survival_in_words)
    show_lines(_lines(record))
    click.echo()
    show_attackers(record.attackers)
    click.echo("\nWhat is promised:")
    for line in record.guarantee.statement.split("\n"):
        _show_point(line)
    click.echo()
    click.echo(where)


def show_attackers(attackers: Sequence[kepsilon.Attacker]) -> None:
    """Prints who could link how many records, one attacker after the other, those who know least first.

    The second of them knows all quasis, if there is one; their names are not listed again after it.
    """
    click.echo("Who could link how many records:")
    quasis = attackers[1].knows if len(attackers) > 1 else ""
    for i, attacker in enumerate(attackers):
        who = attacker.in_words
        if i > 1 and f"{attacker.knows} and ".startswith(f"{quasis} and "):  # not a name that begins like a quasi's
            who = who.replace(f"knows {quasis}", "knows the quasis", 1)
        _show_point(f"{who[:1].upper()}{who[1:]}: {attacker.figures_in_words}.")


def _show_point(text: str) -> None:
    """Prints one point of a list, wrapped to the width of the screen."""
    click.echo(click.wrap_text(visible(text), width=_width(), initial_indent="- ", subsequent_indent="  "))


def _show_paragraph(text: str) -> None:
    """Prints a paragraph, wrapped to the width of the screen, and a blank line."""
    click.echo(f"{click.wrap_text(visible(text), width=_width())}\n")


def _width() -> int:
    return min(100, shutil.get_terminal_size().columns)


def _lines(record: kepsilon.Record) -> Iterator[tuple[str, str]]:
    records, classes, guarantee = record.records, record.classes, record.guarantee

    def of_those_read(n: int) -> str:
        return f"{n:,}  ({n / records.read:.2%})"

    yield "records read", f"{records.read:,}"
    yield "released", of_those_read(records.released)
    yield "left out for k", of_those_read(records.suppressed_by_k)
    confident = record.confident_k
    if confident is not None:
        n, expected = records.suppressed_by_confidence, confident.predicted.of_entering.total
        yield "left out for confidence", f"{n:,}  ({confident.realised:.2%} of the rest; {expected:.2%} expected)"
    if records.suppressed_missing:
        yield "left out, value missing", of_those_read(records.suppressed_missing)
    if records.suppressed_unlisted:
        yield "left out, value unlisted", of_those_read(records.suppressed_unlisted)
    if records.suppressed_by_cap:
        yield "left out, cap per person", of_those_read(records.suppressed_by_cap)
    yield (
        "classes",
        f"{classes.count:,}, with {classes.smallest:,} to {classes.largest:,} records each (k = {guarantee.k})",
    )
    if record.persons is not None:
        yield "persons", record.persons.in_words
    if record.groups is not None:
        yield "averages", record.groups.in_words(of="records" if record.persons is None else "persons")
    if record.levels:
        yield "levels", ", ".join(f"{name} {level}" for name, level in record.levels.items())
    yield from losses_in_words(record)
    for name in record.error:
        yield from _treatment(record, name)
    yield from agreements(record)
    yield "linking risk", record.risk_in_words
    quasis = [*record.loss.ncp.by_attribute, *record.error]
    averaged = record.groups is not None
    yield "largest single risk", record.linking_risk.predicted.by_matching_in_words(quasis, averaged=averaged)
    if record.seeded:
        drawn = "order of the records" if record.guarantee.epsilon is None else "noise"
        yield "SEEDED", f"whoever knows the seed can repeat the {drawn}: do not publish"
    yield "seconds", f"{sum(record.seconds.values()):.2f}"


def agreements(found: kepsilon.Prediction | kepsilon.Record) -> Iterator[tuple[str, str]]:
    """Lines about how far classes, or the groups that are averaged, agree on sensitive columns."""
    one, many = ("class", "classes") if found.groups is None else ("group", "groups")
    for name, agreeing in found.homogeneity.items():
        yield f"{many} agree on {name}", agreeing.in_words(name, of=one)


def _treatment(record: kepsilon.Record, name: str) -> Iterator[tuple[str, str]]:
    """What was done to an ε-quasi, and what that costs."""
    guarantee, clipped = record.guarantee, record.clipped.get(name, 0)
    if name in guarantee.ranges:
        yield f"noise on {name}", _noise(record, name)
    elif clipped:
        yield f"averages of {name}", f"{clipped:,} values clipped to the domain first"
    error = record.error[name].predicted
    if error.expected_relative is not None:
        same = None if record.groups is not None else error.uniform_equivalent
        cost = "" if same is None else f"; uniform noise of ±{same:.1%} would cause as much"
        yield f"error of {name}", f"{error.expected_relative:.1%} expected, relative to the value{cost}"
    in_units = record.survives[name].error_in_words if name in record.survives else None
    if in_units is not None:
        yield f"{name} is off by", in_units
    if name in record.outliers:
        yield f"outliers of {name}", record.outliers[name].in_words()


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


def estimate(share: kepsilon.Estimate) -> str:
    """A share in per cent, with one standard error where it is simulated."""
    return f"{share.total:.2%}" + (f"±{100 * share.standard_error:.2f}" if share.variance else "")


def percent(share: float | None) -> str:
    return "undefined" if share is None else f"{share:.2%}"
