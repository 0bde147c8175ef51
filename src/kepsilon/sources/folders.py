# SPDX-License-Identifier: Apache-2.0
"""Which Parquet files a folder or a pattern stands for, and whether it would also read an output."""

from __future__ import annotations

import fnmatch
import glob
from collections.abc import Sequence
from pathlib import Path

from kepsilon.errors import DataError, Problem
from kepsilon.sources.files import missing, refuse_special, unreadable

SUFFIXES = (".parquet", ".pq")


def is_many(path: Path) -> bool:
    """Whether a path stands for several files: a folder, or a pattern where there is no such file."""
    return path.is_dir() or (not path.exists() and glob.has_magic(str(path)))


def files_of(path: Path) -> tuple[Path, ...]:
    """The Parquet files that a path, folder or pattern stands for, each once, in the order of their names."""
    if is_many(path):
        named = path.rglob("*") if path.is_dir() else map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207
        found = _data_files(path, [file for file in named if file.suffix.lower() in SUFFIXES and file.is_file()])
    else:
        found = [path]
        if not path.exists():
            raise missing(path)
    for file in found:
        refuse_special(file)
    if not found:
        raise DataError(
            Problem(
                where=str(path), what="holds no Parquet file.", fix="Files are known by their suffix, .parquet or .pq."
            )
        )
    return _each_once(found)


def _data_files(path: Path, found: Sequence[Path]) -> list[Path]:
    """The files without those in or under a name with a dot or underscore first, which writers use for their own marks."""
    root = path if path.is_dir() else fixed_part(path)
    below = {file: file.relative_to(root).parts for file in found}
    below = {file: parts for file, parts in below.items() if not any(p.startswith((".", "_")) for p in parts)}
    if any("=" in part for parts in below.values() for part in parts[:-1]):
        raise DataError(
            Problem(
                where=str(path),
                what="its folders are named after values of a column, which is then not in the files.",
                fix="Write the table with all columns inside its files.",
            )
        )
    return list(below)


def fixed_part(pattern: Path) -> Path:
    """The folder that contains everything a pattern can match."""
    return next(folder for folder in pattern.parents if not glob.has_magic(str(folder)))


def would_match(pattern: Path, output: Path) -> bool:
    """Whether the next run with the same pattern would read an output, or files inside it if it is a folder."""
    root = fixed_part(pattern)
    asked = [*root.resolve().parts, *pattern.relative_to(root).parts]
    there = list((output.parent.resolve() / output.name).parts)
    return _matches(there, asked) or (not output.suffix and _matches([*there, None], asked))


def _matches(names: Sequence[str | None], asked: Sequence[str]) -> bool:
    """Whether the parts of a path match the parts of a pattern; None stands for any name."""
    if not asked:
        return not names
    if asked[0] == "**":
        return any(_matches(names[i:], asked[1:]) for i in range(len(names) + 1))
    if not names or not (names[0] is None or fnmatch.fnmatchcase(names[0], asked[0])):
        return False
    return _matches(names[1:], asked[1:])


def _each_once(found: Sequence[Path]) -> tuple[Path, ...]:
    """The files in the order of their names, each once; refuses a file that has two names.

    A pattern may find a name twice. A file with two names would count everybody in it twice, and break k.
    """
    names: dict[tuple[int, int], Path] = {}
    for file in sorted(set(found)):
        try:
            status = file.stat()
        except OSError as error:
            raise unreadable(file, error) from None
        first = names.setdefault((status.st_dev, status.st_ino), file)
        if first is not file:
            raise DataError(
                Problem(
                    where=str(file),
                    what=f"is the same file as {first}, and everybody in it would count twice.",
                    fix="Take the link away, or name the files by a pattern that leaves it out.",
                )
            )
    return tuple(names.values())
