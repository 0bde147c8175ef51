# SPDX-License-Identifier: Apache-2.0
"""The stored probabilities against the Taylor series, to the last of 256 binary places."""

import math
from fractions import Fraction

import pytest

from kepsilon.perturb import expansions
from kepsilon.perturb.expansions import cumulative, exp_minus
from oracles.noise import exp_minus_series, group_boundaries_by_digits

STEPS = [
    pytest.param(Fraction(1, 10_000 * 2**32), id="lowest group, smallest epsilon"),
    pytest.param(Fraction(2, 2**32), id="lowest group, epsilon 2"),
    pytest.param(Fraction(1, 20) / 2**16, id="third group, epsilon 0.05"),
    pytest.param(Fraction(1, 3) / 2**8, id="an epsilon without a finite decimal"),
    pytest.param(Fraction(2), id="fifth group, epsilon 2"),
    pytest.param(Fraction(100), id="coarsest grid, largest epsilon"),
]


@pytest.mark.parametrize("step", STEPS)
def test_exponential_is_enclosed_and_tightly(step):
    """The proof of every digit rests on these two bounds."""
    low, high = exp_minus(step, bits=300)
    exact = exp_minus_series(step, bits=400)
    assert low <= exact * 2**300 <= high
    assert high - low <= 2


@pytest.mark.parametrize("step", STEPS)
def test_boundaries_are_those_of_eight_independent_digits(step):
    """Drawing eight digits at once is the model's digits, one at a time: 1 with probability 1/(1 + exp(step·2^i))."""
    expected = [math.floor(boundary * 2**256) for boundary in group_boundaries_by_digits(step, bits=400)]
    assert list(cumulative(step, is_top=False, bits=256)) == expected


@pytest.mark.parametrize("step", STEPS)
def test_top_group_is_a_whole_geometric_variable(step):
    """P(top group < v) = 1 − e^(−step·v), up to "256 or more"."""
    expected = [math.floor((1 - exp_minus_series(step * v, bits=400)) * 2**256) for v in range(1, 257)]
    assert list(cumulative(step, is_top=True, bits=256)) == expected


@pytest.mark.parametrize("is_top", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_more_places_continue_the_same_number(step, is_top):
    """The branch that fetches more bytes compares with more places of the same boundary."""
    short, long = (cumulative(step, is_top=is_top, bits=bits) for bits in (256, 1024))
    assert list(short) == [boundary >> 768 for boundary in long]


def test_a_place_in_doubt_is_not_used(monkeypatch):
    """With too few working digits the enclosure notices, and more are taken."""
    step = Fraction(2, 2**32)
    assert expansions._cumulative(step, is_top=False, bits=256, working_bits=256) is None
    tried = []
    attempt = expansions._cumulative

    def watched(*args, working_bits, **kwargs):
        tried.append(working_bits)
        return None if len(tried) == 1 else attempt(*args, working_bits=working_bits, **kwargs)

    monkeypatch.setattr(expansions, "_cumulative", watched)
    assert cumulative(step, is_top=False, bits=256) == attempt(step, is_top=False, bits=256, working_bits=512)
    assert tried == [256 + 128, 256 + 256]
