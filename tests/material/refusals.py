# SPDX-License-Identifier: Apache-2.0
"""What holds for every refusal, and how tests bring one about."""

from __future__ import annotations

from pathlib import Path

from material.people import people, write_csv


def refused(
    case: Path,
    kepsilon_command,
    *,
    code: int = 2,
    check_passes: bool = False,
    source: str = "people.csv",
    output: str = "out.csv",
) -> str:
    """What `anonymise` says of a table that it refuses; all that holds for every refusal is checked.

    `check` has to refuse too, with the same exit code; `check_passes` where the output is wrong, which it does not know.
    """
    before = sorted(case.rglob("*"))
    arguments = [case / source, "-p", case / "policy.toml"]
    refusal = kepsilon_command("anonymise", *arguments, "-o", case / output)
    checked = kepsilon_command("check", *arguments)
    assert refusal.code == code, refusal.err
    assert checked.code == (0 if check_passes else code), checked.err
    for outcome in [refusal] if check_passes else [refusal, checked]:
        assert outcome.out == ""
        assert outcome.err.startswith("kepsilon: ")
    assert "Traceback" not in refusal.err + checked.err
    assert "CANARY" not in refusal.err + checked.out + checked.err
    assert sorted(case.rglob("*")) == before, "a refusal leaves no file"
    return refusal.err


def change_policy(case: Path, old: str, new: str) -> None:
    text = (case / "policy.toml").read_text(encoding="utf-8")
    assert old in text
    (case / "policy.toml").write_text(text.replace(old, new), encoding="utf-8")


def change_field(case: Path, column: str, value: str, *, records: range = range(3)) -> None:
    table = people()
    for i in records:
        table[i][column] = value
    write_csv(case / "people.csv", table)
