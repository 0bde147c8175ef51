# SPDX-License-Identifier: Apache-2.0
"""`--engine spark` where it cannot go well: said in one line, before anything is started."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.engines.spark.engine import SparkEngine
from material.engine_cases import plain


def written(tmp_path):
    source = plain().write(tmp_path)
    policy = tmp_path / "policy.toml"
    policy.write_text(_POLICY, encoding="utf-8")
    return [source, "-p", policy, "-o", tmp_path / "out.parquet"]


def test_options_that_do_not_go_together(tmp_path, kepsilon_command):
    """A master is Spark's, and a folder to spill to goes with a limit or with Spark."""
    words = written(tmp_path)
    assert "--master goes with --engine spark" in kepsilon_command("anonymise", *words, "--master", "local").err
    outcome = kepsilon_command("anonymise", *words, "--spill-folder", tmp_path)
    assert outcome.code == 2
    assert "--spill-folder goes with --memory or --engine spark" in outcome.err


def test_without_pyspark_it_is_said_how_to_install_it(tmp_path, kepsilon_command, monkeypatch):
    """Nothing is started or left behind."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    words = written(tmp_path)
    outcome = kepsilon_command("anonymise", *words, "--engine", "spark", "--master", "local[1]")
    assert outcome.code == 2
    assert "PySpark is not installed" in outcome.err
    assert "pip install 'kepsilon[spark]'" in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "table"]


def test_only_parquet_and_dataframes(tmp_path):
    """Text is refused with what to do; Spark is not even asked."""
    engine = SparkEngine(session=None, memory=10**9, staging=tmp_path)
    for source in (tmp_path / "people.csv", {"a": [1]}):
        with pytest.raises(kepsilon.EngineError, match="Spark DataFrame"):
            engine.open_source(source)


@pytest.mark.parametrize(
    "kind", [pa.timestamp("ns"), pa.time64("us"), pa.float16(), pa.null(), pa.list_(pa.duration("s"))], ids=str
)
def test_types_that_spark_does_not_read_are_refused_by_name(kind, tmp_path):
    """Also of a column that is not released: Spark would not read the others either."""
    parquet.write_table(pa.table({"a": [1], "its name": pa.nulls(1, kind)}), tmp_path / "t.parquet")
    engine = SparkEngine(session=None, memory=10**9, staging=tmp_path)
    with pytest.raises(kepsilon.DataError, match='columns "its name" are of types that Spark cannot carry'):
        engine.open_source(tmp_path / "t.parquet")


@pytest.mark.parametrize("name", ["a:b.parquet", "_a.parquet", ".a.parquet"])
def test_names_that_spark_does_not_read_are_refused(name, tmp_path):
    """It would fail, or read nothing."""
    parquet.write_table(pa.table({"a": [1]}), tmp_path / name)
    engine = SparkEngine(session=None, memory=10**9, staging=tmp_path)
    with pytest.raises(kepsilon.DataError, match="Spark reads no file whose path holds a colon"):
        engine.open_source(tmp_path / name)


_POLICY = """
k = 5
epsilon = 2
algorithm = "ola"
max_suppression = 0.2
unlisted_columns = "drop"
[attributes.zip]
role = "k-quasi"
hierarchy = { type = "mask" }
[attributes.height]
role = "epsilon-quasi"
precision = 0.1
range = "class"
"""
