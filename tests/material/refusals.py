# SPDX-License-Identifier: Apache-2.0
"""What holds for every refusal, and how tests bring one about."""

from __future__ import annotations

from pathlib import Path

from material.people import people, write_csv


def refused(case: Path, kepsilon_command, *, code: int = 2, source: str = "people.csv", output: str = "out.csv") -> str:
    """Runs the release, and checks what holds for every refusal."""
    before = sorted(case.rglob("*"))
    for command in ("anonymise", "check"):
        arguments = [command, case / source, "-p", case / "policy.toml"]
        outcome = kepsilon_command(*arguments, *(["-o", case / output] if command == "anonymise" else []))
        if command == "anonymise":
            refusal = outcome
    assert refusal.code == code, refusal.err
    assert refusal.out == ""
    assert refusal.err.startswith("kepsilon: ")
    assert "Traceback" not in refusal.err
    assert "CANARY" not in refusal.err + outcome.err
    assert sorted(case.rglob("*")) == before, "a refusal leaves no file"
    return refusal.err


def change_policy(case: Path, old: str, new: str) -> None:
    text = (case / "policy.toml").read_text(encoding="utf-8")
    assert old in text
    (case / "policy.toml").write_text(text.replace(old, new), encoding="utf-8")


def change_cell(case: Path, column: str, value: str, *, records: range = range(3)) -> None:
    table = people()
    for i in records:
        table[i][column] = value
    write_csv(case / "people.csv", table)
