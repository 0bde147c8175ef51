# SPDX-License-Identifier: Apache-2.0
"""`check` and `anonymise` end with the verdict of the record, and warn before they show a figure."""

from __future__ import annotations

import json

import pytest


def words_of(text):
    return " ".join(text.split())


@pytest.fixture
def ended(kepsilon_command, case, monkeypatch):
    """What a command printed at 80 columns, and the verdicts of the same command as JSON."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(command):
        output = () if command == "check" else ("-o", case / "out.csv")
        outcome = kepsilon_command(command, case / "people.csv", "-p", case / "policy.toml", *output)
        assert outcome.code == 0, outcome.err
        if command == "check":
            found = kepsilon_command(command, case / "people.csv", "-p", case / "policy.toml", "--json").out
        else:
            found = (case / "out.csv.curator.json").read_text(encoding="utf-8")
        return outcome, json.loads(found)

    return run


@pytest.mark.parametrize("command", ["check", "anonymise"])
def test_the_verdict_comes_last_and_is_that_of_the_record(ended, command):
    """Whoever reads only the end of a long screen reads the verdict, and it is not a second opinion."""
    outcome, found = ended(command)
    start, heading, end = outcome.out.rpartition("\nVerdict\n")
    assert heading
    assert "\nFigures\n" in start
    assert "\nFigures\n" not in end
    for about, mark in found["verdict"].items():
        assert f"{about} {mark['state']} " in words_of(end)
        for word in mark["sentence"].split():
            assert word in end
    rows = words_of(start.rpartition("What is left of each attribute")[2])
    for name, own in found["verdicts"].items():
        assert f"{name} {own['role']} {own['verdict']} {own['reason']}" in rows


@pytest.mark.parametrize("command", ["check", "anonymise"])
def test_the_sentences_of_the_verdict_are_whole(ended, command):
    """Word for word, in the order of the marks."""
    outcome, found = ended(command)
    end = words_of(outcome.out.rpartition("\nVerdict\n")[2])
    marks = found["verdict"]
    assert list(marks) == ["promise", "risk", "usefulness"]
    assert " ".join(f"{about} {own['state']} {words_of(own['sentence'])}" for about, own in marks.items()) in end


def test_warnings_stand_before_figures(ended):
    """A figure that is read without its warning is believed."""
    outcome, found = ended("check")
    assert found["warnings"]
    assert outcome.out.startswith("note: ")
    assert outcome.out.rindex("note: ") < outcome.out.index("\nFigures\n")
    outcome, _ = ended("anonymise")
    assert outcome.err.count("note: ")
    assert "note: " not in outcome.out


def test_a_reason_to_accept_a_useless_attribute_is_shown(kepsilon_command, case):
    """The curator who reads the screen may not be the one who wrote the policy."""
    policy = case / "policy.toml"
    text = policy.read_text(encoding="utf-8").replace("epsilon = 2", "epsilon = 0.5")
    accepted = '[attributes.height]\naccept_useless = "only its mean is wanted"'
    policy.write_text(text.replace("[attributes.height]", accepted), encoding="utf-8")
    outcome = kepsilon_command("check", case / "people.csv", "-p", policy)
    assert outcome.code == 0, outcome.err
    assert "accepted in the policy: only its mean is wanted" in words_of(outcome.out)


def test_the_largest_single_risk_is_that_of_one_attacker_on_the_whole_screen(kepsilon_command, tmp_path):
    """Without noise there is nothing to match within a class; figure and verdict said it in two ways."""
    table, policy = tmp_path / "table.csv", tmp_path / "policy.toml"
    table.write_text("sex\n" + "M\nF\n" * 20, encoding="utf-8")
    policy.write_text(
        'k = 5\nalgorithm = "mondrian"\n[attributes.sex]\nrole = "k-quasi"\nhierarchy = { type = "suppress" }\n',
        encoding="utf-8",
    )
    for arguments in (("check",), ("anonymise", "-o", tmp_path / "out.csv")):
        outcome = kepsilon_command(arguments[0], table, "-p", policy, *arguments[1:])
        assert outcome.code == 0, outcome.err
        said = words_of(outcome.out)
        assert said.count("guesses within the class, without the help of kept columns, is at most 5 % sure") == 1
        assert "uses no kept column and guesses within the class is at most 5 % sure" in said
        assert "one to one" not in said
