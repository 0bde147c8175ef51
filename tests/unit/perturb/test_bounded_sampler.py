# SPDX-License-Identifier: Apache-2.0
"""Draws on a bounded grid have exactly the law that is claimed, which tells places apart by e^ε and no more."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from kepsilon.perturb import bounded_sampler
from kepsilon.perturb.bounded_sampler import bounded_points
from kepsilon.perturb.expansions import cumulative
from oracles.bounded import DIGITS, largest_log_ratio, law
from oracles.noise import ConstantBytes, exp_minus_series, seeded

EPSILONS = [Fraction(1, 1_000_000), Fraction(1, 20), Fraction(2), Fraction(7, 3), Fraction(100)]


class Prescribed:
    """A group of digits that is drawn as a test says."""

    def __init__(self, values):
        self.values = values

    def draw(self, n, source):
        values, self.values = self.values[:n], self.values[n:]
        assert len(values) == n
        return values.astype(np.uint16)


def law_of_accepted_attempts(n, grid_bits, epsilon):
    """P(y) from every choice of digits and sign, each with its exact probability, sent through the sampler's own step."""
    n_steps = 1 << grid_bits
    is_end = n in (0, n_steps)
    attempts = np.array(list(itertools.product(range(n_steps), (0, 1), (0, 1) if is_end else (0,))))
    steps, signs, highest = attempts.T
    digits = bounded_sampler._Digits(n_steps=n_steps, groups=(Prescribed(steps),), highest=Prescribed(highest))

    class Signs:
        def bytes(self, n_bytes):
            return np.packbits(signs.astype(np.uint8)).tobytes()[:n_bytes]

    points, is_right = bounded_sampler._attempts(np.full(len(attempts), n), digits, Signs())
    with localcontext() as exact:
        exact.prec = DIGITS
        t = Decimal(epsilon.numerator) / Decimal(epsilon.denominator) / n_steps
        total = [Decimal(0)] * (n_steps + 1)
        for step, high, point, is_taken in zip(steps, highest, points, is_right, strict=True):
            if is_taken:
                total[int(point)] += (-t * (int(step) + n_steps * int(high))).exp()
        return [own / sum(total) for own in total]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("grid_bits", [1, 2, 3, 5])
def test_every_choice_of_digits_gives_the_law_at_every_place(grid_bits, epsilon):
    """To 50 digits, at the ends of the grid and everywhere between them; "minus zero" counted twice would show."""
    for n in range((1 << grid_bits) + 1):
        found, wanted = law_of_accepted_attempts(n, grid_bits, epsilon), law(n, 1 << grid_bits, epsilon)
        assert max(abs(a - b) for a, b in zip(found, wanted, strict=True)) < Decimal(10) ** -50


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("n_steps", [1, 2, 3, 8, 64])
def test_two_places_are_told_apart_by_e_to_the_epsilon_and_no_more(n_steps, epsilon):
    """Though what makes the law a probability depends on the place; the two ends of the grid reach e^ε."""
    found = largest_log_ratio([law(n, n_steps, epsilon) for n in range(n_steps + 1)])
    with localcontext() as exact:
        exact.prec = DIGITS
        assert abs(found - Decimal(epsilon.numerator) / Decimal(epsilon.denominator)) < Decimal(10) ** -50


@pytest.mark.parametrize(("epsilon", "largest"), [(Fraction(4), 4.3), (Fraction(1), 1.02)], ids=str)
def test_in_the_largest_norm_a_restricted_law_would_break_the_promise(epsilon, largest):
    """Why several ε-quasis split ε: on a grid of 17 × 17 points places are told apart by more than e^ε."""
    side = np.arange(17) / 16
    points = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.exp(-float(epsilon) * np.abs(points[:, None] - points[None]).max(axis=2))
    logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    assert float((logs.max(axis=0) - logs.min(axis=0)).max()) > largest


@pytest.mark.parametrize("n_values", [2, 4, 16, 128])
@pytest.mark.parametrize("step", [Fraction(1, 10**6), Fraction(1, 3), Fraction(100)], ids=str)
def test_smaller_groups_have_the_boundaries_of_the_series(step, n_values):
    """P(group < v) = (1 − e^(−step·v))/(1 − e^(−n·step)) to the last of 256 binary places."""
    whole = 1 - exp_minus_series(step * n_values, bits=500)
    wanted = [int((1 - exp_minus_series(step * v, bits=500)) / whole * 2**256) for v in range(1, n_values)]
    assert list(cumulative(step, is_top=False, bits=256, n_values=n_values)) == wanted


def test_groups_cover_the_digits_of_any_grid_once():
    """Eight digits each, the last group what is left, and one more digit of step ε above them all."""
    for grid_bits, sizes in {0: [], 1: [2], 8: [256], 11: [256, 8], 32: [256] * 4}.items():
        digits = bounded_sampler._digits(Fraction(2), grid_bits)
        assert [group.n_values for group in digits.groups] == sizes
        assert [group.step for group in digits.groups] == [
            Fraction(2) / 2**grid_bits * 256**i for i in range(len(sizes))
        ]
        assert (digits.highest.step, digits.highest.n_values, digits.n_steps) == (Fraction(2), 2, 1 << grid_bits)


@pytest.mark.parametrize("n", [0, 1, 7, bounded_sampler._CHUNK + 3])
def test_any_number_of_draws_stays_on_the_grid(n):
    places = np.random.default_rng(1).integers(0, 2**32 + 1, n)
    places[::3], places[1::3] = 0, 2**32
    points = bounded_points(places, epsilon=Fraction(1, 10_000), source=seeded())
    assert points.shape == (n,)
    assert points.dtype == np.int64
    assert not n or (points.min() >= 0 and points.max() <= 2**32)


@pytest.mark.parametrize("places", [[-1], [0, 2**32 + 1]])
def test_a_place_beside_the_grid_is_refused(places):
    """A value that was not clipped would have another law."""
    with pytest.raises(ValueError, match="place"):
        bounded_points(np.array(places), epsilon=Fraction(1), source=seeded())


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(101)])
def test_an_epsilon_outside_its_range_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        bounded_points(np.zeros(1, dtype=np.int64), epsilon=epsilon, source=ConstantBytes())


@pytest.mark.parametrize("grid_bits", [-1, 33])
def test_a_grid_outside_its_range_is_refused(grid_bits):
    with pytest.raises(ValueError, match="bits"):
        bounded_points(np.zeros(1, dtype=np.int64), epsilon=Fraction(1), source=seeded(), grid_bits=grid_bits)
