# SPDX-License-Identifier: Apache-2.0
"""What a kind of table offers: opening one, reading its columns, and writing a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Source(Protocol):
    """A table that is known by its columns, and not read yet."""

    @property
    def name(self) -> str:
        """For messages: the name of the file, without its folder."""

    @property
    def column_names(self) -> tuple[str, ...]: ...

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that are read, and the folder or pattern that they come from; nothing is ever written there."""

    @property
    def by_column(self) -> bool:
        """Whether reading one column costs less than reading all of them."""

    @property
    def tells_null_from_empty(self) -> bool:
        """Whether a null that was written comes back as null, and not as an empty text."""

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        """All records of the named columns; text in `coded` may come as dictionaries, marked as coded text."""

    def beside(self) -> tuple[str, ...]:
        """Names of what the table holds beside its columns, such as metadata or the index of a pandas frame."""

    def like(self, table: pa.Table) -> Any:
        """A released table as the kind of object that was opened; as it is where that was a file."""


class SourceInParts(Source, Protocol):
    """A table that can be read a part at a time and more than once, so that it can be larger than memory."""

    @property
    def path(self) -> Path:
        """A file, a folder or a pattern."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that it stands for."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def n_records(self) -> int: ...

    def coded(self, columns: Sequence[str], k_quasis: Sequence[str]) -> list[str]:
        """The columns of text that are worth reading as dictionaries: k-quasis, and whatever repeats often."""

    def width(self, column: str) -> int:
        """Bytes that a value takes in the files, uncompressed and on average."""

    def parts(self, columns: Sequence[str], *, coded: Sequence[str], n_records: int) -> Iterator[pa.Table]:
        """The named columns of all records, so many at a time; refused where the files are no longer what they were."""

    def sample(self, columns: Sequence[str], *, coded: Sequence[str], most: int, seen: int) -> Iterator[pa.Table]:
        """Up to about `most` records, drawn at random from about `seen` that are read for it."""


Write = Callable[[Any], None]
"""Writes some more records, as an Arrow table; all tables of a file have one schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where a table goes, and what is known of it before its first record."""

    target: Path
    """The file to write to."""
    final_name: Path
    """What the file will be called in the end, for its suffix and for messages."""
    like: Source | None = None
    """What was read, for a kind that carries something over, such as the delimiter of a CSV file."""
    in_parts: bool = False
    """Whether more than one table will be written, so that no table tells what all records hold."""


Writing = Callable[[Sink], AbstractContextManager[Write]]
"""Opens a file for writing; leaving the block finishes it."""


class Kind(Protocol):
    """One kind of table."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Of its files, in lower case and with the dot; none if its tables are not files."""

    @property
    def other_suffixes(self) -> tuple[str, ...]:
        """Suffixes that are understood as well, but that no message recommends."""

    def takes(self, source: object) -> bool:
        """Whether something is a table of this kind that no suffix tells: an object, or a folder."""

    def open(self, source: Any) -> Source:
        """Opens a path (a Path, and the file is there) or what it takes; DataError where that is not such a table."""

    @property
    def open_in_parts(self) -> Callable[[Path], SourceInParts] | None:
        """Opens a path to be read in parts; None for a kind that is read whole."""

    @property
    def writing(self) -> Writing | None:
        """Writes a file; None for a kind that is only read."""
