# SPDX-License-Identifier: Apache-2.0
"""Persons of records that do not fit into memory: stored on disk by person, as numbers, and counted a part at a time.

All records of a person are in one part. So numbers of persons add up over parts, and each part tells by itself which
records a person has too many of.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kepsilon.engines.on_disk.buckets import Bucket, Records, scatter
from kepsilon.engines.room import Room
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.persons import PersonCounts, count_persons, joined
from kepsilon.table.records_per_person import are_beyond_cap

_PARTS_PER_ROOM = 2
"""Parts for each room's worth of records: persons have records in different numbers, so parts are not of one size."""


class Marks:
    """A bit for each record, by its position in the input."""

    def __init__(self, n_records: int) -> None:
        self._bits = np.zeros(-(-n_records // 8), dtype=np.uint8)

    def mark(self, rows: IntArray) -> None:
        """Marks the records at some positions."""
        np.bitwise_or.at(self._bits, rows >> 3, np.left_shift(1, rows & 7).astype(np.uint8))

    def are_marked(self, first: int, n_records: int) -> BoolArray:
        """Which of the `n_records` records from the position `first` on are marked, shape (n_records,)."""
        start = first & 7
        bits = np.unpackbits(self._bits[first >> 3 : -(-(first + n_records) // 8)], bitorder="little")
        return bits[start : start + n_records].astype(np.bool_)


class PersonParts:
    """The combination and the person of every record that stays, on disk."""

    def __init__(self, folder: Path, records: Iterable[Records], *, n_records: int, room: Room, source: str) -> None:
        """Stores `n_records` records or fewer in the private folder `folder`.

        They come with their persons, and with their positions where there is a cap. The class id of a record is its
        combination, or SUPPRESSED where it is left out.
        """
        self._room, self._source = room, source
        n_parts = 1 + _PARTS_PER_ROOM * n_records // room.records_per_person_part
        self._buckets = [Bucket(folder, i, n_values=0) for i in range(n_parts)]
        for part in records:
            staying = part.take(np.flatnonzero(part.class_ids >= 0))
            scatter(staying, _persons(staying) % n_parts, self._buckets)
        room.refuse_large_person_part(max(own.n_records for own in self._buckets), source)

    def count(self, *, n_combinations: int, most: int | None, marks: Marks | None) -> tuple[PersonCounts, IntArray]:
        """The persons of all combinations, and how many records of each combination a person has too many of.

        Only `most` records of each person count, unless that is None; the others are marked.
        """
        found = joined([], n_combinations=n_combinations)
        n_lost: IntArray = np.zeros(n_combinations, dtype=np.int64)
        for bucket in self._buckets:
            if not bucket.n_records:
                continue
            combinations, persons = bucket.class_ids().astype(np.int64), _persons_in(bucket)
            if most is not None and marks is not None:
                rows = bucket.rows()
                if rows is None:
                    raise bucket.damaged()
                beyond = are_beyond_cap(persons, rows, most=most)
                marks.mark(rows[beyond])
                n_lost += np.bincount(combinations[beyond], minlength=n_combinations)
                combinations, persons = combinations[~beyond], persons[~beyond]
            more = count_persons(combinations, persons, n_combinations=n_combinations)
            found = joined([found, more], n_combinations=n_combinations)
            self._room.refuse_pairs(len(found.persons), "a person who has several", self._source)
            bucket.remove()
        return found, n_lost


def _persons(records: Records) -> IntArray:
    numbers = None if records.details is None else records.details.persons
    return np.zeros(0, dtype=np.int64) if numbers is None else numbers


def _persons_in(bucket: Bucket) -> IntArray:
    details = bucket.details()
    if details is None or details.persons is None:
        raise bucket.damaged()
    return details.persons
