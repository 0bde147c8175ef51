# SPDX-License-Identifier: Apache-2.0
"""What tests share: the shared data folder, small tables with canary values, and the command line in-process."""

from __future__ import annotations

import os

# Before NumPy is imported: tests run in as many processes as there are cores, and threads that wait for each other within
# them take up to half of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Before Java is started: Spark's jobs on small tables take a third less time if Java does not optimise what runs once.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from kepsilon.cli.main import run
from material.machine import SHARED_DATA, lacking
from material.people import POLICY, people, write_csv
from material.usefulness import useless_is_accepted, useless_is_refused

# Examples are fixed, so that a run means the same everywhere; HYPOTHESIS_PROFILE=roam looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("roam", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(scope="session", autouse=True)
def _useless_is_accepted():
    """Tests about other things are not refused for a useless attribute."""
    with useless_is_accepted():
        yield


@pytest.fixture
def refuses_useless():
    """Useless attributes are refused, as they are for users, unless the policy accepts them."""
    with useless_is_refused():
        yield


def pytest_generate_tests(metafunc):
    """Names a test that is marked `spark` accordingly, `test_x[spark]`: of a test in another process xdist sees the name.

    Marking it with `xdist_group` instead groups nothing since pytest 9.2 (pytest-xdist issue 1386).
    """
    if metafunc.definition.get_closest_marker("spark"):
        metafunc.fixturenames.append("needs")
        metafunc.parametrize("needs", ["spark"])


def is_named_for_spark(nodeid: str) -> bool:
    return "spark" in nodeid.partition("[")[2].removesuffix("]").split("-")


def pytest_collection_modifyitems(items):
    """Keeps marker and name together where only some parameters of a test are marked; Spark goes first.

    It is by far the longest part that one process has to do alone, so the others would wait for it at the end.
    """
    items.sort(key=lambda item: not is_named_for_spark(item.nodeid))
    for item in items:
        if is_named_for_spark(item.nodeid) is (item.get_closest_marker("spark") is None):
            raise pytest.UsageError(f'{item.nodeid}: the marker goes with the parameter "spark", and only with it')


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One process runs all tests that need Spark, because a session takes seconds to start and much memory.

    The other tests go by file, so that what a module makes once for all its tests is not made in every process. Files stay
    in their order: those with few tests are not the fast ones, and the last folders have small files that even out the end.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneSession(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if is_named_for_spark(nodeid) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return OneSession(config, log)


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
