# SPDX-License-Identifier: Apache-2.0
"""Spark DataFrames: one in, one out; all types and names that Spark has; and a session that is as it was."""

from __future__ import annotations

import datetime as dt
import decimal
import gc
import os
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from engines.test_every_engine import expected_figures, labels, same
from kepsilon.files.private_folders import SPILL_PREFIX
from material.engine_cases import SEED, document, random_people, spark_session

pytestmark = pytest.mark.spark

N = 600
ODD_NAMES = {
    "zip": "`zip`",
    "sex": "c0",
    "height": "a.height",
    "illness": "_metadata",
    "score": "class_id",
    "batch": "batch",
    "Batch": "Batch",
    "row": "original_row",
    "name": "a,b;{c}(d)=\n\t%s",
}


@pytest.fixture(scope="module")
def session():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield spark_session()


def columns(**more: Any) -> dict[str, Any]:
    return {**random_people(N, zips=np.random.default_rng(SEED).integers(0, 8, N)), **more}


def as_frame(session: Any, table: pa.Table) -> Any:
    return session.createDataFrame(table)


def policy_of(**attributes: dict[str, Any]) -> kepsilon.Policy:
    return kepsilon.Policy.from_dict(document(**attributes))


def anonymise(frame: Any, folder: Path, policy: kepsilon.Policy | None = None) -> kepsilon.Release:
    return kepsilon.anonymise(frame, policy_of() if policy is None else policy, spill_folder=folder)


def spill_folders(folder: Path) -> list[Path]:
    return list(folder.glob(f"{SPILL_PREFIX}*"))


def test_a_dataframe_comes_back(session, tmp_path):
    """With the classes and expected figures that the same table has in memory, and the records that are written."""
    table = pa.table(columns())
    with anonymise(as_frame(session, table), tmp_path) as release:
        here = kepsilon.anonymise(table, policy_of())
        same(expected_figures(here.record.to_json()), expected_figures(release.record.to_json()))
        assert type(release.frame).__name__ == "DataFrame"
        assert release.frame.columns == ["zip", "sex", "height", "illness", "score"]
        found = release.frame.toArrow()
        assert labels(found, ["zip", "sex"]) == labels(here.frame, ["zip", "sex"])
        assert sorted(found.column("score").to_pylist()) == sorted(here.frame.column("score").to_pylist())
        release.write(tmp_path / "out")
        release.write(tmp_path / "out.parquet")
    rows = sorted(map(str, found.to_pylist()))
    assert sorted(map(str, parquet.read_table(tmp_path / "out").to_pylist())) == rows
    assert sorted(map(str, parquet.read_table(tmp_path / "out.parquet").to_pylist())) == rows
    assert not any("CANARY" in row for row in rows)
    assert spill_folders(tmp_path) == []


def test_a_dataframe_can_be_used_although_its_release_was_forgotten(session, tmp_path):
    """Until the program ends; two releases of one session have nothing to do with each other."""
    frame = as_frame(session, pa.table(columns()))
    kept = anonymise(frame, tmp_path).frame
    gc.collect()
    with anonymise(frame, tmp_path) as other:
        assert len(spill_folders(tmp_path)) == 2
        assert other.frame.count() == kept.count()
    assert len(spill_folders(tmp_path)) == 1
    one = [row["height"] for row in kept.select("height").collect()]
    two = [row["height"] for row in kept.select("height").collect()]
    assert sorted(one) == sorted(two), "noise is drawn once"


def kinds() -> dict[str, tuple[str, list[Any]]]:
    """By Spark's name of a type, N values, with null among them."""
    at = dt.datetime(2024, 3, 31, 1, 30, 0, 123456)
    day = dt.timedelta(days=1)

    def some(make):
        return [None if i % 10 == 0 else make(i) for i in range(N)]

    return {
        "byte": ("tinyint", some(lambda i: i % 100)),
        "short": ("smallint", some(lambda i: 300 + i)),
        "int": ("int", some(lambda i: 70_000 + i)),
        "long": ("bigint", some(lambda i: 2**40 + i)),
        "float": ("float", some(lambda i: float(np.float32(i / 7)))),
        "double": ("double", some(lambda i: i / 7)),
        "decimal": ("decimal(20,3)", some(lambda i: decimal.Decimal(i) / 8)),
        "yes": ("boolean", some(lambda i: i % 3 == 0)),
        "bytes": ("binary", some(lambda i: bytearray([i % 256, 0, 255]))),
        "day": ("date", some(lambda i: dt.date(1999, 12, 31) + i * day)),
        "moment": ("timestamp", some(lambda i: at + i * day)),
        "clock": ("timestamp_ntz", some(lambda i: at + i * day)),
        "list": ("array<int>", some(lambda i: [i, None, i + 1])),
        "structure": (
            "struct<a:string,`B b`:array<double>>",
            some(lambda i: (f"text {i}", [i / 2])),
        ),
        "pairs": ("map<string,bigint>", some(lambda i: {"a": i, "b": None})),
        "nobody": ("string", [None] * N),
        "void": ("void", [None] * N),
    }


def frame_of_kinds(session: Any, **more: tuple[str, list[Any]]) -> Any:
    own = kinds() | more | {"number": ("int", list(range(N))), "town": ("string", [f"town {i % 4}" for i in range(N)])}
    schema = ", ".join(f"`{name}` {kind}" for name, (kind, _) in own.items())
    return session.createDataFrame(list(zip(*(values for _, values in own.values()), strict=True)), schema)


TOWN = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}


def policy_of_kinds(**attributes: dict[str, Any]) -> kepsilon.Policy:
    kept = {name: {"role": "insensitive", "accept_leak": "made-up records"} for name in [*kinds(), "number"]}
    return kepsilon.Policy.from_dict({**document(), "attributes": {**kept, "town": TOWN, **attributes}})


def test_kept_columns_have_the_types_and_values_they_had(session, tmp_path):
    """All types that Spark has, wherever its clock is."""
    before = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = frame_of_kinds(session)
        with anonymise(frame, tmp_path, policy_of_kinds()) as release:
            assert dict(release.frame.dtypes) == {**dict(frame.dtypes), "void": "int"}, "Parquet has no type of nothing"
            assert release.frame.columns == frame.columns
            was = {row["number"]: row.asDict() for row in frame.collect()}
            found = {row["number"]: row.asDict() for row in release.frame.collect()}
        assert len(found) == N
        assert found == was
    finally:
        session.conf.set("spark.sql.session.timeZone", before)


def test_k_quasis_of_all_types_have_the_labels_they_have_in_memory(session, tmp_path):
    """Text is made of a value by the same code."""
    of_k = ["int", "decimal", "yes", "day", "moment", "clock", "double"]
    own = kinds()
    grouped = {
        name: (own[name][0], [None if i % 4 == 0 else own[name][1][1 + i % 4] for i in range(N)]) for name in of_k
    }
    frame = frame_of_kinds(session, **grouped)
    policy = policy_of_kinds(**dict.fromkeys(of_k, TOWN))
    here = kepsilon.anonymise(frame.toArrow(), policy)
    with anonymise(frame, tmp_path, policy) as release:
        found = labels(release.frame.toArrow(), [*of_k, "town"])
    assert found == labels(here.frame, [*of_k, "town"])
    assert len(found) == 4
    assert not any("*" in shown for shown in found)


def test_epsilon_quasis_of_all_numbers_have_the_figures_they_have_in_memory(session, tmp_path):
    """Records without a value leave, as they do there."""
    numbers = ["byte", "short", "int", "long", "float", "double", "decimal"]
    frame = frame_of_kinds(session)
    noisy = {"role": "epsilon-quasi", "precision": 0.5, "range": "class"}
    policy = policy_of_kinds(**dict.fromkeys(numbers, noisy))
    here = kepsilon.anonymise(frame.toArrow(), policy)
    with anonymise(frame, tmp_path, policy) as release:
        assert release.record["records"] == here.record["records"]
        assert here.record["records"]["suppressed_missing"] == N / 10
        for name in numbers:
            same(here.record["error"][name]["expected_relative"], release.record["error"][name]["expected_relative"])


def test_numbers_that_are_text(session, tmp_path):
    """With blanks around them, and instead of them."""
    heights = columns()["height"]
    texts = [
        "  " if i % 9 == 0 else "" if i % 9 == 1 else None if i % 9 == 2 else f" {h} " for i, h in enumerate(heights)
    ]
    table = pa.table(columns(height=texts))
    here = kepsilon.anonymise(table, policy_of())
    with anonymise(as_frame(session, table), tmp_path) as release:
        same(expected_figures(here.record.to_json()), expected_figures(release.record.to_json()))
        assert dict(release.frame.dtypes)["height"] == "double"


def test_what_is_no_number_is_refused_in_the_same_words(session, tmp_path):
    """All at once, by column and count, without the values."""
    nothing, infinity = float("nan"), float("-inf")
    wrong = [["170,5", "CANARY"], ["nan", "170"], ["Infinity", "1e400"], [nothing, 1.0], [infinity, 1.0], [True, False]]
    more = {f"h{j}": [own[i % 2] if i < 20 else type(own[0])(i % 40) for i in range(N)] for j, own in enumerate(wrong)}
    table = pa.table(columns(**more))
    policy = policy_of(**{name: {"role": "epsilon-quasi", "precision": 1, "range": "class"} for name in more})
    told = []
    for given, where in ((table, "table"), (as_frame(session, table), "DataFrame")):
        with pytest.raises(kepsilon.DataError) as caught:
            anonymise(given, tmp_path, policy)
        told.append(str(caught.value).replace(f"{where}: ", ""))
        assert len(caught.value.problems) == len(wrong)
    assert told[0] == told[1]
    assert "CANARY" not in told[1]
    assert list(tmp_path.iterdir()) == []


def odd_names() -> tuple[pa.Table, kepsilon.Policy]:
    own = columns(batch=[f"small {i}" for i in range(N)], Batch=[f"large {i}" for i in range(N)], row=list(range(N)))
    openly = {"role": "insensitive", "accept_leak": "made-up records"}
    policy = document(**dict.fromkeys(("batch", "Batch", "row"), openly))
    policy["attributes"] = {ODD_NAMES.get(name, name): role for name, role in policy["attributes"].items()}
    table = pa.table({ODD_NAMES.get(name, name): values for name, values in own.items()})
    return table, kepsilon.Policy.from_dict(policy)


def covers(label: str, value: str) -> bool:
    return len(label) == len(value) and all(shown in ("*", own) for shown, own in zip(label, value, strict=True))


@pytest.mark.parametrize("source", ["frame", "files"])
def test_names_that_mean_something_to_spark_or_to_us(source, session, tmp_path):
    """Columns are known by their place: every value is in the column, and beside the values, that it was in before."""
    table, policy = odd_names()
    case_before = session.conf.get("spark.sql.caseSensitive")
    session.conf.set("spark.sql.caseSensitive", "true")  # a session that has such names
    try:
        if source == "frame":
            with anonymise(as_frame(session, table), tmp_path, policy) as release:
                found = release.frame.toArrow()
        else:
            parquet.write_table(table, tmp_path / "in.parquet")
            engine = kepsilon.spark_engine(session, staging=tmp_path)
            with kepsilon.anonymise(tmp_path / "in.parquet", policy, engine=engine) as release:
                found = release.frame
                rows = release.linkage.column("original_row").to_pylist()
                assert found.column("original_row").to_pylist() == rows
    finally:
        session.conf.set("spark.sql.caseSensitive", case_before)
    assert found.column_names == [name for name in table.column_names if name != ODD_NAMES["name"]]
    rows = found.column("original_row")
    for name in ("_metadata", "class_id", "batch", "Batch"):
        assert found.column(name).to_pylist() == table.column(name).take(rows).to_pylist()
    shown = labels(found, ["`zip`", "c0"])
    assert min(shown.values()) >= 5
    for name in ("`zip`", "c0"):
        values = table.column(name).take(rows).to_pylist()
        assert all(covers(*pair) for pair in zip(found.column(name).to_pylist(), values, strict=True))


def test_an_error_of_spark_is_told_without_what_it_quotes(session, tmp_path, capfd, caplog):
    """Spark's own message has the value that could not be read, and PySpark would print it."""
    frame = as_frame(session, pa.table(columns()))
    wrong = frame.withColumn("height", frame["name"].cast("double"))
    with pytest.raises(kepsilon.EngineError) as caught:
        anonymise(wrong, tmp_path)
    assert "CAST_INVALID_INPUT" in str(caught.value)
    captured = capfd.readouterr()
    assert "CANARY" not in str(caught.value) + captured.out + captured.err + caplog.text
    assert "CANARY" not in "".join(traceback.format_exception(caught.value)), "nor where nobody catches it"
    assert caught.value.__context__ is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "made",
    [
        "make_dt_interval(1)",
        "make_ym_interval(1)",
        "parse_json('1')",
        "time'12:34:56'",
        "array(struct(null AS a))",
        "map(1, make_dt_interval(1))",
        "'a' COLLATE UTF8_LCASE",
    ],
)
def test_types_that_would_come_back_as_others_are_refused(made, session, tmp_path):
    """By the names of the columns, before any work."""
    frame = session.sql(f"SELECT 'a' AS town, {made} AS `x y` FROM range(20)")
    policy = {**document(), "attributes": {"town": TOWN, "x y": {"role": "insensitive"}}}
    with pytest.raises(kepsilon.DataError, match='columns "x y" are of types that Spark cannot carry'):
        anonymise(frame, tmp_path, kepsilon.Policy.from_dict(policy))


def test_a_k_quasi_of_lists_is_refused_as_in_memory(session, tmp_path):
    """A list has no place in a hierarchy."""
    frame = frame_of_kinds(session)
    with pytest.raises(kepsilon.DataError, match='column "list": holds lists or structures, not single values'):
        anonymise(frame, tmp_path, policy_of_kinds(list=TOWN))


def test_columns_of_the_same_name_are_refused(session, tmp_path):
    """Nothing could say which of them is meant."""
    frame = as_frame(session, pa.table(columns()))
    with pytest.raises(kepsilon.DataError, match='several columns are named "zip"'):
        anonymise(frame.withColumnRenamed("illness", "zip"), tmp_path)


def another_every_time(change: str) -> Any:
    """Made in a function, so that Spark sends it to its workers, who know nothing of this file."""

    def changed(batches):
        for batch in batches:
            if change == "values":
                sexes = pa.array(["FM"[byte % 2] for byte in os.urandom(len(batch))])
                yield batch.set_column(batch.schema.get_field_index("sex"), "sex", sexes)
            else:
                yield batch.slice(int.from_bytes(os.urandom(8), "big") % (len(batch) // 2))

    return changed


@pytest.mark.parametrize("change", ["values", "records"])
def test_a_dataframe_that_is_another_every_time_is_refused(change, session, tmp_path):
    """Its classes were counted on records that are no longer there; k might not hold."""
    frame = as_frame(session, pa.table(columns()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        changing = frame.mapInArrow(another_every_time(change), frame.schema)
    with pytest.raises(kepsilon.EngineError, match="was changed while it was being read"):
        anonymise(changing, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_which_record_was_which_cannot_be_told_of_a_dataframe(session, tmp_path):
    """The reason is said, and no release is left half written."""
    with anonymise(as_frame(session, pa.table(columns())), tmp_path) as release:
        with pytest.raises(kepsilon.EngineError, match="records of a DataFrame have no position"):
            _ = release.linkage
        with pytest.raises(kepsilon.EngineError, match="records of a DataFrame have no position"):
            release.write(tmp_path / "out", linkage=tmp_path / "links.parquet")
    assert list(tmp_path.iterdir()) == []


def test_the_session_is_as_it_was(session, tmp_path):
    """Its settings, tables and what it holds in memory, after a release and after a refusal."""

    def state() -> Any:
        settings = {row["key"]: row["value"] for row in session.sql("SET").collect()}
        return settings, session.catalog.listTables(), session.sparkContext._jsc.getPersistentRDDs().size()

    frame = as_frame(session, pa.table(columns()))
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        before = state()
        anonymise(frame, tmp_path).close()
        assert state() == before
        with pytest.raises(kepsilon.DataError):
            anonymise(frame.withColumn("height", frame["illness"]), tmp_path)
        assert state() == before
    finally:
        session.conf.unset("spark.sql.session.timeZone")


@pytest.mark.parametrize(
    ("names", "is_refused"),
    [
        ([float("nan"), float("nan"), *map(float, range(10))], False),
        (["\u00a0", "\u00a0", "\u2003", *(f"P{i}" for i in range(9))], False),
        (["P0\u00a0", *(f"P{i}" for i in range(11))], True),
    ],
    ids=["NaN", "blanks of Unicode", "blanks around a name"],
)
def test_what_names_nobody_does_not_repeat(session, names, is_refused):
    """As in memory: blanks of any kind are no name, and make no other name of one."""
    table = pa.table({"name": names, "town": ["A"] * 12})
    attributes = {"name": {"role": "identifier"}, "town": {"role": "k-quasi"}}
    policy = kepsilon.Policy.from_dict(
        {"k": 5, "epsilon": 1, "algorithm": "mondrian", "max_suppression": 0, "attributes": attributes}
    )
    for given in (table, as_frame(session, table)):
        if is_refused:
            with pytest.raises(kepsilon.UnsatisfiableError, match="some persons have several records"):
                kepsilon.check(given, policy)
        else:
            kepsilon.check(given, policy)
