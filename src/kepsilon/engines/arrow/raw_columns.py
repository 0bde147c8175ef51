# SPDX-License-Identifier: Apache-2.0
"""Columns with the buffers and dictionaries that a file or frame has, for the audit to search."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.sources.files import readable
from kepsilon.sources.folders import files_of, is_many
from kepsilon.sources.frames import FrameSource
from kepsilon.sources.kinds import find_kind
from kepsilon.sources.parquet_files import Parquet


class RawColumns:
    """The columns of a table as they are stored."""

    def __init__(self, table: AuditedTable) -> None:
        self._table = table

    def column(self, name: str) -> tuple[pa.ChunkedArray, bool, bool]:
        """A column as it is stored, whether what is under its nulls is stored too, and whether its dictionaries are its own.

        Parquet stores nothing under nulls, and DuckDB whatever was there before. Polars numbers the categories of all
        frames together, so the order of a dictionary in a Polars frame does not tell about the frame.
        """
        path, source = self._table.path, self._table.source
        if path is not None and isinstance(find_kind(path), Parquet):
            return self._from_parquet(name), False, True
        column = source.arrow_table([name]).column(0)
        library = source.library if isinstance(source, FrameSource) else ""
        return column, library != "duckdb", library != "polars"

    def _from_parquet(self, name: str) -> pa.ChunkedArray:
        """The column of all row groups, text with the dictionaries of its pages, at any depth."""
        path: Any = self._table.path
        chunks: list[pa.Array] = []
        kind = None
        for file in files_of(path) if is_many(path) else (path,):
            with readable(file):
                found = _row_groups(file, name)
            for column in found:
                if kind in (None, column.type):
                    kind = column.type
                    chunks += column.chunks
        return pa.chunked_array(chunks, type=kind or pa.null())


def _row_groups(file: Path, name: str) -> list[pa.ChunkedArray]:
    """A column by row group, text with the dictionaries of its pages if they can be read; empty if nothing can."""
    schema = parquet.read_metadata(file).schema
    leaves = [schema.column(i) for i in range(len(schema))]
    own = [leaf.path for leaf in leaves if leaf.path == name or leaf.path.startswith(f"{name}.")]
    texts = [leaf.path for leaf in leaves if leaf.path in own and leaf.physical_type == "BYTE_ARRAY"]
    for coded in (texts, []):
        with (
            contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid),
            parquet.ParquetFile(file, read_dictionary=coded) as opened,
        ):
            return [opened.read_row_group(i, columns=[name]).column(0) for i in range(opened.num_row_groups)]
    return []
