# SPDX-License-Identifier: Apache-2.0
"""Tables in memory: Arrow, Polars, pandas and DuckDB in, the same kind back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kepsilon.errors import EngineError, Problem


class FrameSource:
    """A frame, known by its columns. Anything that speaks the Arrow C stream is understood."""

    def __init__(self, frame: Any) -> None:
        import pyarrow as pa

        self.name = "table"
        self.library = type(frame).__module__.partition(".")[0].lstrip("_")
        if self.library == "polars" and hasattr(frame, "collect"):
            frame = frame.collect()
        if self.library == "pandas":
            # The index carries record numbers, sometimes names; a column that matters should be a column.
            frame = pa.Table.from_pandas(_with_text_names(frame), preserve_index=False)
        if not hasattr(frame, "__arrow_c_stream__"):
            raise EngineError(
                Problem(
                    where="input",
                    what=f"a {type(frame).__name__} is not a table that can be read.",
                    fix="Give a path, or an Arrow, Polars, pandas or DuckDB table.",
                )
            )
        self._table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        self.column_names = tuple(self._table.column_names)

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> Any:  # noqa: ARG002
        return self._table.select(list(columns))

    def like(self, table: Any) -> Any:
        """An Arrow table as the kind of frame that came in."""
        if self.library == "polars":
            import polars as pl

            return pl.from_arrow(table)
        if self.library == "pandas":
            return table.to_pandas()
        if self.library == "duckdb":
            import duckdb

            return duckdb.from_arrow(table)
        return table


def _with_text_names(frame: Any) -> Any:
    return frame if all(isinstance(name, str) for name in frame.columns) else frame.rename(columns=str)
