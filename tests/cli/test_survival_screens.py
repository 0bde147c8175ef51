# SPDX-License-Identifier: Apache-2.0
"""What the screens of `check` and `anonymise` say about statistics that survive."""

from __future__ import annotations

import json
import re

from material.people import POLICY, people, write_csv


def case(folder, epsilon):
    write_csv(folder / "people.csv", people())
    (folder / "policy.toml").write_text(POLICY.replace("epsilon = 2", f"epsilon = {epsilon}"), encoding="utf-8")
    return folder / "people.csv", "-p", folder / "policy.toml"


def test_check_prints_the_error_in_units_beside_that_of_a_constant(kepsilon_command, tmp_path):
    """And says where noise leaves no more than the class tells."""
    outcome = kepsilon_command("check", *case(tmp_path, 0.5))
    assert outcome.code == 0, outcome.err
    words = " ".join(outcome.out.split())
    assert re.search(r"height is off by [\d.]+ \(in its own units\); [\d.]+ for the best constant per class", words)
    assert re.search(
        r"height epsilon-quasi useless off by [\d.]+ on average; a constant per class would be off by", words
    )
    found = json.loads(kepsilon_command("check", *case(tmp_path, 0.5), "--json").out)["survives"]["height"]
    assert set(found) == {"error", "error_of_best_constant"}
    assert found["error"]["usable"] is False
    assert found["error"]["expected"] > found["error_of_best_constant"]["absolute"]


def test_large_epsilon_is_not_called_useless(kepsilon_command, tmp_path):
    """The verdict is about noise that is worthless, not about noise."""
    outcome = kepsilon_command("check", *case(tmp_path, 64))
    assert outcome.code == 0, outcome.err
    assert not re.search(r"epsilon-quasi +useless", outcome.out)


def test_anonymise_says_what_may_be_used(kepsilon_command, tmp_path):
    """In a paragraph of its own; the figures are in the record, and none of them in the manifest."""
    outcome = kepsilon_command("anonymise", *case(tmp_path, 0.5), "-o", tmp_path / "out.csv")
    assert outcome.code == 0, outcome.err
    assert "\nWhat analysts may use\nAn analyst may use" in outcome.out
    assert "Not: " in outcome.out
    assert "survives" in json.loads((tmp_path / "out.csv.curator.json").read_text(encoding="utf-8"))
    assert "survives" not in (tmp_path / "out.csv.manifest.json").read_text(encoding="utf-8")
