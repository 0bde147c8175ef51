# SPDX-License-Identifier: Apache-2.0
"""The released records on disk, as the workers wrote them, and how they are written to their place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.engines.arrow.numpy_arrays import from_numpy, to_positions
from kepsilon.engines.spark.jobs import Workers
from kepsilon.engines.spark.tables import FrameOnSpark, SparkTable
from kepsilon.engines.spark.tasks import WrittenPart, files_of_parts, read_part, write_file
from kepsilon.errors import EngineError, Problem
from kepsilon.files.private_folders import SpillFolder, closed
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import decoded, in_one_piece
from kepsilon.sources.kinds import writing
from kepsilon.sources.parquet_files import ParquetFiles, file_in
from kepsilon.sources.protocol import Sink

_OPEN_FOLDERS: list[SpillFolder] = []
"""Folders that a released DataFrame still reads; removed when the program ends, unless they are closed before."""


class SparkMerged:
    """The released records on disk, in Parquet files that are shuffled, not yet written to their place."""

    def __init__(
        self, parts: list[WrittenPart], folder: SpillFolder, workers: Workers, *, table: SparkTable, roles: ColumnRoles
    ) -> None:
        self.n_records = sum(part.n_records for part in parts)
        self.inputs = table.inputs
        self.input_types: Mapping[str, Any] = {name: table.schema.field(name).type for name in roles.kept}
        self._parts, self._folder, self._workers, self._table, self._roles = parts, folder, workers, table, roles
        if isinstance(table, FrameOnSpark):
            _OPEN_FOLDERS.append(folder)

    def frame(self) -> Any:
        """The release as a Spark DataFrame, to be used until the release is closed, where a DataFrame was read.

        Where files were read, an Arrow table, which has to fit into memory.
        """
        self._refuse_closed()
        if isinstance(self._table, FrameOnSpark):
            return self._workers.read([part.path for part in self._parts])
        return decoded(pa.concat_tables(self._tables()))

    def write(self, target: Path, *, final_name: Path) -> None:
        self._refuse_closed()
        if target.is_dir():
            # Workers wrote as many parts as suited them and their memory. What is published must not tell that.
            work = partial(write_file, parent=self._workers.folder, roles=self._roles)
            for i, file in enumerate(self._workers.run(work, files_of_parts(self._parts))):
                shutil.copyfile(file, file_in(target, i))
                file.unlink()
            return
        with writing(Sink(target=target, final_name=final_name, in_parts=True)) as write:
            for table in self._tables():
                write(table)

    def _tables(self) -> Iterator[pa.Table]:
        for part in self._parts:
            yield from read_part(part, self._roles)

    def linkage(self) -> pa.Table:
        """As `Merged.linkage`, as an Arrow table, which has to fit into memory."""
        return pa.concat_tables(self._linkage())

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        with writing(Sink(target=target, final_name=final_name, in_parts=True)) as write:
            for table in self._linkage():
                write(table)

    def _refuse_closed(self) -> None:
        if not self._folder.path.exists():
            raise closed()

    def _linkage(self) -> Iterator[pa.Table]:
        self._refuse_closed()
        first = 0
        for part in self._parts:
            if part.linkage is None:
                raise _no_linkage(is_frame=isinstance(self._table, FrameOnSpark))
            table = ParquetFiles(part.linkage).arrow_table(["original_row", "released_row", "class_id"])
            rows = to_positions(in_one_piece(table.column("released_row")), null=0) + first
            yield table.set_column(1, "released_row", from_numpy(rows))
            first += part.n_records

    def close(self) -> None:
        if self._folder in _OPEN_FOLDERS:
            _OPEN_FOLDERS.remove(self._folder)
        self._folder.close()


def _no_linkage(*, is_frame: bool) -> EngineError:
    what = "was not asked for before the records were read."
    if is_frame:
        what = "records of a DataFrame have no position, so nothing can say which they were."
    return EngineError(Problem(where="linkage", what=what))
