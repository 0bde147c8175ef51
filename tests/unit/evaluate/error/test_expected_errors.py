# SPDX-License-Identifier: Apache-2.0
"""Expected errors of values that are clamped to a domain: against numerical integration and drawn noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from kepsilon.evaluate.error.error_curves import N_POINTS, ExponentialErrors, Room
from kepsilon.evaluate.error.expected_errors import NoisyRows, expect_errors
from kepsilon.evaluate.error.small_noise import unmoved
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from oracles.noise import SEED


def density(z: float, d: int) -> float:
    """The density of one coordinate, in units of R/ε: the integral over the radius, which is Gamma(d + 1)."""
    powers = np.arange(d)
    factorials = np.array([float(np.prod(np.arange(1, i + 1))) for i in powers])
    return float(np.exp(-abs(z)) * np.sum(abs(z) ** powers / factorials) / (2 * d))


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize(
    ("value", "original", "low", "high"),
    [
        pytest.param(3.0, 3.0, 0.0, 10.0, id="inside"),
        pytest.param(0.0, 0.0, 0.0, 10.0, id="on the lower bound"),
        pytest.param(8.0, 14.0, 0.0, 10.0, id="clipped, original above the domain"),
        pytest.param(2.0, -5.0, 0.0, 10.0, id="clipped, original below the domain"),
        pytest.param(12.0, 12.0, 0.0, 10.0, id="above the domain"),
        pytest.param(-4.0, -4.0, 0.0, 10.0, id="below the domain"),
        pytest.param(3.0, 5.0, -np.inf, np.inf, id="clipped, no domain"),
    ],
)
def test_the_mean_distance_of_clamped_values_is_the_integral(d, value, original, low, high):
    """E|clamp(w + Z) − v| by quadrature; the mutant without the domain is seen where there is one."""
    scale = 2.5

    def moved(z: float) -> float:
        return abs(min(max(value + scale * z, low), high) - original) * density(z, d)

    kinks = sorted({(end - value) / scale for end in (low, high, original) if np.isfinite(end)} | {0.0})
    expected = sum(
        integrate.quad(moved, a, b, limit=200)[0] for a, b in zip([-60, *kinks], [*kinks, 60], strict=True) if a < b
    )
    domain = None if np.isinf(low) else (Fraction(int(low)), Fraction(int(high)))
    rows = np.full((1, d), value), np.full((1, d), original)
    ends = np.zeros((1, d)), np.full((1, d), scale * 2.0)
    distances = LAPLACE.expected_distances(
        *rows, *ends, epsilon=2.0, steps=[Steps(precision=Fraction(1), domain=domain)] * d
    )
    assert distances[0] == pytest.approx([expected] * d, rel=1e-8)
    if domain is not None:
        free = LAPLACE.expected_distances(*rows, *ends, epsilon=2.0, steps=[Steps(precision=Fraction(1))] * d)
        assert free[0, 0] != pytest.approx(expected, rel=1e-3)


def test_a_class_without_noise_is_off_by_what_clamping_takes():
    """And a class without values has no error."""
    rows = NoisyRows(
        values=np.array([[5.0], [5.0], [np.nan]]),
        originals=np.array([[5.0], [5.0], [np.nan]]),
        class_ids=np.array([0, 0, 1]),
    )
    ends = np.array([[5.0], [np.nan]])
    steps = [Steps(precision=Fraction(1), domain=(Fraction(0), Fraction(4)))]
    (sums,) = expect_errors(rows, mechanism=LAPLACE, law=LAPLACE, low=ends, high=ends, steps=steps).at(1.0)
    assert (sums.n_values, sums.distance_sum, sums.relative) == (2, 2.0, pytest.approx(0.2))


def test_without_a_domain_error_times_epsilon_is_constant():
    """The shortcut through ε = 1 is the sum over all rows, and a domain far away changes nothing."""
    rng = np.random.default_rng(SEED)
    values = rng.uniform(10, 20, (300, 2)).round(1)
    ids = np.repeat(np.arange(10), 30)
    low = np.array([values[ids == c].min(axis=0) for c in range(10)])
    high = np.array([values[ids == c].max(axis=0) for c in range(10)])
    rows = NoisyRows(values=values, originals=values, class_ids=ids)
    far = Steps(precision=Fraction(1, 10), domain=(Fraction(-(10**6)), Fraction(10**6)))
    free = Steps(precision=Fraction(1, 10))
    for epsilon in (0.1, 3.0):
        both = [
            expect_errors(rows, mechanism=LAPLACE, law=LAPLACE, low=low, high=high, steps=steps).at(epsilon)
            for steps in ([free, free], [far, far])
        ]
        for one, other in zip(*both, strict=True):
            assert one.relative_sum == pytest.approx(other.relative_sum, rel=1e-9)
            assert one.distance_sum == pytest.approx(other.distance_sum, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_error_curves_are_those_of_clamped_noise(d):
    """Drawn 4,000 times for each of a few values, some outside the domain; |z| < 5 at every point."""
    rng = np.random.default_rng(SEED + d)
    values = np.array([1.0, 4.0, 9.5, 12.0, -3.0])
    scales = np.array([3.0, 2.0, 2.0, 0.0, 1.0])
    steps = Steps(precision=Fraction(1), domain=(Fraction(0), Fraction(10)))
    curve = ExponentialErrors(
        scales=scales / np.abs(values),
        n_active=np.full(5, d),
        law=LAPLACE,
        room=Room.of_values(values, steps),
    )
    n = 4_000
    noise = LAPLACE.unit_noise(np.ones((5 * n, d), dtype=bool), rng)[:, 0].reshape(5, n) * scales[:, None]
    errors = np.abs((values[:, None] + noise).clip(0, 10) - values[:, None]) / np.abs(values[:, None])
    step = 0.05
    at = np.arange(N_POINTS + 1) * step
    drawn = (errors[:, :, None] <= at * (1 + 1e-12)).mean(axis=(0, 1))
    expected = curve.shares_within(step)
    deviation = np.sqrt(np.maximum(expected * (1 - expected), 1e-9) / (5 * n))
    assert np.all(np.abs(drawn - expected) < 5 * deviation + 1e-9)
    free = ExponentialErrors(scales=curve.scales, n_active=curve.n_active, law=LAPLACE).shares_within(step)
    assert np.any(np.abs(drawn - free) > 10 * deviation), "a curve that ignores the domain is seen"


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_chance_of_an_unmoved_value_is_that_of_drawn_noise(d):
    """Three widths, one of them without noise; one unit at ε = 8 is 98 in 100 for one attribute."""
    rng = np.random.default_rng(SEED + d)
    ranges, epsilon, n = np.array([1.0, 6.0, 0.0]), 8.0, 50_000
    chances = unmoved(ranges, np.array([d, d, 0]), epsilon=epsilon, precision=1.0, law=LAPLACE)
    noise = LAPLACE.unit_noise(np.ones((n, d), dtype=bool), rng)[:, 0]
    for width, chance in zip(ranges[:2], chances[:2], strict=True):
        drawn = np.mean(np.abs(noise) * width / epsilon < 0.5)
        assert abs(drawn - chance) < 5 * np.sqrt(chance * (1 - chance) / n)
    assert chances[2] == 0.0
    if d == 1:
        assert chances[0] == pytest.approx(0.98, abs=0.005)
