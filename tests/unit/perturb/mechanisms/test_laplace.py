# SPDX-License-Identifier: Apache-2.0
"""What the mechanism does around its noise: place, move, round, clamp, leave missing, refuse."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepsilon.perturb.mechanisms import laplace
from kepsilon.perturb.mechanisms.laplace import finest_precision_ok, perturb
from oracles.noise import ConstantBytes, seeded

TENTH = Fraction(1, 10)
NO_NOISE = ConstantBytes(0)
"""Zeros are read as digits of zero with a plus sign."""


def publish(
    values, class_ids=None, lo=None, hi=None, *, epsilon=Fraction(2), precisions=None, domains=None, source=None
):
    """One class over [min, max] unless told otherwise; values as a list of records."""
    values = np.array(values, dtype=np.float64)
    values = values if values.ndim == 2 else values[:, np.newaxis]
    d = values.shape[1]
    return perturb(
        values,
        np.zeros(len(values), dtype=np.int64) if class_ids is None else np.array(class_ids),
        values.min(axis=0, keepdims=True) if lo is None else np.array(lo, dtype=np.float64).reshape(-1, d),
        values.max(axis=0, keepdims=True) if hi is None else np.array(hi, dtype=np.float64).reshape(-1, d),
        epsilon=epsilon,
        precisions=[TENTH] * d if precisions is None else precisions,
        domains=[None] * d if domains is None else domains,
        source=seeded() if source is None else source,
    )


def fixed_noise(monkeypatch, noise):
    """The mechanism with integers we choose in the place of chance."""
    monkeypatch.setattr(laplace, "record_noise", lambda n, d, **_: np.array(noise, dtype=np.int64).reshape(n, d))


def test_without_noise_values_come_back_as_they_were():
    """Placing on the grid and back moves nothing by a visible amount."""
    values = [150.0, 163.7, 171.2, 190.1]
    assert publish(values, source=NO_NOISE)[:, 0].tolist() == values


@settings(deadline=None, max_examples=200)
@given(
    unit=st.integers(1500, 2100),
    noise=st.integers(-(2**40), 2**40),
    precision=st.sampled_from([TENTH, Fraction(1, 2), Fraction(1), Fraction(5), Fraction(1, 100)]),
)
def test_what_is_published_follows_the_formula(unit, noise, precision):
    """Against fractions: the multiple of the precision nearest to lo + (n + Z)·R/2^32, with n the value's place."""
    lo, hi, value = Fraction(1500, 10), Fraction(2100, 10), Fraction(unit, 10)
    place = round((value - lo) / (hi - lo) * 2**32)
    exact = (lo + (place + noise) * (hi - lo) / 2**32) / precision
    if abs(exact - math.floor(exact) - Fraction(1, 2)) < Fraction(1, 10**6):
        return  # a tie is broken by the last bit of a double
    with pytest.MonkeyPatch.context() as monkeypatch:
        fixed_noise(monkeypatch, [noise])
        published = publish([float(value)], lo=[150], hi=[210], precisions=[precision])
    assert published[0, 0] == float(round(exact) * precision)


def test_what_leaves_depends_on_the_noisy_place_alone(monkeypatch):
    """Two values whose places and noise add up to the same leave as the same double: the rest of their bits is gone."""
    values = np.array([150.0, 150.1, 163.3, 177.7, 189.9, 190.0])
    places = np.rint((values - 150) / 40 * 2**32).astype(np.int64)
    for target in (-(5 * 2**33), -1, 0, 123456789, 2**32, 7 * 2**32 + 12345):
        fixed_noise(monkeypatch, target - places)
        published = publish(values, lo=[150], hi=[190])
        assert len({value.tobytes() for value in published[:, 0]}) == 1


def test_place_and_noise_add_up_without_rounding():
    """At the smallest ε noise passes 2^53 steps, where a sum in doubles would depend on which value was moved."""
    places = np.array([0, 1, 2, 3, 5, 6, 7, 12345, 2**32 - 1, 2**32])
    for target in (2**53 + 1, 2**55 + 1, -(2**55) - 3, 2**56 - 5):
        moved = laplace._move(places / 2**32, np.zeros(10), np.ones(10), target - places)
        assert set(moved.tolist()) == {target / 2**32}


def test_a_value_lies_at_the_nearest_place():
    """Rounded, not cut: the grid has no side to which values lean."""
    steps = np.array([0.4, 0.6, 1000.4, 1000.6, 2.0**32 - 0.3])
    moved = laplace._move(steps / 2**32, np.zeros(5), np.ones(5), np.zeros(5, dtype=np.int64))
    assert (moved * 2**32).tolist() == [0, 1, 1000, 1001, 2**32]


@pytest.mark.parametrize("precision", [TENTH, Fraction(1, 4), Fraction(3), Fraction(1, 1000), Fraction(5, 2)], ids=str)
def test_published_values_are_canonical_multiples_of_the_precision(precision):
    """A double that is not the nearest one to its decimal would carry the traces of the addition."""
    published = publish(np.linspace(150, 190, 5000), precisions=[precision])[:, 0]
    units = [round(Fraction(value) / precision) for value in published.tolist()]
    decimals = [Decimal(unit * precision.numerator) / Decimal(precision.denominator) for unit in units]
    assert published.tolist() == [float(decimal) for decimal in decimals]
    assert len(set(units)) > 10


def test_values_outside_the_range_are_published_as_if_at_its_end(monkeypatch):
    """The noise hides differences up to the range and no more: a value beyond it must not stand out."""
    fixed_noise(monkeypatch, [0, 0, 0, 0])
    published = publish([-1e9, 0.0, 10.0, 1e300], lo=[0], hi=[10])
    assert published[:, 0].tolist() == [0.0, 0.0, 10.0, 10.0]


def test_a_class_that_agrees_is_published_exactly():
    """R = 0 means no noise, by the model; the value is still rounded to the precision."""
    published = publish([7.26, 7.26, 1.0, 3.0], [0, 0, 1, 1], lo=[7.26, 1.0], hi=[7.26, 3.0])
    assert published[:2, 0].tolist() == [7.3, 7.3]
    assert published[2:, 0].tolist() != [1.0, 3.0]


def test_missing_values_stay_missing_and_alone():
    """A class that lacks an attribute receives noise for the others, and its records stay without it."""
    nan = math.nan
    published = publish(
        [[nan, 1.0], [nan, 2.0], [5.0, 1.0], [6.0, 2.0]], [0, 0, 1, 1], lo=[[nan, 1], [5, 1]], hi=[[nan, 2], [6, 2]]
    )
    assert np.isnan(published).tolist() == [[True, False], [True, False], [False, False], [False, False]]


@pytest.mark.parametrize(
    ("values", "lo", "hi"), [([1.0, math.nan], [1.0], [2.0]), ([1.0, 2.0], [math.nan], [math.nan])]
)
def test_missing_values_are_never_passed_through_beside_others(values, lo, hi):
    """Whether a value is missing is itself visible, and must have been settled before the noise."""
    with pytest.raises(ValueError, match="missing"):
        publish(values, lo=lo, hi=hi)


def test_a_domain_clamps_to_the_multiples_inside_it(monkeypatch):
    """No negative heights, and no end of the domain that is not a multiple of the precision."""
    fixed_noise(monkeypatch, [-(2**34), 0, 2**34])
    published = publish([0.0, 5.0, 10.0], domains=[(Fraction("-0.55"), Fraction("12.04"))])
    assert published[:, 0].tolist() == [-0.5, 5.0, 12.0]


def test_a_domain_clamps_exact_values_too():
    """It is public and holds for whatever is published."""
    assert publish([7.0], lo=[7], hi=[7], domains=[(Fraction(0), Fraction(5))]).tolist() == [[5.0]]


def test_a_domain_does_not_change_the_noise():
    """Inside it the same bytes give the same values."""
    values = np.linspace(0, 10, 2000)
    free, clamped = publish(values), publish(values, domains=[(Fraction(0), Fraction(10))])
    assert np.array_equal(np.clip(free, 0, 10), clamped)


def test_a_domain_without_a_multiple_is_refused():
    """There would be nothing to publish."""
    with pytest.raises(ValueError, match="multiple"):
        publish([1.0, 2.0], domains=[(Fraction("0.01"), Fraction("0.09"))])


def test_chunks_do_not_show(monkeypatch):
    """Many records in many classes: each lies where its own class puts it."""
    monkeypatch.setattr(laplace, "_CHUNK", 1000)
    rng = np.random.default_rng(1)
    class_ids = rng.integers(0, 50, 5500)
    lo = np.arange(50.0)[:, np.newaxis] * [1000, -1000]
    values = lo[class_ids] + np.rint(rng.random((5500, 2)) * 100) / 10
    published = publish(values, class_ids, lo=lo, hi=lo + 10, source=NO_NOISE)
    assert np.array_equal(published, np.round(values, 1))


def test_attributes_that_do_not_vary_take_no_share(monkeypatch):
    """d counts the attributes with a positive range in that class, and their noise lands in their own columns."""
    asked = []

    def record_noise(n, d, **_):
        asked.append((n, d))
        return np.full((n, d), 2**32, dtype=np.int64)

    monkeypatch.setattr(laplace, "record_noise", record_noise)
    values = [[1, 10, 100], [2, 10, 100], [2, 20, 200], [1, 10, 100], [3, 30, 300]]
    lo = [[1, 10, 100], [1, 10, 100], [3, 30, 300]]
    hi = [[2, 10, 100], [2, 20, 200], [3, 30, 300]]
    published = publish(values, [0, 0, 1, 1, 2], lo=lo, hi=hi)
    assert sorted(ask for ask in asked if ask[0]) == [(2, 1), (2, 3)]
    assert published.tolist() == [[2, 10, 100], [3, 10, 100], [3, 30, 300], [2, 20, 200], [3, 30, 300]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"class_ids": [0, 1]}, "no class", id="class that does not exist"),
        pytest.param({"class_ids": [0, -1]}, "no class", id="suppressed record"),
        pytest.param({"class_ids": [0]}, "column", id="too few classes"),
        pytest.param({"precisions": [TENTH, TENTH]}, "column", id="too many precisions"),
        pytest.param({"domains": []}, "column", id="no domains"),
        pytest.param({"lo": [12.5, 12.5]}, "row for every class", id="ends of different length"),
        pytest.param({"lo": [99.75], "hi": [12.5]}, "fall", id="falling range"),
        pytest.param({"lo": [-math.inf]}, "infinite", id="infinite range"),
        pytest.param({"precisions": [Fraction(1, 10**9)]}, "finer", id="precision that shows the grid"),
        pytest.param({"epsilon": Fraction(1, 20_000)}, "epsilon", id="epsilon too small"),
    ],
)
def test_what_does_not_fit_is_refused_and_no_value_is_shown(change, message):
    """A record with somebody else's range would have the wrong noise."""
    with pytest.raises(ValueError, match=message) as caught:
        publish([12.5, 99.75], **change)
    assert "12.5" not in str(caught.value)
    assert "99.75" not in str(caught.value)


def test_values_too_large_for_the_precision_are_refused():
    """Beyond 2^53 units a double cannot say which multiple it is."""
    with pytest.raises(ValueError, match="too large") as caught:
        publish([1.25e16, 1.25e16 + 4], precisions=[Fraction(1)])
    assert "25" not in str(caught.value)


def test_no_records_are_no_error():
    """An empty partition of a distributed table."""
    assert publish(np.zeros((0, 2)), lo=np.zeros((0, 2)), hi=np.zeros((0, 2))).shape == (0, 2)


def test_the_finest_precision_is_a_2_to_the_24th_of_the_range():
    """Finer, and the multiples of R/2^32 begin to show."""
    hi = np.array([[2.0**24], [2.0**24 * 1.0001], [0.0], [math.nan]])
    lo = np.array([[0.0], [0.0], [0.0], [math.nan]])
    assert finest_precision_ok(lo, hi, Fraction(1))[:, 0].tolist() == [True, False, True, True]
