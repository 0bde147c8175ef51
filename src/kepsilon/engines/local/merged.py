# SPDX-License-Identifier: Apache-2.0
"""The released records in memory, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.engines.arrow.merging import linkage_table
from kepsilon.sources import kinds
from kepsilon.sources.columns import decoded
from kepsilon.sources.parquet_files import write_folder
from kepsilon.sources.protocol import Sink
from kepsilon.sources.protocol import Source as OpenedSource
from kepsilon.table.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedRecords:
    """Which records are released, in the order in which they will be published."""

    records: IntArray
    """Positions among the records that were not left out, shape (n_released,)."""
    class_ids: IntArray
    """Shape (n_released,)."""
    published: FloatArray
    """Noisy values, shape (n_released, n_epsilon_quasis)."""


class LocalMerged:
    """The released records in memory, shuffled, not yet written."""

    def __init__(
        self,
        table: pa.Table,
        original_rows: IntArray,
        class_ids: IntArray,
        source: OpenedSource,
        *,
        input_types: Mapping[str, Any],
    ) -> None:
        self._table = table
        self._source = source
        self.inputs: tuple[Path, ...] = source.inputs
        self.n_records: int = table.num_rows
        self.input_types: Mapping[str, Any] = input_types
        self.original_rows = original_rows
        self.class_ids = class_ids

    def frame(self) -> Any:
        """The release as the kind of object that was read; an Arrow table where a file was read."""
        return self._source.like(decoded(self._table))

    def write(self, target: Path, *, final_name: Path) -> None:
        if target.is_dir():
            write_folder([self._table], target)
            return
        with kinds.writing(Sink(target=target, final_name=final_name, like=self._source)) as write:
            write(self._table)

    def linkage(self) -> pa.Table:
        """As `Merged.linkage`, as an Arrow table."""
        return linkage_table(self.original_rows, self.class_ids, first=0)

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        with kinds.writing(Sink(target=target, final_name=final_name)) as write:
            write(self.linkage())

    def close(self) -> None:
        """Nothing is on disk."""
