# SPDX-License-Identifier: Apache-2.0
"""Parquet in one file or many, by path, folder or glob: which files, the same columns in all, and reading them in parts."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from kepsilon.engines.files import CODED_TEXT, PARQUET, column_bytes, repeating
from kepsilon.engines.moving import movable
from kepsilon.errors import AnonymisationError, DataError, EngineError, Problem

_MOST_PLACES = 64
_SAMPLED_AT_ONCE = 1 << 15
_SAMPLING_SEED = 20160712
"""The same table gives the same estimate; nothing that is released depends on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a file looked like when it was first opened."""

    n_records: int
    size: int
    changed: int
    """When it was last written to, in nanoseconds."""
    schema: pa.Schema
    groups: tuple[int, ...]
    """Records of each row group."""
    column_bytes: Mapping[str, int]
    """Of each column, by its path in the schema and uncompressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A row group that some records are sampled from."""

    file: Path
    group: int
    n_records: int


def is_many(path: Path) -> bool:
    """Whether a path stands for several files: a folder, or a pattern where there is no such file."""
    return path.is_dir() or (not path.exists() and glob.has_magic(str(path)))


def files_of(path: Path) -> tuple[Path, ...]:
    """The Parquet files that a path, folder or pattern stands for, each once, in the order of their names."""
    if is_many(path):
        named = path.rglob("*") if path.is_dir() else map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207
        found = _data_files(path, [file for file in named if file.suffix.lower() in PARQUET and file.is_file()])
    else:
        found = [path]
        if not path.exists():
            raise DataError(Problem(where=str(path), what="there is no such file."))
    if not found:
        raise DataError(
            Problem(
                where=str(path), what="holds no Parquet file.", fix="Files are known by their suffix, .parquet or .pq."
            )
        )
    return _each_once(found)


def _data_files(path: Path, found: Sequence[Path]) -> list[Path]:
    """Without marks and left-overs of whoever wrote the folder, which begin with a dot or an underscore."""
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
    """The folder that everything a pattern matches is in."""
    return next(folder for folder in pattern.parents if not glob.has_magic(str(folder)))


def would_match(pattern: Path, output: Path) -> bool:
    """Whether the next run by the same pattern would read an output, or what is in it if it is a folder."""
    root = fixed_part(pattern)
    asked = [*root.resolve().parts, *pattern.relative_to(root).parts]
    there = list((output.parent.resolve() / output.name).parts)
    return _matches(there, asked) or (not output.suffix and _matches([*there, None], asked))


def _matches(names: Sequence[str | None], asked: Sequence[str]) -> bool:
    """Part by part; None is any name."""
    if not asked:
        return not names
    if asked[0] == "**":
        return any(_matches(names[i:], asked[1:]) for i in range(len(names) + 1))
    if not names or not (names[0] is None or fnmatch.fnmatchcase(names[0], asked[0])):
        return False
    return _matches(names[1:], asked[1:])


def _each_once(found: Sequence[Path]) -> tuple[Path, ...]:
    """A pattern may list a name twice. A file of two names would count everybody in it twice, and k with them."""
    names: dict[tuple[int, int], Path] = {}
    for file in sorted(set(found)):
        try:
            status = file.stat()
        except OSError as error:
            raise _unreadable(file, error) from None
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


class ParquetFiles:
    """Files with the same columns, read as one table, in parts and more than once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.paths = files_of(path)
        self.inputs: tuple[Path, ...] = (path.absolute(), *(file.absolute() for file in self.paths))
        self._stamps = {file: _stamp(file) for file in self.paths}
        self.schema: pa.Schema = self._stamps[self.paths[0]].schema
        for file, stamp in self._stamps.items():
            _refuse_other_columns(file, stamp.schema, self.schema, first=self.paths[0])
        self.column_names: tuple[str, ...] = tuple(self.schema.names)
        self.n_records = sum(stamp.n_records for stamp in self._stamps.values())

    def coded(self, columns: Sequence[str], k_quasis: Sequence[str]) -> list[str]:
        """The columns of text that are worth reading as dictionaries: k-quasis, and whatever repeats often."""
        filled = [repeating(own.column_bytes, own.n_records) for own in self._stamps.values() if own.n_records]
        few = {*k_quasis, *(set.intersection(*filled) if filled else ())}
        return [name for name in columns if name in few and pa.types.is_string(self.schema.field(name).type)]

    def width(self, column: str) -> int:
        """Bytes that a value takes in the files, uncompressed and on average."""
        total = 0
        for stamp in self._stamps.values():
            for path, n_bytes in stamp.column_bytes.items():
                total += n_bytes * (path == column or path.startswith(f"{column}."))
        return -(-total // max(1, self.n_records))

    def parts(self, columns: Sequence[str], *, coded: Sequence[str], n_records: int) -> Iterator[pa.Table]:
        """The named columns of all files, so many records at a time; refused where a file is no longer what it was."""
        for file in self.paths:
            self._refuse_changed(file)
            n_seen = 0
            with _opened(file, coded) as opened:
                for batch in opened.iter_batches(batch_size=n_records, columns=list(columns)):
                    n_seen += batch.num_rows
                    yield _marked(pa.Table.from_batches([batch]).select(list(columns)), coded)
            if n_seen != self._stamps[file].n_records:
                raise changed(file)

    def places(self) -> list[Place]:
        """Row groups spread evenly over all records; all of them, if they are few."""
        found = [
            Place(file=file, group=i, n_records=n)
            for file, stamp in self._stamps.items()
            for i, n in enumerate(stamp.groups)
            if n
        ]
        if len(found) <= _MOST_PLACES:
            return found
        ends = np.cumsum([place.n_records for place in found])
        wanted = (np.arange(_MOST_PLACES) + 0.5) * (self.n_records / _MOST_PLACES)
        return [found[i] for i in np.unique(np.searchsorted(ends, wanted, side="right")).tolist()]

    def sample(self, columns: Sequence[str], *, coded: Sequence[str], most: int, seen: int) -> Iterator[pa.Table]:
        """Up to about `most` records, drawn at random from the first in each place.

        About `seen` records are read for that and no more, for row groups can be very long.
        """
        places = self.places()
        window = self.n_records if self.n_records <= seen else -(-seen // max(1, len(places)))
        n_there = [min(window, place.n_records) for place in places]
        share = min(1.0, most / max(1, sum(n_there)))
        rng = np.random.default_rng(_SAMPLING_SEED)
        for place, n in zip(places, n_there, strict=True):
            n_seen = 0
            with _opened(place.file, coded) as opened:
                n_at_once = min(n, _SAMPLED_AT_ONCE)
                for batch in opened.iter_batches(n_at_once, row_groups=[place.group], columns=list(columns)):
                    here = min(batch.num_rows, n - n_seen)
                    chosen = np.flatnonzero(rng.random(here) < share)
                    table = pa.Table.from_batches([batch.slice(0, here)]).select(list(columns))
                    yield _marked(table if share == 1 else table.take(pa.array(chosen)), coded)
                    n_seen += here
                    if n_seen >= n:
                        break

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        """All records at once."""
        texts = self.coded(columns, coded)
        parts = list(self.parts(columns, coded=texts, n_records=1 << 20))
        empty = pa.schema([self.schema.field(name) for name in columns]).empty_table()
        table = pa.concat_tables(parts) if parts else empty
        if columns and table.num_rows != self.n_records:
            raise changed(self.path)
        return table

    @property
    def n_records_by_file(self) -> dict[Path, int]:
        """In the order that records are read."""
        return {file: stamp.n_records for file, stamp in self._stamps.items()}

    def refuse_changed(self) -> None:
        """Refused if a file is no longer what it was when it was first opened."""
        for file in self.paths:
            self._refuse_changed(file)

    def _refuse_changed(self, file: Path) -> None:
        try:
            now = _stamp(file)
        except AnonymisationError:
            raise changed(file) from None
        then = self._stamps[file]
        if (now.size, now.changed, now.n_records) != (then.size, then.changed, then.n_records) or not now.schema.equals(
            then.schema
        ):
            raise changed(file)


@contextlib.contextmanager
def _opened(file: Path, coded: Sequence[str]) -> Iterator[parquet.ParquetFile]:
    """For reading; what is wrong with the file is worded for the user."""
    damaged = DataError(Problem(where=str(file), what="is damaged: some of its columns cannot be read."))
    try:
        with parquet.ParquetFile(file, read_dictionary=list(coded), buffer_size=1 << 20) as opened:
            yield opened
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, KeyError):
        raise damaged from None
    except OSError as error:
        if error.errno is None:
            raise damaged from None
        raise _unreadable(file, error) from None


def changed(file: Path) -> EngineError:
    return EngineError(
        Problem(
            where=str(file),
            what="was changed while it was being read; nothing was released.",
            fix="Start again once nobody writes to it any more.",
        )
    )


def _unreadable(file: Path, error: OSError) -> EngineError:
    return EngineError(Problem(where=str(file), what=f"cannot be read: {error.strerror or 'input/output error'}."))


def _marked(table: pa.Table, coded: Sequence[str]) -> pa.Table:
    for name in coded:
        if name in table.column_names:
            i = table.schema.get_field_index(name)
            table = table.set_column(i, table.schema.field(i).with_metadata(CODED_TEXT), table.column(i))
    return movable(table)


def _stamp(file: Path) -> Stamp:
    try:
        status = file.stat()
        metadata = parquet.read_metadata(file)
        schema = metadata.schema.to_arrow_schema().remove_metadata()
    except pa.ArrowInvalid:
        raise DataError(Problem(where=str(file), what="is not a Parquet file.")) from None
    except OSError as error:
        raise _unreadable(file, error) from None
    return Stamp(
        n_records=metadata.num_rows,
        size=status.st_size,
        changed=status.st_mtime_ns,
        schema=schema,
        groups=tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)),
        column_bytes=column_bytes(metadata),
    )


def _refuse_other_columns(file: Path, schema: pa.Schema, expected: pa.Schema, *, first: Path) -> None:
    def kinds(own: pa.Schema) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in own}

    mine, theirs = kinds(schema), kinds(expected)
    differing = [name for name in {**theirs, **mine} if mine.get(name) != theirs.get(name)]
    if differing:
        listed = ", ".join(f'"{name}"' for name in differing)
        raise DataError(
            Problem(
                where=str(file),
                what=f"columns {listed} are missing, new, or of another type than in {first.name}.",
                fix="All files of a table need the same columns.",
            )
        )
