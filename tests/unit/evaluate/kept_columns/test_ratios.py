# SPDX-License-Identifier: Apache-2.0
"""Quotients of a kept number and a quasi: the most frequent one, whatever the other records hold."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns.class_order import order_of_classes
from kepsilon.evaluate.kept_columns.ratios import divisor_of, ratio_guesses
from material.whole_columns import whole_column

RNG = np.random.default_rng(12)
N = 2_000
HEIGHT = RNG.normal(170, 8, N).round(1)
CLASSES = order_of_classes(np.arange(N) // 20)


def guess(kept, quasi=HEIGHT):
    """The guess of one column with one quasi; None where no quotient is frequent."""
    found = ratio_guesses(whole_column(kept), [divisor_of("height", whole_column(quasi))])
    return found[0] if found else None


@pytest.mark.parametrize("unit", [2.54, 1e-9, 1e250], ids=str)
def test_a_copy_in_other_units_links_all_but_those_who_tie(unit):
    """As many as the height itself would."""
    own, itself = guess(HEIGHT / unit), guess(HEIGHT)
    assert (own.by, own.of) == ("ratio", "height")
    assert own.linked(CLASSES).links == pytest.approx(itself.linked(CLASSES).links)
    assert own.linked(CLASSES).links > 0.8 * N


def test_a_tenth_of_copies_among_noise_is_found():
    """Which would spoil any formula for all records."""
    noise = RNG.uniform(80, 400, N)
    is_copy = RNG.random(N) < 0.1
    linked = guess(np.where(is_copy, HEIGHT / 2.54, noise)).linked(CLASSES)
    assert linked.links > 0.8 * is_copy.sum()
    assert guess(noise) is None


def test_other_signs_zeros_and_missing_values_are_not_shown():
    """Their originals stay candidates, but no quotient tells anything about them."""
    values = np.where(np.arange(N) % 4 == 0, -HEIGHT, HEIGHT) / 2
    values[np.arange(N) % 4 == 1] = 0.0
    values[np.arange(N) % 4 == 2] = np.nan
    own = guess(values)
    assert np.array_equal(own.is_shown, np.arange(N) % 4 == 3)
    linked = own.linked(CLASSES)
    assert linked.by_chance == pytest.approx(N / 4 / 20)
    assert linked.n_shown == N // 4


def test_negative_copies_of_negative_quasis_are_found():
    """Quotients are positive where the signs agree."""
    debt = -np.exp(RNG.normal(5, 1, N)).round(2)
    assert guess(debt * 1.19, debt).linked(CLASSES).links > 0.95 * N


def test_quasis_with_few_numbers_or_none_are_no_divisors():
    """Tables count those."""
    assert divisor_of("q", whole_column(np.arange(N) % 9)) is None
    assert divisor_of("q", whole_column(["a"] * N)) is None
    assert divisor_of("q", whole_column([None] * N)) is None
