# SPDX-License-Identifier: Apache-2.0
"""The columns to publish, counted in one reading, and stored on disk by class or by combination in a second.

In the second reading each record is looked up by its combination. The *answer* for a combination is its class, where
records are stored to be released, or its place in the frequency table, where they are stored for previews.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import WrongNumbers, read_doubles
from kepsilon.engines.arrow.formulas import n_formulas
from kepsilon.engines.arrow.persons import Persons, code_persons, hash_persons
from kepsilon.engines.arrow.whole_columns import taken_rows
from kepsilon.engines.counts.combinations import CountedColumns, CountedCombinations
from kepsilon.engines.counts.growing import CombinationIndex, GrowingCodes, GrowingCounts
from kepsilon.engines.counts.sensitive import GrowingSensitive, SensitiveCodes
from kepsilon.engines.on_disk.batches import StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket, Records, scatter
from kepsilon.engines.on_disk.combinations import StoredCombinations, combinations_of_buckets
from kepsilon.engines.on_disk.details import Details
from kepsilon.engines.on_disk.needs import Foreseen
from kepsilon.engines.on_disk.whole_records import whole_records
from kepsilon.engines.protocol import LeftOut
from kepsilon.engines.room import LEAST_WIDTH
from kepsilon.engines.spilling.classes import SpilledClasses, SpilledPreview, several_at_a_time
from kepsilon.engines.spilling.persons import Marks, PersonParts
from kepsilon.errors import DataError
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import without_dictionaries
from kepsilon.sources.dictionaries import with_one_dictionary
from kepsilon.sources.files import changed
from kepsilon.sources.kept_types import type_changes
from kepsilon.sources.protocol import SourceInParts
from kepsilon.stopwatch import tell
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.persons import PersonCounts, regrouped
from kepsilon.table.record_hashes import are_taken
from kepsilon.table.sensitive import SensitiveCounts
from kepsilon.table.type_changes import TypeChange
from kepsilon.table.whole_records import WholeRecords


class Disk(Protocol):
    """What columns need to know of the spilling engine: where records are stored, and under which limit on memory."""

    @property
    def memory(self) -> int:
        """The limit, in bytes."""

    @property
    def folder(self) -> Path:
        """Where a private folder is made for records on disk."""

    @property
    def linkage(self) -> bool:
        """Whether the linkage may be asked for later."""

    def foresee(self, files: SourceInParts, roles: ColumnRoles) -> Foreseen:
        """The memory and disk that a run will take; refused at once where there is too little."""


class SpilledColumns(CountedColumns):
    """The columns to publish, known by the counts of their combinations; records stay in their files."""

    def __init__(self, files: SourceInParts, roles: ColumnRoles, engine: Disk) -> None:
        super().__init__(files.name, files.schema, roles)
        self._files, self._engine = files, engine
        self.n_records = files.n_records
        self.are_in_memory = False
        self.type_changes: tuple[TypeChange, ...] = (
            *type_changes(files.schema.field(name) for name in roles.kept),
            *(own for own in getattr(files, "type_changes", ()) if own.column in roles.kept),
        )
        self._values = {name: GrowingCodes(name, files.name) for name in roles.k_quasis}
        self._wrong = dict.fromkeys(roles.epsilon_quasis, WrongNumbers())
        self._largest = dict.fromkeys(roles.epsilon_quasis, 0.0)
        self._has_missing = dict.fromkeys(self._roles.flagged, False)
        """By such a column, whether any record misses it."""
        self._persons: PersonCounts | None = None
        """Between `leave_out` and `count`, the persons of counted combinations."""
        self._beyond_cap: Marks | None = None
        """The records that are left out because persons have too many; None where none is."""
        self._sensitive: list[SensitiveCodes] = []
        """Codes of the values of each of `roles.diverse`; set by `count`."""
        self._stored: tuple[SpillFolder, StoredCombinations] | None = None
        foreseen = engine.foresee(files, roles)
        self._coded, self._room, self._advise = foreseen.coded, foreseen.room, foreseen.advise
        self._columns, counts = self._count_all()
        """Codes of all combinations, one array for each k-quasi, and one for each flagged column: 1 where it is missing."""
        n_k_quasis = len(roles.k_quasis)
        self._combinations = CountedCombinations(
            {name: own.values for name, own in self._values.items()},
            dict(zip(roles.k_quasis, self._columns[:n_k_quasis], strict=True)),
            {n: own == 1 for n, own in zip(self._roles.flagged, self._columns[n_k_quasis:], strict=True)},
            counts,
        )

    def _count_all(self) -> tuple[tuple[IntArray, ...], IntArray]:
        """Reads all records; the codes of all combinations, one array per column, and their counts."""
        names = (*self._roles.k_quasis, *self._roles.flagged)
        counts = GrowingCounts(len(names))
        for part in self._parts(names):
            columns = [self._values[name].learn(part.column(name)) for name in self._roles.k_quasis]
            columns += [self._learn(part.column(name), name) for name in self._roles.epsilon_quasis]
            if self._roles.person is not None:
                columns.append(self._learn_persons(part.column(self._roles.person), self._roles.person))
            sizes = [len(self._values[name]) for name in self._roles.k_quasis]
            counts.add(columns, [*sizes, *(1 + n for n in self._has_missing.values())], n_records=len(part))
            self._refuse_too_many(counts.n_combinations)
        columns_of_all, totals = counts.total()
        self._refuse_too_many(len(totals))
        if int(totals.sum()) != self.n_records:
            raise changed(self._files.path)
        return columns_of_all, totals

    def _refuse_too_many(self, n_combinations: int) -> None:
        """Refuses more values or combinations, so far, than memory has room for."""
        values = {name: len(own) for name, own in self._values.items()}
        self._room.refuse_values(values, self._files.name, self._advise)
        self._room.refuse_combinations(n_combinations, values, self._files.name, self._advise)

    def _learn(self, column: pa.ChunkedArray, name: str) -> IntArray:
        """1 where an ε-quasi is missing, else 0. Values that are no numbers are noted for `largest` to refuse."""
        try:
            values, wrong = read_doubles(column, name, self._files.name, self._roles.reading(name))
        except DataError as error:
            self._refused[name] = error
            return np.zeros(len(column), dtype=np.int32)
        self._wrong[name] += wrong
        if wrong != WrongNumbers():
            return np.zeros(len(column), dtype=np.int32)
        self._largest[name] = float(np.fmax.reduce(np.abs(values), initial=self._largest[name]))
        is_missing = np.isnan(values)
        self._has_missing[name] |= bool(is_missing.any())
        return is_missing.astype(np.int32)

    def _learn_persons(self, column: pa.ChunkedArray, name: str) -> IntArray:
        """1 where a record does not say whom it is about, else 0."""
        is_unknown = ~code_persons(column, name, self._files.name).is_known
        self._has_missing[name] |= bool(is_unknown.any())
        return is_unknown.astype(np.int32)

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        """As `Columns.leave_out`; where records are about persons, all records are read again, and stored by person."""
        person, most = self._roles.person, self._roles.max_records_per_person
        if person is None:
            return super().leave_out(is_listed, drop_missing=drop_missing)
        left_out = super().leave_out(is_listed, drop_missing=[*drop_missing, person])
        combinations = self._combinations.staying()
        records = self._records(self._index(combinations), beside=(), with_rows=most is not None, details="persons")
        if most is not None:
            self._room.refuse_marks(self.n_records, self._files.name)
        marks = None if most is None else Marks(self.n_records)
        folder = SpillFolder(self._engine.folder)
        try:
            parts = PersonParts(
                folder.path, records, n_records=self.n_records, room=self._room, source=self._files.name
            )
            self._persons, n_lost = parts.count(n_combinations=len(combinations), most=most, marks=marks)
        finally:
            folder.close()
        left_out = replace(left_out, by_cap=self._combinations.lose(n_lost))
        self._beyond_cap = marks if left_out.by_cap else None
        return left_out

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        """As `Columns.count`; where something is asked of sensitive columns, all records are read again."""
        table = super().count(domains, missing_in_class=missing_in_class)
        if self._persons is not None:
            persons = regrouped(self._persons, self._combinations.row_in_table(), n_rows=table.n_combinations)
            if persons.n_records != int(table.counts.sum()):
                raise changed(self._files.path)
            table = replace(table, persons=persons)
            self._persons = None
        return replace(table, sensitive=self._count_sensitive(table)) if self._roles.diverse else table

    def _count_sensitive(self, table: FrequencyTable) -> dict[str, SensitiveCounts]:
        """Reads all records again; their sensitive values by combination, for each column. Sets the codes of the values."""
        names, n_rows = self._roles.diverse, table.n_combinations
        growing = [GrowingSensitive(name, self._files.name, n_rows=n_rows, room=self._room) for name in names]
        found = np.zeros(n_rows + 1, dtype=np.int64)
        index = self._index(self._combinations.row_in_table())
        for records in self._records(index, beside=names, with_rows=False):
            found += np.bincount(records.class_ids + 1, minlength=len(found))
            stays = np.flatnonzero(records.class_ids != SUPPRESSED)
            for own in growing:
                own.add(records.class_ids[stays], records.kept.column(own.name).take(pa.array(stays)))
        if not np.array_equal(found[1:], table.counts):
            raise changed(self._files.path)
        totals = [own.total() for own in growing]
        self._sensitive = [codes for codes, _ in totals]
        return {codes.name: counts for codes, counts in totals}

    def _parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The named columns of all records, as many records at a time as there is room for."""
        coded = [name for name in self._coded if name in columns]
        if not columns:  # nothing to read, but records to count
            for first in range(0, self.n_records, self._room.records_per_part):
                n = min(self._room.records_per_part, self.n_records - first)
                yield pa.table({"": pa.nulls(n)})
            return
        known = {*self._roles.published}
        wider = sum(max(LEAST_WIDTH, self._files.width(name)) for name in columns if name not in known)
        room = replace(self._room, record_width=self._room.record_width + wider)
        n_read = 0
        for part in self._files.parts(columns, coded=coded, n_records=room.records_per_part):
            yield part
            n_read += len(part)
            tell(n_read, self.n_records, "records")

    def preview(self, recoding: Recoding) -> SpilledPreview:
        """As `Columns.preview`; the first call reads all records again and stores their ε-quasis by combination."""
        self._room.refuse_large_class(int(recoding.sizes.max()), self._files.name)
        if self._stored is None:
            counts = self._combinations.counts_in_table()
            slices = combinations_of_buckets(counts, self._room)
            folder, buckets = self._scatter(self._combinations.row_in_table(), counts, slices, to_release=False)
            self._stored = folder, StoredCombinations(combinations=slices, buckets=buckets)
        return SpilledPreview(self._stored[1], recoding, self._room)

    def close(self) -> None:
        if self._stored is not None:
            self._stored[0].close()
            self._stored = None

    def n_formulas(self, name: str) -> int:
        return sum(n_formulas(part.column(0)) for part in self._parts([name]))

    def whole_records(self, shares: FloatArray, *, identifiers: Sequence[str]) -> WholeRecords:
        """As `Columns.whole_records`; reads all records again, and holds those that are taken in memory."""
        shares = np.append(shares, 0.0)  # SUPPRESSED, which is −1, finds the last entry
        counts = self._combinations.counts_in_table()
        found = np.zeros(len(counts) + 1, dtype=np.int64)
        taken: list[Records] = []
        index = self._index(self._combinations.row_in_table())
        first = 0
        for records in self._records(index, beside=(*self._roles.kept, *identifiers), with_rows=False):
            found += np.bincount(records.class_ids + 1, minlength=len(found))
            rows = np.arange(first, first + len(records.class_ids))
            first += len(rows)
            own = np.flatnonzero(are_taken(shares, records.class_ids, rows))
            columns = without_dictionaries(
                taken_rows(records.kept, own)
            )  # else a whole dictionary for each part is held
            taken.append(
                Records(class_ids=records.class_ids[own], values=records.values[own], rows=rows[own], kept=columns)
            )
        if not np.array_equal(found[1:], counts):
            raise changed(self._files.path)
        return whole_records(taken, kept=self._roles.kept, identifiers=identifiers)

    def classes(self, recoding: Recoding) -> SpilledClasses:
        """As `Columns.classes`; reads all records again and stores them, those of a batch of classes in one bucket."""
        self._room.refuse_large_class(int(recoding.sizes.max()), self._files.name)
        slices = several_at_a_time(recoding.sizes, self._room)
        folder, buckets = self._scatter(self._combinations.class_of(recoding), recoding.sizes, slices, to_release=True)
        return SpilledClasses(
            [StoredBatch(classes=own, bucket=bucket) for own, bucket in zip(slices, buckets, strict=True)],
            folder,
            sizes=recoding.sizes,
            files=self._files,
            roles=self._roles,
            room=self._room,
        )

    def _scatter(
        self, answers: IntArray, sizes: IntArray, slices: list[slice], *, to_release: bool
    ) -> tuple[SpillFolder, list[Bucket]]:
        """A new folder and its buckets, one for each slice of answers, with all records in them.

        `answers` gives the class of every combination, or its place in the frequency table, or SUPPRESSED where its records
        are not stored; `sizes` is the number of records of each answer. With `to_release` all columns are stored, else only
        ε-quasis.
        """
        folder = SpillFolder(self._engine.folder)
        n_values = len(self._roles.epsilon_quasis)
        buckets = [Bucket(folder.path, i, n_values=n_values) for i in range(len(slices))]
        try:
            self._fill(buckets, answers, sizes, slices, to_release=to_release)
        except BaseException:
            folder.close()
            raise
        return folder, buckets

    def _fill(
        self, buckets: list[Bucket], answers: IntArray, sizes: IntArray, slices: list[slice], *, to_release: bool
    ) -> None:
        """Reads all records and stores each in the bucket of its answer; refused where the table has changed."""
        bucket_of_answer = np.repeat(np.arange(len(slices)), [own.stop - own.start for own in slices])
        # SUPPRESSED, which is −1, finds the last entry, which stands for no bucket. NumPy sorts 16 bits by counting.
        places: IntArray = np.append(bucket_of_answer, len(slices))
        places = places.astype(np.uint16) if len(slices) < 1 << 16 else places
        found = np.zeros(len(sizes) + 1, dtype=np.int64)
        beside, with_rows = (self._roles.kept, self._engine.linkage) if to_release else ((), False)
        for records in self._records(self._index(answers), beside=beside, with_rows=with_rows, details="all"):
            found += np.bincount(records.class_ids + 1, minlength=len(found))
            scatter(records, places[records.class_ids], buckets)
        if not np.array_equal(found[1:], sizes):
            raise changed(self._files.path)

    def _index(self, answers: IntArray) -> CombinationIndex:
        """Finds the answer for the combination of a record."""
        sizes = [len(self._values[name]) for name in self._roles.k_quasis]
        sizes += [1 + self._has_missing[name] for name in self._roles.flagged]
        return CombinationIndex(self._columns, sizes, answers, most_slots=self._room.most_slots)

    def _records(
        self,
        index: CombinationIndex,
        *,
        beside: Sequence[str],
        with_rows: bool,
        details: Literal["none", "persons", "all"] = "none",
    ) -> Iterator[Records]:
        """All records a part at a time, with the answer of their combination as class id.

        `beside` names the columns that come with them as kept ones. Records that a person has beyond the cap have SUPPRESSED
        as class id. Refused where a record was not there when combinations were counted.
        """
        sensitive = self._sensitive if details == "all" else []
        asked = [*self._roles.k_quasis, *self._roles.flagged, *beside, *(own.name for own in sensitive)]
        names = tuple(dict.fromkeys(asked))
        first = 0
        for part in self._parts(names):
            found = [
                read_doubles(part.column(name), name, self._files.name, self._roles.reading(name))
                for name in self._roles.epsilon_quasis
            ]
            if any(wrong != WrongNumbers() for _, wrong in found):
                raise changed(self._files.path)
            numbers = [own for own, _ in found]
            codes = [self._values[name].look_up(part.column(name)) for name in self._roles.k_quasis]
            codes += [np.isnan(own).astype(np.int32) for own in numbers]
            persons = self._persons_of(part, with_numbers=details != "none")
            codes += [] if persons is None else [(~persons.is_known).astype(np.int32)]
            class_ids = index.find(codes, n_records=len(part))
            if class_ids is None:
                raise changed(self._files.path)
            if self._beyond_cap is not None:
                class_ids = class_ids.copy()
                class_ids[self._beyond_cap.are_marked(first, len(part))] = SUPPRESSED
            values: FloatArray = np.column_stack(numbers) if numbers else np.zeros((len(part), 0))
            kept = part.select(list(beside))
            for i, field in enumerate(kept.schema):
                if pa.types.is_dictionary(field.type):
                    kept = kept.set_column(i, field, with_one_dictionary(kept.column(i)))
            rows = np.arange(first, first + len(part), dtype=np.int64) if with_rows else None
            first += len(part)
            yield Records(
                class_ids=class_ids,
                values=values,
                rows=rows,
                kept=kept,
                details=None if details == "none" else self._details_of(part, class_ids, persons, sensitive),
            )

    def _persons_of(self, part: pa.Table, *, with_numbers: bool) -> Persons | None:
        """Whom records are about; without numbers that are the same in all parts, if they are not asked for."""
        if self._roles.person is None:
            return None
        read = hash_persons if with_numbers else code_persons
        return read(part.column(self._roles.person), self._roles.person, self._files.name)

    def _details_of(
        self, part: pa.Table, class_ids: IntArray, persons: Persons | None, sensitive: Sequence[SensitiveCodes]
    ) -> Details | None:
        """The details of some records; refused where one holds a sensitive value that was not there when these were counted."""
        codes: list[IntArray] = []
        for own in sensitive:
            found = own.look_up(part.column(own.name), class_ids != SUPPRESSED)
            if found is None:
                raise changed(self._files.path)
            codes.append(found)
        return Details.of(None if persons is None else persons.numbers, codes)
