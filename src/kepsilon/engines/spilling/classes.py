# SPDX-License-Identifier: Apache-2.0
"""The classes of a recoding on disk, a batch at a time in memory: looked at, given noise and merged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import pyarrow as pa

from kepsilon.engines.on_disk.batches import NoisyBuckets, NoisyRecords, StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.engines.on_disk.combinations import StoredCombinations
from kepsilon.engines.protocol import Batch, Draw, Found, Look, Random, Shuffle
from kepsilon.engines.room import Room
from kepsilon.engines.spilling.merged import SpilledMerged
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.protocol import SourceInParts
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import Recoding
from kepsilon.threads import Turns, each_of

_AT_A_TIME = 2
"""Batches that memory has room for."""


def several_at_a_time(sizes: IntArray, room: Room) -> list[slice]:
    """The classes of each batch, such that memory has room for two batches, unless a class has too many records for that.

    `sizes` are the records of every class.
    """
    return room.batches(sizes, n_batches=-(-_AT_A_TIME * int(sizes.sum()) // room.records_per_batch))


class SpilledPreview:
    """The classes of a recoding, read from ε-quasis that are stored by combination."""

    def __init__(self, stored: StoredCombinations, recoding: Recoding, room: Room) -> None:
        self.sizes = recoding.sizes
        self._stored, self._recoding, self._room = stored, recoding, room

    def each(self, look: Look[Found]) -> Iterator[Found]:
        batches = self._room.batches(
            self.sizes
        )  # large ones, because each reads buckets that hold records of others too
        return (look(self._stored.batch(own, self._recoding, self._room)) for own in batches)


class SpilledClasses:
    """The classes of a recoding on disk, one bucket for each batch; noisy records go to buckets of their own."""

    def __init__(
        self,
        stored: list[StoredBatch],
        folder: SpillFolder,
        *,
        sizes: IntArray,
        files: SourceInParts,
        roles: ColumnRoles,
        room: Room,
    ) -> None:
        self.sizes = sizes
        self._stored, self._folder = stored, folder
        self._files, self._roles, self._room = files, roles, room
        self._noisy = NoisyBuckets(
            folder.path,
            first_number=len(stored),
            n_buckets=room.n_noisy_buckets(int(sizes.sum())),
            n_values=len(roles.epsilon_quasis),
            room=room,
        )

    def each(self, look: Look[Found]) -> Iterator[Found]:
        return self._each(lambda place: look(self._stored[place].read(self._room)))

    def draw(self, draw: Draw[Found], *, random: Random) -> Iterator[Found]:
        sources = [random] if len(self._stored) == 1 else [random.apart(i) for i in range(len(self._stored))]
        turns = Turns()

        def drawn(place: int) -> Found:
            own = self._stored[place]
            with turns.ending(place):
                store = self._noisy.store_for(own, sources[place])

                def store_in_turn(part: Batch, published: FloatArray, stays: BoolArray) -> None:
                    turns.wait_for(place)  # so that a seed puts the same records into the same buckets
                    store(part, published, stays)

                found = draw(own.read(self._room), sources[place], store_in_turn)
                own.bucket.remove_kept()
            return found

        return self._each(drawn)

    def _each(self, work: Callable[[int], Found]) -> Iterator[Found]:
        """What is found in the batch at every place, several batches at a time as far as memory has room for them."""
        sizes = [own.bucket.n_records for own in self._stored]
        return each_of(range(len(sizes)), work, sizes=sizes, most=self._room.records_per_batch)

    def each_released(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> Iterator[Found]:
        return (look(NoisyRecords(buckets=[own]).published(new_ids)) for own in self._noisy.buckets if own.n_records)

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle, random: Random
    ) -> SpilledMerged:
        for stored in self._stored:
            stored.bucket.remove()
        filled: list[Bucket] = []
        n_records = 0
        for bucket in self._noisy.buckets:
            released = NoisyRecords(buckets=[bucket]).released(new_ids)
            if len(released):
                n_records += bucket.store_order(released[shuffle(len(released), random_bytes=random.bytes)])
                filled.append(bucket)
        integers = {n for n in self._roles.epsilon_quasis if pa.types.is_integer(self._files.schema.field(n).type)}
        return SpilledMerged(
            filled,
            self._folder,
            n_records=n_records,
            files=self._files,
            roles=self._roles,
            recoding=recoding,
            new_ids=new_ids,
            integers=integers.intersection(whole),
        )

    def close(self) -> None:
        self._folder.close()
