# SPDX-License-Identifier: Apache-2.0
"""The released records on disk, and how they are written, one bucket after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.engines.arrow.merging import label_columns, linkage_table
from kepsilon.engines.on_disk.batches import NoisyRecords
from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.errors import EngineError, Problem
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import decoded
from kepsilon.sources.kinds import writing
from kepsilon.sources.parquet_files import write_folder
from kepsilon.sources.protocol import Sink, SourceInParts
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import Recoding
from kepsilon.threads import each_of


class SpilledMerged:
    """The released records on disk, in buckets that are shuffled, not yet written."""

    def __init__(
        self,
        buckets: list[Bucket],
        folder: SpillFolder,
        *,
        n_records: int,
        files: SourceInParts,
        roles: ColumnRoles,
        recoding: Recoding,
        new_ids: IntArray,
        integers: Collection[str],
    ) -> None:
        self.n_records = n_records
        self.inputs: tuple[Path, ...] = files.inputs
        self.input_types: Mapping[str, Any] = {name: files.schema.field(name).type for name in roles.kept}
        self._buckets, self._folder, self._roles = buckets, folder, roles
        self._labels, self._new_ids, self._integers = label_columns(roles, recoding), new_ids, integers

    def frame(self) -> Any:
        """The release as an Arrow table, which has to fit into memory."""
        return decoded(pa.concat_tables(self._tables()))

    def write(self, target: Path, *, final_name: Path) -> None:
        if target.is_dir():
            write_folder(self._tables(), target)
            return
        with writing(Sink(target=target, final_name=final_name, in_parts=True)) as write:
            for table in self._tables():
                write(table)

    def linkage(self) -> pa.Table:
        """As `Merged.linkage`, as an Arrow table, which has to fit into memory."""
        return pa.concat_tables(self._linkage())

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        with writing(Sink(target=target, final_name=final_name, in_parts=True)) as write:
            for table in self._linkage():
                write(table)

    def close(self) -> None:
        self._folder.close()

    def _tables(self) -> Iterator[pa.Table]:
        def table(bucket: Bucket) -> pa.Table:
            return NoisyRecords(buckets=[bucket]).table(
                bucket.order(), self._roles, self._labels, self._new_ids, integers=self._integers
            )

        sizes = [bucket.n_records for bucket in self._buckets]
        # One is put together while the one before it is written.
        yield from each_of(self._buckets, table, sizes=sizes, most=2 * max(sizes, default=0))

    def _linkage(self) -> Iterator[pa.Table]:
        first = 0
        for bucket in self._buckets:
            rows, order = bucket.rows(), bucket.order()
            if rows is None:
                raise EngineError(Problem(where="linkage", what="was not asked for before the records were read."))
            yield linkage_table(rows[order], self._new_ids[bucket.class_ids()[order]], first=first)
            first += len(order)
