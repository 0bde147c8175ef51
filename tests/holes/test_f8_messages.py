# SPDX-License-Identifier: Apache-2.0
"""F8: a refusal goes through the classes at most twice, and a hierarchy tells all its mistakes."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.engines.arrow.profile import profile_column
from material.people import POLICY, people, write_csv


def test_f8_a_refusal_by_the_cap_makes_at_most_two_passes(tmp_path, kepsilon_command):
    """Counted by how often expected suppression is worked out for the classes, whatever it is called inside."""
    write_csv(tmp_path / "people.csv", people(400))
    text = POLICY.replace(
        "max_suppression = 0.1", "max_suppression = 0.1\nconfidence = 0.9\nmax_total_suppression = 0.0001"
    )
    (tmp_path / "policy.toml").write_text(text.replace("epsilon = 2", "epsilon = 50"), encoding="utf-8")
    calls = {"n": 0}

    def count(frame, event, argument):
        del argument
        if event == "call" and frame.f_code.co_name in ("expect_batch", "prepare_expectations", "class_ranges"):
            calls[frame.f_code.co_name] = calls.get(frame.f_code.co_name, 0) + 1

    sys.setprofile(count)
    try:
        told = kepsilon_command(
            "anonymise", tmp_path / "people.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.csv"
        )
    finally:
        sys.setprofile(None)
    assert told.code == 3, told.err
    assert calls["class_ranges"] <= 2


GROUPS = """
k = 2
epsilon = 1
algorithm = "ola"
max_suppression = 0
[attributes.city]
role = "k-quasi"
hierarchy = { type = "groups", levels = [
    { North = ["Aa", "Bb"], South = ["Bb", "Cc"], West = ["Aa"] },
    { Land = ["North", "East"] },
] }
"""
MISTAKES = (
    'level 1 gives "Bb" two parents, "North" and "South"',
    'level 1 gives "Aa" two parents, "North" and "West"',
    'level 2 does not place "South" of level 1',
    'level 2 does not place "West" of level 1',
    'level 2 places "East", which is not a label of level 1',
)


def test_f8_a_groups_hierarchy_tells_all_its_mistakes(tmp_path, kepsilon_command):
    """All at once, each under the key that it is about."""
    (tmp_path / "d.csv").write_text("city\nAa\nBb\n", encoding="utf-8")
    (tmp_path / "p.toml").write_text(GROUPS, encoding="utf-8")
    told = kepsilon_command("check", tmp_path / "d.csv", "-p", tmp_path / "p.toml")
    assert told.code == 2
    words = " ".join(told.err.split())
    for mistake in MISTAKES:
        assert mistake in words
    with pytest.raises(ke.PolicyError) as caught:
        ke.Policy.from_file(tmp_path / "p.toml")
    assert len(caught.value.problems) == len(MISTAKES)
    assert {problem.where.rpartition(": ")[2] for problem in caught.value.problems} == {"attributes.city.hierarchy"}


def test_f8_a_hierarchy_file_tells_all_its_mistakes(tmp_path, kepsilon_command):
    """Two values with two parents and a value that is listed twice."""
    rows = ["a;X;*", "b;X;*", "b;X;*", "c;Y;*", "d;Y;+"]
    (tmp_path / "city.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    text = GROUPS[: GROUPS.index("hierarchy")] + 'hierarchy = { type = "file", path = "city.csv" }\n'
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    (tmp_path / "d.csv").write_text("city\na\nb\n", encoding="utf-8")
    told = kepsilon_command("check", tmp_path / "d.csv", "-p", tmp_path / "p.toml")
    assert told.code == 2
    words = " ".join(told.err.split())
    assert 'rows 2 and 3 of city.csv both list "b"' in words
    assert 'level 2 gives "Y" two parents, "*" and "+"' in words


def test_f8_thousands_of_mistakes_are_not_all_listed(tmp_path):
    """The first ones are, and how many there are more."""
    rows = [f"v{i};g{i % 2};*" for i in range(300)] + [f"v{i};g{i % 2};*" for i in range(300)]
    (tmp_path / "city.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    text = GROUPS[: GROUPS.index("hierarchy")] + 'hierarchy = { type = "file", path = "city.csv" }\n'
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ke.PolicyError) as caught:
        ke.Policy.from_file(tmp_path / "p.toml")
    assert len(caught.value.problems) == 21
    assert "280 mistakes more" in caught.value.problems[-1].what


def test_f8_values_of_records_stay_out_of_a_refusal(tmp_path, kepsilon_command):
    """The hint of the cap is worded from figures alone."""
    rows = people(60)
    for row, height in zip(rows, np.linspace(150.1, 199.9, 60), strict=True):
        row["height"] = f"{height:.1f}"
    write_csv(tmp_path / "people.csv", rows)
    text = POLICY.replace(
        "max_suppression = 0.1", "max_suppression = 0.1\nconfidence = 0.9\nmax_total_suppression = 0.0001"
    )
    (tmp_path / "policy.toml").write_text(text.replace("epsilon = 2", "epsilon = 50"), encoding="utf-8")
    told = kepsilon_command("check", tmp_path / "people.csv", "-p", tmp_path / "policy.toml")
    assert told.code == 3
    assert not any(row["height"] in told.err for row in rows)


def test_f8_no_part_of_a_message_is_broken_by_the_name_of_a_column():
    """A line break in a name would make the rest look like another message; only advice has lines of its own."""
    problem = ke.Problem(
        where="a\nkepsilon: b", what="column c\r\nd\x1b[1m is wrong.", fix="Rename e\x1b.\nOr drop it."
    )
    assert str(problem).splitlines() == [
        "a\\nkepsilon: b: column c\\r\\nd\\x1b[1m is wrong.",
        "  Rename e\\x1b.",
        "  Or drop it.",
    ]
    assert str(ke.Problem(where="", what="x.")) == "x."


def test_f8_unlisted_values_of_a_column_whose_name_has_a_line_break():
    """The advice names the column too."""
    table = pa.table({"a\nrefused: b": ["1", "x"] * 20})
    hierarchy = {"type": "intervals", "widths": [5]}
    attributes = {"a\nrefused: b": {"role": "k-quasi", "hierarchy": hierarchy}}
    with pytest.raises(ke.AnonymisationError) as refused:
        ke.check(
            table, ke.Policy.from_dict({"k": 2, "algorithm": "ola", "max_suppression": 0, "attributes": attributes})
        )
    assert "--show-values a\\nrefused: b" in str(refused.value)
    assert not any(line.strip().startswith("refused: b") for line in str(refused.value).splitlines())


def test_f8_nan_names_nobody_when_a_policy_is_proposed():
    """A number of a patient that is missing as NaN does not repeat."""
    numbers = pa.chunked_array([pa.array([1.0, 2.0, float("nan"), float("nan"), 3.0])])
    found = profile_column("number", numbers).repetition
    assert (found.n_distinct, found.n_records, found.repeats) == (3, 3, False)
    assert profile_column("number", numbers.dictionary_encode()).repetition == found
