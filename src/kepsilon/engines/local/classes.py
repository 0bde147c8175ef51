# SPDX-License-Identifier: Apache-2.0
"""The classes of a recoding in memory, whole classes at a time on every core: looked at, given noise and merged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kepsilon.engines.local.merged import LocalMerged, ReleasedRecords
from kepsilon.engines.protocol import Batch, Draw, Found, Look, Random, Shuffle
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.class_order import batches_of, in_class_order
from kepsilon.table.classes import Recoding
from kepsilon.table.coded_values import CodedValues
from kepsilon.table.whole_records import WholeColumn
from kepsilon.threads import each_of

_MOST_TOGETHER = 1 << 20
"""Records that are looked at together, at the most: many enough for NumPy, few enough for arrays to stay small."""

_FEWEST_TOGETHER = 1 << 16
"""Fewer are not worth a batch of their own."""

_BATCHES = 4
"""Batches that even a table of fewer records is divided into, so that every core has some."""


class ColumnsInMemory(Protocol):
    """What classes need of the columns in memory; `records` are positions among the records that were not left out."""

    def epsilon_quasis(self, records: IntArray, coded: Sequence[CodedValues] = ()) -> FloatArray:
        """The ε-quasis of some records, shape (n_records, n_epsilon_quasis); faster where their codes are given."""

    def coded(self) -> tuple[CodedValues, ...]:
        """The ε-quasis of all records that were not left out, coded once for all recodings."""

    def persons(self, records: IntArray) -> IntArray | None:
        """Whom some records are about, as `Batch.persons`."""

    def sensitive(self, records: IntArray) -> IntArray | None:
        """Codes of sensitive values of some records, as `Batch.sensitive`."""

    def kept_columns(self, records: IntArray, names: Sequence[str]) -> Mapping[str, WholeColumn]:
        """Some kept columns of some records, in their order."""

    def forget_codes(self) -> None:
        """Frees the memory that codes take; they are made anew if they are asked for again."""

    def merge(self, recoding: Recoding, released: ReleasedRecords, *, whole: Collection[str]) -> LocalMerged:
        """Labels, noisy values and kept columns of the released records, in the order in which they will be published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """The records of all classes, one class after the other, and what is known of them."""

    records: IntArray
    """Their positions among the records that were not left out."""
    values: FloatArray
    """Shape (n_records, n_epsilon_quasis)."""
    coded: tuple[CodedValues, ...]
    persons: IntArray | None
    sensitive: IntArray | None


class LocalClasses:
    """The classes of a recoding in memory, with the records of each class side by side."""

    def __init__(self, columns: ColumnsInMemory, class_ids: IntArray, *, sizes: IntArray) -> None:
        """`class_ids` is the class of every record that was not left out, or SUPPRESSED; `sizes` the records by class."""
        self.sizes = sizes
        self._columns = columns
        self._class_ids: IntArray | None = class_ids
        """None once the records are sorted by it."""
        self._ends = np.concatenate([[0], np.cumsum(sizes)])
        """Where the records of every class begin, and last how many there are."""
        together = min(max(int(sizes.sum()) // _BATCHES, _FEWEST_TOGETHER), _MOST_TOGETHER)
        self._batches = batches_of(sizes, most=together)
        self._sorted: _Sorted | None = None
        self._published: FloatArray = np.zeros((0, 0))
        self._stays: BoolArray = np.zeros(0, dtype=np.bool_)
        """Which of the records, in the order of the classes, are released, once noise is drawn."""

    def each(self, look: Look[Found]) -> Iterator[Found]:
        records = self._in_order()
        return each_of(self._batches, lambda own: look(self._batch(own, records)))

    def draw(self, draw: Draw[Found], *, random: Random) -> Iterator[Found]:
        records = self._sorted = dataclasses.replace(
            self._in_order(), coded=()
        )  # drawing needs the memory of the codes
        self._columns.forget_codes()
        self._published = np.empty(records.values.shape)
        self._stays = np.empty(len(records.records), dtype=np.bool_)
        sources = [random] if len(self._batches) == 1 else [random.apart(i) for i in range(len(self._batches))]

        def drawn(place: int) -> Found:
            return draw(self._batch(self._batches[place], records), sources[place], self._store)

        return each_of(range(len(self._batches)), drawn)

    def _in_order(self) -> _Sorted:
        """The records in the order of their classes, sorted when they are first asked for."""
        if self._sorted is None:
            assert self._class_ids is not None  # noqa: S101 (it is only let go here)
            coded = self._columns.coded()
            order = in_class_order(self._class_ids, coded, n_classes=len(self.sizes))
            self._class_ids = None
            self._sorted = _Sorted(
                records=order.records,
                values=self._columns.epsilon_quasis(order.records, order.coded),
                coded=order.coded,
                persons=self._columns.persons(order.records),
                sensitive=self._columns.sensitive(order.records),
            )
        return self._sorted

    def _batch(self, classes: slice, records: _Sorted) -> Batch:
        """The records of some classes."""
        own = slice(int(self._ends[classes.start]), int(self._ends[classes.stop]))
        positions = records.records[own]
        return Batch(
            classes=classes,
            class_ids=self._class_ids_of(classes, first=classes.start),
            values=records.values[own],
            coded=tuple(CodedValues(distinct=one.distinct, codes=one.codes[own]) for one in records.coded) or None,
            persons=None if records.persons is None else records.persons[own],
            sensitive=None if records.sensitive is None else records.sensitive[own],
            kept_at=lambda chosen, names: self._columns.kept_columns(positions[chosen], names),
        )

    def _class_ids_of(self, classes: slice, *, first: int = 0) -> IntArray:
        """The class of every record of some classes, counted from `first`."""
        ids: IntArray = np.arange(classes.start - first, classes.stop - first, dtype=np.int32)
        return np.repeat(ids, self.sizes[classes])

    def _store(self, part: Batch, published: FloatArray, stays: BoolArray) -> None:
        own = slice(int(self._ends[part.classes.start]), int(self._ends[part.classes.stop]))
        self._published[own], self._stays[own] = published, stays

    def each_released(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> Iterator[Found]:
        del new_ids  # not needed: the records of a class that is suppressed now are not among those that stay

        def released(classes: slice) -> Found:
            own = slice(int(self._ends[classes.start]), int(self._ends[classes.stop]))
            return look(self._published[own][self._stays[own]])

        return each_of(self._batches, released)

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle, random: Random
    ) -> LocalMerged:
        records, published = self._in_order().records, self._published
        class_ids = np.repeat(new_ids[:-1].astype(np.int32), self.sizes)
        self._sorted = None
        if not self._stays.all():
            records, class_ids, published = records[self._stays], class_ids[self._stays], published[self._stays]
        order = shuffle(len(records), random_bytes=random.bytes)
        released = ReleasedRecords(records=records, class_ids=class_ids, published=published, order=order)
        return self._columns.merge(recoding, released, whole=whole)

    def close(self) -> None:
        """Nothing is on disk."""
