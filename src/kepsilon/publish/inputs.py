# SPDX-License-Identifier: Apache-2.0
"""What a run reads, and in which role; no output may take the place of any of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kepsilon.errors import AnonymisationError, EngineError, Problem
from kepsilon.files.atomic import refuse_unnameable
from kepsilon.policy.policy import Policy
from kepsilon.sources.folders import files_of, is_many, would_match


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A file, folder or pattern that is read."""

    path: Path
    role: str
    """What it is, for a message: "the data", "the policy", "the hierarchy of zip"."""


def inputs_of(*sources: object, policy: Policy | None = None) -> tuple[Input, ...]:
    """Everything that is read: the sources that are paths, the policy's file, and the files of its hierarchies.

    Sources that are frames are no files, and are left out.
    """
    found = [
        Input(path=Path(source).absolute(), role="the data") for source in sources if isinstance(source, str | Path)
    ]
    if policy is not None:
        if policy.file is not None:
            found.append(Input(path=policy.file.absolute(), role="the policy"))
        for name, file in policy.hierarchy_files.items():
            found.append(Input(path=file.absolute(), role=f"the hierarchy of {name}"))
    return tuple(found)


def refuse_input(path: Path, inputs: Iterable[Input]) -> None:
    """Refuses an output that is an input, that holds one, or that a later run would read as a part of one.

    The only place that decides it, for every output of every command. What a path is called does not matter: links,
    other spellings and names that differ in case lead to the same file.
    """
    refuse_unnameable(path)
    for given in inputs:
        if is_many(given.path) and not given.path.is_dir() and _is_read_by(given.path, path):
            raise EngineError(
                Problem(
                    where=str(path),
                    what="is where the pattern finds the files that are read, and might be read as one of them.",
                    fix="Choose another folder.",
                )
            )
        for file in _files(given):
            if _is_same(path, file):
                raise EngineError(
                    Problem(
                        where=str(path),
                        what=f"is {given.role}, an input, which is never overwritten.",
                        fix="Choose another name.",
                    )
                )
            if path.is_dir() and any(_is_same(path, folder) for folder in (*file.parents, *file.resolve().parents)):
                raise EngineError(
                    Problem(
                        where=str(path),
                        what=f"is a folder that holds {given.role}, an input, which is never overwritten.",
                        fix="Choose another name.",
                    )
                )
        if given.path.is_dir() and any(_is_same(folder, given.path) for folder in path.resolve().parents):
            raise EngineError(
                Problem(
                    where=str(path),
                    what="is inside the folder that is read, and would be read as a part of it.",
                    fix="Choose another folder.",
                )
            )


def _files(given: Input) -> Iterator[Path]:
    """The input, and the files that it stands for if it is a folder or a pattern.

    What is wrong with an input is reported when it is read.
    """
    yield given.path
    if is_many(given.path):
        with contextlib.suppress(AnonymisationError):
            yield from files_of(given.path)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them does not exist
        return False


def _is_read_by(pattern: Path, output: Path) -> bool:
    with contextlib.suppress(AnonymisationError):
        if any(_is_same(file.parent, output.parent) for file in files_of(pattern)):
            return True
    return would_match(pattern, output)
