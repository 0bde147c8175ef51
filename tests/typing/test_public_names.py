# SPDX-License-Identifier: Apache-2.0
"""The types that users see: right programs pass mypy, wrong ones do not, and every name can be found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import kepsilon

PROGRAM = Path(__file__).parent / "public_names.py"


def test_mypy_takes_the_right_program_and_refuses_every_wrong_line(tmp_path):
    """With the strict rules a user may have; a line that mypy did not mind would mean that types had become Any."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir", str(tmp_path), str(PROGRAM)]
    command += ["--config-file", "", "--follow-imports", "silent", "--ignore-missing-imports"]
    path = {**os.environ, "MYPYPATH": str(Path(kepsilon.__file__).parents[1])}
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROGRAM.parent, env=path)
    found = {
        int(number): kind
        for number, kind in re.findall(r"public_names\.py:(\d+): error: .*\[([a-z-]+)\]", outcome.stdout)
    }
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    expected = {i: line.split("EXPECT: ")[1] for i, line in enumerate(lines, start=1) if "# EXPECT: " in line}
    assert expected, "the program has wrong lines"
    assert found == expected, outcome.stdout + outcome.stderr


def test_the_package_says_that_it_is_typed():
    """Without this file mypy would take every name of an installed package for Any."""
    assert resources.files("kepsilon").joinpath("py.typed").is_file()


def test_every_public_name_is_listed_before_it_is_used():
    """Tab completion asks `dir`, and names are imported only when first used."""
    program = "import kepsilon; print(*sorted(set(kepsilon.__all__) - set(dir(kepsilon))))"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.split() == []
    assert set(kepsilon.__all__) <= set(dir(kepsilon))
