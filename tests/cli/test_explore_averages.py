# SPDX-License-Identifier: Apache-2.0
"""`kepsilon explore --group`: averages beside noise on the screen and in files, and the policy that is written for them."""

from __future__ import annotations

import csv
import json
import re
import tomllib

import pytest

import kepsilon as ke
from material.people import POLICY, people, write_csv

WITH_COMMENTS = POLICY.replace("k = 3", "# how many\nk = 3 # three").replace("epsilon = 2", "epsilon = 2 # noise")
DECLARED = POLICY.replace('range = "class"', "range = [100, 250]")
WITHOUT_EPSILON = POLICY.replace("epsilon = 2\n", "").replace('range = "class"\n', "")
POLICIES = {
    "comments": WITH_COMMENTS,
    "a table of averages": WITHOUT_EPSILON
    + "\n# averages of mine\n[averages]\ngroup = 4 # four\n[attributes.more]\nrole = 'insensitive'\n",
    "averages in one line": WITHOUT_EPSILON.replace("k = 3", "averages = { group = 4, spread = true }\nk = 3"),
    "a mechanism": POLICY.replace('range = "class"', 'range = "class"\nmechanism = "laplace"'),
    "confidence": POLICY.replace("k = 3", 'k = 3\nconfidence = 0.9\nconfidence_rule = "strict"'),
    "noise on averages": DECLARED.replace("k = 3", "averages = { group = 4, noise = true }\nk = 3"),
    "persons": POLICY.replace("k = 3", 'k = 3\nperson = "name"\nepsilon_per = "record"'),
    "quoted keys": POLICY.replace("max_suppression = 0.1", '"max_suppression" = 0.1'),
}


@pytest.fixture
def table(tmp_path):
    """A folder with people.csv; a policy is written by each test."""
    rows = [{**own, "more": str(i % 7)} for i, own in enumerate(people(400))]
    write_csv(tmp_path / "people.csv", rows)
    return tmp_path


def write(folder, text):
    more = "" if "[attributes.more]" in text else "\n[attributes.more]\nrole = 'insensitive'\n"
    (folder / "policy.toml").write_text(text + more, encoding="utf-8")


def explore(command, folder, *arguments):
    return command("explore", folder / "people.csv", "-p", folder / "policy.toml", *arguments)


def test_averages_stand_beside_noise_in_one_table(kepsilon_command, table, monkeypatch):
    """Every row says which of the two it is, and the first sentence which is chosen."""
    monkeypatch.setenv("COLUMNS", "400")
    write(table, POLICY)
    outcome = explore(
        kepsilon_command,
        table,
        "--k",
        "3,5",
        "--epsilon",
        "1,2",
        "--group",
        "4,8",
        "--algorithm",
        "ola",
        "--max-risk",
        "0.3",
        "--all",
    )
    assert outcome.code == 0, outcome.err
    found = re.findall(r"ola +(\d) +(ε \d|mean \d)", outcome.out)
    expected = [
        ("3", "ε 1"),
        ("3", "ε 2"),
        ("3", "mean 4"),
        ("3", "mean 8"),
        ("5", "ε 1"),
        ("5", "ε 2"),
        ("5", "mean 8"),
    ]
    assert found == expected, "a group of 4 does not go with k = 5"
    assert re.match(r"Take ola, k = \d, averages of \d: ", outcome.out)
    assert "None" not in outcome.out


@pytest.mark.parametrize("kind", ["csv", "json", "html"])
def test_files_have_groups_beside_epsilon(kepsilon_command, table, kind):
    """One line per cell, with either an ε or a size of groups."""
    write(table, POLICY)
    arguments = ("--k", "3,5", "--epsilon", "1", "--group", "4,8", "--algorithm", "mondrian,ola", "--max-risk", "0.5")
    outcome = explore(kepsilon_command, table, *arguments, "-o", table / f"grid.{kind}")
    assert outcome.code == 0, outcome.err
    text = (table / f"grid.{kind}").read_text(encoding="utf-8")
    if kind == "csv":
        cells = [(cell["epsilon"], cell["group"]) for cell in csv.DictReader(text.splitlines())]
        assert set(cells) == {("1", ""), ("", "4"), ("", "8")}
    elif kind == "json":
        document = json.loads(text)
        assert (document["epsilon"], document["group"]) == ([1], [4, 8])
        assert {(cell["epsilon"], cell["group"]) for cell in document["cells"]} == {(1, None), (None, 4), (None, 8)}
    else:
        assert "averages of" in text
        assert "Noise or averages: height" in text


@pytest.mark.parametrize("name", POLICIES)
def test_the_written_policy_predicts_what_the_chosen_cell_showed(kepsilon_command, table, name):
    """It loads, has the chosen averages, keeps comments, and `check` gives the figures of the cell."""
    write(table, POLICIES[name])
    target = table / "best.toml"
    arguments = ("--k", "3,5", "--group", "5,10", "--algorithm", "ola", "--max-risk", "0.3", "--write-policy", target)
    outcome = explore(kepsilon_command, table, *arguments, "--json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    chosen = document["cells"][document["chosen"]]
    assert chosen["group"] is not None, "averages should win here"
    policy, text = ke.Policy.from_file(target), target.read_text(encoding="utf-8")
    before = ke.Policy.from_file(table / "policy.toml")
    assert (policy.k, policy.averages.group, policy.epsilon) == (chosen["k"], chosen["group"], chosen["epsilon"])
    assert (policy.confidence, policy.notes) == (None, ())
    if before.averages is not None:
        assert (policy.averages.noise, policy.averages.spread) == (before.averages.noise, before.averages.spread)
    found = ke.check(table / "people.csv", policy)
    assert found.linking_risk.headline.risk.total == chosen["headline"]["share"]
    assert found.error["height"].expected_relative == chosen["error"]["height"]["expected_relative"]
    assert found.distortion == chosen["distortion"]
    assert found.suppression.total == chosen["suppression"]
    comments = re.findall(r"#.*", POLICIES[name].replace("# noise", ""))
    assert all(comment in text for comment in comments)
    assert "chosen by kepsilon explore" in text.splitlines()[0]
    assert set(tomllib.loads(text)["attributes"]) == set(before.attributes)


def test_noise_that_was_chosen_takes_averages_out(kepsilon_command, table):
    """A policy with averages may end with noise, if that is within the limits and averages are not."""
    write(table, WITH_COMMENTS + "\n[averages]\ngroup = 4\n")
    target = table / "best.toml"
    arguments = ("--k", "3", "--epsilon", "50", "--algorithm", "ola", "--max-error", "0.002", "--write-policy", target)
    outcome = explore(kepsilon_command, table, *arguments)
    assert outcome.code == 0, outcome.err
    policy = ke.Policy.from_file(target)
    assert (policy.averages, policy.epsilon) == (None, 50)
    assert "Taken out: averages." in target.read_text(encoding="utf-8").splitlines()[0]


def test_a_policy_with_averages_is_explored_without_epsilon(kepsilon_command, table):
    """Its own averages alone: nothing can be drawn without ranges, and nothing is said about ε."""
    write(table, WITHOUT_EPSILON.replace("k = 3", "averages = { group = 5 }\nk = 3"))
    outcome = explore(kepsilon_command, table, "--max-risk", "0.5", "-o", table / "grid.html")
    assert outcome.code == 0, outcome.err
    assert "ε" not in outcome.out
    assert "averages of" in outcome.out
    page = (table / "grid.html").read_text(encoding="utf-8")
    assert "averages of 5" in page
    assert "ε" not in re.sub(r"(?s)<style>.*?</style>", "", page)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--k", "10,20", "--group", "5"), "averages.group: should be at least k = 10"),
        (("--k", "2", "--group", "5"), "write k = 3 or more"),
        (("--group", "2"), "averages.group: should be greater than or equal to 3"),
        (("--group", "ten"), "should be whole numbers separated by commas"),
        (("--group", ","), "no value is given to explore"),
    ],
)
def test_groups_that_cannot_be_are_refused_before_the_data_is_read(kepsilon_command, table, arguments, said):
    """With what to write instead."""
    write(table, POLICY)
    (table / "people.csv").unlink()
    (table / "people.csv").write_text("not,a,table\n", encoding="utf-8")
    outcome = explore(kepsilon_command, table, *arguments)
    assert outcome.code == 2
    assert said in outcome.err


def test_without_an_epsilon_quasi_there_is_nothing_to_average(kepsilon_command, table):
    """And there is one cell for each k, because no figure depends on ε."""
    write(table, WITHOUT_EPSILON.replace('role = "epsilon-quasi"\nprecision = 0.1', 'role = "identifier"'))
    outcome = explore(kepsilon_command, table, "--group", "5")
    assert outcome.code == 2
    assert "there is no epsilon-quasi to average" in outcome.err
    outcome = explore(kepsilon_command, table, "--k", "3,5", "--algorithm", "ola", "--json", "-o", table / "grid.html")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert (document["epsilon"], document["group"], len(document["cells"])) == ([], [], 2)
    assert "no attribute gets noise" in (table / "grid.html").read_text(encoding="utf-8")
