# SPDX-License-Identifier: Apache-2.0
"""The classes of a recoding in memory, in one batch: looked at, given noise and merged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import numpy as np

from kepsilon.engines.local.merged import LocalMerged, ReleasedRecords
from kepsilon.engines.protocol import Batch, Draw, Found, Look, Random, Shuffle
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.coded_values import CodedValues
from kepsilon.table.whole_records import WholeColumn


class ColumnsInMemory(Protocol):
    """What classes need of the columns in memory; `records` are positions among the records that were not left out."""

    def epsilon_quasis(self, records: IntArray) -> FloatArray:
        """The ε-quasis of some records, shape (n_records, n_epsilon_quasis)."""

    def coded(self, records: IntArray) -> tuple[CodedValues, ...]:
        """The ε-quasis of some records, coded once for all recodings."""

    def persons(self, records: IntArray) -> IntArray | None:
        """Whom some records are about, as `Batch.persons`."""

    def sensitive(self, records: IntArray) -> IntArray | None:
        """Codes of sensitive values of some records, as `Batch.sensitive`."""

    def kept_columns(self, records: IntArray, names: Sequence[str]) -> Mapping[str, WholeColumn]:
        """Some kept columns of some records, whose positions rise."""

    def forget_codes(self) -> None:
        """Frees the memory that codes take; they are made anew if they are asked for again."""

    def merge(self, recoding: Recoding, released: ReleasedRecords, *, whole: Collection[str]) -> LocalMerged:
        """Labels, noisy values and kept columns of the released records in one table, in their order."""


class LocalClasses:
    """The classes of a recoding in memory, in one batch with its records in the order of the input."""

    def __init__(self, columns: ColumnsInMemory, class_ids: IntArray, *, sizes: IntArray) -> None:
        """`class_ids` is the class of every record that was not left out, or SUPPRESSED; `sizes` the records by class."""
        self.sizes = sizes
        self._columns = columns
        self._released = np.flatnonzero(class_ids != SUPPRESSED)
        """Positions of the records in classes, among those that were not left out; confident k may suppress some later."""
        self._class_ids = class_ids if len(self._released) == len(class_ids) else class_ids[self._released]
        self._batch: Batch | None = None
        self._published: FloatArray = np.zeros((0, 0))
        self._stays: BoolArray | None = None
        """Which of these records are released, once noise is drawn; None where all are."""

    def each(self, look: Look[Found]) -> list[Found]:
        return [look(self._whole())]

    def draw(self, draw: Draw[Found], *, random: Random) -> list[Found]:
        self._batch = dataclasses.replace(self._whole(), coded=None)  # drawing needs the memory that the codes take
        self._columns.forget_codes()
        return [draw(self._batch, random, self._store)]

    def _whole(self) -> Batch:
        """The only batch, made when first asked for."""
        if self._batch is None:
            self._batch = Batch(
                classes=slice(0, len(self.sizes)),
                class_ids=self._class_ids,
                values=self._columns.epsilon_quasis(self._released),
                coded=self._columns.coded(self._released),
                persons=self._columns.persons(self._released),
                sensitive=self._columns.sensitive(self._released),
                kept_at=lambda records, names: self._columns.kept_columns(self._released[records], names),
            )
        return self._batch

    def _store(self, part: Batch, published: FloatArray, stays: BoolArray) -> None:
        del part
        self._published = published
        self._stays = None if stays.all() else stays

    def each_released(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> list[Found]:
        del new_ids  # not needed: the records of a class that is suppressed now are not among those that stay
        return [look(self._published if self._stays is None else self._published[self._stays])]

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle, random: Random
    ) -> LocalMerged:
        self._batch = None
        chosen = slice(None) if self._stays is None else self._stays
        released, class_ids, published = self._released[chosen], self._class_ids[chosen], self._published[chosen]
        order = shuffle(len(released), random_bytes=random.bytes)
        # Positions of all records, in their order, are their own place.
        is_everybody = len(released) > 0 and int(released[-1]) == len(released) - 1
        shuffled = ReleasedRecords(
            records=order if is_everybody else released[order],
            class_ids=new_ids[class_ids[order]],
            published=published[order],
        )
        return self._columns.merge(recoding, shuffled, whole=whole)

    def close(self) -> None:
        """Nothing is on disk."""
