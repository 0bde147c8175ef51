# SPDX-License-Identifier: Apache-2.0
"""H8: row numbers hidden in the bytes of a release are found, and files that other programs wrote are not accused."""

from __future__ import annotations

import csv
import random

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import kepsilon as ke
from kepsilon.engines.spark import tasks
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources import parquet_files
from kepsilon.sources.parquet_files import write_folder
from material.audited_releases import patients
from material.audited_releases import patients_policy as strict_policy
from material.engine_cases import EVERY, confident
from material.engine_cases import release as release_by
from material.people import OPENLY

N = 300


def patients_policy():
    """The policy of the patients, who do not exist: illnesses may be told apart by their numbers."""
    return strict_policy(attributes={"illness": OPENLY})


@pytest.fixture(scope="module")
def original():
    columns = patients(N)
    columns["illness"] = [None if i % 11 == 0 else f"{text} {i}" for i, text in enumerate(columns["illness"])]
    return pa.table({name: pa.array(values) for name, values in columns.items()})


@pytest.fixture(scope="module")
def release(original):
    return ke.anonymise(original, patients_policy(), unsafe_seed=3)


def of_bytes(original, released) -> list[str]:
    """The severities of what the audit says about bytes and dictionaries."""
    findings = ke.audit(original, released, patients_policy()).findings
    return [f.severity for f in findings if f.check in ("bytes", "columns") and "columns of the policy" not in f.what]


@pytest.fixture
def lines(release, tmp_path):
    release.write(tmp_path / "release.csv")
    return (tmp_path / "release.csv").read_bytes().split(b"\n")[:-1]


def bits(n: int) -> list[int]:
    rng = random.Random(7)
    return [0, 1, *(rng.randrange(2) for _ in range(n - 2))]


def every(lines: list[bytes], change) -> bytes:
    """The file with a change in those lines whose hidden bit is 1; the header stays."""
    hidden = [0, *bits(len(lines) - 1)]
    return b"".join(change(line, bit) for line, bit in zip(lines, hidden, strict=True))


def with_height(line: bytes, change) -> bytes:
    """The line with its third cell, the height, changed; no cell of these files holds a comma."""
    parts = line.split(b",")
    return b",".join([*parts[:-2], change(parts[-2]), parts[-1]])


HIDDEN_IN_CSV = {
    "line ends": lambda line, bit: line + (b"\r\n" if bit else b"\n"),
    "blank lines": lambda line, bit: line + (b"\n\n" if bit else b"\n"),
    "quotes around numbers": lambda line, bit: (with_height(line, lambda c: b'"%s"' % c) if bit else line) + b"\n",
    "no quotes around text": lambda line, bit: (line.replace(b'"', b"", 2) if bit else line) + b"\n",
    "blanks before numbers": lambda line, bit: (with_height(line, lambda c: b" " + c) if bit else line) + b"\n",
    "blanks after numbers": lambda line, bit: (with_height(line, lambda c: c + b" ") if bit else line) + b"\n",
    "zeros after numbers": lambda line, bit: (
        (with_height(line, lambda c: c + b"0") if bit and b"." in line else line) + b"\n"
    ),
    "digits beyond a double": lambda line, bit: (
        (with_height(line, lambda c: c + (b"" if b"." in c else b".0") + b"00000000000000000001") if bit else line)
        + b"\n"
    ),
    "signs": lambda line, bit: (with_height(line, lambda c: b"+" + c) if bit else line) + b"\n",
    "exponents": lambda line, bit: (with_height(line, lambda c: c + b"e0") if bit else line) + b"\n",
    "empty cells": lambda line, bit: (line + b'""' if bit and line.endswith(b",") else line) + b"\n",
}


@pytest.mark.parametrize("name", HIDDEN_IN_CSV)
def test_h8_row_numbers_hidden_in_a_csv_file_are_found(original, lines, tmp_path, name):
    """Readers give the same table for all of these files, so nobody who only reads the table would see it."""
    tampered = every(lines, HIDDEN_IN_CSV[name])
    assert tampered != b"\n".join([*lines, b""])
    (tmp_path / "tampered.csv").write_bytes(tampered)
    assert "broken" in of_bytes(original, tmp_path / "tampered.csv")


def test_h8_a_release_as_it_was_written_passes(original, release, tmp_path):
    """Every format, and every kind of frame."""
    for suffix in ("csv", "tsv", "parquet", "arrow", "feather"):
        release.write(tmp_path / f"r.{suffix}")
        assert of_bytes(original, tmp_path / f"r.{suffix}") == ["passed"], suffix
    assert of_bytes(original, release.frame) == ["passed"]
    for frame in (pl.from_arrow(original), original.to_pandas(), duckdb.from_arrow(original)):
        again = ke.anonymise(frame, patients_policy())
        assert of_bytes(original, again.frame) == ["passed"], type(frame)


def by_python(table: pa.Table, path, **options) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, **options)
        writer.writerow(table.column_names)
        writer.writerows(row.values() for row in table.to_pylist())


OTHER_PROGRAMS = {
    "pandas.csv": lambda table, path: table.to_pandas().to_csv(path, index=False),
    "pandas_quoted.csv": lambda table, path: table.to_pandas().to_csv(path, index=False, quoting=csv.QUOTE_ALL),
    "pandas_windows.csv": lambda table, path: table.to_pandas().to_csv(path, index=False, lineterminator="\r\n"),
    "pandas_rounded.csv": lambda table, path: table.to_pandas().to_csv(path, index=False, float_format="%.3f"),
    "excel.csv": lambda table, path: by_python(table, path, dialect="excel"),
    "polars.csv": lambda table, path: pl.from_arrow(table).write_csv(path),
    "duckdb.csv": lambda table, path: duckdb.from_arrow(table).write_csv(str(path)),
    "arrow.csv": pa.csv.write_csv,
    "no_last_line_end.csv": lambda table, path: path.write_bytes(table.to_pandas().to_csv(index=False).encode()[:-1]),
    "pandas.parquet": lambda table, path: table.to_pandas().to_parquet(path, index=False),
    "arrow.parquet": pq.write_table,
    "zstd.parquet": lambda table, path: pq.write_table(table, path, compression="zstd", row_group_size=70),
    "plain.parquet": lambda table, path: pq.write_table(table, path, use_dictionary=False, write_statistics=False),
    "old.parquet": lambda table, path: pq.write_table(table, path, version="1.0", data_page_version="2.0"),
    "polars.parquet": lambda table, path: pl.from_arrow(table).write_parquet(path),
    "duckdb.parquet": lambda table, path: duckdb.from_arrow(table).write_parquet(str(path)),
    "feather.arrow": feather.write_feather,
    "zstd.arrow": lambda table, path: feather.write_feather(table, path, compression="zstd", chunksize=50),
    "polars.arrow": lambda table, path: pl.from_arrow(table).write_ipc(path),
    "stream.arrow": lambda table, path: path.write_bytes(as_stream(table)),
}


def as_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", OTHER_PROGRAMS)
def test_h8_a_file_that_another_program_wrote_is_not_accused(original, release, tmp_path, name):
    """Whoever loads a release and saves it again has another layout, and hides nothing."""
    path = tmp_path / name
    OTHER_PROGRAMS[name](release.frame, path)
    assert of_bytes(original, path) in (["note"], ["passed"])


def coded_inside(values: list[str | None], more: list[str]) -> pa.Array:
    """Lists of one text each, as dictionaries that also list `more`."""
    coded = pa.array(values).dictionary_encode()
    entries = pa.concat_arrays([pa.array(more, pa.string()), coded.dictionary])
    indices = pa.compute.add(coded.indices, len(more)).cast(pa.int32())
    inner = pa.DictionaryArray.from_arrays(indices, entries)
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), inner)


def case_of_lists() -> tuple[pa.Table, ke.Policy, pa.Table]:
    """An original with a column of lists, its policy and its release."""
    rng = np.random.default_rng(4)
    lists = [[f"note {i}"] for i in rng.permutation(N)]
    given = pa.table({**patients(N), "illness": pa.array(lists)})
    return given, patients_policy(), ke.anonymise(given, patients_policy(), unsafe_seed=3).frame


@pytest.mark.parametrize("kind", ["frame", "arrow"])
def test_h8_values_that_no_record_shows_are_found_inside_lists(tmp_path, kind):
    """The values of suppressed records, in a dictionary inside a list."""
    given, under, released = case_of_lists()
    shown = {text for (text,) in released["illness"].to_pylist()}
    left_out = [text for (text,) in given["illness"].to_pylist() if text not in shown]
    assert left_out
    values = [text for (text,) in released["illness"].to_pylist()]
    for more in ([], left_out):
        place = released.column_names.index("illness")
        tampered = released.set_column(place, "illness", coded_inside(values, more))
        if kind == "arrow":
            feather.write_feather(tampered, tmp_path / "r.arrow", compression="uncompressed")
        audit = ke.audit(given, tampered if kind == "frame" else tmp_path / "r.arrow", under)
        found = [f for f in audit.broken if "that no record shows" in f.what]
        assert bool(found) is bool(more), audit.broken
        assert "note" not in "".join(f.what for f in audit.broken)


@pytest.mark.parametrize("kind", ["frame", "arrow"])
def test_h8_values_under_nulls_are_found(original, release, tmp_path, kind):
    """A number that was cleared by its bit of validity alone is still there."""
    frame = release.frame
    rows = release.linkage["original_row"].to_pylist()
    left_out = [i for i in range(N) if i not in set(rows)]
    illness = original["illness"].to_pylist()
    values = [illness[row] for row in rows]
    hidden = [illness[i] for i in left_out if illness[i] is not None and illness[i] not in values]
    assert hidden
    texts = [hidden[0] if value is None else value for value in values]
    full = pa.array(texts)
    valid = pa.py_buffer(np.packbits([value is not None for value in values], bitorder="little").tobytes())
    masked = pa.Array.from_buffers(pa.string(), len(texts), [valid, *full.buffers()[1:]])
    tampered = frame.set_column(frame.column_names.index("illness"), "illness", masked)
    given = tampered
    if kind == "arrow":
        given = tmp_path / "r.arrow"
        feather.write_feather(tampered, given, compression="uncompressed")
    audit = ke.audit(original, given, patients_policy())
    assert [f for f in audit.broken if "of originals that no released record shows" in f.what], audit.findings


def test_h8_a_dictionary_in_the_order_of_the_input_is_found(tmp_path):
    """Listed as they came up in the input, values tell which record came before which."""
    given, under, released = case_of_lists()
    values = [text for (text,) in released["illness"].to_pylist()]
    in_input = [text for (text,) in given["illness"].to_pylist() if text in set(values)]
    for order, is_sound in ((in_input, False), (sorted(values), True), (values, True)):
        place = {text: i for i, text in enumerate(order)}
        inner = pa.DictionaryArray.from_arrays(pa.array([place[text] for text in values], pa.int32()), pa.array(order))
        lists = pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), inner)
        tampered = released.set_column(released.column_names.index("illness"), "illness", lists)
        audit = ke.audit(given, tampered, under)
        found = [f for f in audit.broken if "in the order of the input" in f.what]
        assert (not found) is is_sound, audit.broken


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_h8_bytes_that_are_not_of_the_table_are_found(original, release, tmp_path, suffix):
    """Between the pages of a file, and in its padding, is room for a message that no reader shows."""
    release.write(tmp_path / f"r.{suffix}")
    content = (tmp_path / f"r.{suffix}").read_bytes()
    if suffix == "parquet":
        # Bytes between the last page and the footer: no offset of the footer points there.
        length = int.from_bytes(content[-8:-4], "little")
        tampered = content[: -8 - length] + b"CANARY" + content[-8 - length :]
    else:
        # The padding of a buffer to a multiple of 8 or 64 bytes.
        batch = pa.ipc.open_file(content).get_batch(0)
        address = pa.py_buffer(content).address
        found = [b for own in batch.columns for b in own.buffers() if b is not None and b.size % 8]
        end = found[0].address - address + found[0].size
        if not 0 < end < len(content):  # copied while it was read
            end = content.index(found[0].to_pybytes()) + found[0].size
        tampered = content[:end] + b"\x01" + content[end + 1 :]
        assert content[end] == 0
    (tmp_path / f"t.{suffix}").write_bytes(tampered)
    reread = (pq.read_table if suffix == "parquet" else feather.read_table)(tmp_path / f"t.{suffix}")
    assert reread.to_pylist() == release.frame.to_pylist()
    assert "broken" in of_bytes(original, tmp_path / f"t.{suffix}")


def test_h8_decimals_with_digits_beyond_a_double_are_found(original, release):
    """A decimal has room for more digits than a double, which is all that is checked against the precision."""
    frame = release.frame
    heights = [pa.scalar(str(value)).cast(pa.decimal128(38, 25)).as_py() for value in frame["height"].to_pylist()]
    place = frame.column_names.index("height")
    sound = pa.array(heights, pa.decimal128(38, 25))
    tiny = pa.scalar("0.0000000000000000000000001").cast(pa.decimal128(38, 25)).as_py()
    hidden = pa.array([v + tiny * i for i, v in enumerate(heights)], pa.decimal128(38, 25))
    assert "broken" not in of_bytes(original, frame.set_column(place, "height", sound))
    assert "broken" in of_bytes(original, frame.set_column(place, "height", hidden))


def content_of(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("engine", EVERY)
def test_h8_a_folder_is_a_function_of_its_records(tmp_path, monkeypatch, engine):
    """Records that confident k left out, and how much memory there was, do not show in how many files there are.

    Every engine has its records in pieces of its own; the files of a folder are those of one table with these records.
    """
    monkeypatch.setattr(parquet_files, "RECORDS_PER_FILE", 700)
    monkeypatch.setattr(tasks, "RECORDS_PER_FILE", 700)
    with release_by(confident(), engine, tmp_path, seed=3) as made:
        made.write(tmp_path / "out")
        n_released = made.record.records.released
        assert made.record.records.suppressed_by_confidence
    files = sorted((tmp_path / "out").iterdir())
    parts = [pq.read_table(file, partitioning=None) for file in files]
    assert [len(part) for part in parts] == [700] * (n_released // 700) + [n_released % 700]
    (tmp_path / "again").mkdir()
    write_folder([pa.concat_tables(parts)], tmp_path / "again")
    assert content_of(tmp_path / "again") == content_of(tmp_path / "out")


@pytest.mark.parametrize("cuts", [[], [1], [699], [700], [701], [3, 3, 1400], [250, 950, 1399, 1401]], ids=str)
def test_h8_the_pieces_of_a_release_do_not_show_in_its_folder(tmp_path, monkeypatch, cuts):
    """Whether this machine writes the pieces or workers do, who have them in files already."""
    monkeypatch.setattr(parquet_files, "RECORDS_PER_FILE", 700)
    monkeypatch.setattr(tasks, "RECORDS_PER_FILE", 700)
    table = pa.table({"zip": [f"{i % 7}***" for i in range(1500)], "height": [i / 4 for i in range(1500)]})
    pieces = [table.slice(low, high - low) for low, high in zip([0, *cuts], [*cuts, 1500], strict=True)]
    for name, written in (("whole", [table]), ("cut", pieces)):
        (tmp_path / name).mkdir()
        write_folder(written, tmp_path / name)
    parts = []
    for i, piece in enumerate(pieces):
        pq.write_table(piece, tmp_path / f"{i}.parquet")
        parts.append(tasks.WrittenPart(path=tmp_path / f"{i}.parquet", linkage=None, n_records=len(piece)))
    roles = ColumnRoles(k_quasis=("zip",), epsilon_quasis=("height",), kept=(), published=("zip", "height"))
    by_workers = [tasks.write_file(own, parent=tmp_path, roles=roles) for own in tasks.files_of_parts(parts)]
    assert [len(pq.read_table(file)) for file in by_workers] == [700, 700, 100]
    assert content_of(tmp_path / "cut") == content_of(tmp_path / "whole")
    assert [file.read_bytes() for file in by_workers] == list(content_of(tmp_path / "whole").values())
