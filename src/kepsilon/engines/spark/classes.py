# SPDX-License-Identifier: Apache-2.0
"""The classes of a recoding on a disk that workers share, some batches for each: looked at, given noise and merged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar

from kepsilon.engines.on_disk.batches import NoisyRecords, StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.engines.on_disk.combinations import StoredCombinations
from kepsilon.engines.protocol import Draw, Found, Look, Random, Shuffle
from kepsilon.engines.room import Room
from kepsilon.engines.spark.jobs import Workers
from kepsilon.engines.spark.merged import SparkMerged
from kepsilon.engines.spark.tables import SparkTable
from kepsilon.engines.spark.tasks import (
    Drawing,
    Merging,
    WrittenPart,
    draw_all,
    find_in_batches,
    find_in_combinations,
    find_in_released,
    write_parts,
)
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import Recoding

T = TypeVar("T")

BATCHES_PER_TASK = 4
"""Several for every task, so that no task waits long for a slow one."""

_MOST_SHUFFLING = 64
"""Tasks that shuffle and write at the most: that takes a tenth of the time of storing records by class."""


class SparkPreview:
    """The classes of a recoding, read by the workers from ε-quasis that are stored by combination."""

    def __init__(
        self, stored: StoredCombinations, recoding: Recoding, room: Room, workers: Workers, *, n_tasks: int
    ) -> None:
        self.sizes = recoding.sizes
        self._stored, self._recoding, self._room = stored, recoding, room
        self._workers, self._n_tasks = workers, n_tasks

    def each(self, look: Look[Found]) -> list[Found]:
        # One batch for each task, not more: a batch reads every bucket that holds one of its combinations, often most.
        batches = self._room.batches(self.sizes, n_batches=self._n_tasks)
        work = partial(find_in_combinations, look=look, stored=self._stored, recoding=self._recoding, room=self._room)
        return _flat(self._workers.run(work, _groups(batches, self._n_tasks)))


class SparkClasses:
    """The classes of a recoding on disk, one bucket for each batch; noisy records go to buckets of their own."""

    def __init__(
        self,
        stored: list[StoredBatch],
        folder: SpillFolder,
        workers: Workers,
        *,
        sizes: IntArray,
        roles: ColumnRoles,
        room: Room,
        integers: frozenset[str],
        n_tasks: int,
        table: SparkTable,
    ) -> None:
        self.sizes = sizes
        self._stored, self._folder, self._workers = stored, folder, workers
        self._roles, self._room, self._integers = roles, room, integers
        self._n_tasks, self._table = n_tasks, table
        self._places: list[NoisyRecords] = []

    def each(self, look: Look[Found]) -> list[Found]:
        work = partial(find_in_batches, look=look, room=self._room)
        return _flat(self._workers.run(work, _groups(self._stored, self._n_tasks)))

    def draw(self, draw: Draw[Found], *, random: Random) -> list[Found]:
        """As `Classes.draw`. This one Spark action draws all noise; what its tasks stored is measured and released."""
        groups = _groups(self._stored, self._n_tasks)
        work = partial(
            draw_all,
            draw=draw,
            parent=self._workers.folder,
            n_buckets=max(self._room.n_noisy_buckets(int(self.sizes.sum())), _power_of_two(self._n_tasks)),
            n_values=len(self._roles.epsilon_quasis),
            room=self._room,
        )
        items = [Drawing(stored=group, random=random.apart(i)) for i, group in enumerate(groups)]
        drawn: list[tuple[list[Found], list[Bucket]]] = self._workers.run(work, items)
        self._places = [NoisyRecords(buckets=buckets) for buckets in zip(*(own for _, own in drawn), strict=True)]
        for own in self._stored:
            own.bucket.remove_kept()
        return _flat(found for found, _ in drawn)

    def each_released(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> list[Found]:
        work = partial(find_in_released, look=look, new_ids=new_ids)
        return _flat(self._workers.run(work, _groups(self._places, self._n_tasks)))

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle, random: Random
    ) -> SparkMerged:
        for own in self._stored:
            own.bucket.remove()
        work = partial(
            write_parts,
            parent=self._workers.folder,
            roles=self._roles,
            recoding=recoding,
            new_ids=new_ids,
            integers=self._integers.intersection(whole),
            shuffle=shuffle,
        )
        first = len(self._stored)  # tasks that drew noise had smaller numbers
        items = [Merging(place=place, random=random.apart(first + i)) for i, place in enumerate(self._places)]
        parts: list[WrittenPart] = _flat(self._workers.run(work, _groups(items, self._n_tasks)))
        for place in self._places:
            for bucket in place.buckets:
                bucket.remove()
        return SparkMerged(parts, self._folder, self._workers, table=self._table, roles=self._roles)

    def close(self) -> None:
        self._folder.close()


def _groups(items: Sequence[T], n_groups: int) -> list[Sequence[T]]:
    """The items in at most twice `n_groups` groups of neighbours, all of about the same size."""
    n_groups = max(1, min(2 * n_groups, len(items)))
    cuts = [i * len(items) // n_groups for i in range(n_groups + 1)]
    return [items[first:last] for first, last in itertools.pairwise(cuts) if last > first]


def _flat(groups: Any) -> list[Any]:
    return [own for group in groups for own in group]


def _power_of_two(n_tasks: int) -> int:
    """Enough noisy buckets for every task to shuffle some, and no more: each task that draws writes to all of them."""
    return 1 << (min(n_tasks, _MOST_SHUFFLING) - 1).bit_length()
