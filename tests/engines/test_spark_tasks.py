# SPDX-License-Identifier: Apache-2.0
"""What workers of a cluster do, without a cluster: what they say when something is wrong, and what they do not say."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.engines.on_disk.batches import NoisyRecords, StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.engines.room import Room, no_advice
from kepsilon.engines.spark.classes import SparkClasses
from kepsilon.engines.spark.columns import SparkColumns
from kepsilon.engines.spark.tasks import WORK, StoreCounts, attempt, own_folder, read_counts, run_items, try_folder
from kepsilon.files.private_folders import SpillFolder
from kepsilon.policy.roles import ColumnRoles
from kepsilon.randomness import unsafe_seeded_bytes
from material.spark_cluster import SOURCES

ASK = """
import os, sys
from pathlib import Path
import pyarrow as pa
from kepsilon.engines.spark.tasks import run_items
import kepsilon.engines.spark.jobs

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
(row,) = run_items(iter([pa.record_batch({"id": [0]})]), orders=sys.argv[1])
os.write(1, row.column(0)[0].as_py())
"""


def outcome_of(orders: Path):
    (row,) = run_items(iter([pa.record_batch({"id": [0]})]), orders=str(orders))
    return pickle.loads(row.column(0)[0].as_py())


def put_orders(folder: Path) -> Path:
    orders = folder / "1"
    orders.mkdir()
    (orders / WORK).write_bytes(pickle.dumps(partial(try_folder, parent=folder)))
    (orders / "0").write_bytes(pickle.dumps(0))
    return orders


def test_a_folder_that_a_worker_sees_and_may_write_to(tmp_path):
    """Nothing of the trial is left."""
    spill = SpillFolder(tmp_path)
    orders = put_orders(spill.path)
    assert outcome_of(orders).result() is None
    assert list(spill.path.iterdir()) == [orders]


def test_a_folder_that_a_worker_does_not_see(tmp_path):
    """The folder that was chosen is named, not the one inside it that nobody knows of."""
    spill = SpillFolder(tmp_path)
    spill.close()
    with pytest.raises(kepsilon.EngineError) as caught:
        outcome_of(spill.path / "1").result()
    assert str(caught.value).startswith(f"{tmp_path}: the workers of the cluster do not see this folder")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_worker_that_somebody_else_runs():
    """It may not look into a private folder, and the message says what to look after."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        spill = SpillFolder(Path(place))
        orders = put_orders(spill.path)
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        asked = [sys.executable, "-c", ASK, str(orders)]
        said = subprocess.run(asked, capture_output=True, check=True, cwd="/", env=environment).stdout
        spill.close()
    with pytest.raises(kepsilon.EngineError, match="or are not run by the same user"):
        pickle.loads(said).result()


def test_every_attempt_has_a_folder_of_its_own(tmp_path):
    """For its owner only."""
    one, two = own_folder(tmp_path), own_folder(tmp_path)
    assert one != two
    assert {path.stat().st_mode & 0o777 for path in (one, two)} == {0o700}


@pytest.mark.parametrize("kind", [ValueError, KeyError, RuntimeError, pa.ArrowInvalid, OSError])
def test_what_an_error_quotes_does_not_leave_the_worker(kind):
    """Neither in what it sends home nor as an error that Spark would log."""

    def fail():
        raise kind("CANARY")

    row = attempt(3, fail)
    assert b"CANARY" not in row.column(0)[0].as_py()
    with pytest.raises(kepsilon.EngineError, match=f"a task failed \\({kind.__name__}\\); nothing was released"):
        pickle.loads(row.column(0)[0].as_py()).result()


def test_out_of_memory_comes_home_as_what_it_is():
    """So that the command says so."""

    def too_much():
        np.empty(1 << 50)

    row = attempt(0, too_much)
    with pytest.raises(MemoryError):
        pickle.loads(row.column(0)[0].as_py()).result()


def test_counts_are_for_their_owner_only(tmp_path):
    """They hold combinations of k-quasis; what is read again is what was stored, and nothing where there was nothing."""
    batches = [pa.record_batch({"c0": ["a", None], "n": [1, 2]}), pa.record_batch({"c0": ["b"], "n": [3]})]
    (row,) = StoreCounts(parent=tmp_path)(iter(batches))
    path = pickle.loads(row.column(0)[0].as_py()).result()
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_counts(path).to_pylist() == [{"c0": "a", "n": 1}, {"c0": None, "n": 2}, {"c0": "b", "n": 3}]
    (row,) = StoreCounts(parent=tmp_path)(iter([]))
    assert pickle.loads(row.column(0)[0].as_py()).result().stat().st_size == 0


class AtHome:
    """Workers that only remember what they were asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.items: list = []

    def run(self, work, items):
        self.items += items
        return [([], []) for _ in items]


def test_no_two_tasks_draw_from_the_same_source(tmp_path):
    """Neither for noise nor for the last order, also where a seed makes everything repeatable."""
    workers = AtHome(tmp_path)
    stored = [StoredBatch(classes=slice(i, i + 1), bucket=Bucket(tmp_path, i, n_values=1)) for i in range(8)]
    classes = SparkClasses(
        stored,
        SpillFolder(tmp_path),
        workers,
        sizes=np.ones(8, dtype=np.int64),
        roles=ColumnRoles(k_quasis=(), epsilon_quasis=("x",), kept=(), published=("x",)),
        room=Room(memory=10**9, n_epsilon_quasis=1),
        integers=frozenset(),
        n_tasks=2,
        table=None,
    )
    random = unsafe_seeded_bytes(7)
    classes.draw(lambda *_: None, random=random)
    classes._places = [NoisyRecords(buckets=[]) for _ in range(8)]
    with contextlib.suppress(AttributeError):  # there is no table to merge
        classes.merge(None, None, whole=(), shuffle=None, random=random)
    merging = [own for group in workers.items[4:] for own in group]
    drawn = [own.random.bytes(32) for own in [*workers.items[:4], *merging]]
    assert len(drawn) == 12
    assert len({*drawn, random.bytes(32)}) == 13


def test_combinations_that_were_counted_twice_are_refused(tmp_path):
    """Classes would seem twice as large, and the join would double their records: every later check would agree."""
    columns = object.__new__(SparkColumns)
    columns._roles = ColumnRoles(k_quasis=("zip",), epsilon_quasis=(), kept=(), published=("zip",))
    columns._room, columns._advise = Room(memory=10**9, n_epsilon_quasis=0), no_advice
    columns._table = SimpleNamespace(name="table", schema=pa.schema([("zip", pa.string())]))
    columns._refused, columns._wrong, columns._largest, columns._texts = {}, {}, {}, ()
    (row,) = StoreCounts(parent=tmp_path)(iter([pa.record_batch({"c0": ["a", None], "n": [2, 2]})]))
    path = pickle.loads(row.column(0)[0].as_py()).result()
    assert len(columns._read_counted([path], ())) == 2
    with pytest.raises(kepsilon.EngineError, match="counted twice"):
        columns._read_counted([path, path], ())
