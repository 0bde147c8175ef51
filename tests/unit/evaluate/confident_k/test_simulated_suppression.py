# SPDX-License-Identifier: Apache-2.0
"""Expected suppression for several ε-quasis: against noise drawn in another way, whole classes and parts of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kepsilon.evaluate.confident_k import simulated_suppression
from kepsilon.evaluate.confident_k.confident_k import ZeroRule
from kepsilon.evaluate.confident_k.simulated_suppression import expected_suppression
from kepsilon.evaluate.estimate import Estimate
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from material.several_attributes import diameters, fixed_several, publish
from oracles import several
from oracles.noise import SEED

K = 4
TIMES = 3000


def reach_of(ranges, epsilon):
    """About the range of confidence 0.9 for two attributes, and half a unit of precision."""
    return ranges * 3.9 / epsilon + 0.05


def another_simulation(values, ids, ranges, epsilon, *, rule, k=K, times=TIMES):
    published = publish(np.random.default_rng(SEED), values, ids, ranges, epsilon, times)
    reach = np.where(ranges > 0, reach_of(ranges, epsilon), np.inf)
    return sum(
        several.n_suppressed_of_one_class(values[ids == c], published[:, ids == c], reach[c], k=k, rule=rule)
        for c in range(len(ranges))
    )


def z_of(found, counts):
    return (found.total - counts.mean()) / np.sqrt(counts.var(ddof=1) / len(counts) + found.variance)


@pytest.mark.parametrize("rule", ZeroRule)
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 16.0])
def test_the_figures_equal_another_simulation(rule, epsilon):
    """|z| < 5 for all three rules; a pair is always fewer than k, and a constant class never goes."""
    values, ids, ranges = fixed_several()
    found = expected_suppression(
        values,
        ids,
        ranges=ranges,
        linking_ranges=reach_of(ranges, epsilon),
        epsilon=epsilon,
        k=K,
        rule=rule,
        law=LAPLACE,
    )
    counts = another_simulation(values, ids, ranges, epsilon, rule=rule.value)
    assert abs(z_of(found, counts)) < 5
    assert 0 < found.variance < 1


@pytest.mark.parametrize("rule", ZeroRule)
@pytest.mark.parametrize("k", [3, 5, 8])
def test_a_part_of_a_class_is_enough(monkeypatch, rule, k):
    """With windows of a few records the figures are the same, whether these decide if the class stays or leave it open."""
    monkeypatch.setattr(simulated_suppression, "_WINDOW", 5)
    monkeypatch.setattr(simulated_suppression, "_SIMULATED", 15_000)
    values, ids, ranges = fixed_several()
    found = expected_suppression(
        values, ids, ranges=ranges, linking_ranges=reach_of(ranges, 12.0), epsilon=12.0, k=k, rule=rule, law=LAPLACE
    )
    counts = another_simulation(values, ids, ranges, 12.0, rule=rule.value, k=k)
    assert abs(z_of(found, counts)) < 5


def coarse_classes():
    """Whole numbers with ranges of about ten, and a class that tells nothing in the second attribute."""
    rng = np.random.default_rng(SEED)
    ids = np.repeat([0, 1, 2], [12, 20, 9])
    values = rng.integers(0, 11, (len(ids), 2)).astype(float)
    values[ids == 2, 1] = 30.0
    return values, ids, diameters(values, ids, 3)


@pytest.mark.parametrize("domain", [None, (2.0, 7.0), (1.5, 7.5)])
@pytest.mark.parametrize("rule", ZeroRule)
def test_what_is_rounded_and_clamped_is_simulated_so(domain, rule):
    """|z| < 5, also where the domain cuts values off, and where its ends are no multiples of the precision."""
    values, ids, ranges = coarse_classes()
    cut = None if domain is None else (np.ceil(domain[0]), np.floor(domain[1]))
    reach = ranges * 2.4 / 12 + 0.5
    keywords = {"ranges": ranges, "linking_ranges": reach, "epsilon": 12.0, "k": K, "rule": rule, "law": LAPLACE}
    found = expected_suppression(values, ids, **keywords, precisions=[Fraction(1)] * 2, domains=[domain] * 2)
    published = publish(np.random.default_rng(SEED), values, ids, ranges, 12.0, TIMES).round()
    published = published if cut is None else published.clip(*cut)
    boxes = np.where(ranges > 0, reach, np.inf)
    counts = sum(
        several.n_suppressed_of_one_class(
            values[ids == c], published[:, ids == c], boxes[c] + 1e-9, k=K, rule=rule.value
        )
        for c in range(3)
    )
    assert abs(z_of(found, counts)) < 5
    mutant = expected_suppression(values, ids, **keywords)
    assert abs(z_of(mutant, counts)) > 5


def test_costly_simulations_are_cut_short(monkeypatch):
    """With few comparisons to spend there are fewer draws, the stated variance grows, and the figure is still right."""
    rng = np.random.default_rng(SEED)
    values, ids = rng.normal(0, 1, (600, 2)), np.repeat(np.arange(6), 100)
    ranges = diameters(values, ids, 6)
    keywords = {"ranges": ranges, "linking_ranges": ranges * 2.4 / 20, "epsilon": 20.0, "k": 8, "law": LAPLACE}
    full = expected_suppression(values, ids, **keywords)
    monkeypatch.setattr(simulated_suppression, "_COMPARISONS", 200_000)
    short = expected_suppression(values, ids, **keywords)
    assert short.variance > 5 * full.variance
    assert abs(short.total - full.total) < 5 * np.sqrt(short.variance + full.variance)


def test_rules_are_told_apart():
    """Where noise leaves many records out of reach of any original, the rules differ by more than the simulation's error."""
    values, ids, ranges = fixed_several()
    found = {
        rule: expected_suppression(
            values, ids, ranges=ranges, linking_ranges=ranges / 8, epsilon=16.0, k=K, rule=rule, law=LAPLACE
        )
        for rule in ZeroRule
    }
    text, strict, zero = (found[rule] for rule in ZeroRule)
    assert strict.total - text.total > 5 * np.sqrt(strict.variance + text.variance)
    assert zero.total - strict.total > 5 * np.sqrt(strict.variance + zero.variance)


def test_the_stated_variance_is_the_true_one(monkeypatch):
    """Streams with few draws scatter as they say: the ratio of variances of 200 has bounds of one in a million."""
    monkeypatch.setattr(simulated_suppression, "_SIMULATED", 10_000)
    values, ids, ranges = fixed_several()
    found = [
        expected_suppression(
            values, ids, ranges=ranges, linking_ranges=reach_of(ranges, 8.0), epsilon=8.0, k=K, stream=s, law=LAPLACE
        )
        for s in range(200)
    ]
    scatter = np.var([e.total for e in found], ddof=1) * 199 / np.mean([e.variance for e in found])
    assert stats.chi2.ppf(5e-7, 199) < scatter < stats.chi2.ppf(1 - 5e-7, 199)


@pytest.mark.parametrize("mutant", ["dataset range", "interval around the original"])
def test_mutants_are_caught(mutant):
    """Noise of the dataset's range, or a box around the original value: the figure is not that of what is done."""
    values, ids, ranges = fixed_several()
    reach = reach_of(ranges, 8.0)
    counts = another_simulation(values, ids, ranges, 8.0, rule="text")
    if mutant == "dataset range":
        wide = np.where(ranges > 0, np.ptp(values, axis=0), ranges)
        found = expected_suppression(values, ids, ranges=wide, linking_ranges=reach, epsilon=8.0, k=K, law=LAPLACE)
    else:
        unmoved = np.zeros_like(counts) + sum(
            several.n_suppressed_of_one_class(
                values[ids == c], values[np.newaxis, ids == c], reach[c], k=K, rule="text"
            )
            for c in range(len(ranges))
        )
        found = Estimate(total=float(unmoved.mean()))
    assert abs(z_of(found, counts)) > 20


def test_missing_values_and_empty_tables_suppress_nothing():
    """Nothing tells such records apart, so that all of a class are in reach."""
    missing = np.full((5, 2), np.nan)
    nothing = np.full((1, 2), np.nan)
    arguments = {"ranges": nothing, "linking_ranges": nothing, "epsilon": 1.0, "k": 5, "law": LAPLACE}
    assert expected_suppression(missing, np.zeros(5, dtype=int), **arguments) == Estimate()
    assert expected_suppression(missing[:0], np.zeros(0, dtype=int), **arguments) == Estimate()


def test_classes_of_fewer_than_k_go_for_certain():
    """Whatever noise does, they cannot keep k records."""
    values = np.random.default_rng(SEED).normal(size=(9, 2))
    ids = np.repeat([0, 1, 2], 3)
    ranges = diameters(values, ids, 3)
    found = expected_suppression(values, ids, ranges=ranges, linking_ranges=ranges, epsilon=1.0, k=4, law=LAPLACE)
    assert found == Estimate(total=9.0)
