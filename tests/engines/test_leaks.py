# SPDX-License-Identifier: Apache-2.0
"""No value of a suppressed record, and no identifier, survives anywhere in the bytes of what is written."""

from __future__ import annotations

import tomllib

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import kepsilon

K = 5
N = 200
POLICY = """
k = 5
epsilon = 1
algorithm = "ola"
max_suppression = 0.2
[attributes.name]
role = "identifier"
[attributes.town]
role = "k-quasi"
hierarchy = { type = "suppress" }
[attributes.weight]
role = "epsilon-quasi"
precision = 1
range = "class"
[attributes.note]
role = "sensitive"
accept_leak = "made-up records"
[attributes.few]
role = "sensitive"
[attributes.nested]
role = "insensitive"
"""


def table(*, coded: bool) -> pa.Table:
    """Records 0 to 3 live in towns of their own, so OLA suppresses them; every value of theirs is a canary."""
    lonely = 4
    few = pa.array([f"CANARY-FEW-{i}" if i < lonely else "ordinary" for i in range(N)])
    columns = {
        "name": pa.array([f"CANARY-NAME-{i}" for i in range(N)]),
        "town": pa.array([f"CANARY-TOWN-{i}" if i < lonely else f"town {i % 4}" for i in range(N)]),
        "weight": pa.array([7_654_321.0 if i < lonely else 60.0 + i % 30 for i in range(N)]),
        "note": pa.array([f"CANARY-NOTE-{i}" if i < lonely else f"note {i}" for i in range(N)]),
        "few": few.dictionary_encode() if coded else few,
        "nested": pa.StructArray.from_arrays([few.dictionary_encode() if coded else few], ["inner"]),
    }
    if coded:
        columns["town"] = columns["town"].dictionary_encode()
        columns["note"] = columns["note"].dictionary_encode()
    return pa.table(columns).replace_schema_metadata({"history": "CANARY-METADATA"})


def leaks(content: bytes) -> bool:
    return b"CANARY" in content or b"7654321" in content


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "dictionaries"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("source", ["frame", "parquet", "feather", "csv"])
def test_nothing_of_a_suppressed_record_is_in_the_bytes(tmp_path, coded, suffix, source):
    """Arrow dictionaries, Parquet statistics and schema metadata all remember, unless they are made anew.

    Files are written without compression where we can choose, so that a canary would be found.
    """
    policy = kepsilon.Policy.from_dict(tomllib.loads(POLICY))
    original = table(coded=coded)
    if suffix == ".csv" or source == "csv":
        original = original.drop_columns(["nested"])
        policy = policy.model_copy(update={"attributes": {n: a for n, a in policy.attributes.items() if n != "nested"}})
    given: object = original
    if source != "frame":
        given = tmp_path / f"in.{source}"
        if source == "parquet":
            parquet.write_table(original, given)
        elif source == "feather":
            feather.write_feather(original, given)
        else:
            pd.DataFrame(original.to_pydict()).to_csv(given, index=False)
    release = kepsilon.anonymise(given, policy)
    assert release.record["records"]["suppressed_by_k"] == 4
    output = tmp_path / f"out{suffix}"
    release.write(output)
    written = [path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("out")]
    assert len(written) == 3
    assert not any(map(leaks, written))
    if suffix == ".parquet":
        uncompressed = pa.BufferOutputStream()
        parquet.write_table(release.frame, uncompressed, compression="none")
        assert not leaks(uncompressed.getvalue().to_pybytes())
        for column in range(parquet.read_metadata(output).num_columns):
            assert not leaks(str(parquet.read_metadata(output).row_group(0).column(column)).encode())
    if suffix == ".feather":
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, release.frame.schema) as writer:
            writer.write_table(release.frame)
        assert not leaks(sink.getvalue().to_pybytes())


def test_the_search_for_canaries_can_find_one(tmp_path):
    """A plain `take` of a dictionary leaks; if this passed the search, the tests above would mean nothing."""
    kept = table(coded=True).slice(10).take(list(range(20)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, kept.schema) as writer:
        writer.write_table(kept)
    assert leaks(sink.getvalue().to_pybytes())


def test_values_under_a_null_do_not_travel(tmp_path):
    """pandas keeps the old number under a masked value; it must not reach the file."""
    masked = pa.Array.from_buffers(
        pa.int64(), N, [pa.py_buffer(bytes(25)), pa.array([7_654_321] * N).buffers()[1]], null_count=N
    )
    assert masked.null_count == N
    columns = {"town": ["t"] * N, "few": masked}
    document = tomllib.loads(POLICY)
    document["attributes"] = {name: document["attributes"][name] for name in columns}
    release = kepsilon.anonymise(pa.table(columns), kepsilon.Policy.from_dict(document))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, release.frame.schema) as writer:
        writer.write_table(release.frame)
    content = sink.getvalue().to_pybytes()
    assert (7_654_321).to_bytes(8, "little") not in content


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "dictionaries"])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("source", ["frame", "parquet"])
def test_dictionaries_do_not_carry_the_order_of_the_input(tmp_path, coded, suffix, source):
    """Listed as they first came up, rare values would give away the rank of their records in a sorted input."""
    rare = [f"{(i * 37) % 100:02}" for i in range(100)]
    values = pa.array(["common"] * 3_900 + rare)
    original = pa.table({"town": ["t"] * 4_000, "few": values.dictionary_encode() if coded else values})
    document = tomllib.loads(POLICY)
    document["attributes"] = {name: document["attributes"][name] for name in ("town", "few")}
    given: object = original
    if source == "parquet":
        given = tmp_path / "in.parquet"
        parquet.write_table(original, given)
    kepsilon.anonymise(given, kepsilon.Policy.from_dict(document)).write(tmp_path / f"out{suffix}")
    if suffix == ".parquet":
        column = parquet.read_table(tmp_path / "out.parquet", read_dictionary=["few"]).column("few")
    else:
        column = feather.read_table(tmp_path / "out.feather").column("few")
    if pa.types.is_dictionary(column.type):
        entries = column.chunk(0).dictionary.to_pylist()
        assert entries == sorted(entries)
    else:
        assert suffix == ".feather"
    assert sorted(column.to_pylist()) == sorted(values.to_pylist())
