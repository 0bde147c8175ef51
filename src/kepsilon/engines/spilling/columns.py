# SPDX-License-Identifier: Apache-2.0
"""Columns that are counted in one reading, and put on disk by class or by combination in a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import WrongNumbers, read_doubles
from kepsilon.engines.arrow.column_facts import n_formulas
from kepsilon.engines.arrow.moving import with_one_dictionary
from kepsilon.engines.counts.combinations import CountedColumns, CountedCombinations
from kepsilon.engines.counts.growing import CombinationIndex, GrowingCodes, GrowingCounts
from kepsilon.engines.on_disk.batches import StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket, Records, scatter
from kepsilon.engines.on_disk.combinations import StoredCombinations, combinations_of_buckets
from kepsilon.engines.on_disk.needs import Foreseen
from kepsilon.engines.spilling.classes import SpilledClasses, SpilledPreview
from kepsilon.errors import DataError
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.files import changed
from kepsilon.sources.protocol import SourceInParts
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import Recoding


class Disk(Protocol):
    """Where records go that do not fit into memory, and how much of it there is."""

    @property
    def memory(self) -> int:
        """In bytes."""

    @property
    def folder(self) -> Path:
        """Where a private folder is made for what does not fit."""

    @property
    def linkage(self) -> bool:
        """Whether it may be asked later which record was which."""

    def foresee(self, files: SourceInParts, roles: ColumnRoles) -> Foreseen:
        """What it will take; refused at once where it cannot be had."""


class SpilledColumns(CountedColumns):
    """What one reading tells: combinations of k-quasis with counts. Records stay in their files."""

    def __init__(self, files: SourceInParts, roles: ColumnRoles, engine: Disk) -> None:
        super().__init__(files.name)
        self._files, self._roles, self._engine = files, roles, engine
        self.n_records = files.n_records
        self._values = {name: GrowingCodes(name, files.name) for name in roles.k_quasis}
        self._wrong = dict.fromkeys(roles.epsilon_quasis, WrongNumbers())
        self._largest = dict.fromkeys(roles.epsilon_quasis, 0.0)
        self._has_missing = dict.fromkeys(roles.epsilon_quasis, False)
        self._stored: tuple[SpillFolder, StoredCombinations] | None = None
        foreseen = engine.foresee(files, roles)
        self._coded, self._room, self._advise = foreseen.coded, foreseen.room, foreseen.advise
        self._columns, counts = self._count_all()
        """Codes of all combinations: of k-quasi values, and of whether an ε-quasi is missing."""
        n_k_quasis = len(roles.k_quasis)
        self._combinations = CountedCombinations(
            {name: own.values for name, own in self._values.items()},
            dict(zip(roles.k_quasis, self._columns[:n_k_quasis], strict=True)),
            {n: own == 1 for n, own in zip(roles.epsilon_quasis, self._columns[n_k_quasis:], strict=True)},
            counts,
        )

    def _count_all(self) -> tuple[tuple[IntArray, ...], IntArray]:
        names = (*self._roles.k_quasis, *self._roles.epsilon_quasis)
        counts = GrowingCounts(len(names))
        for part in self._parts(names):
            columns = [self._values[name].learn(part.column(name)) for name in self._roles.k_quasis]
            columns += [self._learn(part.column(name), name) for name in self._roles.epsilon_quasis]
            sizes = [len(self._values[name]) for name in self._roles.k_quasis]
            counts.add(columns, [*sizes, *(1 + n for n in self._has_missing.values())], n_records=len(part))
            self._refuse_too_many(counts.n_combinations)
        columns_of_all, totals = counts.total()
        self._refuse_too_many(len(totals))
        if int(totals.sum()) != self.n_records:
            raise changed(self._files.path)
        return columns_of_all, totals

    def _refuse_too_many(self, n_combinations: int) -> None:
        values = {name: len(own) for name, own in self._values.items()}
        self._room.refuse_values(values, self._files.name, self._advise)
        self._room.refuse_combinations(n_combinations, values, self._files.name, self._advise)

    def _learn(self, column: pa.ChunkedArray, name: str) -> IntArray:
        """Which records miss an ε-quasi; what is wrong with its numbers is said when they are asked for."""
        try:
            values, wrong = read_doubles(column, name, self._files.name)
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

    def _parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        coded = [name for name in self._coded if name in columns]
        if not columns:  # nothing to read, but records to count
            for first in range(0, self.n_records, self._room.records_per_part):
                n = min(self._room.records_per_part, self.n_records - first)
                yield pa.table({"": pa.nulls(n)})
            return
        yield from self._files.parts(columns, coded=coded, n_records=self._room.records_per_part)

    def preview(self, recoding: Recoding) -> SpilledPreview:
        """Reads all ε-quasis again when first asked, and puts them on disk by combination."""
        self._room.refuse_large_class(int(recoding.sizes.max()), self._files.name)
        if self._stored is None:
            counts = self._combinations.counts_in_table()
            slices = combinations_of_buckets(counts, self._room)
            folder, buckets = self._scatter(self._combinations.place_of(), counts, slices, to_release=False)
            self._stored = folder, StoredCombinations(combinations=slices, buckets=buckets)
        return SpilledPreview(self._stored[1], recoding, self._room)

    def close(self) -> None:
        if self._stored is not None:
            self._stored[0].close()
            self._stored = None

    def n_formulas(self, name: str) -> int:
        return sum(n_formulas(part.column(0)) for part in self._parts([name]))

    def classes(self, recoding: Recoding) -> SpilledClasses:
        """Reads all records again and puts them on disk, those of a batch of classes together."""
        self._room.refuse_large_class(int(recoding.sizes.max()), self._files.name)
        slices = self._room.batches(recoding.sizes)
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
        """All records on disk in buckets, one for each slice of what `answers` says of their combinations.

        Answers are classes, or positions in the frequency table; `sizes` says how many records each of them has. To
        release them, all columns go along.
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
        bucket_of_answer = np.repeat(np.arange(len(slices)), [own.stop - own.start for own in slices])
        # The last entry is that of SUPPRESSED, which is −1: no bucket. NumPy sorts 16 bits by counting.
        places: IntArray = np.append(bucket_of_answer, len(slices))
        places = places.astype(np.uint16) if len(slices) < 1 << 16 else places
        found = np.zeros(len(sizes) + 1, dtype=np.int64)
        for records in self._records(self._index(answers), to_release=to_release):
            found += np.bincount(records.class_ids + 1, minlength=len(found))
            scatter(records, places[records.class_ids], buckets)
        if not np.array_equal(found[1:], sizes):
            raise changed(self._files.path)

    def _index(self, answers: IntArray) -> CombinationIndex:
        sizes = [len(self._values[name]) for name in self._roles.k_quasis]
        sizes += [1 + self._has_missing[name] for name in self._roles.epsilon_quasis]
        return CombinationIndex(self._columns, sizes, answers, most_slots=self._room.most_slots)

    def _records(self, index: CombinationIndex, *, to_release: bool) -> Iterator[Records]:
        """All records with what the index answers, a part at a time; refused where they are not those that were counted."""
        names = self._roles.published if to_release else (*self._roles.k_quasis, *self._roles.epsilon_quasis)
        with_rows = to_release and self._engine.linkage
        first = 0
        for part in self._parts(names):
            found = [read_doubles(part.column(n), n, self._files.name) for n in self._roles.epsilon_quasis]
            if any(wrong != WrongNumbers() for _, wrong in found):
                raise changed(self._files.path)
            numbers = [own for own, _ in found]
            codes = [self._values[name].look_up(part.column(name)) for name in self._roles.k_quasis]
            codes += [np.isnan(own).astype(np.int32) for own in numbers]
            class_ids = index.find(codes, n_records=len(part))
            if class_ids is None:
                raise changed(self._files.path)
            values: FloatArray = np.column_stack(numbers) if numbers else np.zeros((len(part), 0))
            kept = part.select([name for name in names if name in self._roles.kept])
            for i, field in enumerate(kept.schema):
                if pa.types.is_dictionary(field.type):
                    kept = kept.set_column(i, field, with_one_dictionary(kept.column(i)))
            rows = np.arange(first, first + len(part), dtype=np.int64) if with_rows else None
            first += len(part)
            yield Records(class_ids=class_ids, values=values, rows=rows, kept=kept)
