# SPDX-License-Identifier: Apache-2.0
"""`kepsilon explore --split` as its users meet it: the answer first, a line a split, files, and clear refusals."""

from __future__ import annotations

import csv
import json

import pytest

import kepsilon


def explore(kepsilon_command, case, *arguments):
    return kepsilon_command("explore", case / "people.csv", "-p", case / "policy.toml", "--split", *arguments)


def test_the_answer_comes_first_and_then_the_table(kepsilon_command, case):
    """Whoever reads only the first lines knows whether the policy's own split is a good one, and whose links these are."""
    outcome = explore(kepsilon_command, case)
    assert outcome.code == 0, outcome.err
    words = " ".join(outcome.out.split())
    assert words.startswith(("Better than your policy's own split:", "Your policy's own split is on the front:"))
    assert "by the strongest attacker of each split who needs to know nothing but the quasis." in words
    lines = outcome.out.splitlines()
    head = next(i for i, line in enumerate(lines) if "k-quasis" in line and "distortion" in line)
    assert lines[head + 1].split()[:3] == ["own", "year", "height"]
    assert "k-quasis in every split, besides: zip, sex." in words
    assert "Linking by “quasis” is by whoever knows zip, year, sex and height, and takes the nearest original" in words
    assert "Edit them before you use such a split: what is published must not come from the data." in words
    assert "CANARY" not in outcome.out + outcome.err


def test_the_chosen_split_becomes_a_policy_that_says_what_to_edit(kepsilon_command, case):
    """Comments of the curator stay; what was proposed from the data is marked; the policy can be checked as it is."""
    text = (case / "policy.toml").read_text(encoding="utf-8")
    text = text.replace("[attributes.height]\n", "[attributes.height]\n# mine\n").replace(
        "epsilon = 2\n", "epsilon = 0.2\n"
    )
    (case / "policy.toml").write_text(text, encoding="utf-8")
    outcome = explore(kepsilon_command, case, "--max-risk", "1", "--write-policy", case / "best.toml", "--json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    chosen = document["cells"][document["chosen"]]
    assert chosen["distortion"] == min(cell["distortion"] for cell in document["cells"])
    assert "height" in chosen["split"]["switched"]
    written = (case / "best.toml").read_text(encoding="utf-8")
    assert "# mine" in written
    assert "EDIT the attributes that explore gave another role" in written
    policy = kepsilon.Policy.from_file(case / "best.toml")
    assert sorted(policy.epsilon_quasis) == sorted(chosen["split"]["epsilon_quasis"])
    assert sorted(policy.k_quasis) == sorted(chosen["split"]["k_quasis"])
    for name, settings in chosen["split"]["switched"].items():
        own = policy.attributes[name].model_dump(mode="json", exclude_unset=True, exclude_none=True)
        assert own["role"] == settings["role"]
        assert f"[attributes.{name}]" in written
        assert "# edit me: must not come from the data" in written.split(f"[attributes.{name}]")[1].split("[attr")[0]
    checked = kepsilon.check(case / "people.csv", policy)
    assert checked.distortion == chosen["distortion"]
    assert kepsilon_command("check", case / "people.csv", "-p", case / "best.toml").code == 0


def test_a_split_without_noise_is_written_without_settings_of_noise(kepsilon_command, case):
    """The least risk is that of the class here, with all numbers as k-quasis: ε and confidence leave the policy."""
    text = (
        (case / "policy.toml").read_text(encoding="utf-8").replace("epsilon = 2\n", "epsilon = 16\nconfidence = 0.9\n")
    )
    (case / "policy.toml").write_text(text, encoding="utf-8")
    grid = kepsilon.explore(case / "people.csv", kepsilon.Policy.from_file(case / "policy.toml"), split=True)
    least = min(grid.cells, key=lambda cell: cell.prediction.linking_risk.headline.risk.total)
    assert least.split.epsilon_quasis == ()
    limit = least.prediction.linking_risk.headline.risk.total + 1e-9
    outcome = explore(kepsilon_command, case, "--max-risk", limit, "--write-policy", case / "best.toml")
    assert outcome.code == 0, outcome.err
    policy = kepsilon.Policy.from_file(case / "best.toml")
    assert policy.epsilon is None
    assert policy.confidence is None
    assert "Taken out: epsilon, confidence." in (case / "best.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", [".html", ".csv", ".json"])
def test_splits_are_written_in_every_form(kepsilon_command, case, suffix):
    """A page for the officer, a table for a spreadsheet, JSON for a pipeline: each with every split."""
    target = case / f"splits{suffix}"
    outcome = explore(kepsilon_command, case, "-o", target)
    assert outcome.code == 0, outcome.err
    assert f"splits     {target}" in outcome.out
    text = target.read_text(encoding="utf-8")
    if suffix == ".html":
        assert "<h1>Which attributes should be ε-quasis?</h1>" in text
        assert text.count("<svg") == 3
        assert "CANARY" not in text
        return
    cells = json.loads(text)["cells"] if suffix == ".json" else list(csv.DictReader(text.splitlines()))
    assert len(cells) == 4
    own = cells[0]["split"] if suffix == ".json" else {key: cells[0][f"split.{key}"] for key in ("k_quasis",)}
    assert own["k_quasis"] in (["zip", "sex", "year"], "zip; sex; year")


def test_the_json_has_the_answer(kepsilon_command, case):
    """A pipeline reads the same sentence as a person."""
    document = json.loads(explore(kepsilon_command, case, "--json").out)
    assert document["answer"][0].startswith(("Better than", "Your policy's own split"))
    assert [cell["split"]["switched"].keys() >= set() for cell in document["cells"]]
    assert document["cells"][0]["split"]["switched"] == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--k", "3,5"), "splits are compared at one k, and 2 were given"),
        (("--epsilon", "1,2"), "splits are compared at one epsilon"),
        (("--algorithm", "ola,mondrian"), "splits are compared at one algorithm"),
        (("--group", "5", "--epsilon", "1"), "cannot be given together"),
        (("--write-policy", "new.toml"), "--write-policy needs a limit"),
    ],
)
def test_options_that_do_not_fit_are_refused(kepsilon_command, case, arguments, words):
    """Exit code 2, one clear message, and nothing on stdout."""
    outcome = explore(kepsilon_command, case, *arguments)
    assert outcome.code == 2
    assert words in " ".join(outcome.err.split())
    assert outcome.out == ""


def test_no_split_within_the_limits_is_a_refusal(kepsilon_command, case):
    """Exit code 3, as for any grid."""
    outcome = explore(kepsilon_command, case, "--max-risk", "0.0001")
    assert outcome.code == 3
    assert "max_risk = 0.0001 is kept by no cell" in " ".join(outcome.err.split())


def test_a_policy_without_noise_gets_epsilon_where_the_chosen_split_has_some(kepsilon_command, case):
    """ε is written among the other top-level keys, also where the policy states no max_suppression to write it below."""
    text = """k = 3
algorithm = "local-recoding"
unlisted_columns = "drop"
[attributes.year]
role = "k-quasi"
step = 40
[attributes.height]
role = "k-quasi"
step = 50
"""
    (case / "policy.toml").write_text(text, encoding="utf-8")
    options = ("--epsilon", "50", "--max-risk", "1", "--write-policy", case / "best.toml")
    outcome = explore(kepsilon_command, case, *options)
    assert outcome.code == 0, outcome.err
    policy = kepsilon.Policy.from_file(case / "best.toml")
    assert policy.epsilon == 50
    assert policy.epsilon_quasis
    assert kepsilon_command("check", case / "people.csv", "-p", case / "best.toml").code == 0
