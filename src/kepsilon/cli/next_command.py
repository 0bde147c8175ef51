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


def show_next(*arguments: object, why: str = "Next") -> None:
    """Prints a command of ours as the last thing on the screen, and what it is for."""
    click.echo(f"\n{coloured(f'{why}:', bold=True)}\n  {pasted(*arguments)}")


def pasted(*arguments: object) -> str:
    """A command of ours with its arguments quoted for a shell; one that is too long for the screen goes on in further lines."""
    words = [shlex.quote(str(argument)) for argument in arguments]
    lines = [shlex.join(_program())]
    parts: list[str] = []
    for word, before in zip(words, ["", *words], strict=False):
        if before.startswith("-") and not word.startswith("-"):
            parts[-1] += f" {word}"  # an option's value stays beside it
        else:
            parts.append(word)
    for part in parts:
        room = width() - 4 if len(lines) == 1 else width() - 6
        if len(lines[-1]) + 1 + len(part) <= room:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return " \\\n    ".join(lines)


def free_name(path: Path) -> Path:
    """The path, or the first one with a number in its name that no file has yet."""
    tried, number = path, 1
    while os.path.lexists(tried):
        number += 1
        tried = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return tried


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
