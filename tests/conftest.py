# SPDX-License-Identifier: Apache-2.0
"""What tests share: the shared data folder, small tables with canary values, and the command line in-process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from kepsilon.cli.main import run
from material.machine import SHARED_DATA, lacking
from material.people import POLICY, people, write_csv

# The same examples every time, so that a run means the same everywhere; HYPOTHESIS_PROFILE=roam looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("roam", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """One process runs all tests that need Spark, because a session takes seconds to start and much memory."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def adult_path() -> Path:
    """Adult as shared; a machine without it skips, CI does not."""
    path = SHARED_DATA / "adult.data.csv"
    if not path.exists():
        lacking("adult.data.csv is not in shared/data beside the project; set KEPSILON_DATA to its folder")
    return path


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def kepsilon_command(capsys):
    """The command line, run in this process: exit code, stdout and stderr."""

    def command(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command


@pytest.fixture
def case(tmp_path):
    """A folder with people.csv and policy.toml that go together."""
    write_csv(tmp_path / "people.csv", people())
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path
