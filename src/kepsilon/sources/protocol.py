# SPDX-License-Identifier: Apache-2.0
"""The operations of a kind of table: opening a table, reading its columns, and writing a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kepsilon.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa


class Source(Protocol):
    """A table whose column names are known and whose records have not been read yet."""

    @property
    def name(self) -> str:
        """The name for messages: that of the file, without its folder."""

    @property
    def column_names(self) -> tuple[str, ...]: ...

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that are read, and the folder or pattern that they come from; outputs may not be written there."""

    @property
    def by_column(self) -> bool:
        """Whether reading one column costs less than reading all of them."""

    @property
    def tells_null_from_empty(self) -> bool:
        """Whether a null that was written is read as null, and not as empty text."""

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What the user should know of how the table was read."""

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        """The named columns of all records; those of text in `coded` may be dictionaries, marked as coded text."""

    def beside(self) -> tuple[str, ...]:
        """Names of what the table holds beside its columns, such as metadata or the index of a pandas frame."""

    def like(self, table: pa.Table) -> Any:
        """A released table as the kind of object that was opened; unchanged where a file was opened."""


class SourceInParts(Source, Protocol):
    """A table that can be read a part at a time, any number of times, so that it may be larger than memory."""

    @property
    def path(self) -> Path:
        """A file, a folder or a pattern."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that the path stands for."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def n_records(self) -> int: ...

    def coded(self, columns: Sequence[str], k_quasis: Sequence[str]) -> list[str]:
        """The columns of text that are read faster as dictionaries: k-quasis, and those whose values repeat often."""

    def width(self, column: str) -> int:
        """Mean bytes of a value in the files, uncompressed."""

    def parts(self, columns: Sequence[str], *, coded: Sequence[str], n_records: int) -> Iterator[pa.Table]:
        """The named columns of all records, `n_records` records at a time; refused where the files were changed."""

    def sample(self, columns: Sequence[str], *, coded: Sequence[str], most: int, seen: int) -> Iterator[pa.Table]:
        """Up to about `most` records, drawn at random from about `seen` records that are read for that."""


Write = Callable[[Any], None]
"""Appends records, as an Arrow table, to an open file; all tables of a file have one schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where a table is written to, and what is known of it before its first record."""

    target: Path
    """The file to write to."""
    final_name: Path
    """What the file will be called in the end, for its suffix and for messages."""
    like: Source | None = None
    """The source of the release, for kinds that copy something from it, such as the delimiter of a CSV file."""
    in_parts: bool = False
    """Whether records come in several tables, so that the first does not hold every entry of a dictionary."""


Writing = Callable[[Sink], AbstractContextManager[Write]]
"""Opens a file for writing; leaving the block finishes it."""


class Kind(Protocol):
    """One kind of table."""

    @property
    def name(self) -> str:
        """The name for messages."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its files, in lower case and with the dot; none if its tables are not files."""

    @property
    def other_suffixes(self) -> tuple[str, ...]:
        """Suffixes that are understood as well, but that no message recommends."""

    def takes(self, source: object) -> bool:
        """Whether an object or a folder, which no suffix tells, is a table of this kind."""

    def open(self, source: Any) -> Source:
        """Opens an existing path, or an object that it takes; DataError where that is not a table of this kind."""

    @property
    def open_in_parts(self) -> Callable[[Path], SourceInParts] | None:
        """Opens a path that will be read in parts; None for a kind that is read whole."""

    @property
    def writing(self) -> Writing | None:
        """Writes a file; None for a kind that is only read."""
