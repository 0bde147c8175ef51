# SPDX-License-Identifier: Apache-2.0
"""ε-quasis on disk by combination of k-quasi values: stored once, looked at under as many recodings as one likes.

A class holds whole combinations, so its records are those of its combinations, whatever the recoding. Nothing is
written again for another recoding; a batch of classes reads the buckets that some of its combinations are in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.engines.protocol import Batch, LargeClass
from kepsilon.engines.room import Room
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import Recoding

_BUCKETS_PER_BATCH = 4
_FEWEST_BUCKETS = 16


def combinations_of_buckets(counts: IntArray, room: Room) -> list[slice]:
    """Which combinations of the frequency table go into each bucket, neighbours together; `counts` are their records."""
    n_batches = -(-int(counts.sum()) // room.records_per_batch)
    return room.buckets(counts, n_buckets=max(_FEWEST_BUCKETS, _BUCKETS_PER_BATCH * n_batches))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCombinations:
    """Buckets that hold the records of neighbouring combinations; each record with the position of its own."""

    combinations: Sequence[slice]
    """Of each bucket."""
    buckets: Sequence[Bucket]

    def batch(self, classes: slice, recoding: Recoding, room: Room) -> Batch | LargeClass:
        """Some whole classes of a recoding."""
        n_records = int(recoding.sizes[classes].sum())
        members = _Members(
            classes=classes,
            class_of=recoding.class_of,
            buckets=[bucket for own, bucket in self._pairs() if _meets(recoding.class_of[own], classes)],
        )
        if n_records > room.records_per_batch:
            return _LargeClass(class_id=classes.start, members=members, room=room)
        return members.together(n_records)

    def _pairs(self) -> Iterator[tuple[slice, Bucket]]:
        return zip(self.combinations, self.buckets, strict=True)


def _meets(class_of: IntArray, classes: slice) -> bool:
    return bool(np.any((class_of >= classes.start) & (class_of < classes.stop)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Members:
    """The records of some classes, wherever they are."""

    classes: slice
    class_of: IntArray
    """Of every combination."""
    buckets: Sequence[Bucket]

    def parts(self, step: int) -> Iterator[Batch]:
        """So many stored records at a time, less those of other classes."""
        for bucket in self.buckets:
            for first in range(0, bucket.n_records, step):
                class_ids = self.class_of[bucket.class_ids(first, first + step)]
                values = bucket.values(first, first + step)
                own = (class_ids >= self.classes.start) & (class_ids < self.classes.stop)
                chosen = slice(None) if own.all() else np.flatnonzero(own)
                yield Batch(
                    classes=self.classes,
                    class_ids=class_ids[chosen] - class_ids.dtype.type(self.classes.start),
                    values=values[chosen],
                )

    def together(self, n_records: int) -> Batch:
        class_ids: IntArray = np.empty(n_records, dtype=np.int32)
        values = np.empty((n_records, self.buckets[0].n_values))
        done = 0
        for part in self.parts(1 << 20):
            until = done + len(part.class_ids)
            class_ids[done:until], values[done:until] = part.class_ids, part.values
            done = until
        if done != n_records:
            raise self.buckets[0].damaged()
        return Batch(classes=self.classes, class_ids=class_ids, values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LargeClass:
    """A class of more records than a batch."""

    class_id: int
    members: _Members
    room: Room

    @property
    def most_values(self) -> int:
        return self.room.most_values

    def parts(self) -> Iterator[Batch]:
        return self.members.parts(self.room.records_per_part)
