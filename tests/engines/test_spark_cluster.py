# SPDX-License-Identifier: Apache-2.0
"""Releases on a real cluster, and what can happen to one there: each is right and whole, or there is none and nothing is left."""

from __future__ import annotations

import collections
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.files.private_folders import SPILL_PREFIX, SpillFolder
from material.engine_cases import POLICY, Case, document, random_people
from material.spark_cluster import Cluster, running_cluster, wait_until
from oracles import attacks

pytestmark = pytest.mark.spark

N = 2_000
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.minTaskRuntime": "200ms",
}
INPUTS = ["policy.toml", "table"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def driver(cluster):
    return cluster.driver()


@pytest.fixture
def folder(tmp_path, cluster):
    """A folder of Parquet and its policy, to be released into the same place."""
    case().write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    yield tmp_path
    cluster.faults.clear()


def case() -> Case:
    return Case(pa.table(random_people(N)), document())


def arguments(folder: Path, cluster: Cluster, *more: object) -> list[str]:
    words = ["anonymise", folder / "table", "-p", folder / "policy.toml", "-o", folder / "out", "--engine", "spark"]
    return [str(word) for word in [*words, "--master", cluster.master, "--linkage", folder / "links.parquet", *more]]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def spill_folders(folder: Path) -> list[Path]:
    return list(folder.glob(f"{SPILL_PREFIX}*"))


def is_right(folder: Path) -> None:
    """Every figure that depends on noise, worked out again from the files that were written, record by record."""
    assert names(folder) == ["links.parquet", "out", "out.curator.json", "out.manifest.json", *INPUTS]
    original = case().table
    released = parquet.read_table(folder / "out")
    links = parquet.read_table(folder / "links.parquet")
    record = json.loads((folder / "out.curator.json").read_text(encoding="utf-8"))

    rows = links.column("original_row").to_pylist()
    assert links.column("released_row").to_pylist() == list(range(len(released)))
    assert len(set(rows)) == len(rows) == len(released) == record["records"]["released"] > 0.7 * N
    assert record["records"]["read"] == N == sum(n for name, n in record["records"].items() if name != "read")
    for name in ("illness", "score"):
        assert original.column(name).take(pa.array(rows)).to_pylist() == released.column(name).to_pylist()

    shown = list(zip(*(released.column(name).to_pylist() for name in ("zip", "sex")), strict=True))
    sizes = collections.Counter(shown)
    class_ids = links.column("class_id").to_pylist()
    assert len(set(zip(class_ids, shown, strict=True))) == len(set(class_ids)) == len(sizes)
    classes = record["classes"]
    assert [min(sizes.values()), max(sizes.values())] == [classes["smallest"], classes["largest"]]
    assert min(sizes.values()) >= 5

    values = original.column("height").take(pa.array(rows)).to_pylist()
    published = released.column("height").to_pylist()
    error, n_zeros = attacks.mean_relative_error(values, [p - v for p, v in zip(published, values, strict=True)])
    assert n_zeros == 0
    assert math.isclose(record["error"]["height"]["realised_relative"], error, rel_tol=1e-9)
    members = collections.defaultdict(list)
    for i, own in enumerate(class_ids):
        members[own].append(i)
    found = 0.0
    for own in members.values():
        before, after = [values[i] for i in own], [published[i] for i in own]
        found += sum(attacks.link(before, after, [0] * len(own), i)[0] for i in range(len(own)))
    assert math.isclose(record["linking_risk"]["realised"], found / len(rows), rel_tol=1e-9)


def is_silent(cluster: Cluster, *texts: str) -> None:
    """Neither a name nor what the tests' own errors quote."""
    assert "CANARY" not in "".join(texts)
    assert "CANARY" not in cluster.said()


def test_the_command_releases_once_although_a_task_ran_twice(folder, cluster):
    """A slow task is overtaken by another attempt at it, and goes on for a while: one version is released and measured."""
    cluster.faults.set("slow")
    run = subprocess.run(
        [sys.executable, "-m", "kepsilon", *arguments(folder, cluster)],
        env=cluster.environment(SPECULATION),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert cluster.faults.has_happened("slow")
    is_right(folder)
    seconds = json.loads((folder / "out.curator.json").read_text(encoding="utf-8"))["seconds"]
    assert seconds["keep"] < 5, "it was not overtaken"
    policy = kepsilon.Policy.from_file(folder / "policy.toml")
    findings = kepsilon.audit(folder / "table", folder / "out", policy, linkage=folder / "links.parquet")
    assert findings.keeps_its_promises
    is_silent(cluster, run.stdout, run.stderr)


def only_notes(said: str) -> bool:
    """Whether nothing was said but notes, such as on kept columns; their further lines are indented."""
    return all(not line.strip() or line.startswith(("note: ", "  ")) for line in said.splitlines())


def test_a_release_without_trouble(folder, cluster, driver):
    """And with a session that is there already."""
    code, out, err = driver.run(*arguments(folder, cluster, "--json"))
    assert (code, only_notes(err)) == (0, True)
    assert json.loads(out)["records"]["read"] == N
    is_right(folder)
    is_silent(cluster, out, err)


def test_a_worker_that_is_lost_changes_nothing(folder, cluster, driver):
    """A machine goes while it gives noise to records, some of which it has written: others do its part anew."""
    cluster.faults.set("wait")
    driver.begin(*arguments(folder, cluster))
    cluster.lose_worker(cluster.faults.await_one("wait"))
    code, _, err = driver.end()
    assert (code, only_notes(err)) == (0, True)
    is_right(folder)


def test_a_task_that_is_tried_again_leaves_nothing_of_the_first_time(folder, cluster, driver):
    """Its Python was killed after some noisy records were on disk."""
    cluster.faults.set("crash")
    code, _, err = driver.run(*arguments(folder, cluster))
    assert (code, only_notes(err)) == (0, True)
    assert cluster.faults.has_happened("crash")
    is_right(folder)


def test_an_error_of_a_task_is_told_without_what_it_says(folder, cluster, driver):
    """Neither on screen nor in the logs of the cluster, which others can read."""
    cluster.faults.set("raise")
    code, out, err = driver.run(*arguments(folder, cluster))
    assert code == 2
    assert err.strip() == "kepsilon: spark: a task failed (ValueError); nothing was released."
    assert names(folder) == INPUTS
    is_silent(cluster, out, err)


def test_disk_full_on_a_worker(folder, cluster, driver):
    """A limit on file size stands in for a full disk; the operating system refuses the write for real."""
    cluster.faults.set("full disk")
    code, _, err = driver.run(*arguments(folder, cluster))
    assert code == 2
    assert f"kepsilon: {folder}: the disk is full; nothing was released." in err
    assert names(folder) == INPUTS


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
def test_an_interrupt_leaves_nothing(sent, folder, cluster, driver):
    """One line, no traceback; and its tasks are stopped, so that the session is of use afterwards."""
    cluster.faults.set("wait")
    driver.begin(*arguments(folder, cluster))
    cluster.faults.await_one("wait")
    # Ctrl-C reaches all processes of a terminal.
    os.killpg(driver.process.pid, sent) if sent == signal.SIGINT else driver.process.send_signal(sent)
    code, _, err = driver.end()
    assert (code, err.strip()) == (130, "kepsilon: interrupted; nothing was released.")
    assert names(folder) == INPUTS
    code, _, err = driver.run(*arguments(folder, cluster))
    assert (code, only_notes(err)) == (0, True)
    is_right(folder)


def test_a_folder_that_workers_do_not_see_is_refused(folder, cluster, driver):
    """A name that means another place for every process stands in for a disk that is not shared."""
    (driver.folder / "own").mkdir()
    code, _, err = driver.run(*arguments(folder, cluster, "--spill-folder", "/proc/self/cwd/own"))
    assert code == 2
    assert "kepsilon: /proc/self/cwd/own: the workers of the cluster do not see this folder" in err
    assert names(folder) == INPUTS
    assert names(driver.folder / "own") == []


def test_a_killed_driver_leaves_no_release_and_the_next_start_tidies_up(folder, cluster, driver):
    """What is left is for its owner only, holds no identifier, and goes; so does what Spark itself kept of the records."""
    cluster.faults.set("wait")
    driver.begin(*arguments(folder, cluster))
    cluster.faults.await_one("wait")
    (left,) = spill_folders(folder)
    assert left.stat().st_mode & 0o777 == 0o700
    contents = [path.read_bytes() for path in left.rglob("*") if path.is_file()]
    assert len(contents) > 10
    assert not any(b"CANARY" in content for content in contents)
    assert not any(b"CANARY" in path.read_bytes() for path in cluster.kept_for_jobs())
    SpillFolder(folder).close()
    assert left.exists(), "its run is alive"
    driver.process.kill()
    driver.process.wait()
    assert names(folder) == sorted([left.name, *INPUTS])
    SpillFolder(folder).close()
    assert names(folder) == INPUTS
    wait_until(lambda: not cluster.kept_for_jobs(), "Spark's own files go")
    assert names(folder) == INPUTS, "a task that was still running wrote again"
