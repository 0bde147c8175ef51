# SPDX-License-Identifier: Apache-2.0
"""What is read from the footer of a Parquet file is what Arrow reads, and a damaged footer ends no process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from kepsilon.sources.parquet_footer import chunks_of

N = 300
TABLE = pa.table(
    {
        "text": [f"text {i % 17}" for i in range(N)],
        "größe": [i / 7 for i in range(N)],
        "whole": pa.array([i % 50 if i % 7 else None for i in range(N)]),
        "yes": [i % 3 == 0 for i in range(N)],
        "coded": pa.array([f"c{i % 5}" for i in range(N)]).dictionary_encode(),
        "listed": [[{"a": i, "b": str(i)}] for i in range(N)],
        "none": pa.nulls(N),
        **{f"more {i}": [i] * N for i in range(20)},  # more than fit into the short form of a list
    }
)

LAYOUTS = {
    "as it is": {},
    "small groups": {"row_group_size": 7},
    "old": {"version": "1.0", "compression": "gzip"},
    "plain": {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False},
    "indexed": {"write_page_index": True, "data_page_version": "2.0", "compression": "zstd"},
    "lz4": {"compression": "lz4", "use_dictionary": ["text"], "write_statistics": ["whole"]},
    "brotli": {"compression": "brotli", "write_page_checksum": True},
}


def refuse_other_chunks(file: Path) -> None:
    """Fails if a chunk differs from what Arrow says of it."""
    metadata = parquet.read_metadata(file)
    found = chunks_of(file)
    assert len(found) == metadata.num_row_groups
    for i, group in enumerate(found):
        expected = [metadata.row_group(i).column(j) for j in range(metadata.num_columns)]
        assert [chunk.path for chunk in group] == [chunk.path_in_schema for chunk in expected]
        assert [chunk.n_bytes for chunk in group] == [chunk.total_uncompressed_size for chunk in expected]
        assert [chunk.compression for chunk in group] == [chunk.compression for chunk in expected]
        assert [chunk.has_dictionary for chunk in group] == [chunk.has_dictionary_page for chunk in expected]
        assert [chunk.has_statistics for chunk in group] == [chunk.is_stats_set for chunk in expected]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_chunks_are_those_that_arrow_reads(tmp_path, layout):
    """Whatever options the file was written with."""
    parquet.write_table(TABLE, tmp_path / "a.parquet", **LAYOUTS[layout])
    refuse_other_chunks(tmp_path / "a.parquet")


def test_chunks_of_other_programs(tmp_path):
    """DuckDB and Polars fill other fields."""
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    flat = TABLE.drop_columns(["listed", "none"])
    polars.from_arrow(flat).write_parquet(tmp_path / "polars.parquet")
    refuse_other_chunks(tmp_path / "polars.parquet")
    with duckdb.connect() as connection:
        connection.register("flat", flat)
        connection.execute(f"COPY flat TO '{tmp_path / 'duckdb.parquet'}' (FORMAT parquet, ROW_GROUP_SIZE 100)")
    refuse_other_chunks(tmp_path / "duckdb.parquet")


def test_files_without_records(tmp_path):
    """No row group, or an empty one."""
    parquet.write_table(TABLE.slice(0, 0), tmp_path / "a.parquet")
    refuse_other_chunks(tmp_path / "a.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\xff\xff\xff\xffPAR1", b"\x19" * 64 + b"\x40\0\0\0PAR1"])
def test_what_is_no_footer(tmp_path, content):
    """Too short, longer than the file, or nested without end."""
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(pa.ArrowInvalid):
        chunks_of(tmp_path / "a.parquet")


EVERY_BYTE = """
import resource, sys
from pathlib import Path
from kepsilon.errors import AnonymisationError
from kepsilon.sources.parquet_files import ParquetFiles

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a damaged length must not fill the machine
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
file = Path(sys.argv[1])
whole = file.read_bytes()
n_footer = int.from_bytes(whole[-8:-4], "little") + 8
n_refused = 0
for at in range(len(whole) - n_footer, len(whole)):
    for changed in {whole[at] ^ 1, whole[at] ^ 16, (whole[at] + 1) % 256, 0} - {whole[at]}:
        file.write_bytes(whole[:at] + bytes([changed]) + whole[at + 1 :])
        try:
            source = ParquetFiles(file)
            source.arrow_table(source.column_names)
            list(source.parts(source.column_names, coded=[], n_records=10))
        except AnonymisationError:
            n_refused += 1
print(n_refused)
"""


def test_every_byte_of_a_footer_changed(tmp_path):
    """Refused, or read as what it says; Arrow's view of the metadata would end the process for some of them."""
    table = pa.table({"text": ["a", "b", None], "yes": [True, False, True], "whole": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet", store_schema=False)
    outcome = subprocess.run(
        [sys.executable, "-c", EVERY_BYTE, str(tmp_path / "a.parquet")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    assert int(outcome.stdout) > 100


def test_lists_in_lists_without_end_are_damage(tmp_path):
    """As structs in structs are; Python's own limit must not be what is said."""
    footer = b"\x49" + b"\x19" * 5000
    path = tmp_path / "deep.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(pa.ArrowInvalid):
        chunks_of(path)
