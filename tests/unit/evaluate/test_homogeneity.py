# SPDX-License-Identifier: Apache-2.0
"""Agreement on sensitive values, against plain counting and against all ways to deal values out."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from kepsilon.evaluate.homogeneity import Homogeneity, homogeneity

NOBODY = -1


def counted(class_ids: list[int], codes: list[int]) -> tuple[float, float]:
    """Shares in classes of one value and of nine tenths one value, class by class in plain Python."""
    one = nearly = total = 0
    for own in set(class_ids):
        values = [code for i, code in zip(class_ids, codes, strict=True) if i == own and code != NOBODY]
        total += len(values)
        most = max(Counter(values).values(), default=0)
        one += len(values) * (most == len(values))
        nearly += len(values) * (10 * most >= 9 * len(values))
    return (one / total, nearly / total) if total else (0.0, 0.0)


def by_chance(size: int, shares: list[float]) -> tuple[float, float]:
    """The chances that a class of some size is of one value, and nearly, from every way to deal values out to it."""
    one = nearly = 0.0
    for dealt in itertools.product(range(len(shares)), repeat=size):
        chance = math.prod(shares[code] for code in dealt)
        most = max(Counter(dealt).values())
        one += chance * (most == size)
        nearly += chance * (10 * most >= 9 * size)
    return one, nearly


@pytest.mark.parametrize("seed", range(30))
def test_shares_are_those_of_plain_counting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    class_ids, codes = rng.integers(0, 8, n), rng.integers(-1, int(rng.integers(1, 4)), n)
    found = homogeneity(class_ids, codes)
    assert (found.one_value, found.nearly_one_value) == pytest.approx(counted(class_ids.tolist(), codes.tolist()))


@pytest.mark.parametrize("size", [1, 2, 5, 9, 10, 11])
def test_chance_is_that_of_all_ways_to_deal_values_out(size: int) -> None:
    codes = np.array([0] * (6 * size) + [1] * (3 * size) + [2] * size)
    class_ids = np.repeat(np.arange(10), size)
    found = homogeneity(class_ids, codes)
    assert (found.one_value_by_chance, found.nearly_one_value_by_chance) == pytest.approx(
        by_chance(size, [0.6, 0.3, 0.1])
    )


def test_chance_in_large_classes_is_that_of_the_binomial_tail() -> None:
    size, share = 200, 0.85
    codes = np.array([0] * 850 + [1] * 150)
    found = homogeneity(np.repeat(np.arange(5), size), codes)
    tail = sum(math.comb(size, j) * share**j * (1 - share) ** (size - j) for j in range(180, size + 1))
    assert found.nearly_one_value_by_chance == pytest.approx(tail, rel=1e-9)


def test_values_that_no_record_holds_do_not_matter() -> None:
    class_ids, codes = np.repeat(np.arange(4), 5), np.arange(20) % 3
    assert homogeneity(class_ids, 7 * codes + 2) == homogeneity(class_ids, codes)


def test_one_value_for_everybody_is_no_surprise() -> None:
    found = homogeneity(np.repeat(np.arange(4), 5), np.zeros(20, dtype=np.int64))
    assert found.one_value == found.one_value_by_chance == found.nearly_one_value_by_chance == 1
    assert not found.is_notable


def test_classes_that_agree_beyond_chance_are_notable() -> None:
    found = homogeneity(np.repeat(np.arange(20), 5), np.repeat(np.arange(20) % 4, 5))
    assert found.one_value == 1
    assert found.one_value_by_chance == pytest.approx(4 * 0.25**5)
    assert found.is_notable
    assert "whoever knows the class of a person" in found.in_words("disease")


def test_without_any_value_nothing_is_told() -> None:
    nothing = Homogeneity(
        one_value=0, one_value_by_chance=0, nearly_one_value=0, nearly_one_value_by_chance=0, measured_on="none"
    )
    assert homogeneity(np.zeros(3, dtype=np.int64), np.full(3, NOBODY), measured_on="none") == nothing
