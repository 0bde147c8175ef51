# SPDX-License-Identifier: Apache-2.0
"""The parts an audit rests on, each against something slow and obvious."""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kepsilon
from kepsilon.auditing import noise_law, order
from kepsilon.auditing.comparison import _says_range, agree
from kepsilon.auditing.covering import UNKNOWN, assign_classes
from material.audited_releases import OTHER_QUASI, patients, patients_policy, released
from oracles.noise import SEED


@given(st.integers(1, 6), st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_resolving_never_puts_a_combination_in_a_wrong_class(n_classes, n_combinations, seed):
    """Classes cover their own combinations and some of others; each class found is the true one."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_combinations)
    counts = rng.integers(1, 4, n_combinations)
    sizes = np.bincount(truth, weights=counts, minlength=n_classes).astype(int)
    covered_by = [np.flatnonzero((truth == c) | (rng.random(n_combinations) < 0.3)) for c in range(n_classes)]
    found = assign_classes(covered_by, counts, sizes)
    assert all(f in (UNKNOWN, t) for f, t in zip(found.tolist(), truth.tolist(), strict=True))
    only = [{c for c in range(n_classes) if i in covered_by[c]} for i in range(n_combinations)]
    assert all(found[i] != UNKNOWN for i in range(n_combinations) if len(only[i]) == 1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_law_of_the_noise_is_that_of_its_radius(d):
    """The tails agree with 200,000 draws of uniform coordinates times a Gamma(d + 1) radius, within 5 standard errors."""
    rng = np.random.default_rng(SEED)
    n = 200_000
    noise = rng.uniform(-1, 1, (n, d)) * rng.gamma(d + 1, size=(n, 1))
    for t in (0.1, 1.0, 3.0):
        p = float(noise_law.coordinate_beyond(np.array([t]), d)[0])
        assert abs(np.mean(noise[:, 0] > t) - p) < 5 * math.sqrt(p * (1 - p) / n)
        p = float(noise_law.radius_beyond(np.array([t]), d)[0])
        assert abs(np.mean(np.abs(noise).max(axis=1) > t) - p) < 5 * math.sqrt(p * (1 - p) / n)
    quantile = noise_law.radius_quantile(d, 0.99)
    assert float(noise_law.radius_beyond(np.array([quantile]), d)[0]) == pytest.approx(0.01)


@pytest.mark.parametrize("counts", [[1] * 40, [2] * 20, [10, 15, 15], [1, 39], [5] * 8])
def test_orders_are_judged_by_the_moments_of_random_permutations(counts):
    """No bound on equal neighbours or equal positions falls below 1e-6 in 2,000 random permutations."""
    rng = np.random.default_rng(SEED)
    codes = np.repeat(np.arange(len(counts)), counts)
    worst_group = worst_match = 1.0
    for _ in range(2_000):
        drawn = rng.permutation(codes)
        worst_group = min(worst_group, order.grouping_probability(drawn))
        worst_match = min(worst_match, order.match_probability(drawn, codes, n_codes=len(counts)))
    # Bounds on tails: the smallest of 2,000 is below 1e-6 with probability below 1 in 500.
    assert worst_group > 1e-6
    assert worst_match > 1e-6


def test_statistical_checks_are_seldom_wrong_even_at_a_generous_level(monkeypatch):
    """At a level of 1 in 20 for all checks together, few of 60 sound releases are suspected."""
    monkeypatch.setattr("kepsilon.auditing.audit.FALSE_ALARM", 0.05)
    suspected = 0
    for seed in range(30):
        case = released(patients(250, seed=seed), patients_policy(epsilon=(0.5, 2, 8)[seed % 3]), seed=seed)
        for with_linkage in (True, False):
            suspected += bool(case.audit(with_linkage=with_linkage).broken)
    assert suspected <= 12  # 3 expected at most; Poisson beyond 12 has probability below 2e-5


def test_the_headline_names_the_strongest_attacker_of_small_classes():
    """In 2,000 classes of 3 to 6 records, attackers of whole classes run too, and the headline names the best attacker."""
    rng = np.random.default_rng(SEED)
    district = np.repeat(np.arange(2000), rng.integers(3, 7, 2000))
    data = pa.table({"district": district.astype(str), "height": rng.normal(170, 8, len(district)).round(1)})
    chosen = kepsilon.Policy.from_dict(
        {
            "k": 3, "epsilon": 4, "algorithm": "ola", "max_suppression": 0,
            "attributes": {
                "district": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
                "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
            },
        }
    )  # fmt: skip
    release = kepsilon.anonymise(data, chosen, unsafe_seed=SEED)
    found = kepsilon.audit(data, release.frame, chosen, linkage=release.linkage)
    attacks = found.figures["attacks"]
    assert len(attacks["realised"]) == 3
    assert attacks["realised"]["nearest neighbour"] == pytest.approx(release.record["linking_risk"]["realised"])
    bayes = next(share for name, share in attacks["realised"].items() if "Bayes" in name)
    assert bayes > attacks["realised"]["nearest neighbour"]
    assert attacks["strongest"]["share"] == max(attacks["realised"].values())
    shown = float(re.search(r"links ([0-9.]+) % of", found.headline)[1])
    assert shown == pytest.approx(100 * attacks["strongest"]["share"], abs=0.06)
    assert attacks["strongest"]["attacker"] in found.headline


@pytest.mark.parametrize(
    ("spread", "right", "wrong"),
    [
        ("class", "class", "coarse, step 5"),
        ({"coarse": 0.5}, "coarse, step 0.5", "coarse, step 5"),
        ([130, 210], "declared [130, 210]", "declared [130, 211]"),
        ([-1.5, 2], "declared [-1.5, 2]", "class"),
    ],
)
def test_ranges_in_words_are_read_back(spread, right, wrong):
    """The words of the guarantee are accepted for the right range only."""
    quasi = patients_policy(attributes={"height": {**OTHER_QUASI, "range": spread}}).epsilon_quasis["height"]
    assert _says_range(right, quasi)
    assert not _says_range(wrong, quasi)
    assert not _says_range(["class"], quasi)


@pytest.mark.parametrize(
    ("stated", "known", "agrees"),
    [
        (1.23456789e300, 1.234567894e300, True),
        (1.23456789e300, 1.234567896e300, False),
        (1.79769313e308, 1.7976931348623157e308, True),
        (1.79769314e308, 1.7976931348623157e308, False),
        (10**400, 1.5e308, False),
        (-(10**400), 1.5, False),
        (math.inf, 1.5e308, False),
        (math.nan, 1.5, False),
        (1.23456789, 1.2345678904, True),
        (1.23456790, 1.2345678904, False),
        (True, 1, False),
        ("1", 1, False),
    ],
)
def test_figures_agree_to_nine_digits_up_to_the_end_of_doubles(stated, known, agrees):
    """A forged figure of any size is told from the honest one, and rounding is no forgery."""
    assert agree(stated, known) is agrees
