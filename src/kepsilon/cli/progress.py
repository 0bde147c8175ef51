# SPDX-License-Identifier: Apache-2.0
"""Progress on stderr, if it is a terminal: what is being done, how much of it, and how long it will take."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STEPS = {
    "read": "reading records",
    "count": "counting combinations of k-quasis",
    "k-anonymise": "forming classes",
    "bring classes together": "bringing the records of each class together",
    "expect": "predicting what a release will be",
    "look at columns": "looking at the columns kept as they are",
    "perturb": "drawing what is published",
    "measure": "measuring what is published",
    "keep": "storing what is published",
    "look closer": "looking closer at the limits",
    "picture": "counting values for the report",
    "compare": "comparing statistics before and after",
    "merge and shuffle": "shuffling the records",
    "write": "writing files",
    "look at the data": "looking at the columns",
    "start Spark": "starting Spark",
    "look at numbers": "looking at the numeric quasis",
    "compare splits": "comparing k-quasis and ε-quasis",
    "bytes": "comparing bytes with the digest",
    "identifiers": "looking for identifiers in the release",
    "classes": "checking classes and labels",
    "noise": "checking the noise",
    "order": "checking the order of the records",
    "attack": "attacking the release",
    "manifest": "working out the public manifest",
    "whole records": "looking at kept columns",
}
"""What a step is called on the screen. A step that is not listed is called by its own name."""

BESIDE_WORDS = 3
"""Columns that the spinner and the blanks beside it take."""
LONG_ENOUGH = 1.0
"""Seconds of a step before anything is said of the time left: the first of many parts is no measure."""


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """What shows the current step on stderr, with what is done of it; it shows nothing unless stderr is a terminal."""
    if not is_shown():
        yield lambda step: None  # noqa: ARG005 (the name of the step is not shown)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    with console.status("starting") as status:
        yield _Steps(lambda words: status.update(Text(fitting(words, room=console.width - BESIDE_WORDS))))


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """A function that shows what was done last and the share of all work that is done.

    It shows nothing unless stderr is a terminal.
    """
    if not is_shown():
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


def is_shown() -> bool:
    """Whether stderr is a terminal that can rewrite a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class _Steps:
    """Says in one line which step it is, how much is done and how long the rest will take; `show` prints the line."""

    def __init__(self, show: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._show, self._clock = show, clock
        self._words, self._began = "starting", clock()
        self._first_told: dict[tuple[str, str, int], float] = {}
        """By step, what is counted and of how many: when that began. A step that comes in parts begins once."""

    def __call__(self, step: str) -> None:
        self._words, self._began = in_words(step), self._clock()
        self._show(f"{self._words} …")

    def on_count(self, done: int, of: int, what: str) -> None:
        began = self._first_told.setdefault((self._words, what, of), self._began)
        self._show(f"{self._words}: {counted(done, of, what)}{self._time_left(done, of, began)}")

    def _time_left(self, done: int, of: int, began: float) -> str:
        """How long the rest takes at the speed so far; nothing before that is worth saying."""
        passed = self._clock() - began
        if passed < LONG_ENOUGH or not 0 < done < of:
            return ""
        return f", about {duration(passed * (of - done) / done)} left"


def in_words(step: str) -> str:
    """What a step is called on the screen; what stands in brackets after its name stays."""
    name, bracket, detail = step.partition(" (")
    return f"{STEPS.get(name, name)}{bracket}{detail}"


def fitting(words: str, *, room: int) -> str:
    """The words in one line of at most `room` characters: a line that wraps would stay on the screen at every change.

    What is counted and the time left stay as long as there is room for them; the name of the step is cut first.
    """
    if len(words) <= room:
        return words
    step, colon, rest = words.partition(": ")
    left = room - len(colon) - len(rest) - 1
    if colon and left > 0:
        return f"{step[:left]}…{colon}{rest}"
    return f"{words[: max(0, room - 1)]}…"


def counted(done: int, of: int, what: str) -> str:
    """How much is done, such as “12 of 84 cells”; bytes are shown in megabytes."""
    if what == "bytes":
        return f"{done / 1e6:,.0f} of {of / 1e6:,.0f} MB"
    return f"{done:,} of {of:,} {what}"


def duration(seconds: float) -> str:
    """A time in the unit that people would use: seconds below two minutes, minutes below two hours."""
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    if seconds < 7200:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h"
