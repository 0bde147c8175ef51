# SPDX-License-Identifier: Apache-2.0
"""What people see: progress on stderr where there is a terminal, and small tables on stdout."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function to call with the name of each step; silent unless stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda step: None  # noqa: ARG005 (the name of the step is not shown)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda step: status.update(f"{step} …")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """A function to call with what was done and the share of all that is done; silent unless stderr is a terminal."""
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
    """Labels and values in two columns, values wrapped to the width of the screen."""
    rows = list(lines)
    width = max(40, min(110, shutil.get_terminal_size().columns))
    indent = min(max((len(label) for label, _ in rows), default=0) + 2, width // 2)
    for label, value in rows:
        wrapped = click.wrap_text(visible(value), width=width - indent).splitlines() or [""]
        label_alone = len(label) + 2 > indent  # too long a name to stand beside its value
        click.echo(click.style(visible(label).ljust(indent), bold=True) + ("" if label_alone else wrapped[0]))
        for more in wrapped if label_alone else wrapped[1:]:
            click.echo(" " * indent + more)


def visible(text: str) -> str:
    """Control characters as escapes: a column's name could otherwise forge or reverse what is said."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def show_wrapped(text: str) -> None:
    click.echo(click.wrap_text(visible(text), width=min(100, shutil.get_terminal_size().columns)))


def show_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need to be, numbers to the right; one that is empty everywhere is not shown."""
    lines = [list(names), *([*row, *[""] * (len(names) - len(row))] for row in rows)]
    used = [i for i in range(len(names)) if any(line[i] for line in lines[1:])]
    widths = {i: max(len(line[i]) for line in lines) for i in used}
    numeric = {i: all(line[i][:1].isdigit() or not line[i] for line in lines[1:]) for i in used}
    for n, line in enumerate(lines):
        cells = [line[i].rjust(widths[i]) if numeric[i] else line[i].ljust(widths[i]) for i in used]
        text = "  ".join(cells).rstrip()
        click.echo(click.style(text, bold=True) if n == 0 else text)


def show_record(record: Mapping[str, Any], *, where: str) -> None:
    """What happened, in a small table, and what is promised."""
    show_lines(_lines(record))
    click.echo()
    width = min(100, shutil.get_terminal_size().columns)
    for line in record["guarantee"]["statement"].split("\n"):
        click.echo(click.wrap_text(visible(line), width=width, initial_indent="- ", subsequent_indent="  "))
    click.echo()
    click.echo(where)


def _lines(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    records, classes, policy = record["records"], record["classes"], record["policy"]
    read = records["read"]
    yield "records read", f"{read:,}"
    yield "released", f"{records['released']:,}  ({records['released'] / read:.2%})"
    yield "left out for k", f"{records['suppressed_by_k']:,}  ({records['suppressed_by_k'] / read:.2%})"
    confident = record.get("confident_k")
    if confident:
        n, share = records["suppressed_by_confidence"], confident["realised"]
        yield "left out for confidence", f"{n:,}  ({share:.2%} of the rest; {confident['expected']:.2%} expected)"
    for key, label in (
        ("suppressed_missing", "left out, value missing"),
        ("suppressed_unlisted", "left out, value unlisted"),
    ):
        if records[key]:
            yield label, f"{records[key]:,}  ({records[key] / read:.2%})"
    yield (
        "classes",
        f"{classes['count']:,} of {classes['smallest']:,} to {classes['largest']:,} records (k = {policy['k']})",
    )
    if record.get("levels"):
        yield "levels", ", ".join(f"{name} {level}" for name, level in record["levels"].items())
    losses = {name: loss for name, loss in record["loss"]["precision"].items() if name != "overall"}
    if losses:
        shown = ", ".join(f"{name} {loss:.2f}" for name, loss in losses.items())
        yield "precision loss", f"{record['loss']['precision']['overall']:.3f}  ({shown})"
    for name, how in record["guarantee"]["ranges"].items():
        clipped = record["clipped"].get(name, 0)
        constant = record["constant_classes"].get(name, 0)
        extras = [f"{clipped:,} values clipped"] * bool(clipped)
        extras += [f"no noise in {constant:,} classes whose records agree"] * bool(constant)
        noise = f"range {how}, ε = {policy['epsilon']}"
        yield f"noise on {name}", "; ".join([noise, *extras])
        error = record.get("error", {}).get(name, {}).get("expected_relative")
        if error is not None:
            uniform = record["error"][name]["uniform_equivalent"]
            yield (
                f"error of {name}",
                f"{error:.1%} expected, relative to the value; uniform noise of ±{uniform:.1%} would cost the same",
            )
    if record.get("linking_risk"):
        yield "linking risk", f"{record['linking_risk']['expected']:.2%} of released records, expected"
    if record["seeded"]:
        yield "SEEDED", "the noise can be repeated by whoever knows the seed: do not publish"
    yield "seconds", f"{sum(record['seconds'].values()):.2f}"
