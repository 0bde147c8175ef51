# SPDX-License-Identifier: Apache-2.0
"""H1: kept columns of every Arrow type publish the values of released records, in their order, and nothing else."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import random

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import kepsilon as ke
from material.dirty_columns import FLAT, TEXT, buffers_of, coded, dirty, nested_types, token

N = 64
LONELY = 3
"""The first records live in towns of their own, so that OLA suppresses them; the next two miss their weight."""
MISSING = (3, 4)
LEFT_OUT = np.arange(N) < LONELY + len(MISSING)

DICTIONARIES = [
    *(coded(kind) for kind in FLAT if not isinstance(kind, pa.BaseExtensionType) and not pa.types.is_null(kind)),
    coded(pa.string(), index=pa.int8()),
    coded(pa.large_string(), index=pa.uint32()),
    coded(pa.string(), ordered=True, index=pa.uint8()),
]
NESTED = [*nested_types(random.Random(20260712), 40)]
ALL = [*FLAT, *DICTIONARIES, *NESTED]


def policy(n_kept: int, **more: dict[str, str]) -> ke.Policy:
    return ke.Policy.from_dict(
        {
            "k": 5,
            "epsilon": 1,
            "algorithm": "ola",
            "max_suppression": 0.2,
            "attributes": {
                "town": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
                "weight": {"role": "epsilon-quasi", "precision": 1, "range": "class"},
                **{f"s{i}": {"role": "sensitive"} for i in range(n_kept)},
                **more,
            },
        }
    )


def table(kinds: list[pa.DataType], *, seed: int = 5) -> pa.Table:
    """Columns s0, s1 … of the given types with tokens in them, beside a town and a weight."""
    rng = random.Random(seed)
    is_null = ~LEFT_OUT & (np.arange(N) % 7 == 0)
    columns = {
        "town": pa.array([f"town {i}" if i < LONELY else f"town of {i % 2}" for i in range(N)]),
        "weight": pa.array([None if i in MISSING else 60.0 + i % 9 for i in range(N)]),
    }
    columns |= {f"s{i}": dirty(kind, LEFT_OUT, is_null, rng) for i, kind in enumerate(kinds)}
    return pa.table(columns)


def tokens_of(kind: pa.DataType) -> set[bytes]:
    """The tokens of all flat types in a type."""
    if pa.types.is_dictionary(kind):
        return tokens_of(kind.value_type)
    if pa.types.is_map(kind):
        return tokens_of(kind.key_type) | tokens_of(kind.item_type)
    if pa.types.is_nested(kind):
        return set().union(*(tokens_of(kind.field(i).type) for i in range(kind.num_fields)))
    return {token(kind)} - {b""}


def in_bytes(content: bytes, kinds: list[pa.DataType]) -> list[bytes]:
    return [own for own in set().union(*map(tokens_of, kinds)) if own in content]


def in_columns(found: pa.Table, kinds: list[pa.DataType]) -> list[str]:
    """The types of the columns in whose buffers their token is."""
    return [
        str(kind)
        for i, kind in enumerate(kinds)
        for chunk in found.column(f"s{i}").chunks
        for content in buffers_of(chunk)
        if any(own in content for own in tokens_of(kind))
    ]


@functools.cache
def can_be_parquet(kind: pa.DataType) -> bool:
    """Whether a column of this type, with nulls inside, can be written to Parquet by Arrow itself, to be an input."""
    try:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"a": dirty(kind, LEFT_OUT, LEFT_OUT & False, random.Random(1))}), sink)
        read = pq.read_table(pa.BufferReader(sink.getvalue()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return len(read) == N


def test_h1_the_search_finds_every_token():
    """The input holds every token: a search that finds none in it would find none in a release."""
    original = table(ALL)
    assert set(in_columns(original, ALL)) == {str(kind) for kind in ALL if tokens_of(kind)}


@pytest.fixture(scope="module")
def released():
    original = table(ALL)
    release = ke.anonymise(original, policy(len(ALL)))
    assert release.record["records"]["suppressed_by_k"] == LONELY
    assert release.record["records"]["suppressed_missing"] == len(MISSING)
    return original, release, release.frame


def test_h1_no_buffer_of_a_released_table_holds_a_value_of_a_record_that_was_left_out(released):
    """Every type, nested to depth three: dictionaries inside lists, list views, values under nulls, slices."""
    assert in_columns(released[2], ALL) == []


def test_h1_released_values_are_the_originals(released):
    """What is made anew is still the same, record by record."""
    original, release, frame = released
    rows = release.linkage["original_row"].to_pylist()
    for i, kind in enumerate(ALL):
        values = original.column(f"s{i}").to_pylist()
        assert repr(frame.column(f"s{i}").to_pylist()) == repr([values[row] for row in rows]), kind


def plain(kind: pa.DataType) -> bool:
    """Whether Arrow builds arrays of a type from Python values as they were."""
    return not any(name in str(kind) for name in ("dictionary", "extension", "decimal32", "decimal64", "view", "[ns"))


def assert_same_buffers(ours: pa.Array, theirs: pa.Array, *, under_nulls: bool = False) -> None:
    """Every buffer has the same bytes, up to the end of ours; a bitmap may be left out where nothing is null.

    Under the nulls of a structure or a list of a fixed size Arrow builds empty values, and a release has nulls.
    """
    kind = ours.type
    assert (kind, len(ours), ours.offset) == (theirs.type, len(theirs), 0)
    assert under_nulls or ours.null_count == theirs.null_count
    children: list[tuple[pa.Array, pa.Array]] = []
    if pa.types.is_struct(kind):
        children = [(ours.field(i), theirs.field(i)) for i in range(kind.num_fields)]
    elif pa.types.is_nested(kind):
        children = [(ours.values, theirs.values)]
    n_own = len(ours.buffers()) - sum(len(child.buffers()) for child, _ in children)
    for i, (own, other) in enumerate(zip(ours.buffers()[:n_own], theirs.buffers()[:n_own], strict=True)):
        if i == 0 and not ours.null_count:
            assert own is None
        elif i > 0 or not under_nulls:
            mine = b"" if own is None else own.to_pybytes()
            assert mine == (b"" if other is None else other.to_pybytes())[: len(mine)], kind
    for pair in children:
        assert_same_buffers(*pair, under_nulls=under_nulls or ours.null_count > 0)


def test_h1_buffers_hold_what_the_released_values_alone_would_make(released):
    """Built from the values in the order of the release, by Arrow and without the input, every buffer is the same.

    So no order of the input is left in any of them.
    """
    _, _, frame = released
    compared = 0
    for i, _ in enumerate(ALL):
        column = frame.column(f"s{i}").combine_chunks()
        if not plain(column.type) or pa.types.is_map(column.type):
            continue
        compared += 1
        built = pa.array(column.to_pylist(), column.type)
        assert_same_buffers(column, built)
    assert compared > 40


def test_h1_dictionaries_are_sorted_or_as_declared(released):
    """The order in which values first came up is the order of the input."""
    _, _, frame = released
    for i, kind in enumerate(ALL):
        if pa.types.is_dictionary(kind):
            column = frame.column(f"s{i}").combine_chunks()
            assert column.type == kind
            if not kind.ordered:
                entries = (
                    column.dictionary.cast(pa.string()) if pa.types.is_string(kind.value_type) else column.dictionary
                )
                if not pa.types.is_floating(kind.value_type):
                    assert entries.to_pylist() == sorted(entries.to_pylist())
            n_used = len(column.indices.unique().drop_null())
            assert len(column.dictionary) == n_used
            if "[ns" not in str(kind):
                assert len(set(map(repr, column.dictionary.to_pylist()))) == n_used


REVIEWED = {
    "list of a fixed size, of dictionaries": pa.list_(coded(pa.string()), 2),
    "map of dictionaries": pa.map_(pa.string(), coded(pa.string())),
    "list view": pa.list_view(pa.string()),
    "null structures": pa.struct([("a", pa.string())]),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("name", REVIEWED)
def test_h1_the_columns_that_the_review_found(tmp_path, name, suffix):
    """Each by itself, as it was found: the token was in the file, and the audit said that nothing is broken."""
    original = table([REVIEWED[name]])
    written = ke.anonymise(original, policy(1)).write(tmp_path / f"release.{suffix}")
    del written  # 0.1 returns nothing
    assert in_bytes((tmp_path / f"release.{suffix}").read_bytes(), [REVIEWED[name]]) == []


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_h1_no_file_holds_a_value_of_a_record_that_was_left_out(released, tmp_path, suffix):
    """Pages, dictionaries, statistics and padding included. Arrow and CSV files are not compressed; in snappy a token stands
    as it is where it first comes."""
    original, release, _ = released
    kinds = ALL
    if suffix == "csv":
        kinds = [k for k in FLAT if "binary" not in str(k) and "uuid" not in str(k) and "json" not in str(k)]
        original = table(kinds)
        release = ke.anonymise(original, policy(len(kinds)))
    written = release.write(tmp_path / f"release.{suffix}")
    assert in_bytes(written.path.read_bytes(), kinds) == []
    audit = ke.audit(original, written.path, policy(len(kinds)))
    assert not [f for f in audit.broken if f.check in ("bytes", "columns")], audit.broken
    assert [f.severity for f in audit.findings if f.check == "bytes"] == ["passed"], audit.findings


def test_h1_the_search_in_files_finds_a_token(tmp_path):
    """Written by Arrow, with the records that would be left out, the files hold the tokens."""
    original = table(ALL)
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, original.schema) as writer:
        writer.write_table(original)
    assert len(in_bytes((tmp_path / "a.arrow").read_bytes(), ALL)) == len(set().union(*map(tokens_of, ALL)))
    kinds = [kind for kind in ALL if can_be_parquet(kind)]
    pq.write_table(table(kinds), tmp_path / "a.parquet")
    assert len(in_bytes((tmp_path / "a.parquet").read_bytes(), kinds)) >= 10


def test_h1_nothing_is_left_where_records_are_spilt(tmp_path):
    """Parts on disk, and files that are written from them; folders of Parquet files too."""
    kinds = [kind for kind in ALL if can_be_parquet(kind)]
    assert len(kinds) > 80
    pq.write_table(table(kinds), tmp_path / "in.parquet", row_group_size=13)
    release = ke.anonymise(tmp_path / "in.parquet", policy(len(kinds)), memory="300MB", spill_folder=tmp_path)
    with release:
        assert in_columns(release.frame, kinds) == []
        for name in ("out.parquet", "out.arrow", "out"):
            written = release.write(tmp_path / name)
            for file in [*written.path.iterdir()] if written.path.is_dir() else [written.path]:
                assert in_bytes(file.read_bytes(), kinds) == []
    for name in ("out.arrow", "out"):
        audit = ke.audit(tmp_path / "in.parquet", tmp_path / name, policy(len(kinds)))
        assert [f.severity for f in audit.findings if f.check == "bytes"] == ["passed"], audit.findings


def frame_of(library: str, given: pa.Table):
    if library == "polars":
        return pl.from_arrow(given)
    if library == "pandas":
        return given.to_pandas()
    return duckdb.from_arrow(given)


def as_arrow(library: str, frame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False) if library == "pandas" else pa.table(frame)


def is_carried(library: str, kind: pa.DataType) -> bool:
    """Whether a library takes a column of this type, and gives it out again."""
    if library == "pandas" and (isinstance(kind, pa.BaseExtensionType) or pa.types.is_map(kind) or "view" in str(kind)):
        return False
    if library == "duckdb" and "duration" in str(kind):
        return False  # DuckDB has intervals only, which are refused
    if any(name in str(kind) for name in ("256", "halffloat", "list_view", "extension", "decimal32", "decimal64")):
        return False
    try:
        as_arrow(library, frame_of(library, table([kind]).select(["s0"])))
    except BaseException:  # Polars panics
        return False
    return True


@pytest.mark.parametrize("library", ["polars", "pandas", "duckdb"])
def test_h1_no_frame_of_any_kind_holds_a_value_of_a_record_that_was_left_out(library):
    """The frame that comes back has new buffers, not those of the frame that was given."""
    kinds = [kind for kind in [*FLAT, *DICTIONARIES[-3:], *NESTED[:25]] if is_carried(library, kind)]
    assert len(kinds) > 20
    frame = frame_of(library, table(kinds))
    release = ke.anonymise(frame, policy(len(kinds)))
    back = as_arrow(library, release.frame)
    if (
        library == "duckdb"
    ):  # leaves under nulls whatever was in its memory before, here of the input of this very process
        for i, kind in enumerate(kinds):
            assert in_columns(pa.table({"s0": back.column(f"s{i}").drop_null()}), [kind]) == []
    else:
        assert in_columns(back, kinds) == []
    assert isinstance(release.frame, type(frame))
    audit = ke.audit(frame, release.frame, policy(len(kinds)))
    assert not [f for f in audit.broken if f.check in ("bytes", "columns")], audit.broken


REFUSED = {
    "month_day_nano_interval": pa.nulls(N, pa.month_day_nano_interval()),
    "struct<>": pa.array([{}] * N, pa.struct([])),
    "sparse_union": pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array([1] * N)]),
    "dense_union": pa.UnionArray.from_dense(
        pa.array([0] * N, pa.int8()), pa.array(range(N), pa.int32()), [pa.array([1] * N)]
    ),
    "extension<arrow.opaque>": pa.ExtensionArray.from_storage(
        pa.opaque(pa.string(), "geometry", "postgis"), pa.array(["CANARY"] * N)
    ),
    "inside list": pa.array([[None]] * N, pa.list_(pa.month_day_nano_interval())),
    "extension<pandas.period>": pa.array(pd.period_range("2020", periods=N, freq="D")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_h1_other_types_are_refused_by_name(name):
    """What is not on the list may hold anything; F5 had exit code 1 for some of these, and published others."""
    given = table([]).append_column("s0", REFUSED[name])
    with pytest.raises(ke.DataError, match='column "s0": is of type') as refused:
        ke.anonymise(given, policy(1))
    assert name in str(refused.value)
    assert refused.value.exit_code == 2
    assert "CANARY" not in str(refused.value)


def test_h1_all_columns_of_other_types_are_named_at_once():
    """One message for all."""
    given = table([])
    for i, column in enumerate(REFUSED.values()):
        given = given.append_column(f"s{i}", column)
    with pytest.raises(ke.DataError) as refused:
        ke.anonymise(given, policy(len(REFUSED)))
    assert len(refused.value.problems) == len(REFUSED)


def test_h1_an_extension_type_that_arrow_does_not_know_is_refused():
    """Arrow shows only its storage; what the column means is in its metadata, which is never published."""
    field = pa.field("s0", pa.string(), metadata={"ARROW:extension:name": "acme.person", "more": "CANARY"})
    given = table([]).append_column(field, pa.array(["x"] * N))
    with pytest.raises(ke.DataError, match=r"extension<acme\.person>") as refused:
        ke.anonymise(given, policy(1))
    assert "CANARY" not in str(refused.value)


def test_f4_polars_objects_are_refused():
    """Polars exports Python objects as their addresses in memory, which 0.1 published."""
    frame = pl.DataFrame(
        {"town": ["t"] * N, "weight": [60.0] * N, "s0": [object() for _ in range(N)]},
        schema_overrides={"s0": pl.Object},
    )
    with pytest.raises(ke.DataError, match=r'column "s0": is of type Object \(Python objects\)'):
        ke.anonymise(frame, policy(1))


def test_f4_polars_objects_that_are_not_published_do_no_harm():
    """An identifier may be of any type: it is dropped."""
    frame = pl.DataFrame(
        {"town": ["t"] * N, "weight": [60.0] * N, "id": [object() for _ in range(N)], "s0": ["x"] * N},
        schema_overrides={"id": pl.Object},
    )
    under = policy(1, id={"role": "identifier"})
    assert ke.anonymise(frame, under).frame.columns == ["town", "weight", "s0"]
    ke.check(frame, under)


def test_h1_flags_of_eight_bits_do_not_number_the_records(tmp_path):
    """Of `arrow.bool8` every number but 0 is true, and everybody sees True; the numbers were the rows of the input."""
    numbered = pa.array([None if i % 5 == 0 else i % 4 and i for i in range(N)], pa.int8())
    given = table([]).append_column("s0", pa.ExtensionArray.from_storage(pa.bool8(), numbered))
    release = ke.anonymise(given, policy(1))
    release.write(tmp_path / "out.arrow")
    release.write(tmp_path / "out.parquet")
    read = (feather.read_table(tmp_path / "out.arrow"), pq.read_table(tmp_path / "out.parquet"))
    for found in (release.frame, *read):
        column = found["s0"].combine_chunks()
        assert set(column.storage.to_pylist()) == {None, 0, 1}
        rows = release.linkage["original_row"].to_pylist()
        assert column.to_pylist() == [given["s0"].to_pylist()[row] for row in rows]
    assert ke.audit(given, tmp_path / "out.parquet", policy(1), linkage=release.linkage).broken == ()


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128], ids=str)
@pytest.mark.parametrize("role", ["sensitive", "identifier"])
def test_h1_integers_that_only_polars_has_are_refused_by_name(kind, role):
    """Arrow takes no frame with such a column, also where it is not published; the refusal named neither column nor type."""
    frame = pl.DataFrame({"town": ["t"] * N, "weight": [60.0] * N, "s0": [1] * N}, schema_overrides={"s0": kind})
    under = policy(0, s0={"role": role})
    if role == "identifier":
        assert ke.anonymise(frame, under).frame.columns == ["town", "weight"]
        return
    with pytest.raises(ke.DataError, match=rf'column "s0": is of type {kind}'):
        ke.anonymise(frame, under)


def objects(of_left_out, of_others) -> pd.DataFrame:
    """A pandas frame with a column of Python objects: of the records that will be left out, and of all others."""
    frame = table([]).to_pandas()
    frame["s0"] = pd.Series(
        [of_left_out if i in np.flatnonzero(LEFT_OUT) else of_others for i in range(N)], dtype=object
    )
    return frame


TELLING = {
    "keys": ({"CANARY": 1}, {"a": 1}, "dictionaries with different keys"),
    "an order of keys": ({"b": 1, "a": 1}, {"a": 1, "b": 1}, "dictionaries with different keys"),
    "keys inside": ({"a": {"CANARY": 1}}, {"a": {"b": 1}}, "dictionaries with different keys"),
    "keys in lists": ([{"CANARY": 1}], [{"a": 1}], "dictionaries with different keys"),
    "keys in arrays": (np.array([{"CANARY": 1}]), np.array([{"a": 1}]), "dictionaries with different keys"),
    "digits": (decimal.Decimal("1.23456"), decimal.Decimal("1.5"), "decimals with different numbers of digits"),
    "bytes": (b"CANARY", "text", "values of several types"),
    "times": (dt.datetime(2020, 1, 1, 5), dt.date(2020, 1, 1), "values of several types"),
    "time zones": (
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        "values of several types",
    ),
}


@pytest.mark.parametrize("name", TELLING)
def test_h1_a_type_that_is_made_of_the_values_of_records_left_out_is_refused(name):
    """Arrow makes the type of a pandas column of Python objects from what they hold: each key of a dictionary was published
    as the name of a field, in the order in which keys first came up."""
    of_left_out, of_others, said = TELLING[name]
    frame = objects(of_left_out, of_others)
    for call in (ke.anonymise, ke.check):
        with pytest.raises(ke.DataError, match=said) as refused:
            call(frame, policy(1))
        assert "CANARY" not in str(refused.value)
        assert 'column "s0"' in str(refused.value)


def test_h1_a_column_of_python_objects_that_is_not_published_does_no_harm():
    """Nothing of its type is in the release."""
    frame = objects({"CANARY": 1}, {"a": 1})
    release = ke.anonymise(frame, policy(0, s0={"role": "identifier"}))
    assert list(release.frame.columns) == ["town", "weight"]


@pytest.mark.parametrize(
    ("own", "kind"),
    [
        ({"a": 1, "b": None}, pa.struct([("a", pa.int64()), ("b", pa.null())])),
        ([{"a": "x"}], pa.list_(pa.struct([("a", pa.string())]))),
        (decimal.Decimal("1.50"), pa.decimal128(38, 2)),
        ("text", pa.string()),
        (dt.date(2020, 1, 1), pa.date32()),
    ],
    ids=lambda own: type(own).__name__,
)
def test_h1_python_objects_of_one_type_are_released(tmp_path, own, kind):
    """With missing values, which have no type; of decimals no more is told than how many digits each has after the point."""
    frame = objects(None, own)
    frame.loc[7, "s0"] = np.nan
    release = ke.anonymise(frame, policy(1))
    assert release.frame["s0"].isna().sum() == 1
    release.write(tmp_path / "out.arrow")
    assert feather.read_table(tmp_path / "out.arrow").schema.field("s0").type == kind


@pytest.mark.parametrize("kind", ["object", "category"])
def test_h1_the_largest_decimal_does_not_set_the_digits_of_a_released_column(tmp_path, kind):
    """pandas states no precision, and that of the longest decimal was one of a record that was left out."""
    frame = objects(decimal.Decimal("123456789.01"), decimal.Decimal("1.50")).astype({"s0": kind})
    release = ke.anonymise(frame, policy(1))
    assert str(release.frame["s0"].dtype) == kind
    release.write(tmp_path / "out.arrow")
    found = feather.read_table(tmp_path / "out.arrow").schema.field("s0").type
    assert (found if kind == "object" else found.value_type) == pa.decimal128(38, 2)


def test_h1_categories_whose_type_is_made_of_those_of_records_left_out_are_refused():
    """A decimal with five digits behind the point gave five to all others."""
    frame = objects(decimal.Decimal("1.23456"), decimal.Decimal("1.5")).astype({"s0": "category"})
    with pytest.raises(ke.DataError, match="decimals with different numbers of digits"):
        ke.anonymise(frame, policy(1))


@pytest.mark.spark
def test_h1_nothing_is_left_on_spark(tmp_path, needs):
    """Workers write the files; the kinds that Spark carries, nested ones among them."""
    del needs
    from material.engine_cases import spark_session

    kinds = [
        pa.string(), pa.large_string(), pa.int64(), pa.float64(), pa.date32(), coded(pa.string()),
        pa.list_(coded(pa.string())), pa.map_(pa.string(), coded(pa.string())), pa.struct([("a", coded(pa.string()))]),
        pa.list_(pa.struct([("a", pa.list_(pa.string()))])), pa.list_(pa.string_view()), pa.string_view(),
    ]  # fmt: skip
    pq.write_table(table(kinds), tmp_path / "in.parquet", row_group_size=13)
    engine = ke.spark_engine(spark_session(), staging=tmp_path)
    with ke.anonymise(tmp_path / "in.parquet", policy(len(kinds)), engine=engine) as release:
        for name in ("out.parquet", "out"):
            release.write(tmp_path / name)
        assert in_columns(release.frame, kinds) == []
    for file in (tmp_path / "out.parquet", *(tmp_path / "out").iterdir()):
        assert in_bytes(file.read_bytes(), kinds) == []
    audit = ke.audit(tmp_path / "in.parquet", tmp_path / "out", policy(len(kinds)))
    assert [f.severity for f in audit.findings if f.check == "bytes"] == ["passed"], audit.findings


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_h1_a_dictionary_with_both_zeros_does_not_show_which_came_first(kind):
    """Zero and minus zero are equal, so a sort may leave them in the order of the input."""
    listed = []
    for first in (0.0, -0.0):
        entries = pa.array(np.array([first, -first, 1, -1], dtype=kind.to_pandas_dtype()))
        column = pa.DictionaryArray.from_arrays(pa.array([i % 4 for i in range(N)], pa.int32()), entries)
        frame = ke.anonymise(table([]).append_column("s0", column), policy(1)).frame
        listed.append([str(value) for value in frame["s0"].combine_chunks().dictionary.to_pylist()])
    assert listed[0] == listed[1]
    assert len(listed[0]) == len(entries)


def test_h1_a_declared_order_stays_where_records_are_spilt(tmp_path):
    """Put together from parts of the input, it was the order in which entries came up in these parts."""
    n, rng = 3000, np.random.default_rng(1)
    declared = [f"stage {i}" for i in rng.permutation(40)]
    used = rng.integers(0, 39, n)  # the last entry is used by nobody
    column = pa.DictionaryArray.from_arrays(pa.array(used, pa.int32()), declared, ordered=True)
    given = pa.table({"town": ["t"] * n, "weight": 60.0 + np.arange(n) % 9, "s0": column})
    pq.write_table(given, tmp_path / "in.parquet", row_group_size=50)
    with ke.anonymise(tmp_path / "in.parquet", policy(1), memory="300MB", spill_folder=tmp_path) as release:
        release.write(tmp_path / "out.parquet")
        release.write(tmp_path / "out")
        found = [release.frame["s0"], pq.read_table(tmp_path / "out.parquet")["s0"]]
        found += [pq.read_table(file)["s0"] for file in sorted((tmp_path / "out").iterdir())]
    for own in found:
        entries = own.chunk(0).dictionary.to_pylist()
        assert entries == [entry for entry in declared if entry in set(entries)]
        assert set(entries) == set(own.to_pylist())


@pytest.mark.parametrize(
    ("how", "memory"),
    [
        ("no dictionary page", None),
        ("no dictionary page", "300MB"),
        ("differing row groups", None),
        ("differing row groups", "300MB"),
        ("arrow chunks", None),
    ],
)
def test_h1_an_order_that_nothing_states_is_not_that_of_the_input(how, memory, tmp_path):
    """Ordered categories whose order is not stored are read as they first come up, which is the input's order."""
    own = ["z", "a", "m", "k"] * 25
    rows = {"q": ["x"] * 100}
    if how == "no dictionary page":
        order = pa.DictionaryArray.from_arrays(
            pa.array([3, 0, 2, 1] * 25, pa.int32()), ["a", "k", "m", "z"], ordered=True
        )
        pq.write_table(pa.table({**rows, "s": order}), tmp_path / "in.parquet", use_dictionary=False)
        source = tmp_path / "in.parquet"
    else:
        kind = pa.dictionary(pa.int32(), pa.string(), ordered=True)
        first = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 25, pa.int32()), ["z", "a"], ordered=True)
        second = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 25, pa.int32()), ["m", "k"], ordered=True)
        source = pa.table({**rows, "s": pa.chunked_array([first, second], type=kind)})
        if how == "differing row groups":
            with pq.ParquetWriter(tmp_path / "in.parquet", source.schema) as writer:
                for i in range(2):
                    writer.write_table(source.slice(50 * i, 50))
            source = tmp_path / "in.parquet"
    policy = ke.Policy.from_dict(
        {
            "k": 5, "epsilon": 1, "algorithm": "mondrian", "max_suppression": 0,
            "attributes": {"q": {"role": "k-quasi"}, "s": {"role": "sensitive"}},
        }
    )  # fmt: skip
    options = {} if memory is None else {"memory": memory, "spill_folder": tmp_path}
    assert any("ordered categories" in str(warning) for warning in ke.check(source, policy, **options).warnings)
    with ke.anonymise(source, policy, **options) as release:
        column = release.frame["s"]
        assert sorted(column.to_pylist()) == sorted(own)
        if pa.types.is_dictionary(column.type):
            assert not column.type.ordered
            assert column.combine_chunks().dictionary.to_pylist() == ["a", "k", "m", "z"]


def noted(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={b"note": TEXT})


NOTED = {
    "a structure": pa.struct([noted("a", pa.string())]),
    "a list": pa.list_(noted("item", pa.string())),
    "a large list": pa.large_list(noted("item", pa.string())),
    "a list of a fixed size": pa.list_(noted("item", pa.string()), 2),
    "a list inside a structure": pa.struct([pa.field("a", pa.list_(noted("item", pa.int32())))]),
}


@pytest.mark.parametrize("source", ["frame", "parquet", "arrow", "spilt"])
@pytest.mark.parametrize("name", NOTED)
def test_h1_a_note_on_a_field_inside_a_column_is_not_released(tmp_path, name, source):
    """Metadata can hold anything; Arrow calls two types the same that differ in it."""
    kind = NOTED[name]
    original = table([pa.string()]).drop_columns(["s0"])
    value = pa.array([None], kind)
    original = original.append_column("s0", pa.chunked_array([pa.concat_arrays([value] * N)], type=kind))
    given = original
    if source in ("parquet", "spilt"):
        given = tmp_path / "in.parquet"
        pq.write_table(original, given)
    if source == "arrow":
        given = tmp_path / "in.arrow"
        with pa.OSFile(str(given), "wb") as sink, pa.ipc.new_file(sink, original.schema) as writer:
            writer.write_table(original)
    assert TEXT in original.schema.serialize().to_pybytes()
    more = {"memory": "300MB", "spill_folder": tmp_path} if source == "spilt" else {}
    release = ke.anonymise(given, policy(1), **more)
    assert TEXT not in release.frame.schema.serialize().to_pybytes()
    assert TEXT not in pq.read_schema(release.write(tmp_path / "out.parquet").path).serialize().to_pybytes()
    assert TEXT not in release.write(tmp_path / "out.arrow").path.read_bytes()
