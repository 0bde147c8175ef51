# SPDX-License-Identifier: Apache-2.0
"""Persons and sensitive values in an audit: what is broken is noticed, and nobody honest is accused."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.auditing.sensitive_values import ValuesInClasses, distances, lacks_diversity
from kepsilon.policy.roles import LDiversity
from material.audited_releases import arrow, patients, patients_policy, released
from material.person_tamperings import (
    SETTINGS,
    TAMPERINGS,
    draws_by_record,
    draws_scaled,
    encounters,
    nobody_released,
    persons_of,
    policy_of,
    sound_release,
)
from oracles import requirements as oracle

sound = cache(sound_release)


@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_tampering_with_persons_or_values_is_noticed(name, algorithm):
    """By the check that is there for it, and no finding shows a value."""
    tampering = TAMPERINGS[name]
    case = tampering.change(sound(tampering.setting, algorithm))
    for with_linkage in (True, False) if tampering.without else (True,):
        audit = case.audit(with_linkage=with_linkage)
        shown = "\n".join([*map(str, audit.findings), str(audit.to_json()), audit.headline])
        assert "CANARY" not in shown
        assert tampering.check in {finding.check for finding in audit.broken}, shown


@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_release_that_nobody_tampered_with_is_not_broken(setting, algorithm):
    for seed in (1, 2, 3):
        case = sound(setting, algorithm, seed=seed)
        for with_linkage in (True, False):
            audit = case.audit(with_linkage=with_linkage)
            assert not audit.broken, audit.findings


def test_a_class_of_one_person_is_noticed_without_a_linkage_where_labels_cover_nobody_else():
    """OLA releases every original of a class, so that its labels tell who is in it."""
    case = TAMPERINGS["class of one person passed off as k"].change(sound("persons"))
    assert "persons" in {finding.check for finding in case.audit(with_linkage=False).broken}


def test_it_is_said_that_persons_were_not_counted():
    said = [f.what for f in sound("confident").audit(with_linkage=False).of("warning") if f.check == "persons"]
    assert said == ["without a linkage the persons of a class were not counted record by record."]


def test_a_record_that_does_not_say_whom_it_is_about_must_not_be_released():
    audit = nobody_released(sound("persons")).audit()
    assert any(f.check == "persons" and "whom they are about" in f.what for f in audit.broken), audit.findings


@pytest.mark.parametrize("setting", ["shared", "cap"])
def test_noise_is_that_of_a_record(setting):
    """Where a person's records share ε, noise of the whole ε for each is too little; with ε per record it is right."""
    case = sound(setting, n=1800)
    stated = policy_of("shared")
    audit = ke.audit(arrow(case.original), arrow(case.released), stated, linkage=arrow(case.linkage))
    checks = {finding.check for finding in audit.broken}
    assert checks == (set() if setting == "shared" else {"noise", "attacks"}) or checks == {"noise"}
    assert ("noise" in checks) is (setting == "cap")


def test_too_little_noise_is_noticed_where_persons_have_one_draw():
    """One record of each person is looked at, and that is enough; without a linkage all values together are."""
    case = draws_scaled(sound("once", n=3000))
    for with_linkage in (True, False):
        assert "noise" in {f.check for f in case.audit(with_linkage=with_linkage).broken}, with_linkage


def test_draws_by_record_are_noticed_where_persons_should_have_one():
    """Each is as large as claimed, and averaging those of a person takes the noise away."""
    assert [f.check for f in draws_by_record(sound("once")).audit().broken] == ["one draw"]


def test_one_draw_per_person_under_a_policy_that_draws_for_each_record_is_noticed():
    """The records of a person share their noise, which the policy does not say."""
    case = sound("once")
    stated = policy_of("persons").model_dump(mode="json", exclude_none=True)
    stated["attributes"]["height"]["range"] = [120, 220]
    audit = ke.audit(
        arrow(case.original), arrow(case.released), ke.Policy.from_dict(stated), linkage=arrow(case.linkage)
    )
    assert "noise" in {finding.check for finding in audit.broken}


def test_tests_of_single_draws_are_said_not_to_be_tried_without_a_linkage():
    said = [f.what for f in sound("once").audit(with_linkage=False).of("warning") if f.check == "one draw"]
    assert len(said) == 1
    assert said[0].startswith("not tried without a linkage")


def test_repeated_codes_are_a_warning_unless_the_policy_says_what_a_person_is():
    """The release is one of a table whose identifiers do not repeat; k counts records in what it is held against."""
    case = released(patients(300), patients_policy())
    names = [f"CANARY-{i // 2}" for i in range(300)]
    original = {**case.original, "name": names}

    def said(**changes):
        audit = ke.audit(arrow(original), arrow(case.released), patients_policy(**changes))
        return [f.what for f in audit.of("warning") if f.check == "persons"]

    assert "300 records hold 150 different values of name, so that k counts records" in said()[0]
    assert not said(records_are_persons=True)
    original["name"] = [f"CANARY {i // 2}" for i in range(300)]  # names, which different persons may share
    assert not said()


# The curator's record and the manifest.


FORGED = {
    "suppressed_by_cap": (lambda record: record["records"].update(_exchanged(record)), "records.suppressed_by_cap"),
    "fewest": (lambda record: record["persons"].update(fewest_in_a_class=9), "persons.fewest_in_a_class"),
    "count": (lambda record: record["persons"].update(count=record["persons"]["count"] + 1), "persons.count"),
    "largest": (
        lambda record: record["persons"]["records_per_person"].update(largest=2),
        "persons.records_per_person.largest",
    ),
    "no persons": (lambda record: record.pop("persons"), "persons"),
    "one value": (lambda record: record["homogeneity"]["illness"].update(one_value=0.0001), "homogeneity.illness"),
    "by chance": (
        lambda record: record["homogeneity"]["score"].update(
            nearly_one_value_by_chance=record["homogeneity"]["score"]["nearly_one_value_by_chance"] * 2 + 0.001
        ),
        "homogeneity.score",
    ),
    "no share": (lambda record: record["homogeneity"]["score"].update(one_value="CANARY"), "homogeneity.score"),
    "another column": (lambda record: record["homogeneity"].update(zip={}), "homogeneity"),
    "class": (lambda record: record["attackers"][0].update(realised=0.001), "attackers.0.realised"),
    "prosecutor": (
        lambda record: record["reidentification"]["prosecutor"].update(highest=0.01),
        "reidentification.prosecutor.highest",
    ),
    "links": (
        lambda record: record["linking_risk"].update(realised=record["linking_risk"]["realised"] * 0.99),
        "linking_risk.realised",
    ),
    "links of the table": (lambda record: record["attackers"][1].update(realised=0.001), "attackers.1.realised"),
    "single": (lambda record: record["linking_risk"].update(largest_possible=0.01), "linking_risk.largest_possible"),
}
"""What is forged in the curator's record, and the path that the audit has to name."""


def _exchanged(record):
    """One record that the cap left out is passed off as missing, so that all still add up."""
    records = record["records"]
    return {
        "suppressed_by_cap": records["suppressed_by_cap"] - 1,
        "suppressed_missing": records["suppressed_missing"] + 1,
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release under a cap with all that lies beside it, and the original."""
    folder = tmp_path_factory.mktemp("persons")
    original = arrow(encounters(900))
    ke.anonymise(original, policy_of("cap"), unsafe_seed=1).write(folder / "r.csv", linkage=folder / "l.csv")
    return folder, original


def audited(folder, original):
    return ke.audit(original, folder / "r.csv", policy_of("cap"), linkage=folder / "l.csv")


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_figure_of_persons_or_values_is_noticed(name, written):
    folder, original = written
    path = folder / "r.csv.curator.json"
    text = path.read_text(encoding="utf-8")
    change, where = FORGED[name]
    document = json.loads(text)
    change(document)
    try:
        assert not (before := audited(folder, original)).broken, before.findings
        path.write_text(json.dumps(document), encoding="utf-8")
        audit = audited(folder, original)
    finally:
        path.write_text(text, encoding="utf-8")
    assert "CANARY" not in str(audit.to_json())
    assert any(f.check == "curator" and where in f.what for f in audit.broken), audit.findings


@pytest.mark.parametrize("key", ["persons", "homogeneity"])
def test_figures_of_persons_and_values_in_a_manifest_are_broken(key, written):
    """They depend on the true values of everybody."""
    folder, original = written
    path = folder / "r.csv.manifest.json"
    text = path.read_text(encoding="utf-8")
    record = json.loads((folder / "r.csv.curator.json").read_text(encoding="utf-8"))
    try:
        path.write_text(json.dumps({**json.loads(text), key: record[key]}), encoding="utf-8")
        audit = audited(folder, original)
    finally:
        path.write_text(text, encoding="utf-8")
    assert any(f"only the curator may know, under {key}" in finding.what for finding in audit.broken), audit.findings


# Kernels of the audit against slow ways.


@pytest.mark.parametrize("seed", range(40))
def test_diversity_and_distances_are_those_of_a_slow_way(seed):
    rng = np.random.default_rng(seed)
    n, n_classes, n_values = int(rng.integers(1, 60)), int(rng.integers(1, 6)), int(rng.integers(1, 9))
    ids, values = rng.integers(-1, n_classes, n), rng.integers(-1, n_values, n)
    found = ValuesInClasses.of(ids, values, n_classes=n_classes)
    own = [[int(v) if v >= 0 else None for v in values[ids == c]] for c in range(n_classes)]
    everyone = [int(v) for v in values if v >= 0]
    for least in (2, 3):
        expected = [not oracle.is_distinct(each, least) for each in own]
        assert lacks_diversity(found, LDiversity(distinct=least)).tolist() == expected
    for least in (1.5, 2, 3):
        expected = [not oracle.is_entropy_diverse(each, least) for each in own]
        assert lacks_diversity(found, LDiversity(entropy=least)).tolist() == expected
    for c in (0.5, 1, 3):
        expected = [not oracle.is_recursive(each, c, 2) for each in own]
        assert lacks_diversity(found, LDiversity(recursive=(c, 2))).tolist() == expected
    counts = np.bincount(values[values >= 0], minlength=n_values)
    for is_ordered in (True, False):
        far = distances(found, counts, is_ordered=is_ordered)
        assert far == [oracle.distance(each, everyone, ordered=is_ordered) for each in own]


def test_distances_of_very_large_tables_are_exact():
    """Products beyond 64 bits are worked out with whole numbers of any size."""
    found = ValuesInClasses(class_ids=np.array([0, 0]), values=np.array([0, 2]), counts=np.array([3, 1]), n_classes=1)
    counts = np.array([2**40, 2**40, 2**62])
    n = 2**41 + 2**62
    [far] = distances(found, counts, is_ordered=True)
    first, second = Fraction(3, 4) - Fraction(2**40, n), Fraction(3, 4) - Fraction(2**41, n)
    assert far == (first + second) / 2


def test_whom_records_are_about_is_compared_without_blanks():
    """The persons of the encounters are written with blanks around their names, and are one person all the same."""
    case = sound("cap")
    assert len(set(persons_of(case))) < len(set(case.own("name")))
    assert not case.audit().broken


def test_minus_zero_in_a_text_file_is_the_zero_of_the_original(tmp_path):
    """Among numbers and an infinity, which makes them categories: a value of its own would be far from all others."""
    scores = [-0.0, 1.0] * 30 + [float("inf")]
    table = pa.table({"zip": ["1"] * 61, "score": scores})
    kept = {"role": "sensitive", "t_closeness": 0.1, "accept_leak": "made-up records"}
    settings = {"k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": 0}
    quasi = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    policy = ke.Policy.from_dict({**settings, "attributes": {"zip": quasi, "score": kept}})
    ke.anonymise(table, policy).write(tmp_path / "out.csv")
    assert not [own for own in ke.audit(table, tmp_path / "out.csv", policy).broken if own.check == "t-closeness"]


@pytest.mark.parametrize("seed", range(4))
def test_large_values_and_tiny_epsilon_with_several_epsilon_quasis_are_no_fault_of_the_record(seed, tmp_path):
    """Far from all originals, doubles decide no tie between distances along one ε-quasi and along another."""
    rng = np.random.default_rng(seed)
    n = 900
    original = {
        "person": [f"P{rng.integers(800):04}" for _ in range(n)],
        "group": [f"{i % 300:03}" for i in range(n)],
        "serial": (7_391_500_000 + rng.integers(-25, 25, n)).tolist(),
        "amount": (5 * rng.integers(-40, 40, n)).tolist(),
        "steps": rng.integers(-90, 500, n).tolist(),
    }
    noisy = {"role": "epsilon-quasi", "range": "class"}
    policy = ke.Policy.from_dict(
        {
            "k": 2,
            "algorithm": "ola",
            "epsilon": 0.0001,
            "epsilon_per": "record",
            "person": "person",
            "max_suppression": 1,
            "attributes": {
                "person": {"role": "identifier"},
                "group": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
                **{name: {**noisy, "precision": 1} for name in ("serial", "amount", "steps")},
            },
        }
    )
    table = pa.table(original)
    ke.anonymise(table, policy, unsafe_seed=seed).write(tmp_path / "r.csv", linkage=tmp_path / "l.parquet")
    audit = ke.audit(table, tmp_path / "r.csv", policy, linkage=tmp_path / "l.parquet")
    assert not audit.broken, audit.findings
