# SPDX-License-Identifier: Apache-2.0
"""What surrounds a command: signals that interrupt it, streams that are closed or full, and how far it has got."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType

import click

import kepsilon

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

AT_ONCE = 1.0
"""Seconds within which further signals belong to the first: a terminal that is closed sends two, an impatient hand more."""


LEAST_ADDRESS_SPACE = 1 << 30
"""Bytes. NumPy's and Arrow's libraries and the stacks of their threads take more than half of it, used or not."""


@dataclass(slots=True)
class RunState:
    """How far a command has got, for the message that it ends with."""

    release: kepsilon.Release | None = None
    """The release that is being written, or was."""
    interrupt: Interrupt | None = None
    """The handler of signals; None where the command is run by other code, which has its own."""

    @property
    def was_interrupted(self) -> bool:
        """Whether a signal asked the command to end, whatever became of the KeyboardInterrupt in code of others."""
        return self.interrupt is not None and self.interrupt.was_raised

    @property
    def released(self) -> str:
        """The path of the release that is out; empty if none is."""
        written = None if self.release is None else self.release.written
        return "" if written is None else str(written.path)

    @property
    def outcome(self) -> str:
        """What is true of the release, for the end of a message about something else."""
        return f"{self.released} was released before that" if self.released else "nothing was released"


class NoPandas:
    """A finder of modules by which pandas is not installed; it leaves all other modules to other finders."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004 (the import system's)
        if name == "pandas":
            raise ModuleNotFoundError("the commands of kepsilon do without pandas", name=name)


def leave_pandas_out(arguments: Sequence[str]) -> None:
    """Lets no library of this process import pandas, unless Spark is to do the work, whose Python code needs it.

    Arrow imports pandas, where that is installed, as soon as it is given any number; that takes half a second, longer than
    a small release. Commands read files, and never a frame of pandas.
    """
    if not any("spark" in own for own in arguments):
        sys.meta_path.insert(0, NoPandas)


class Interrupt:
    """A handler that raises KeyboardInterrupt, as for Ctrl-C, but not again for signals that come right after."""

    def __init__(self) -> None:
        self._last = -AT_ONCE
        self.was_raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self._last < AT_ONCE:
            return
        self._last = time.monotonic()
        self.was_raised = True
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if number != signal.SIGINT and callable(on_ctrl_c) and on_ctrl_c is not self:
            on_ctrl_c(signal.SIGINT, frame)  # that of Spark, which stops jobs that would be waited for otherwise
        raise KeyboardInterrupt


def interrupt_on_signals() -> Interrupt:
    """Makes every signal that asks the program to end do what Ctrl-C does; nohup has some of them ignored."""
    interrupt = Interrupt()
    for number in SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, interrupt)
    return interrupt


def ignore_signals() -> None:
    """Ignores signals from here on, because the command is over and only words are left to say."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def refuse_little_address_space() -> None:
    """Ends the program where a limit (`ulimit -v`) leaves too little room for libraries, which would abort in mid-air."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        say(
            f"kepsilon: address space is limited to {limit >> 20:,} MB (ulimit -v), too little for the libraries that it "
            f"needs; nothing was released.\n  Allow {LEAST_ADDRESS_SPACE >> 20:,} MB or more. To limit memory, use --memory."
        )
        sys.exit(2)


def open_closed_streams() -> None:
    """Gives a closed stdin, stdout or stderr (`2>&-`) something to be.

    The next file that is opened would take the place of a closed stream, and what a library prints would go into it. What
    is printed to a closed stderr is lost, as was asked for; printing to a closed stdout fails like printing to a full disk.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding="utf-8", write_through=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ε is no reason to stop


@contextlib.contextmanager
def showing(what: str = "the result") -> Iterator[None]:
    """Prints to stdout in the block; a reader who has gone (`| head`) is no error, a full disk is."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _print_nowhere()
    except OSError as error:
        _print_nowhere()
        why = error.strerror or "input/output error"
        raise kepsilon.EngineError(kepsilon.Problem(where="", what=f"{what} could not be shown: {why}.")) from None


def say(words: str) -> None:
    """Prints a message to stderr; if that cannot be done, the exit code has to do."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(words, err=True)


def _print_nowhere() -> None:
    """Sends what is still printed, or still waits to be, nowhere; or Python would complain of it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
