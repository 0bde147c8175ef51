# SPDX-License-Identifier: Apache-2.0
"""Links to persons: the attacker adds up the likelihoods of everybody's originals in the class."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.largest_person_posterior import largest_by_counts, largest_of_persons
from kepsilon.evaluate.linking.person_links import expected_person_links, person_link_sums
from kepsilon.evaluate.originals.class_values import count_values
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.tally import realise
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.coded_values import code_values
from kepsilon.table.steps import Steps
from material.toy_mechanism import Toy
from oracles import persons as slow
from oracles.noise import SEED

TENTH = Fraction(1, 10)


def laplace(ranges):
    """Ranges that begin at 0: figures of this mechanism depend on their widths alone."""
    steps = [Steps(precision=TENTH)] * ranges.shape[1]
    return {"mechanism": LAPLACE, "low": np.zeros_like(ranges), "high": ranges, "steps": steps}


@st.composite
def attacked(draw):
    """Up to three classes of records of few persons, with up to two ε-quasis, in tenths; some classes have no noise."""
    n_classes, d = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    numbers = st.lists(st.integers(-15, 15), min_size=d, max_size=d)
    record = st.tuples(st.integers(0, n_classes - 1), st.integers(0, 4), numbers, numbers, st.booleans())
    records = draw(st.lists(record, min_size=1, max_size=25))
    ids, persons = (np.array([r[i] for r in records]) for i in (0, 1))
    values, published = (np.array([r[i] for r in records], dtype=float).reshape(len(records), d) / 10 for i in (2, 3))
    ranges = np.array(draw(st.lists(st.sampled_from([0.0, 3.0, 5.0]), min_size=n_classes, max_size=n_classes)))
    values[ranges[ids] == 0] = published[ranges[ids] == 0] = 1.0
    stays = np.array([r[4] for r in records])
    return values, published, ids, persons, np.tile(ranges[:, np.newaxis], (1, d)), stays


@given(attacked(), st.sampled_from([0.1, 1.0, 8.0]))
def test_realised_links_equal_those_of_the_slow_attacker(case, epsilon):
    """With ties, classes without noise, no ε-quasi at all, and records that are not released but stay candidates."""
    values, published, ids, persons, ranges, stays = case
    members = members_of(persons, ids, n_classes=len(ranges))
    found = person_link_sums(values, published, ids, stays, members, **laplace(ranges), epsilon=epsilon)
    links = [
        slow.link(
            published[i],
            values[ids == ids[i]],
            persons[ids == ids[i]].tolist(),
            persons[i],
            ranges=ranges[ids[i]],
            epsilon=epsilon,
        )
        for i in np.flatnonzero(stays)
    ]
    fair, paper, posterior = np.reshape(links, (-1, 3)).T
    assert found.fair == pytest.approx(fair.sum())
    assert found.paper == paper.sum()
    assert found.largest == pytest.approx(posterior.max(initial=0.0))
    assert found.n_over_half == np.count_nonzero(posterior > 0.5 * (1 + 1e-9))


@given(attacked(), st.sampled_from([1.0, 8.0]))
def test_the_tally_adds_classes_with_and_without_repetition(case, epsilon):
    """Whatever classes have several records of a person, each is attacked once."""
    values, published, ids, persons, ranges, _ = case
    columns = [published[:, j] for j in range(values.shape[1])]
    stays, found = realise(values, columns, ids, **laplace(ranges), epsilon=epsilon, persons=persons)
    members = members_of(persons, ids, n_classes=len(ranges))
    alone = person_link_sums(values, published, ids, stays, members, **laplace(ranges), epsilon=epsilon)
    assert found.links.fair == pytest.approx(alone.fair)
    assert found.links.paper == pytest.approx(alone.paper)
    assert found.links.largest == pytest.approx(alone.largest)
    by_class = [persons[ids == c].tolist() for c in np.unique(ids)]
    assert found.persons.fewest == min(len(set(own)) for own in by_class)
    most = [max(own.count(p) for p in own) for own in by_class]
    assert found.persons.n_most == sum(most)
    assert found.persons.largest.share == max(m / len(own) for m, own in zip(most, by_class, strict=True))


def some_persons(d, n_classes=12):
    """Classes of 6 to 30 records; persons have one to five records each, in up to two classes; one class is constant."""
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(6, 31, n_classes)
    ids = np.repeat(np.arange(n_classes), sizes)
    values = np.column_stack([rng.normal(70, 9, len(ids)), rng.lognormal(4, 0.3, len(ids))]).round(1)[:, :d]
    persons = rng.integers(0, len(ids) // 3, len(ids)) + 1000 * (ids // 2)
    values[ids == 3] = 70.0
    low, high = (np.array([f(values[ids == c], axis=0) for c in range(n_classes)]) for f in (np.min, np.max))
    order = np.lexsort((values[:, 0], ids))
    return values[order], ids[order], persons[order], low, high


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_expected_links_equal_what_a_real_attacker_finds(d, epsilon):
    """Fifty thousand attacks on fresh noise, within five standard errors of both together."""
    values, ids, persons, low, high = some_persons(d)
    members = members_of(persons, ids, n_classes=len(low))
    arguments = {"mechanism": LAPLACE, "low": low, "high": high, "steps": [Steps(precision=TENTH)] * d}
    (found,) = expected_person_links(values, ids, members, **arguments, epsilons=[epsilon])
    rng = np.random.default_rng(SEED + 1)
    widths = high - low
    totals = []
    for _ in range(300):
        noise = LAPLACE.unit_noise(widths[ids] > 0, rng) * widths[ids] / epsilon
        sums = person_link_sums(
            values, values + noise, ids, np.ones(len(ids), dtype=bool), members, **arguments, epsilon=epsilon
        )
        totals.append((sums.fair, sums.paper))
    for own, drawn in zip((found.fair, found.paper), np.array(totals).T, strict=True):
        variance = own.variance + drawn.var(ddof=1) / len(drawn)
        assert abs(own.total - drawn.mean()) < 5 * math.sqrt(variance)
        assert own.standard_error < 0.03 * own.total
    by_records = members_of(np.arange(len(ids)), ids, n_classes=len(low))
    (mutant,) = expected_person_links(values, ids, by_records, **arguments, epsilons=[epsilon])
    assert mutant.fair.total < 0.9 * found.fair.total, "links to records are fewer"


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_expected_links_of_a_discrete_mechanism_equal_enumeration(epsilon):
    """Every published value of every class, with its probability: the sum of the best person's likelihood."""
    mechanism = Toy()
    rng = np.random.default_rng(SEED)
    ids = np.repeat(np.arange(4), [5, 9, 3, 8])
    values = rng.integers(0, 6, len(ids)).astype(float)[:, np.newaxis]
    persons = rng.integers(0, 6, len(ids))
    order = np.lexsort((values[:, 0], ids))
    values, persons = values[order], persons[order]
    steps = [Steps(precision=Fraction(1))]
    low, high = np.zeros((4, 1)), np.full((4, 1), 5.0)
    members = members_of(persons, ids, n_classes=4)
    (found,) = expected_person_links(
        values, ids, members, mechanism=mechanism, low=low, high=high, steps=steps, epsilons=[epsilon]
    )
    exact = 0.0
    for x, c in itertools.product(range(6), range(4)):
        chances = np.where(values[ids == c, 0] == x, math.exp(epsilon), 1.0) / (math.exp(epsilon) + 5)
        exact += max(np.bincount(persons[ids == c], weights=chances))
    assert abs(found.fair.total - exact) < 5 * found.fair.standard_error + 1e-6 * exact


def test_a_class_without_noise_is_linked_to_whoever_has_most_records():
    """Exactly, with or without an ε-quasi; by the paper's rule a tie of two is worth two."""
    ids, persons = np.repeat([0, 1], [5, 4]), np.array([1, 1, 1, 2, 3, 1, 1, 2, 2])
    members = members_of(persons, ids, n_classes=2)
    for d in (0, 1):
        ends = np.full((2, d), 7.0)
        (found,) = expected_person_links(
            np.full((9, d), 7.0), ids, members, mechanism=LAPLACE, low=ends, high=ends, steps=[], epsilons=[1.0]
        )
        assert (found.fair, found.paper) == (Estimate(total=3 + 2), Estimate(total=3 + 4))


def test_a_sample_of_released_records_stands_for_all():
    """Above the budget links are scaled up from records that are spread over the class; within it they are exact."""
    rng = np.random.default_rng(SEED)
    n = 3_000
    ids, persons = np.repeat([0, 1], [n - 50, 50]), rng.integers(0, 400, n)
    values = rng.normal(70, 9, (n, 1)).round(1)
    ranges = np.array([[np.ptp(values[ids == c])] for c in (0, 1)])
    noise = LAPLACE.unit_noise(np.ones((n, 1), dtype=bool), rng) * ranges[ids] / 8
    stays = rng.random(n) < 0.9
    members = members_of(persons, ids, n_classes=2)

    def attack(**keywords):
        return person_link_sums(values, values + noise, ids, stays, members, **laplace(ranges), epsilon=8.0, **keywords)

    exact, sampled = attack(), attack(comparisons=400)
    assert attack(comparisons=n) == exact
    assert attack(comparisons=400) == sampled != exact
    share = exact.fair / np.count_nonzero(stays)
    assert abs(sampled.fair - exact.fair) < 5 * math.sqrt(share / 380) * n
    assert sampled.largest <= exact.largest


def matchings(values, published, persons, *, epsilon):
    """P(record a is about person p), all matchings of a class weighed one by one; values are in units of the range."""
    far = np.abs(published[:, np.newaxis] - values).max(axis=2)
    likelihoods = np.exp(-epsilon * (far - far.min(axis=1, keepdims=True)))
    found = np.zeros((len(values), int(persons.max()) + 1))
    for matching in itertools.permutations(range(len(values))):
        weight = math.prod(likelihoods[a, i] for a, i in enumerate(matching))
        for a, i in enumerate(matching):
            found[a, persons[i]] += weight
    return found / found.sum(axis=1, keepdims=True)


@st.composite
def small_classes(draw):
    """Up to six originals of up to four persons, in tenths of the range; published near them, on them and far away."""
    m, d = draw(st.integers(1, 6)), draw(st.integers(1, 2))
    tenths = st.lists(st.lists(st.integers(0, 10), min_size=d, max_size=d), min_size=m, max_size=m)
    values = np.array(draw(tenths), dtype=np.float64) / 10
    far = st.sampled_from([-1000, -12, -1, 0, 3, 10, 11, 25, 1000])
    places = st.one_of(st.lists(far, min_size=d, max_size=d), st.sampled_from((10 * values).tolist()))
    published = np.array(draw(st.lists(places, min_size=m, max_size=m))) / 10
    persons = np.array(draw(st.lists(st.integers(0, 3), min_size=m, max_size=m)))
    return values, published, persons, draw(st.sampled_from([0.1, 0.5, 2.0, 4.0]))


def bounds(values, persons, *, epsilon):
    """The bound whatever the values are, and for one ε-quasi the one that knows them."""
    ids = np.zeros(len(values), dtype=np.int64)
    members = members_of(persons, ids, n_classes=1)
    yield largest_by_counts(members, np.ones(1, dtype=bool), epsilon=epsilon)
    if values.shape[1] == 1:
        coded = code_values(values[:, 0], precision=TENTH)
        classes = count_values(coded, ids, n_classes=1)
        yield from largest_of_persons(coded, members, classes, ranges=np.ones(1), epsilons=[epsilon])


@given(small_classes())
def test_nobody_is_surer_of_a_person_than_the_bounds(case):
    """Neither of one record at a time, nor whoever matches the class one to one, whose matchings are all written down."""
    values, published, persons, epsilon = case
    for x in published:
        weights = slow.person_weights(x, values, persons.tolist(), ranges=np.ones(len(x)), epsilon=epsilon)
        largest = max(weights.values()) / sum(weights.values())
        assert all(largest <= bound * (1 + 1e-9) for bound in bounds(values, persons, epsilon=epsilon))
    if len(values) <= 5:
        surest = matchings(values, published, persons, epsilon=epsilon).max()
        assert all(surest <= bound * (1 + 1e-9) for bound in bounds(values, persons, epsilon=2 * epsilon))


@given(small_classes())
def test_the_bound_that_knows_the_values_is_the_smaller_one(case):
    """And never below a guess among the records of the class."""
    values, _, persons, epsilon = case
    found = list(bounds(values[:, :1], persons, epsilon=epsilon))
    assert found[1] <= found[0] * (1 + 1e-12)
    assert found[1] >= max(np.bincount(persons)) / len(persons) * (1 - 1e-12)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 100.0])
def test_both_bounds_are_reached_where_a_person_is_alone_at_one_end(m, epsilon):
    """m records of one person at one end, three of another at the other: one at a time at ε, matching at 2ε if m is 1."""
    values = np.array([[0.0]] * m + [[1.0]] * 3)
    persons = np.array([0] * m + [1] * 3)
    weights = slow.person_weights([0.0], values, persons.tolist(), ranges=[1.0], epsilon=epsilon)
    for bound in bounds(values, np.array([0] * m + [1, 2, 3]), epsilon=epsilon):
        assert weights[0] / sum(weights.values()) == pytest.approx(bound, rel=1e-12)
        assert bound == pytest.approx(1 / (1 + 3 / m * math.exp(-epsilon)), rel=1e-12)
    if m == 1 and epsilon < 10:
        surest = matchings(values, values, np.arange(4), epsilon=epsilon)[0, 0]
        assert surest == pytest.approx(1 / (1 + 3 * math.exp(-2 * epsilon)), rel=1e-12)


def test_the_bound_without_noise_is_the_share_of_the_class():
    members = members_of(np.array([1, 1, 1, 2, 5, 6]), np.array([0, 0, 0, 0, 1, 1]), n_classes=2)
    assert largest_by_counts(members, np.zeros(2, dtype=bool), epsilon=9.0) == 3 / 4
