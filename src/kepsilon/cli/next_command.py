# SPDX-License-Identifier: Apache-2.0
"""The command to run next, written so that it runs as it is pasted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from kepsilon.cli.colours import coloured
from kepsilon.cli.wrapping import width

NAME = "kepsilon"
RELEASED = (".csv", ".tsv", ".parquet", ".pq", ".arrow", ".feather")
"""Suffixes of files that a release can be written to."""


def show_next(*arguments: object, why: str = "Next") -> None:
    """Prints a command of ours as the last thing on the screen, and what it is for."""
    click.echo(f"\n{coloured(f'{why}:', bold=True)}\n  {pasted(*arguments)}")


def pasted(*arguments: object) -> str:
    """A command of ours with its arguments quoted for a shell; one that is too long for the screen goes on in further lines.

    An option stays beside its value. What is longer than a line stands alone on one that is too long.
    """
    words = [str(argument) for argument in arguments]
    parts: list[str] = []
    for word, before in zip(words, ["", *words], strict=False):
        if before.startswith("-") and not word.startswith("-"):
            parts[-1] += f" {_quoted(word)}"
        else:
            parts.append(_quoted(word))
    lines = [" ".join(_quoted(word) for word in _program())]
    for number, part in enumerate(parts):
        room = width() - (4 if len(lines) == 1 else 6)
        if number == 0 or len(lines[-1]) + 1 + len(part) <= room:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return " \\\n    ".join(lines)


def place_options(engine: str, master: str | None, memory: str | None, spill_folder: Path | None) -> list[str]:
    """The options that say where the work is done, as far as they are not the default."""
    options = {
        "--engine": None if engine == "local" else engine,
        "--master": master,
        "--memory": memory,
        "--spill-folder": spill_folder,
    }
    return [word for name, own in options.items() if own is not None for word in (name, str(own))]


def free_name(path: Path) -> Path:
    """The path, or the first one with a number in its name that no file has yet."""
    tried, number = path, 1
    while os.path.lexists(tried):
        number += 1
        tried = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return tried


def release_name(input_path: Path) -> Path:
    """A name for the release of a file: of its kind where releases can be of that kind, and of no file that exists."""
    suffix = input_path.suffix.lower()
    return free_name(Path(f"release{suffix if not suffix or suffix in RELEASED else '.csv'}"))


def _quoted(word: str) -> str:
    """A word for a shell; control characters as escapes, or a name could forge lines on the screen."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(_escaped(character) for character in word) + "'"


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def _program() -> list[str]:
    """How this command was started: by its name if the shell finds it by that, otherwise by its path."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return [sys.executable, "-m", NAME]
    found = shutil.which(NAME)
    if started.stem != NAME or (found is not None and _is_same(Path(found), started)):
        return [NAME]  # what is run by other code, such as a test, was not started by a name of its own
    return [str(started)]


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
