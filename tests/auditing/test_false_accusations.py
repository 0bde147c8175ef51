# SPDX-License-Identifier: Apache-2.0
"""What is sound, or protects more than was promised, is not called broken; each of these cases once was."""

from __future__ import annotations

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
    case = scaled_noise(shared_by(released(patients(2000), patients_policy()), 2), 3.0)
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
