# SPDX-License-Identifier: Apache-2.0
"""The size of the claimed noise, against SciPy and by hand; against drawn noise in tests/statistical."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.perturb.mechanisms import mechanism_named
from kepsilon.perturb.mechanisms.laplace import LAPLACE, confidence_radius
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.exact_bounds import MOST_EPSILON_QUASIS


def test_expected_noise_counts_the_active_attributes():
    """(d + 1)/2 · R/ε, and R/ε for one."""
    ranges = np.array([[10.0, 4.0], [10.0, 0.0], [0.0, 0.0], [math.nan, 4.0]])
    expected = LAPLACE.expected_noise(ranges, epsilon=2.0)
    assert expected[:3].tolist() == [[7.5, 3.0], [5.0, 0.0], [0.0, 0.0]]
    assert np.isnan(expected[3]).tolist() == [True, False]
    assert expected[3, 1] == 2.0


@pytest.mark.parametrize("d", [1, 2, 3, 8, 30])
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.7, 0.9, 0.99, 0.99999])
def test_confidence_radius_is_the_gamma_quantile(d, confidence):
    """Against SciPy, which is not needed to run."""
    assert confidence_radius(d, confidence=confidence) == pytest.approx(special.gammaincinv(d, confidence), abs=1e-9)


def test_confidence_radius_for_one_attribute_is_the_paper_s():
    """Paper Eq. (9): −ln(1 − c)."""
    assert confidence_radius(1, confidence=0.99) == pytest.approx(-math.log(0.01))
    assert confidence_radius(0, confidence=0.99) == 0


@pytest.mark.parametrize("confidence", [-0.1, 0.0, 1.0])
def test_an_impossible_confidence_is_refused(confidence):
    """Nothing holds noise with certainty."""
    with pytest.raises(ValueError, match="confidence"):
        confidence_radius(1, confidence=confidence)


def test_linking_ranges_add_half_a_unit_for_rounding():
    """r_c = quantile · R/ε + precision/2, by class and attribute."""
    ranges = np.array([[10.0, 4.0], [10.0, 0.0]])
    asked = ConfidentK(k=2, confidence=0.9, rule=ZeroRule.TEXT, precisions=(Fraction(1), Fraction(1, 10)))
    found = asked.reach(LAPLACE, np.zeros_like(ranges), ranges, epsilon=2.0)
    one, two = special.gammaincinv([1, 2], 0.9)
    assert found == pytest.approx(np.array([[5 * two + 0.5, 2 * two + 0.05], [5 * one + 0.5, np.inf]]))
    drawn = LAPLACE.reach(np.zeros_like(ranges), ranges, epsilon=2.0, confidence=0.9)
    assert drawn == pytest.approx(np.array([[5 * two, 2 * two], [5 * one, 0.0]]))


def test_the_table_of_mechanisms_says_how_many_attributes_the_sampler_takes():
    """A policy refuses more before any work; the sampler's integers would not hold them."""
    assert MECHANISMS["laplace"].most_attributes == MOST_EPSILON_QUASIS
    assert mechanism_named("laplace") is LAPLACE
