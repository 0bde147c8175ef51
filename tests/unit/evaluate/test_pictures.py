# SPDX-License-Identifier: Apache-2.0
"""Pictures of a release: nothing in them speaks of fewer than k records, and what they show is right."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.pictures import MOST_SAMPLED
from kepsilon.json_values import json_of
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.round_numbers import nice_step
from kepsilon.table.steps import Steps
from material.made_up_results import K, made_up_pictures
from material.pictured_release import picture_release
from oracles.noise import SEED

TENTH = Fraction(1, 10)


def pictures_of(values, published=None, *, k=3, epsilon=2.0, stays=None, precision=TENTH, class_ids=None, persons=None):
    """One ε-quasi in one class unless told otherwise, published as it is unless told otherwise."""
    values = np.asarray(values, dtype=float)
    ids = np.zeros(len(values), dtype=int) if class_ids is None else np.asarray(class_ids)
    ranges = np.array([[np.nanmax(values[ids == c]) - np.nanmin(values[ids == c])] for c in range(ids.max() + 1)])
    return picture_release(
        k=k,
        names=["height"],
        values=values[:, None],
        published=[values if published is None else np.asarray(published, dtype=float)],
        class_ids=ids,
        stays=np.ones(len(values), dtype=bool) if stays is None else np.asarray(stays),
        mechanism=LAPLACE,
        low=np.zeros_like(ranges),
        high=ranges,
        epsilon=epsilon,
        steps=[Steps(precision=precision)],
        persons=None if persons is None else np.asarray(persons),
    )


whole_tenths = st.integers(-2000, 9000).map(lambda i: i / 10)


@given(st.lists(whole_tenths, min_size=3, max_size=120), st.integers(2, 6), st.sampled_from(["0.1", "1", "0.25", "3"]))
def test_no_cell_of_any_picture_holds_fewer_than_k_records(values, k, precision):
    """Nor can one be found by taking all shown bins from the total, which is known, unless only one is shown."""
    if len(values) < k:
        return
    picture = pictures_of(values, k=k, precision=Fraction(precision)).values[0]
    for counts in (picture.before, picture.after):
        assert len(counts) == len(picture.edges) + 1
        shown = [count for count in counts if count is not None]
        assert all(count >= k for count in shown)
        assert len(shown) == 1 or not 0 < len(values) - sum(shown) < k


@given(st.lists(st.tuples(whole_tenths, st.integers(0, 12)), min_size=6, max_size=120), st.integers(2, 6))
def test_no_cell_of_any_picture_is_about_fewer_than_k_persons(records, k):
    """Where records say whom they are about; nor are the hidden cells together, unless only one is shown."""
    values, persons = ([record[i] for record in records] for i in (0, 1))
    pictures = pictures_of(values, k=k, persons=persons)
    edges = [-np.inf, *pictures.values[0].edges, np.inf]
    for counts in (pictures.values[0].before, pictures.values[0].after):
        own = [
            {p for v, p in records if edges[i] <= v + 1e-7 and v + 1e-7 < edges[i + 1]} for i in range(len(edges) - 1)
        ]
        assert all(len(them) >= k for them, count in zip(own, counts, strict=True) if count is not None)
        hidden = set().union(*(them for them, count in zip(own, counts, strict=True) if count is None))
        assert len([count for count in counts if count is not None]) <= 1 or not 0 < len(hidden) < k


def test_many_records_of_one_person_are_not_drawn():
    """Forty visits of one patient are a cell of one person; 40 stands nowhere, nor does it follow from the total."""
    values = [10.0] * 50 + [12.0] * 60 + [19.0] * 40
    persons = [*range(50), *range(60), *[7] * 40]
    assert sorted(count for count in pictures_of(values, k=5).values[0].before if count) == [40, 50, 60]
    picture = pictures_of(values, k=5, persons=persons).values[0]
    assert [count for count in picture.before if count is not None] == [60]
    assert [count for count in picture.after if count is not None] == [60]


def test_zeros_of_one_person_are_not_counted():
    """How many there are would tell how often that person was there."""
    values = [0.0] * 40 + [10.0] * 30
    persons = [*[7] * 40, *range(30)]
    assert pictures_of(values, k=5).errors[0].n_zeros == 40
    assert pictures_of(values, k=5, persons=persons).errors[0].n_zeros is None
    assert pictures_of([0.0] * 40 + [10.0] * 30, k=5, persons=range(70)).errors[0].n_zeros == 40
    assert pictures_of([1.0] * 40 + [10.0] * 30, k=5, persons=persons).errors[0].n_zeros == 0


def test_errors_of_one_person_are_no_step_of_a_curve():
    """Nor are values other than 0 of one person a curve at all."""
    values, persons = [100.0] * 80, np.array([*range(40), *[7] * 40])
    published = [100.0] * 40 + [103.0] * 40
    assert 0.5 in pictures_of(values, published, k=5).errors[0].realised
    assert set(pictures_of(values, published, k=5, persons=persons).errors[0].realised) == {None, 1.0}
    assert not pictures_of([5.0] * 40 + [0.0] * 40, k=5, persons=persons[::-1]).errors


@given(st.lists(whole_tenths, min_size=5, max_size=200), st.sampled_from([1, 3, 7]))
def test_counts_equal_a_slow_count(values, copies):
    """Every shown bin against a comparison of each value with its edges, in whole tenths so that nothing rounds."""
    values = values * copies
    picture = pictures_of(values, k=2).values[0]
    edges = [-np.inf, *picture.edges, np.inf]
    for i, count in enumerate(picture.before):
        inside = sum(edges[i] <= value + 1e-7 and value + 1e-7 < edges[i + 1] for value in values)
        assert count in (None, inside)
        if inside >= 2 and count is None:  # only ever the smallest one, to cover up for the rest
            assert all(inside <= shown for shown in picture.before if shown is not None)


def test_a_value_on_an_edge_is_counted_above_it():
    """0.6 / 0.2 is 2.9999999999999996 in binary, and the bin from 0.6 would lose one of its two values."""
    picture = pictures_of([i / 10 for i in range(62)] * 10, k=2).values[0]
    assert picture.edges[1] - picture.edges[0] == pytest.approx(0.2)
    assert set(picture.before[1:-1]) == {20}


@given(st.lists(whole_tenths, min_size=3, max_size=60))
def test_edges_are_round_and_never_the_smallest_or_largest_value(values):
    """The axis must not tell the extremes, which belong to one person each."""
    edges = np.array(pictures_of(values).values[0].edges)
    assert min(values) not in edges
    assert max(values) not in edges
    widths = np.diff(edges)
    step = widths.min()
    assert step == pytest.approx(nice_step(step))
    halves = edges / step * 2
    assert np.allclose(halves, np.round(halves), atol=1e-6)


def test_rare_values_are_nowhere_in_the_pictures():
    """Two people stand out, and nothing that is kept of the release knows by how much."""
    rng = np.random.default_rng(SEED)
    values = rng.normal(170, 8, 500).round(1)
    values[[100, 200]] = 271.3, 31.7
    values[[101, 201]] = 231.9, 61.9
    pictures = made_up_pictures(values=values[:, None])
    text = json.dumps(json_of(pictures))
    for rare in ("271.3", "31.7", "231.9", "61.9"):
        assert rare not in text
    counts = [*pictures.values[0].before, *pictures.values[0].after]
    assert min(count for count in counts if count is not None) >= K


def test_a_cell_with_two_records_is_not_drawn():
    """The mutant that keeps small bins would show 2 here."""
    values = [10.0] * 50 + [12.0] * 50 + [19.0] * 2
    picture = pictures_of(values, k=5).values[0]
    assert 2 not in picture.before
    assert (
        sum(count or 0 for count in picture.before) == 50
    )  # the smaller of the other two hides the 2 from subtraction


@pytest.mark.parametrize("few", [1, 4])
def test_a_picture_of_one_giant_cell_does_not_vanish(few):
    """Nearly everybody has a 0; hiding that bin for the sake of the few would leave nothing to see."""
    values = [0.0] * (1000 - few) + [100.0] * few
    picture = pictures_of(values, k=5).values[0]
    assert [count for count in picture.before if count is not None] == [1000 - few]


def test_the_smallest_cell_is_hidden_with_the_few():
    """The most that may be hidden is the least that can be."""
    values = [10.0] * 500 + [12.0] * 300 + [14.0] * 2 + [19.0] * 20
    picture = pictures_of(values, k=5).values[0]
    assert sorted(count for count in picture.before if count) == [300, 500]


def test_records_suppressed_for_confidence_count_before_and_not_after():
    """The picture compares what was read with what is released."""
    values = [10.0] * 40 + [20.0] * 40 + [30.0] * 40
    picture = pictures_of(values, k=5, stays=[True] * 40 + [False] * 40 + [True] * 40).values[0]
    assert sorted(count for count in picture.before if count) == [40, 40, 40]
    assert sorted(count for count in picture.after if count) == [40, 40]


def test_missing_values_and_constants_have_pictures_too():
    """A column without a spread must not divide by it."""
    values = np.array([np.nan] * 20 + [7.0] * 30)
    pictures = picture_release(
        k=3,
        names=["height", "gone"],
        values=np.column_stack([values, np.full(50, np.nan)]),
        published=[values, np.full(50, np.nan)],
        class_ids=np.repeat([0, 1], [20, 30]),
        stays=np.ones(50, dtype=bool),
        mechanism=LAPLACE,
        low=np.array([[np.nan, np.nan], [7.0, np.nan]]),
        high=np.array([[np.nan, np.nan], [7.0, np.nan]]),
        epsilon=1.0,
        steps=[Steps(precision=TENTH)] * 2,
    )
    assert [picture.name for picture in pictures.values] == ["height"]
    assert [count for count in pictures.values[0].before if count is not None] == [30]
    assert len(pictures.values[0].edges) > 4
    assert pictures.errors[0].per_class == (1.0,) * 61
    assert pictures.errors[0].n_records == 30


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_chance_of_large_noise_equals_simulation(d):
    """Drawn another way than the mechanism does: radius Gamma(d), one face of the cube at random, uniform on it.

    |z| < 5 at each of four points; the mutant that takes d + 1 attributes is off by more than 10.
    """
    rng = np.random.default_rng(SEED + d)
    n = 200_000
    radius = rng.gamma(d, size=n)
    noise = rng.uniform(size=(n, d)) * radius[:, None]
    noise[np.arange(n), rng.integers(d, size=n)] = radius
    at = np.array([0.3, 1.0, 2.0, 4.0])
    drawn = (noise[:, 0][:, None] > at).mean(axis=0)
    expected = np.exp(-at) * LAPLACE.exceeding_factor(at, d=d)
    deviation = np.sqrt(expected * (1 - expected) / n)
    assert np.all(np.abs(drawn - expected) < 5 * deviation)
    mutant = np.exp(-at) * LAPLACE.exceeding_factor(at, d=d + 1)
    assert np.any(np.abs(drawn - mutant) > 10 * deviation)


def test_the_expected_curves_equal_a_simulated_release():
    """Class noise with one and with two active ε-quasis, and whole-dataset noise; |z| < 5 at every point."""
    rng = np.random.default_rng(SEED)
    n, epsilon, times = 300, 4.0, 400
    ids = np.repeat(np.arange(6), 50)
    values = np.column_stack([rng.normal(170, 9, n), rng.normal(80, 12, n)]).round(1)
    values[ids == 0, 1] = 80.0  # there only the height has noise
    spread = np.array([np.ptp(values[ids == c], axis=0) for c in range(6)])
    pictures = picture_release(
        k=5,
        names=["height", "weight"],
        values=values,
        published=[values[:, 0], values[:, 1]],
        class_ids=ids,
        stays=np.ones(n, dtype=bool),
        mechanism=LAPLACE,
        low=np.zeros_like(spread),
        high=spread,
        epsilon=epsilon,
        steps=[Steps(precision=TENTH)] * 2,
    )
    n_active = (spread > 0).sum(axis=1)[ids]
    for j, error in enumerate(pictures.errors):
        at = np.array(error.at)
        for curve, ranges, active in (
            (error.per_class, spread[ids, j], n_active),
            (error.whole_dataset, np.full(n, np.ptp(values[:, j])), np.full(n, 2)),
        ):
            radius = rng.gamma(active + 1, size=(times, n)) / epsilon * ranges
            errors = rng.uniform(size=(times, n)) * radius / values[:, j]
            drawn = np.array([(errors <= t).mean() for t in at])
            deviation = np.sqrt(np.maximum(drawn * (1 - drawn), 1e-5) / (n * times))
            assert np.all(np.abs(np.array(curve) - drawn) < 5 * deviation + 5e-5)  # shares are kept to four decimals
        assert error.uniform[-1] == 1.0
        assert np.interp(0.025, error.at, error.uniform) == pytest.approx(0.5, abs=0.01)
        assert all(a >= b - 1e-4 for a, b in zip(error.per_class, error.whole_dataset, strict=True))


def test_the_realised_curve_tells_of_no_step_below_k():
    """Errors of 1 % for 90 people, 4 % for two, 9 % for 30: the two are joined with others or left out."""
    values = np.full(122, 100.0)
    values[:61] = 50.0
    errors = np.repeat([0.01, 0.04, 0.09], [90, 2, 30])
    realised = pictures_of(values, values * (1 + errors), k=5).errors[0].realised
    shown = sorted({round(share * 122) for share in realised if share is not None})
    assert shown == [0, 90, 122]


def test_zeros_have_no_relative_error_and_are_counted():
    """Nothing can be divided by zero, and the page says how many were left out."""
    values = np.array([0.0] * 7 + [10.0] * 20 + [20.0] * 20)
    error = pictures_of(values).errors[0]
    assert (error.n_zeros, error.n_records, error.n_sampled) == (7, 40, 40)


def test_fewer_than_k_errors_make_no_curve():
    """A curve of two records would show these records."""
    values = np.array([0.0] * 30 + [10.0] * 2)
    assert pictures_of(values).errors == ()


def test_a_large_release_is_sampled_and_says_so():
    """The sample depends on nothing that changes from run to run, so that the report of a record does not change."""
    rng = np.random.default_rng(SEED)
    values = rng.normal(170, 9, MOST_SAMPLED + 50_000).round(1)
    first, second = (pictures_of(values, values + 1, k=10) for _ in range(2))
    assert first == second
    assert (first.errors[0].n_sampled, first.errors[0].n_records) == (MOST_SAMPLED, len(values))
    assert sum(count or 0 for count in first.values[0].before) > len(values) - 10 * len(first.values[0].before)


def test_class_sizes_add_up_and_start_at_k():
    """Every class is in one bar, and no bar begins below k."""
    ids = np.repeat(np.arange(5), [10, 19, 20, 49, 1000])
    values = np.arange(len(ids), dtype=float)
    sizes = pictures_of(values, k=10, class_ids=ids).class_sizes
    assert [(s.smallest, s.largest, s.n_classes, s.n_records) for s in sizes] == [
        (10, 19, 2, 29),
        (20, 49, 2, 69),
        (1000, 1999, 1, 1000),
    ]


def test_a_class_below_k_is_refused():
    """A picture of it would show fewer than k people, and the promise would be broken anyway."""
    with pytest.raises(ValueError, match="fewer than k"):
        pictures_of(np.arange(30.0), k=10, class_ids=[0] * 25 + [1] * 5)


def test_pictures_survive_json():
    """They are stored with the curator's record."""
    pictures = made_up_pictures(names=("height", "weight"))
    assert json.loads(json.dumps(json_of(pictures)))["values"][1]["name"] == "weight"
