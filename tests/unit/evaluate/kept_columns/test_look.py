# SPDX-License-Identifier: Apache-2.0
"""Kept columns as a whole: planted leaks are found, clean columns are left in peace, hard tables do no harm."""

from __future__ import annotations

import csv
import datetime as dt
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns.look import fit_attackers, look_at_kept_columns
from kepsilon.reproduce.data import data_sets
from kepsilon.table.whole_records import RecordsInClasses, WholeColumn
from material.hospital import hospital
from material.whole_columns import interval_classes, median_classes, records_in_classes, taken

N = 6_000


def partitions(k_quasis):
    """Classes as Mondrian and OLA make them, small and large."""
    age, sex, zip_code = k_quasis["age"], k_quasis["sex"], k_quasis["zip"]
    area = np.array([own[:3] for own in zip_code])
    return {
        "Mondrian, k = 10": median_classes([age, sex, zip_code], k=10),
        "Mondrian, k = 100": median_classes([age, sex, zip_code], k=100),
        "OLA, decades": interval_classes([age // 10, sex, area]),
        "OLA, twenty years": interval_classes([age // 20]),
    }


@cache
def in_hospital(seed=14):
    """The made-up hospital, and the attackers that were fitted to it."""
    made = hospital(N, seed=seed)
    records = records_in_classes(
        np.zeros(N),
        k_quasis=made.k_quasis,
        epsilon_quasis=made.epsilon_quasis,
        kept={**made.clean, **made.leaky, **made.noted, **made.paired},
        identifiers=made.identifiers,
    )
    return made, fit_attackers(records)


PARTITIONS = ["Mondrian, k = 10", "Mondrian, k = 100", "OLA, decades", "OLA, twenty years"]


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("seed", [14, 15])
def test_planted_leaks_of_the_hospital_are_found_and_clean_columns_are_not(seed, partition):
    """BMI, inches, pounds, sums, ratios, parts of copies, dates of birth, coarse codes, serial numbers, names in notes."""
    made, attackers = in_hospital(seed)
    found = attackers.in_classes(partitions(made.k_quasis)[partition])
    columns = {own.column: own for own in found.columns}
    told_anyway = set()
    if partition == "Mondrian, k = 10":
        told_anyway = {"age_group"}  # five years in classes that span about as many: there is little left to tell
        assert "bits" in columns["age_group"].reasons
    assert {name for name in made.leaky if columns[name].verdict != "alarm"} <= told_anyway
    assert {name for name in made.paired if columns[name].verdict != "alarm"} == set()
    assert {name for name in made.noted if columns[name].verdict != "note"} == set()
    assert [name for name in made.clean if columns[name].verdict == "alarm"] == []
    for name, reason in REASONS.items():
        assert reason in columns[name].reasons, name


REASONS = {
    "bmi": "links", "bmi_some": "links", "height_in": "links", "weight_lb": "links", "weight_some": "links",
    "sum": "links", "waist_ratio": "links", "born": "bits", "birth_year": "bits", "age_group": "bits", "area": "bits",
    "area_number": "bits", "case": "serial", "row": "serial", "note": "identifiers", "admitted": "date",
    "ferritin": "unique", "remarks": "free text", "lean_mass": "pair", "fat_mass": "pair", "stretch": "pair",
    "factor": "pair",
}  # fmt: skip


@pytest.mark.parametrize("code", [999.0, -1.0, 0.0])
def test_a_code_among_numbers_hides_no_leak(code):
    """One BMI in twenty is 999, and a formula that is fitted to it as if it were a BMI would link nobody."""
    made, _ = in_hospital()
    is_code = np.random.default_rng(20).random(N) < 0.05
    kept = {name: np.where(is_code, code, made.leaky[name]) for name in ("bmi", "height_in")}
    kept |= {name: np.where(np.roll(is_code, 1), code, made.paired[name]) for name in ("lean_mass", "fat_mass")}
    records = records_in_classes(
        partitions(made.k_quasis)["Mondrian, k = 100"],
        k_quasis=made.k_quasis,
        epsilon_quasis=made.epsilon_quasis,
        kept=kept,
    )
    bmi, height, lean, fat = look_at_kept_columns(records).columns
    assert bmi.share_linked > 0.5
    assert height.verdict == "alarm"
    assert "pair" in lean.alarms
    assert "pair" in fat.alarms


def test_findings_say_who_links_and_what_is_told():
    """The attacker, the quasi that he uses, and how many he links."""
    made, attackers = in_hospital()
    found = attackers.in_classes(partitions(made.k_quasis)["Mondrian, k = 10"])
    columns = {own.column: own for own in found.columns}
    assert found.n_records == N
    assert columns["bmi"].by == "formula"
    assert columns["bmi"].share_linked > 0.9
    assert (columns["weight_some"].by, columns["weight_some"].of) == ("ratio", "weight")
    assert (columns["area"].by, columns["area"].of) == ("table", "zip")
    assert columns["birth_year"].bits_of == "age"
    assert columns["note"].identifiers_inside == pytest.approx(0.3, abs=0.03)
    assert (columns["lean_mass"].alarms, columns["fat_mass"].alarms) == (("pair",), ("pair",))
    assert ("lean_mass", "fat_mass") in {own.columns for own in found.pairs if own.of == "weight" and own.is_alarm}
    assert [own.column for own in found.alarming] == [name for name, own in columns.items() if own.verdict == "alarm"]
    text = str(found.to_json())
    assert not any(name in text for name in made.identifiers["name"][:50].tolist())


ADULT_NUMBERS = ("fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
ADULT_TEXTS = ("workclass", "education", "occupation", "native-country", "income")
N_ADULT = 16_000


@pytest.fixture(scope="module")
def adult(adult_path):
    """Half of Adult with drawn heights and weights, its own other columns, and planted leaks."""
    data = data_sets.with_both_measures(data_sets.adult(adult_path, seed=1994), seed=1)
    with adult_path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["age"]) <= data_sets.OLDEST][:N_ADULT]
    column = {name: own[:N_ADULT] for name, own in data.columns.items()}
    clean = {name: np.array([float(row[name]) for row in rows]) for name in ADULT_NUMBERS}
    clean |= {name: np.array([row[name] for row in rows]) for name in ADULT_TEXTS}
    year, weight, height = column["birth_year"], column["weight"], column["height"]
    born = [dt.date(int(own), 1, 1) + dt.timedelta(days=int(i) * 37 % 365) for i, own in enumerate(year)]
    leaky = {
        "bmi": np.round(weight / (height / 100) ** 2, 1),
        "inches": np.round(height / 2.54, 1),
        "pounds": np.round(weight / 0.45359237),
        "sum": weight + height,
        "ratio": np.round(weight / height, 3),
        "age": 1994 - year,
        "born": born,
        "four_years": year // 4,
        "marital_code": np.unique(column["marital_status"], return_inverse=True)[1],
        "serial": np.arange(N_ADULT) + 100,
        "note": [f"spoke to {own} on the telephone, all well" for own in column["name"]],
        "relationship": np.array([row["relationship"] for row in rows]),  # husbands and wives are married
    }
    quasis = ("birth_year", "gender", "race", "marital_status")
    records = records_in_classes(
        np.zeros(N_ADULT),
        k_quasis={name: column[name] for name in quasis},
        epsilon_quasis={"weight": weight, "height": height},
        kept={**clean, **leaky},
        identifiers={name: column[name] for name in ("name", "email")},
    )
    return {name: column[name] for name in quasis}, set(clean), set(leaky), fit_attackers(records)


def adult_classes(quasis, name):
    year, gender = quasis["birth_year"], quasis["gender"]
    match name:
        case "Mondrian, k = 20":
            return median_classes(list(quasis.values()), k=20)
        case "OLA, eight years":
            return interval_classes([year // 8, gender])
        case _:
            return interval_classes([year // 16])


@pytest.mark.shared_data
@pytest.mark.parametrize("partition", ["Mondrian, k = 20", "OLA, eight years", "OLA, sixteen years"])
def test_planted_leaks_of_adult_are_found(adult, partition):
    """All of them alarms; of Adult's own columns at most the country, which tells the race of those who are not White."""
    quasis, clean, leaky, attackers = adult
    found = attackers.in_classes(adult_classes(quasis, partition))
    alarming = {own.column for own in found.alarming}
    assert leaky - alarming == set()
    assert alarming & clean <= {"native-country"}


def test_a_weak_correlation_in_large_classes_is_a_note():
    """0.7 in classes of a thousand: some three times chance, and 0.3 % of the records."""
    rng = np.random.default_rng(6)
    n = 20_000
    weight = rng.normal(size=n)
    kept = {"weak": 0.7 * weight + np.sqrt(1 - 0.49) * rng.normal(size=n)}
    records = records_in_classes(np.arange(n) // 1_000, epsilon_quasis={"weight": weight}, kept=kept)
    (column,) = look_at_kept_columns(records).columns
    assert (column.verdict, column.alarms) == ("note", ())
    assert "links" in column.notes
    assert 2 < column.links_per_class < 5
    assert column.share_linked < 0.006


@pytest.mark.parametrize("n_classes", [1, 20])
@pytest.mark.parametrize(
    "leak",
    [
        pytest.param(lambda age: 2026 - age, id="year of birth"),
        pytest.param(lambda age: age * 1.25, id="other units"),
        pytest.param(lambda age: age // 20, id="bands"),
        pytest.param(lambda age: np.array([f"{own} years" for own in age]), id="text"),
        pytest.param(lambda age: np.abs(age - 30) + 0.1 * (age > 30), id="neither rising nor falling"),
        pytest.param(lambda age: np.where(np.arange(len(age)) % 20, age, 999), id="copy with a code"),
    ],
)
def test_a_copy_in_large_classes_is_refused_though_many_share_a_value(leak, n_classes):
    """It links one record in a hundred, because a hundred share an age; and yet everybody reads the ages from it."""
    rng = np.random.default_rng(21)
    n = 20_000
    age = rng.integers(18, 90, n)
    kept = {"leak": leak(age), "shuffled": rng.permutation(leak(age)), "other": age + rng.normal(0, 12, n).round()}
    records = records_in_classes(
        np.arange(n) % n_classes, epsilon_quasis={"age": age.astype(float)}, kept=kept, k_quasis={"sex": age % 2}
    )
    found, shuffled, other = look_at_kept_columns(records).columns
    assert found.verdict == "alarm"
    assert "alone" in found.alarms
    assert found.told_of == "age"
    assert shuffled.told < 0.05
    assert 0.5 < other.told < 0.9
    assert ("alone" in other.notes, other.alarms) == (True, ())


def test_one_outlier_does_not_make_a_copy():
    """Ranks count, so that a flag for the one huge value tells next to nothing of the others."""
    income = np.append(np.random.default_rng(22).normal(size=999), 1e9)
    records = records_in_classes(np.zeros(1_000), epsilon_quasis={"income": income}, kept={"rich": income > 1e8})
    (column,) = look_at_kept_columns(records).columns
    assert column.told < 0.1


def test_a_fit_serves_every_partition():
    """What was found with a fit that is used again equals what a new fit finds."""
    made, _ = in_hospital()
    kept = {**made.clean, "bmi": made.leaky["bmi"], "born": made.leaky["born"]}
    first, *others = partitions(made.k_quasis).values()
    records = records_in_classes(first, k_quasis=made.k_quasis, epsilon_quasis=made.epsilon_quasis, kept=kept)
    attackers = fit_attackers(records)
    for ids in others:
        assert attackers.in_classes(ids) == look_at_kept_columns(replace(records, class_ids=ids))


def test_names_of_classes_and_records_that_are_in_none_do_not_matter():
    """Class ids may have gaps and any order; a negative one takes the record out."""
    made, attackers = in_hospital()
    ids = partitions(made.k_quasis)["OLA, decades"]
    with_gaps = 5 * (ids.max() - ids) + 2
    one, other = attackers.in_classes(ids), attackers.in_classes(with_gaps)
    for a, b in zip(one.columns, other.columns, strict=True):
        assert (a.verdict, a.alarms, a.by, a.of) == (b.verdict, b.alarms, b.by, b.of)
        assert a.links_per_class == pytest.approx(b.links_per_class)
    left = attackers.in_classes(np.where(ids < 20, ids, -1))
    assert left.n_records == np.count_nonzero(ids < 20)
    assert left.n_classes == 20


def test_two_records_that_nobody_can_tell_apart_share_a_link():
    """Pairs of twins with one BMI: at most one link in two records."""
    rng = np.random.default_rng(9)
    weight, height = (np.repeat(rng.normal(mean, 9, 500).round(1), 2) for mean in (80, 170))
    kept = {"bmi": weight / height**2}
    records = records_in_classes(np.arange(1_000) // 10, epsilon_quasis={"w": weight, "h": height}, kept=kept)
    (column,) = look_at_kept_columns(records).columns
    assert column.verdict == "alarm"
    assert 0.35 < column.share_linked < 0.65


HARD = {
    "constant": [1.0] * 60,
    "constant text": ["a"] * 60,
    "missing": [None] * 60,
    "one value": [None] * 59 + [4.0],
    "infinite": [np.inf, -np.inf] * 30,
    "some infinite": [np.inf, *(float(i) for i in range(59))],
    "huge": [(-1) ** i * 1e300 * (i + 1) / 60 for i in range(60)],
    "largest": [1.7e308 * (-1) ** i for i in range(60)],
    "tiny": [5e-324 * i for i in range(60)],
    "one huge": [1e308, *(float(i) for i in range(59))],
    "negative": [-1.0 * i for i in range(60)],
    "zeros": [0.0] * 30 + [float(i) for i in range(30)],
    "near equal": [1e9 + i * 1e-7 for i in range(60)],
    "unique text": [f"t{i * 7919 % 61}" for i in range(60)],
    "empty text": [""] * 30 + ["a"] * 30,
    "true": [i % 3 == 0 for i in range(60)],
    "dates": [dt.date(1, 1, 1), dt.date(9999, 12, 31), *[None] * 58],
}


@pytest.mark.parametrize("n_classes", [1, 2, 12, 60])
def test_hard_columns_do_no_harm_as_kept_columns_and_as_quasis(n_classes):
    """No warning, no error, and figures that are numbers; in one class, in several, and in classes of one."""
    numbers = {name: own for name, own in HARD.items() if not any(isinstance(x, str | dt.date) for x in own)}
    for k_quasis, epsilon_quasis in ((HARD, numbers), ({}, {}), ({}, {"negative": HARD["negative"]}), (HARD, {})):
        records = records_in_classes(
            np.arange(60) % n_classes, k_quasis=k_quasis, epsilon_quasis=epsilon_quasis, kept=HARD, identifiers=HARD
        )
        found = look_at_kept_columns(records)
        assert [own.column for own in found.columns] == list(HARD)
        for own in found.columns:
            assert np.isfinite([own.links_per_class, own.z, own.share_linked, own.bits, own.unique]).all()
            assert 0 <= own.share_linked <= 1
        if n_classes == 60:
            assert not any("links" in own.reasons for own in found.columns)


def test_no_kept_columns_no_records_and_no_order_of_the_input():
    """Nothing is found, and nothing breaks."""
    assert look_at_kept_columns(records_in_classes([0, 0, 1])).columns == ()
    nobody = look_at_kept_columns(records_in_classes([], kept={"a": []}, k_quasis={"q": []}, epsilon_quasis={"v": []}))
    assert (nobody.n_records, nobody.n_classes, nobody.columns[0].verdict) == (0, 0, "nothing")
    made = records_in_classes(np.arange(50) // 5, kept={"row": np.arange(50)})
    without = RecordsInClasses(
        class_ids=made.class_ids, k_quasis={}, epsilon_quasis={}, kept=made.kept, identifiers={}, rows=None
    )
    assert not look_at_kept_columns(without).columns[0].is_serial
    assert look_at_kept_columns(made).columns[0].alarms == ("serial",)


def test_codes_may_have_gaps():
    """A sample keeps the codes of the whole table: figures are those of the records that are there."""
    made, _ = in_hospital()
    kept = {**made.clean, "bmi": made.leaky["bmi"], "note": made.leaky["note"]}
    whole = records_in_classes(
        median_classes([made.k_quasis["age"]], k=10), k_quasis=made.k_quasis, epsilon_quasis=made.epsilon_quasis,
        kept=kept, identifiers=made.identifiers,
    )  # fmt: skip
    at = np.flatnonzero(whole.class_ids % 3 == 1)
    of_some = look_at_kept_columns(taken(whole, at))

    def again(columns):
        return {name: np.asarray(own)[at] for name, own in columns.items()}

    alone = records_in_classes(
        whole.class_ids[at], k_quasis=again(made.k_quasis), epsilon_quasis=again(made.epsilon_quasis),
        kept=again(kept), identifiers=again(made.identifiers), rows=at,
    )  # fmt: skip
    for a, b in zip(of_some.columns, look_at_kept_columns(alone).columns, strict=True):
        assert (a.column, a.verdict, a.reasons) == (b.column, b.verdict, b.reasons)
        assert a.links_per_class == pytest.approx(b.links_per_class)
        assert (a.unique, a.identifiers_inside) == (b.unique, b.identifiers_inside)


def test_many_kept_columns_and_a_quasi_that_nobody_shares():
    """Three hundred columns, and every value of the quasi occurs once: only the copy is an alarm."""
    rng = np.random.default_rng(4)
    n = 3_000
    exact = rng.permutation(n) * 17.0
    few = {f"x{i}": rng.integers(0, 5, n) for i in range(298)}
    kept = {**few, "copy": exact * 2.5, "also": rng.normal(size=n)}
    found = look_at_kept_columns(
        records_in_classes(
            np.argsort(np.argsort(exact)) // 10, k_quasis={"exact": exact}, kept=kept, rows=rng.permutation(n)
        )
    )
    assert [own.column for own in found.alarming] == ["copy"]
    texts = np.array([f"t{int(own)}" for own in exact])
    lone = records_in_classes(np.arange(n) // 10, k_quasis={"lone": texts}, kept={"x": few["x0"]})
    assert look_at_kept_columns(lone).columns[0].verdict == "nothing"


def test_a_quasi_with_fifty_thousand_values():
    """In one class of fifty thousand: a copy is found, noise is not."""
    rng = np.random.default_rng(4)
    exact = rng.permutation(50_000)
    kept = {"copy": exact + 1_000_000, "noise": rng.normal(size=50_000).round(3)}
    for name in ("k_quasis", "epsilon_quasis"):
        records = records_in_classes(
            np.zeros(50_000), kept=kept, rows=rng.permutation(50_000), **{name: {"exact": exact}}
        )
        copy, noise = look_at_kept_columns(records).columns
        assert "links" in copy.alarms
        assert noise.alarms == ()


def test_a_column_of_numbers_may_have_texts_too():
    """Text that is all numbers is numbers, as in a CSV file; dates as text may have no numbers."""
    codes = np.arange(60) % 20
    column = WholeColumn(codes=codes, numbers=np.arange(20) * 1.5, texts=tuple(f"{i * 1.5}" for i in range(20)))
    dates = WholeColumn(codes=codes, numbers=None, texts=tuple(f"{i + 1}.3.2020" for i in range(20)), is_date=True)
    made = records_in_classes(np.arange(60) // 6, epsilon_quasis={"v": np.arange(60.0)})
    records = RecordsInClasses(
        class_ids=made.class_ids, k_quasis={}, epsilon_quasis=made.epsilon_quasis,
        kept={"number": column, "date": dates}, identifiers={}, rows=None,
    )  # fmt: skip
    number, date = look_at_kept_columns(records).columns
    assert number.column == "number"
    assert "date" in date.notes
