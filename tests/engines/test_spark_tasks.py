# SPDX-License-Identifier: Apache-2.0
"""What workers of a cluster do, without a cluster: what they say when something is wrong, and what they do not say."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from engines.spark_cluster import SOURCES
from kepsilon.engines.spark_tasks import attempt, own_folder, run_items, try_folder
from kepsilon.private_folders import SpillFolder

ASK = """
import os, sys
from pathlib import Path
import pyarrow as pa
from kepsilon.engines.spark_tasks import run_items
import kepsilon.engines.spark_jobs

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
(row,) = run_items(iter([pa.record_batch({"id": [0]})]), order=sys.argv[1])
os.write(1, row.column(0)[0].as_py())
"""


def outcome_of(order: Path):
    (row,) = run_items(iter([pa.record_batch({"id": [0]})]), order=str(order))
    return pickle.loads(row.column(0)[0].as_py())


def put_order(folder: Path) -> Path:
    order = folder / "1.order"
    order.write_bytes(pickle.dumps((partial(try_folder, parent=folder), [0])))
    return order


def test_a_folder_that_a_worker_sees_and_may_write_to(tmp_path):
    """Nothing of the trial is left."""
    spill = SpillFolder(tmp_path)
    order = put_order(spill.path)
    assert outcome_of(order).result() is None
    assert list(spill.path.iterdir()) == [order]


def test_a_folder_that_a_worker_does_not_see(tmp_path):
    """The folder that was chosen is named, not the one inside it that nobody knows of."""
    spill = SpillFolder(tmp_path)
    spill.close()
    with pytest.raises(kepsilon.EngineError) as caught:
        outcome_of(spill.path / "1.order").result()
    assert str(caught.value).startswith(f"{tmp_path}: the workers of the cluster do not see this folder")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_worker_that_somebody_else_runs():
    """It may not look into a private folder, and the message says what to look after."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        spill = SpillFolder(Path(place))
        order = put_order(spill.path)
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        asked = [sys.executable, "-c", ASK, str(order)]
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
