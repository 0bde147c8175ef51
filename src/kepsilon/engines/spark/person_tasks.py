# SPDX-License-Identifier: Apache-2.0
"""The tasks in which workers read whom records are about, and count persons. As in `tasks`, nothing here needs Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.numpy_arrays import from_numpy, to_positions
from kepsilon.engines.arrow.persons import hash_persons
from kepsilon.engines.room import Room
from kepsilon.engines.spark.tasks import attempt, own_folder
from kepsilon.files.private_folders import owner_only, worded
from kepsilon.sources.columns import in_one_piece
from kepsilon.table.arrays import IntArray
from kepsilon.table.persons import PersonCounts, count_persons
from kepsilon.table.records_per_person import n_within_cap


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPersons:
    """Task: turns the column that says whom a record is about into numbers, null where it says nothing.

    It comes before every step that moves records, so that no name gets into Spark's shuffle files.
    """

    place: int
    """Position of the column in what comes in."""
    name: str
    source: str
    """The names of the column and of the table, for error messages."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = hash_persons(pa.chunked_array([batch.column(self.place)]), self.name, self.source)
            columns = list(batch.columns)
            columns[self.place] = from_numpy(found.numbers, is_null=~found.is_known)
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """For persons who have too many records, the largest hash of a record that stays; all arrays have shape (n_persons,)."""

    persons: IntArray
    hashes: IntArray
    n_staying: IntArray
    """How many records with this hash stay."""
    n_there: IntArray
    """How many records have this hash: more than stay only where records without a position are alike in everything."""

    @property
    def has_ties(self) -> bool:
        """Whether, of some records that are alike, not all stay."""
        return bool((self.n_there > self.n_staying).any())


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsOfPart:
    """The persons of one part, all of whose records are in it."""

    counts: PersonCounts
    n_lost: IntArray
    """How many records of each combination persons have too many of, shape (n_combinations,)."""
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class CountPersons:
    """Task: counts the persons of a part, stores what it found in a file that only this user can read, and returns its path.

    What comes in are persons, combinations, hashes (null without a cap) and how many records have all three.
    """

    parent: Path
    n_combinations: int
    most: int | None
    """How many records of each person count; None for all."""
    room: Room
    source: str
    """The name of the table, for error messages."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield attempt(0, lambda: self._store(batches))

    def _store(self, batches: Iterator[pa.RecordBatch]) -> Path | None:
        held: list[pa.RecordBatch] = []
        n_entries = 0
        for batch in batches:
            held.append(batch)
            n_entries += batch.num_rows
            self.room.refuse_large_person_part(n_entries, self.source)
        if not n_entries:
            return None
        columns = [to_positions(in_one_piece(own), null=0) for own in pa.Table.from_batches(held).columns]
        found = self._count(*(own.astype(np.int64, copy=False) for own in columns))
        path = own_folder(self.parent) / "0"
        with worded(path), open(path, "wb", opener=owner_only) as file:
            pickle.dump(found, file)
        return path

    def _count(self, persons: IntArray, combinations: IntArray, hashes: IntArray, counts: IntArray) -> PersonsOfPart:
        staying = counts if self.most is None else n_within_cap(persons, hashes, counts, most=self.most)
        n_lost = np.bincount(combinations, weights=counts - staying, minlength=self.n_combinations)
        stays = staying > 0
        return PersonsOfPart(
            counts=count_persons(
                combinations[stays], persons[stays], n_combinations=self.n_combinations, counts=staying[stays]
            ),
            n_lost=n_lost.astype(np.int64),
            limits=limits_of(persons, hashes, counts, staying),
        )


def limits_of(persons: IntArray, hashes: IntArray, counts: IntArray, staying: IntArray) -> Limits:
    """The limits of the persons some of whose records do not stay; `staying` is as `n_within_cap` gives it."""
    loses = np.unique(persons[staying < counts])
    last = np.flatnonzero((staying > 0) & np.isin(persons, loses))
    last = last[np.lexsort((hashes[last], persons[last]))]
    # Of each person the last entry in this order has the largest hash that stays.
    is_last = np.ones(len(last), dtype=np.bool_)
    is_last[:-1] = persons[last[1:]] != persons[last[:-1]]
    last = last[is_last]
    return Limits(persons=persons[last], hashes=hashes[last], n_staying=staying[last], n_there=counts[last])
