# SPDX-License-Identifier: Apache-2.0
"""Records on disk by class, given noise a batch at a time, and then in an order nobody can guess."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.engines.limits import Limits
from kepsilon.engines.local import linkage_table
from kepsilon.engines.protocol import Draw, Found, Look, Random, Shuffle
from kepsilon.engines.spill_files import Bucket
from kepsilon.engines.stored_batches import NoisyBuckets, NoisyRecords, StoredBatch
from kepsilon.engines.stored_combinations import StoredCombinations
from kepsilon.errors import EngineError, Problem
from kepsilon.policy.roles import ColumnRoles
from kepsilon.private_folders import SpillFolder
from kepsilon.sources.columns import decoded
from kepsilon.sources.kinds import writing
from kepsilon.sources.parquet_files import write_folder
from kepsilon.sources.protocol import InParts, Sink
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import Recoding


class SpilledPreview:
    """The classes of one recoding, read from what is stored by combination."""

    def __init__(self, stored: StoredCombinations, recoding: Recoding, limits: Limits) -> None:
        self.sizes = recoding.sizes
        self._stored, self._recoding, self._limits = stored, recoding, limits

    def each(self, look: Look[Found]) -> Iterator[Found]:
        batches = self._limits.batches(self.sizes)
        return (look(self._stored.batch(own, self._recoding, self._limits)) for own in batches)


class SpilledClasses:
    """Buckets of whole classes, one for each batch; and once they have noise, buckets of records in any order."""

    def __init__(
        self,
        stored: list[StoredBatch],
        folder: SpillFolder,
        *,
        sizes: IntArray,
        files: InParts,
        roles: ColumnRoles,
        limits: Limits,
    ) -> None:
        self.sizes = sizes
        self._stored, self._folder = stored, folder
        self._files, self._roles, self._limits = files, roles, limits
        self._noisy = NoisyBuckets(
            folder.path,
            first_number=len(stored),
            n_buckets=limits.n_noisy_buckets(int(sizes.sum())),
            n_values=len(roles.epsilon_quasis),
            limits=limits,
        )

    def each(self, look: Look[Found]) -> Iterator[Found]:
        return (look(own.look(self._limits)) for own in self._stored)

    def draw(self, draw: Draw[Found], *, random: Random) -> Iterator[Found]:
        for own in self._stored:
            yield draw(own.look(self._limits), random, self._noisy.keeper(own, random))
            own.bucket.remove_kept()

    def each_kept(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> Iterator[Found]:
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
                n_records += bucket.keep_order(released[shuffle(len(released), random_bytes=random.bytes)])
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


class SpilledMerged:
    """The released records on disk, in buckets with an order drawn for each, not yet written."""

    def __init__(
        self,
        buckets: list[Bucket],
        folder: SpillFolder,
        *,
        n_records: int,
        files: InParts,
        roles: ColumnRoles,
        recoding: Recoding,
        new_ids: IntArray,
        integers: Collection[str],
    ) -> None:
        self.n_records = n_records
        self.inputs: tuple[Path, ...] = files.inputs
        self._buckets, self._folder, self._roles = buckets, folder, roles
        self._recoding, self._new_ids, self._integers = recoding, new_ids, integers

    def frame(self) -> Any:
        """All of it in memory, as Arrow."""
        return decoded(pa.concat_tables(self._tables())).unify_dictionaries()

    def write(self, target: Path, *, final_name: Path) -> None:
        if target.is_dir():
            write_folder(self._tables(), target)
            return
        with writing(Sink(target=target, final_name=final_name, in_parts=True)) as write:
            for table in self._tables():
                write(table)

    def linkage(self) -> pa.Table:
        """All of it in memory."""
        return pa.concat_tables(self._linkage())

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        with writing(Sink(target=target, final_name=final_name, in_parts=True)) as write:
            for table in self._linkage():
                write(table)

    def close(self) -> None:
        self._folder.close()

    def _tables(self) -> Iterator[pa.Table]:
        for bucket in self._buckets:
            yield NoisyRecords(buckets=[bucket]).table(
                bucket.order(), self._roles, self._recoding, self._new_ids, integers=self._integers
            )

    def _linkage(self) -> Iterator[pa.Table]:
        first = 0
        for bucket in self._buckets:
            rows, order = bucket.rows(), bucket.order()
            if rows is None:
                raise EngineError(Problem(where="linkage", what="was not asked for before the records were read."))
            yield linkage_table(rows[order], self._new_ids[bucket.class_ids()[order]], first=first)
            first += len(order)
