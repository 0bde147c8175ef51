# SPDX-License-Identifier: Apache-2.0
"""Draws a sample of records on the cluster that is the same whenever the same records are read."""

from __future__ import annotations

from typing import Any

from kepsilon.engines.spark.tables import ROW

LIMIT = "limit"
"""The column with the largest hash of a record that is taken, as `table.record_hashes.hash_limits` gives it."""


def sampled(frame: Any, *, n_columns: int, rows: bool) -> Any:
    """The records of a frame with columns c0, c1 … whose hash is not above the limit that stands beside them.

    With `rows` the hash is that of the position in the input, as on every engine. Otherwise records have no order. Then
    the hash is that of all values, and of a running number among equal records, so that of these as well a share is taken.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if rows:
        return frame.where(f.xxhash64(f.col(ROW)) <= f.col(LIMIT))
    values = [_hashable(frame, f"c{i}") for i in range(n_columns)]
    of_values = frame.withColumn("of_values", f.xxhash64(*values) if values else f.lit(0))
    number = f.row_number().over(Window.partitionBy("of_values").orderBy("of_values"))
    numbered = of_values.withColumn("number", number)
    return numbered.where(f.xxhash64("of_values", "number") <= f.col(LIMIT))


def _hashable(frame: Any, name: str) -> Any:
    """A column that Spark can hash: maps, at any depth, as text."""
    column = frame[name]
    return column.cast("string") if "map<" in frame.schema[name].dataType.simpleString() else column
