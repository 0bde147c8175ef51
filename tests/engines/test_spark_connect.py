# SPDX-License-Identifier: Apache-2.0
"""Spark Connect: the same release, asked of a server, by command and by DataFrame."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from engines.test_every_engine import expected_figures, labels, same
from material.engine_cases import POLICY, Case, document, random_people
from material.machine import require_java
from material.spark_cluster import (
    SETTINGS,
    free_port,
    kill_all,
    require_linux,
    spark_environment,
    start,
    wait_until,
)

pytestmark = pytest.mark.spark

N = 2_000
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
ASK = """
import json, sys, warnings
warnings.simplefilter("ignore", FutureWarning)
from pyspark.sql import SparkSession
import kepsilon

server, table, policy, folder = sys.argv[1:]
frame = SparkSession.builder.remote(server).getOrCreate().read.parquet(table)
release = kepsilon.anonymise(frame, kepsilon.Policy.from_file(policy), spill_folder=folder)
record, found = release.record.to_json(), release.frame
del release
print(json.dumps([type(found).__module__, record, found.toArrow().to_pylist()]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Its address. No session of this process can ask it, if another has a session of its own already."""
    require_java()
    require_linux()
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {**SETTINGS, "spark.ui.enabled": "false", "spark.connect.grpc.binding.address": "127.0.0.1"}
    settings["spark.connect.grpc.binding.port"] = str(port)
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    with (folder / "server.log").open("wb") as log:
        words = ["spark-submit", "--class", SERVER, "--master", "local[2]", *words, "spark-internal"]
        environment = spark_environment(SPARK_LOCAL_DIRS=str(folder / "local"), SPARK_DAEMON_MEMORY="512m")
        process = start(words, environment, log)
        try:
            wait_until(lambda: is_open(port) or process.poll() is not None, "the Connect server")
            assert process.poll() is None, "it did not start; its log says why"
            yield f"sc://127.0.0.1:{port}"
        finally:
            kill_all(process)
    assert "CANARY" not in (folder / "server.log").read_text(encoding="utf-8", errors="replace")


def is_open(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def folder(tmp_path):
    Case(pa.table(random_people(N)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def ask(*words: object) -> str:
    """What a process of its own says."""
    outcome = subprocess.run(
        [sys.executable, *map(str, words)], env=spark_environment(), capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    assert "CANARY" not in outcome.stdout + outcome.stderr
    return outcome.stdout


def is_the_same(record: dict[str, Any], released: pa.Table, folder: Path) -> None:
    """Classes and expected figures as they are in memory."""
    here = kepsilon.anonymise(folder / "table", kepsilon.Policy.from_file(folder / "policy.toml"))
    same(expected_figures(json.loads(json.dumps(here.record.to_json()))), expected_figures(record))
    assert labels(here.frame, ["zip", "sex"]) == labels(released, ["zip", "sex"])
    assert len(released) == record["records"]["released"]


def test_the_command_asks_a_server(folder, server):
    """And everybody released is there once, with what was kept of them."""
    words = ["-o", folder / "out", "--linkage", folder / "links.parquet", "--engine", "spark", "--master", server]
    said = ask("-m", "kepsilon", "anonymise", folder / "table", "-p", folder / "policy.toml", *words, "--json")
    released = parquet.read_table(folder / "out")
    is_the_same(json.loads(said), released, folder)
    rows = parquet.read_table(folder / "links.parquet").column("original_row")
    assert len(set(rows.to_pylist())) == len(released)
    original = parquet.read_table(folder / "table")
    assert original.column("score").take(rows).to_pylist() == released.column("score").to_pylist()
    written = ["links.parquet", "out", "out.curator.json", "out.manifest.json", "policy.toml", "table"]
    assert sorted(path.name for path in folder.iterdir()) == written


def test_a_dataframe_of_a_server_comes_back_as_one(folder, server):
    """To be used although the release was forgotten; what was kept on disk goes when the program ends."""
    said = ask("-c", ASK, server, folder / "table", folder / "policy.toml", folder)
    module, record, records = json.loads(said)
    assert module.startswith("pyspark.sql.connect")
    is_the_same(record, pa.Table.from_pylist(records), folder)
    assert sorted(path.name for path in folder.iterdir()) == ["policy.toml", "table"]


ZONES = """
import json, sys
from pathlib import Path
import kepsilon
from kepsilon.engines.spark.session import open_session

server, source, policy, place = sys.argv[1:]
session = open_session(server)
session.conf.set("spark.sql.session.timeZone", "America/New_York")
frame = session.read.parquet("file:" + source).selectExpr(
    "name", "zip", "SEX as sex", "height", "cast(cast(timestamp_seconds(score * 3600) as date) as string) as illness", "score"
)
seen = {row["score"]: row["illness"] for row in frame.collect()}
released = kepsilon.anonymise(frame, kepsilon.Policy.from_file(policy), spill_folder=place).frame
other = [row for row in released.collect() if row["illness"] != seen[row["score"]]]
print(json.dumps([len(other), released.count(), session.conf.get("spark.sql.session.timeZone")]))
"""


def test_expressions_of_a_dataframe_mean_what_they_mean_to_its_user(folder, server):
    """A server looks at them again whenever it is asked: under other settings a day would begin at another hour."""
    n_other, n_released, zone = json.loads(ask("-c", ZONES, server, folder / "table", folder / "policy.toml", folder))
    assert n_released > 0.7 * N
    assert n_other == 0
    assert zone == "America/New_York"
