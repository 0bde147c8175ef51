# SPDX-License-Identifier: Apache-2.0
"""Expected suppression of confident k: against outcomes counted one by one, against noise, and against mutants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k import expected_suppression as expected_confident_k
from kepsilon.evaluate.confident_k.confident_k import ZeroRule, originals_in_reach, suppressed_for_confidence
from kepsilon.evaluate.confident_k.expected_suppression import prepare_classes
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from material.noisy_classes import EPSILONS, Noisy, copies, diameters, fixed_classes, noisy_classes
from oracles import confidence as oracle
from oracles.noise import SEED

TIMES = 1000
CONFIDENCES = [0.5, 0.7, 0.9, 0.99, 0.99999]
RULES = pytest.mark.parametrize("rule", ZeroRule)


def reach_at(ranges, epsilon, confidence, half_precision=0.05):
    return -ranges / epsilon * np.log(1 - confidence) + half_precision


def closed(values, ids, ranges, *, k, **arguments):
    return prepare_classes(sort_classes(values, ids, n_classes=len(ranges)), k=k).expected(
        ranges=ranges, law=LAPLACE, **arguments
    )


reaches = st.tuples(st.sampled_from(CONFIDENCES), st.sampled_from([0.0, 0.05, 2.0]))


@given(noisy_classes(), reaches, st.integers(2, 6), st.sampled_from(ZeroRule))
def test_expected_suppression_equals_the_oracle(noisy, how_far, k, rule):
    """Ties, constant classes with and without noise, classes too small, and none at all."""
    reach = reach_at(noisy.ranges, noisy.epsilon, *how_far)
    found = closed(noisy.values, noisy.class_ids, noisy.ranges, reach=reach, epsilon=noisy.epsilon, k=k, rule=rule)
    slow, _ = oracle.suppression(noisy.values, noisy.class_ids, scales=noisy.scales, reach=reach, k=k, rule=rule.value)
    np.testing.assert_allclose(found, slow, rtol=0, atol=1e-10)


@given(noisy_classes(), st.integers(0, 30), st.integers(2, 6), st.sampled_from(ZeroRule))
def test_a_reach_on_the_steps_of_the_values_equals_the_oracle(noisy, tenths, k, rule):
    """Intervals that only touch, or are a single point, whatever binary makes of their ends."""
    reach = np.full(noisy.n_classes, tenths / 20)
    found = closed(noisy.values, noisy.class_ids, noisy.ranges, reach=reach, epsilon=noisy.epsilon, k=k, rule=rule)
    slow, _ = oracle.suppression(
        noisy.values, noisy.class_ids, scales=noisy.scales, reach=reach + 1e-13, k=k, rule=rule.value
    )
    np.testing.assert_allclose(found, slow, rtol=0, atol=1e-9)


domains = st.tuples(st.integers(-8, 20), st.integers(1, 30)).map(lambda ends: (ends[0], ends[0] + ends[1]))


@given(noisy_classes(), st.integers(0, 30), st.integers(2, 6), st.sampled_from(ZeroRule), domains)
@example(
    # One original far below the domain, others below it whose reach has its lower end: an interval in which nothing is
    # published was taken to stand inside the next one, and the expectation was 10²¹ records of a class of 48.
    Noisy(
        values=np.array([-40.0, -20.0, -15.0, -12.0, 10.0, 20.0]),
        published=np.zeros(6),
        class_ids=np.zeros(6, dtype=np.int64),
        ranges=np.array([60.0]),
        epsilon=100.0,
    ),
    66,
    2,
    ZeroRule.TEXT,
    (-14, 15),
)
def test_published_values_inside_a_domain_equal_the_oracle(noisy, tenths, k, rule, domain):
    """Also where originals, and all that is in their reach, are beyond the domain."""
    reach = np.full(noisy.n_classes, tenths / 10 + 0.03)
    found = closed(
        noisy.values,
        noisy.class_ids,
        noisy.ranges,
        reach=reach,
        epsilon=noisy.epsilon,
        k=k,
        rule=rule,
        steps=Steps(precision=Fraction(1), domain=(Fraction(domain[0]), Fraction(domain[1]))),
    )
    slow, _ = oracle.suppression(
        noisy.values,
        noisy.class_ids,
        scales=noisy.scales,
        reach=reach,
        k=k,
        rule=rule.value,
        precision=1,
        domain=domain,
    )
    np.testing.assert_allclose(found, slow, rtol=0, atol=1e-9)


@RULES
@pytest.mark.parametrize(
    ("k", "epsilon", "confidence"),
    [(20, 64.0, 0.75), (45, 16.0, 0.8), (60, 16.0, 0.92), (80, 2.0, 0.94), (88, 0.5, 0.98), (90, 0.05, 0.99)],
)
def test_a_class_that_hangs_in_the_balance_equals_the_oracle(k, epsilon, confidence, rule):
    """Ninety records, some far out, whichever of those that stay and those that go are fewer; long polynomials too."""
    values = np.random.default_rng(SEED).standard_t(4, size=90).round(1)
    ids, ranges = np.zeros(90, dtype=int), np.array([np.ptp(values)])
    reach = reach_at(ranges, epsilon, confidence)
    found = closed(values, ids, ranges, reach=reach, epsilon=epsilon, k=k, rule=rule)
    slow = oracle.suppressed_distribution(
        values.tolist(), scale=ranges[0] / epsilon, reach=reach[0], k=k, rule=rule.value
    )
    assert rule is ZeroRule.TEXT or 0.02 < slow[90] < 0.98
    np.testing.assert_allclose(found, oracle.mean_and_variance(slow)[0], rtol=0, atol=1e-10)


def realised(values, ids, ranges, *, reach, epsilon, k, rule):
    """Mean number suppressed of every class over many draws, by the functions that look at what was published."""
    n_classes = len(ranges)
    many, many_ids, n_many = copies(values, ids, n_classes, TIMES)
    noise = np.random.default_rng(SEED).laplace(size=len(many)) * np.tile(ranges / epsilon, TIMES)[many_ids]
    classes = sort_classes(many, many_ids, n_classes=n_many)
    counts = originals_in_reach(classes, many + noise, linking_ranges=np.tile(reach, TIMES))
    gone = suppressed_for_confidence(counts, many_ids, k=k, n_classes=n_many, rule=rule)
    return np.bincount(many_ids, weights=gone, minlength=n_many).reshape(TIMES, n_classes).mean(axis=0)


def fixed_case(epsilon, confidence, k, rule):
    values, ids, n_classes = fixed_classes()
    ranges = diameters(values, ids, n_classes)
    reach = reach_at(ranges, epsilon, confidence)
    _, variances = oracle.suppression(values, ids, scales=ranges / epsilon, reach=reach, k=k, rule=rule.value)
    arguments = {"reach": reach, "epsilon": epsilon, "k": k, "rule": rule}
    return values, ids, ranges, arguments, np.sqrt(np.array(variances) / TIMES)


@RULES
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("confidence", [0.7, 0.99])
def test_expected_suppression_equals_monte_carlo(epsilon, confidence, rule):
    """|z| < 5 for every class, with exact variances, on noise that is not rounded."""
    values, ids, ranges, arguments, deviations = fixed_case(epsilon, confidence, 4, rule)
    differences = realised(values, ids, ranges, **arguments) - closed(values, ids, ranges, **arguments)
    assert np.all(np.abs(differences) <= 5 * deviations + 1e-9)


@RULES
@pytest.mark.parametrize("k", [200, 280])
def test_expected_suppression_of_a_large_class_equals_monte_carlo(k, rule):
    """Numbers between 0 and m have a variance of at most mean·(m − mean)."""
    rng = np.random.default_rng(SEED + 1)
    values = np.exp(rng.normal(4, 0.4, 300)).round(1)
    ids, ranges = np.zeros(300, dtype=int), np.array([np.ptp(values)])
    arguments = {"reach": reach_at(ranges, 16.0, 0.9), "epsilon": 16.0, "k": k, "rule": rule}
    expected = closed(values, ids, ranges, **arguments)
    deviation = np.sqrt(expected * (300 - expected) / TIMES)
    assert np.abs(realised(values, ids, ranges, **arguments) - expected) <= 5 * deviation + 1e-9


def caught_by_noise(mutant, values, ids, ranges, arguments, deviations):
    """Whether draws tell a wrong expectation from the right one, by a class whose suppression is a matter of chance."""
    drawn, chancy = realised(values, ids, ranges, **arguments), deviations > 0
    assert np.all(np.abs(drawn - closed(values, ids, ranges, **arguments)) <= 5 * deviations + 1e-9)
    return np.any(np.abs(drawn - mutant)[chancy] > 10 * deviations[chancy])


@RULES
def test_the_interval_around_the_original_value_is_caught(rule):
    """The mutant is the formula as printed, which knows who goes before any noise is drawn."""
    case = fixed_case(2.0, 0.7, 4, rule)
    values, ids, ranges, arguments, _ = case
    classes = sort_classes(values, ids, n_classes=len(ranges))
    counts = originals_in_reach(classes, values, linking_ranges=arguments["reach"])
    gone = suppressed_for_confidence(counts, ids, k=4, n_classes=len(ranges), rule=rule)
    assert caught_by_noise(np.bincount(ids, weights=gone, minlength=len(ranges)), *case)


@RULES
def test_the_dataset_range_instead_of_the_class_range_is_caught(rule):
    """The mutant takes the noise for wider than it is."""
    case = fixed_case(2.0, 0.7, 4, rule)
    values, ids, ranges, arguments, _ = case
    mutant = np.full(len(ranges), np.ptp(values))
    wider = closed(values, ids, mutant, **(arguments | {"reach": reach_at(mutant, 2.0, 0.7)}))
    assert caught_by_noise(wider, *case)


@RULES
def test_a_forgotten_class_rule_is_caught(rule, monkeypatch):
    """The mutant suppresses records by themselves only."""
    case = fixed_case(2.0, 0.7, 4, rule)
    values, ids, ranges, arguments, _ = case
    with monkeypatch.context() as patch:
        patch.setattr(expected_confident_k, "may_fall", lambda stays, sizes, *, k: np.zeros(len(sizes), dtype=bool))
        mutant = closed(values, ids, ranges, **arguments)
    assert caught_by_noise(mutant, *case)


@pytest.mark.parametrize("taken", [ZeroRule.STRICT, ZeroRule.SUPPRESS_ZERO])
def test_another_rule_taken_for_the_text_is_caught(taken):
    """The mutants count records out of reach as gone."""
    case = fixed_case(2.0, 0.7, 4, ZeroRule.TEXT)
    values, ids, ranges, arguments, _ = case
    assert caught_by_noise(closed(values, ids, ranges, **(arguments | {"rule": taken})), *case)


@given(noisy_classes(), reaches, st.integers(2, 6))
def test_stricter_rules_and_larger_k_suppress_more(noisy, how_far, k):
    """Draw by draw, and so on average; a longer reach suppresses less only where records out of reach go too."""
    reach = reach_at(noisy.ranges, noisy.epsilon, *how_far)

    def found(rule, k=k, reach=reach):
        return closed(noisy.values, noisy.class_ids, noisy.ranges, reach=reach, epsilon=noisy.epsilon, k=k, rule=rule)

    text, strict, zero = (found(rule) for rule in (ZeroRule.TEXT, ZeroRule.STRICT, ZeroRule.SUPPRESS_ZERO))
    sizes = np.bincount(noisy.class_ids, minlength=noisy.n_classes)
    assert np.all(text >= 0)
    assert np.all(text <= strict + 1e-12)
    assert np.all(strict <= zero + 1e-12)
    assert np.all(zero <= sizes)
    for rule, fewer in ((ZeroRule.TEXT, text), (ZeroRule.STRICT, strict), (ZeroRule.SUPPRESS_ZERO, zero)):
        assert np.all(fewer <= found(rule, k=k + 1) + 1e-12)
    assert np.all(found(ZeroRule.SUPPRESS_ZERO, reach=reach + 0.3) <= zero + 1e-12)


@RULES
def test_nothing_goes_where_everything_is_in_reach(rule):
    """Confidence near 1 and small ε: only classes with fewer than k records go."""
    values, ids, n_classes = fixed_classes()
    ranges = diameters(values, ids, n_classes)
    found = closed(values, ids, ranges, reach=ranges * 500 + 1, epsilon=0.1, k=4, rule=rule)
    assert found.tolist() == [0, 0, 2, 0, 0, 0]


def test_as_noise_grows_a_record_is_out_of_reach_as_often_as_the_confidence_allows():
    """A class becomes one place: ℓ is all or nothing, and 1 − c of the records go if those out of reach do."""
    values, ids = np.arange(300) / 10, np.zeros(300, dtype=int)
    ranges, epsilon = np.array([29.9]), 1e-7
    arguments = {"reach": reach_at(ranges, epsilon, 0.9, 0.0), "epsilon": epsilon, "k": 10}
    zero = closed(values, ids, ranges, rule=ZeroRule.SUPPRESS_ZERO, **arguments)
    text = closed(values, ids, ranges, rule=ZeroRule.TEXT, **arguments)
    assert zero == pytest.approx(30, rel=1e-6)
    assert text == pytest.approx(0, abs=1e-5)


@RULES
def test_without_noise_records_hide_each_other_and_small_classes_go(rule):
    """Constant and missing values: all in one place, and gone together if fewer than k."""
    values = np.array([5.0, 5, 5, 7, 7, np.nan, np.nan, np.nan, np.nan])
    ids = np.array([0, 0, 0, 1, 1, 3, 3, 3, 4])
    ranges = np.array([0.0, 0, 0, np.nan, np.nan])
    found = closed(values, ids, ranges, reach=ranges + 0.5, epsilon=2.0, k=3, rule=rule)
    assert found.tolist() == [0, 2, 0, 0, 1]


@RULES
@pytest.mark.parametrize("width", [5e-324, 1e-310, 1e-200])
def test_a_range_next_to_nothing_beside_the_precision_keeps_all(rule, width):
    """The reach over the scale overflows: everything is in reach."""
    values, ids = np.array([0.0, 0.0, width, width]), np.zeros(4, dtype=int)
    found = closed(values, ids, np.array([width]), reach=np.array([1e200]), epsilon=100.0, k=3, rule=rule)
    assert found.tolist() == [0]


def test_no_classes_have_no_suppression():
    """An empty part of a table has nothing to add."""
    none = np.empty(0)
    found = closed(none, np.empty(0, dtype=int), none, reach=none, epsilon=1.0, k=2, rule=ZeroRule.TEXT)
    assert found.shape == (0,)
    no_ids, three = np.empty(0, dtype=int), np.zeros(3)
    found = closed(none, no_ids, three, reach=three, epsilon=1.0, k=2, rule=ZeroRule.TEXT)
    assert found.tolist() == [0, 0, 0]


@RULES
def test_blocks_and_preparing_change_nothing(rule, monkeypatch):
    """Classes are looked at in blocks; one class to a block gives the same, and so does what was prepared before."""
    values, ids, n_classes = fixed_classes()
    ranges = diameters(values, ids, n_classes)
    arguments = {"ranges": ranges, "reach": reach_at(ranges, 8.0, 0.7), "epsilon": 8.0, "rule": rule}
    prepared = prepare_classes(sort_classes(values, ids, n_classes=n_classes), k=4)
    together = prepared.expected(law=LAPLACE, **arguments)
    monkeypatch.setattr(expected_confident_k, "_IN_CACHE", 1)
    np.testing.assert_allclose(prepared.expected(law=LAPLACE, **arguments), together, rtol=1e-13)
    prepared.expected(law=LAPLACE, **(arguments | {"epsilon": 1.0}))
    np.testing.assert_allclose(prepared.expected(law=LAPLACE, **arguments), together, rtol=1e-13)
