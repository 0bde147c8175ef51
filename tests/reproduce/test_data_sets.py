# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the voter lists: their size, attributes and policies, and that they are the same everywhere."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import stats

import kepsilon
from kepsilon.engines.arrow.tables import table_from
from kepsilon.reproduce.data import data_sets, stand_in_figures, voters
from material.machine import ROOT

FALSE_ALARM = 1e-6
FIXED_SEED = 1994
"""Not the seed of the tests, which a nightly run changes: checksums are of one drawing."""
CHECKSUMS = {
    ("florida", "name"): "569bf50c11cbfbd9",
    ("florida", "surname"): "bf15a1b6143bf82d",
    ("florida", "address"): "89b26baee10bc46c",
    ("florida", "email"): "79074ee29e704447",
    ("florida", "phone"): "083f17f1c61c8676",
    ("florida", "zip"): "7338c62387107dfa",
    ("florida", "gender"): "b3ec4a7531990742",
    ("florida", "birth_year"): "1c69998f02a5477e",
    ("florida", "race"): "ace37b7d9a6b7a95",
    ("florida", "height"): "3dad5f1219a5340e",
    ("michigan", "name"): "10d1cd5b89a171d1",
    ("michigan", "surname"): "101009e22ff3c3bf",
    ("michigan", "address"): "d31837a8f66d8d46",
    ("michigan", "zip"): "d4c73d8dbf8423d1",
    ("michigan", "gender"): "ebc361df4ed3c069",
    ("michigan", "birth_year"): "4669d04a4d77bbc5",
    ("michigan", "weight"): "9cddfcc3a429ad40",
}
"""Of the drawn columns; they change only when the figures or the way of drawing do, and then every result does."""
MAKERS = {"florida": data_sets.florida, "michigan": data_sets.michigan}
IDENTIFIERS = {"florida": ("name", "surname", "address", "email", "phone"), "michigan": ("name", "surname", "address")}
LEVELS = {"zip": 6, "gender": 2, "birth_year": 5, "race": 2}
"""The paper's table of hierarchies."""


@pytest.fixture(scope="module", params=MAKERS)
def stand_in(request):
    return MAKERS[request.param](seed=FIXED_SEED)


def checked_policy(data_set, **parameters):
    return kepsilon.Policy.from_dict({"k": 5, "epsilon": 1, "algorithm": "ola", **data_set.policy, **parameters})


def test_the_columns_are_the_same_on_every_machine(stand_in):
    """A figure of the paper, done again, must not depend on who does it."""
    found = {
        (stand_in.name, name): hashlib.sha256("\n".join(map(str, column.tolist())).encode()).hexdigest()[:16]
        for name, column in stand_in.columns.items()
    }
    assert found == {key: checksum for key, checksum in CHECKSUMS.items() if key[0] == stand_in.name}


def test_another_seed_draws_other_voters_of_the_same_state(stand_in):
    """ZIP areas stay; who lives there does not."""
    other = MAKERS[stand_in.name](seed=FIXED_SEED + 1)
    for name, column in stand_in.columns.items():
        assert not np.array_equal(column, other.columns[name])
    sizes = {}
    for i, data_set in enumerate((stand_in, other)):
        codes, counts = np.unique(data_set.columns["zip"], return_counts=True)
        sizes[i] = {code for code, count in zip(codes.tolist(), counts.tolist(), strict=True) if count > 100}
    assert len(sizes[0] & sizes[1]) > 0.9 * len(sizes[0])


def test_sizes_attributes_and_types_are_the_papers(stand_in):
    """Paper, table of data sets."""
    expected = {
        "florida": (134_791, "zip gender birth_year race height"),
        "michigan": (72_825, "zip gender birth_year weight"),
    }
    n, quasis = expected[stand_in.name]
    assert stand_in.n_records == n
    assert tuple(stand_in.columns) == (*IDENTIFIERS[stand_in.name], *quasis.split())
    assert stand_in.epsilon_quasi == quasis.split()[-1]
    kinds = {name: column.dtype.kind for name, column in stand_in.columns.items()}
    assert {name for name, kind in kinds.items() if kind == "i"} == {"birth_year"}
    assert {name for name, kind in kinds.items() if kind == "f"} == {stand_in.epsilon_quasi}
    assert all(len(column) == n and not column.flags.writeable for column in stand_in.columns.values())


def test_values_are_such_as_a_register_holds(stand_in):
    """ZIP codes of the state, voters of 19 to 99, and measures with one decimal."""
    low, high = {"florida": (32000, 34999), "michigan": (48000, 49999)}[stand_in.name]
    zips = stand_in.columns["zip"]
    assert set(map(len, zips.tolist())) == {5}
    assert low <= zips.astype(int).min() <= zips.astype(int).max() <= high
    assert set(stand_in.columns["gender"].tolist()) == {"F", "M"}
    years = stand_in.columns["birth_year"]
    assert 2016 - 99 <= years.min() <= years.max() <= 2016 - 19
    values = stand_in.columns[stand_in.epsilon_quasi]
    assert values.tolist() == [float(f"{value:.1f}") for value in values.tolist()]
    sensible = {"height": (120, 220), "weight": (20, 300)}[stand_in.epsilon_quasi]
    assert sensible[0] < values.min() < values.max() < sensible[1]


def test_everything_that_shows_a_stand_in_can_say_so(stand_in):
    """Nobody may take it for the paper's data."""
    assert stand_in.is_stand_in
    assert "stand-in" in stand_in.title
    assert "stand-in" in stand_in.note
    assert "nobody in it exists" in stand_in.note


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_policies_are_accepted_and_cover_every_value(stand_in, algorithm):
    """With the paper's levels; and the measure as a k-quasi has eight, the last of them one label."""
    attributes = checked_policy(stand_in, algorithm=algorithm).attributes
    assert {name for name, role in attributes.items() if role.role == "identifier"} == set(IDENTIFIERS[stand_in.name])
    with_extra = {
        **stand_in.policy["attributes"],
        stand_in.epsilon_quasi: {"role": "k-quasi", "hierarchy": stand_in.extra},
    }
    attributes = checked_policy(stand_in, attributes=with_extra).attributes
    for name, n_levels in (LEVELS | {stand_in.epsilon_quasi: 8}).items():
        if name in attributes:
            levels = attributes[name].hierarchy.place(np.unique(stand_in.columns[name]).astype(str).tolist())
            assert levels.not_covered == ()
            assert 1 + len(levels.labels) == n_levels
            assert len(set(levels.labels[-1])) == 1


def test_no_identifier_survives(stand_in, tmp_path):
    """Each is searched for among the cells of the release, and what all of a kind share in its text."""
    release = kepsilon.anonymise(table_from(stand_in.columns), checked_policy(stand_in, k=100), unsafe_seed=FIXED_SEED)
    release.write(tmp_path / "release.csv")
    with (tmp_path / "release.csv").open(newline="", encoding="utf-8") as file:
        header, *records = csv.reader(file)
    assert set(header) == set(stand_in.columns) - set(IDENTIFIERS[stand_in.name])
    released = {cell for record in records for cell in record}
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-8")
        for name in IDENTIFIERS[stand_in.name]:
            assert not released & set(stand_in.columns[name].tolist())
            assert not any(canary in text for canary in stand_in.columns[name][:100].tolist())
        assert "@example" not in text
        assert " 555-01" not in text


def test_identifiers_cannot_reach_anybody():
    """Mail to example.org goes nowhere, and 555-0100 to 555-0199 are set aside for fiction."""
    columns = data_sets.florida(seed=FIXED_SEED).columns
    assert all(address.endswith("@example.org") for address in columns["email"].tolist())
    assert all(number[3:10] == " 555-01" and len(number) == 12 for number in columns["phone"].tolist())
    assert len(np.unique(columns["email"])) > 0.99 * len(columns["email"])


def test_zip_areas_are_as_populous_as_they_should_be():
    """Michigan's draws against the areas' shares, which tilting by age must leave alone."""
    drawn = voters.michigan_voters(data_sets.N_MICHIGAN, seed=FIXED_SEED).zip_code
    areas = voters.zip_areas(stand_in_figures.MICHIGAN, state=voters.MICHIGAN)
    assert_drawn_as(drawn, areas.codes, areas.residents)


def test_voters_live_where_the_census_finds_their_race():
    """Florida's draws of one race against residents times share, and not against residents alone."""
    areas = voters.zip_areas(stand_in_figures.FLORIDA, state=voters.FLORIDA)
    shares = voters.race_shares(areas, stand_in_figures.FLORIDA, state=voters.FLORIDA)
    drawn, race = voters.florida_voters(data_sets.N_FLORIDA, seed=FIXED_SEED)
    by_age = voters.register_rates()[1]
    ageing = voters.relative_ages(
        areas, voters.register_rates().sum(axis=0), variance=stand_in_figures.AGE_VARIANCE["FL"]
    )
    living = areas.residents * shares[:, 1] * ageing
    expected = (by_age[:, None] * living / living.sum(axis=1, keepdims=True)).sum(axis=0)
    found = drawn.zip_code[race == "Black"]
    assert_drawn_as(found, areas.codes, expected)
    with pytest.raises(AssertionError):
        assert_drawn_as(found, areas.codes, areas.residents)


def test_old_areas_have_old_voters():
    """Mean age of an area's voters rises with its median age, by less than a year for a year: children do not vote."""
    drawn = voters.michigan_voters(data_sets.N_MICHIGAN, seed=FIXED_SEED)
    areas = voters.zip_areas(stand_in_figures.MICHIGAN, state=voters.MICHIGAN)
    area = np.searchsorted(areas.codes, drawn.zip_code)
    slope = np.polyfit(areas.years_older[area], drawn.age, 1)[0]
    assert 0.4 < slope < 1


def test_a_changed_document_changes_no_other():
    """Experiments vary policies; the next data set must not notice."""
    once = data_sets.michigan(seed=1)
    once.policy["attributes"]["zip"]["hierarchy"]["length"] = 3
    once.extra["widths"].append(64)
    again = data_sets.michigan(seed=1)
    assert again.policy["attributes"]["zip"]["hierarchy"]["length"] == 5
    assert again.extra["widths"] == [1, 2, 4, 8, 16, 32]


def test_the_fit_says_when_it_has_nothing_to_read(tmp_path):
    """And does not touch the figures."""
    script = ROOT / "tools" / "fit_stand_ins.py"
    surroundings = {**os.environ, "KEPSILON_DATA": str(tmp_path)}
    run = subprocess.run([sys.executable, script], env=surroundings, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "set KEPSILON_DATA to their folder" in run.stdout


def test_they_are_made_in_a_moment(stand_in):
    """Under a second for Florida on any machine of today; three times that here, so that a busy one does not fail."""
    start = time.perf_counter()
    MAKERS[stand_in.name](seed=1)
    assert time.perf_counter() - start < {"florida": 3, "michigan": 1.5}[stand_in.name]


def test_columns_of_different_lengths_are_no_data_set(stand_in):
    """A slip of ours, noticed where it is made."""
    columns = {"zip": np.array(["32004"]), "height": np.array([170.1, 180.2])}
    with pytest.raises(ValueError, match="one value per record"):
        data_sets.DataSet(
            name="x", title="x", is_stand_in=True, columns=columns, policy=stand_in.policy, extra={}, note="x"
        )


def assert_drawn_as(drawn, codes, shares):
    """Chi-square over ZIP areas, those with fewer than ten voters expected taken together."""
    assert codes.tolist() == sorted(codes.tolist())
    counts = np.bincount(np.searchsorted(codes, drawn), minlength=len(codes))
    expected = len(drawn) * shares / shares.sum()
    few = expected < 10
    pooled = [np.append(values[~few], values[few].sum()) for values in (counts, expected)]
    assert stats.chisquare(*pooled).pvalue > FALSE_ALARM
