# SPDX-License-Identifier: Apache-2.0
"""What is sound, or protects more than was promised, is not called broken; each of these cases once was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kepsilon as ke
from material.audited_releases import Case, arrow, patients, patients_policy, released
from material.people import policy
from material.tamperings import Noise, scaled_noise, shared_by


@pytest.mark.parametrize("n", [1100, 2200])
def test_more_noise_than_claimed_is_a_warning(n):
    """Just above a power of two of records the audit found twice the noise to be the same across classes."""
    audit = scaled_noise(released(patients(n), patients_policy()), 2.0).audit()
    assert not audit.broken, audit.findings
    assert any("more noise than claimed" in str(finding) for finding in audit.findings)


def test_more_noise_in_some_classes_than_in_others_is_a_warning():
    """Noise for the range of the whole table, where that of the class was asked for, is larger in narrow classes."""
    case = released(patients(2000), patients_policy())
    noise = Noise.of(case)
    factor = np.where(noise.class_ids % 2, 8.0, 1.0)
    audit = noise.replaced(case, noise.units * factor).audit()
    assert not audit.broken, audit.findings


def test_shared_noise_is_noticed_though_it_is_larger_than_claimed():
    """Four records share it here; with two, and three times the noise, the audit notices about every second time."""
    case = scaled_noise(shared_by(released(patients(2000), patients_policy()), 4), 3.0)
    assert "noise" in {finding.check for finding in case.audit().broken}


@pytest.mark.parametrize("rule", ["strict", "suppress_zero"])
def test_classes_that_confident_k_left_because_values_moved_little_are_sound(rule):
    """Of 3,000 pairs with one value each only those stay whose two values moved little, which looked like no noise."""
    values = np.random.default_rng(1).integers(10, 90, 3000).astype(float)
    original = {
        "name": [f"n{i}" for i in range(6000)],
        "pair": [f"p{i // 2:06}" for i in range(6000)],
        "value": np.repeat(values, 2).tolist(),
    }
    under = policy(
        {
            "k": 2,
            "epsilon": 2,
            "algorithm": "ola",
            "max_suppression": 0.1,
            "confidence": 0.5,
            "confidence_rule": rule,
            "attributes": {
                "name": {"role": "identifier"},
                "pair": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
                "value": {"role": "epsilon-quasi", "precision": 10, "range": [0, 100]},
            },
        }
    )
    release = ke.anonymise(arrow(original), under, unsafe_seed=1)
    case = Case(original, release.frame.to_pydict(), release.linkage.to_pydict(), under)
    assert len(case.released["value"]) < 3000
    audit = case.audit()
    assert not audit.broken, audit.findings


def nearly_equal(small: float, n: int = 1000, seed: int = 0) -> dict[str, list]:
    """Patients of whom half have heights that differ by multiples of `small`."""
    rng = np.random.default_rng(seed)
    original = patients(n, seed=seed)
    is_small = rng.random(n) < 0.5
    original["height"] = np.where(is_small, rng.integers(1, 9, n) * small, original["height"]).tolist()
    return original


@pytest.mark.parametrize("spread", ["class", [-100, 300], {"coarse": 5}], ids=["class", "declared", "coarse"])
@pytest.mark.parametrize("small", [1e-301, 1e-18, 3e-14, 2e-12])
def test_links_that_doubles_cannot_decide_are_no_fault_of_the_record(small, spread, tmp_path):
    """Which of two heights that differ by less than the rounding is nearer is not for the audit to say."""
    original = nearly_equal(small)
    under = patients_policy(attributes={"height": {"role": "epsilon-quasi", "precision": 0.1, "range": spread}})
    audit, stated = audited_file(original, under, tmp_path)
    assert not audit.broken, audit.findings
    in_doubt = audit.figures["attacks"]["in_doubt"]
    assert in_doubt["least"] <= stated["realised"] <= in_doubt["most"]


def test_links_in_doubt_are_still_compared(tmp_path):
    """Records whose links doubles decide count for what they are, so that a forged figure is noticed all the same."""
    audit, _ = audited_file(nearly_equal(1e-301), patients_policy(), tmp_path, forge={"realised": 0.9})
    assert any("linking_risk.realised" in finding.what for finding in audit.broken), audit.findings


def test_links_of_ordinary_values_are_never_in_doubt(tmp_path):
    audit, _ = audited_file(patients(400), patients_policy(), tmp_path)
    assert "in_doubt" not in audit.figures["attacks"]
    assert not audit.broken


@pytest.mark.parametrize("small", [5e-324, 1e-320, 1e-305])
@pytest.mark.parametrize("spread", ["class", [-100, 300]], ids=["class", "declared"])
def test_values_next_to_nothing_are_released_and_not_accused(small, spread, tmp_path):
    """In units of a range of a few times 5e-324 an error overflows, or has too few digits to be compared."""
    original = nearly_equal(small)
    original["height"] = (np.random.default_rng(0).integers(1, 9, 1000) * small).tolist()
    under = patients_policy(attributes={"height": {"role": "epsilon-quasi", "precision": 0.1, "range": spread}})
    audit, _ = audited_file(original, under, tmp_path)
    assert not audit.broken, audit.findings


def audited_file(original, under, folder, *, forge=None):
    """The audit of a release in a file, with its linkage, and the linking risk that the curator's record states."""
    ke.anonymise(arrow(original), under, unsafe_seed=1).write(folder / "r.parquet", linkage=folder / "l.parquet")
    beside = folder / "r.parquet.curator.json"
    record = json.loads(beside.read_text(encoding="utf-8"))
    record["linking_risk"] |= forge or {}
    beside.write_text(json.dumps(record), encoding="utf-8")
    audit = ke.audit(arrow(original), folder / "r.parquet", under, linkage=folder / "l.parquet")
    return audit, record["linking_risk"]


def audit_of_wards(folder: Path, illnesses: list[str], *, n: int) -> tuple[ke.Record, ke.Audit]:
    """The record and the audit of a release of n records in two wards, whose illnesses are drawn from a list."""
    draw = np.random.default_rng(3)
    original = {
        "name": [f"n{i}" for i in range(n)],
        "ward": [f"w{i % 2}" for i in range(n)],
        "illness": draw.choice(illnesses, n).tolist(),
    }
    attributes = {
        "name": {"role": "identifier"},
        "ward": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
        "illness": {"role": "sensitive", "accept_leak": "made up"},
    }
    settings = {"k": 5, "epsilon": 1, "algorithm": "ola", "max_suppression": 0}
    under = policy(settings | {"attributes": attributes})
    release = ke.anonymise(arrow(original), under, unsafe_seed=1)
    release.write(folder / "released.csv")
    return release.record, ke.audit(arrow(original), folder / "released.csv", under)


def test_chances_that_are_too_small_to_matter_may_be_left_out(tmp_path):
    """A value that 28 % hold: the record took a chance of 10⁻²⁶ for 0, and the audit did not."""
    _, audit = audit_of_wards(tmp_path, ["a"] * 28 + ["b"] * 27 + ["c"] * 22 + ["d"] * 23, n=160)
    assert not audit.broken, audit.findings


def test_values_that_differ_in_blanks_agree(tmp_path):
    record, audit = audit_of_wards(tmp_path, ["flu", "flu ", " flu"], n=40)
    assert record.homogeneity["illness"].one_value == 1
    assert not audit.broken, audit.findings


def test_shares_of_a_range_are_compared_within_the_unit_that_they_are_counted_in(tmp_path):
    """Labels that leave a 683rd of the range open, which is nearly half a unit from a whole number of units of 2⁻³²."""
    original = {
        "name": [f"n{i}" for i in range(200)],
        "year": [(0, 1, 682, 683)[i % 4] for i in range(200)],
    }
    year = {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [10]}}
    settings = {"k": 60, "epsilon": 1, "algorithm": "ola", "max_suppression": 0}
    under = policy(settings | {"attributes": {"name": {"role": "identifier"}, "year": year}})
    release = ke.anonymise(arrow(original), under, unsafe_seed=1)
    release.write(tmp_path / "released.csv")
    stated = release.record.to_json()["loss"]["ncp"]["year"]
    assert 0 < abs(stated - 1 / 683) < 2**-32
    audit = ke.audit(arrow(original), tmp_path / "released.csv", under)
    assert not audit.broken, audit.findings
