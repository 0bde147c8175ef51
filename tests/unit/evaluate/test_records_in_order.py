# SPDX-License-Identifier: Apache-2.0
"""Figures of records that stand by class, or by class and value, are those of the same records in any order."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.error.value_cells import ValueCells
from kepsilon.evaluate.group_extremes import telling_groups
from kepsilon.evaluate.originals.class_values import ClassValues, count_values
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.evaluate.outliers import extremes_of, extremes_of_counted
from kepsilon.evaluate.survival.inside_classes import inside_sums
from kepsilon.table.classes import class_ranges
from kepsilon.table.coded_values import CodedValues


@pytest.fixture(params=range(4))
def classes(request):
    """Values by class and value with ties, classes of one record, and values that stand out; and a random order of them."""
    rng = np.random.default_rng(request.param)
    sizes = rng.integers(1, 40, 60)
    ids = np.repeat(np.arange(len(sizes)), sizes)
    values = np.round(rng.normal(50, 20, len(ids)), rng.integers(0, 2))
    values[rng.integers(0, len(ids), 20)] *= rng.choice([-40, 0, 30], 20)
    order = np.lexsort((values, ids))
    return values[order], ids[order], len(sizes), rng.permutation(len(ids)), rng


def test_ranges_do_not_depend_on_the_order_of_records(classes):
    """Classes side by side are gone through faster, and have the ends that all records say."""
    values, ids, n, mixed, _ = classes
    by_class = {i: values[ids == i] for i in range(n)}
    for chosen in (np.arange(len(ids)), mixed):
        low, high = class_ranges(values[chosen], ids[chosen], n_classes=n)
        assert low.tolist() == [by_class[i].min() for i in range(n)]
        assert high.tolist() == [by_class[i].max() for i in range(n)]


def test_sorting_what_is_sorted_changes_nothing(classes):
    """The values of every class, and how many records hold them, are the same from sorted and from mixed records."""
    values, ids, n, mixed, _ = classes
    one, other = (sort_classes(values[c], ids[c], n_classes=n) for c in (np.arange(len(ids)), mixed))
    for field in ("values", "class_ids", "counts", "starts", "place"):
        assert getattr(one, field).tolist() == getattr(other, field).tolist()
    assert one.order.tolist() == list(range(len(ids)))
    assert values[mixed][other.order].tolist() == values.tolist()


def test_values_counted_in_order_are_those_counted_in_any(classes):
    """Equal values side by side are counted without slots or sorting."""
    values, ids, n, mixed, _ = classes
    distinct, codes = np.unique(values, return_inverse=True)
    one, other = (
        count_values(CodedValues(distinct=distinct, codes=codes[c]), ids[c], n_classes=n)
        for c in (np.arange(len(ids)), mixed)
    )
    for field in ("values", "class_ids", "counts", "starts"):
        assert getattr(one, field).tolist() == getattr(other, field).tolist()


def counted(values, ids, n) -> ClassValues:
    distinct, codes = np.unique(values, return_inverse=True)
    return count_values(CodedValues(distinct=distinct, codes=codes), ids, n_classes=n)


def test_extremes_of_counted_values_are_those_of_the_records(classes):
    """The outermost value, and the second, which is the same where two records hold it."""
    values, ids, n, _, _ = classes
    one, other = extremes_of(values, ids, n_classes=n), extremes_of_counted(counted(values, ids, n))
    for field in ("smallest", "second_smallest", "second_largest", "largest"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_a_class_without_values_has_no_extremes():
    """NaN, as for classes whose values are all missing."""
    found = extremes_of_counted(counted(np.array([3.0]), np.array([1]), 3))
    assert np.isnan(found.largest).tolist() == [True, False, True]
    assert np.isnan(found.second_largest).all()


@pytest.mark.parametrize("include_equal", [True, False])
def test_bounds_are_found_where_counting_finds_them(classes, include_equal):
    """Also bounds at values, next to values by one bit, beyond the class, infinite or no numbers at all."""
    values, ids, n, _, rng = classes
    own = counted(values, ids, n)
    chosen = rng.integers(0, len(values), 300)
    bounds = np.concatenate(
        [
            values[chosen],
            np.nextafter(values[chosen], np.inf),
            np.nextafter(values[chosen], -np.inf),
            rng.normal(0, 1e4, 300),
            np.array([np.inf, -np.inf, np.nan]),
        ]
    )
    of_class = np.concatenate([np.tile(ids[chosen], 3), rng.integers(0, n, 303)])
    found = own.n_distinct_up_to(bounds, of_class, include_equal=include_equal)
    for bound, class_id, place in zip(bounds.tolist(), of_class.tolist(), found.tolist(), strict=True):
        here = own.values[own.starts[class_id] : own.starts[class_id + 1]]
        is_before = here <= bound if include_equal else here < bound
        assert place == own.starts[class_id] + np.count_nonzero(is_before)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e300])
def test_bounds_are_found_among_values_next_to_nothing_and_huge_ones(scale):
    """Ranges that overflow or have few digits are searched by halving."""
    here = np.unique(np.random.default_rng(1).normal(0, 1, 200)) * scale
    own = ClassValues(
        values=here,
        class_ids=np.zeros(len(here), dtype=np.int64),
        counts=np.ones(len(here), dtype=np.int64),
        starts=np.array([0, len(here)]),
    )
    for include_equal in (True, False):
        found = own.n_distinct_up_to(here, np.zeros(len(here), dtype=np.int64), include_equal=include_equal)
        expected = [np.count_nonzero(here <= b if include_equal else here < b) for b in here]
        assert found.tolist() == expected


def test_groups_that_tell_are_found_in_any_order(classes):
    """Groups whose values rise are looked at from their ends."""
    values, ids, n, mixed, _ = classes
    sizes = np.bincount(ids, minlength=n)
    one = telling_groups(values, ids, sizes, precision=0.1)
    other = telling_groups(values[mixed], ids[mixed], sizes, precision=0.1)
    assert one.agreeing.tolist() == other.agreeing.tolist()
    assert one.extreme.tolist() == other.extreme.tolist()
    assert one.extreme.any()
    assert not one.extreme.all()


def test_sums_inside_classes_do_not_depend_on_the_order(classes):
    """Sums of squares and products of distances from the means of classes."""
    values, ids, n, mixed, rng = classes
    published = values + rng.normal(0, 3, len(values))
    one, other = (
        inside_sums(values[c, None], published[c, None], ids[c], np.ones(len(c), dtype=bool), n_classes=n)
        for c in (np.arange(len(ids)), mixed)
    )
    for field in ("true", "published", "product"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-12)


@pytest.mark.parametrize("numbers", [[0.0, 0.0, 1e-3, 1e-3, 0.2], [0.0], [-3.0, 0.0, 3.0], [0.0, 5e-324, 1e300]])
def test_cells_of_zeros_are_those_that_sorting_finds(numbers, monkeypatch):
    """The key of zero is far from all others, and is counted beside them all the same."""
    from kepsilon.evaluate.error import value_cells

    numbers = np.array(numbers * 200)
    counts = np.arange(len(numbers)) + 1
    dense = ValueCells.of(numbers, counts)
    monkeypatch.setattr(value_cells, "_DENSE", 0)
    assert dense == ValueCells.of(numbers, counts)
