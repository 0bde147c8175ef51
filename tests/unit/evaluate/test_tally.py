# SPDX-License-Identifier: Apache-2.0
"""The tally: any split by class adds up to the whole, and what is left out by confidence is no part of it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import astuple
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.evaluate.expectations import expect
from kepsilon.evaluate.linking.linking_risk import link_sums
from kepsilon.evaluate.linking.reidentification import class_sizes, reidentification
from kepsilon.evaluate.originals import sorted_classes
from kepsilon.evaluate.originals.sorted_classes import runs_of_classes, sort_classes
from kepsilon.evaluate.tally import Tally, realise
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.coded_values import code_values
from kepsilon.table.steps import Steps
from material.noisy_classes import noisy_classes
from oracles import attacks
from oracles.noise import SEED

TENTH = Fraction(1, 10)
CONFIDENT = ConfidentK(k=2, confidence=0.9, rule=ZeroRule.TEXT, precisions=(TENTH,))


def laplace(ranges):
    """Ranges that begin at 0: figures of this mechanism depend on their widths alone."""
    steps = [Steps(precision=TENTH)] * ranges.shape[1]
    return {"mechanism": LAPLACE, "low": np.zeros_like(ranges), "high": ranges, "steps": steps}


def tally(noisy, chosen=slice(None), confident=CONFIDENT):
    values, ids = noisy.values[chosen, np.newaxis], noisy.class_ids[chosen]
    ranges = noisy.ranges[:, np.newaxis]
    coded = [code_values(values[:, 0], precision=TENTH)]
    expected = expect(values, coded, ids, **laplace(ranges)).at(noisy.epsilon, confident=confident)
    published = [noisy.published[chosen]]
    stays, realised = realise(values, published, ids, **laplace(ranges), epsilon=noisy.epsilon, confident=confident)
    return stays, Tally(expected=expected, realised=realised)


def numbers(figures):
    """All figures of a nest of tuples and arrays, one after the other; None as −1."""
    if isinstance(figures, tuple):
        return [number for part in figures for number in numbers(part)]
    if isinstance(figures, np.ndarray):
        return figures.tolist()
    return [-1.0 if figures is None else float(figures)]


@given(noisy_classes(), st.lists(st.integers(0, 2), min_size=5, max_size=5), st.sampled_from([None, CONFIDENT]))
def test_any_split_by_class_adds_up(noisy, part_of_class, confident):
    """One machine or many: the same figures, expected and realised, also where a part holds nothing."""
    part = np.array(part_of_class)[noisy.class_ids]
    parts = [tally(noisy, part == i, confident) for i in range(3)]
    stays, whole = tally(noisy, confident=confident)
    found = parts[0][1] + parts[1][1] + parts[2][1]
    np.testing.assert_allclose(numbers(astuple(found)), numbers(astuple(whole)), rtol=1e-12, atol=1e-12)
    for i in range(3):
        assert parts[i][0].tolist() == stays[part == i].tolist()


@given(noisy_classes())
def test_blocks_are_whole_classes_and_add_up(noisy):
    """Blocks are for speed alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_classes, "_IN_CACHE", 4)
        blocks = list(runs_of_classes(noisy.class_ids, n_classes=noisy.n_classes))
        _, found = tally(noisy, confident=None)
    assert sorted(i for records, _, _ in blocks for i in records) == list(range(len(noisy.values)))
    for records, own_ids, block in blocks:
        inside = (noisy.class_ids >= block.start) & (noisy.class_ids < block.stop)
        assert sorted(records) == np.flatnonzero(inside).tolist()
        assert (own_ids + block.start).tolist() == noisy.class_ids[records].tolist()
    whole = sort_classes(noisy.values, noisy.class_ids, n_classes=noisy.n_classes)
    sums = link_sums(whole, noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    np.testing.assert_allclose(astuple(found.realised.links), astuple(sums), rtol=1e-12)


def test_more_classes_than_sixteen_bits_are_grouped():
    """Class ids are sorted by digits; the second digit matters too."""
    ids = np.random.default_rng(SEED).integers(0, 150_000, 200_000)
    blocks = list(runs_of_classes(ids, n_classes=150_000))
    order = np.concatenate([records for records, _, _ in blocks])
    assert len(blocks) > 1
    assert np.array_equal(ids[order], np.sort(ids))


@given(noisy_classes(), st.sampled_from(ZeroRule), st.integers(2, 4))
def test_figures_are_of_the_records_that_stay(noisy, rule, k):
    """Links, posteriors, errors and sizes by the oracles; the originals of those who go stay candidates."""
    confident = ConfidentK(k=k, confidence=0.8, rule=rule, precisions=(TENTH,))
    stays, found = tally(noisy, confident=confident)
    reach = [float(Fraction(1, 20)) - scale * math.log(1 - 0.8) for scale in noisy.scales]
    args = (noisy.values, noisy.published, noisy.class_ids)
    counts = [attacks.in_reach(*args, i, reach=reach[c]) for i, c in enumerate(noisy.class_ids)]
    gone = attacks.suppressed(counts, noisy.class_ids, k=k, rule=rule.value)
    assert stays.tolist() == [not g for g in gone]
    left = np.flatnonzero(stays)
    links = [attacks.link(*args, i) for i in left]
    sure = [attacks.posterior(*args, i, scale=noisy.scales[noisy.class_ids[i]]) for i in left]
    sums = found.realised.links
    assert (sums.fair, sums.paper) == pytest.approx(tuple(np.reshape(links, (-1, 2)).sum(axis=0)))
    assert sums.largest == pytest.approx(max(sure, default=0.0))
    assert sums.n_over_half == sum(p > 0.5 * (1 + 1e-9) for p in sure)
    error, _ = attacks.mean_relative_error(noisy.values[left], (noisy.published - noisy.values)[left])
    assert found.realised.errors[0].relative == (None if error is None else pytest.approx(error))
    sizes = Counter(noisy.class_ids[left].tolist())
    assert (found.realised.sizes.n_records, found.realised.sizes.n_classes) == (len(left), len(sizes))
    assert all(size >= k for size in sizes.values())


def test_risks_on_the_k_quasis_are_those_of_arx():
    """Classes of 2 of 4, of 3 of 3, and one that is gone: prosecutor by the release, journalist by the original table."""
    sizes = class_sizes(np.array([2, 3, 0]), np.array([4, 3, 9]))
    found = reidentification(sizes).to_json()
    assert found["prosecutor"] == {"highest": 1 / 2, "average": 2 / 5, "share_at_highest": 2 / 5}
    assert found["journalist"] == {"highest": 1 / 3, "average": (2 / 4 + 3 / 3) / 5, "share_at_highest": 3 / 5}
    assert found["marketer"] == (2 / 4 + 3 / 3) / 5
    with pytest.raises(ValueError, match="no record"):
        reidentification(class_sizes(np.array([0]), np.array([3])))


def test_without_any_epsilon_quasi_a_class_is_one_guess():
    """All records of a class look alike: one link each, whatever its size; by the paper's rule all of them."""
    ids = np.array([0, 0, 1, 1, 1])
    nothing, ranges = np.empty((5, 0)), np.empty((2, 0))
    expected = expect(nothing, [], ids, **laplace(ranges)).at(1.0)
    stays, realised = realise(nothing, [], ids, **laplace(ranges), epsilon=1.0)
    assert stays.all()
    assert (expected.links.fair.total, expected.links.paper.total) == (2, 5)
    assert (realised.links.fair, realised.links.paper) == (pytest.approx(2), 5)
    assert realised.links.largest == pytest.approx(1 / 2)
    assert (expected.errors, realised.errors, expected.suppressed) == ((), (), None)


def test_tallies_of_different_attributes_do_not_add_up():
    """A partition that lacks a column is no partition."""
    ids = np.array([0, 0])
    values, ranges = np.array([[1.0], [2.0]]), np.ones((1, 1))
    _, one = realise(values, [values[:, 0]], ids, **laplace(ranges), epsilon=1.0)
    _, none = realise(values[:, :0], [], ids, **laplace(ranges[:, :0]), epsilon=1.0)
    with pytest.raises(ValueError, match="do not add up"):
        one + none


def test_errors_are_relative_to_what_values_were_before_clipping():
    """Clipping costs too, in what is expected as in what is realised: E|a + Z| = a + b·e^(−a/b), here with b = 1."""
    clipped, originals = np.array([[10.0], [20.0]]), np.array([[10.0], [40.0]])
    ids, ranges = np.array([0, 0]), np.full((1, 1), 10.0)
    coded = [code_values(clipped[:, 0], precision=TENTH)]
    expected = expect(clipped, coded, ids, **laplace(ranges), originals=originals).at(10.0)
    _, realised = realise(clipped, [clipped[:, 0]], ids, **laplace(ranges), epsilon=10.0, originals=originals)
    assert realised.errors[0].relative == pytest.approx(0.25)
    assert expected.errors[0].relative == pytest.approx((1 / 10 + (20 + math.exp(-20)) / 40) / 2)
