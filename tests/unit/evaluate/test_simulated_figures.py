# SPDX-License-Identifier: Apache-2.0
"""Figures of a mechanism without closed forms: those of Laplace, with its closed forms taken away, are the closed forms."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate import simulated_figures
from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.evaluate.expectations import expect, expect_of_counts
from kepsilon.evaluate.large_class import LargeClassFigures, one_class
from kepsilon.evaluate.linking import likelihood_links
from kepsilon.evaluate.simulated_figures import Drawing
from kepsilon.evaluate.simulation import Blocks, SimulatedBytes
from kepsilon.evaluate.tally import realise
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.coded_values import code_values
from kepsilon.table.steps import Steps
from material.noisy_classes import noisy_classes
from material.pictured_release import picture_release
from material.several_attributes import several_classes
from oracles.noise import SEED

FINE = Fraction(1, 10_000)


@dataclass(frozen=True)
class Unsolved:
    """Laplace for somebody who can draw it and weigh it, and knows no integral; with another ε than claimed, on request."""

    factor: Fraction = Fraction(1)
    knows_its_size: bool = False
    exponential = None

    def coarse_enough(self, low, high, precision):
        return LAPLACE.coarse_enough(low, high, precision)

    def draw(self, *arguments, epsilon, **others):
        return LAPLACE.draw(*arguments, epsilon=epsilon * self.factor, **others)

    def log_likelihoods(self, *arguments, **others):
        return LAPLACE.log_likelihoods(*arguments, **others)

    def expected_distances(self, *arguments, **others):
        return LAPLACE.expected_distances(*arguments, **others) if self.knows_its_size else None

    def reach(self, *arguments, **others):
        return LAPLACE.reach(*arguments, **others)


def confident(d, *, precision=FINE, k=4, confidence=0.9, rule=ZeroRule.TEXT):
    return ConfidentK(k=k, confidence=confidence, rule=rule, precisions=(precision,) * d)


def arguments(mechanism, ranges, precision=FINE):
    steps = [Steps(precision=precision)] * ranges.shape[1]
    low = np.where(np.isnan(ranges), np.nan, 0.0)
    return {"mechanism": mechanism, "low": low, "high": ranges, "steps": steps}


@given(noisy_classes(), st.sampled_from([1, 7, 1 << 17]), st.booleans())
def test_realised_links_of_one_attribute_are_those_of_the_sorted_kernel(noisy, pairs, asked):
    """The nearest original is the most likely one; however many pairs are weighed at once."""
    values, ranges = noisy.values[:, np.newaxis], noisy.ranges[:, np.newaxis]
    wanted = confident(1, precision=Fraction(1, 10), k=2) if asked else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likelihood_links, "_PAIRS", pairs)
        (stays, fast), (same, slow) = (
            realise(
                values, [noisy.published], noisy.class_ids,
                **arguments(mechanism, ranges, Fraction(1, 10)), epsilon=noisy.epsilon, confident=wanted,
            )
            for mechanism in (LAPLACE, Unsolved())
        )  # fmt: skip
    assert stays.tolist() == same.tolist()
    assert_alike(slow.links, fast.links, epsilon=noisy.epsilon)
    assert (slow.errors, slow.sizes) == (fast.errors, fast.sizes)


@given(several_classes(fewest_attributes=1))
def test_realised_links_of_several_attributes_are_those_of_the_rings(case):
    """With missing and constant attributes."""
    columns = [case.published[:, j] for j in range(case.values.shape[1])]
    (_, fast), (_, slow) = (
        realise(
            case.values, columns, case.class_ids,
            **arguments(mechanism, case.ranges, Fraction(1, 10)), epsilon=case.epsilon,
        )
        for mechanism in (LAPLACE, Unsolved())
    )  # fmt: skip
    assert_alike(slow.links, fast.links, epsilon=case.epsilon)


def assert_alike(slow, fast, *, epsilon):
    assert slow.largest == pytest.approx(fast.largest, rel=1e-9)
    assert (slow.n_over_half, slow.n_over_nine_tenths) == (fast.n_over_half, fast.n_over_nine_tenths)
    if epsilon > 0.1:  # below, distances that differ are as likely as ties but for a part in a billion
        assert slow.fair == pytest.approx(fast.fair, rel=1e-9)
        assert slow.paper == fast.paper


def some_classes(d):
    """Thirty classes of 8 to 40 records, of which one is constant and one has missing values."""
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(8, 41, 30)
    ids = np.repeat(np.arange(30), sizes)
    values = np.column_stack([rng.normal(70, 9, len(ids)), rng.lognormal(4, 0.3, len(ids))]).round(1)[:, :d]
    values[ids == 3] = 70.0
    values[ids == 5] = np.nan
    low, high = (np.array([f(values[ids == c], axis=0) for c in range(30)]) for f in (np.min, np.max))
    return values, ids, low, high


def look(mechanism, d, stream=0):
    values, ids, low, high = some_classes(d)
    steps = [Steps(precision=FINE)] * d
    coded = [code_values(values[:, j], precision=FINE) for j in range(d)]
    blocks = Blocks.of(np.bincount(ids), first_class=stream)
    return expect(values, coded[: d == 1], ids, mechanism=mechanism, low=low, high=high, steps=steps, blocks=blocks)


def agree(one, other, *, limit):
    return abs(one.total - other.total) < limit * math.sqrt(one.variance + other.variance)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(("factor", "fits"), [(1, True), (0.7, False), (1.3, False)])
@pytest.mark.parametrize("epsilon", [2.0, 10.0])
def test_what_is_simulated_equals_the_closed_forms(d, factor, fits, epsilon):
    """Links by both rules and suppression within 5 standard errors; draws for 0.7 or 1.3 times ε are off by more than 5.

    At ε = 10 with two attributes links hardly depend on how much noise is drawn, only on how much is claimed. Errors have no stated standard error: 100,000 draws of a relative deviation of about one, so that 2 % is six of them.
    """
    asked = confident(d)
    closed = look(LAPLACE, d, stream=1).at(epsilon, confident=asked)
    found = look(Unsolved(factor=Fraction(str(factor))), d).at(epsilon, confident=asked)
    assert found.n_records == closed.n_records
    if fits or epsilon == 2:
        assert agree(found.links.fair, closed.links.fair, limit=5) is fits
        assert agree(found.links.paper, closed.links.paper, limit=5) is fits
    assert agree(found.suppressed, closed.suppressed, limit=5) is fits
    for mine, theirs in zip(found.errors, closed.errors, strict=True):
        assert (mine.n_values, mine.n_zeros, mine.low, mine.high) == (
            theirs.n_values,
            theirs.n_zeros,
            theirs.low,
            theirs.high,
        )
        assert (abs(mine.relative / theirs.relative - 1) < 0.02) is fits
        assert (abs(mine.range_relative / theirs.range_relative - 1) < 0.02) is fits


@pytest.mark.parametrize("d", [1, 2])
def test_a_size_that_is_known_is_not_simulated(d):
    """Whatever would be drawn."""
    closed = look(LAPLACE, d).at(2.0).errors
    known = look(Unsolved(factor=Fraction(1, 2), knows_its_size=True), d).at(2.0).errors
    for mine, theirs in zip(known, closed, strict=True):
        assert mine.relative == pytest.approx(theirs.relative, rel=1e-12)
        assert mine.largest_relative == pytest.approx(theirs.largest_relative, rel=1e-12)


def test_simulations_repeat_themselves_and_streams_are_apart():
    """A figure is the same whichever others are asked for; batches that look alike do not err alike."""
    asked = confident(1)
    one, again = look(Unsolved(), 1).at_each([(2.0, asked), (4.0, None)]), look(Unsolved(), 1).at(4.0)
    other = look(Unsolved(), 1, stream=1).at_each([(2.0, asked), (4.0, None)])
    assert one[1] == again
    assert one[0].links != other[0].links
    assert one[0].errors != other[0].errors
    assert one[0].suppressed != other[0].suppressed
    assert one[0].largest_possible == other[0].largest_possible


def test_no_posterior_exceeds_what_is_possible():
    """The bound of anything ε-indistinguishable is above the exact one, which is above all that was drawn."""
    closed, bound = look(LAPLACE, 1).at(4.0).largest_possible, look(Unsolved(), 1).at(4.0).largest_possible
    values, ids, low, high = some_classes(1)
    steps = [Steps(precision=FINE)]
    source = SimulatedBytes(np.random.default_rng(SEED))
    drawn = LAPLACE.draw(values, ids, low, high, epsilon=Fraction(4), steps=steps, source=source)
    _, found = realise(
        values, [drawn[:, 0]], ids, mechanism=Unsolved(), low=low, high=high, epsilon=4.0, steps=steps
    )  # fmt: skip
    assert found.links.largest <= closed * (1 + 1e-12) <= bound < 1


@pytest.mark.parametrize("limit", [10, 1 << 16])
def test_one_class_known_by_counts_is_simulated_too(monkeypatch, limit):
    """Links, errors and suppression within 5 standard errors of the closed forms; with clipped values among them."""
    monkeypatch.setattr(simulated_figures, "_LARGE", limit)
    rng = np.random.default_rng(SEED)
    originals, counts = np.unique(rng.normal(70, 12, 3000).round(), return_counts=True)
    low, high = np.array([[40.0]]), np.array([[95.0]])
    clipped, of = np.unique(originals.clip(40, 95), return_inverse=True)
    asked = confident(1, k=60, precision=Fraction(1, 100))
    closed, found = (
        expect_of_counts(
            one_class(clipped, np.bincount(of, weights=counts).astype(np.int64)),
            mechanism=mechanism, low=low, high=high, steps=[Steps(precision=Fraction(1, 100))],
            noisy_values=originals.clip(40, 95), original_values=originals, original_counts=counts,
        ).at(12.0, confident=asked)
        for mechanism in (LAPLACE, Unsolved())
    )  # fmt: skip
    assert found.n_records == closed.n_records == 3000
    assert agree(found.links.fair, closed.links.fair, limit=5)
    assert agree(found.links.paper, closed.links.paper, limit=5)
    assert 0 < closed.suppressed.total < 3000
    assert agree(found.suppressed, closed.suppressed, limit=5)
    (mine,), (theirs,) = found.errors, closed.errors
    assert (mine.n_values, mine.low, mine.high) == (theirs.n_values, theirs.low, theirs.high)
    assert mine.relative == pytest.approx(theirs.relative, rel=0.03)


def test_one_class_in_parts_is_attacked_too():
    """A class that is measured part by part has the links of the whole."""
    rng = np.random.default_rng(SEED)
    values = rng.integers(0, 40, 200) / 10
    published = (values + rng.laplace(size=200)).round(1)
    low, high = np.zeros((1, 1)), np.full((1, 1), 4.0)
    asked = confident(1, precision=Fraction(1, 10), k=30)
    wanted = {
        "low": low, "high": high, "epsilon": 4.0, "steps": [Steps(precision=Fraction(1, 10))], "confident": asked,
    }  # fmt: skip
    stays, whole = realise(
        values[:, np.newaxis], [published], np.zeros(200, dtype=np.int64), mechanism=LAPLACE, **wanted
    )
    figures = LargeClassFigures(one_class(*np.unique(values, return_counts=True)), mechanism=Unsolved(), **wanted)
    parts = [figures.measure(values[p, np.newaxis], [published[p]]) for p in (slice(0, 90), slice(90, 200))]
    assert np.concatenate(parts).tolist() == stays.tolist()
    assert not stays.all()
    found = figures.realised()
    assert_alike(found.links, whole.links, epsilon=4.0)
    assert found.sizes == whole.sizes


class Silent(Unsolved):
    """Publishes what it is given: whatever is off was clipped."""

    def draw(self, values, *others, **options):
        return values.copy()


def clipped_errors(d, *, by_counts):
    """Errors that are simulated with declared bounds, with a zero and a value far outside."""
    rng = np.random.default_rng(SEED)
    originals = np.column_stack([rng.normal(70, 12, 400), rng.normal(20, 30, 400)]).round()[:, :d]
    originals[0], originals[200] = 300.0, 0.0
    low, high = np.array([[60.0, 0.0], [50.0, 10.0]])[:, :d], np.array([[75.0, 40.0], [95.0, 20.0]])[:, :d]
    ids = np.repeat([0, 1], 200)
    steps = [Steps(precision=Fraction(1))] * d
    if by_counts:
        ids, low, high = np.zeros(400, dtype=np.int64), low[:1], high[:1]
        (before, n_before), (after, n_after) = (
            np.unique(own, return_counts=True) for own in (originals, originals.clip(low[0, 0], high[0, 0]))
        )
        found = expect_of_counts(
            one_class(after, n_after), mechanism=Silent(), low=low, high=high, steps=steps,
            noisy_values=before.clip(low[0, 0], high[0, 0]), original_values=before, original_counts=n_before,
        )  # fmt: skip
        return originals, originals.clip(low[ids], high[ids]), found.at(4.0).errors
    values = originals.clip(low[ids], high[ids])
    coded = [code_values(values[:, j], precision=Fraction(1)) for j in range(d)]
    found = expect(
        values, coded[: d == 1], ids, mechanism=Silent(), low=low, high=high, steps=steps, originals=originals
    )
    return originals, values, found.at(4.0).errors


@pytest.mark.parametrize(
    ("d", "by_counts"), [(1, False), (2, False), (1, True)], ids=["one", "two", "one class known by counts"]
)
def test_errors_that_are_simulated_are_those_of_the_originals(d, by_counts):
    """To the last digits, because nothing but clipping moves a value: distance, what it is relative to, and the range."""
    originals, values, errors = clipped_errors(d, by_counts=by_counts)
    assert len(errors) == d
    for j, found in enumerate(errors):
        before, moved = originals[:, j], np.abs(values[:, j] - originals[:, j])
        assert np.count_nonzero(moved) > 40
        assert found.distance_sum == pytest.approx(moved.sum(), rel=1e-12)
        assert found.relative == pytest.approx(np.mean(moved[before != 0] / np.abs(before[before != 0])), rel=1e-12)
        assert (found.n_values, found.n_zeros) == (400, np.count_nonzero(before == 0))
        assert (found.low, found.high) == (before.min(), before.max())


def test_error_curves_are_drawn_where_they_are_not_known():
    """Within five standard errors of the closed forms, for the classes and for the whole dataset."""
    values, ids, low, high = some_classes(2)
    pictures = [
        picture_release(
            k=5, names=["a", "b"], values=values, published=[values[:, 0], values[:, 1]], class_ids=ids,
            stays=np.ones(len(ids), dtype=bool), mechanism=mechanism, low=low, high=high, epsilon=4.0,
            steps=[Steps(precision=FINE)] * 2,
        )
        for mechanism in (LAPLACE, Unsolved())
    ]  # fmt: skip
    n = np.count_nonzero(~np.isnan(values[:, 0]))
    for closed, drawn in zip(*(own.errors for own in pictures), strict=True):
        at = [drawn.at.index(x) if x in drawn.at else None for x in closed.at]
        shared = [(i, j) for i, j in enumerate(at) if j is not None]
        assert len(shared) > 5
        for name in ("per_class", "whole_dataset"):
            for i, j in shared:
                p = getattr(closed, name)[i]
                assert abs(getattr(drawn, name)[j] - p) <= 5 * math.sqrt(p * (1 - p) / n) + 1e-3


def test_a_large_class_is_not_taken_for_gone_because_it_is_a_small_part_of_the_table(monkeypatch):
    """Those that stay may be one in a hundred: too few draws would meet none of them, and say that all go."""
    monkeypatch.setattr(simulated_figures, "_LARGE", 1_000)
    counts = np.array([150, 9_850])
    classes = one_class(np.array([0.0, 100.0]), counts)
    asked = confident(1, k=5, precision=Fraction(1, 100), rule=ZeroRule.STRICT)

    class Far(Unsolved):
        """Nobody who had the larger value is near an original any more."""

        def draw(self, values, class_ids, low, high, *, epsilon, steps, source):
            return np.where(values == 0, 0.0, 1e6)

    whole = Drawing(mechanism=Far(), low=np.zeros((1, 1)), high=np.full((1, 1), 100.0), steps=[Steps(precision=FINE)])
    for stream in range(20):
        drawing = dataclasses.replace(whole, stream=stream, share=1e-3)
        found = simulated_figures.simulated_suppression_of_one(drawing, classes, epsilon=20.0, confident=asked)
        assert found.total < 5_000
