# SPDX-License-Identifier: Apache-2.0
"""The command that a screen ends with runs as it is pasted into a shell, wherever kepsilon was started from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kepsilon.cli.next_command import pasted, release_name
from material.people import POLICY, people, write_csv

PROGRAM = f"#!{sys.executable}\nimport sys\nfrom kepsilon.__main__ import main\nsys.exit(main())\n"
"""What an installed command is."""


@pytest.fixture
def place(tmp_path):
    """A folder as `make demo` has it: the command lies in .venv/bin, and the shell does not find it by its name."""
    program = tmp_path / ".venv" / "bin" / "kepsilon"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def shell(command, folder, *, path="/usr/bin:/bin"):
    """Runs what somebody pastes into bash, with `path` as the folders that programs are found in."""
    environment = {**os.environ, "PATH": path, "COLUMNS": "80"}
    outcome = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, (command, outcome.stderr)
    return outcome.stdout


def next_of(screen):
    """The command after the last line that begins with "Next", as it stands there."""
    after = re.split(r"(?m)^Next[^\n]*:\n", screen)[-1]
    lines = []
    for line in after.splitlines():
        lines.append(line)
        if not line.endswith("\\"):
            break
    return "\n".join(lines)


def fill(folder, data="people.csv", policy="policy.toml"):
    write_csv(folder / data, people())
    text = POLICY.replace("epsilon = 2", "epsilon = 16")
    (folder / policy).write_text(text, encoding="utf-8")


def test_the_demo_of_make_ends_with_a_command_that_runs(place):
    """`make demo` starts .venv/bin/kepsilon, which is not on anybody's PATH."""
    screen = shell(".venv/bin/kepsilon demo -o kepsilon-demo", place)
    command = next_of(screen)
    assert command.strip().startswith(".venv/bin/kepsilon audit kepsilon-demo/patients.csv")
    assert "No promise was found broken." in shell(command, place)


def test_check_leads_to_anonymise_and_that_to_audit(place):
    """Each pasted from the screen before; names of files may hold blanks, apostrophes and dollars."""
    names = {"data": "Ann's $HOME people.csv", "policy": "the policy.toml"}
    fill(place, names["data"], names["policy"])
    checked = shell(""".venv/bin/kepsilon check "Ann's \\$HOME people.csv" -p 'the policy.toml'""", place)
    released = shell(next_of(checked), place)
    assert (place / "release.csv").is_file()
    assert (place / "release.html").is_file()
    assert "No promise was found broken." in shell(next_of(released), place)


def test_a_second_release_gets_a_name_of_its_own(place):
    """A pasted command that is refused because its file exists does not work as pasted."""
    fill(place)
    for expected in ("release.csv", "release-2.csv"):
        shell(next_of(shell(".venv/bin/kepsilon check people.csv -p policy.toml", place)), place)
        assert (place / expected).is_file()


def test_explore_leads_to_a_policy_and_that_to_check(place):
    """The chosen setting is not typed by hand."""
    fill(place)
    explored = shell(
        ".venv/bin/kepsilon explore people.csv -p policy.toml --k 3,4 --epsilon 16,32 --algorithm ola "
        "--max-suppression 0.9",
        place,
    )
    written = shell(next_of(explored), place)
    if "check" not in next_of(explored):
        assert (place / "policy-chosen.toml").is_file()
        shell(next_of(written), place)


def test_a_command_on_the_path_is_called_by_its_name(place):
    """Nobody wants to read where it lies."""
    fill(place)
    screen = shell("kepsilon check people.csv -p policy.toml", place, path=f"{place}/.venv/bin:/usr/bin:/bin")
    assert next_of(screen).startswith("  kepsilon anonymise people.csv -p policy.toml ")


@pytest.mark.parametrize("name", ["a\nb.csv", "a\x1b[2J'b\\.csv", "two  blanks.csv", "$(touch x).csv", "ä ö.csv"])
def test_a_hostile_name_is_quoted_and_cannot_forge_lines(tmp_path, name):
    """The shell reads the very name, and the screen shows no control character."""
    command = pasted("check", name)
    assert command.replace("\\\n", "").isprintable()
    arguments = command.partition(" check ")[2]
    told = subprocess.run(
        ["bash", "-c", f"printf %s {arguments}"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout == name
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "release"),
    [("a.csv", "release.csv"), ("b.PARQUET", "release.parquet"), ("c.txt", "release.csv"), ("folder", "release")],
)
def test_a_release_is_proposed_in_a_kind_that_can_be_written(tmp_path, monkeypatch, source, release):
    """A text file is read as CSV, but there are no releases with that suffix."""
    monkeypatch.chdir(tmp_path)
    assert release_name(Path(source)) == Path(release)
