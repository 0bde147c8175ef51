# SPDX-License-Identifier: Apache-2.0
"""What the statement says of declared bounds is true beside an ε-quasi whose range comes from the records."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kepsilon as ke
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.guarantee import statement

LOCAL = "a local promise for each record, whatever the others hold"


def two_quasis(other: object) -> ke.Policy:
    """A height with declared bounds beside a weight with the given range."""
    quasi = {"role": "epsilon-quasi", "precision": 1}
    attributes = {"height": {**quasi, "range": [0, 10]}, "weight": {**quasi, "range": other}}
    settings = {"k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": 0}
    return ke.Policy.from_dict({**settings, "attributes": attributes})


@pytest.mark.parametrize("other", ["class", {"coarse": 5}])
def test_the_local_promise_is_not_made_where_a_record_can_move_another_range(other):
    said = statement(two_quasis(other))
    assert LOCAL not in said
    assert "its values of the attributes whose range is not declared being what they are" in said


def test_the_local_promise_is_made_where_all_bounds_are_declared():
    assert LOCAL in statement(two_quasis([0, 200]))


def test_a_record_that_ends_a_constant_range_changes_the_noise_of_declared_bounds_by_more_than_e_to_the_epsilon():
    """Why it is not made: all weights agree, or one record's does not; its height is then drawn with two active ε-quasis.

    P(|Z| > t) at ε = 1 is e^−t with one active ε-quasi, and (1 + t/2)·e^−t with two: half of it for the larger of the two
    coordinates, (1 + t)·e^−t, and half for the other one, e^−t.
    """
    law = mechanism_of(two_quasis("class")).exponential
    assert law is not None
    far = np.array([20.0])
    ratio = (law.exceeding_factor(far, d=2) / law.exceeding_factor(far, d=1))[0]
    assert ratio == pytest.approx(1 + 20 / 2)
    assert ratio > math.e
