# SPDX-License-Identifier: Apache-2.0
"""Whatever shape Arrow data has in memory or in a file, every record stays whole: its values stay together."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import kepsilon
from kepsilon.engines.arrow.coding import encode
from kepsilon.engines.spilling.engine import SpillingEngine
from material.people import policy

N = 240
POLICY = """
k = 2
epsilon = 50
algorithm = "ola"
max_suppression = 0
unlisted_columns = "drop"
[attributes.id]
role = "identifier"
[attributes.q]
role = "k-quasi"
hierarchy = { type = "suppress" }
[attributes.v]
role = "epsilon-quasi"
precision = 0.001
range = [0, 1000]
[attributes.s]
role = "sensitive"
accept_leak = "made-up records"
"""


def whole(table: pa.Table, **policy_changes) -> kepsilon.Release:
    """Releases, and follows every record through the linkage: same quasi, same sensitive value, value near its own.

    With ε = 50 on [0, 1000] the noise has scale 20, and values of neighbours differ by 4 to 996, so a column that came
    loose would be seen at once; 400 is 20 scales, which one of 240 records exceeds with probability 5e-7.
    """
    release = kepsilon.anonymise(table, policy(POLICY, **policy_changes))
    released, original = release.frame.to_pylist(), table.to_pylist()
    links = release.linkage.to_pylist()
    assert len(links) == len(released)
    for link in links:
        was, now = original[link["original_row"]], released[link["released_row"]]
        assert now["s"] == was["s"]
        own = None if was["q"] is None else str(was["q"])
        assert now["q"] in (own, "*") or str(own) in now["q"].strip("{}").split(", ")
        assert abs(float(was["v"]) - now["v"]) < 400
    return release


def columns(**changes) -> dict:
    base = {
        "id": pa.array([f"CANARY-{i}" for i in range(N)]),
        "q": pa.array([f"q{i % 3}" for i in range(N)]),
        "v": pa.array([float(i * 397 % 1000) for i in range(N)]),
        "s": pa.array([f"s{i}" for i in range(N)]),
    }
    return {**base, **changes}


NULLS = [i % 7 == 0 for i in range(N)]
SHAPES = {
    "plain": columns(),
    "null quasi": columns(q=pa.array([None if x else f"q{i % 3}" for i, x in enumerate(NULLS)])),
    "null sensitive": columns(s=pa.array([None if x else f"s{i}" for i, x in enumerate(NULLS)])),
    "large text": columns(q=pa.array([f"q{i % 3}" for i in range(N)], pa.large_string()), s=pa.array(["x"] * N, pa.large_string())),
    "text views": columns(
        q=pa.array([f"q{i % 3}" for i in range(N)], pa.string_view()), s=pa.array([f"s{i}" for i in range(N)], pa.string_view())
    ),
    "dictionaries": columns(
        q=pa.array([f"q{i % 3}" for i in range(N)]).dictionary_encode(),
        s=pa.array([None if x else f"s{i % 9}" for i, x in enumerate(NULLS)]).dictionary_encode(),
    ),
    "dictionary listing twice, null and unused": columns(
        q=pa.DictionaryArray.from_arrays(
            pa.array([None if i % 5 == 4 else i % 5 for i in range(N)], pa.int8()), pa.array(["a", "b", "a", None, "unused"])
        )
    ),
    "dictionary listing null, sensitive": columns(
        s=pa.DictionaryArray.from_arrays(pa.array([i % 3 for i in range(N)], pa.int8()), pa.array(["a", None, "b"]))
    ),
    "integers": columns(q=pa.array([i % 3 for i in range(N)]), v=pa.array([i * 397 % 1000 for i in range(N)], pa.int16())),
    "booleans and decimals": columns(v=pa.array([Decimal(i * 397 % 1000) for i in range(N)], pa.decimal128(9, 2))),
    "all sensitive null": columns(s=pa.nulls(N)),
    "few sensitive values": columns(s=pa.array([f"s{i % 2}" for i in range(N)])),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cut", ["whole", "sliced", "chunked", "sliced and chunked"])
def test_records_stay_whole_in_every_shape(shape, cut):
    """Offsets, chunks (empty ones too), nulls, dictionaries: where code that reads buffers goes wrong."""
    table = pa.table(SHAPES[shape])
    if "sliced" in cut:
        table = table.slice(13, N - 30)
    if "chunked" in cut:
        table = pa.concat_tables([table.slice(0, 50), table.slice(50, 0), table.slice(50, 71), table.slice(121)])
    whole(table)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_records_stay_whole_through_files(tmp_path, shape, suffix):
    """Several row groups, dictionary pages, and back."""
    table = pa.table(SHAPES[shape])
    path = tmp_path / f"in.{suffix}"
    if suffix == "parquet":
        if "listing" in shape:  # Arrow cannot write a dictionary that lists null
            table = table.cast(
                pa.schema([("id", pa.string()), ("q", pa.string()), ("v", pa.float64()), ("s", pa.string())])
            )
        parquet.write_table(table, path, row_group_size=37)
    else:
        feather.write_feather(table, path, chunksize=37)
    release = kepsilon.anonymise(path, policy(POLICY))
    release.write(tmp_path / f"out.{suffix}")
    back = (parquet if suffix == "parquet" else feather).read_table(tmp_path / f"out.{suffix}")
    assert back.to_pylist() == release.frame.to_pylist()
    by_value = sorted(zip(table.column("q").to_pylist(), table.column("s").to_pylist(), strict=True), key=str)
    shown = sorted(zip(back.column("q").to_pylist(), back.column("s").to_pylist(), strict=True), key=str)
    if release.record["levels"]["q"] == 0:
        assert shown == [(None if q is None else str(q), s) for q, s in by_value]


def test_missing_and_unlisted_together_leave_the_rest_aligned():
    """Two reasons to leave, in different records, before anything is counted."""
    table = pa.table(
        columns(
            q=pa.array([f"q{i % 3}" if i % 11 else "elsewhere" for i in range(N)]),
            v=pa.array([None if i % 13 == 0 else float(i * 397 % 1000) for i in range(N)]),
        )
    )
    groups = {"type": "groups", "levels": [{"all": ["q0", "q1", "q2"]}]}
    release = whole(table, attributes={"q": {"role": "k-quasi", "unlisted": "suppress", "hierarchy": groups}})
    unlisted = sum(i % 11 == 0 for i in range(N))
    missing = sum(i % 13 == 0 and i % 11 != 0 for i in range(N))
    assert release.record["records"]["suppressed_unlisted"] == unlisted
    assert release.record["records"]["suppressed_missing"] == missing
    assert release.record["records"]["released"] == N - unlisted - missing


@pytest.mark.parametrize(
    "values",
    [
        pa.array([i % 2 == 0 for i in range(N)]),
        pa.array([date(2020, 1 + i % 3, 1) for i in range(N)]),
        pa.array([datetime(2020, 1 + i % 3, 1, 12) for i in range(N)]),
        pa.array([i % 3 / 2 for i in range(N)]),
        pa.array([Decimal(i % 3) / 4 for i in range(N)]),
        pa.nulls(N),
    ],
    ids=["boolean", "date", "timestamp", "float", "decimal", "null"],
)
def test_k_quasis_of_any_type_are_text_in_the_release(values):
    """Labels are text; each value's own text at level 0."""
    frame = kepsilon.anonymise(pa.table(columns(q=values)), policy(POLICY)).frame
    assert frame.schema.field("q").type == pa.string()


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()], ids=str)
@pytest.mark.parametrize("is_coded", [False, True], ids=["plain", "dictionary"])
def test_zero_and_minus_zero_are_one_value(kind, is_coded):
    """They are equal, so they are one class; in text they are what was written."""
    zeros = pa.array([-0.0, 0.0, None, -0.5, -0.0]).cast(kind)
    if is_coded:
        positions = pa.array([0, 1, None, 2, 0], pa.int8())
        zeros = pa.DictionaryArray.from_arrays(positions, pa.array([-0.0, 0.0, -0.5]).cast(kind))
    values, codes = encode(pa.chunked_array([zeros]), "a", "b")
    assert [values[code] for code in codes] == ["0", "0", None, "-0.5", "0"]
    assert len(values) == 3
    texts, codes = encode(pa.chunked_array([["-0", "0"]]), "a", "b")
    assert [texts[code] for code in codes] == ["-0", "0"]


@pytest.mark.parametrize("in_parts", [False, True], ids=["in memory", "spilling"])
def test_zeros_of_both_signs_are_released_as_one_class(in_parts, tmp_path):
    """Half of one sign and half of the other, in files of their own."""
    (tmp_path / "table").mkdir()
    for i, zero in enumerate((-0.0, 0.0)):
        table = pa.table(columns(q=pa.array([zero] * N)))
        parquet.write_table(table, tmp_path / "table" / f"{i}.parquet")
    options = {"engine": SpillingEngine(memory=10**7, folder=tmp_path)} if in_parts else {}
    release = kepsilon.anonymise(tmp_path / "table", policy(POLICY, records_are_persons=True), **options)
    assert release.record["classes"]["largest"] == 2 * N
    assert release.frame.column("q").unique().to_pylist() == ["0"]


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.binary()], ids=["list", "bytes"])
def test_k_quasis_that_are_no_single_values_are_refused(kind):
    """In words, not with Arrow's message."""
    values = pa.array([[1]] * N if kind == pa.list_(pa.int8()) else [b"\xff\xfe"] * N, kind)
    with pytest.raises(kepsilon.DataError, match='column "q"'):
        kepsilon.anonymise(pa.table(columns(q=values)), policy(POLICY))


@pytest.mark.parametrize("kind", ["boolean", "date", "struct"])
def test_epsilon_quasis_that_are_no_numbers_are_refused(kind):
    """With what they are."""
    values = {
        "boolean": pa.array([True] * N), "date": pa.array([date(2020, 1, 1)] * N), "struct": pa.array([{"a": 1}] * N),
    }[kind]  # fmt: skip
    with pytest.raises(kepsilon.DataError, match="not numbers"):
        kepsilon.anonymise(pa.table(columns(v=values)), policy(POLICY))


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_the_order_of_records_does_not_matter(algorithm):
    """Deterministic whatever the record order: same classes, same labels, same figures."""
    table = pa.table(columns(q=pa.array([f"q{i * i % 17}" for i in range(N)])))
    first = whole(table, algorithm=algorithm, k=20)
    second = whole(table.take(list(reversed(range(N)))), algorithm=algorithm, k=20)
    for key in ("records", "classes", "levels", "loss"):
        assert first.record.get(key) == second.record.get(key)
    assert sorted(map(str, first.frame.column("q").to_pylist())) == sorted(
        map(str, second.frame.column("q").to_pylist())
    )
