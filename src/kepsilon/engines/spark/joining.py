# SPDX-License-Identifier: Apache-2.0
"""Joins records to their combinations on the cluster, by the values that both were counted with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from kepsilon.engines.arrow.numpy_arrays import from_numpy
from kepsilon.engines.spark.storing import UNCOUNTED
from kepsilon.engines.spark.tables import ROW
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import SUPPRESSED


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinationKeys:
    """The values that tell counted combinations apart, and the file and the condition that records are joined by."""

    values: pa.Table
    """k-quasis as c0, c1 … and flags of what is missing as m0, m1 …, as Spark returned them; a row for each combination."""
    n_k_quasis: int
    may_miss: tuple[bool, ...]
    """Whether any record missed each ε-quasi, or the person if records have one, when combinations were counted."""

    def write(self, target: Path, numbers: Mapping[str, IntArray], *, only: IntArray | None = None) -> None:
        """Writes a file of the combinations with some numbers for each; of those at the positions `only`, if given."""
        keys = {name.replace("c", "k"): self.values.column(name) for name in self.values.column_names}
        table = pa.table({**keys, **{name: from_numpy(own) for name, own in numbers.items()}})
        parquet.write_table(table if only is None else table.take(from_numpy(only)), target)

    def are_same(self, frame: Any, combinations: Any) -> Any:
        """The condition that joins records, in columns c0, c1 …, to combinations that were read from such a file."""
        from pyspark.sql import functions as f

        are_same = f.lit(True)
        for i in range(self.n_k_quasis):
            # Null equals null here. The plain comparison, which is faster, is enough where there is no null.
            has_null = self.values.column(f"c{i}").null_count > 0
            mine, theirs = frame[f"c{i}"], combinations[f"k{i}"]
            are_same &= mine.eqNullSafe(theirs) if has_null else mine == theirs
        for j, may_miss in enumerate(self.may_miss):
            if may_miss:
                are_same &= frame[f"c{self.n_k_quasis + j}"].isNull() == combinations[f"m{j}"]
        return are_same

    def by_class(self, frame: Any, combinations: Any, *, n_kept: int, rows: bool) -> Any:
        """A Spark frame of class id, batch, ε-quasis, person, position in the input if `rows`, and kept columns.

        It has no suppressed record, and a person only if records have one. `combinations` were read from such a file, with
        class and batch of each.
        """
        from pyspark.sql import functions as f

        n_k, n_quasis = self.n_k_quasis, self.n_k_quasis + len(self.may_miss)
        joined = frame.join(f.broadcast(combinations), self.are_same(frame, combinations), "left")
        class_id = f.coalesce(combinations["class_id"], f.lit(UNCOUNTED))
        return joined.where(class_id != SUPPRESSED).select(
            class_id.alias("class_id"),
            f.coalesce(combinations["batch"], f.lit(0)).alias("batch"),
            *(frame[f"c{i}"] for i in range(n_k, n_quasis)),
            *([frame[ROW]] if rows else []),
            *(frame[f"c{i}"] for i in range(n_quasis, n_quasis + n_kept)),
        )


def in_batches(frame: Any, n_parts: int) -> Any:
    """The frame in `n_parts` partitions of whole batches, evenly where Spark has `repartitionById` (4.1 and newer).

    Records need no order inside a partition: a worker stores them in one bucket for each batch, and the kernels sort.
    """
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(n_parts, frame["batch"] % n_parts).drop("batch")
    return frame.repartition(n_parts, "batch").drop("batch")
