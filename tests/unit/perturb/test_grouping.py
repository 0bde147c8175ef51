# SPDX-License-Identifier: Apache-2.0
"""Groups of near neighbours: large enough, inside classes, the same in any order of the records, and near each other."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.perturb.averages import resplits
from kepsilon.perturb.averages.averages import averages_of, unrounded_averages_of
from kepsilon.perturb.averages.even_cuts import cut_evenly, n_groups_of, sorted_blocks
from kepsilon.perturb.averages.grouping import group_records
from kepsilon.perturb.averages.points import TooWideError
from kepsilon.perturb.averages.resplits import hilbert_places, split_again
from kepsilon.perturb.averages.segments import sort_within
from kepsilon.randomness import unsafe_seeded_bytes
from oracles import averages as oracle

TENTH = Fraction(1, 10)


def made_up(n, n_classes, d, seed=0):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(100, 15, (n, d)) @ (np.eye(d) + 0.4), 1)
    return values, rng.integers(0, n_classes, n)


def grouped(values, class_ids, group, *, n_classes=None, **more):
    return group_records(
        values,
        class_ids,
        n_classes=int(class_ids.max()) + 1 if n_classes is None else n_classes,
        group=group,
        precisions=[TENTH] * values.shape[1],
        **more,
    )


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    group=st.integers(3, 9),
    d=st.integers(1, 3),
    distinct=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_groups_are_large_enough_and_as_many_as_there_can_be(sizes, group, d, distinct, seed):
    """For any classes and values, equal ones included; empty classes do no harm."""
    rng = np.random.default_rng(seed)
    class_ids = rng.permutation(np.repeat(np.arange(len(sizes)) * 2, sizes))
    values = rng.integers(0, distinct, (len(class_ids), d)).astype(float)
    found = grouped(values, class_ids, group, n_classes=2 * len(sizes) + 1, source=unsafe_seeded_bytes(seed))
    assert oracle.faults_of_groups(found.of_record, class_ids, group=group) == []
    assert found.sizes.tolist() == np.bincount(found.of_record).tolist()
    assert (found.class_ids[found.of_record] == class_ids).all()


@given(
    records=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=90),
    group=st.integers(3, 6),
    d=st.integers(1, 2),
)
def test_groups_of_persons(records, group, d):
    """All records of a person in a class stay together, and a group has at least so many persons."""
    class_ids, persons, values = (np.array(column) for column in zip(*records, strict=True))
    columns = np.column_stack([values.astype(float), (7.0 * values) % 5])[:, :d]
    found = grouped(columns, class_ids, group, persons=persons, source=unsafe_seeded_bytes(1))
    assert oracle.faults_of_groups(found.of_record, class_ids, group=group, persons=persons) == []


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_judge_notices_what_is_wrong(d):
    """A short last group, groups across classes, groups by records where there are persons, fewer groups than possible."""
    values, class_ids = made_up(300, 4, d)
    of_record = grouped(values, class_ids, 10).of_record

    def faults(changed, **more):
        return oracle.faults_of_groups(changed, class_ids, group=10, **more)

    short = of_record.copy()
    short[np.flatnonzero(of_record == 3)[9:]] = 2
    assert faults(short) == ["a group is too small"]
    across = grouped(values, np.zeros_like(class_ids), 10).of_record
    assert "a group is in two classes" in faults(across)
    persons = np.arange(300) // 3
    assert "a group is too small" in faults(of_record, persons=persons)
    assert "a person is in two groups of a class" in faults(of_record, persons=persons)
    assert "a class has fewer groups than it could" in faults(np.where(of_record == 1, 0, of_record))


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("with_persons", [False, True])
def test_the_order_of_records_and_other_classes_change_nothing(d, with_persons):
    """So every engine finds the same averages, whichever classes it holds together and in which order."""
    values, class_ids = made_up(2_000, 5, d)
    rng = np.random.default_rng(5)
    persons = rng.integers(0, 700, 2_000) if with_persons else None
    found = grouped(values, class_ids, 7, persons=persons)
    order = rng.permutation(2_000)
    again = grouped(
        values[order], class_ids[order], 7, persons=None if persons is None else persons[order],
        source=unsafe_seeded_bytes(3),
    )  # fmt: skip
    assert np.array_equal(averages_of(found, [TENTH] * d), averages_of(again, [TENTH] * d))
    assert np.array_equal(found.sizes, again.sizes)
    for c in range(5):
        own = class_ids == c
        alone = grouped(
            values[own], np.zeros(own.sum(), dtype=np.int64), 7, persons=None if persons is None else persons[own]
        )
        assert np.array_equal(averages_of(alone, [TENTH] * d), averages_of(found, [TENTH] * d)[found.class_ids == c])


def test_many_classes_in_several_blocks_are_those_of_one_block(monkeypatch):
    values, class_ids = made_up(3_000, 60, 2)
    whole = grouped(values, class_ids, 5)
    monkeypatch.setattr("kepsilon.perturb.averages.grouping._TOGETHER", 500)
    parts = grouped(values, class_ids, 5)
    assert np.array_equal(whole.of_record, parts.of_record)
    assert np.array_equal(whole.sums, parts.sums)


def test_who_of_equal_records_goes_where_is_drawn():
    """A cut through twenty equal values: the first of them is in the first group as often as not.

    400 draws: 200 ± 50 is five standard deviations, one false alarm in 1.7 million. By the order of the input it would
    always be the same.
    """
    values, class_ids = np.full((20, 1), 5.0), np.zeros(20, dtype=np.int64)
    first = sum(
        int(grouped(values, class_ids, 10, source=unsafe_seeded_bytes(seed)).of_record[0] == 0) for seed in range(400)
    )
    assert abs(first - 200) < 50
    by_input = {int(grouped(values, class_ids, 10).of_record[0]) for _ in range(10)}
    assert by_input == {0}, "without a source nothing is drawn; nothing may be released of it"


def test_sizes_of_sorted_blocks_depend_on_the_number_of_records_alone():
    """Data-dependent sizes would break the promise of noise on sorted blocks."""
    rng = np.random.default_rng(2)
    for m in (7, 30, 101):
        sizes = {
            tuple(grouped(np.round(own, 1).reshape(-1, 1), np.zeros(m, dtype=np.int64), 4).sizes.tolist())
            for own in (rng.normal(size=m), rng.exponential(size=m), np.zeros(m), np.arange(m) // 5 * 1.0)
        }
        assert len(sizes) == 1
        (only,) = sizes
        blocks = m // 4
        assert list(only) == [m * (b + 1) // blocks - m * b // blocks for b in range(blocks)]


@pytest.mark.parametrize("shape", ["normal", "correlated", "skewed", "grid", "three"])
@pytest.mark.parametrize("group", [10, 25, 50])
def test_groups_are_nearly_as_near_as_those_of_mdav(shape, group):
    """At most 1.05 times MDAV's sum of squared distances, in units of the spread; the cuts alone are worse in places."""
    rng = np.random.default_rng(11)
    m = 1_000
    points = {
        "normal": rng.normal(size=(m, 2)),
        "correlated": rng.normal(size=(m, 2)) @ np.array([[1, 0.8], [0, 0.3]]),
        "skewed": np.exp(rng.normal(size=(m, 2)) * 1.5),
        "grid": np.round(rng.normal(size=(m, 2)) * 5),
        "three": rng.normal(size=(m, 3)),
    }[shape]
    values = np.round(points * 100, 1)
    found = grouped(values, np.zeros(m, dtype=np.int64), group)
    units = (values - values.mean(axis=0)) / values.std(axis=0)
    ours = oracle.squared_distances(units, found.of_record)
    theirs = oracle.squared_distances(units, oracle.mdav(units, group))
    assert ours <= 1.05 * theirs


def test_splitting_again_never_makes_groups_worse():
    rng = np.random.default_rng(4)
    points, sizes = rng.normal(size=(600, 3)), np.array([200, 400])
    n_groups = n_groups_of(sizes, group=7)
    order, group_sizes = cut_evenly(points.T, sizes, n_groups)
    classes = np.repeat(np.arange(2), n_groups)
    before = np.inf
    for rounds in range(resplits.ROUNDS + 1):
        new_order, new_sizes, _ = split_again(points.T, order, group_sizes, classes, rounds=rounds)
        of_point = np.empty(600, dtype=np.int64)
        of_point[new_order] = np.repeat(np.arange(len(new_sizes)), new_sizes)
        after = oracle.squared_distances(points, of_point)
        assert after <= before * (1 + 1e-6)  # numbers that agree to 1 in 30,000 may stay as they are
        before = after


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(0, 9))
def test_sorting_stretches(sizes, seed):
    """Each stretch by itself; numbers that agree in 24 bits keep their order."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=sum(sizes)) * 10.0 ** rng.integers(-20, 20, sum(sizes))
    order = sort_within(numbers, np.array(sizes))
    start = 0
    for size in sizes:
        own = order[start : start + size]
        assert sorted(own.tolist()) == list(range(start, start + size))
        rising = numbers[own]
        assert np.all(rising[1:] >= rising[:-1] - 1e-4 * np.abs(rising[:-1]))
        start += size


def test_stretches_longer_than_what_is_sorted_together(monkeypatch):
    monkeypatch.setattr("kepsilon.perturb.averages.segments._SHORT", 50)
    rng = np.random.default_rng(1)
    sizes = np.array([10, 200, 30, 30, 1, 75])
    numbers = rng.normal(size=sizes.sum())
    order = sort_within(numbers, sizes)
    for start, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        own = numbers[order[start : start + size]]
        assert np.all(np.diff(own) >= -1e-4 * np.abs(own[1:]))


@pytest.mark.parametrize(("d", "bits"), [(1, 5), (2, 4), (3, 3), (4, 2)])
def test_cells_that_follow_one_another_on_the_curve_share_a_side(d, bits):
    cells = np.array(np.meshgrid(*[range(1 << bits)] * d)).reshape(d, -1).T
    places = hilbert_places(cells.T, bits=bits)
    assert sorted(places.tolist()) == list(range(1 << bits * d))
    assert np.all(np.abs(np.diff(cells[np.argsort(places)], axis=0)).sum(axis=1) == 1)


@given(
    values=st.lists(st.integers(-10_000, 10_000), min_size=3, max_size=40),
    digits=st.integers(0, 3),
    precision=st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(5), Fraction(1, 4)]),
)
def test_an_average_is_exact_and_rounded_once(values, digits, precision):
    """Values finer than the precision are not rounded before they are averaged; no order of addition matters."""
    numbers = [value / 10**digits for value in values]
    found = group_records(
        np.array(numbers).reshape(-1, 1),
        np.zeros(len(values), dtype=np.int64),
        n_classes=1,
        group=len(values),
        precisions=[precision],
    )
    exact = sum(Fraction(value, 10**digits) for value in values) / len(values)
    (average,) = averages_of(found, [precision])[0].tolist()
    distance = abs(Fraction(str(average)) - exact)
    assert distance <= precision / 2 * (1 + Fraction(1, 2**15))
    if 10**digits * precision % 1 == 0:  # values are multiples of a power of two of the precision, or nearly
        assert abs(unrounded_averages_of(found, [precision])[0, 0] - float(exact)) <= 1e-5 * float(precision)


def test_rounding_before_averaging_would_be_noticed():
    values = [0.44, 0.44, 0.44, 0.58]
    found = grouped(np.array(values).reshape(-1, 1), np.zeros(4, dtype=np.int64), 4)
    assert averages_of(found, [TENTH]).tolist() == [[oracle.rounded_average(values, TENTH)]] == [[0.5]]
    values = [0.46, 0.46, 0.46, 0.36]
    found = grouped(np.array(values).reshape(-1, 1), np.zeros(4, dtype=np.int64), 4)
    assert averages_of(found, [TENTH]).tolist() == [[0.4]]
    assert oracle.rounded_average([round(own, 1) for own in values], TENTH) == 0.5


def test_values_that_are_missing_in_a_class():
    values, class_ids = made_up(60, 2, 2)
    values[class_ids == 1, 0] = np.nan
    found = grouped(values, class_ids, 5)
    averages = averages_of(found, [TENTH] * 2)
    assert np.isnan(averages[found.class_ids == 1, 0]).all()
    assert not np.isnan(averages[:, 1]).any()
    assert not np.isnan(averages[found.class_ids == 0]).any()
    assert oracle.faults_of_groups(found.of_record, class_ids, group=5) == []


def test_values_too_far_apart_for_whole_sums_are_refused():
    values = np.array([0.0, 1e17, 5.0, 7.0]).reshape(-1, 1)
    with pytest.raises(TooWideError):
        grouped(values, np.zeros(4, dtype=np.int64), 4)


def test_blocks_of_unequal_classes():
    assert sorted_blocks(np.array([7, 3, 11]), np.array([2, 1, 3])).tolist() == [3, 4, 3, 3, 4, 4]


def test_halves_go_to_the_even_unit_so_that_means_stay():
    """Every fourth average of four whole numbers ends in a half; if all were rounded up, the mean would rise by ⅛."""
    values = np.random.default_rng(0).integers(-500, 500, (40_000, 1)).astype(float)
    found = group_records(values, np.arange(40_000) // 4, n_classes=10_000, group=4, precisions=[Fraction(1)])
    averages = averages_of(found, [Fraction(1)])[:, 0]
    assert abs(averages.mean() - values.mean()) < 0.02
    assert averages.tolist() == [oracle.rounded_average(own.tolist(), Fraction(1)) for own in values.reshape(-1, 4)]


def test_sorted_blocks_are_those_of_the_values_however_fine_these_are():
    """Values nearer to each other than the fine steps of their sums: blocks in another order would not keep ε."""
    values = np.random.default_rng(0).permutation(5 + np.arange(60) * 1e-11)[:, np.newaxis]
    found = grouped(values, np.zeros(60, dtype=np.int64), 3, source=unsafe_seeded_bytes(1))
    blocks = [values[found.of_record == own, 0] for own in range(found.n_groups)]
    assert all(one.max() < other.min() for one, other in pairwise(blocks))
