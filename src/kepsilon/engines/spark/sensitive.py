# SPDX-License-Identifier: Apache-2.0
"""The values of a sensitive column by row of the frequency table, counted on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import encode
from kepsilon.engines.arrow.numpy_arrays import to_positions
from kepsilon.engines.counts.sensitive import SensitiveCodes
from kepsilon.engines.room import Room
from kepsilon.engines.spark.jobs import Workers
from kepsilon.engines.spark.storing import as_input
from kepsilon.engines.spark.tasks import StoreCounts, read_counts
from kepsilon.sources.columns import in_one_piece, moved_type
from kepsilon.sources.files import changed
from kepsilon.table.arrays import IntArray
from kepsilon.table.sensitive import SensitiveCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesByRow:
    """Rows of the frequency table, values of a sensitive column, and how many records have both."""

    name: str
    source: str
    """The name of the table, for error messages."""
    table: pa.Table

    def coded(self, kind: pa.DataType, counts: IntArray, room: Room) -> tuple[SensitiveCodes, SensitiveCounts]:
        """The codes of the values, and how often each occurs in each row.

        `kind` is the type of the column in the input, `counts` the records of every row: refused where there are others.
        """
        rows, records = (to_positions(in_one_piece(self.table.column(i)), null=0).astype(np.int64) for i in (0, 2))
        if not np.array_equal(np.bincount(rows, weights=records, minlength=len(counts)), counts):
            raise changed(self.source)
        column = as_input(self.table.column(1), moved_type(kind))
        texts, places = encode(column, self.name, self.source)
        room.refuse_sensitive_values(len(texts), self.name, self.source)
        codes = SensitiveCodes.of(texts, name=self.name, source=self.source)
        return codes, codes.count(rows, [texts[i] for i in places.tolist()], records)


def count_values(values: Any, workers: Workers, *, name: str, source: str, room: Room) -> ValuesByRow:
    """Counts the records of a Spark frame of rows of the frequency table and values, by both."""
    from pyspark.sql import functions as f

    counted = values.groupBy("class_id", "value").agg(f.count(f.lit(1)).alias("n"))
    parts: list[pa.Table] = []
    for path in workers.collect(counted, StoreCounts(parent=workers.folder)):
        if path.stat().st_size:
            parts.append(read_counts(path))
            room.refuse_pairs(sum(len(own) for own in parts), f'a value of "{name}"', source)
    if not parts:
        raise changed(source)
    return ValuesByRow(name=name, source=source, table=pa.concat_tables(parts))
