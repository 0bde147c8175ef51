# SPDX-License-Identifier: Apache-2.0
"""Runs a command in this process, with everything it says, and notices what it leaves behind."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import random
import signal
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from kepsilon.cli.main import commands, run

TOO_LONG = 60
"""Seconds of work after which a command counts as one that hangs; the slowest take a few."""

PATIENCE = 10
"""How many times as long a command may wait as it may work: others may keep the machine busy."""


class HangsError(BaseException):
    """Raised in a command that takes too long, and once more after it, for public functions hide what they do not know."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended and what it said."""

    name: str
    code: int
    out: str
    err: str


def has_command(name: str) -> bool:
    return name in commands.commands


def run_command(arguments: Sequence[object]) -> Outcome:
    """Runs `kepsilon` with some arguments in this process."""
    out, err = io.StringIO(), io.StringIO()
    words = [str(argument) for argument in arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limited_time(), _warnings_are_errors():
        code = run(words)
    return Outcome(name=words[0], code=code, out=out.getvalue(), err=err.getvalue())


@contextlib.contextmanager
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def limited_time(seconds: float = TOO_LONG) -> Iterator[None]:
    """Raises HangsError where the block works for some seconds, or waits for much longer; in the main thread only.

    Work is what the process and its threads spend on processors, so that a busy machine makes nobody hang.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    rang: list[int] = []

    def ring(number: int, _frame: FrameType | None) -> None:
        rang.append(number)
        raise HangsError

    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, PATIENCE * seconds)}
    before = {number: signal.signal(number, ring) for number in clocks}
    for clock, after in clocks.values():
        signal.setitimer(clock, after)
    try:
        yield
    finally:
        for clock, _ in clocks.values():
            signal.setitimer(clock, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        if rang:
            raise HangsError


@contextlib.contextmanager
def nobody_waits_at(pipe: Path, *, patience: float = 5) -> Iterator[list[str]]:
    """Lets go whoever waits at a pipe for somebody to write; the list that is given gets an entry if anybody did.

    A library that waits inside its own code is not woken by an alarm.
    """
    found: list[str] = []
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.wait(patience if not found else 0.2):
            with contextlib.suppress(OSError):  # nobody waits there
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                found.append("waits")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        is_done.set()
        watcher.join()


@contextlib.contextmanager
def own_temporary_folder(folder: Path) -> Iterator[None]:
    """Makes a folder the system's folder for temporary files, so that what stays in it can be seen."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def repeatable_noise(seed: int) -> Any:
    """Random bytes that a seed repeats where the package asks the system for them, so that a failure can be repeated.

    The release does not know it, and is not marked as seeded.
    """
    return patch("kepsilon.randomness._system_random", random.Random(f"{seed} noise").randbytes)


def files_in(folder: Path) -> frozenset[str]:
    """Names of everything in a folder, at any depth."""
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*"))


def n_open_in(folder: Path) -> int:
    """How many files and folders below a folder this process still holds open, such as a lock."""

    def count() -> int:
        n = 0
        for descriptor in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                n += os.readlink(descriptor).startswith(f"{folder}/")
        return n

    if not Path("/proc/self/fd").exists() or not count():
        return 0
    gc.collect()
    return count()


def everything_said(error: BaseException) -> str:
    """All text of an exception: its own, its causes' and contexts', their arguments and notes, and the traceback."""
    said, seen = ["".join(traceback.format_exception(error))], set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        own = waiting.pop()
        if own is None or id(own) in seen:
            continue
        seen.add(id(own))
        said += [str(own), repr(own), repr(own.args), repr(getattr(own, "__notes__", ""))]
        waiting += [own.__cause__, own.__context__]
    return "\n".join(said)
