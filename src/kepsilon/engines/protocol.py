# SPDX-License-Identifier: Apache-2.0
"""The few operations an engine offers; the pipeline is handed an engine and never looks at its type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import Recoding
from kepsilon.table.codes import Domain, Label
from kepsilon.table.frequency import FrequencyTable

Shuffle = Callable[[int], IntArray]
"""A permutation of so many positions that nobody can guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Records that leave before anything is counted."""

    missing: int
    unlisted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct:
    """The distinct values of one k-quasi as text, null as None, and how many records hold each."""

    values: tuple[Label, ...]
    counts: IntArray


class Merged(Protocol):
    """The released records, shuffled, not yet written."""

    n_records: int
    source_path: Path | None
    """The file that was read, which is never written to."""

    def frame(self) -> Any:
        """The release as the kind of object that was read."""

    def write(self, target: Path, *, final_name: Path) -> None:
        """Writes to `target` what the suffix of `final_name` asks for."""

    def linkage(self) -> Any:
        """Which original record each released record was: for the curator only."""


class Columns(Protocol):
    """A table that has been read: only the columns that will be published."""

    n_records: int

    def distinct(self, name: str) -> Distinct: ...

    def numbers(self, name: str) -> FloatArray:
        """An ε-quasi as finite doubles, NaN where it is missing."""

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        """Leaves out records with an unlisted k-quasi value or a missing ε-quasi, before anything is counted.

        `is_listed` says for every distinct value of a k-quasi whether it may stay. Afterwards `distinct` and `numbers`
        speak only of the records that stay, so that nothing published depends on the others.
        """

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        """The frequency table. A domain comes with the code of every distinct value."""

    def by_class(self, recoding: Recoding) -> IntArray:
        """Class id of every record that stayed, or SUPPRESSED."""

    def formula_cells(self, name: str) -> int:
        """How many cells of a kept column a spreadsheet would take for formulas."""

    def merge(
        self,
        recoding: Recoding,
        class_ids: IntArray,
        published: Mapping[str, FloatArray],
        *,
        whole: Collection[str],
        shuffle: Shuffle,
    ) -> Merged:
        """Labels, noisy values and untouched columns of the released records in one shuffled table."""


class Source(Protocol):
    """A file or frame that is known by its columns, and not read yet."""

    name: str
    column_names: tuple[str, ...]

    def read(self, roles: ColumnRoles) -> Columns: ...

    def n_distinct(self, column: str) -> tuple[int, int]:
        """Distinct non-null values of one column, and how many records hold one."""

    def offending(self, column: str, attribute: Attribute) -> list[tuple[str, int]]:
        """Values the attribute's role cannot place, with how many records hold each; the curator has asked."""


class Engine(Protocol):
    name: str

    def open_source(self, source: object) -> Source: ...
