# SPDX-License-Identifier: Apache-2.0
"""Bits about generalised k-quasis: against entropies by dictionaries, and what shuffling takes off."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns.bits import BitCounter, codes_to_group, exact_codes
from kepsilon.evaluate.kept_columns.class_order import order_of_classes
from oracles import kept_columns as slow

N = 4_000
RNG = np.random.default_rng(5)
IDS = RNG.integers(0, 80, N)
AGE = RNG.integers(0, 10, N)


def share(shown, quasi=AGE, ids=IDS, *, grouped=False):
    counter = BitCounter({"q": exact_codes(quasi)}, order_of_classes(ids))
    return counter.largest([codes_to_group(shown) if grouped else exact_codes(shown)])


def by_hand(shown, quasi=AGE, ids=IDS):
    told, hidden = slow.told_bits(quasi.tolist(), shown.tolist(), ids.tolist())
    rng = np.random.default_rng(99)
    chance = []
    for _ in range(30):
        moved = shown.copy()
        for c in np.unique(ids):
            at = np.flatnonzero(ids == c)
            moved[at] = moved[rng.permutation(at)]
        chance.append(slow.told_bits(quasi.tolist(), moved.tolist(), ids.tolist())[0])
    return (told - np.mean(chance)) / (hidden - np.mean(chance))


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(AGE // 5, id="two groups"),
        pytest.param((AGE + RNG.integers(0, 3, N)) // 2, id="blurred"),
        pytest.param(np.where(RNG.random(N) < 0.5, AGE, 11), id="half of them missing"),
    ],
)
def test_bits_are_those_counted_by_hand(shown):
    """With other shuffles than the package's: within 0.01."""
    found, of = share(shown)
    assert of == "q"
    assert found == pytest.approx(by_hand(shown), abs=0.01)


def test_a_copy_tells_all_and_noise_nothing():
    """Also in classes of five, where chance alone seems to tell most of it: unadjusted, noise would be an alarm."""
    small = np.arange(N) // 5
    noise = RNG.integers(0, 10, N)
    assert share(AGE, ids=small)[0] == pytest.approx(1.0)
    assert share(noise, ids=small) == (0.0, None)
    assert share(noise) == (0.0, None)
    assert by_definition(noise, AGE, small) > 0.5


def test_a_quasi_that_does_not_vary_within_classes_has_nothing_to_tell():
    """Generalisation hid nothing of it."""
    assert share(AGE, quasi=IDS % 7) == (0.0, None)


def test_many_values_are_looked_at_in_groups_of_the_class():
    """A copy of an exact date tells most of it, though every value occurs once."""
    days = RNG.permutation(N)
    counter = BitCounter({"born": codes_to_group(days)}, order_of_classes(IDS))
    found, of = counter.largest([codes_to_group(days + 5)])
    assert of == "born"
    assert found > 0.95
    assert counter.largest([codes_to_group(RNG.permutation(N))]) == (0.0, None)


def test_the_coding_that_tells_most_counts():
    """A number may be a code or a size."""
    noise = RNG.integers(0, 3, N)
    counter = BitCounter({"q": exact_codes(AGE)}, order_of_classes(IDS))
    assert counter.largest([exact_codes(noise), exact_codes(AGE)])[0] == pytest.approx(1.0)


def test_what_the_class_tells_is_not_counted():
    """Values that depend on the class alone, and a quasi that does, too: shuffling within classes takes nothing apart."""
    quasi = IDS % 5 * 2 + RNG.integers(0, 2, N)
    shown = IDS % 5 * 3 + RNG.integers(0, 3, N)
    assert share(shown, quasi=quasi) == (0.0, None)


def test_chance_that_is_large_in_bits_is_still_chance():
    """Sixty columns of noise with 16 values, in classes of ten: shuffles spread as widely as they do."""
    rng = np.random.default_rng(2)
    quasi, ids = rng.integers(0, 3, 2_000), np.arange(2_000) // 10
    counter = BitCounter({"q": exact_codes(quasi)}, order_of_classes(ids))
    found = [counter.largest([exact_codes(rng.integers(0, 16, 2_000))]) for _ in range(60)]
    assert found == [(0.0, None)] * 60


def test_few_records_prove_nothing():
    """Twelve records in two classes: in 300 tables of noise, what looks like a fifth of the bits is taken for chance.

    In sixty records, a copy is told from chance.
    """
    rng = np.random.default_rng(1)
    ids = np.repeat([0, 1], 6)
    tables = [(rng.integers(0, 2, 12), rng.integers(0, 2, 12)) for _ in range(300)]
    looks_so = [by_definition(shown, quasi, ids) for shown, quasi in tables]
    found = [share(shown, quasi=quasi, ids=ids)[0] for shown, quasi in tables]
    assert sum(own >= 0.2 for own in looks_so) > 60
    assert found == [0.0] * 300
    age = rng.integers(0, 4, 60)
    assert share(age, quasi=age, ids=np.arange(60) // 10)[0] == pytest.approx(1.0)


def by_definition(shown, quasi, ids):
    """Not adjusted."""
    told, hidden = slow.told_bits(quasi.tolist(), shown.tolist(), ids.tolist())
    return told / hidden if hidden else 0.0
