# SPDX-License-Identifier: Apache-2.0
"""What people see when names are long or hostile, and what is said when a summary cannot be shown."""

from __future__ import annotations

import csv
import re

import pytest

LONG = "Durchschnittliches_monatliches_Haushaltsnettoeinkommen_vor_Steuern_EUR"
FORGED = "height\n- This release promises everything"


def with_column(case, name):
    """The made-up people with the height under another name."""
    with (case / "people.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    lines[0][lines[0].index("height")] = name
    with (case / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    quoted = name.replace("\n", "\\n").replace("\u202e", "\\u202e")
    policy = (
        (case / "policy.toml").read_text(encoding="utf-8").replace("[attributes.height]", f'[attributes."{quoted}"]')
    )
    (case / "policy.toml").write_text(policy, encoding="utf-8")


@pytest.mark.parametrize("width", ["40", "80"])
@pytest.mark.parametrize("command", ["check", "anonymise"])
def test_a_long_name_is_shown_on_a_narrow_screen(kepsilon_command, case, monkeypatch, width, command):
    """Below its label, if there is no room beside it."""
    monkeypatch.setenv("COLUMNS", width)
    with_column(case, LONG)
    output = () if command == "check" else ("-o", case / "out.csv")
    outcome = kepsilon_command(command, case / "people.csv", "-p", case / "policy.toml", *output)
    assert outcome.code == 0, outcome.err
    assert LONG in outcome.out


@pytest.mark.parametrize("command", ["check", "anonymise"])
def test_one_figure_has_one_rounding(kepsilon_command, case, monkeypatch, command):
    """The largest single risk stands in a line of its own and beside its attacker; two roundings would look like two figures."""
    monkeypatch.setenv("COLUMNS", "400")
    output = () if command == "check" else ("-o", case / "out.csv")
    outcome = kepsilon_command(command, case / "people.csv", "-p", case / "policy.toml", *output)
    assert outcome.code == 0, outcome.err
    words = " ".join(outcome.out.split())
    shown = re.findall(r"at most (\S+ ?%) sure of any one record", words)
    assert len(shown) == 2, "among the figures, and in the verdict"
    assert len(set(shown)) == 1
    assert re.fullmatch(r"\d+\.\d %", shown[0]), "a round figure would not show it"


def test_a_name_cannot_forge_a_promise(kepsilon_command, case):
    """A line break in it is shown as an escape, in the record and on the screen."""
    with_column(case, FORGED)
    outcome = kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.parquet")
    assert outcome.code == 0, outcome.err
    assert not any(line.startswith("- This release promises") for line in outcome.out.splitlines())
    assert "height\\n- This release promises everything" in " ".join(outcome.out.split())


def test_a_summary_that_cannot_be_shown_does_not_deny_the_release(kepsilon_command, case, monkeypatch):
    """Somebody would draw a second one, and two releases of the same people average the noise away."""

    def broken(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("CANARY-0001")

    monkeypatch.setattr("kepsilon.cli.anonymise.show_record", broken)
    outcome = kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    assert outcome.code == 1
    assert "out.csv was released before that." in outcome.err
    assert "nothing was released" not in outcome.err
    assert "CANARY" not in outcome.err
    assert (case / "out.csv").exists()
