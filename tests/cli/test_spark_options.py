# SPDX-License-Identifier: Apache-2.0
"""`--engine spark` where it cannot go well: said in one line, before anything is started."""

from __future__ import annotations

import sys

import pytest

import kepsilon
from engines.tables import plain


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
    from kepsilon.engines.spark import SparkEngine

    engine = SparkEngine(session=None, memory=10**9, staging=tmp_path)
    for source in (tmp_path / "people.csv", {"a": [1]}):
        with pytest.raises(kepsilon.EngineError, match="Spark DataFrame"):
            engine.open_source(source)


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
