# SPDX-License-Identifier: Apache-2.0
"""The attacker who joins records with equal noisy values, and so sees all classes that a person is in."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.expectations import expect
from kepsilon.evaluate.linking.joined_records import expected_joined_links, signatures_of_records
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.coded_values import code_values
from kepsilon.table.steps import Steps
from material.toy_mechanism import Toy
from oracles.attacks import laplace_cdf
from oracles.noise import SEED

TENTH = Fraction(1, 10)
LOW, HIGH = 0.0, 10.0


@st.composite
def encounters(draw):
    """Records of up to six persons in up to three classes, and a value for each person."""
    records = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=20))
    persons, class_ids = np.array(records).T
    values = np.array(draw(st.lists(st.integers(0, 10), min_size=6, max_size=6)), dtype=float)
    return persons * 10**15 - 3, class_ids, values[np.unique(persons)]


def slow_signatures(persons, class_ids):
    return {p: tuple(sorted(Counter(class_ids[persons == p].tolist()).items())) for p in np.unique(persons).tolist()}


def joined(signatures, values, *, epsilon, mechanism=LAPLACE, step=TENTH):
    (found,) = expected_joined_links(
        signatures,
        values[:, np.newaxis],
        low=np.array([LOW]),
        high=np.array([HIGH]),
        epsilons=[epsilon],
        mechanism=mechanism,
        steps=[Steps(precision=step)],
    )
    return found


@given(encounters(), st.sampled_from([0.2, 2.0, 12.0]))
def test_the_share_equals_the_sum_over_all_candidates(case, epsilon):
    """A person is linked if noise leaves it nearer to its own value than to that of anybody with the same classes."""
    persons, class_ids, values = case
    distinct, signatures = signatures_of_records(persons, class_ids)
    slow = slow_signatures(persons, class_ids)
    assert distinct.tolist() == list(slow)
    for (i, p), (j, q) in itertools.product(enumerate(slow), repeat=2):
        assert (signatures.of_person[i] == signatures.of_person[j]) == (slow[p] == slow[q])
    scale, linked = (HIGH - LOW) / epsilon, 0.0
    for i, p in enumerate(slow):
        alike = [values[j] for j, q in enumerate(slow) if slow[q] == slow[p]]
        above = min((v for v in alike if v > values[i]), default=math.inf)
        below = max((v for v in alike if v < values[i]), default=-math.inf)
        chance = laplace_cdf((above - values[i]) / 2, scale) - laplace_cdf((below - values[i]) / 2, scale)
        linked += np.count_nonzero(persons == p) * chance / alike.count(values[i])
    found = joined(signatures, values, epsilon=epsilon)
    assert found.share.total == pytest.approx(linked / len(persons))
    assert found.share.variance == 0
    fewest = min(Counter(slow.values()).values())
    assert found.largest <= 1 / (1 + (fewest - 1) * math.exp(-epsilon)) * (1 + 1e-9)
    assert found.largest_by_matching <= 1 / (1 + (fewest - 1) * math.exp(-2 * epsilon)) * (1 + 1e-9)
    assert found.largest <= found.largest_by_matching


def test_joining_ignored_says_far_too_little():
    """The mutant that looks at each class by itself: everybody has a signature of their own, and is linked for sure."""
    rng = np.random.default_rng(SEED)
    persons = np.repeat(np.arange(64), 7)
    # Six classes of a patient are the digits of the patient's number, and the seventh is everybody's.
    class_ids = np.array([[(p // 2**i) % 2 + 2 * i for i in range(6)] + [0] for p in range(64)]).reshape(-1)
    values = rng.uniform(LOW, HIGH, 64).round(1)
    _, signatures = signatures_of_records(persons, class_ids)
    found = joined(signatures, values, epsilon=0.5)
    assert found.share.total == found.largest == 1
    order = np.argsort(class_ids, kind="stable")
    own = values[persons][order]
    ends = np.full((class_ids.max() + 1, 1), LOW), np.full((class_ids.max() + 1, 1), HIGH)
    by_class = expect(
        own[:, np.newaxis], [code_values(own, precision=TENTH)], class_ids[order],
        mechanism=LAPLACE, low=ends[0], high=ends[1], steps=[Steps(precision=TENTH)],
    ).at(0.5)  # fmt: skip
    assert by_class.links.fair.total / len(persons) < 0.05
    assert by_class.largest_possible < 0.1


def test_a_discrete_mechanism_equals_enumeration():
    """Every published value of every signature: the sum of the largest likelihood, times the records of each person."""
    rng = np.random.default_rng(SEED)
    persons = np.repeat(np.arange(40), np.tile([1, 3], 20))
    class_ids = np.where(persons % 2 == 0, 0, np.tile([0, 1, 1, 2], 20))
    values = rng.integers(0, 11, 40).astype(float)
    _, signatures = signatures_of_records(persons, class_ids)
    assert signatures.n_signatures == 2
    found = joined(signatures, values, epsilon=1.5, mechanism=Toy(), step=Fraction(1))
    chance = {True: math.exp(1.5) / (math.exp(1.5) + 10), False: 1 / (math.exp(1.5) + 10)}
    exact = 0.0
    for x, group in itertools.product(range(11), range(2)):
        n_own = 1 if group == 0 else 3
        exact += n_own * max(chance[v == x] for v in values[group::2])
    assert abs(found.share.total - exact / len(persons)) < 5 * found.share.standard_error + 1e-12


def test_several_attributes_are_simulated_within_their_standard_error():
    """An attack on fresh noise, two hundred times; persons with other numbers of records are weighed by these."""
    rng = np.random.default_rng(SEED)
    n_own = np.tile([1, 2, 2, 5], 30)
    persons = np.repeat(np.arange(120), n_own)
    class_ids = np.concatenate([np.arange(n) % 2 for n in n_own])
    values = rng.uniform(LOW, HIGH, (120, 2)).round(1)
    distinct, signatures = signatures_of_records(persons, class_ids)
    assert len(distinct) == 120
    arguments = {"low": np.full(2, LOW), "high": np.full(2, HIGH), "mechanism": LAPLACE}
    found = expected_joined_links(
        signatures, values, **arguments, epsilons=[3.0, 9.0], steps=[Steps(precision=TENTH)] * 2
    )
    for epsilon, own in zip((3.0, 9.0), found, strict=True):
        shares = []
        for _ in range(200):
            x = values + LAPLACE.unit_noise(np.ones((120, 2), dtype=bool), rng) * (HIGH - LOW) / epsilon
            far = np.abs(x[:, np.newaxis] - values).max(axis=2)
            far[signatures.of_person[:, np.newaxis] != signatures.of_person] = np.inf
            best = far == far.min(axis=1, keepdims=True)
            shares.append(np.dot(n_own, np.diag(best) / best.sum(axis=1)) / n_own.sum())
        error = math.sqrt(own.share.variance + np.var(shares, ddof=1) / len(shares))
        assert abs(own.share.total - np.mean(shares)) < 5 * error
        assert own.share.standard_error < 0.05 * own.share.total
    assert found[0].share.total < found[1].share.total
