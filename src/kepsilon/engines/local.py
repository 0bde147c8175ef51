# SPDX-License-Identifier: Apache-2.0
"""Arrow and NumPy on this machine, in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.coding import as_doubles, encode, is_finite_number, missingness, only_occurring, rank_by_hash
from kepsilon.engines.columns import formula_cells
from kepsilon.engines.merging import merged_table
from kepsilon.engines.moving import stored, taken
from kepsilon.engines.numpy_arrays import from_numpy
from kepsilon.engines.protocol import Batch, Distinct, Draw, Found, LeftOut, Look, Random, Repetition, Shuffle
from kepsilon.errors import DataError, Problem
from kepsilon.policy.roles import Attribute, ColumnRoles, EpsilonQuasi, KQuasi
from kepsilon.sources import kinds
from kepsilon.sources.columns import CODED_TEXT, decoded, movable
from kepsilon.sources.parquet_files import write_folder
from kepsilon.sources.protocol import Sink
from kepsilon.sources.protocol import Source as OpenedSource
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.coded_values import CodedValues, code_values
from kepsilon.table.codes import Domain, Label
from kepsilon.table.domains import place_values
from kepsilon.table.frequency import FrequencyTable, count_combinations

name = "local"

_RECORDS_PER_FILE = 1 << 22


def open_source(source: object) -> LocalSource:
    """A path or a frame, known by its columns and not read yet."""
    return LocalSource(kinds.open_source(source))


class LocalSource:
    def __init__(self, source: OpenedSource) -> None:
        self._source = source
        self.name = source.name
        self.column_names = source.column_names

    def read(self, roles: ColumnRoles) -> LocalColumns:
        """The columns to publish; identifiers are not even taken from the file."""
        table = self._source.arrow_table(roles.published, coded=roles.k_quasis)
        if table.num_rows == 0:
            raise DataError(Problem(where=self.name, what="has a header, but no records."))
        return LocalColumns(movable(table), roles, self._source)

    def repetition(self, column: str) -> Repetition:
        values = stored(movable(self._source.arrow_table([column])).column(0))
        n_records = len(values) - values.null_count
        if pa.types.is_nested(values.type) or pa.types.is_null(values.type):
            return Repetition(n_distinct=n_records, n_records=n_records)
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return Repetition(n_distinct=pc.count_distinct(values, mode="only_valid").as_py(), n_records=n_records)

    def offending(self, column: str, attribute: Attribute) -> list[tuple[str, int]]:
        values, codes = encode(movable(self._source.arrow_table([column])).column(0), column, self.name)
        counts = np.bincount(codes, minlength=len(values))
        if isinstance(attribute, KQuasi):
            wrong = ~place_values(column, attribute, values).is_covered
        elif isinstance(attribute, EpsilonQuasi):
            wrong = np.array([value is not None and not is_finite_number(value) for value in values], dtype=np.bool_)
        else:
            wrong = np.zeros(len(values), dtype=np.bool_)
        found = [(str(values[i]), int(counts[i])) for i in np.flatnonzero(wrong)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))


class LocalColumns:
    """The columns that will be published; after `leave_out` only of the records that stay."""

    def __init__(self, table: pa.Table, roles: ColumnRoles, source: OpenedSource) -> None:
        self._table = table
        self._roles = roles
        self._source = source
        self.n_records: int = table.num_rows
        self._distinct: dict[str, tuple[tuple[Label, ...], IntArray]] = {}
        self._numbers: dict[str, FloatArray] = {}
        self._integers: set[str] = set()
        self._stays: IntArray | None = None
        self._coded: tuple[CodedValues, ...] | None = None
        self._combination: IntArray = np.zeros(0, dtype=np.int32)

    def distinct(self, name: str) -> Distinct:
        if name not in self._distinct:
            self._distinct[name] = encode(self._table.column(name), name, self._source.name)
            self._table = self._table.drop_columns([name])  # codes are all that is needed from here on
        values, codes = self._distinct[name]
        return Distinct(values=values, counts=np.bincount(codes, minlength=len(values)))

    def numbers(self, name: str) -> FloatArray:
        if name not in self._numbers:
            column = self._table.column(name)
            self._numbers[name] = as_doubles(column, name, self._source.name)
            if pa.types.is_integer(column.type):
                self._integers.add(name)
            self._table = self._table.drop_columns([name])
        return self._numbers[name]

    def largest(self, name: str) -> float:
        return float(np.fmax.reduce(np.abs(self.numbers(name)), initial=0.0))

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        unlisted = np.zeros(self.n_records, dtype=np.bool_)
        for name, listed in is_listed.items():
            if not listed.all():
                unlisted |= ~listed[self._distinct[name][1]]
        missing = np.zeros(self.n_records, dtype=np.bool_)
        for name in drop_missing:
            missing |= np.isnan(self.numbers(name))
        # Each record is reported once; unlisted comes first because it is the curator's list that decides.
        missing &= ~unlisted
        if unlisted.any() or missing.any():
            self._stays = np.flatnonzero(~(unlisted | missing))
            self._numbers = {name: values[self._stays] for name, values in self._numbers.items()}
            self._distinct = {
                name: only_occurring(values, codes[self._stays]) for name, (values, codes) in self._distinct.items()
            }
        return LeftOut(missing=int(missing.sum()), unlisted=int(unlisted.sum()))

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        n_staying = self.n_records if self._stays is None else len(self._stays)
        columns: list[IntArray] = []
        all_domains: list[Domain] = []
        for name, (domain, code_of_value) in domains.items():
            narrow = code_of_value.astype(np.int16 if domain.n_values < 1 << 15 else np.int32)
            columns.append(np.take(narrow, self._distinct.pop(name)[1]))
            all_domains.append(domain)
        for name in missing_in_class:
            domain, is_missing = missingness(name, np.isnan(self.numbers(name)))
            columns.append(is_missing)
            all_domains.append(domain)
        table, self._combination = count_combinations(columns, all_domains, n_records=n_staying, rank=rank_by_hash)
        return table

    def _by_class(self, recoding: Recoding) -> IntArray:
        """Class id of every record that stayed, or SUPPRESSED, shape (n_staying,)."""
        return recoding.class_of.astype(np.int32, copy=False)[self._combination]

    def formula_cells(self, name: str) -> int:
        return formula_cells(self._table.column(name))

    def preview(self, recoding: Recoding) -> LocalClasses:
        return self.classes(recoding)

    def classes(self, recoding: Recoding) -> LocalClasses:
        return LocalClasses(self, self._by_class(recoding), sizes=recoding.sizes)

    def close(self) -> None:
        """Nothing is on disk."""

    def coded(self, records: IntArray) -> tuple[CodedValues, ...]:
        """The ε-quasis of some of the records that stayed, coded once for whatever is asked."""
        if self._coded is None:
            self._coded = tuple(
                code_values(self.numbers(name), precision=self._roles.precisions[name])
                for name in self._roles.epsilon_quasis
            )
        return tuple(own if len(records) == len(own.codes) else own.of(records) for own in self._coded)

    def forget_codes(self) -> None:
        """Makes room; whoever asks for codes afterwards has them made anew."""
        self._coded = None

    def epsilon_quasis(self, records: IntArray) -> FloatArray:
        """The ε-quasis of some of the records that stayed, shape (n_records, n_epsilon_quasis)."""
        names = self._roles.epsilon_quasis
        values = np.empty((len(records), len(names)))
        for j, name in enumerate(names):
            own = self.numbers(name)
            values[:, j] = own if len(own) == len(records) else own[records]
        return values

    def merge(
        self,
        recoding: Recoding,
        released: IntArray,
        class_ids: IntArray,
        published: FloatArray,
        *,
        whole: Collection[str],
        order: IntArray,
    ) -> LocalMerged:
        """Labels, noisy values and untouched columns of the released records in one shuffled table.

        Algorithm 1, lines 8 to 10. Every column is taken anew, so that no value of a record that was left out is
        kept alive by a shared buffer, a dictionary or metadata. `released` says which of the records that stayed they
        are, and the other arrays go with it.
        """
        self._numbers.clear()
        self._coded = None
        class_ids = class_ids[order]
        released = released[order]
        rows = released if self._stays is None else self._stays[released]

        def kept(name: str) -> tuple[pa.Field, pa.Array | pa.ChunkedArray]:
            before = self._table.schema.field(name)
            column = taken(self._table.column(name), rows)
            is_text_outside = before.metadata == CODED_TEXT or not pa.types.is_dictionary(before.type)
            is_coded = is_text_outside and pa.types.is_dictionary(column.type)
            self._table = self._table.drop_columns([name])
            return pa.field(name, column.type, metadata=CODED_TEXT if is_coded else None), column

        table = merged_table(
            self._roles,
            recoding,
            class_ids,
            published[order],
            kept,
            integers=self._integers.intersection(whole),
        )
        return LocalMerged(table, rows, class_ids, self._source)


class LocalClasses:
    """All classes in one batch, its records in the order of the input."""

    def __init__(self, columns: LocalColumns, class_ids: IntArray, *, sizes: IntArray) -> None:
        self.sizes = sizes
        self._columns = columns
        self._released = np.flatnonzero(class_ids != SUPPRESSED)
        self._class_ids = class_ids if len(self._released) == len(class_ids) else class_ids[self._released]
        self._batch: Batch | None = None
        self._published: FloatArray = np.zeros((0, 0))
        self._stays: BoolArray | None = None

    def each(self, look: Look[Found]) -> list[Found]:
        return [look(self._whole())]

    def draw(self, draw: Draw[Found], *, random: Random) -> list[Found]:
        self._batch = dataclasses.replace(self._whole(), coded=None)  # drawing needs the room, not the codes
        self._columns.forget_codes()
        return [draw(self._batch, random, self._keep)]

    def _whole(self) -> Batch:
        if self._batch is None:
            self._batch = Batch(
                classes=slice(0, len(self.sizes)),
                class_ids=self._class_ids,
                values=self._columns.epsilon_quasis(self._released),
                coded=self._columns.coded(self._released),
            )
        return self._batch

    def _keep(self, part: Batch, published: FloatArray, stays: BoolArray) -> None:
        del part
        self._published = published
        self._stays = None if stays.all() else stays

    def each_kept(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> list[Found]:
        del new_ids  # classes that lost all their records have none that stayed
        return [look(self._published if self._stays is None else self._published[self._stays])]

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle, random: Random
    ) -> LocalMerged:
        self._batch = None
        chosen = slice(None) if self._stays is None else self._stays
        released = self._released[chosen]
        return self._columns.merge(
            recoding,
            released,
            new_ids[self._class_ids[chosen]],
            self._published[chosen],
            whole=whole,
            order=shuffle(len(released), random_bytes=random.bytes),
        )

    def close(self) -> None:
        """Nothing is on disk."""


class LocalMerged:
    """The released records, shuffled, not yet written."""

    def __init__(
        self,
        table: pa.Table,
        original_rows: IntArray,
        class_ids: IntArray,
        source: OpenedSource,
    ) -> None:
        self._table = table
        self._source = source
        self.inputs: tuple[Path, ...] = source.inputs
        self.n_records: int = table.num_rows
        self.original_rows = original_rows
        self.class_ids = class_ids

    def frame(self) -> Any:
        """The release as the kind of object that was read; Arrow where a file was read."""
        return self._source.like(decoded(self._table))

    def write(self, target: Path, *, final_name: Path) -> None:
        if target.is_dir():
            parts = range(0, self.n_records, _RECORDS_PER_FILE)
            write_folder((self._table.slice(first, _RECORDS_PER_FILE) for first in parts), target)
            return
        with kinds.writing(Sink(target=target, final_name=final_name, like=self._source)) as write:
            write(self._table)

    def linkage(self) -> pa.Table:
        """Which original record each released record was: for the curator only."""
        return linkage_table(self.original_rows, self.class_ids, first=0)

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        with kinds.writing(Sink(target=target, final_name=final_name)) as write:
            write(self.linkage())

    def close(self) -> None:
        """Nothing is on disk."""


def linkage_table(original_rows: IntArray, class_ids: IntArray, *, first: int) -> pa.Table:
    """One line for each released record, from the first-th on."""
    columns = {
        "original_row": original_rows.astype(np.int64),
        "released_row": np.arange(first, first + len(original_rows), dtype=np.int64),
        "class_id": class_ids.astype(np.int64),
    }
    return pa.table({name: from_numpy(values) for name, values in columns.items()})
