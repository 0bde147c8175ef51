# SPDX-License-Identifier: Apache-2.0
"""How a command ends that raised an error: the exit code, and the words on stderr."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import click

import kepsilon
from kepsilon.cli.surroundings import RunState, say
from kepsilon.cli.wrapping import as_shown

DONE, BUG, WRONG, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass(frozen=True, slots=True)
class Ending:
    """Errors that end a command in the same way."""

    errors: tuple[type[BaseException], ...]
    code: int
    words: Callable[[BaseException, RunState], str]
    """What to say; nothing if it is empty."""


def end(error: BaseException, state: RunState) -> int:
    """Says how a command ended that raised an error, and returns its exit code."""
    if os.environ.get(kepsilon.errors.SHOW_CAUSES) == "1":
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exception(error)
    if state.was_interrupted and not isinstance(error, kepsilon.UnsatisfiableError):
        error = KeyboardInterrupt()  # code of others, such as that of an import, made another error of it
    ending = next(ending for ending in ENDINGS if isinstance(error, ending.errors))
    words = ending.words(error, state)
    if words:
        say(as_shown(f"kepsilon: {words}"))
    if ending.code == INTERRUPTED and state.released:
        return DONE  # what was asked for is done, and a second release of the same records must not be drawn
    return ending.code


def _ours(error: BaseException, state: RunState) -> str:
    return f"{state.released} was released, but {error}" if state.released else str(error)


def _usage(error: BaseException, _state: RunState) -> str:
    """Click says it itself."""
    if isinstance(error, click.ClickException):
        with contextlib.suppress(OSError, ValueError):
            error.show()
    return ""


def _interrupted(_error: BaseException, state: RunState) -> str:
    if state.released:
        return f"{state.released} was released before the interrupt."
    return "interrupted; nothing was released."


def _unread(_error: BaseException, _state: RunState) -> str:
    """Nothing, because nobody reads it."""
    return ""


def _out_of_memory(_error: BaseException, state: RunState) -> str:
    return (
        f"out of memory; {state.outcome}.\n"
        "  Give it more memory, or fewer records; for Parquet, --memory 2GB limits what it uses."
    )


def _of_the_system(error: BaseException, state: RunState) -> str:
    """What the system says; a path is no value of a record."""
    filename, why = getattr(error, "filename", None), getattr(error, "strerror", None)
    where = f"{filename}: " if isinstance(filename, str) else ""
    return f"{where}{why or 'input/output error'}; {state.outcome}."


def _not_loaded(error: BaseException, state: RunState) -> str:
    library = f" ({error.name})" if isinstance(error, ImportError) and error.name else ""
    return (
        f"a library that it needs{library} could not be loaded; {state.outcome}.\n"
        "  There is too little memory for it, or it is not installed as it should be."
    )


def _bug(error: BaseException, state: RunState) -> str:
    found = kepsilon.UnexpectedError.of(error)
    return (
        f"a bug of ours ({found.kind} {found.place}); {state.outcome}.\n"
        "  The details are not shown, because they might hold records. Please report this line."
    )


ENDINGS = (
    Ending((kepsilon.UnsatisfiableError,), REFUSED, _ours),
    Ending((kepsilon.AnonymisationError,), WRONG, _ours),
    Ending((click.Abort, KeyboardInterrupt), INTERRUPTED, _interrupted),
    Ending((click.ClickException,), WRONG, _usage),
    Ending((BrokenPipeError, SystemExit), DONE, _unread),  # click exits when nobody reads any more
    Ending((MemoryError,), WRONG, _out_of_memory),
    Ending((OSError,), WRONG, _of_the_system),
    Ending((ImportError,), WRONG, _not_loaded),
    Ending((BaseException,), BUG, _bug),
)
"""Every way in which a command can fail; the first that fits is taken."""
