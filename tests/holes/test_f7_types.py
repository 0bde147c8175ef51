# SPDX-License-Identifier: Apache-2.0
"""F7: kept columns keep their type, or the change is said."""

from __future__ import annotations

import datetime as dt
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import kepsilon as ke

N = 60
POLICY = ke.Policy.from_dict(
    {
        "k": 5,
        "epsilon": 8,  # at a smaller one there would be a warning that noise is worthless
        "algorithm": "ola",
        "max_suppression": 0,
        "attributes": {
            "town": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
            "weight": {"role": "epsilon-quasi", "precision": 1, "range": "class"},
            "s": {"role": "sensitive"},
        },
    }
)
MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5)
COLUMNS = {
    "string view": pa.array(["a", "longer than a view holds", None] * 20, pa.string_view()),
    "repeating string view": pa.array(["a"] * N, pa.string_view()),
    "binary view": pa.array([b"a", b"longer than a view holds", None] * 20, pa.binary_view()),
    "lists of views": pa.array([["a"], None, ["longer than a view holds"]] * 20, pa.list_(pa.string_view())),
    "small dictionary": pa.array(["a", "b", None] * 20).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "ordered dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0] * 30, pa.uint8()), ["z", "a"], ordered=True),
    "date64": pa.array([dt.date(2020, 1, 2)] * N, pa.date64()),
    "time32[s]": pa.array([dt.time(3, 4, 5)] * N, pa.time32("s")),
    "timestamp[s]": pa.array([MOMENT] * N, pa.timestamp("s")),
    "duration": pa.array([dt.timedelta(seconds=5)] * N, pa.duration("s")),
}
NOT_IN_PARQUET = {"date64": "date32[day]", "time32[s]": "time32[ms]", "timestamp[s]": "timestamp[ms]"}


def people(column) -> dict:
    return {"town": ["t"] * N, "weight": [60.0 + i % 7 for i in range(N)], "s": column}


@pytest.mark.parametrize("name", COLUMNS)
def test_f7_kept_columns_of_arrow_tables_and_files_keep_their_type(tmp_path, name):
    """In a frame, and in an Arrow file."""
    given = pa.table(people(COLUMNS[name]))
    release = ke.anonymise(given, POLICY)
    assert release.frame.schema.field("s").type == COLUMNS[name].type
    written = release.write(tmp_path / "out.arrow")
    assert feather.read_table(tmp_path / "out.arrow").schema.field("s").type == COLUMNS[name].type
    assert not written.warnings
    assert sorted(map(str, release.frame["s"].to_pylist())) == sorted(map(str, given["s"].to_pylist()))


@pytest.mark.parametrize("name", COLUMNS)
def test_f7_what_parquet_cannot_hold_is_said(tmp_path, name):
    """Parquet has no date64, and no times in seconds; the warning names the column and both types."""
    written = ke.anonymise(pa.table(people(COLUMNS[name])), POLICY).write(tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet").schema.field("s").type
    if name in NOT_IN_PARQUET:
        assert str(found) == NOT_IN_PARQUET[name]
        assert f'"s" was {COLUMNS[name].type} and is {found}' in str(written.warnings[0])
    else:
        assert found == COLUMNS[name].type
        assert not written.warnings


MORE_COLUMNS = {
    "text that repeats": pa.array(["a", "b"] * 30),
    "list view": pa.array([["a"]] * N, pa.list_view(pa.string())),
    "lists of dictionaries": pa.array([["a"]] * N, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
}


@pytest.mark.parametrize("memory", [None, "200MB"])
@pytest.mark.parametrize("name", [*COLUMNS, *MORE_COLUMNS])
def test_f7_notes_on_parquet_say_what_changes_and_nothing_else(tmp_path, name, memory):
    """Columns are read in types that are faster to move; the notes compare the release with what is in the file."""
    pq.write_table(pa.table(people({**COLUMNS, **MORE_COLUMNS}[name])), tmp_path / "in.parquet")
    with ke.anonymise(tmp_path / "in.parquet", POLICY, memory=memory) as release:
        written = release.write(tmp_path / "out.parquet")
    before, after = (pq.read_schema(tmp_path / name).field("s").type for name in ("in.parquet", "out.parquet"))
    assert (before == after) is (name not in ("list view", "lists of dictionaries"))
    assert bool(written.warnings) is (before != after)
    assert all(f"{before}" in str(warning) for warning in written.warnings)


def test_f7_csv_has_no_types_and_that_is_said(tmp_path):
    """Text stays text, and needs no warning."""
    written = ke.anonymise(pa.table(people(COLUMNS["date64"])), POLICY).write(tmp_path / "out.csv")
    assert '"s" was date64[ms] and is text' in str(written.warnings[0])
    assert not ke.anonymise(pa.table(people(["x"] * N)), POLICY).write(tmp_path / "texts.csv").warnings


def test_f7_the_command_says_it(tmp_path, kepsilon_command):
    """Where the curator sees it: below the release."""
    feather.write_feather(pa.table(people(COLUMNS["date64"])), tmp_path / "in.arrow")
    (tmp_path / "policy.toml").write_text(
        'k = 5\nepsilon = 1\nalgorithm = "ola"\nmax_suppression = 0\n[attributes.town]\nrole = "k-quasi"\n'
        'hierarchy = { type = "suppress" }\n[attributes.weight]\nrole = "epsilon-quasi"\nprecision = 1\nrange = "class"\n'
        '[attributes.s]\nrole = "sensitive"\n'
    )
    done = kepsilon_command(
        "anonymise", tmp_path / "in.arrow", "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.parquet"
    )
    assert done.code == 0, done.err
    assert '"s" was date64[ms] and is date32[day]' in " ".join(done.err.split())


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["a"]] * N, pa.list_view(pa.string())),
        pa.array([["a"]] * N, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    ],
    ids=["list view", "inner dictionary"],
)
def test_f7_types_that_hide_values_change_and_check_says_so(column):
    """What they store beside the values cannot be kept."""
    given = pa.table(people(column))
    warnings = [str(own) for own in ke.check(given, POLICY).warnings]
    assert any(f"is {column.type}, and is released as list<item: string>" in own for own in warnings), warnings
    assert ke.anonymise(given, POLICY).frame.schema.field("s").type == pa.list_(pa.string())


def test_f7_a_polars_enum_stays_one_in_its_order():
    """With the categories that released records hold: an unused one may be the value of a record that was left out."""
    column = pl.Series("s", ["small", "large", None] * 20, dtype=pl.Enum(["small", "unused", "large"]))
    frame = pl.DataFrame(people(column))
    release = ke.anonymise(frame, POLICY)
    assert release.frame.schema["s"] == pl.Enum(["small", "large"])
    assert any("Enum" in str(own) for own in ke.check(frame, POLICY).warnings)


@pytest.mark.parametrize("kind", ["Int64", "boolean", "string", "int64[pyarrow]"])
def test_f7_pandas_types_that_know_missing_values_stay(kind):
    """An Int64 with missing values must not come back as a float."""
    values = {"boolean": [True, None], "string": ["a", None]}.get(kind, [2**60 + 1, None])
    frame = pd.DataFrame(people(pd.array(values * 30, dtype=kind)))
    released = ke.anonymise(frame, POLICY).frame
    assert released["s"].dtype == frame["s"].dtype
    assert sorted(map(str, released["s"])) == sorted(map(str, frame["s"]))


def test_f7_small_indices_grow_only_where_files_together_have_more_entries(tmp_path):
    """Each file has numbers for its own entries; all of them together may need more."""
    (tmp_path / "in").mkdir()
    small = pa.dictionary(pa.int8(), pa.string())
    for part in range(2):
        texts = [f"v{part}-{i}" for i in range(100)]
        own = pa.table({"town": ["t"] * 100, "weight": [60.0 + i % 7 for i in range(100)], "s": pa.array(texts, small)})
        pq.write_table(own, tmp_path / "in" / f"{part}.parquet")
    released = ke.anonymise(tmp_path / "in", POLICY).frame
    assert released.schema.field("s").type == pa.dictionary(pa.int16(), pa.string())
    assert len(set(released["s"].to_pylist())) == 200


@pytest.mark.parametrize(
    "values",
    [[{"a": 2**60 + 1}, None], [{"a": 2**60 + 1}, {"a": None}], [[2**60 + 1, None], [3]], [[{"a": 2**60 + 1}], [None]]],
    ids=["null above", "null beside", "null in a list", "null in a list of structs"],
)
def test_f7_whole_numbers_in_nested_cells_of_pandas_stay_whole(values):
    """A null above or beside them made doubles of them, which lose digits; the audit called that broken."""
    frame = pd.DataFrame(people(pd.Series(values * 30, dtype=object)))
    release = ke.anonymise(frame, POLICY)
    cells = release.frame["s"].map(lambda cell: list(cell) if hasattr(cell, "tolist") else cell)
    assert sorted(map(repr, cells)) == sorted(map(repr, frame["s"]))
    assert ke.audit(frame, release.frame, POLICY, linkage=release.linkage).broken == ()


SHORT = pa.array([decimal.Decimal(own) for own in (3, 1, 2)], pa.decimal64(9, 2))
HALVES = pa.array(np.array([3, 1, 2], dtype=np.float16))
WITH_NULL = pa.array(["z", None, "a"])
SHORT_WITH_NULL = pa.array([decimal.Decimal(3), None, decimal.Decimal(2)], pa.decimal32(9, 2))
PIECES = {
    "numbers of 16 bits": (HALVES, HALVES.take(pa.array([2, 0, 1]))),
    "short decimals": (SHORT, SHORT.take(pa.array([2, 0, 1]))),
    "a null entry": (WITH_NULL, WITH_NULL),
    "null entries in different places": (WITH_NULL, WITH_NULL.take(pa.array([2, 0, 1]))),
    "short decimals with a null entry": (SHORT_WITH_NULL, SHORT_WITH_NULL.take(pa.array([2, 1, 0]))),
    "views": (pa.array(["z", "a", None], pa.string_view()), pa.array(["a", "z", "m"], pa.string_view())),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow", None])
@pytest.mark.parametrize("name", PIECES)
def test_f7_values_of_dictionaries_in_several_pieces_are_the_originals(tmp_path, name, suffix):
    """Arrow made 15360 of 1 where it put dictionaries of 16-bit numbers together, and failed on short decimals beside null."""
    indices = pa.array([0, 1, 2] * 10, pa.int8())
    pieces = [pa.DictionaryArray.from_arrays(indices, entries) for entries in PIECES[name]]
    given = pa.table(people(pa.chunked_array(pieces)))
    release = ke.anonymise(given, POLICY)
    rows = release.linkage["original_row"].to_pylist()
    originals = [given["s"].to_pylist()[row] for row in rows]
    assert release.frame["s"].to_pylist() == originals
    assert release.frame.schema.field("s").type == given.schema.field("s").type
    released = release.frame if suffix is None else tmp_path / f"out.{suffix}"
    if suffix is not None:
        release.write(released)
        read = (pq if suffix == "parquet" else feather).read_table(released)["s"]
        assert read.to_pylist() == originals
    assert ke.audit(given, released, POLICY, linkage=release.linkage).broken == ()


def test_f7_minus_zero_stays_minus_zero_in_dictionaries_in_several_pieces():
    """Arrow takes a dictionary of 0.0 for one of −0.0, and gave the records of one the entry of the other."""
    indices = pa.array([0] * 30, pa.int8())
    pieces = [pa.DictionaryArray.from_arrays(indices, pa.array([zero])) for zero in (0.0, -0.0)]
    given = pa.table(people(pa.chunked_array(pieces)))
    release = ke.anonymise(given, POLICY)
    rows = release.linkage["original_row"].to_pylist()
    assert list(map(str, release.frame["s"].to_pylist())) == [str(given["s"].to_pylist()[row]) for row in rows]


def test_f7_a_declared_order_stays_where_an_entry_is_null():
    """A null entry is a second way to be null; without it, the order of the others is as declared."""
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2] * 20, pa.int8()), pa.array(["z", None, "a"]), ordered=True
    )
    found = ke.anonymise(pa.table(people(column)), POLICY).frame["s"]
    assert found.type == column.type
    assert found.combine_chunks().dictionary.to_pylist() == ["z", "a"]


VALUES_OF_DICTIONARIES = {
    "times of a zone": (pa.array([1, 2], pa.timestamp("us", "Europe/Vienna")), pa.timestamp("us", "Europe/Vienna")),
    "seconds of a zone": (pa.array([1, 2], pa.timestamp("s", "Europe/Vienna")), pa.timestamp("ms", "Europe/Vienna")),
    "durations": (pa.array([1, 2], pa.duration("s")), pa.duration("s")),
    "bytes of one length": (pa.array([b"abc", b"xyz"], pa.binary(3)), pa.binary(3)),
}


@pytest.mark.parametrize("name", VALUES_OF_DICTIONARIES)
def test_f7_dictionaries_that_parquet_lacks_become_their_values_in_their_own_type(tmp_path, name):
    """Times lost their zone, and durations became numbers without a unit. Times of a zone and bytes were called broken (H9)."""
    entries, kind = VALUES_OF_DICTIONARIES[name]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None] * 20, pa.int8()), entries)
    given = pa.table(people(column))
    release = ke.anonymise(given, POLICY)
    written = release.write(tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")["s"]
    assert found.type == kind
    rows = release.linkage["original_row"].to_pylist()
    assert found.to_pylist() == [column.to_pylist()[row] for row in rows]
    assert any(f'"s" was {column.type} and is {kind}' in str(own) for own in written.warnings)
    for linkage in (release.linkage, None):
        assert ke.audit(given, tmp_path / "out.parquet", POLICY, linkage=linkage).broken == ()


OBJECTS = {
    "large whole numbers": [2**60 + 1, None],
    "whole numbers": [3, 4],
    "flags": [True, False],
    "moments": [dt.datetime(2020, 1, 2, 3), None],
    "spans": [dt.timedelta(days=1), None],
    "days": [dt.date(2020, 1, 2), None],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_f7_python_objects_in_pandas_stay_as_they_are(name):
    """Whole numbers beside None came back as floats, of which large ones were others than before."""
    frame = pd.DataFrame(people(pd.Series(OBJECTS[name] * 30, dtype=object)))
    released = ke.anonymise(frame, POLICY).frame
    assert str(released["s"].dtype) == "object"
    assert sorted(map(repr, released["s"])) == sorted(map(repr, frame["s"]))


def test_f7_lists_of_an_arrow_type_stay_in_pandas():
    """They came back as Python objects, without a word."""
    frame = pd.DataFrame(people(pd.Series([[1], [2, None]] * 30, dtype=pd.ArrowDtype(pa.list_(pa.int8())))))
    released = ke.anonymise(frame, POLICY).frame
    assert released["s"].dtype == frame["s"].dtype
    assert sorted(map(str, released["s"])) == sorted(map(str, frame["s"]))


def relation(expression: str):
    """A DuckDB relation whose kept column is this expression; an ENUM `size` is there."""
    connection = duckdb.connect()
    connection.execute("create type size as enum ('small', 'CANARY', 'large')")
    return connection.sql(f"select 't' as town, 60.0::double + i % 7 as weight, {expression} as s from range({N}) t(i)")


OTHER_IN_DUCKDB = {
    "'small'::size": ("ENUM", "VARCHAR"),
    "'0190b7a2-0000-7000-8000-000000000001'::uuid": ("UUID", "VARCHAR"),
    "['0190b7a2-0000-7000-8000-000000000001'::uuid]": ("UUID[]", "VARCHAR[]"),
    "'{}'::json": ("JSON", "VARCHAR"),
    "(i % 3)::hugeint": ("HUGEINT", "DECIMAL(38,0)"),
}


@pytest.mark.parametrize("expression", OTHER_IN_DUCKDB)
def test_f7_types_that_duckdb_does_not_get_back_are_said(expression):
    """Arrow, which carries the records, has them as other types; nothing said so."""
    frame = relation(expression)
    before, after = OTHER_IN_DUCKDB[expression]
    release = ke.anonymise(frame, POLICY)
    assert str(release.frame.types[2]) == after
    assert any(f'column "s": is {before}, and is released as {after}.' in str(own) for own in release.warnings)
    assert not any("CANARY" in str(own) for own in release.warnings), "the name of an ENUM lists its values"


@pytest.mark.parametrize(
    "expression", ["i % 3", "'x'", "[i % 3]", "map(['a'], [1])", "array_value(1, 2)", "'1:00'::time"]
)
def test_f7_types_that_duckdb_gets_back_are_not_spoken_of(expression):
    """A warning about a change that there is not would be read once and then never again."""
    frame = relation(expression)
    release = ke.anonymise(frame, POLICY)
    assert release.frame.types[2] == frame.types[2]
    assert not any("is released as" in str(own) for own in release.warnings)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("'101'::bit", "BIT"),
        ("340282366920938463463374607431768211455::uhugeint", "UHUGEINT"),
        ("'01:00:00+02'::timetz", "TIME WITH TIME ZONE"),
        ("[{'a': 1::uhugeint}]", "UHUGEINT"),
    ],
)
def test_f7_types_of_duckdb_that_come_as_other_values_are_refused(expression, kind):
    """DuckDB hands over bytes of its own, −1 for its largest number, and a time without its zone."""
    with pytest.raises(ke.DataError, match=f'column "s": is of type {kind}'):
        ke.anonymise(relation(expression), POLICY)
