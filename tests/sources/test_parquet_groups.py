# SPDX-License-Identifier: Apache-2.0
"""Row groups that are encoded apart make the file that Arrow writes one group after the other, byte by byte."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from kepsilon.sources import parquet_writing
from kepsilon.sources.kinds import writing
from kepsilon.sources.parquet_groups import JoinedGroups
from kepsilon.sources.protocol import Sink

N = 400
TABLES = {
    "every shape": pa.table(
        {
            "text": [f"text {i % 17}" for i in range(N)],
            "größe": [i / 7 for i in range(N)],
            "whole": pa.array([i % 50 if i % 7 else None for i in range(N)]),
            "yes": [i % 3 == 0 for i in range(N)],
            "coded": pa.array([f"c{i % 5}" for i in range(N)]).dictionary_encode(),
            "listed": [[{"a": i, "b": str(i)}] * (i % 3) for i in range(N)],
            "none": pa.nulls(N),
        }
    ),
    "no records": pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}),
    "one column": pa.table({"a": range(N)}),
    "many columns": pa.table({f"column {i}": [i] * N for i in range(40)}),
}
OPTIONS = {
    "as releases": {"compression": "snappy", "store_schema": False},
    "plain": {"compression": "none", "use_dictionary": False, "write_statistics": False},
    "other pages": {"data_page_version": "2.0", "compression": "zstd", "data_page_size": 64},
}
SPOKEN = {"some": "metadata"}


def encoded(
    table: pa.Table | None, schema: pa.Schema, *, size: int, options: dict, metadata: dict | None = None
) -> bytes:
    sink = io.BytesIO()
    with parquet.ParquetWriter(sink, schema, **options) as writer:
        for first in [] if table is None else range(0, max(1, len(table)), size):
            writer.write_table(table.slice(first, size), row_group_size=size)
        if metadata:
            writer.add_key_value_metadata(metadata)
    return sink.getvalue()


@pytest.mark.parametrize("size", [1, 7, 26, 27, 28, N], ids=lambda size: f"{size} records a group")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", TABLES)
def test_the_joined_file_is_the_one_that_arrow_writes(name, options, size):
    """Another order of bytes would be another file of the same table; a wrong offset would be no file at all."""
    table, options = TABLES[name], OPTIONS[options]
    joined, parts = JoinedGroups(), [b"PAR1"]
    for first in range(0, max(1, len(table)), size):
        part = encoded(table.slice(first, size), table.schema, size=size, options=options)
        parts.append(bytes(joined.add(pa.py_buffer(part))))
    without_records = encoded(None, table.schema, size=size, options=options, metadata=SPOKEN)
    parts.append(joined.footer(pa.py_buffer(without_records)))
    assert b"".join(parts) == encoded(table, table.schema, size=size, options=options, metadata=SPOKEN)


@pytest.mark.parametrize("at_a_time", [1, 2, 4])
def test_a_file_does_not_depend_on_how_many_groups_are_encoded_at_a_time(tmp_path, monkeypatch, at_a_time):
    """The order of row groups is the order of the records, whichever is done first."""
    monkeypatch.setattr(parquet_writing, "_AT_A_TIME", at_a_time)
    monkeypatch.setattr("kepsilon.sources.even_parts._MOST_RECORDS", 1 << 10)
    table = pa.table({"long": [str(i) * (500 if i < 1 << 10 else 1) for i in range(9_000)], "short": range(9_000)})
    file = tmp_path / "a.parquet"
    with writing(Sink(target=file, final_name=file)) as write:
        write(table)
    assert parquet.read_metadata(file).num_row_groups == 9_000 // (1 << 10) + 1
    assert parquet.read_table(file).equals(table)
    again = io.BytesIO()
    with parquet.ParquetFile(file) as opened:
        kept = {"ARROW:schema": opened.metadata.metadata[b"ARROW:schema"].decode()}
        with parquet.ParquetWriter(again, table.schema, store_schema=False, use_dictionary=False) as writer:
            for i in range(opened.num_row_groups):
                writer.write_table(opened.read_row_group(i))
            writer.add_key_value_metadata(kept)
    assert file.read_bytes() == again.getvalue()
