# SPDX-License-Identifier: Apache-2.0
"""Records linked through one kept column: against loops over classes, and mutants that the loops see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.kept_columns.class_order import order_of_classes
from kepsilon.evaluate.kept_columns.links import NOBODY, likeliest_links, nearest_links, on_grid
from kepsilon.evaluate.kept_columns.tables import quasi_values, table_links, table_of
from material.whole_columns import whole_column
from oracles import kept_columns as slow

records = st.lists(
    st.tuples(st.integers(-1, 4), st.integers(-3, 6), st.integers(-3, 6), st.booleans()), min_size=1, max_size=40
)


def fast_nearest(ids, shown, known, is_shown):
    return chances_of_nearest(ids, shown, known, is_shown).sum()


def chances_of_nearest(ids, shown, known, is_shown):
    return nearest_links(shown, known, is_shown=is_shown, ranking=np.argsort(known), classes=order_of_classes(ids))


def columns_of(table):
    ids, shown, known, is_shown = (np.array(own) for own in zip(*table, strict=True))
    return ids, shown, known, is_shown.astype(bool)


@given(records)
def test_the_nearest_original_of_the_class_is_linked(table):
    """Ties, classes of one, records in no class and records that show nothing are all as in the loop."""
    ids, shown, known, is_shown = columns_of(table)
    found = chances_of_nearest(ids, shown, known, is_shown)
    assert sorted(found) == pytest.approx(sorted(slow.nearest_links(shown, known, ids, is_shown)))


def test_the_loop_tells_candidates_of_other_classes_and_ties_that_count_one():
    """Both mutants give another number for one table, so the comparison above can see them."""
    rng = np.random.default_rng(1)
    ids, shown, known = rng.integers(0, 5, 60), rng.integers(0, 9, 60), rng.integers(0, 9, 60)
    everybody = np.ones(60, dtype=bool)
    right = sum(slow.nearest_links(shown, known, ids, everybody))
    assert fast_nearest(ids, shown, known, everybody) == pytest.approx(right)
    assert fast_nearest(np.zeros_like(ids), shown, known, everybody) != pytest.approx(right)
    ties_count_one = sum(
        abs(shown[i] - known[i]) == min(abs(shown[i] - known[j]) for j in np.flatnonzero(ids == ids[i]))
        for i in range(60)
    )
    assert ties_count_one != pytest.approx(right)


def test_an_original_of_whom_nothing_is_known_is_never_the_nearest():
    """A missing quasi makes nobody a candidate, but the others compete as before."""
    known = np.array([NOBODY, on_grid(np.array([-3.0]), low=0.0, high=1.0)[0]])
    shown = on_grid(np.array([3.0, 3.0]), low=0.0, high=1.0)
    assert fast_nearest(np.zeros(2, dtype=int), shown, known, np.array([True, True])) == 1.0


@given(records, st.integers(1, 3))
def test_the_likeliest_original_of_the_class_is_linked(table, n_distinct):
    """Rows that several records of a class share give what one row for each record gives, and both what the loop does."""
    ids, bins, quasi, _ = columns_of(table)
    bins, quasi = (bins + 3) % 4, (quasi + 3) % n_distinct
    scores = np.random.default_rng(3).integers(0, 3, (n_distinct, 4)).astype(np.float64)
    expected = slow.likeliest_links(lambda j, own: scores[quasi[j], own], bins, ids)
    classes = order_of_classes(ids)
    if not classes.n_records:
        return
    own = quasi[classes.records]
    pairs, row_of_record, counts = np.unique(classes.ids * n_distinct + own, return_inverse=True, return_counts=True)
    by_pair = likeliest_links(
        scores[pairs % n_distinct], bins[classes.records, None], row_of_record=row_of_record, records_of_row=counts,
        row_starts=np.searchsorted(pairs // n_distinct, np.arange(classes.n_classes)), classes=classes, tolerance=0.0,
    )  # fmt: skip
    by_record = likeliest_links(
        scores[own], bins[classes.records, None], row_of_record=np.arange(len(own)),
        records_of_row=np.ones(len(own), dtype=int), row_starts=classes.starts, classes=classes, tolerance=0.0,
    )  # fmt: skip
    for links, largest in (by_pair, by_record):
        assert links == pytest.approx([sum(expected)])
        assert largest == pytest.approx([max(expected)])


@given(records)
def test_a_table_of_one_quasi_links_as_counted_by_hand(table):
    """P(bin | value) from the other half of the records, with two records' worth of all frequencies added."""
    ids, bins, quasi, fold = columns_of(table)
    bins = np.unique((bins + 3) % 4, return_inverse=True)[1]
    n, n_bins = len(ids), int(bins.max()) + 1

    def score(j, own):
        others = [i for i in range(n) if quasi[i] == quasi[j] and fold[i] != fold[j]]
        prior = 2 * np.mean(bins == own)
        return np.float32((sum(bins[i] == own for i in others) + prior) / (len(others) + 2))

    values = quasi_values(whole_column(quasi), fold.astype(np.int64))
    own = table_of(values, bins)
    assert own.shape[1] == n_bins
    if (ids >= 0).any():
        found = table_links(values, [bins], order_of_classes(ids))
        rounded = slow.likeliest_links(lambda j, b: round(float(score(j, b)), 5), bins, ids)
        assert found[0] == pytest.approx([sum(rounded)])
        assert found[1] == pytest.approx([max(rounded)])


def test_classes_may_have_gaps_and_leave_records_out():
    """Only which records share a class matters."""
    classes = order_of_classes(np.array([7, -1, 3, 7, 900]))
    assert classes.records.tolist() == [2, 0, 3, 4]
    assert classes.ids.tolist() == [0, 1, 1, 2]
    assert classes.sorted_as(np.array([4, 3, 2, 1, 0])).tolist() == [2, 3, 0, 4]


def test_more_classes_than_sixteen_bits_hold_are_sorted_too():
    """Class ids change their type at 65,536."""
    ids = np.repeat(np.arange(70_000), 2)
    shown = np.arange(140_000)
    assert fast_nearest(ids, shown, shown, np.ones(140_000, dtype=bool)) == 140_000


def test_a_spread_next_to_nothing_is_no_overflow():
    """Numbers far outside are moved to three spreads, however many spreads away they are; warnings are errors here."""
    found = on_grid(np.array([1e10, 5e-324, -1e10]), low=0.0, high=1e-300)
    assert found.tolist() == [300_000_000, 0, -300_000_000]
