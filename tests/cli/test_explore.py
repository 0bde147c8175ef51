# SPDX-License-Identifier: Apache-2.0
"""`kepsilon explore` as its users meet it: a table, a choice, a policy, and clear refusals."""

from __future__ import annotations

import json
import re
import shlex

import pytest

import kepsilon

LISTS = ("--k", "3,6", "--epsilon", "0.5,2,8")


def explore(kepsilon_command, case, *arguments):
    return kepsilon_command("explore", case / "people.csv", "-p", case / "policy.toml", *LISTS, *arguments)


def rows_of(out):
    """The lines of the table: those under its head, up to the next empty line."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["algorithm", "k"])
    return lines[start + 1 : lines.index("", start)]


def test_the_front_is_shown_and_all_cells_on_request(kepsilon_command, case):
    """One line a cell, the chosen one and the policy's own marked once each, and no record in it."""
    n_cells = 6 * len(kepsilon.json_schema()["properties"]["algorithm"]["enum"])
    grid = json.loads(explore(kepsilon_command, case, "--max-risk", "0.4", "--json").out)
    shown = [cell for i, cell in enumerate(grid["cells"]) if cell["pareto"] or i in (grid["chosen"], grid["current"])]
    figures = ("epsilon", "distortion", "headline", "suppression", "verdict")
    n_equal = len(shown) - len({json.dumps([cell.get(name) for name in figures]) for cell in shown})
    for arguments, n in (((), len(shown) - n_equal), (("--all",), n_cells)):
        outcome = explore(kepsilon_command, case, "--max-risk", "0.4", *arguments)
        assert outcome.code == 0, outcome.err
        rows = rows_of(outcome.out)
        assert len(rows) == n
        assert sum("→" in row for row in rows) == 1
        assert ("was not among the settings" in outcome.out) is (grid["current"] is None)
        assert sum("•" in row for row in rows) == (grid["current"] is not None)
        assert ("--all shows" in outcome.out) is not bool(arguments)
        assert "CANARY" not in outcome.out + outcome.err


def test_a_limit_on_one_record_chooses_and_its_attacker_is_named(kepsilon_command, case):
    """With a column of its own; the written policy then keeps the limit in `check`, and none below one in the class does."""
    target = case / "best.toml"
    outcome = explore(kepsilon_command, case, "--max-individual-risk", "0.6", "--write-policy", target)
    assert outcome.code == 0, outcome.err
    words = " ".join(outcome.out.split())
    assert "; whoever matches a whole class one to one is at most " in words.partition(".")[0] + words[:400]
    assert "(limit 60 %)" in words
    assert any("single" in line.split() for line in outcome.out.splitlines())
    assert "The largest single risk is how sure whoever knows zip, year, sex, height of everybody and matches" in words
    target.write_text("max_individual_risk = 0.6\n" + target.read_text(encoding="utf-8"), encoding="utf-8")
    checked = kepsilon_command("check", case / "people.csv", "-p", target)
    assert checked.code == 0, checked.err
    said = " ".join(checked.out.split())
    assert "whoever knows zip, year, sex, height of everybody and matches a whole class one to one, without" in said
    refused = explore(kepsilon_command, case, "--max-individual-risk", "0.01")
    assert refused.code == 3
    assert (
        "max_individual_risk = 0.01 is kept by no cell; the cell where the largest single risk is smallest is"
        in " ".join(refused.err.split())
    )


def test_an_accepted_leak_is_printed_once_with_its_reason(kepsilon_command, case):
    """Whoever chooses among cells should know what all of them publish; on stderr, after the other notes."""
    lines = (case / "people.csv").read_text(encoding="utf-8").splitlines()
    serial = ["nr", *map(str, range(1, len(lines)))]
    text = "\n".join(f"{line},{nr}" for line, nr in zip(lines, serial, strict=True))
    (case / "people.csv").write_text(text + "\n", encoding="utf-8")
    with (case / "policy.toml").open("a", encoding="utf-8") as file:
        file.write('\n[attributes.nr]\nrole = "insensitive"\naccept_leak = "The numbers are public."\n')
    for how in ((), ("--json",)):
        outcome = explore(kepsilon_command, case, *how)
        assert outcome.code == 0, outcome.err
        words = " ".join(outcome.err.split())
        assert words.count('note: column "nr": is published though it may give people away') == 1
        assert words.endswith("The reason that the policy states: The numbers are public.")
        assert 'note: column "nr"' not in outcome.out


def test_the_policy_that_is_written_is_the_chosen_one(kepsilon_command, case):
    """Comments and order kept; releasing with it gives the figures that were shown."""
    text = (case / "policy.toml").read_text(encoding="utf-8")
    (case / "policy.toml").write_text("# mine\n" + text, encoding="utf-8")
    target = case / "best.toml"
    outcome = explore(
        kepsilon_command, case, "--max-risk", "0.4", "--confidence", "0.9", "--write-policy", target, "--json"
    )
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    chosen = document["cells"][document["chosen"]]
    policy = kepsilon.Policy.from_file(target)
    assert (policy.k, policy.epsilon, policy.algorithm) == (chosen["k"], chosen["epsilon"], chosen["algorithm"])
    assert policy.confidence == 0.9
    lines = target.read_text(encoding="utf-8").splitlines()
    assert "chosen by kepsilon explore" in lines[0]
    assert lines[1] == "# mine"
    seeded = ("--unsafe-seed", "1")  # confidence leaves so few records that a draw may leave none, which is refused
    release = kepsilon_command(
        "anonymise", case / "people.csv", "-p", target, "-o", case / "out.csv", "--json", *seeded
    )
    assert release.code == 0, release.err
    assert json.loads(release.out)["linking_risk"]["expected"] == chosen["linking_risk"]


def test_a_written_policy_still_finds_its_hierarchies(kepsilon_command, case):
    """Also from another folder."""
    (case / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    text = (case / "policy.toml").read_text(encoding="utf-8")
    changed = text.replace('hierarchy = { type = "suppress" }', 'hierarchy = { type = "file", path = "sex.csv" }')
    (case / "policy.toml").write_text(changed, encoding="utf-8")
    (case / "sub").mkdir()
    outcome = explore(kepsilon_command, case, "--max-risk", "1", "--write-policy", case / "sub" / "best.toml")
    assert outcome.code == 0, outcome.err
    assert kepsilon.Policy.from_file(case / "sub" / "best.toml").files[0].resolve() == (case / "sex.csv").resolve()


def test_limits_that_nothing_keeps_are_exit_code_three(kepsilon_command, case):
    """The table is shown, the reason too, and no policy is written."""
    outcome = explore(kepsilon_command, case, "--max-risk", "0.0001", "--write-policy", case / "best.toml")
    assert outcome.code == 3
    assert "refused: no cell of the grid keeps the limits: max_risk = 0.0001" in outcome.err
    assert not (case / "best.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--k", "3,x"), "whole numbers separated by commas"),
        (("--k", "1"), "k"),
        (("--k", ","), "no value is given"),
        (("--epsilon", "0"), "epsilon"),
        (("--algorithm", "arx"), "algorithm"),
        (("--max-risk", "5"), "max_risk: should be a share"),
        (("--confidence", "99"), "confidence"),
        (("-o", "grid.pdf"), "by its suffix"),
        (("-o", "no/such/folder/grid.csv"), "folder"),
        (("--max-risk", "1", "--write-policy", "policy.toml"), "never overwritten"),
        (("--write-policy", "new.toml"), "needs a limit"),
        (("--max-risk", "1", "--write-policy", "same.csv", "-o", "same.csv"), "names of their own"),
        (("--algorithm", ","), "algorithm: no value is given"),
        (("--max-error", "inf"), "max_error"),
        (("--max-individual-risk", "1.5"), "max_individual_risk"),
        (("-o", "people.csv", "--overwrite"), "is the data, an input"),
    ],
)
def test_bad_usage_is_exit_code_two(kepsilon_command, case, monkeypatch, arguments, said):
    """One clear message, before the data is read."""
    monkeypatch.chdir(case)
    outcome = explore(kepsilon_command, case, *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_bad_data_is_refused_without_a_value(kepsilon_command, case):
    """As for anonymise."""
    text = (case / "people.csv").read_text(encoding="utf-8").replace("150.0", "CANARY-TALL", 1)
    (case / "people.csv").write_text(text, encoding="utf-8")
    outcome = explore(kepsilon_command, case)
    assert outcome.code == 2
    assert "height" in outcome.err
    assert "CANARY" not in outcome.err + outcome.out


def test_cells_that_show_the_same_figures_are_shown_once(kepsilon_command, case):
    """Averages of 20 cost the same with k = 3 and with k = 10: ten such lines would hide the others."""
    arguments = ("--k", "3,4,6", "--group", "12", "--max-risk", "0.4")
    outcome = kepsilon_command("explore", case / "people.csv", "-p", case / "policy.toml", *arguments)
    assert outcome.code == 0, outcome.err
    figures = [re.sub(r"^\W*\S+ +\d+ ", "", row) for row in rows_of(outcome.out) if "•" not in row]
    assert len(figures) == len(set(figures))
    everything = kepsilon_command("explore", case / "people.csv", "-p", case / "policy.toml", *arguments, "--all")
    every = [re.sub(r"^\W*\S+ +\d+ ", "", row) for row in rows_of(everything.out)]
    assert len(every) > len(set(every)), "otherwise this test would tell nothing"


def test_long_comments_of_the_policy_do_not_make_the_change_too_wide(kepsilon_command, case, monkeypatch):
    """The line is shown without its comment, which stays in the file; a # between quotes is none."""
    monkeypatch.setenv("COLUMNS", "80")
    policy = case / "policy.toml"
    comment = "every published combination of k-quasis is shared by at least k records"
    text = re.sub(r"(?m)^k = (\d+)", rf"k = \1      # {comment}, #1", policy.read_text(encoding="utf-8"))
    policy.write_text(text, encoding="utf-8")
    target = case / "best.toml"
    outcome = explore(kepsilon_command, case, "--k", "6", "--max-risk", "0.4", "--write-policy", target)
    assert outcome.code == 0, outcome.err
    changed = outcome.out.partition("Change in ")[2].partition("\n\n")[0].splitlines()[1:]
    assert "  + k = 6" in changed
    assert max(map(len, changed)) <= 80
    assert f"k = 6      # {comment}, #1" in target.read_text(encoding="utf-8")


def test_without_limits_nothing_is_chosen(kepsilon_command, case):
    """The least distorted cell alone is the riskiest."""
    outcome = explore(kepsilon_command, case)
    assert outcome.code == 0
    assert "→" not in outcome.out
    assert "No limit was stated, so nothing is chosen" in outcome.out


def after_the_program(pasted):
    """The arguments of a command as a shell would take it apart; the program may be `python -m kepsilon` here."""
    words = shlex.split(pasted.replace("\\\n", " "))
    return words[next(i for i, word in enumerate(words) if word.endswith("kepsilon")) + 1 :]


def test_the_answer_comes_first_and_fits_eighty_columns(kepsilon_command, case, monkeypatch):
    """One sentence, what changes in the policy, the next command, and only then the table; that command works as pasted."""
    monkeypatch.chdir(case)
    monkeypatch.setenv("COLUMNS", "80")
    outcome = kepsilon_command("explore", "people.csv", "-p", "policy.toml", "--max-risk", "0.4")
    assert outcome.code == 0, outcome.err
    out = outcome.out
    assert out.startswith("Take ")
    places = [out.index(words) for words in ("Change in policy.toml:", "Next, to write that policy:", "The front, ")]
    assert places == sorted(places)
    assert max(map(len, out.splitlines())) <= 80
    command = out.partition("Next, to write that policy:\n")[2].partition("\n\n")[0]
    written = kepsilon_command(*after_the_program(command))
    assert written.code == 0, written.err
    checking = written.out.partition("Next:\n")[2].partition("\n\n")[0]
    checked = kepsilon_command(*after_the_program(checking))
    assert checked.code == 0, checked.err
