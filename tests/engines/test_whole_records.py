# SPDX-License-Identifier: Apache-2.0
"""Whole records are those of the combinations asked for, with every column, and the same from every engine."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.count import Counted, read_and_count
from kepsilon.engines.local.engine import LocalEngine
from kepsilon.engines.spark.engine import SparkEngine
from kepsilon.errors import EngineError
from kepsilon.kanonymise.algorithms import k_anonymise
from kepsilon.sources.parquet_files import ParquetFiles
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.chosen_classes import choose_classes, in_classes
from kepsilon.table.classes import SUPPRESSED
from kepsilon.table.record_hashes import hash_limits, xxhash64
from kepsilon.table.whole_records import MISSING, WholeColumn, WholeRecords
from material.engine_cases import (
    CASES,
    ENGINES,
    EVERY,
    MEMORY,
    OTHERS,
    SEED,
    Case,
    coded_columns,
    document,
    giant_among_others,
    giant_class,
    pairs,
    plain,
    random_people,
    spark_session,
)
from rigs.columns import KEPT_TYPES


def counted(case: Case, engine: str, folder: Path) -> Counted:
    """A case read from files and counted by an engine."""
    source = folder / "table"
    if not source.exists():
        case.write(folder)
    policy = kepsilon.Policy.from_dict(case.policy)
    return read_and_count(source, policy, engine=ENGINES[engine](folder, case.memory), clock=Stopwatch(ignore_step))


def values_of(column: WholeColumn, shown: list[Any]) -> dict[int, Any]:
    """What each code stands for, by the values that the input has; fails where a code stands for two."""
    found: dict[int, Any] = {}
    for code, value in zip(column.codes.tolist(), shown, strict=True):
        assert (code == MISSING) == (value is None)
        assert found.setdefault(code, value) == value
    return {code: value for code, value in found.items() if code != MISSING}


def check_column(column: WholeColumn, shown: list[Any]) -> None:
    """A column against the values of its records: codes are ranks of the distinct values."""
    values = values_of(column, shown)
    assert sorted(values) == list(range(column.n_distinct))
    listed = [values[code] for code in range(column.n_distinct)]
    assert len({repr(value) for value in listed}) == len(listed)
    if listed and isinstance(listed[0], str | int | float):
        assert listed == sorted(listed)
    if listed and isinstance(listed[0], str):
        assert list(column.texts) == listed
    if listed and isinstance(listed[0], int | float):
        assert column.numbers is not None
        assert column.numbers.tolist() == [float(value) for value in listed]


def row_of_combination(table: Any, own: Counted) -> list[int | None]:
    """The slow way to the combination of every record: by the labels of its values; None where it was left out."""
    place = {tuple(codes): row for row, codes in enumerate(zip(*(c.tolist() for c in own.table.codes), strict=True))}
    labels = [{label: code for code, label in enumerate(domain.levels[0])} for domain in own.table.domains]
    n_k = len(own.roles.k_quasis)
    found: list[int | None] = []
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for i in range(len(table)):
        shown: list[Any] = [columns[name][i] for name in own.roles.k_quasis]
        for domain in own.table.domains[n_k:]:
            value = columns[domain.name.removesuffix(" is missing")][i]
            shown.append("missing" if value is None else "present")
        codes = [known.get(value, -1) for known, value in zip(labels, shown, strict=True)]
        found.append(place.get(tuple(codes)))
    return found


def check_against_input(whole: WholeRecords, own: Counted, case: Case, expected_rows: list[int]) -> None:
    assert whole.rows is not None
    rows = whole.rows.tolist()
    assert sorted(rows) == expected_rows
    combinations = row_of_combination(case.table, own)
    assert whole.combinations.tolist() == [combinations[row] for row in rows]
    for j, name in enumerate(own.roles.epsilon_quasis):
        column = case.table.column(name).to_pylist()
        for row, value in zip(rows, whole.values[:, j].tolist(), strict=True):
            assert math.isnan(value) if column[row] is None else value == column[row]
    assert list(whole.kept) == list(own.roles.kept)
    for name, column in {**whole.kept, **whole.identifiers}.items():
        shown = case.table.column(name).to_pylist()
        check_column(column, [shown[row] for row in rows])


def same(one: WholeRecords, other: WholeRecords) -> None:
    """Two engines handed over the same records in the same order."""
    np.testing.assert_array_equal(one.combinations, other.combinations)
    np.testing.assert_array_equal(one.values, other.values)
    for mine, theirs in ((one.kept, other.kept), (one.identifiers, other.identifiers)):
        assert list(mine) == list(theirs)
        for name, column in mine.items():
            np.testing.assert_array_equal(column.codes, theirs[name].codes)
            assert column.texts == theirs[name].texts
            assert column.is_date == theirs[name].is_date
            assert (column.numbers is None) == (theirs[name].numbers is None)
            if column.numbers is not None:
                np.testing.assert_array_equal(column.numbers, theirs[name].numbers)
    if one.rows is not None and other.rows is not None:
        np.testing.assert_array_equal(one.rows, other.rows)


def some(own: Counted) -> np.ndarray:
    """All records of every third combination."""
    return (np.arange(own.table.n_combinations) % 3 == 0).astype(float)


def is_left_out(case: Case, own: Counted) -> list[bool]:
    """Which records the policy leaves out, by its own words: unlisted values, and missing ones that are suppressed."""
    policy = kepsilon.Policy.from_dict(case.policy)
    unlisted = [
        value == "M" and "groups" in str(case.policy) for value in case.table.column(own.roles.k_quasis[1]).to_pylist()
    ]
    missing = [False] * len(case.table)
    for name, attribute in policy.epsilon_quasis.items():
        if attribute.missing == "suppress":
            missing = [
                was or value is None for was, value in zip(missing, case.table.column(name).to_pylist(), strict=True)
            ]
    return [a or b for a, b in zip(unlisted, missing, strict=True)]


@pytest.mark.parametrize("name", list(CASES))
def test_whole_records_are_those_of_the_chosen_combinations(name, tmp_path):
    """Of hard tables, with nulls, left-out records and odd types, every column of every chosen record, and no other record."""
    case = CASES[name]()
    own = counted(case, "in memory", tmp_path)
    shares = some(own)
    combinations, left_out = row_of_combination(case.table, own), is_left_out(case, own)
    expected = [i for i, row in enumerate(combinations) if not left_out[i] and row is not None and shares[row]]
    assert expected
    whole = own.columns.whole_records(shares, identifiers=["name"])
    check_against_input(whole, own, case, expected)


@pytest.mark.parametrize(
    ("name", "engine"),
    pairs(
        [
            "nulls",
            "missing in class",
            "empty partitions",
            "giant among others",
            "odd names",
            "unlisted",
            "coded columns",
        ]
    ),
)
def test_every_engine_hands_over_the_same_whole_records(name, engine, tmp_path):
    """What a detector says must not depend on where the records are; samples included."""
    case = CASES[name]()
    mine, theirs = counted(case, "in memory", tmp_path), counted(case, engine, tmp_path)
    shares = some(mine)
    shares[::2] *= 0.3
    one, other = (own.columns.whole_records(shares, identifiers=["name"]) for own in (mine, theirs))
    assert len(one.combinations)
    same(one, other)
    theirs.columns.close()


@pytest.mark.parametrize("name", ["plain", "mondrian", "missing in class", "no epsilon quasi", "tiny classes"])
def test_records_in_classes_have_their_true_values(name, tmp_path):
    """Whoever looks for leaks compares kept columns with what the release hides, so that has to be there unchanged."""
    case = CASES[name]()
    own = counted(case, "in memory", tmp_path)
    recoding = k_anonymise(own.table, kepsilon.Policy.from_dict(case.policy)).recoding
    shares = choose_classes(recoding, most=700)
    found = in_classes(own.columns.whole_records(shares, identifiers=["name"]), recoding, own.table, own.roles)
    assert found.rows is not None
    rows = found.rows.tolist()
    combinations = row_of_combination(case.table, own)
    classes = [int(recoding.class_of[combinations[row]]) for row in rows]
    assert SUPPRESSED not in classes
    assert len(set(zip(classes, found.class_ids.tolist(), strict=True))) == len(set(classes)) == found.n_classes
    assert sorted(np.bincount(found.class_ids)) == sorted(recoding.sizes[list(set(classes))])
    assert list(found.k_quasis) == list(own.roles.k_quasis)
    assert list(found.epsilon_quasis) == list(own.roles.epsilon_quasis)
    for column_name, column in (found.k_quasis | found.epsilon_quasis).items():
        shown = case.table.column(column_name).to_pylist()
        check_column(column, [shown[row] for row in rows])


@pytest.mark.parametrize("engine", EVERY)
def test_whole_records_can_be_asked_for_again(engine, tmp_path):
    """Explore asks once for each partition, before and after previews, and each answer is that of its own shares."""
    case = giant_among_others()
    own = counted(case, engine, tmp_path)
    shares = some(own)
    shares[::6] = 0.4
    first = own.columns.whole_records(shares, identifiers=["name"])
    others = own.columns.whole_records(1.0 - np.ceil(shares), identifiers=[])
    own.columns.preview(k_anonymise(own.table, kepsilon.Policy.from_dict(case.policy)).recoding)
    again = own.columns.whole_records(shares, identifiers=["name"])
    same(first, again)
    assert not others.identifiers
    assert not set(first.combinations.tolist()) & set(others.combinations.tolist())
    own.columns.close()


@pytest.mark.parametrize("engine", EVERY)
def test_a_class_that_is_too_large_is_sampled(engine, tmp_path):
    """Of 6,000 records a share of a third is drawn: within 6 standard deviations of 2,000, and each at most once.

    A right sampler is that far away once in 500 million tables.
    """
    own = counted(giant_class(), engine, tmp_path)
    whole = own.columns.whole_records(np.full(own.table.n_combinations, 1 / 3), identifiers=["name"])
    assert own.table.n_combinations == 1
    assert abs(len(whole.combinations) - 2_000) < 6 * math.sqrt(6_000 * 1 / 3 * 2 / 3)
    assert whole.rows is not None
    assert len(set(whole.rows.tolist())) == len(whole.rows) == whole.identifiers["name"].n_distinct
    halves = np.bincount(whole.rows // 3_000)
    assert abs(halves[0] - halves[1]) < 6 * math.sqrt(6_000 * 1 / 3 * 2 / 3)


@pytest.mark.parametrize("engine", EVERY)
def test_nothing_is_handed_over_where_nothing_is_asked_for(engine, tmp_path):
    """All classes may be suppressed; kept columns are then there, without a value."""
    own = counted(coded_columns(), engine, tmp_path)
    whole = own.columns.whole_records(np.zeros(own.table.n_combinations), identifiers=["name"])
    assert len(whole.combinations) == len(whole.values) == 0
    assert [(name, len(column.codes), column.n_distinct) for name, column in whole.kept.items()] == [
        ("illness", 0, 0),
        ("score", 0, 0),
    ]


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("height", ["kept", "epsilon", "k"])
def test_tables_without_some_role_have_whole_records(engine, height, tmp_path):
    """A policy may have no kept column, no ε-quasi, or nothing but k-quasis."""
    roles: dict[str, Any] = {
        "kept": {"role": "sensitive"},
        "epsilon": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "k": {"role": "identifier"},
    }
    policy = document(height=roles[height], illness={"role": "identifier"}, score={"role": "identifier"})
    case = Case(pa.table(random_people(1_000)), {**policy, "records_are_persons": True})
    own = counted(case, engine, tmp_path)
    shares = some(own)
    combinations = row_of_combination(case.table, own)
    whole = own.columns.whole_records(shares, identifiers=["illness"])
    expected = [i for i, row in enumerate(combinations) if row is not None and shares[row]]
    check_against_input(whole, own, case, expected)


@pytest.mark.parametrize("engine", EVERY)
def test_whole_records_of_a_changed_table_are_refused(engine, tmp_path):
    """Figures of other records than those that were counted would say nothing about the release."""
    case = plain()
    own = counted(case, engine, tmp_path)
    shares = np.ones(own.table.n_combinations)
    parquet.write_table(case.table.slice(10, 1_000), tmp_path / "table" / "part-0.parquet")
    with pytest.raises(EngineError, match="was changed") as raised:
        own.columns.whole_records(shares, identifiers=["name"])
    assert "CANARY" not in str(raised.value)


@pytest.mark.parametrize("kind", list(KEPT_TYPES))
def test_identifiers_may_be_of_any_type(kind):
    """An identifier is never released, so no type of it is refused, and none may stop a run."""
    names = KEPT_TYPES[kind](random.Random(SEED), 300)
    table = pa.table({**random_people(300), "name": names})
    policy = kepsilon.Policy.from_dict({**document(), "records_are_persons": True})
    own = read_and_count(table, policy, engine=LocalEngine(), clock=Stopwatch(ignore_step))
    own.source.repetition("name")  # looked at where the policy does not say what a person is
    whole = own.columns.whole_records(np.ones(own.table.n_combinations), identifiers=["name"])
    values = names.to_pylist()
    assert whole.rows is not None
    found: dict[str, set[int]] = {}
    for row, code in zip(whole.rows.tolist(), whole.identifiers["name"].codes.tolist(), strict=True):
        found.setdefault("0" if values[row] == 0 else repr(values[row]), set()).add(code)
    assert all(len(codes) == 1 for codes in found.values())
    assert len(set.union(*found.values())) >= len(found) - 1  # null and NaN are both missing


def test_wide_identifiers_are_read_a_few_at_a_time(tmp_path, monkeypatch):
    """The limit on memory holds for columns that were not foreseen, such as a photograph of everybody."""
    columns = {**random_people(2_000), "name": [f"{i:08}" * 500 for i in range(2_000)]}
    case = Case(pa.table(columns), document(), memory=100 * MEMORY)
    own = counted(case, "spilling", tmp_path)
    asked = []
    parts = ParquetFiles.parts

    def spying(self: ParquetFiles, columns: Sequence[str], *, coded: Sequence[str], n_records: int) -> Any:
        asked.append(n_records)
        return parts(self, columns, coded=coded, n_records=n_records)

    monkeypatch.setattr(ParquetFiles, "parts", spying)
    own.columns.whole_records(some(own), identifiers=[])
    own.columns.whole_records(some(own), identifiers=["name"])
    assert asked[1] * 4_000 < case.memory < asked[0] * 4_000


@pytest.mark.parametrize("engine", OTHERS)
def test_whole_records_with_other_combinations_than_were_counted_are_refused(engine, tmp_path, monkeypatch):
    """A file may be changed in a way that neither its size nor its time shows; the records of each combination tell."""
    case = plain()
    own = counted(case, engine, tmp_path)
    part = parquet.read_table(tmp_path / "table" / "part-0.parquet")
    other = part.set_column(part.column_names.index("sex"), "sex", pa.array(["F"] * len(part)))
    parquet.write_table(other, tmp_path / "table" / "part-0.parquet")
    monkeypatch.setattr("kepsilon.sources.parquet_files.ParquetFiles._refuse_changed", lambda *_: None)
    with pytest.raises(EngineError, match="was changed"):
        own.columns.whole_records(some(own), identifiers=["name"])
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_a_csv_file_that_grew_is_refused_where_identifiers_are_read_again(tmp_path):
    """In memory only identifiers are read a second time, and their rows have to be those of the other columns."""
    table = pa.table(random_people(500))
    path = tmp_path / "people.csv"
    lines = [",".join(map(str, row.values())) for row in table.to_pylist()]
    path.write_text("\n".join([",".join(table.column_names), *lines]) + "\n")
    policy = kepsilon.Policy.from_dict(document())
    own = read_and_count(path, policy, engine=LocalEngine(), clock=Stopwatch(ignore_step))
    shares = np.ones(own.table.n_combinations)
    whole = own.columns.whole_records(shares, identifiers=["name"])
    assert whole.identifiers["name"].n_distinct == 500
    assert whole.kept["score"].numbers is not None
    with path.open("a") as file:
        file.write(lines[0] + "\n")
    with pytest.raises(EngineError, match="was changed"):
        own.columns.whole_records(shares, identifiers=["name"])
    assert own.columns.whole_records(shares, identifiers=[]).identifiers == {}


def test_the_order_of_records_does_not_matter():
    """Whole records come in an order that their values decide; only positions tell where they were."""
    table = pa.table({**random_people(400), "score": [i % 3 for i in range(400)], "illness": ["ill"] * 400})
    table = pa.concat_tables([table, table])  # every record twice, but for its name
    order = np.random.default_rng(SEED).permutation(len(table))
    policy = kepsilon.Policy.from_dict({**document(), "records_are_persons": True})
    found = []
    for own_table in (table, table.take(pa.array(order))):
        own = read_and_count(own_table, policy, engine=LocalEngine(), clock=Stopwatch(ignore_step))
        found.append(own.columns.whole_records(np.ones(own.table.n_combinations), identifiers=["name"]))
    same(found[0], dataclasses.replace(found[1], rows=None))
    assert found[0].rows is not None
    assert found[1].rows is not None
    names = np.array(table.column("name").to_pylist())
    assert (names[found[0].rows] == names[order][found[1].rows]).all()
    for own in found:
        assert own.rows is not None
        twins = own.rows.reshape(-1, 2)
        assert (twins[:, 0] < twins[:, 1]).all()


@pytest.mark.parametrize("column", ["zip", "height", "illness", "score", "name"])
def test_every_column_has_a_part_in_the_order_of_records(column):
    """Records that differ in a single column, whichever it is, come in the same order wherever they were."""
    people = random_people(300)
    columns = {name: values if name == column else [values[0]] * 300 for name, values in people.items()}
    table = pa.table(columns)
    order = np.random.default_rng(SEED).permutation(300)
    policy = kepsilon.Policy.from_dict({**document(), "records_are_persons": True})
    found = []
    for own_table in (table, table.take(pa.array(order))):
        own = read_and_count(own_table, policy, engine=LocalEngine(), clock=Stopwatch(ignore_step))
        found.append(own.columns.whole_records(np.ones(own.table.n_combinations), identifiers=["name"]))
    same(found[0], dataclasses.replace(found[1], rows=None))


@pytest.mark.spark
def test_a_data_frame_on_spark_has_the_same_whole_records_but_for_positions(tmp_path):
    """A DataFrame has no order, so nothing of the result may need one; maps and lists, which Spark cannot compare, included."""
    columns = {
        **random_people(600),
        "illness": pa.array([[("a", f"{i % 7}")] for i in range(600)], pa.map_(pa.string(), pa.string())),
    }
    table = pa.table(columns)
    frame = spark_session().createDataFrame(table)
    policy = kepsilon.Policy.from_dict({**document(), "records_are_persons": True})
    engine = SparkEngine(session=spark_session(), memory=100 * MEMORY, staging=tmp_path)
    one = read_and_count(table, policy, engine=LocalEngine(), clock=Stopwatch(ignore_step))
    other = read_and_count(frame, policy, engine=engine, clock=Stopwatch(ignore_step))
    shares = some(one)
    found = other.columns.whole_records(shares, identifiers=["name"])
    assert found.rows is None
    same(one.columns.whole_records(shares, identifiers=["name"]), found)
    shares[::6] = 0.5
    same(*(other.columns.whole_records(shares, identifiers=["name"]) for _ in range(2)))


@pytest.mark.spark
def test_of_equal_records_of_a_data_frame_a_share_is_taken(tmp_path):
    """If equal records were drawn together, a large class of a few kinds of records would look as if it had one or two.

    4,000 equal records at a share of a quarter: within 6 standard deviations of 1,000, once in 500 million tables not.
    """
    table = pa.table(
        {
            **random_people(4_000),
            **{
                name: [value] * 4_000
                for name, value in (("zip", "12345"), ("sex", "F"), ("height", 170.0), ("illness", "x"), ("score", 1))
            },
        }
    )
    engine = SparkEngine(session=spark_session(), memory=100 * MEMORY, staging=tmp_path)
    frame = spark_session().createDataFrame(table).repartition(5)
    own = read_and_count(
        frame,
        kepsilon.Policy.from_dict({**document(), "records_are_persons": True}),
        engine=engine,
        clock=Stopwatch(ignore_step),
    )
    first, again = (own.columns.whole_records(np.array([0.25]), identifiers=[]) for _ in range(2))
    assert abs(len(first.combinations) - 1_000) < 6 * math.sqrt(4_000 * 0.25 * 0.75)
    same(first, again)
    named = own.columns.whole_records(np.array([0.25]), identifiers=["name"])
    assert abs(len(named.combinations) - 1_000) < 6 * math.sqrt(4_000 * 0.25 * 0.75)
    assert named.identifiers["name"].n_distinct == len(named.combinations)


@pytest.mark.spark
def test_no_identifier_goes_through_a_shuffle(tmp_path, monkeypatch):
    """Spark's shuffle files lie on disks of the workers, and hold no identifiers: neither when records are counted nor here."""
    plans = []
    frame_class = type(spark_session().range(1))
    to_arrow = frame_class.toArrow

    def spying(frame: Any) -> Any:
        plans.append(frame._jdf.queryExecution().executedPlan().toString())
        return to_arrow(frame)

    frame = spark_session().createDataFrame(pa.table(random_people(300)))
    engine = SparkEngine(session=spark_session(), memory=100 * MEMORY, staging=tmp_path)
    own = read_and_count(frame, kepsilon.Policy.from_dict(document()), engine=engine, clock=Stopwatch(ignore_step))
    monkeypatch.setattr(frame_class, "toArrow", spying)
    shares = np.full(own.table.n_combinations, 0.5)
    own.columns.whole_records(shares, identifiers=["name"])
    assert plans
    assert not any("Exchange hashpartitioning" in plan for plan in plans)
    plans.clear()
    own.columns.whole_records(shares, identifiers=[])
    assert any("Exchange hashpartitioning" in plan for plan in plans)  # such a plan would be noticed


@pytest.mark.spark
def test_spark_hashes_positions_as_every_engine_does():
    """The sample of a Parquet file would differ between engines if a single bit did."""
    from pyspark.sql import functions as f

    numbers = np.array([0, 1, -1, 2**62, -(2**63), 20160712, *range(100, 200)], dtype=np.int64)
    frame = spark_session().createDataFrame([(int(n),) for n in numbers], "n bigint")
    theirs = [row[0] for row in frame.select(f.xxhash64("n")).collect()]
    assert xxhash64(numbers).view(np.int64).tolist() == theirs
    pairs = [row[0] for row in frame.select(f.xxhash64("n", f.lit(7).cast("bigint"))).collect()]
    assert xxhash64(np.full(len(numbers), 7), xxhash64(numbers)).view(np.int64).tolist() == pairs


def test_a_share_of_one_takes_every_hash_and_half_takes_half():
    """The limit is compared with hashes as signed numbers."""
    limits = hash_limits(np.array([1.0, 0.5, 0.25, 1e-9, np.nextafter(1.0, 0)]))
    assert limits[0] == 2**63 - 1
    assert limits[1] == 0
    assert limits[2] == -(2**62)
    assert abs(int(limits[3]) - (-(2**63) + 18_446_744_073)) < 2**12  # as near as doubles can say
    assert 2**63 - 2**12 < limits[4] < 2**63 - 1
