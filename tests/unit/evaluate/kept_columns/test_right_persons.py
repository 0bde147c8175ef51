# SPDX-License-Identifier: Apache-2.0
"""Records linked to any record of the right person: against loops, and against records when each person has one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.kept_columns.class_order import order_of_classes
from kepsilon.evaluate.kept_columns.links import likeliest_persons, nearest_links
from kepsilon.evaluate.kept_columns.look import look_at_kept_columns
from kepsilon.evaluate.kept_columns.right_persons import nearest_persons
from kepsilon.evaluate.kept_columns.tables import quasi_values, table_of, table_persons
from material.whole_columns import records_in_classes, whole_column
from oracles import kept_columns as slow

records = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(-3, 6), st.integers(-3, 6), st.booleans(), st.integers(0, 5)),
    min_size=1,
    max_size=40,
)


def columns_of(table):
    ids, shown, known, is_shown, persons = (np.array(own) for own in zip(*table, strict=True))
    return ids, shown, known, is_shown.astype(bool), persons


def fast_nearest(ids, shown, known, is_shown, persons):
    classes = order_of_classes(ids, persons)
    return nearest_persons(
        shown, known, is_shown=is_shown, ranking=np.argsort(known), classes=classes, by_person=classes.by_person
    )


@given(records)
def test_the_person_of_the_nearest_original_is_found(table):
    ids, shown, known, is_shown, persons = columns_of(table)
    if (ids < 0).all():
        return
    found = fast_nearest(ids, shown, known, is_shown, persons)

    def best_of(i, own):
        nearest = min(abs(shown[i] - known[j]) for j in own)
        return [j for j in own if abs(shown[i] - known[j]) == nearest]

    expected = slow.right_persons(best_of, persons, ids, is_shown)
    assert (found.records, found.persons) == pytest.approx(expected)
    pairs = {(c, p): s for c, p, s in sorted(zip(ids, persons, is_shown, strict=True), key=lambda own: own[2])}
    assert found.n_persons == len([1 for c, _ in pairs if c >= 0])
    assert found.n_shown == sum(s for (c, _), s in pairs.items() if c >= 0)


@given(records)
def test_with_one_record_each_persons_are_records(table):
    ids, shown, known, is_shown, _ = columns_of(table)
    if (ids < 0).all():
        return
    everybody = np.arange(len(ids))
    found = fast_nearest(ids, shown, known, is_shown, everybody)
    chances = nearest_links(shown, known, is_shown=is_shown, ranking=np.argsort(known), classes=order_of_classes(ids))
    assert found.records == pytest.approx(found.persons)
    assert found.persons == pytest.approx(chances.sum())
    assert found.largest == pytest.approx(chances.max(initial=0.0))
    n_in, n_shown = (np.bincount(ids[own & (ids >= 0)], minlength=4) for own in (is_shown | True, is_shown))
    chance = (n_shown[n_in > 0] / n_in[n_in > 0]).sum()
    assert (found.by_chance, found.links_by_chance) == pytest.approx((chance, chance))


@given(records)
def test_chance_finds_one_person_in_a_class(table):
    ids, shown, known, is_shown, persons = columns_of(table)
    if (ids < 0).all():
        return
    found = fast_nearest(ids, shown, known, is_shown | True, persons)
    n_classes = len(set(ids[ids >= 0].tolist()))
    assert (found.by_chance, found.links_by_chance) == pytest.approx((n_classes, n_classes))


@given(records)
def test_the_person_of_the_likeliest_original_is_found(table):
    """By records, and by the rows that records of a person share in tables."""
    ids, bins, quasi, _, persons = columns_of(table)
    bins, quasi = (bins + 3) % 4, (quasi + 3) % 5
    classes = order_of_classes(ids, persons)
    if not classes.n_records:
        return
    everybody = np.ones(len(ids), dtype=bool)
    scores = np.random.default_rng(3).integers(0, 3, (5, 4)).astype(np.float64)

    def best_by(score):
        def best_of(i, own):
            largest = max(score(j, bins[i]) for j in own)
            return [j for j in own if score(j, bins[i]) == largest]

        return best_of

    (found,) = likeliest_persons(
        scores[quasi[classes.records]], bins[classes.records, None], person_of_row=classes.by_person.ids,
        records_of_row=np.ones(classes.n_records, dtype=int), row_starts=classes.starts, classes=classes,
        by_person=classes.by_person, tolerance=0.0,
    )  # fmt: skip
    expected = slow.right_persons(best_by(lambda j, own: scores[quasi[j], own]), persons, ids, everybody)
    assert (found.records, found.persons) == pytest.approx(expected)
    values = quasi_values(whole_column(quasi.tolist()), persons % 2)
    read = table_of(values, bins)
    (found,) = table_persons(values, [bins], classes, classes.by_person)
    expected = slow.right_persons(best_by(lambda j, own: read[values.rows[j], own]), persons, ids, everybody)
    assert (found.records, found.persons) == pytest.approx(expected)


def test_the_order_is_person_by_person():
    ids, persons = np.array([1, 0, 1, -1, 0, 1]), np.array([2, 1, 0, 2, 1, 2])
    classes = order_of_classes(ids, persons)
    assert classes.records.tolist() == [1, 4, 2, 0, 5]
    assert classes.ids.tolist() == [0, 0, 1, 1, 1]
    assert classes.by_person.records.tolist() == classes.records.tolist()
    assert classes.by_person.ids.tolist() == [0, 0, 1, 2, 2]
    assert classes.one_each.records.tolist() == [1, 0, 2]
    assert len(order_of_classes(ids).looks) == 1
    assert classes.looks == ((classes.one_each, classes.one_each), (classes.by_person, classes))


def visits(n_persons, n_each, *, seed=4):
    """Records of persons in one class, of whom everything is measured anew at each visit."""
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(n_persons), n_each)
    n = len(persons)
    ward, height = rng.integers(0, 12, n), rng.normal(170, 10, n).round()
    lean, fat = rng.normal(55, 8, n), rng.normal(25, 8, n)
    age = np.repeat(rng.normal(50, 15, n_persons), n_each) + rng.random(n)
    return replace(
        records_in_classes(
            np.zeros(n, dtype=int),
            k_quasis={"ward": [f"W{own}" for own in ward]},
            epsilon_quasis={"height": height, "weight": lean + fat, "age": age},
            kept={
                "inches": height / 2.54,
                "floor": [f"F{own // 2}" for own in ward],
                "lean": lean + rng.normal(0, 1, n),
                "fat": fat + rng.normal(0, 1, n),
                "day": np.round((age - np.repeat(age[::n_each], n_each)) * 365),
            },
        ),
        persons=persons,
    )


@pytest.mark.parametrize(("n_persons", "n_each"), [(3, 400), (10, 120), (400, 3)])
def test_what_differs_among_the_records_of_a_person_is_told(n_persons, n_each):
    """As a share of what differs in the class: the day of a visit tells how old a person is within a year, and no more."""
    found = look_at_kept_columns(visits(n_persons, n_each))
    inches, floor, lean, fat, day = found.columns
    assert "alone" in inches.alarms
    assert inches.told == pytest.approx(1.0, abs=0.05)
    assert "bits" in floor.alarms
    assert floor.bits == pytest.approx(np.log2(6) / np.log2(12), abs=0.06)
    assert "pair" in lean.alarms
    assert "pair" in fat.alarms
    (pair,) = found.pairs
    assert (pair.columns, pair.of) == (("lean", "fat"), "weight")
    assert pair.r_squared == pytest.approx(1 - 2 / 130, abs=0.03)
    assert not {"links", "alone", "bits", "pair"} & set(day.alarms)
    assert day.told < 0.2  # ranks: a third of them for each of three persons, a ninth of the variance


def test_persons_without_a_name_are_different_persons():
    made = visits(30, 4)
    nobody = replace(made, persons=np.full(120, -1))
    everybody = replace(made, persons=np.arange(120))
    assert look_at_kept_columns(nobody) == look_at_kept_columns(everybody)
