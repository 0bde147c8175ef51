# SPDX-License-Identifier: Apache-2.0
"""From a file to a release on five kinds of tables: the unedited proposal of `init`, with k and the limit filled in.

Each table has traps, which `tests/material/five_tables.py` lists; the proposal has to say each of them. `other_names.py` has
the five kinds once more, as other people name and encode them.
"""

from __future__ import annotations

import re
import tomllib

import pytest
from pyarrow import csv

import kepsilon
from material.five_tables import FIVE_TABLES
from material.other_names import OTHER_TABLES

MAX_RISK = 0.05
TABLES = {**FIVE_TABLES, **OTHER_TABLES}


@pytest.fixture(scope="module", params=TABLES)
def case(request, tmp_path_factory):
    """A table, its file, and what is proposed for it."""
    made = TABLES[request.param]()
    path = tmp_path_factory.mktemp(request.param) / "data.csv"
    csv.write_csv(made.table, path)
    return made, path, kepsilon.propose_with_reasons(path)


def words(text: str) -> str:
    """Text without the signs and line ends of comments."""
    return " ".join(text.replace("\n# ", " ").replace("# ", "").split())


def section(text: str, name: str) -> str:
    """Comments and keys of one column, whether it is published or not."""
    return words(next(part for part in text.split("\n\n") if f"[attributes.{name}]" in part))


def published(proposed) -> dict[str, dict[str, object]]:
    """Columns that a release would have, with their settings."""
    attributes = tomllib.loads(proposed.text)["attributes"]
    return {name: own for name, own in attributes.items() if own["role"] != "identifier"}


def filled_in(text: str) -> str:
    """The proposal with nothing but the # taken away before k and the limit."""
    return re.sub(r"^# (?=(k|max_risk|averages) = )", "", text, flags=re.MULTILINE)


def test_what_must_not_be_published_is_not_and_the_reason_is_said(case):
    """Names, numbers of persons and records, free text, sampling weights."""
    made, _, proposed = case
    by_name = {own.name: own for own in proposed.columns}
    for name, reason in made.dropped.items():
        assert name not in published(proposed), name
        assert re.search(reason, section(proposed.text, name)), name
        assert re.search(reason, by_name[name].reason), name


def test_codes_of_kinds_are_neither_cut_into_intervals_nor_given_noise(case):
    """The average of two occupations is none; also where such a column is not published, its section shows the right role."""
    made, _, proposed = case
    for name in made.nominal:
        assert 'role = "k-quasi"' in section(proposed.text, name), name
        assert 'type = "suppress"' in section(proposed.text, name), name


def test_roles_that_a_column_must_not_get(case):
    """A patient number as a quasi, an insurance code or a debt as an identifier."""
    made, _, proposed = case
    for name, wrong in (made.never or {}).items():
        assert {own.name: own.role for own in proposed.columns}[name] not in wrong, name


def test_numbers_that_mean_missing_are_named_and_read_as_missing(case):
    """77 years of schooling would otherwise be averaged."""
    made, _, proposed = case
    told = " ".join(proposed.warnings)
    for name, codes in (made.missing or {}).items():
        assert re.search(rf"\b{name} \({re.escape(', '.join(codes))}: ", told), name
        own = published(proposed).get(name)
        if own is not None and own["role"] != "sensitive":
            assert own["missing_values"] == [code.strip('"') for code in codes], name


def test_columns_that_follow_from_others_are_not_published_beside_them(case):
    """Pounds beside kilograms, BMI beside weight and height, a total beside quantity and price."""
    made, _, proposed = case
    for columns, said in (made.leaks or {}).items():
        hidden = [own for own in proposed.columns if own.name in columns.split("|") and own.role == "not published"]
        told = [own for own in hidden if re.search("follows from|gives people away", section(proposed.text, own.name))]
        assert told, columns
        assert any(re.search(said, section(proposed.text, own.name)) for own in told), columns


def test_the_column_that_says_whom_a_record_is_about_is_proposed(case):
    """So that k counts patients, households or customers."""
    made, _, proposed = case
    assert tomllib.loads(proposed.text).get("person") == made.person


def test_no_name_is_in_the_proposal(case):
    """Names, addresses and notes of the tables begin with words that occur nowhere else."""
    _, _, proposed = case
    assert not re.search("canary|surname\\d|example\\.org", proposed.text, flags=re.IGNORECASE)
    assert not re.search("canary|surname\\d|example\\.org", str(proposed.to_json()), flags=re.IGNORECASE)


def test_the_unedited_proposal_ends_in_a_useful_release_below_the_limit(case, kepsilon_command, refuses_useless):
    """Through check and anonymise as a curator runs them, with what the proposal itself suggests for k."""
    _, path, proposed = case
    policy = path.with_name("policy.toml")
    policy.write_text(filled_in(proposed.text), encoding="utf-8")
    assert tomllib.loads(policy.read_text(encoding="utf-8"))["max_risk"] == MAX_RISK
    checked = kepsilon_command("check", path, "-p", policy)
    assert checked.code == 0, checked.err
    release = kepsilon.anonymise(path, kepsilon.Policy.from_file(policy))
    verdicts = {name: own.verdict for name, own in release.record.verdicts.items()}
    assert "useless" not in verdicts.values()
    assert len(verdicts) >= 6, "something is left to analyse"
    assert release.record.linking_risk.predicted.headline.risk.at_most <= MAX_RISK
    assert set(release.frame.column_names) == set(published(proposed))


def test_a_k_that_is_too_small_for_the_limit_is_refused_with_what_would_work(case, kepsilon_command, refuses_useless):
    """A curator who fills in k = 5 is not left alone: exit 3, the attacker, the limit, and a larger k."""
    _, path, proposed = case
    policy = path.with_name("small.toml")
    policy.write_text(re.sub(r"^k = \d+", "k = 5", filled_in(proposed.text), flags=re.MULTILINE), encoding="utf-8")
    refused = kepsilon_command("check", path, "-p", policy)
    assert refused.code == 3
    said = " ".join(refused.err.split())
    assert "above max_risk = 0.05" in said
    assert "What would work, or may:" in said
    assert "a larger k" in said
