# SPDX-License-Identifier: Apache-2.0
"""What to do after `explore`: the lines of the policy to change, and the command to paste."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.next_command import free_name, place_options, show_next
from kepsilon.cli.wrapping import visible, width

_NO_COMMENT = re.compile(r"""(?:[^"'#]|"(?:\\.|[^"\\])*"|'[^']*')*""")
"""A line of TOML up to its comment; a # between quotes begins none."""
INDENT = 2
"""Blanks before the lines of the policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCommand:
    """What `explore` was asked, as far as the next command repeats it."""

    input_path: Path
    policy_path: Path
    written: Path | None
    """Where the new policy is written; None where nobody asked for it."""
    limits: kepsilon.Limits
    confidence: float | None
    engine: str
    master: str | None
    memory: str | None
    spill_folder: Path | None

    def show(self, grid: kepsilon.Grid, cell: kepsilon.Cell) -> None:
        """Prints what changes in the policy, and the command that comes next."""
        changes = grid.changes(cell)
        lines = kepsilon.policy_difference(self.policy_path, changes)
        if not lines:
            click.echo("\nNothing changes in the policy.")
            show_next("check", self.input_path, "-p", self.policy_path, *self._place())
            return
        click.echo(f"\nChange in {visible(str(self.policy_path))}:")
        for line in lines:
            click.echo(f"  {visible(_fitting(line))}")
        if self.written is not None:
            click.echo(f"\nWritten to {visible(str(self.written))}.")
            show_next("check", self.input_path, "-p", self.written, *self._place())
        else:
            show_next(*self._writing(cell), why="Next, to write that policy")

    def _writing(self, cell: kepsilon.Cell) -> list[str]:
        """The command that looks at one cell again and writes its policy."""
        words = ["explore", str(self.input_path), "-p", str(self.policy_path)]
        if cell.split is not None:
            words.append("--split")
        else:
            words += ["--algorithm", cell.algorithm]
        words += ["--k", str(cell.k)]
        if cell.group is not None:
            words += ["--group", str(cell.group)]
        if cell.epsilon is not None:
            words += ["--epsilon", f"{cell.epsilon!r}"]
        if self.confidence is not None:
            words += ["--confidence", f"{self.confidence!r}"]
        for name, limit in self.limits.stated().items():
            words += [f"--{name.replace('_', '-')}", f"{limit!r}"]
        return [
            *words,
            *self._place(),
            "--write-policy",
            str(free_name(self.policy_path.with_name(f"{self.policy_path.stem}-chosen.toml"))),
        ]

    def _place(self) -> list[str]:
        return place_options(self.engine, self.master, self.memory, self.spill_folder)


def _fitting(line: str) -> str:
    """A line of a policy, without its comment where it would be too long for the screen; the comment stays in the file."""
    if len(line) + INDENT <= width():
        return line
    found = _NO_COMMENT.match(line)
    return line if found is None else found[0].rstrip() or line
