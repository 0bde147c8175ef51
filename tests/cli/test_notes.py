# SPDX-License-Identifier: Apache-2.0
"""Notes on the screen: the same from `check` and `anonymise`, what endangers people first, and within 80 columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kepsilon as ke

POLICY = """
k = 5
epsilon = 8.0
max_suppression = 0.1
algorithm = "mondrian"
[attributes.id]
role = "identifier"
[attributes.town]
role = "k-quasi"
hierarchy = { type = "suppress" }
[attributes.age]
role = "k-quasi"
step = 1
[attributes.weight]
role = "epsilon-quasi"
precision = 1
range = "class"
[attributes.diagnosis]
role = "sensitive"
"""


def test_check_and_anonymise_note_the_same_dangers(tmp_path: Path) -> None:
    data, policy = _files(tmp_path)
    checked = _run("check", data, "-p", policy)
    released = _run("anonymise", data, "-p", policy, "-o", tmp_path / "release.csv")
    in_check, in_anonymise = _heads(checked.stdout), _heads(released.stderr)
    assert in_check[:-1] == in_anonymise  # formulas are looked for by check alone
    assert any(head.startswith("note: attributes.age.step") for head in in_anonymise)
    before_the_next_command = checked.stdout.partition("\nNext:")[0]
    for line in [*before_the_next_command.splitlines(), *released.stderr.splitlines()]:
        assert len(line) <= 80, line


def test_explore_notes_how_k_counts_and_how_the_files_were_read(tmp_path: Path) -> None:
    """Whoever chooses a k should know of misread text and shared names; on stderr, so that a table on stdout stays one."""
    data, policy = _files(tmp_path)
    checked = ke.check(data, ke.Policy.from_file(policy)).warnings
    noted = [one for one in checked if one.where in ('column "id"', data.name)]
    told = _run("explore", data, "-p", policy, "--k", "5", "--epsilon", "1")
    assert len(noted) == 2
    assert _heads(told.stderr) == _heads(_run("explore", data, "-p", policy, "--k", "5", "--json").stderr)
    assert _heads(told.stderr) == ["note: column", f"note: {data.name}:"]
    assert "note: " not in told.stdout
    assert ke.explore(data, ke.Policy.from_file(policy), k=5, epsilon=1).warnings == tuple(noted)


def test_what_endangers_people_is_said_before_the_rest(tmp_path: Path) -> None:
    data, policy = _files(tmp_path)
    places = [one.where for one in ke.check(data, ke.Policy.from_file(policy)).warnings]
    assert places == [
        'column "id"',  # perhaps persons with several records
        'column "diagnosis"',  # classes that agree on it
        "attributes.weight.range",  # classes without noise
        "attributes.age.step",
        data.name,  # its encoding
        'column "diagnosis"',  # formulas
    ]


def test_a_release_has_the_warnings_of_the_check(tmp_path: Path) -> None:
    data, file = _files(tmp_path)
    policy = ke.Policy.from_file(file)
    checked = ke.check(data, policy).warnings
    release = ke.anonymise(data, policy)
    assert release.warnings == checked[:-1]  # cells are looked at by check alone
    assert release.write(tmp_path / "release.csv").warnings == release.warnings


def test_names_of_files_cannot_forge_lines(tmp_path: Path) -> None:
    data, policy = _files(tmp_path)
    told = _run("anonymise", data, "-p", policy, "-o", tmp_path / "r\nrecord     nothing\x1b[2J.csv")
    assert "\x1b" not in told.stdout
    assert "\nrecord     nothing" not in told.stdout
    assert "r\\nrecord     nothing\\x1b[2J.csv" in told.stdout


def _files(folder: Path) -> tuple[Path, Path]:
    """A Latin-1 file with a constant class, an outlier, ages that one record holds, a formula and a repeated name."""
    rows = [f"Ann {i},A,{20 + i},70,x" for i in range(10)]
    rows += [f"Ann {i},B,{20 + i},{60 + i % 7},caf\xe9" for i in range(10, 19)]
    rows += ["Ann 18,B,39,4000,=1+1"]
    data, policy = folder / "data.csv", folder / "policy.toml"
    data.write_text("\n".join(["id,town,age,weight,diagnosis", *rows]) + "\n", encoding="latin-1")
    policy.write_text(POLICY, encoding="utf-8")
    return data, policy


def _heads(text: str) -> list[str]:
    return [" ".join(line.split()[:2]) for line in text.splitlines() if line.startswith("note: ")]


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kepsilon", *map(str, arguments)], capture_output=True, text=True, check=True
    )
