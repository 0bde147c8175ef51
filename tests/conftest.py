# SPDX-License-Identifier: Apache-2.0
"""What tests share: the shared data folder, small tables with canary values, and the command line in-process."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from kepsilon.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = Path(os.environ.get("KEPSILON_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def adult_path() -> Path:
    """Adult as shared; a machine without it skips, CI does not."""
    path = SHARED_DATA / "adult.data.csv"
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail("CI needs adult.data.csv beside the project, in shared/data")
        pytest.skip("adult.data.csv is not here; set KEPSILON_DATA to its folder")
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


PEOPLE = ["name", "zip", "year", "sex", "height", "illness"]
POLICY = """
k = 3
epsilon = 2
algorithm = "ola"
max_suppression = 0.1
[attributes.name]
role = "identifier"
[attributes.zip]
role = "k-quasi"
hierarchy = { type = "mask" }
[attributes.year]
role = "k-quasi"
hierarchy = { type = "intervals", widths = [5, 10] }
[attributes.sex]
role = "k-quasi"
hierarchy = { type = "suppress" }
[attributes.height]
role = "epsilon-quasi"
precision = 0.1
range = "class"
[attributes.illness]
role = "sensitive"
"""


def people(n: int = 120) -> list[dict[str, str]]:
    """Made-up records; every name is a canary that must never be seen again."""
    return [
        {
            "name": f"CANARY-{i:04}",
            "zip": f"0{(i * 7) % 5}{(i * 3) % 4}0{i % 3}",
            "year": str(1950 + (i * 11) % 40),
            "sex": "FM"[i % 2],
            "height": f"{150 + (i * 37) % 400 / 10:.1f}",
            "illness": f"illness-{i}",
        }
        for i in range(n)
    ]


def write_csv(path: Path, records: list[dict[str, str]], *, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(records[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(records)
    return path


@pytest.fixture
def case(tmp_path):
    """A folder with people.csv and policy.toml that go together."""
    write_csv(tmp_path / "people.csv", people())
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path
