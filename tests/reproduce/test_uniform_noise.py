# SPDX-License-Identifier: Apache-2.0
"""What uniform noise gives away: closed forms and attacks against slow, obvious ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.reproduce.experiments import uniform_noise as subject
from kepsilon.reproduce.experiments.counted_data import count_data
from kepsilon.reproduce.scope import Scope
from material.small_data_sets import SHORT, assert_plain, of_people, short_michigan
from oracles.noise import seeded

U = 0.05

classes_of_people = st.lists(
    st.lists(st.integers(1500, 2200).map(lambda tenths: tenths / 10), min_size=1, max_size=9), min_size=1, max_size=4
)


def sorted_classes(members):
    values = np.array([value for own in members for value in own])
    class_ids = np.repeat(np.arange(len(members)), [len(own) for own in members])
    return sort_classes(values, class_ids, n_classes=len(members)), values


def support(v):
    return v * (1 - U), v * (1 + U)


def pairs_apart(members):
    """Pairs of different values, one by one: can both publish the same?"""
    pairs = [pair for own in members for pair in itertools.combinations(sorted(own), 2) if pair[0] != pair[1]]
    apart = [support(v)[1] < support(w)[0] for v, w in pairs]
    return sum(apart) / len(apart) if apart else None


def mean_ruled_out(members):
    """For every record and every other original, the part of the record's interval that the other's does not cover."""
    shares = []
    for own in members:
        for i, v in enumerate(own):
            others = own[:i] + own[i + 1 :]
            low, high = support(v)
            outside = []
            for w in others:
                covered = max(0.0, min(high, support(w)[1]) - max(low, support(w)[0]))
                outside.append(1 - covered / (high - low))
            shares.append(sum(outside) / len(others) if others else 0.0)
    return sum(shares) / len(shares)


def best_links(members):
    """The integral of the largest density over all that can be published; between ends of intervals it is constant."""
    total = 0.0
    for own in members:
        ends = sorted({end for v in own for end in support(v)})
        for low, high in itertools.pairwise(ends):
            middle = (low + high) / 2
            densities = [1 / (2 * U * v) for v in own if support(v)[0] < middle < support(v)[1]]
            total += (high - low) * max(densities, default=0.0)
    return total


@given(classes_of_people)
def test_closed_forms_are_those_of_every_pair(members):
    """Disjoint pairs, originals ruled out, and links of the best attacker."""
    classes, _ = sorted_classes(members)
    assert subject.disjoint_pairs(classes) == pytest.approx(pairs_apart(members))
    assert subject.expected_ruled_out(classes) == pytest.approx(mean_ruled_out(members), abs=1e-9)
    assert subject.expected_uniform_links(classes) == pytest.approx(best_links(members))


@given(classes_of_people, st.integers(0, 2**32))
def test_an_attack_is_that_of_somebody_who_tries_every_original(members, seed):
    """Which originals are possible, which is likeliest, and how sure that makes the attacker."""
    classes, values = sorted_classes(members)
    published = values * (1 + U * np.random.default_rng(seed).uniform(-0.999, 0.999, len(values)))
    found = subject.attack_uniform(classes, published)
    records = [(own, v) for own in members for v in own]
    ruled_out, links, posteriors, n_certain = [], 0.0, [], 0
    for (own, v), x in zip(records, published.tolist(), strict=True):
        possible = [w for w in own if support(w)[0] <= x <= support(w)[1]]
        ruled_out.append((len(own) - len(possible)) / max(1, len(own) - 1))
        links += (v == min(possible)) / own.count(v)
        posteriors.append((1 / v) / sum(1 / w for w in possible))
        n_certain += len(possible) == 1
    n = len(records)
    assert found.ruled_out == pytest.approx(sum(ruled_out) / n)
    assert found.risk == pytest.approx(links / n)
    assert found.over_half == pytest.approx(sum(p > 0.5 + 1e-9 for p in posteriors) / n)
    assert found.over_nine_tenths == pytest.approx(sum(p > 0.9 + 1e-9 for p in posteriors) / n)
    assert found.certain == pytest.approx(n_certain / n)
    assert (found.least_likelihood == 0) == (sum(ruled_out) > 0)


def test_two_far_values_are_told_apart_for_certain_by_one_noise_and_never_by_the_other():
    """100 and 200 cm have no published value in common under ±5 %; per class no original is ever ruled out."""
    heights = [100.0] * 10 + [200.0] * 10
    found = subject.uniform_noise(count_data(of_people(["F"] * 20, heights)), "ola", Scope(runs=5))
    assert_plain(found)
    assert found["disjoint_pairs"] == 1
    uniform, per_class = found["uniform_noise"], found["class_noise"]
    assert uniform["ruled_out"] == pytest.approx(10 / 19)
    assert uniform["ruled_out_expected"] == pytest.approx(10 / 19)
    assert (uniform["risk"], uniform["risk_expected"]) == pytest.approx((0.1, 0.1))
    assert (uniform["least_likelihood"], uniform["certain"]) == (0, 0)
    assert found["epsilon"] == pytest.approx(np.mean(100 / np.array(heights)) / 0.025, abs=1e-4)
    assert (per_class["ruled_out"], per_class["certain"]) == (0, 0)
    assert per_class["least_likelihood"] >= math.exp(-found["epsilon"]) * (1 - 1e-9)


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_draws_come_near_the_closed_forms(algorithm):
    """|z| < 5 with the runs' own standard error widened for so few of them; and noise per class rules nothing out."""
    found = subject.uniform_noise(count_data(short_michigan()), algorithm, Scope(runs=10))
    uniform, per_class = found["uniform_noise"], found["class_noise"]
    for figures, name in ((uniform, "ruled_out"), (uniform, "risk"), (per_class, "risk")):
        # Student's t with nine degrees of freedom exceeds 12 less than once in a million times.
        assert abs(figures[name] - figures[f"{name}_expected"]) < 12 * figures[f"{name}_standard_error"]
    assert 0.5 < uniform["ruled_out"] < 1
    assert uniform["certain"] > 0
    assert (per_class["ruled_out"], per_class["certain"]) == (0, 0)
    assert per_class["least_likelihood"] >= per_class["least_likelihood_bound"] * (1 - 1e-6)


def test_uniform_draws_are_uniform_over_the_whole_interval():
    """Mean error 2.5 %, nothing beyond 5 %, and as often above as below."""
    values = np.full(200_000, 170.0)
    relative = subject.uniformly_noisy(values, seeded(4711)) / values - 1
    assert np.abs(relative).max() < U
    assert abs(np.abs(relative).mean() - U / 2) < 5 * U / math.sqrt(12 * len(values))
    assert abs(np.mean(relative > 0) - 0.5) < 5 * 0.5 / math.sqrt(len(values))


def test_noise_per_class_is_attacked_by_trying_every_original():
    """Posteriors and links by hand; and the least likely original is never below e^−ε of the likeliest."""
    data = count_data(of_people(["F"] * 12 + ["M"] * 9, np.linspace(150.0, 187.9, 21).round(1)))
    policy = data.policy(algorithm="ola", k=9)
    noisy = data.noisy_classes(data.partitions("ola", [9])[9], policy)
    classes = sort_classes(noisy.values, noisy.ranges.class_ids, n_classes=2)
    drawn = noisy.draw(8, seeded(4712))
    found = subject.attack_laplace(classes, noisy, drawn, epsilon=8)
    posteriors, links, least = [], 0, []
    for v, x, own in zip(noisy.values, drawn, noisy.ranges.class_ids, strict=True):
        others = noisy.values[noisy.ranges.class_ids == own]
        weights = np.exp(-8 * np.abs(x - others) / (others.max() - others.min()))
        posteriors.append(weights[others == v][0] / weights.sum())
        least.append(weights.min() / weights.max())
        links += np.abs(x - v) == np.abs(x - others).min()
    assert found.over_half == pytest.approx(np.mean(np.array(posteriors) > 0.5))
    assert found.risk == pytest.approx(links / 21)
    assert math.exp(-8) * (1 - 1e-9) <= found.least_likelihood <= min(least) * (1 + 1e-9)
    assert (found.ruled_out, found.certain) == (0, 0)


def test_quick_settings_are_enough_for_a_standard_error():
    """And a single run has none."""
    data = count_data(short_michigan(500))
    assert subject.uniform_noise(data, "ola", SHORT)["uniform_noise"]["risk_standard_error"] > 0
    assert subject.uniform_noise(data, "ola", Scope(runs=1))["uniform_noise"]["risk_standard_error"] is None
