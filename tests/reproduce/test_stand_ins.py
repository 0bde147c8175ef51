# SPDX-License-Identifier: Apache-2.0
"""The stand-ins against the census and survey tables that their figures were fitted to."""

from __future__ import annotations

import csv
import importlib.util
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import kepsilon
from kepsilon.engines.arrow.tables import table_from
from kepsilon.reproduce.data import data_sets, stand_in_figures, voters
from material.machine import ROOT, lacking

pytestmark = pytest.mark.shared_data

FALSE_ALARM = 1e-6
MOST_DEVIATIONS = 6
"""Two in a thousand million by chance, and fewer than a hundred comparisons."""
SEED = 1994
SCRIPT = ROOT / "tools" / "fit_stand_ins.py"
STATES = {"fl": (stand_in_figures.FLORIDA, voters.FLORIDA), "mi": (stand_in_figures.MICHIGAN, voters.MICHIGAN)}


@pytest.fixture(scope="module")
def folder(adult_path):
    """Where all tables are; a folder with Adult alone skips, CI does not."""
    if not (adult_path.parent / "zcta_fl.csv").exists():
        lacking("the census and survey tables are not beside adult.data.csv; set KEPSILON_DATA to their folder")
    return adult_path.parent


@pytest.fixture(scope="module")
def tables(folder):
    """The rows of a table by its name."""

    def rows(name):
        with (folder / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return rows


@pytest.fixture(scope="module")
def fitting():
    specification = importlib.util.spec_from_file_location("fit_stand_ins", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def ages_of(data_set):
    return voters.REGISTER_YEAR - data_set.columns["birth_year"]


def test_the_figures_are_what_a_fresh_fit_gives(folder):
    """So that nobody changes them by hand, or the fit without them."""
    surroundings = {**os.environ, "KEPSILON_DATA": str(folder)}
    run = subprocess.run(
        [sys.executable, SCRIPT, "--check"], env=surroundings, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_changed_figure_is_noticed(fitting, folder):
    """One unit in the last digit is rounding; more is not, nor a figure too few or too many."""
    fresh = fitting.fitted(folder)
    committed = fitting.read_figures(fitting.MODULE)
    assert not list(fitting.differences(committed, fresh))
    women = committed["WOMEN"]
    changed = {
        "value": committed | {"WOMEN": (women[0] + 0.0003, *women[1:])},
        "shape": committed | {"WOMEN": women[1:]},
        "missing": {name: value for name, value in committed.items() if name != "WOMEN"},
        "more": committed | {"MEN": women},
    }
    for kind, figures in changed.items():
        assert len(list(fitting.differences(figures, fresh))) == 1, kind
    assert not list(fitting.differences(committed | {"WOMEN": (women[0] + 0.0001, *women[1:])}, fresh))


def test_age_sex_and_race_are_those_of_the_register(tables):
    """Two samples, the stand-in and the 9,984 voters, by five-year band, sex and race; small cells go together by race."""
    register = Counter()
    for row in tables("fl_voters_age_sex_race.csv"):
        register[int(row["age_min"]), row["sex"], row["race"].capitalize()] += int(row["n"])
    florida = data_sets.florida(seed=SEED)
    starts = sorted({band for band, _, _ in register})

    def band_counts(age):
        band = np.array(starts)[np.searchsorted(starts, age, side="right") - 1].tolist()
        gender, race = florida.columns["gender"].tolist(), florida.columns["race"].tolist()
        return Counter(zip(band, gender, race, strict=True))

    drawn = band_counts(ages_of(florida))
    assert two_samples(register, drawn) > FALSE_ALARM
    assert two_samples(register, band_counts(np.maximum(ages_of(florida) - 2, starts[0]))) < FALSE_ALARM


def two_samples(ours, theirs):
    """The chance of such a difference between two samples of one law."""
    n_ours, n_theirs = sum(ours.values()), sum(theirs.values())
    table = Counter(), Counter()
    for cell in ours.keys() | theirs.keys():
        is_small = (ours[cell] + theirs[cell]) * n_ours / (n_ours + n_theirs) < 10
        for pooled, counts in zip(table, (ours, theirs), strict=True):
            pooled[cell[-1] if is_small else cell] += counts[cell]
    cells = sorted(table[0].keys() | table[1].keys(), key=str)
    return stats.chi2_contingency([[counts[cell] for cell in cells] for counts in table]).pvalue


def test_michigan_registers_as_florida_does(tables):
    """Voters by band and sex against residents times Florida's propensity, whose own error is that of 9,984 voters."""
    residents = Counter()
    for row in tables("age_sex_state.csv"):
        residents[row["state"], row["sex"], int(row["age"])] = int(row["pop_2016"])
    register, last = Counter(), {}
    for row in tables("fl_voters_age_sex_race.csv"):
        band = min(int(row["age_min"]), 85)  # the census's last year of age stands for all that follow
        register[row["sex"], band] += int(row["n"])
        last[band] = min(int(row["age_max"]), 85)
    cells = sorted(register)
    n_register = np.array([register[cell] for cell in cells])
    ratio = [
        sum(residents["MI", sex, age] for age in range(band, last[band] + 1))
        / sum(residents["FL", sex, age] for age in range(band, last[band] + 1))
        for sex, band in cells
    ]
    expected = n_register * ratio / (n_register * ratio).sum()
    michigan = data_sets.michigan(seed=SEED)
    starts = sorted({band for _, band in cells})
    band = np.array(starts)[np.searchsorted(starts, ages_of(michigan), side="right") - 1].tolist()
    drawn = Counter(zip(michigan.columns["gender"].tolist(), band, strict=True))
    found = np.array([drawn[cell] for cell in cells]) / michigan.n_records
    squares = (found - expected) ** 2 / (expected**2 / n_register + expected / michigan.n_records)
    assert stats.chi2.sf(squares.sum(), len(cells) - 1) > FALSE_ALARM
    # Florida's own ages would not do: the test can tell the states apart.
    florida = n_register / n_register.sum()
    unmoved = (florida - found) ** 2 / (expected / michigan.n_records)
    assert stats.chi2.sf(unmoved.sum(), len(cells) - 1) < FALSE_ALARM


@pytest.mark.parametrize("state", STATES)
def test_residents_crowd_into_zip_areas_as_in_the_census(tables, state):
    """The chance that two residents share five, four or three digits, within 12, 20 and 1 %; and who lives in the largest."""
    rows = [row for row in tables(f"zcta_{state}.csv") if int(row["pop2010"]) > 0]
    people = np.array([int(row["pop2010"]) for row in rows], dtype=float)
    people /= people.sum()
    figures, number = STATES[state]
    areas = voters.zip_areas(figures, state=number)
    assert len(areas.codes) == len(set(areas.codes.tolist())) == len(rows)
    for n_digits, tolerance in ((5, 0.12), (4, 0.2), (3, 0.01)):
        counted = shared_beginning([row["zip"][:n_digits] for row in rows], people)
        drawn = shared_beginning([code[:n_digits] for code in areas.codes.tolist()], areas.residents)
        assert drawn == pytest.approx(counted, rel=tolerance)
    for share in (0.1, 0.25, 0.5):
        counted, drawn = (np.sort(s)[-int(share * len(s)) :].sum() for s in (people, areas.residents))
        assert drawn == pytest.approx(counted, abs=0.03)


def shared_beginning(beginnings, residents):
    _, which = np.unique(beginnings, return_inverse=True)
    return (np.bincount(which, residents) ** 2).sum()


def test_race_shares_vary_between_zip_areas_as_in_the_census(tables):
    """Means within half a point; deviations between areas within a fifth or half a point."""
    rows = [row for row in tables("zcta_fl.csv") if int(row["pop2010"]) > 0]
    people = np.array([int(row["pop2010"]) for row in rows], dtype=float)
    counted = np.array([[float(row[f"share_{race}"]) for race in stand_in_figures.CENSUS_RACES] for row in rows])
    areas = voters.zip_areas(stand_in_figures.FLORIDA, state=voters.FLORIDA)
    drawn = voters.race_shares(areas, stand_in_figures.FLORIDA, state=voters.FLORIDA)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    means, deviations = zip(spread(counted, people), spread(drawn, areas.residents), strict=True)
    np.testing.assert_allclose(means[1], means[0], atol=0.005)
    np.testing.assert_allclose(deviations[1], deviations[0], rtol=0.2, atol=0.005)


@pytest.mark.parametrize("state", STATES)
def test_median_ages_vary_between_zip_areas_as_in_the_census(tables, state):
    """Within a tenth: there are towns of pensioners and towns of students."""
    rows = [row for row in tables(f"zcta_{state}.csv") if row["median_age_acs2013"] and int(row["pop2010"])]
    people = np.array([int(row["pop2010"]) for row in rows], dtype=float)
    figures, number = STATES[state]
    areas = voters.zip_areas(figures, state=number)
    _, counted = spread(np.array([[float(row["median_age_acs2013"])] for row in rows]), people)
    _, drawn = spread(areas.years_older[:, None], areas.residents)
    assert drawn == pytest.approx(counted, rel=0.1)


def spread(values, weights):
    mean = np.average(values, axis=0, weights=weights)
    return mean, np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))


@pytest.mark.parametrize("name", ["adult", "florida", "michigan"])
def test_heights_and_weights_have_the_surveys_mean_and_deviation(tables, folder, name):
    """By age band and sex; and what is left after taking both away is normal."""
    data_set = {
        "adult": lambda: data_sets.adult(folder, seed=SEED),
        "florida": lambda: data_sets.florida(seed=SEED),
        "michigan": lambda: data_sets.michigan(seed=SEED),
    }[name]()
    age = data_sets.CENSUS_YEAR - data_set.columns["birth_year"] if name == "adult" else ages_of(data_set)
    gender = data_set.columns["gender"].astype("<U1")
    measure, mean, deviation = (
        ("weight_kg", "ln_mean", "ln_sd") if name == "michigan" else ("height_cm", "mean", "sd_or_se")
    )
    values = data_set.columns[data_set.epsilon_quasi]
    values = np.log(values) if name == "michigan" else values
    standard = np.full(len(values), np.nan)
    for row in tables("anthropometry.csv"):
        low, high = int(row["age_min"]), int(row["age_max"] or 200)
        if (row["measure"], row["kind"]) != (measure, "sd") or (low, high) == (20, 200):
            continue
        chosen = (gender == row["sex"]) & (age >= low) & (age <= high)
        off = (values[chosen] - float(row[mean])) / float(row[deviation])
        n = chosen.sum()
        if n > 100:
            assert abs(off.mean()) * np.sqrt(n) < MOST_DEVIATIONS
            assert abs((off**2).mean() - 1) * np.sqrt(n / 2) < MOST_DEVIATIONS
        standard[chosen] = off
    assert not np.isnan(standard).any()
    assert stats.kstest(standard, "norm").pvalue > FALSE_ALARM


def test_adult_is_the_papers(tables, folder):
    """32,440 records, counted apart, and the paper's row of suppression to two decimals."""
    adult = data_sets.adult(folder, seed=SEED)
    people = [row for row in tables("adult.data.csv") if int(row["age"]) < 80]
    assert adult.n_records == len(people) == 32_440
    names = ("birth_year", "gender", "race", "marital_status")
    counted = Counter((1994 - int(p["age"]), p["sex"], p["race"], p["marital-status"]) for p in people)
    assert Counter(zip(*(adult.columns[name].tolist() for name in names), strict=True)) == counted
    assert "its 32,440 records" in adult.note
    policy = kepsilon.Policy.from_dict({"k": 2, "epsilon": 1, "algorithm": "ola", **adult.policy})
    grid = kepsilon.explore(
        table_from(adult.columns), policy, k=[2, 5, 10, 20, 50, 100], epsilon=[1], algorithm=["ola"]
    )
    suppressed = [f"{100 * cell.prediction.suppressed_by_k:.2f}" for cell in grid.cells]
    assert suppressed == ["1.67", "2.42", "3.71", "1.47", "1.76", "4.80"]
