# SPDX-License-Identifier: Apache-2.0
"""Arrow, Polars, pandas and DuckDB tables in, the same kind back; nothing of the others' memory comes along."""

from __future__ import annotations

import tomllib
from collections import Counter

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kepsilon
from material.people import POLICY, columns_of, people, policy

COLUMNS = columns_of(people())
TYPED = {**COLUMNS, "year": [int(y) for y in COLUMNS["year"]], "height": [float(h) for h in COLUMNS["height"]]}
FRAMES = {
    "arrow": lambda: pa.table(TYPED),
    "arrow reader": lambda: pa.table(TYPED).to_reader(),
    "polars": lambda: pl.DataFrame(TYPED),
    "polars lazy": lambda: pl.LazyFrame(TYPED),
    "pandas": lambda: pd.DataFrame(TYPED, index=COLUMNS["name"]),
    "pandas text": lambda: pd.DataFrame(COLUMNS),
    "duckdb": lambda: duckdb.from_arrow(pa.table(TYPED)),
}
KINDS = {
    "arrow": pa.Table,
    "arrow reader": pa.Table,
    "polars": pl.DataFrame,
    "polars lazy": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pandas text": pd.DataFrame,
    "duckdb": duckdb.DuckDBPyRelation,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_kind_comes_back(kind):
    """With the same columns less identifiers, k by counting, and numbers as numbers."""
    release = kepsilon.anonymise(FRAMES[kind](), policy())
    assert isinstance(release.frame, KINDS[kind])
    table = release.frame if kind.startswith("arrow") else pa.table(release.frame)
    assert table.column_names[:5] == ["zip", "year", "sex", "height", "illness"]
    labels = zip(*(table.column(name).to_pylist() for name in ("zip", "year", "sex")), strict=True)
    assert min(Counter(labels).values()) >= 3
    assert pa.types.is_floating(table.column("height").type)
    assert set(table.column("illness").to_pylist()) <= set(COLUMNS["illness"])


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind != "arrow reader"])
def test_every_kind_gives_the_same_classes(kind):
    """What is deterministic does not depend on the library the table came in."""
    wanted = kepsilon.anonymise(pa.table(TYPED), policy()).record
    found = kepsilon.anonymise(FRAMES[kind](), policy()).record
    for key in ("records", "classes", "levels", "loss"):
        assert found[key] == wanted[key]


def test_the_pandas_index_is_left_behind():
    """An index of names would be an identifier."""
    frame = kepsilon.anonymise(FRAMES["pandas"](), policy()).frame
    assert list(frame.index) == list(range(len(frame)))
    assert "CANARY" not in frame.to_csv()


def test_integers_stay_integers_where_the_precision_is_whole():
    """By precision, not by what the noise happened to be."""
    columns = {**TYPED, "height": [round(h) for h in TYPED["height"]]}
    whole = kepsilon.anonymise(pa.table(columns), policy(POLICY.replace("precision = 0.1", "precision = 2"))).frame
    assert whole.column("height").type == pa.int64()
    assert all(height % 2 == 0 for height in whole.column("height").to_pylist())
    halves = kepsilon.anonymise(pa.table(columns), policy(POLICY.replace("precision = 0.1", "precision = 0.5"))).frame
    assert halves.column("height").type == pa.float64()


def test_kept_columns_keep_their_types():
    """Dates, booleans, lists, structs, decimals and categories come back as they were."""
    n = len(TYPED["zip"])
    extra = {
        "when": pa.array(range(n), pa.timestamp("us", "UTC")),
        "flag": pa.array([i % 2 == 0 for i in range(n)]),
        "list": pa.array([[i, i + 1] for i in range(n)]),
        "struct": pa.array([{"a": i} for i in range(n)]),
        "category": pa.array([["x", "y", None][i % 3] for i in range(n)]).dictionary_encode(),
    }
    roles = "".join(f'[attributes.{name}]\nrole = "insensitive"\naccept_leak = "made up"\n' for name in extra)
    frame = kepsilon.anonymise(pa.table({**TYPED, **extra}), policy(POLICY + roles)).frame
    for name, column in extra.items():
        assert frame.schema.field(name).type == column.type, name
    rows = {illness: i for i, illness in enumerate(TYPED["illness"])}
    for record in frame.to_pylist():
        i = rows[record["illness"]]
        assert (record["flag"], record["list"], record["struct"]) == (i % 2 == 0, [i, i + 1], {"a": i})
        assert record["category"] == ["x", "y", None][i % 3]


def test_an_object_that_is_no_table_is_refused():
    """With what would be right."""
    with pytest.raises(kepsilon.EngineError, match="is not a table"):
        kepsilon.anonymise([1, 2, 3], policy())


def test_what_a_notebook_shows_holds_figures_and_no_record():
    """Screens are photographed."""
    release = kepsilon.anonymise(pa.table(TYPED), policy())
    for shown in (repr(release), release._repr_html_()):
        assert "released" in shown or "Release" in shown
        assert not any(value in shown for value in COLUMNS["illness"])


def test_column_names_may_be_anything():
    """Spaces, dots, quotes, Unicode and markup."""
    names = {"zip": 'a "b"', "year": "c.d", "sex": "größe <b>", "height": "h [cm]", "illness": "=1+1"}
    columns = {names.get(name, name): values for name, values in TYPED.items()}
    document = tomllib.loads(POLICY)
    document["attributes"] = {names.get(name, name): a for name, a in document["attributes"].items()}
    release = kepsilon.anonymise(pa.table(columns), kepsilon.Policy.from_dict(document))
    assert release.frame.column_names == list(names.values())
    assert "<b>" not in release._repr_html_()


def test_the_input_file_is_never_overwritten(tmp_path):
    """From Python neither."""
    path = tmp_path / "in.parquet"
    from pyarrow import parquet

    parquet.write_table(pa.table(TYPED), path)
    before = path.read_bytes()
    with pytest.raises(kepsilon.EngineError, match="is the data, an input"):
        kepsilon.anonymise(path, policy()).write(path, overwrite=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({**COLUMNS, "illness": [1, "ANNA-SECRET", *COLUMNS["illness"][2:]]}),
        pd.DataFrame({**COLUMNS, "illness": [complex(1, 2)] * 120}),
        pd.concat([pd.DataFrame(COLUMNS), pd.DataFrame({"illness": COLUMNS["illness"]})], axis=1),
    ],
    ids=["mixed types", "complex", "names twice"],
)
def test_pandas_frames_that_cannot_be_read_are_refused_without_a_value(frame):
    """Arrow's message quotes the value; it is not even kept as the cause."""
    with pytest.raises(kepsilon.DataError) as caught:
        kepsilon.anonymise(frame, policy())
    assert "illness" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_an_identifier_of_any_type_can_be_counted():
    """`check` looks whether identifiers repeat; categories, nulls and UUIDs have their own ways of counting."""
    import uuid

    for values in (
        pa.array(["Ann A", "Bea B"] * 60).dictionary_encode(),
        pa.nulls(120),
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([uuid.UUID(int=i).bytes for i in range(120)], pa.binary(16))
        ),
        pa.array([[1]] * 120),
    ):
        prediction = kepsilon.check(pa.table({**TYPED, "name": values}), policy())
        assert prediction.records.read == 120
    assert "hold only 2 different values" in str(
        kepsilon.check(pa.table({**TYPED, "name": pa.array(["Ann A", "Bea B"] * 60)}), policy()).warnings[0]
    )


def test_a_reader_is_read_once():
    """`check` of a stream, which cannot be opened twice."""
    assert kepsilon.check(pa.table(TYPED).to_reader(), policy()).records.read == 120


@pytest.mark.parametrize(("limit", "n_suppressed"), [(0.05, 1), (0.0499, 0), (0.06, 1), (0, 0)])
def test_the_suppression_limit_is_kept_to_the_record(limit, n_suppressed):
    """20 records, one of them alone: 5 % lets it go, anything less generalises instead."""
    document = {
        "k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": limit,
        "attributes": {"q": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}},
    }  # fmt: skip
    release = kepsilon.anonymise(pa.table({"q": ["a"] * 19 + ["b"]}), kepsilon.Policy.from_dict(document))
    assert release.record["records"]["suppressed_by_k"] == n_suppressed
    assert set(release.frame.column("q").to_pylist()) == ({"a"} if n_suppressed else {"*"})


@pytest.mark.parametrize("run", [kepsilon.anonymise, kepsilon.check], ids=["anonymise", "check"])
def test_errors_keep_no_cause_that_quotes_a_record(run):
    """Arrow says which text it could not read; hidden by `from None`, it would still hang on the exception."""
    columns = {**COLUMNS, "height": ["CANARY tall", *COLUMNS["height"][1:]]}
    with pytest.raises(kepsilon.DataError) as caught:
        run(pa.table(columns), policy())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "CANARY" not in str(caught.value)
