# SPDX-License-Identifier: Apache-2.0
"""The bounds behind statistical findings hold: against every permutation of a few records, and against many draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kepsilon.auditing import (
    noise_law,
    noise_of_records,
    noise_unlinked,
    order,
    pattern_bounds,
    published_values,
    tail_bounds,
)
from kepsilon.auditing.false_alarms import FALSE_ALARM, SHARES, FalseAlarms
from material.audited_releases import OTHER_QUASI, patients, patients_policy, released
from oracles.noise import SEED

PERMUTATIONS = np.array(list(itertools.permutations(range(7))))
"""All orders of seven records."""


def holds(statistics, bound):
    """Whether P(statistic ≥ x) is at most the bound at x, for every x, over equally probable outcomes."""
    statistics = np.array(statistics, dtype=float)
    return all(np.mean(statistics >= x) <= bound(x) + 1e-12 for x in np.unique(statistics))


def test_neighbours_in_every_order_of_seven():
    """The number of neighbours that were neighbours before never exceeds its bound's probability."""
    found = np.count_nonzero(np.abs(np.diff(PERMUTATIONS, axis=1)) == 1, axis=1)
    assert holds(found, lambda x: tail_bounds.neighbours_bound(int(x), 7))
    assert tail_bounds.neighbours_bound(6, 7) == pytest.approx(2 / 5040)
    assert tail_bounds.neighbours_bound(29, 30) < 1e-30


def test_neighbours_among_many_are_about_poisson():
    """In 20,000 orders of 60 records the number beyond each bound is no more than the bound says, within 5 errors."""
    rng = np.random.default_rng(SEED)
    found = np.array([np.count_nonzero(np.abs(np.diff(rng.permutation(60))) == 1) for _ in range(20_000)])
    for m in range(3, 12):
        p = tail_bounds.neighbours_bound(m, 60)
        assert np.mean(found >= m) <= p + 5 * np.sqrt(p / 20_000)


@pytest.mark.parametrize("second", [[0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 5, 9]])
def test_sums_and_trends_in_every_order_of_seven(second):
    """Correlations with a sequence in random order stay below their bounds."""
    a = np.arange(7) - 3.0
    b = np.array(second) - np.mean(second)
    sums = np.abs(a[PERMUTATIONS] @ b)
    assert holds(sums, lambda x: tail_bounds.permuted_sum_bound(x, a, b))
    size = np.sqrt((a @ a) * (b @ b))
    assert holds(sums / size, lambda x: tail_bounds.permuted_trend_bound(x, 7))


@pytest.mark.parametrize(
    "codes", [[0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2, 3], [0, 0, 0, 0, 0, 0, 1]]
)
def test_matches_and_groups_in_every_order_of_seven(codes):
    """Agreement by position and equal neighbours stay below their bounds."""
    codes = np.array(codes)
    found = [order.match_probability(codes[p], codes, n_codes=7) for p in PERMUTATIONS]
    grouped = [order.grouping_probability(codes[p]) for p in PERMUTATIONS]
    for bounds in (np.array(found), np.array(grouped)):
        for level in np.unique(bounds):
            assert np.mean(bounds <= level) <= level + 1e-12


@pytest.mark.parametrize("values", [[0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 2, 3, 3, 3], [0, 0, 0, 0, 0, 0, 1]])
def test_stretches_in_every_order_of_seven(values):
    """Threes that rise or fall throughout stay below their bound, whatever values are equal."""
    values = np.array(values, dtype=float)
    bounds = np.array([order.stretches_probability(values[p]) for p in PERMUTATIONS])
    for level in np.unique(bounds):
        assert np.mean(bounds <= level) <= level + 1e-12


def test_stretches_among_many():
    """In 3,000 orders of 90 records each level is undercut no more often than it says, within 5 standard errors."""
    rng = np.random.default_rng(SEED)
    found = np.array([order.stretches_probability(rng.permutation(90).astype(float)) for _ in range(3_000)])
    for level in (0.5, 0.1, 0.01, 0.001):
        assert np.mean(found <= level) <= level + 5 * np.sqrt(level / 3_000)


def uniform_cases(rng, n_classes=12, size=9):
    ids = np.repeat(np.arange(n_classes), size)
    return ids, rng.uniform(-1, 1, len(ids))


TESTS = {
    "shared": pattern_bounds.shared_probability,
    "opposite": lambda v, ids: pattern_bounds.shared_probability(v, ids, opposite=True),
    "ties": lambda v, ids: pattern_bounds.ties_probability(v, ids, lattice=noise_law.LATTICE),
    "ties over all": lambda v, ids: pattern_bounds.ties_probability(v, np.zeros_like(ids), lattice=noise_law.LATTICE),
    "repeated": lambda v, ids: pattern_bounds.repeated_probability((v + 1) / 2),
    "follows": lambda v, ids: pattern_bounds.follows_probability(v, np.linspace(-1, 1, len(v))),
    "special": pattern_bounds.special_probability,
    "copied": lambda v, ids: pattern_bounds.copied_probability(v, ids, np.arange(len(ids)) % 9),
    "leaning": lambda v, ids: published_values.leaning_probability(np.sign(v), ids, bias=np.zeros(len(v))),
    "leaning over all": lambda v, ids: published_values.leaning_probability(
        np.sign(v), np.zeros_like(ids), bias=np.zeros(len(v))
    ),
    "thinner": lambda v, ids: pattern_bounds.thinner_probability(v, ids, lattice=noise_law.LATTICE),
    "thinner over all": lambda v, ids: pattern_bounds.thinner_probability(
        v, np.zeros_like(ids), lattice=noise_law.LATTICE
    ),
}


@pytest.mark.parametrize("name", TESTS)
def test_patterns_are_found_in_independent_noise_no_more_often_than_the_bound_says(name):
    """In 3,000 draws each level is undercut no more often than it says, within 5 standard errors."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(3_000):
        ids, values = uniform_cases(rng)
        found.append(TESTS[name](values, ids))
    for level in (0.5, 0.1, 0.01, 0.001):
        assert np.mean(np.array(found) <= level) <= level + 5 * np.sqrt(level / 3_000)


CHOICES = {
    "negative": lambda v: v < -0.8,
    "large": lambda v: v > 0.8,
    "near 0": lambda v: np.abs(v) < 0.15,
    "where the sign is against the place": lambda v: v * np.linspace(-1, 1, len(v)) < -0.5,
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", TESTS)
def test_no_choice_of_the_records_left_out_makes_a_pattern(name, choice):
    """Whatever is left out, a bound is no smaller than that of all records: at no level are there more alarms."""
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        ids, values = uniform_cases(rng)
        hidden = np.where(CHOICES[choice](values), np.nan, values)
        assert TESTS[name](hidden, ids) >= TESTS[name](values, ids) - 1e-12


def test_classes_left_out_as_a_whole_make_no_pattern():
    """Classes that agree least are left out; the bound over the others is no smaller than that over all."""
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        ids, values = uniform_cases(rng)
        sums = np.abs(np.bincount(ids, weights=values))
        gone = np.argsort(sums)[:4]
        stays = ~np.isin(ids, gone)
        part = pattern_bounds.shared_probability(values[stays], ids[stays], n_absent=4, least=9)
        assert part >= pattern_bounds.shared_probability(values, ids) - 1e-12


def test_patterns_that_are_there_are_found():
    """Each test notices what it is there for, at a level of 1e-8."""
    rng = np.random.default_rng(SEED)
    ids, values = uniform_cases(rng, n_classes=150, size=20)
    pairs = values.copy()
    pairs[1::2] = pairs[0::2]
    assert TESTS["shared"](pairs, ids) < 1e-8
    assert TESTS["ties"](pairs + rng.uniform(-1e-4, 1e-4, len(pairs)), ids) < 1e-8
    opposite = values.copy()
    opposite[1::2] = -opposite[0::2]
    assert TESTS["opposite"](opposite, ids) < 1e-8
    assert TESTS["repeated"](np.tile(values[:20], 150), ids) < 1e-8
    assert TESTS["follows"](np.sort(values), ids) < 1e-8
    assert TESTS["special"](np.where(ids == 3, 0.9, values), ids) < 1e-5
    assert TESTS["leaning"](np.where(ids % 2, 1.0, -1.0) * np.abs(values), ids) < 1e-8
    twice = np.concatenate([values[:100], values[:100], values[200:]])
    assert pattern_bounds.copied_probability(twice, np.arange(3000) // 100, np.arange(3000) % 100) < 1e-8
    thin = np.where(ids % 10 == 0, 2 * (1 - (1 - (values + 1) / 2) ** 0.25) - 1, values)
    assert TESTS["thinner"](thin, ids) < 1e-8


@pytest.mark.parametrize("test", [noise_unlinked.moved_probability, noise_unlinked.unmoved_probability])
def test_classes_move_as_independent_noise_moves_them(test):
    """In 3,000 draws of 40 classes of 12 two-valued scores each level is undercut no more often than it says."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(3_000):
        excess = rng.choice([-1.0, 1.0], (40, 12)).sum(axis=1)
        found.append(test(excess, np.full(40, 12.0)))
    for level in (0.1, 0.01, 0.001):
        assert np.mean(np.array(found) <= level) <= level + 5 * np.sqrt(level / 3_000)


def drawn_together(rng, n=300, d=3):
    """Noise of records with d ε-quasis, in units of its scale, and bounds on the sizes as rounding leaves them."""
    noise = rng.uniform(-1, 1, (n, d)) * rng.gamma(d + 1, size=(n, 1))
    nearest = np.floor(np.abs(noise) * 20) / 20
    return noise, nearest, nearest + 0.05


def test_noises_of_a_record_go_together_as_the_law_says():
    """In 3,000 draws of 300 records each level is undercut no more often than it says; rounding only makes it rarer."""
    rng = np.random.default_rng(SEED)
    found: list[tuple[float, ...]] = []
    for _ in range(3_000):
        noise, least, most = drawn_together(rng)
        signs = noise_of_records.signs_together(np.sign(noise[:, 0] * noise[:, 1]), n_gone=0)
        found.append((*noise_of_records.sizes_together(least, most, np.full(300, 3), n_gone=0), signs))
    for bounds in np.array(found).T:
        for level in (0.1, 0.01, 0.001):
            assert np.mean(bounds <= level) <= level + 5 * np.sqrt(level / 3_000)


def test_noises_of_a_record_that_go_together_otherwise_are_found():
    """Equal sizes, sizes of other records and equal signs, each at a level of 1e-8; records left out only weaken it."""
    rng = np.random.default_rng(SEED)
    _, least, most = drawn_together(rng, n=3000)
    n_active = np.full(3000, 3)
    same = least[:, [0, 0, 0]], most[:, [0, 0, 0]]
    assert noise_of_records.sizes_together(*same, n_active, n_gone=0)[0] < 1e-8
    assert noise_of_records.sizes_together(*same, n_active, n_gone=3000)[0] == 1.0
    apart = [
        np.stack([bound[:, 0], np.roll(bound[:, 1], 1), np.roll(bound[:, 2], 2)], axis=1) for bound in (least, most)
    ]
    assert noise_of_records.sizes_together(*apart, n_active, n_gone=0)[1] < 1e-8
    agreement = np.where(rng.random(3000) < 0.6, 1.0, -1.0)
    assert noise_of_records.signs_together(agreement, n_gone=0) < 1e-8
    assert noise_of_records.signs_together(agreement, n_gone=2000) > 1e-2


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_noise_that_may_be_nothing_says_nothing_about_sizes(zero):
    """Published where it was, a record may have had noise of any size up to half the precision; −0 is no size below 0."""
    least, most = np.full((300, 2), zero), np.ones((300, 2))
    assert noise_of_records.sizes_together(least, most, np.full(300, 2), n_gone=0) == (1.0, 1.0)


@pytest.mark.parametrize("m", [2, 10])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_no_residue_is_likelier_than_its_bound(d, m):
    """Summed over all steps, from any original between two steps, a residue has 1/m within the bound, which is not idle."""
    units = np.arange(-40_000, 40_001)
    for scale in (0.05, 0.3, 1.0, 4.0, 50.0):
        bound = float(published_values.residue_bias(np.array([scale]), np.array([d]), m)[0])
        worst = 0.0
        for centre in np.linspace(0, 0.5, 7):
            edges = noise_law.marginal_cdf((np.append(units, units[-1] + 1) - 0.5 - centre) / scale, d)
            mass = np.bincount(units % m, weights=np.diff(edges), minlength=m)
            worst = max(worst, float(np.abs(mass - 1 / m).max()))
        assert worst <= bound + 1e-9
        assert bound < 0.01 or scale <= 4 * m


def test_the_shares_of_all_families_sum_to_one():
    """So the sum over all tests is at most the total, however many tests a family has."""
    assert sum(SHARES.values()) == pytest.approx(1.0)
    alarms = FalseAlarms()
    for family in SHARES:
        level = alarms.level(family, n_tests=7)
        assert level * 7 == pytest.approx(FALSE_ALARM * SHARES[family])
    assert alarms.spent == pytest.approx(FALSE_ALARM)
    with pytest.raises(RuntimeError, match="already"):
        alarms.level("order", n_tests=1)


@pytest.mark.parametrize("n_more", [0, 2, 8])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_the_levels_of_an_audit_sum_to_one_in_a_million(n_more, confidence):
    """Whatever the number of columns, the tests of an audit are given 1e-6 together at most, and nearly that."""
    original = patients(600)
    roles = {}
    for i in range(n_more):
        original[f"kept{i}"] = [str((row * (i + 3)) % 11) for row in range(600)]
        roles[f"kept{i}"] = {"role": "sensitive"}
    if n_more:
        original["weight"] = [round(40 + (i * 7919) % 600 / 10, 1) for i in range(600)]
        roles["weight"] = OTHER_QUASI
    case = released(original, patients_policy(attributes=roles, confidence=confidence))
    for with_linkage in (True, False):
        spent = case.audit(with_linkage=with_linkage).figures.false_alarm
        assert spent is not None
        assert 0.4 * FALSE_ALARM < spent <= FALSE_ALARM * (1 + 1e-9)


def test_a_size_of_minus_zero_is_a_size_of_nothing():
    """Rounding leaves −0.0 as the least size of a noise; a division by it accused honest releases."""
    least, most = np.array([[0.0, -0.0], [-0.0, -0.0]]), np.array([[0.4, np.inf], [2.5, 2.5]])
    n_active = np.array([2, 2])
    assert noise_of_records.sizes_together(least, most, n_active, n_gone=0) == noise_of_records.sizes_together(
        np.abs(least), most, n_active, n_gone=0
    )
    assert min(noise_of_records.sizes_together(least, most, n_active, n_gone=0)) == 1.0
