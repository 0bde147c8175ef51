# SPDX-License-Identifier: Apache-2.0
"""ε-quasis stored on disk by combination of k-quasi values, once for any number of recodings.

For the previews of the spilling and the Spark engine. A class consists of whole combinations, whatever the recoding. So
nothing is stored again for another recoding: a batch
of classes reads the buckets that hold its combinations.
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
"""Buckets for each batch's worth of records: a batch reads every bucket that holds one of its combinations."""
_FEWEST_BUCKETS = 16


def combinations_of_buckets(counts: IntArray, room: Room) -> list[slice]:
    """The combinations of each bucket, neighbours in the frequency table together; `counts` is records by combination."""
    n_batches = -(-int(counts.sum()) // room.records_per_batch)
    return room.buckets(counts, n_buckets=max(_FEWEST_BUCKETS, _BUCKETS_PER_BATCH * n_batches))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCombinations:
    """Buckets of neighbouring combinations. What a bucket stores as class id is a combination's place in the frequency table."""

    combinations: Sequence[slice]
    """The combinations of each bucket."""
    buckets: Sequence[Bucket]

    def batch(self, classes: slice, recoding: Recoding, room: Room) -> Batch | LargeClass:
        """Some whole classes of a recoding, in memory, or a class to be read in parts where there is no room for it."""
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
        """Each bucket, with its combinations."""
        return zip(self.combinations, self.buckets, strict=True)


def _meets(class_of: IntArray, classes: slice) -> bool:
    """Whether some combination is in one of the classes."""
    return bool(np.any((class_of >= classes.start) & (class_of < classes.stop)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Members:
    """The records of some classes, in buckets that hold records of other classes too."""

    classes: slice
    class_of: IntArray
    """Class of every combination, by its place in the frequency table."""
    buckets: Sequence[Bucket]

    def parts(self, step: int) -> Iterator[Batch]:
        """The records of the classes, as found among `step` stored records at a time."""
        for bucket in self.buckets:
            for first in range(0, bucket.n_records, step):
                class_ids = self.class_of[bucket.class_ids(first, first + step)]
                values = bucket.values(first, first + step)
                details = bucket.details(first, first + step)
                own = (class_ids >= self.classes.start) & (class_ids < self.classes.stop)
                chosen = slice(None) if own.all() else np.flatnonzero(own)
                yield Batch(
                    classes=self.classes,
                    class_ids=class_ids[chosen] - class_ids.dtype.type(self.classes.start),
                    values=values[chosen],
                    persons=_chosen(None if details is None else details.persons, chosen),
                    sensitive=_chosen(None if details is None else details.sensitive, chosen),
                )

    def together(self, n_records: int) -> Batch:
        """All `n_records` records of the classes in one batch."""
        class_ids: IntArray = np.empty(n_records, dtype=np.int32)
        values = np.empty((n_records, self.buckets[0].n_values))
        done = 0
        persons: list[IntArray] = []
        sensitive: list[IntArray] = []
        for part in self.parts(1 << 20):
            until = done + len(part.class_ids)
            class_ids[done:until], values[done:until] = part.class_ids, part.values
            persons += [] if part.persons is None else [part.persons]
            sensitive += [] if part.sensitive is None else [part.sensitive]
            done = until
        if done != n_records:
            raise self.buckets[0].damaged()
        return Batch(
            classes=self.classes,
            class_ids=class_ids,
            values=values,
            persons=np.concatenate(persons) if persons else None,
            sensitive=np.concatenate(sensitive) if sensitive else None,
        )


def _chosen(numbers: IntArray | None, chosen: IntArray | slice) -> IntArray | None:
    return None if numbers is None else numbers[chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LargeClass:
    """A `LargeClass` whose records are stored by combination."""

    class_id: int
    members: _Members
    room: Room

    @property
    def kept_at(self) -> None:
        """Kept columns are not stored by combination."""

    @property
    def most_values(self) -> int:
        return self.room.most_values

    def parts(self) -> Iterator[Batch]:
        return self.members.parts(self.room.records_per_part)
