# SPDX-License-Identifier: Apache-2.0
"""A hierarchy listed in a CSV file as ARX writes it: no header, the value first, then one column per level."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

from pydantic import PrivateAttr, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from kepsilon.encodings import UTF_8_MARK, Encoding, encoding_of, not_utf_8
from kepsilon.errors import DataError, Problem
from kepsilon.policy.hierarchies.levels import (
    Labels,
    Levels,
    Specification,
    first_cycle,
    levels_allowing,
    look_up,
    refuse_mistakes,
)
from kepsilon.special_files import special_kind


class FileHierarchy(Specification):
    """A hierarchy in a file, which is read with the policy, so that its mistakes are reported with the others."""

    type: Literal["file"]
    path: str
    """Relative to the policy file."""
    _labels_of: dict[str, tuple[str, ...]] = PrivateAttr(default_factory=dict)
    _n_levels: int = PrivateAttr(default=0)
    _file: Path = PrivateAttr(default=Path())
    _encoding: Encoding = PrivateAttr(default="utf-8")

    @property
    def file(self) -> Path:
        """Where the file was found."""
        return self._file

    @property
    def listed(self) -> Mapping[str, tuple[str, ...]]:
        """By listed value, its labels from level 1."""
        return MappingProxyType(self._labels_of)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What the curator should know of how the file was read."""
        return () if self._encoding == "utf-8" else (not_utf_8(self.path),)

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        if self._file != Path():
            return self  # read before, as part of another policy
        path = Path((info.context or {}).get("folder", ".")) / self.path
        kind = special_kind(path)
        if kind is not None:
            raise _problem(f"{self.path} is {kind}, not a hierarchy file")
        try:
            self._encoding = encoding_of(path)
            rows = read_rows(path, self._encoding)
        except DataError as error:
            raise _problem(f"{self.path}: {error.problems[0].what} {error.problems[0].fix}") from None
        except ValueError:
            raise _problem("the path holds a character that no file name can have") from None
        except OSError as error:
            raise _problem(f"cannot read {self.path}: {error.strerror or 'unknown reason'}") from None
        except csv.Error as error:
            raise _problem(f"{self.path} is not a CSV file: {error}") from None
        refuse_mistakes("file", _mistakes(rows, self.path))
        self._labels_of.update({row[0]: tuple(row[1:]) for row in _together(rows)})
        self._n_levels = len(rows[0]) - 1
        self._file = path
        return self

    @property
    def height(self) -> int:
        """The highest level that the file lists."""
        return self._n_levels

    def level_in_words(self, level: int) -> str:  # noqa: ARG002 (its levels have no names)
        return ""

    def place(self, values: Sequence[str]) -> Levels:
        """Labels as the file lists them; `top` is set only where the last level has a single label."""
        listed = look_up(values, self._labels_of, n_levels=self._n_levels)
        tops = {labels[-1] for labels in self._labels_of.values()} if self._n_levels else set()
        top = tops.pop() if len(tops) == 1 else None
        if "" not in self._labels_of:
            return replace(listed, top=top)
        row = float(list(self._labels_of).index(""))
        return replace(listed, null_labels=self._labels_of[""], null_position=row, top=top)

    def levels_of(self, labels: Labels) -> tuple[int, ...]:
        """Levels at which these can be the labels of a column.

        Null has the labels of the empty value, if the file lists one. If not, it is null at every level but a top level
        that has one label for all.
        """
        by_level: list[set[str | None]] = [{value or None for value in self._labels_of} | {None}]
        for level in range(self._n_levels):
            by_level.append({own[level] or None for own in self._labels_of.values()})
            is_top = level == self._n_levels - 1 and len(by_level[-1]) == 1
            if "" not in self._labels_of and not is_top:
                by_level[-1].add(None)
        return levels_allowing(labels, len(by_level), lambda label, level: label in by_level[level])


def read_rows(path: Path, encoding: Encoding) -> list[list[str]]:
    """Rows of an ARX hierarchy file, blank lines left out; fields are separated by `;` if the first line has one, else `,`."""
    text = path.read_bytes().removeprefix(UTF_8_MARK).decode(encoding)
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]


def _together(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The rows, those of one label one after the other, at every level; labels in the order in which the file has them.

    So the order of labels comes from the file alone. If it came from the values that occur, the order inside a published
    set of labels would tell which do.
    """
    firsts: list[dict[str, int]] = [{} for _ in rows[0]]
    for number, row in enumerate(rows):
        for first, label in zip(firsts, row, strict=True):
            first.setdefault(label, number)
    return sorted(rows, key=lambda row: [first[label] for first, label in zip(firsts[::-1], row[::-1], strict=True)])


def _mistakes(rows: Sequence[Sequence[str]], name: str) -> Iterator[str]:
    """Everything that is wrong with a hierarchy file; levels are looked at only if all rows have equally many cells."""
    if not rows:
        yield f"{name} is empty"
        return
    row_of: dict[str, int] = {}
    is_even = True
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            yield f"row {number} of {name} has {len(row)} cells where row 1 has {len(rows[0])}; levels must be equal in number"
            is_even = False
        elif row[0] in row_of:
            yield f'rows {row_of[row[0]]} and {number} of {name} both list "{row[0]}"; keep one of them'
        row_of.setdefault(row[0], number)
    if not is_even:
        return
    has_two_parents = False
    for level in range(1, len(rows[0])):
        parent_row: dict[str, int] = {}
        for number, row in enumerate(rows, start=1):
            other = parent_row.setdefault(row[level - 1], number)
            parent = rows[other - 1][level]
            if parent != row[level] and row[0] != rows[other - 1][0]:
                has_two_parents = True
                yield (
                    f'level {level} gives "{row[level - 1]}" two parents, "{parent}" and "{row[level]}"; a value has one '
                    f"parent per level, so that a coarser level only merges. Fix: rows {other} and {number} of {name}"
                )
    cyclic = first_cycle((row[level - 1], row[level]) for row in rows for level in range(1, len(row)))
    if cyclic is not None and not has_two_parents:
        yield f'in {name} "{cyclic}" is its own ancestor: the hierarchy is cyclic'


def _problem(text: str) -> PydanticCustomError:
    return PydanticCustomError("hierarchy_file", "{problem}", {"problem": text})
