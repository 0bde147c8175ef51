# SPDX-License-Identifier: Apache-2.0
"""The released records in memory, and how they are written: some are put together while those before them are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.engines.arrow.merging import linkage_table
from kepsilon.sources import kinds
from kepsilon.sources.columns import decoded
from kepsilon.sources.parquet_files import PARQUET, write_folder
from kepsilon.sources.protocol import Sink
from kepsilon.sources.protocol import Source as OpenedSource
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.threads import each_of

_PIECE = 1 << 19
"""Records that are put together at a time, for files that may be written so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedRecords:
    """Which records are released, in the order of their classes, and the order in which they will be published."""

    records: IntArray
    """Positions among the records that were not left out, shape (n_released,)."""
    class_ids: IntArray
    """Shape (n_released,)."""
    published: FloatArray
    """Noisy values, shape (n_released, n_epsilon_quasis)."""
    order: IntArray
    """For every row of the release, its place in these arrays, shape (n_released,)."""

    def at(self, rows: slice) -> tuple[IntArray, FloatArray]:
        """Class ids and noisy values at some rows of the release."""
        places = self.order[rows]
        # The order has every place once, so that none has to be looked for outside.
        return self.class_ids.take(places, mode="clip"), self.published.take(places, axis=0, mode="clip")


class LocalMerged:
    """The released records in memory, shuffled, not yet written."""

    def __init__(
        self,
        table_of: Callable[[slice], pa.Table],
        linkage: Callable[[], tuple[IntArray, IntArray]],
        source: OpenedSource,
        *,
        n_records: int,
        input_types: Mapping[str, Any],
    ) -> None:
        """`table_of` gives some rows of the release, and `linkage` original row and class of every row."""
        self._table_of, self._linkage = table_of, linkage
        self._source = source
        self.inputs: tuple[Path, ...] = source.inputs
        self.n_records = n_records
        self.input_types: Mapping[str, Any] = input_types

    def frame(self) -> Any:
        """The release as the kind of object that was read; an Arrow table where a file was read."""
        return self._source.like(decoded(self._table_of(slice(None))))

    def write(self, target: Path, *, final_name: Path) -> None:
        if target.is_dir():
            write_folder(self._pieces(), target)
            return
        with kinds.writing(Sink(target=target, final_name=final_name, like=self._source)) as write:
            in_pieces = final_name.suffix.lower() in PARQUET.suffixes  # which do not depend on the pieces
            for piece in self._pieces() if in_pieces else [self._table_of(slice(None))]:
                write(piece)

    def _pieces(self) -> Iterator[pa.Table]:
        """The rows of the release some at a time; at least one piece, for the columns of a release without records."""
        firsts = range(0, max(1, self.n_records), _PIECE)
        return each_of(firsts, lambda first: self._table_of(slice(first, first + _PIECE)))

    def linkage(self) -> pa.Table:
        """As `Merged.linkage`, as an Arrow table."""
        original_rows, class_ids = self._linkage()
        return linkage_table(original_rows, class_ids, first=0)

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        with kinds.writing(Sink(target=target, final_name=final_name)) as write:
            write(self.linkage())

    def close(self) -> None:
        """Nothing is on disk."""
