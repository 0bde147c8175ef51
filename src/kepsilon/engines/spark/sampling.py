# SPDX-License-Identifier: Apache-2.0
"""Draws a sample of records on the cluster that is the same whenever the same records are read."""

from __future__ import annotations

from typing import Any

from kepsilon.engines.spark.tables import ROW

LIMIT = "limit"
"""The column with the largest hash of a record that is taken, as `table.record_hashes.hash_limits` gives it."""


def sampled(frame: Any, *, n_columns: int, rows: bool, has_identifiers: bool) -> Any:
    """The records of a frame with columns c0, c1 … whose hash is not above the limit that stands beside them.

    With `rows` the hash is that of the position in the input, as on every engine. Otherwise records have no order, and the
    hash is that of all values and of a running number among equal records, so that of these as well a share is taken.
    Numbering sends records through Spark's shuffle files, where identifiers must not lie. With identifiers, which tell
    nearly all records apart, there is therefore no such number, and records that are equal in everything stay together.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if rows:
        return frame.where(f.xxhash64(f.col(ROW)) <= f.col(LIMIT))
    values = [hashable(frame, f"c{i}") for i in range(n_columns)]
    frame = frame.withColumn("of_values", f.xxhash64(f.lit(0), *values))
    if has_identifiers:
        return frame.where(f.col("of_values") <= f.col(LIMIT))
    number = f.row_number().over(Window.partitionBy("of_values").orderBy("of_values"))
    return frame.withColumn("number", number).where(f.xxhash64("of_values", "number") <= f.col(LIMIT))


def hashable(frame: Any, name: str) -> Any:
    """A column that Spark can hash: maps, at any depth, as text."""
    column = frame[name]
    return column.cast("string") if "map<" in frame.schema[name].dataType.simpleString() else column
