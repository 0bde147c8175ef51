# SPDX-License-Identifier: Apache-2.0
"""What `check` and `anonymise` show of averages: groups, cost, risk with its attacker, and warnings with the user's figures."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from material.people import write_csv

N = 600
BASE = """
k = 5
algorithm = "mondrian"
max_suppression = 0
AVERAGES
[attributes.name]
role = "identifier"
[attributes.town]
role = "k-quasi"
[attributes.income]
role = "epsilon-quasi"
precision = 100
MORE
[attributes.illness]
role = "sensitive"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Towns of 7 to some 200 people; one of them has forty times the income of the others."""
    monkeypatch.setenv("COLUMNS", "400")
    rng = np.random.default_rng(2)
    towns = np.concatenate([np.repeat("small", 7), rng.choice(["a", "b", "c"], N - 7)])
    incomes = np.round(rng.normal(40_000, 4_000, N), -2)
    incomes[100] = 40 * 40_000
    rows = [
        {"name": f"CANARY {i}", "town": towns[i], "income": f"{incomes[i]:.0f}", "illness": f"illness {i % 5}"}
        for i in range(N)
    ]
    write_csv(tmp_path / "people.csv", rows)
    return tmp_path


def run(command, verb, folder, averages, more="", *arguments):
    text = BASE.replace("AVERAGES", averages).replace("MORE", more)
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    output = ("-o", folder / "out.csv", "--report", folder / "out.html") if verb == "anonymise" else ()
    outcome = command(verb, folder / "people.csv", "-p", folder / "policy.toml", *output, *arguments)
    assert outcome.code == 0, outcome.err
    return outcome


@pytest.mark.parametrize("verb", ["check", "anonymise"])
@pytest.mark.parametrize("averages", ["averages = { group = 10 }", "averages = { group = 10, spread = true }"])
def test_averages_are_shown_without_a_word_of_noise(kepsilon_command, folder, verb, averages):
    """Where nothing is drawn with ε, nothing is said of ε, ranges or noise but that there is none."""
    outcome = run(kepsilon_command, verb, folder, averages)
    shown = outcome.out
    groups = re.search(
        r"(?m)^averages +(\d+), with (\d+) to (\d+) records each \(asked for: 10, or the whole class\)$", shown
    )
    assert groups is not None, shown
    assert int(groups[2]) == 7
    words = " ".join(shown.split())
    assert re.search(
        r"income is off by [\d.,]+ .*for the best constant per class; [\d.]+ % of the value, expected", words
    )
    assert "Whoever knows town and income links" in words
    assert "makes the same groups, and guesses within the group" in words
    assert re.search(
        "of everybody and makes the same groups, without the help of kept columns, is at most 1[45].* sure", words
    )
    said = f"{shown}{outcome.err}".replace("Averages carry no noise", "").replace("noise = true in [averages]", "")
    assert "ε" not in said
    assert "noise" not in said
    assert "range" not in said.replace("with declared ranges", "")
    assert "None" not in said


@pytest.mark.parametrize("verb", ["check", "anonymise"])
def test_the_warnings_have_the_users_own_figures(kepsilon_command, folder, verb):
    """Classes that are too small, and a value that stands out, with the attacker."""
    outcome = run(kepsilon_command, verb, folder, "averages = { group = 10 }")
    said = " ".join(f"{outcome.out}{outcome.err}".split())
    assert (
        "note: averages.group: 1 of 4 classes have fewer than 10 records, so that all their records publish one" in said
    )
    assert "the smallest has 7 records, and an attacker who knows all quasis" in said
    assert re.search(
        r"in 1 of \d+ groups one record's income stands out, and the average gives it away within 25%", said
    )
    assert "to an attacker who knows the other records of the group roughly" in said
    if verb == "anonymise":
        page = (folder / "out.html").read_text(encoding="utf-8")
        assert "In 1 group one record&#39;s income stands out" in page


@pytest.mark.parametrize("verb", ["check", "anonymise"])
def test_a_domain_and_noise_take_the_warning_away(kepsilon_command, folder, verb):
    """The two ways that the warning names."""
    for averages, more in (
        ("averages = { group = 10 }", "domain = [0, 100000]"),
        ("averages = { group = 10, noise = true }\nepsilon = 2", "range = [0, 100000]"),
    ):
        outcome = run(kepsilon_command, verb, folder, averages, more, *(["--overwrite"] if verb == "anonymise" else []))
        said = " ".join(f"{outcome.out}{outcome.err}".split())
        assert "stands out" not in said
        assert "1 of 600 values lie outside the declared bounds" in said


def test_groups_that_agree_are_counted(kepsilon_command, folder):
    """Their average is everybody's own value; noise hides it, and a draw around it does too."""
    people = (folder / "people.csv").read_text(encoding="utf-8")
    (folder / "people.csv").write_text(re.sub(r",small,\d+,", ",small,30000,", people), encoding="utf-8")
    said = " ".join(run(kepsilon_command, "check", folder, "averages = { group = 10 }").out.split())
    assert re.search(
        r"in 1 of \d+ groups all records agree on income, so that their average is everybody's own value", said
    )
    assert "an attacker who knows that a person is in such a group knows it" in said
    spread = run(kepsilon_command, "check", folder, "averages = { group = 10, spread = true }").out
    assert "all records agree" not in spread


def test_noise_on_averages_is_shown_with_its_range(kepsilon_command, folder):
    """On the sum of each group, and not as noise of each record."""
    noise = "averages = { group = 10, noise = true }\nepsilon = 2"
    shown = run(kepsilon_command, "anonymise", folder, noise, "range = [0, 2000000]").out
    assert "on the sum of each group, range declared [0, 2000000], ε = 2" in shown
    assert "uniform noise" not in shown


def test_json_has_groups_and_no_epsilon(kepsilon_command, folder):
    """The keys of the record, in `check` and in `anonymise`."""
    for verb in ("check", "anonymise"):
        document = json.loads(run(kepsilon_command, verb, folder, "averages = { group = 10 }", "", "--json").out)
        groups = document["groups"]
        assert set(groups) == {"asked", "count", "smallest", "largest", "short", "agreeing", "extreme", "within"}
        assert (groups["asked"], groups["smallest"], groups["short"]) == (10, 7, 1)
        assert (groups["extreme"], groups["agreeing"]) == ({"income": 1}, {"income": 0})
        assert document.get("epsilon", document.get("guarantee", {}).get("epsilon")) is None
    manifest = json.loads((folder / "out.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["guarantee"]["epsilon"] is None
    assert manifest["guarantee"]["ranges"] == {}
    assert "epsilon" not in manifest["policy"]
    assert "groups" not in manifest, "W must not be published"
    assert "mechanism" not in manifest["policy"]["attributes"]["income"]


def test_a_policy_without_an_epsilon_quasi_says_that_its_epsilon_is_not_used(kepsilon_command, folder):
    """It loads as in version 0.1, and the manifest does not state what promises nothing."""
    text = BASE.replace("AVERAGES", "epsilon = 2\nrecords_are_persons = true").replace(
        '"epsilon-quasi"\nprecision = 100\nMORE', '"identifier"'
    )
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    outcome = kepsilon_command("anonymise", folder / "people.csv", "-p", folder / "policy.toml", "-o", folder / "o.csv")
    assert outcome.code == 0, outcome.err
    assert "note: epsilon: nothing is drawn with it" in outcome.err
    manifest = json.loads((folder / "o.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["guarantee"]["epsilon"] is None
