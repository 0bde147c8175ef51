# SPDX-License-Identifier: Apache-2.0
"""Tamperings that need a policy of their own are caught; `test_tamperings.py` runs the table of all others."""

from __future__ import annotations

import random

import pytest

from material.audited_releases import NUMERIC_QUASIS, OTHER_QUASI, patients, patients_policy, released, rounded
from material.tamperings import scaled_noise


@pytest.fixture(scope="module")
def sound():
    return released(patients(2000), patients_policy())


@pytest.fixture(scope="module")
def sound_mondrian():
    return released(patients(2000), patients_policy(algorithm="mondrian", attributes=NUMERIC_QUASIS))


def broken_checks(case, *, with_linkage):
    audit = case.audit(with_linkage=with_linkage)
    shown = "\n".join([*map(str, audit.findings), str(audit.to_json()), audit.headline])
    assert "CANARY" not in shown
    return {finding.check for finding in audit.broken}, shown


@pytest.mark.parametrize("n", [500, 2000])
@pytest.mark.parametrize("epsilon", [0.5, 2, 8])
def test_half_the_noise_is_broken_and_twice_the_noise_a_warning(epsilon, n):
    """A few hundred records are enough with the linkage, whatever ε."""
    case = released(patients(n), patients_policy(epsilon=epsilon))
    less, shown = broken_checks(scaled_noise(case, 0.5), with_linkage=True)
    assert "noise" in less, shown
    audit = scaled_noise(case, 2.0).audit()
    assert not [f for f in audit.broken if f.check == "noise"]
    assert [f for f in audit.of("warning") if f.check == "noise"]


@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
def test_half_the_noise_is_caught_without_a_linkage(epsilon):
    """A thousand records are enough where noise is not small against the class; see docs/audit.md for larger ε."""
    case = released(patients(1100), patients_policy(epsilon=epsilon))
    checks, shown = broken_checks(scaled_noise(case, 0.5), with_linkage=False)
    assert "noise" in checks, shown
    audit = scaled_noise(case, 2.0).audit(with_linkage=False)
    assert [f for f in audit.of("warning") if f.check == "noise"]


def test_noise_drawn_for_each_attribute_alone_is_caught():
    """Noise drawn with ε for each of two attributes gives an attacker 2ε for the record."""
    import numpy as np

    original = patients(1500)
    original["weight"] = [round(40 + (i * 7919) % 600 / 10, 1) for i in range(1500)]
    case = released(
        original, patients_policy(attributes={"weight": {**OTHER_QUASI, "range": "class", "precision": 0.1}})
    )
    ids = np.array(case.linkage["class_id"])
    rng = np.random.default_rng(6)
    columns = {}
    for name in ("height", "weight"):
        own = np.array(case.own(name))
        widths = np.array([np.ptp(own[ids == c]) for c in range(ids.max() + 1)])
        columns[name] = [rounded(float(x)) for x in own + rng.laplace(size=len(own)) * widths[ids] / 2]
    checks, shown = broken_checks(case.change(**columns), with_linkage=True)
    assert "noise" in checks, shown
    same = {}
    for name in ("height", "weight"):
        own = np.array(case.own(name))
        widths = np.array([np.ptp(own[ids == c]) for c in range(ids.max() + 1)])
        unit = (np.array(case.released["height"]) - np.array(case.own("height"))) / np.array(
            [np.ptp(np.array(case.own("height"))[ids == c]) or 1 for c in range(ids.max() + 1)]
        )[ids]
        same[name] = [rounded(float(x)) for x in own + unit * widths[ids]]
    checks, shown = broken_checks(case.change(**same), with_linkage=True)
    assert "noise" in checks, "one noise for both attributes has the right size in each, but not together"


@pytest.mark.parametrize("with_linkage", [True, False], ids=["linkage", "no linkage"])
def test_a_value_beyond_the_domain_is_caught(with_linkage):
    """The policy promises publicly that no value lies outside the domain."""
    height = {**OTHER_QUASI, "domain": [150, 190]}
    case = released(patients(400), patients_policy(attributes={"height": height}))
    checks, shown = broken_checks(case.change(height=[200.0, *case.released["height"][1:]]), with_linkage=with_linkage)
    assert "domain" in checks, shown


@pytest.mark.parametrize("with_linkage", [True, False], ids=["linkage", "no linkage"])
def test_a_constant_class_that_publishes_something_else_is_caught(with_linkage):
    """A constant class has range 0 and no noise, so it must publish its one value."""
    original = patients(300)
    original["height"] = [170.0] * 300
    case = released(original, patients_policy())
    checks, shown = broken_checks(case.change(height=[171.0, *case.released["height"][1:]]), with_linkage=with_linkage)
    assert "ranges" in checks, shown


def test_half_the_noise_is_caught_where_labels_overlap_but_ranges_are_declared():
    """Declared ranges are the same for everybody, so it does not matter which originals are in which class."""
    height = {"role": "epsilon-quasi", "precision": 0.1, "range": [140, 200]}
    original = patients(1500)
    original["zip"] = [f"{i * 7919 % 9}{i * 31 % 7}{i * 17 % 10}" for i in range(1500)]
    case = released(original, patients_policy(algorithm="mondrian", attributes={"height": height}))
    sound = case.audit(with_linkage=False)
    assert [f for f in sound.of("note") if f.check == "counts"], "the labels overlap"
    assert not sound.broken
    clipped = [min(200, max(140, v)) for v in case.own("height")]
    halved = [rounded(v + (x - v) / 2) for v, x in zip(clipped, case.released["height"], strict=True)]
    checks, shown = broken_checks(case.change(height=halved), with_linkage=False)
    assert "noise" in checks, shown


def test_whatever_is_done_to_a_release_the_audit_ends_in_findings(sound, sound_mondrian):
    """The audit neither crashes nor shows a record's value."""
    rng = random.Random(11)
    odd = [None, "", "*", "CANARY-x", "null", "[1, 2]", "{a}", "1e400", "\x1b[31m"]
    odd_numbers = [None, 1e300, -1e300, 0.0, -0.0, 170.05, 5e-324, 1e17]
    for case in (sound, sound_mondrian):
        small = case.rows(list(range(200)))
        for _ in range(15):
            columns = {name: list(values) for name, values in small.released.items()}
            for _ in range(rng.choice([1, 3, 30])):
                name = rng.choice(list(columns))
                columns[name][rng.randrange(200)] = rng.choice(odd_numbers if name == "height" else odd)
            for with_linkage in (True, False):
                checks, _ = broken_checks(small.change(**columns), with_linkage=with_linkage)
                assert checks
