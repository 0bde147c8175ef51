# SPDX-License-Identifier: Apache-2.0
"""Errors of the Python API hold no value of a record, whatever other code says when it fails on one."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kepsilon as ke

TOKEN = "Zaphod-4711"
"""Stands for a value of a record: no error may hold it."""

POLICY = {
    "k": 2,
    "epsilon": 1,
    "algorithm": "mondrian",
    "max_suppression": 0.5,
    "attributes": {"a": {"role": "k-quasi"}},
}


def policy() -> ke.Policy:
    return ke.Policy.from_dict(POLICY)


def failing_cast() -> pl.LazyFrame:
    return pl.LazyFrame({"a": ["1", TOKEN]}).with_columns(pl.col("a").cast(pl.Int64))


def failing_function() -> pl.LazyFrame:
    def fail(value: str) -> str:
        raise ValueError(f"cannot use {value}")

    return pl.LazyFrame({"a": ["1", TOKEN]}).with_columns(pl.col("a").map_elements(fail, return_dtype=pl.String))


def failing_query() -> duckdb.DuckDBPyRelation:
    return duckdb.sql(f"select cast(x as int) as a from (values ('1'), ('{TOKEN}')) as t(x)")


def failing_reader(kind: type[BaseException]) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": ["1", "2"]})
        raise kind(f"bad record: {TOKEN}")

    return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.string()}), batches())


class FailingStream:
    """A table whose stream fails, as the generated one of a database driver may."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError(f"row {TOKEN} is damaged")


class FailingAttribute:
    """A table that fails as soon as it is asked what it is."""

    @property
    def __arrow_c_stream__(self) -> object:
        raise LookupError(TOKEN)


class Unfriendly:
    """A value that quotes itself when anything is done with it."""

    def __repr__(self) -> str:
        raise ValueError(TOKEN)


SOURCES: dict[str, Callable[[], object]] = {
    "polars cast": failing_cast,
    "polars function": failing_function,
    "duckdb": failing_query,
    "reader, ValueError": lambda: failing_reader(ValueError),
    "reader, OSError": lambda: failing_reader(OSError),
    "reader, ImportError": lambda: failing_reader(ImportError),
    "reader, KeyError": lambda: failing_reader(KeyError),
    "stream": FailingStream,
    "attribute": FailingAttribute,
    "pandas, mixed": lambda: pd.DataFrame({"a": [1, TOKEN, 2.5]}),
    "pandas, objects": lambda: pd.DataFrame({"a": [{TOKEN}, object()]}),
    "pandas, unfriendly": lambda: pd.DataFrame({"a": [Unfriendly(), Unfriendly()]}),
    "pandas, large": lambda: pd.DataFrame({"a": [10**30, 5]}),
}

CALLS: dict[str, Callable[[object], object]] = {
    "anonymise": lambda source: ke.anonymise(source, policy()),
    "check": lambda source: ke.check(source, policy()),
    "explore": lambda source: ke.explore(source, policy()),
    "init": ke.propose_policy,
    "audit": lambda source: ke.audit(source, pa.table({"a": ["x", "x"]}), policy()),
    "audit of": lambda source: ke.audit(pa.table({"a": ["x", "x"]}), source, policy()),
    "linkage": lambda source: ke.audit(
        pa.table({"a": ["x", "x"]}), pa.table({"a": ["x", "x"]}), policy(), linkage=source
    ),
    "offending": lambda source: ke.offending_values(source, policy(), "a"),
}


def everything_said(error: BaseException) -> str:
    """All that a log, a notebook or an error tracker shows of an error, at any depth of its chain."""
    said, seen = [], [error]
    for own in seen:
        said += [repr(own), str(own), repr(own.args), repr(getattr(own, "__notes__", None))]
        seen += [other for other in (own.__cause__, own.__context__) if other is not None and other not in seen]
    return "\n".join([*said, *traceback.format_exception(error)])


def without_source_lines(text: str) -> str:
    """A traceback without the lines of code that it quotes from this file, some of which spell the token."""
    return text.replace("TOKEN", "")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("source", SOURCES)
def test_f4_a_table_that_fails_while_it_is_read_is_refused_without_its_text(source, call):
    """The error is ours, names the kind of the other error or the column, and neither it nor its chain quotes a value."""
    with pytest.raises(ke.AnonymisationError) as refusal:
        CALLS[call](SOURCES[source]())
    assert TOKEN not in without_source_lines(everything_said(refusal.value))
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None
    assert "table" in str(refusal.value)


def test_f4_the_kind_of_the_other_error_is_named():
    """Without it nobody could find the fault."""
    with pytest.raises(ke.DataError, match="the LazyFrame could not be read: polars raised InvalidOperationError"):
        ke.check(failing_cast(), policy())


def test_f4_the_other_error_can_be_asked_for(monkeypatch):
    """Whoever debugs on the machine that holds the records may see it."""
    monkeypatch.setenv("KEPSILON_SHOW_CAUSES", "1")
    with pytest.raises(ke.DataError) as refusal:
        ke.check(failing_cast(), policy())
    assert TOKEN in str(refusal.value.__cause__)


@pytest.mark.parametrize(
    "change",
    [
        {"k": TOKEN},
        {"algorithm": TOKEN},
        {"epsilon": [TOKEN]},
        {"attributes": {"a": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [TOKEN]}}}},
    ],
    ids=["k", "algorithm", "epsilon", "widths"],
)
def test_f4_no_error_of_pydantic_hangs_on_a_policy_error(change):
    """A policy may list values of records; our message quotes what we chose to, and pydantic's quotes everything."""
    with pytest.raises(ke.PolicyError) as refusal:
        ke.Policy.from_dict({**POLICY, **change})
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None
    with pytest.raises(ValueError, match="validation error") as direct:
        ke.Policy(**{**POLICY, **change})
    assert TOKEN not in str(direct.value)


def test_f4_no_error_of_a_file_hangs_on_ours(tmp_path):
    """Errors of TOML, CSV and Arrow hold what they failed on, some of them whole documents."""
    (tmp_path / "policy.toml").write_text(f'k = "{TOKEN}\n', encoding="utf-8")
    (tmp_path / "table.csv").write_text(f"a,b\n1,2\n{TOKEN}\n", encoding="utf-8")
    (tmp_path / "table.parquet").write_text(TOKEN, encoding="utf-8")
    (tmp_path / "table.arrow").write_text(TOKEN, encoding="utf-8")
    calls = [lambda: ke.Policy.from_file(tmp_path / "policy.toml")]
    calls += [
        lambda own=own: ke.check(tmp_path / own, policy()) for own in ("table.csv", "table.parquet", "table.arrow")
    ]
    for call in calls:
        with pytest.raises(ke.AnonymisationError) as refusal:
            call()
        assert TOKEN not in without_source_lines(everything_said(refusal.value))
        assert refusal.value.__context__ is None


def test_f4_not_even_a_bug_of_ours_shows_what_it_failed_on(monkeypatch):
    """An error that nobody foresaw leaves as its type and its place, also in Python."""

    class FailingClock(dict):
        def __missing__(self, key: str) -> object:
            raise ValueError(TOKEN)

    monkeypatch.setattr("numpy.bincount", lambda *_, **__: FailingClock()["x"])
    with pytest.raises(Exception, match="ValueError") as caught:
        ke.anonymise(pa.table({"a": ["1", "1", TOKEN, TOKEN]}), policy())
    assert TOKEN not in without_source_lines(everything_said(caught.value))
    assert "ValueError at " in str(caught.value)
