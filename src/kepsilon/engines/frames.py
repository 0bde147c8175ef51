# SPDX-License-Identifier: Apache-2.0
"""Tables in memory: Arrow, Polars, pandas and DuckDB in, the same kind back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kepsilon.errors import DataError, EngineError, Problem


class FrameSource:
    """A frame, known by its columns. Anything that speaks the Arrow C stream is understood."""

    def __init__(self, frame: Any) -> None:
        self.name = "table"
        self.library = type(frame).__module__.partition(".")[0].lstrip("_")
        if self.library == "polars" and hasattr(frame, "collect"):
            frame = frame.collect()
        self._table = _as_arrow(frame, self.library)
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


def _as_arrow(frame: Any, library: str) -> Any:
    """The frame as an Arrow table. Messages of the libraries quote cells, so none is passed on, not even as a cause."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if library == "pandas":
        problem = _unusable_pandas(frame)
        if problem is not None:
            raise DataError(problem)
        # The index carries record numbers, sometimes names; a column that matters should be a column.
        return pa.Table.from_pandas(_with_text_names(frame), preserve_index=False)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise EngineError(
            Problem(
                where="input",
                what=f"a {type(frame).__name__} is not a table that can be read.",
                fix="Give a path, or an Arrow, Polars, pandas or DuckDB table.",
            )
        )
    try:
        return pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        pass
    raise DataError(Problem(where="table", what="it cannot be read as Arrow data."))


def _unusable_pandas(frame: Any) -> Problem | None:
    """What keeps a pandas frame from being read: names that come twice, or a column of mixed types."""
    import pyarrow as pa

    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        return Problem(
            where="table", what=f'several columns are named "{twice}".', fix="Give every column its own name."
        )
    for position, name in enumerate(names):
        try:
            pa.Array.from_pandas(frame.iloc[:, position])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
            return Problem(
                where=f'table: column "{name}"',
                what="holds values of several types, or of one that is not known.",
                fix='Make them one type first, for example with .astype("string").',
            )
    return None


def _with_text_names(frame: Any) -> Any:
    return frame if all(isinstance(name, str) for name in frame.columns) else frame.rename(columns=str)
