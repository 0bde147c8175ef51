# SPDX-License-Identifier: Apache-2.0
"""Persons with several records, and sensitive values: from the table to check, release and record."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kepsilon

K = 5
HEIGHT = {"role": "epsilon-quasi", "precision": 0.1, "range": [140, 210]}
QUASIS = {
    "zip": {"role": "k-quasi", "hierarchy": {"type": "mask", "length": 5}},
    "sex": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
    "born": {"role": "k-quasi", "step": 5, "hierarchy": {"type": "intervals", "widths": [5, 10, 20]}},
}


def hospital(n_patients: int = 400, *, seed: int = 0, constant: bool = True) -> pa.Table:
    """Encounters of made-up patients, 1 to 40 of each; a patient may move, and is measured anew if not `constant`."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = defaultdict(list)
    for patient in range(n_patients):
        zip_code, sex, born = f"{rng.integers(10_000, 10_040)}", rng.choice(["F", "M"]), int(rng.integers(1930, 2005))
        height = round(float(rng.normal(170, 8)), 1)
        for _ in range(min(40, 1 + int(rng.pareto(1.2) * 1.5))):
            columns["patient"].append(f"P{patient:04d}")
            columns["zip"].append(zip_code if rng.random() < 0.9 else f"{rng.integers(10_000, 10_040)}")
            columns["sex"].append(str(sex))
            columns["born"].append(born)
            columns["height"].append(height if constant else round(height + float(rng.normal(0, 0.5)), 1))
            columns["disease"].append(str(rng.choice(["flu", "cold", "asthma", "cancer"], p=[0.5, 0.3, 0.15, 0.05])))
    order = rng.permutation(len(columns["zip"]))
    return pa.table({name: [own[i] for i in order] for name, own in columns.items()})


def policy(*, height: dict[str, Any] | None = HEIGHT, disease: dict[str, Any] | None = None, **changes: Any):
    attributes = {"patient": {"role": "identifier"}, **QUASIS, "disease": {"role": "sensitive", **(disease or {})}}
    if height is not None:
        attributes["height"] = height
    settings = {"k": K, "epsilon": 4, "algorithm": "ola", "max_suppression": 0.05, "unlisted_columns": "drop"}
    return kepsilon.Policy.from_dict({**settings, **changes, "attributes": attributes})


def persons_of_classes(table: pa.Table, release: kepsilon.Release) -> list[set[str]]:
    """The patients of every released class, by the linkage."""
    rows = release.linkage["original_row"].to_pylist()
    patients = table["patient"].to_pylist()
    labels = zip(*(release.frame[name].to_pylist() for name in QUASIS), strict=True)
    found: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for label, row in zip(labels, rows, strict=True):
        found[label].add(patients[row])
    return list(found.values())


SETTINGS = {
    "ola": {"epsilon_per": "record"},
    "ola, confident": {"epsilon_per": "record", "confidence": 0.9},
    "ola, confident, strict": {"epsilon_per": "record", "confidence": 0.9, "confidence_rule": "strict"},
    "ola, one draw": {"epsilon_per": "person"},
    "ola, one draw, confident": {"epsilon_per": "person", "confidence": 0.9},
    "ola, capped": {"epsilon_per": "person", "max_records_per_person": 3},
    "mondrian": {"epsilon_per": "record", "algorithm": "mondrian"},
    "mondrian, confident": {"epsilon_per": "record", "algorithm": "mondrian", "confidence": 0.9},
    "mondrian, capped": {"epsilon_per": "person", "algorithm": "mondrian", "max_records_per_person": 2},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_class_has_k_patients(name: str) -> None:
    table = hospital(seed=len(name))
    release = kepsilon.anonymise(table, policy(person="patient", **SETTINGS[name]))
    found = persons_of_classes(table, release)
    assert min(map(len, found)) >= K
    assert release.record["persons"]["fewest_in_a_class"] == min(map(len, found))
    records = release.record["records"]
    left_out = sum(n for key, n in records.items() if key.startswith("suppressed"))
    assert records["released"] + left_out == records["read"] == len(table)


def test_classes_by_records_alone_would_not_do() -> None:
    """The control: the same data by records has classes of fewer patients, which is what `person` is for."""
    table = hospital()
    release = kepsilon.anonymise(table, policy(records_are_persons=True))
    assert min(map(len, persons_of_classes(table, release))) < K


@pytest.mark.parametrize("cap", [1, 3])
def test_nobody_has_more_records_than_the_cap(cap: int) -> None:
    table = hospital()
    release = kepsilon.anonymise(
        table, policy(person="patient", epsilon_per="person", max_records_per_person=cap, algorithm="mondrian")
    )
    patients = table["patient"].to_pylist()
    released = [patients[row] for row in release.linkage["original_row"].to_pylist()]
    assert max(map(released.count, set(released))) == cap
    excess = sum(max(0, patients.count(own) - cap) for own in set(patients))
    assert release.record["records"]["suppressed_by_cap"] == excess
    assert len(set(released)) == len(set(patients))  # Mondrian leaves nobody out


def test_a_patient_carries_one_draw_and_averaging_gains_nothing() -> None:
    table = hospital(constant=True)
    release = kepsilon.anonymise(table, policy(person="patient", epsilon_per="person", algorithm="mondrian"))
    drawn: dict[str, set[float]] = defaultdict(set)
    patients = table["patient"].to_pylist()
    for row, height in zip(
        release.linkage["original_row"].to_pylist(), release.frame["height"].to_pylist(), strict=True
    ):
        drawn[patients[row]].add(height)
    assert all(len(own) == 1 for own in drawn.values())
    assert len(set.union(*drawn.values())) > 100  # and it is not one draw for everybody


def joined_and_linked(table: pa.Table, release: kepsilon.Release, *, with_disease: bool) -> float:
    """The share of records linked by whoever joins a patient's records, and takes the nearest height of those who fit."""
    rows = release.linkage["original_row"].to_pylist()
    patients, heights = table["patient"].to_pylist(), table["height"].to_pylist()
    names = [*QUASIS, "disease"] if with_disease else list(QUASIS)
    shown = list(zip(*(release.frame[name].to_pylist() for name in names), strict=True))
    records: dict[str, list[Any]] = defaultdict(list)
    true, noisy = {}, {}
    for row, what, height in zip(rows, shown, release.frame["height"].to_pylist(), strict=True):
        records[patients[row]].append(what)
        true[patients[row]], noisy[patients[row]] = heights[row], height
    fitting: dict[str, list[str]] = defaultdict(list)
    for patient, own in records.items():
        fitting[str(sorted(own))].append(patient)
    linked = 0.0
    for patient, own in records.items():
        distances = {other: abs(noisy[patient] - true[other]) for other in fitting[str(sorted(own))]}
        nearest = [other for other, distance in distances.items() if distance <= min(distances.values()) + 1e-9]
        linked += len(own) * (patient in nearest) / len(nearest)
    return linked / len(rows)


def test_whoever_joins_records_and_knows_kept_columns_has_a_figure() -> None:
    """It is what such an attacker does link, and more than without joining, or without the kept column."""
    table = hospital(1_500)
    release = kepsilon.anonymise(
        table, policy(person="patient", epsilon_per="person", max_suppression=0.3), unsafe_seed=1
    )
    found = {row["name"]: row for row in release.record["attackers"]}
    for name in ("joins, one column", "joins, everything"):
        linked = joined_and_linked(table, release, with_disease=True)
        assert found[name]["expected"] == pytest.approx(linked, abs=0.02)
        assert found["everything"]["expected"] + 0.04 < found[name]["expected"] <= found[name]["largest"] <= 1
        assert found["joins equal values"]["expected"] + 0.04 < found[name]["expected"]
        assert found[name]["needs_only_quasis"] is False
    without = joined_and_linked(table, release, with_disease=False)
    assert found["joins equal values"]["expected"] == pytest.approx(without, abs=0.02)
    assert found["joins, one column"]["column"] == "disease"
    apart = kepsilon.check(table, policy(person="patient", epsilon_per="record")).attackers
    assert not any(own.name.startswith("joins") for own in apart)


def error_of_means(release: kepsilon.Release, table: pa.Table, *, at_least: int) -> tuple[float, float]:
    """Mean squared errors of the mean of a patient's records, and of one record, for patients with many records."""
    patients, heights = table["patient"].to_pylist(), table["height"].to_pylist()
    published: dict[str, list[float]] = defaultdict(list)
    true: dict[str, float] = {}
    for row, height in zip(
        release.linkage["original_row"].to_pylist(), release.frame["height"].to_pylist(), strict=True
    ):
        published[patients[row]].append(height)
        true[patients[row]] = heights[row]
    many = [own for own in published if len(published[own]) >= at_least]
    of_mean = np.mean([(np.mean(published[own]) - true[own]) ** 2 for own in many])
    of_one = np.mean([(published[own][0] - true[own]) ** 2 for own in many])
    return float(of_mean), float(of_one)


def test_a_limit_on_one_person_sees_whoever_joins_records() -> None:
    """With one draw a person is known for sure whose records lie in classes like nobody else's, however small ε is."""
    table, settings = hospital(200), {"person": "patient", "epsilon": 0.05, "algorithm": "mondrian"}
    joins = kepsilon.check(table, policy(epsilon_per="person", **settings)).linking_risk
    assert joins.largest_possible_by_matching == 1 > joins.largest_possible
    capped = {"epsilon_per": "person", "max_records_per_person": 1, **settings}
    alone = kepsilon.check(table, policy(**capped)).linking_risk
    assert alone.largest_possible_by_matching < 0.25
    kepsilon.check(table, policy(max_individual_risk=0.25, **capped))
    with pytest.raises(kepsilon.UnsatisfiableError, match="above max_individual_risk"):
        kepsilon.check(table, policy(max_individual_risk=0.25, epsilon_per="person", **settings))


def test_averaging_forty_records_helps_only_where_the_promise_says_so() -> None:
    """With r·ε for a person of r records the mean of 40 has a 40th of the variance; with ε per person it gains nothing."""
    patients = np.repeat([f"P{i:03d}" for i in range(300)], 40)
    heights = np.repeat(np.round(np.random.default_rng(1).normal(170, 8, 300), 1), 40)
    table = pa.table(
        {
            "patient": patients,
            "zip": ["10000"] * 12_000,
            "sex": ["F"] * 12_000,
            "born": [1970] * 12_000,
            "height": heights,
        }
        | {"disease": ["flu"] * 12_000}
    )
    settings = {"person": "patient", "unlisted_columns": "drop"}
    one_draw = kepsilon.anonymise(table, policy(epsilon_per="person", **settings))
    of_mean, of_one = error_of_means(one_draw, table, at_least=40)
    assert of_mean == pytest.approx(of_one)
    fresh = kepsilon.anonymise(table, policy(epsilon_per="record", **settings))
    of_mean, of_one = error_of_means(fresh, table, at_least=40)
    assert of_mean < of_one / 20
    assert "a person of r records spends r·ε" in fresh.record["guarantee"]["statement"]
    shared = kepsilon.anonymise(table, policy(epsilon_per="person", max_records_per_person=40, **settings))
    of_mean, _ = error_of_means(shared, table, at_least=40)
    assert of_mean > of_one  # 40 draws at ε/40 together are worse than one at ε


def test_an_attribute_that_varies_within_a_patient_cannot_be_drawn_once() -> None:
    table = hospital(constant=False)
    for call in (kepsilon.check, kepsilon.anonymise, kepsilon.explore):
        with pytest.raises(kepsilon.DataError, match="height differs between the records of") as caught:
            call(table, policy(person="patient", epsilon_per="person"))
        assert "max_records_per_person" in str(caught.value)
    kepsilon.check(table, policy(person="patient", epsilon_per="person", max_records_per_person=2))


CODES = "so some persons have several records"


@pytest.mark.parametrize("call", [kepsilon.check, kepsilon.anonymise, kepsilon.explore])
def test_a_code_that_repeats_is_refused_until_it_is_said_what_a_person_is(call) -> None:
    table = hospital()
    with pytest.raises(kepsilon.UnsatisfiableError, match=CODES) as caught:
        call(table, policy())
    assert 'person = "patient"' in str(caught.value)
    assert "P00" not in str(caught.value)
    call(table, policy(records_are_persons=True))
    call(table, policy(person="patient", epsilon_per="record"))


def test_names_that_repeat_are_noted_everywhere() -> None:
    table = hospital()
    names = [f"Kim {own}" for own in table["patient"].to_pylist()]
    table = table.set_column(0, "patient", pa.array(names))
    note = "Where these are names or texts that several persons share"
    assert any(note in (own.fix or "") for own in kepsilon.check(table, policy()).warnings)
    assert any(note in (own.fix or "") for own in kepsilon.anonymise(table, policy()).warnings)
    assert any(note in (own.fix or "") for own in kepsilon.explore(table, policy()).warnings)
    assert not any(note in (own.fix or "") for own in kepsilon.check(table, policy(records_are_persons=True)).warnings)


REQUIREMENTS = [
    {"l_diversity": {"distinct": 3}},
    {"l_diversity": {"entropy": 2.2}},
    {"l_diversity": {"recursive": [3, 2]}},
    {"t_closeness": 0.25},
]


def meets(values: list[str], asked: dict[str, Any], reference: list[str]) -> bool:
    """Whether the values of a class meet what was asked, the slow and obvious way."""
    counts = sorted((values.count(own) for own in set(values)), reverse=True)
    n = len(values)
    if "t_closeness" in asked:
        every = set(reference)
        distance = sum(abs(values.count(v) / n - reference.count(v) / len(reference)) for v in every) / 2
        return distance <= asked["t_closeness"] + 1e-12
    (kind, wanted), *_ = asked["l_diversity"].items()
    if kind == "distinct":
        return len(counts) >= wanted
    if kind == "entropy":
        return -sum(c / n * np.log(c / n) for c in counts) >= np.log(wanted) - 1e-12
    factor, place = wanted
    return counts[0] < factor * sum(counts[place - 1 :])


@pytest.mark.parametrize("asked", REQUIREMENTS, ids=str)
@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_every_class_meets_what_is_asked_of_sensitive_values(asked, algorithm, confidence) -> None:
    table = hospital(seed=7)
    changes = {"algorithm": algorithm, "confidence": confidence, "max_suppression": 0.2}
    release = kepsilon.anonymise(
        table,
        policy(disease=asked, person="patient", epsilon_per="record", **{k: v for k, v in changes.items() if v}),
    )
    classes: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for *label, disease in zip(*(release.frame[name].to_pylist() for name in [*QUASIS, "disease"]), strict=True):
        classes[tuple(label)].append(disease)
    reference = table["disease"].to_pylist()
    assert all(meets(values, asked, reference) for values in classes.values())
    assert min(map(len, persons_of_classes(table, release))) >= K


def test_what_classes_tell_is_always_reported() -> None:
    found = kepsilon.check(hospital(), policy(records_are_persons=True))
    assert set(found.homogeneity) == {"disease"}
    assert "homogeneity" in found.to_json()
    assert "persons" not in found.to_json()
