# SPDX-License-Identifier: Apache-2.0
"""Groups whose average tells a value: those that agree, and those with a value that stands out, against a slow count."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.group_extremes import telling_groups
from kepsilon.evaluate.originals.members import members_of


def slowly(values, persons, precision):
    """Whether one person's mean stands out of the group and is worked out within 25 % by whoever knows the others roughly."""
    for person in set(persons):
        own = [v for v, p in zip(values, persons, strict=True) if p == person]
        others = [v for v, p in zip(values, persons, strict=True) if p != person]
        mean = sum(own) / len(own)
        beyond = mean > max(others) and max(own) == max(values)
        below = mean < min(others) and min(own) == min(values)
        if not (beyond or below) or min(abs(mean - other) for other in others) <= abs(mean) / 4:
            continue
        unsure = min(len(others) * (max(others) - min(others)) / 2, sum(map(abs, others)) / 4)
        if (unsure + len(values) * precision / 2) / len(own) <= abs(mean) / 4:
            return True
    return False


def found(groups, *, precision=0.1, persons=None):
    values = np.concatenate([np.array(own, dtype=float) for own in groups])
    sizes = np.array([len(own) for own in groups])
    of_record = np.repeat(np.arange(len(groups)), sizes)
    members = None
    if persons is not None:
        members = members_of(np.concatenate(persons), of_record, n_classes=len(groups))
    order = np.random.default_rng(3).permutation(len(values))
    if members is not None:
        members = members_of(np.concatenate(persons)[order], of_record[order], n_classes=len(groups))
    return telling_groups(values[order], of_record[order], sizes, precision=precision, members=members)


def test_a_million_among_ordinary_incomes_is_given_away():
    """The average of ten incomes, nine of them ordinary, tells the tenth to whoever knows what ordinary incomes are."""
    ordinary = [31_000, 42_000, 55_000, 28_000, 61_000, 37_000, 45_000, 50_000, 33_000]
    told = found([[*ordinary, 1_000_000], [*ordinary, 90_000], [-2_000_000, *ordinary]], precision=100)
    assert told.extreme.tolist() == [True, False, True]


def test_a_group_that_agrees_publishes_the_value():
    """Its average is everybody's own."""
    told = found([[5, 5, 5], [5, 5, 6], [0, 0, 0, 0]])
    assert told.agreeing.tolist() == [True, False, True]
    assert told.extreme.tolist() == [False, False, False]


def test_missing_values_tell_nothing():
    """A group without values has no average."""
    told = found([[np.nan] * 4, [1, 1, 1, 900]])
    assert told.agreeing.tolist() == [False, False]
    assert told.extreme.tolist() == [False, True]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("with_persons", [False, True])
def test_the_count_is_that_of_a_slow_one(seed, with_persons):
    """Values of both signs, ties, heavy tails, and persons with several records."""
    rng = np.random.default_rng(seed)
    groups, persons = [], []
    for _ in range(300):
        size = int(rng.integers(3, 9))
        own = np.round(rng.normal(rng.choice([0, 20]), 3, size) * rng.choice([1, 1, 1, 40], size))
        who = rng.integers(0, size, size) if with_persons else np.arange(size)
        if len(set(who)) > 1:
            groups.append(own)
            persons.append(who)
    told = found(groups, precision=1.0, persons=persons if with_persons else None)
    slow = [slowly(own, who, 1.0) for own, who in zip(groups, persons, strict=True)]
    assert told.extreme.tolist() == slow
    assert 0 < sum(slow) < len(slow)
    assert told.agreeing.tolist() == [len(set(own)) == 1 for own in groups]
