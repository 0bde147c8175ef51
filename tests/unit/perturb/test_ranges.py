# SPDX-License-Identifier: Apache-2.0
"""The ends of every class under the three ways to set a range."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepsilon.perturb.ranges import ClassRange, CoarseRange, DeclaredRange, clip_to_range

TENTH = Fraction(1, 10)


def ends(given_range, low, high, precision=TENTH):
    lo, hi = given_range.of_classes(np.array(low, dtype=float), np.array(high, dtype=float), precision=precision)
    return lo.tolist(), hi.tolist()


def test_class_range_is_that_of_the_records():
    """The paper's choice (§IV)."""
    assert ends(ClassRange(), [1.5, 2.0], [1.5, 7.3]) == ([1.5, 2.0], [1.5, 7.3])


@settings(deadline=None)
@given(st.data())
def test_coarse_ends_are_exact_on_decimals(data):
    """Against fractions: values with the precision's decimals and some with three more, steps of any multiple."""
    precision = data.draw(st.sampled_from([Fraction(text) for text in ("0.1", "0.01", "1", "0.5", "0.25", "5")]))
    step = precision * data.draw(st.integers(1, 1000))
    extra = data.draw(st.sampled_from([1, 1000]))
    first, second = (Fraction(data.draw(st.integers(-(10**7), 10**7))) * precision / extra for _ in range(2))
    low, high = sorted((first, second))
    lo, hi = ends(CoarseRange(step=step), [float(low)], [float(high)], precision)
    assert lo == [float(step * math.floor(low / step))]
    assert hi == [float(step * (math.floor(high / step) + 1))]


def test_coarse_ends_do_not_trust_float_division():
    """0.3 / 0.1 floors to 2 in doubles: the range would begin at 0.2 and end at 0.3, its own largest value."""
    assert math.floor(0.3 / 0.1) == 2
    assert ends(CoarseRange(step=TENTH), [0.3], [0.3]) == ([0.3], [0.4])


@settings(deadline=None)
@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20))
def test_a_coarse_range_is_never_empty_and_holds_its_records(units):
    """It cures R = 0, and nothing is clipped."""
    values = np.array([float(unit * TENTH) for unit in units])
    lo, hi = CoarseRange(step=Fraction(5)).of_classes(values, values, precision=TENTH)
    assert np.all(lo <= values)
    assert np.all(values < hi)
    assert np.all(hi - lo == 5)


def test_a_coarse_end_shows_only_the_step():
    """Classes whose extremes differ inside one step have the same range."""
    lo, hi = ends(CoarseRange(step=Fraction(5)), [150.0, 150.1, 154.9], [160.0, 163.2, 164.9])
    assert (lo, hi) == ([150.0] * 3, [165.0] * 3)


def test_negative_values_are_floored_and_not_cut():
    """−0.1 lies in [−5, 0)."""
    assert ends(CoarseRange(step=Fraction(5)), [-0.1, -5.0, -5.1], [-0.1, 0.0, -5.0]) == (
        [-5.0, -5.0, -10.0],
        [0.0, 5.0, 0.0],
    )


@pytest.mark.parametrize("step", [Fraction(1, 4), Fraction(1, 20), Fraction(1, 3)])
def test_a_step_that_is_no_multiple_of_the_precision_is_refused(step):
    """Its ends could not be published as multiples of the precision."""
    with pytest.raises(ValueError, match="multiple"):
        CoarseRange(step=step).of_classes(np.zeros(1), np.ones(1), precision=TENTH)


@pytest.mark.parametrize("step", [Fraction(0), Fraction(-5)])
def test_a_step_must_be_positive(step):
    """Refused at birth."""
    with pytest.raises(ValueError, match="positive"):
        CoarseRange(step=step)


def test_a_declared_range_does_not_look_at_the_data():
    """That is what its stronger promise rests on."""
    declared = DeclaredRange(low=Fraction(130), high=Fraction(210))
    assert ends(declared, [150.0, -3.0], [160.0, 999.0]) == ([130.0, 130.0], [210.0, 210.0])


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (1, 1 + Fraction(1, 2**60))])
def test_a_declared_range_must_rise(low, high):
    """Also after both ends have become doubles."""
    with pytest.raises(ValueError, match="rise"):
        DeclaredRange(low=Fraction(low), high=Fraction(high))


@pytest.mark.parametrize(
    "given_range", [ClassRange(), CoarseRange(step=Fraction(5)), DeclaredRange(low=Fraction(0), high=Fraction(1))]
)
def test_a_class_without_values_has_no_range(given_range):
    """It receives no noise and takes no share of ε; the classes beside it are not touched by it."""
    lo, hi = ends(given_range, [np.nan, 0.2], [np.nan, 0.4])
    assert math.isnan(lo[0])
    assert math.isnan(hi[0])
    assert not math.isnan(lo[1])
    assert not math.isnan(hi[1])


def test_too_large_values_are_refused_without_being_shown():
    """A message must not hold a record's value."""
    with pytest.raises(ValueError, match="too large") as caught:
        ends(CoarseRange(step=Fraction(5)), [1.25e17], [1.25e17])
    assert "1.25" not in str(caught.value)
    assert "125" not in str(caught.value)


def test_values_outside_are_clipped_and_counted():
    """Missing values are neither."""
    clipped, n_clipped = clip_to_range(np.array([1.0, 2.0, 3.0, 9.0, -1.0, np.nan]), 1.0, 3.0)
    assert clipped[:5].tolist() == [1.0, 2.0, 3.0, 3.0, 1.0]
    assert np.isnan(clipped[5])
    assert n_clipped == 2


def test_clipping_takes_ends_by_record_too():
    """Ranges of classes, gathered by record."""
    clipped, n_clipped = clip_to_range(np.array([5.0, 5.0]), np.array([0.0, 6.0]), np.array([4.0, 9.0]))
    assert clipped.tolist() == [4.0, 6.0]
    assert n_clipped == 2
