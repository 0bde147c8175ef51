# SPDX-License-Identifier: Apache-2.0
"""Files are functions of the table that they hold: the pieces in which records come do not matter."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kepsilon.auditing.csv_layout import csv_layout
from kepsilon.auditing.number_texts import are_written_in_one_way
from kepsilon.engines.arrow.rendered import render_again
from kepsilon.sources.even_parts import EvenParts
from kepsilon.sources.kinds import writing
from kepsilon.sources.protocol import Sink
from kepsilon.sources.rebuilding import is_exact, rebuilt

N = 30_000


def table(*, seed: int = 1, wide: bool = False) -> pa.Table:
    rng = np.random.default_rng(seed)
    few = pa.array([f"label {i}" for i in rng.integers(0, 9, N)], mask=rng.random(N) < 0.1)
    return pa.table(
        {
            "few": few,
            "many": [("x" * 4000 if wide else "") + str(i) for i in rng.integers(0, 10**9, N)],
            "number": rng.normal(size=N),
            "list": [[i, None] if i % 3 else None for i in rng.integers(0, 9, N).tolist()],
        }
    )


def written(pieces: list[pa.Table], path, *, in_parts: bool = False) -> bytes:
    with writing(Sink(target=path, final_name=path, in_parts=in_parts)) as write:
        for piece in pieces:
            write(piece)
    return path.read_bytes()


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_the_pieces_in_which_records_come_do_not_matter(tmp_path, suffix):
    """In one piece, in many, in chunks, and with text as dictionaries of any order: the same bytes."""
    whole = table() if suffix != "csv" else table().drop_columns(["list"])
    path = tmp_path / f"out.{suffix}"
    expected = written([whole], path)
    rng = random.Random(3)
    cuts = sorted({0, N, *(rng.randrange(N) for _ in range(9))})
    pieces = [whole.slice(first, last - first) for first, last in itertools.pairwise(cuts)]
    assert written(pieces, path) == expected
    assert written([pa.concat_tables(pieces)], path) == expected
    if suffix != "arrow":  # there a dictionary is shown as one
        from kepsilon.sources.columns import marked

        coded = [marked(own.set_column(0, "few", own["few"].dictionary_encode()), ["few"]) for own in pieces]
        assert written(coded, path) == expected
    if suffix != "csv":
        assert render_again(path) == "same"


def test_wide_records_make_small_row_groups(tmp_path):
    """A row group is held in memory while it is written."""
    path = tmp_path / "out.parquet"
    written([table(wide=True)], path)
    metadata = pq.read_metadata(path)
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert max(sizes) * 4000 <= 64 << 20
    assert len(set(sizes[:-1])) == 1


def test_columns_whose_values_differ_have_no_dictionary_in_parquet(tmp_path):
    """Parquet would begin one in every row group and give it up at 1 MB. A declared order needs its dictionary."""
    rng = np.random.default_rng(1)
    entries = pa.array([f"entry {i}" for i in rng.permutation(N)])
    ordered = pa.DictionaryArray.from_arrays(pa.array(rng.permutation(N).astype(np.int32)), entries, ordered=True)
    given = table().append_column("some", pa.array(rng.integers(0, 20_000, N))).append_column("ordered", ordered)
    written([given], tmp_path / "out.parquet")
    group = pq.read_metadata(tmp_path / "out.parquet").row_group(0)
    coded = {group.column(i).path_in_schema: group.column(i).has_dictionary_page for i in range(group.num_columns)}
    assert coded == {
        "few": True, "many": False, "number": False, "list.list.element": True, "some": True, "ordered": True,
    }  # fmt: skip
    read = pq.read_table(tmp_path / "out.parquet")
    assert read["ordered"].chunk(0).dictionary.to_pylist() == entries.to_pylist()
    assert read.drop_columns(["ordered"]) == given.drop_columns(["ordered"])
    assert render_again(tmp_path / "out.parquet") == "same"


def test_even_parts_lose_no_record():
    """Whatever comes in goes out, in its order."""
    found: list[pa.Table] = []
    parts = EvenParts(found.append)
    for first in range(0, 5000, 700):
        parts.add(pa.table({"a": range(first, min(5000, first + 700))}))
    parts.finish()
    assert pa.concat_tables(found)["a"].to_pylist() == list(range(5000))


def test_a_file_without_records_can_be_written(tmp_path):
    """A linkage of nobody, for example."""
    for suffix in ("parquet", "arrow"):
        written([pa.table({"a": pa.array([], pa.int64())})], tmp_path / f"none.{suffix}")
        assert render_again(tmp_path / f"none.{suffix}") == "same"


def test_an_ordered_dictionary_keeps_its_order_in_files(tmp_path):
    """Small, medium, large."""
    sizes = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int8()), ["small", "medium", "large"], ordered=True)
    for suffix in ("parquet", "arrow"):
        path = tmp_path / f"out.{suffix}"
        written([pa.table({"a": sizes})], path)
        back = pq.read_table(path) if suffix == "parquet" else pa.ipc.open_file(path).read_all()
        assert back.schema.field("a").type == sizes.type
        assert back["a"].chunk(0).dictionary.to_pylist() == ["small", "large"]
        assert render_again(path) == "same"


def test_two_ways_to_write_one_value_become_one():
    """An entry listed twice, a null among entries, and a NaN with other bits would each be a place to hide a bit."""
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), pa.array(["b", "a", "b", None]))
    made = rebuilt(twice, twice.type)
    assert (made.dictionary.to_pylist(), made.indices.to_pylist()) == (["a", "b"], [1, 0, 1, None])
    odd = np.array([0x7FF8000000000000, 0x7FF80000DEADBEEF, 0xFFF8000000000001], dtype=np.uint64).view(np.float64)
    made = rebuilt(pa.array(odd), pa.float64())
    assert len(set(np.frombuffer(made.buffers()[1], dtype=np.uint64).tolist())) == 1
    assert is_exact(made)
    assert not is_exact(pa.array(odd))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b'"a","b"\n"x",1\n"y",2\n', ""),
        (b"a,b\nx,1\ny,2\n", ""),
        (b'a,b\n"x,""",1\ny,2\n', ""),
        (b'a,b\r\n"x\ny",1\r\nz,2\r\n', ""),
        (b'\xef\xbb\xbf"a","b"\n"x",1\n', ""),
        (b"a,b\nx,1\ny,2", ""),
        (b'a,b\n"x",1\ny,2\n', "without need"),
        (b"a,b\nx,1\r\ny,2\n", "line ends"),
        (b"a,b\nx,1\n\ny,2\n", "blank lines"),
        (b'a,b\nx,1\n"y" ,2\n', "quotes inside cells"),
        (b"a,b\nx,1\ny,2,\n", "other numbers of cells"),
        (b'"a",b\nx,1\n', "column names"),
    ],
)
def test_one_rule_for_quotes_and_line_ends(tmp_path, content, fault):
    """By hand, small enough to be read."""
    (tmp_path / "a.csv").write_bytes(content)
    faults = csv_layout(tmp_path / "a.csv", ",").faults
    assert [fault in own for own in faults] == ([True] if fault else []), faults


def test_lines_that_stand_across_two_blocks_are_whole(tmp_path, monkeypatch):
    """The file is looked at in blocks."""
    monkeypatch.setattr("kepsilon.auditing.csv_layout._BLOCK", 7)
    (tmp_path / "a.csv").write_bytes(b'"a","b"\r\n' + b'"x ""1"", \r\n y",22222\r\n' * 50)
    layout = csv_layout(tmp_path / "a.csv", ",")
    assert layout.faults == ()
    assert not layout.is_own


@pytest.mark.parametrize(
    ("texts", "is_one_way"),
    [
        (["1.5", "2", "3.25"], True),
        (["1.50", "2.00", "3.25"], True),
        (["1.5", "2.0", "1e+20"], True),
        (["1.50", "2.0"], False),
        (["1.5", "1.50000000000000000001"], False),
        (["1.50000000000000000000", "1.50000000000000000001"], False),
        ([" 1.5", "2"], False),
        (["+1.5", "2"], False),
    ],
)
def test_numbers_are_written_in_one_way(texts, is_one_way):
    """One rule for the whole column."""
    rendered = pa.array([float(text) for text in texts]).cast(pa.string()).to_pylist()
    assert are_written_in_one_way(texts, rendered) is is_one_way


def test_a_program_whose_name_is_not_text(tmp_path):
    """A damaged name of the writer is the name of no writer that is known."""
    path = tmp_path / "a.parquet"
    content = written([table()], path)
    path.write_bytes(content[:-300] + content[-300:].replace(b"parquet-cpp-arrow", b"parquet-cpp-\xffrrow"))
    assert render_again(path) == "other program"
