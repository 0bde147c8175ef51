# SPDX-License-Identifier: Apache-2.0
"""The reach of confident k holds a record's own original as often as it says, in what mechanisms really publish.

A share of N_DRAWS records is compared with c within five standard deviations: once in 1.7 million times chance would
fail such a comparison, and the seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.perturb.mechanisms.bounded_laplace import BOUNDED_LAPLACE
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from oracles.noise import seeded

N_DRAWS = 40_000
MECHANISMS = pytest.mark.parametrize("mechanism", [LAPLACE, BOUNDED_LAPLACE], ids=["laplace", "bounded-laplace"])


def share_in_reach(mechanism, *, d, width, precision, epsilon, confidence, place, reach_of=None):
    """The share of records whose d published values all lie within reach of their own, all at one place of the range."""
    low, high = np.zeros((1, d)), np.full((1, d), float(width))
    values = np.full((N_DRAWS, d), float(width * place))
    asked = ConfidentK(k=2, confidence=confidence, rule=ZeroRule.TEXT, precisions=(Fraction(precision),) * d)
    published = mechanism.draw(
        values,
        np.zeros(N_DRAWS, dtype=np.int64),
        low,
        high,
        epsilon=Fraction(epsilon),
        steps=[Steps(precision=Fraction(precision))] * d,
        source=seeded(1994 + d),
    )
    reach = (reach_of or asked).reach(mechanism, low, high, epsilon=float(epsilon))
    return float(np.mean(np.all(np.abs(published - values) <= reach * (1 + 1e-12), axis=1)))


def off(share, confidence):
    """How far a share is from c, in standard deviations."""
    return (share - confidence) / np.sqrt(confidence * (1 - confidence) / N_DRAWS)


@MECHANISMS
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("confidence", [0.7, 0.99])
def test_the_reach_is_exact_where_noise_is_largest(mechanism, d, confidence):
    """For `laplace` anywhere, for `bounded-laplace` at an end of the range; the reach of another confidence is far from it."""
    setting = {"d": d, "width": 1000, "precision": Fraction(1, 1000), "confidence": confidence, "place": 0}
    assert abs(off(share_in_reach(mechanism, epsilon=2, **setting), confidence)) < 5
    own = ConfidentK(k=2, confidence=confidence, rule=ZeroRule.TEXT, precisions=(Fraction(1, 1000),) * d)
    wrong = replace(own, confidence=1 - (1 - confidence) ** 2)
    assert off(share_in_reach(mechanism, epsilon=2, reach_of=wrong, **setting), confidence) > 5


@pytest.mark.parametrize("place", [0.1, 0.5, 1])
@pytest.mark.parametrize("d", [1, 2])
def test_no_place_has_more_noise_than_the_reach_allows(d, place):
    """Inside the range draws of `bounded-laplace` are nearer than at its ends."""
    share = share_in_reach(
        BOUNDED_LAPLACE, d=d, width=1000, precision=Fraction(1, 1000), epsilon=2, confidence=0.9, place=place
    )
    assert off(share, 0.9) > -5


@pytest.mark.parametrize(("d", "width"), [(1, 3), (2, 2)])
def test_rounding_takes_nobody_out_of_reach(d, width):
    """In a class a few units wide at ε = 16, 0.99 would be 0.93 and less without half a unit of the precision."""
    setting = {"d": d, "width": width, "precision": 1, "epsilon": 16, "confidence": 0.99, "place": 0}
    assert off(share_in_reach(LAPLACE, **setting), 0.99) > -5
    unrounded = ConfidentK(k=2, confidence=0.99, rule=ZeroRule.TEXT, precisions=(Fraction(1, 10**9),) * d)
    assert share_in_reach(LAPLACE, reach_of=unrounded, **setting) < 0.95
