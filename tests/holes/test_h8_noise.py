# SPDX-License-Identifier: Apache-2.0
"""Review H8: noise that is shared, repeated, thinner for some or carries a message was called sound by version 0.1."""

from __future__ import annotations

from functools import cache

import pytest

from material.audited_releases import Case, patients, patients_policy, released
from material.tamperings import TAMPERINGS

MISSED = {
    "noise shared by 2": 2000,
    "noise shared by 3": 2000,
    "noise shared by 4": 2000,
    "noise shared by 6": 300,
    "antithetic pairs": 2000,
    "noise repeated over classes": 300,
    "sign tells a bit of a kept column": 2000,
    "noise rises with the row": 2000,
    "size of noise rises with the row": 2000,
    "a quarter of the noise for a tenth, at random": 6000,
    "a quarter of the noise for the first tenth of the input": 3000,
    "a quarter of the noise for a tenth of the illnesses": 3000,
    "a quarter of the noise for a tenth of the classes": 3000,
}
"""Records that each tampering is tried with."""


@cache
def sound(n: int) -> Case:
    return released(patients(n), patients_policy())


@pytest.mark.parametrize("name", MISSED)
def test_h8_noise_that_is_not_drawn_anew_is_noticed(name):
    """With the linkage the audit calls it broken, and the same release before it was tampered with is sound."""
    case = sound(MISSED[name])
    assert not case.audit().broken
    audit = TAMPERINGS[name].change(case).audit()
    assert "noise" in {finding.check for finding in audit.broken}, [str(finding) for finding in audit.findings]


@pytest.mark.parametrize("name", ["noise shared by 6", "antithetic pairs", "sign tells a bit of a kept column"])
def test_h8_some_of_it_is_noticed_without_a_linkage(name):
    """Classes move too much or too little as a whole, and kept values tell which originals a record may come from."""
    case = sound(4000)
    assert not case.audit(with_linkage=False).broken
    audit = TAMPERINGS[name].change(case).audit(with_linkage=False)
    assert "noise" in {finding.check for finding in audit.broken}, [str(finding) for finding in audit.findings]


@pytest.mark.parametrize("n_shared", [2, 3, 6])
def test_h8_shared_noise_is_noticed_where_confident_k_left_records_out(n_shared):
    """The tests allow for any choice of the records that are left out, and still see what the others share."""
    case = released(patients(3000), patients_policy(confidence=0.9, epsilon=4))
    assert len(case.released["height"]) < 3000
    assert not case.audit().broken
    audit = TAMPERINGS[f"noise shared by {n_shared}"].change(case).audit()
    assert "noise" in {finding.check for finding in audit.broken}, [str(finding) for finding in audit.findings]
