# SPDX-License-Identifier: Apache-2.0
"""Confident k by persons: whoever is surrounded by records of one patient hides among nobody."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.confident_k.confident_k import ZeroRule, originals_in_reach, suppressed_for_confidence
from kepsilon.evaluate.confident_k.persons_in_reach import persons_in_reach, persons_in_reach_of_several
from kepsilon.evaluate.originals import members as members_module
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from oracles import persons as slow
from oracles.noise import SEED


@st.composite
def records_of_persons(draw, *, n_attributes):
    """Values and what was published of them, in tenths; few persons, so that most have several records in a class."""
    n_classes = draw(st.integers(1, 3))
    tenths = st.lists(st.integers(-15, 15), min_size=n_attributes, max_size=n_attributes)
    published = st.lists(st.integers(-25, 25), min_size=n_attributes, max_size=n_attributes)
    records = draw(
        st.lists(
            st.tuples(st.integers(0, n_classes - 1), st.integers(-3, 4), tenths, published), min_size=1, max_size=30
        )
    )
    class_ids, persons = (np.array([r[i] for r in records]) for i in (0, 1))
    values, noisy = (np.array([r[i] for r in records]) / 10 for i in (2, 3))
    reach = np.array(draw(st.lists(tenths, min_size=n_classes, max_size=n_classes))) / 10
    return values, noisy, class_ids, persons * 2**60, np.abs(reach)


def counted_slowly(case):
    values, published, ids, persons, reach = case
    return [
        slow.persons_in_reach(values, published, ids.tolist(), persons.tolist(), i, reach=reach[c])
        for i, c in enumerate(ids)
    ]


@given(records_of_persons(n_attributes=1))
def test_persons_in_reach_of_one_attribute_equal_brute_force(case):
    """With ends that are originals, reaches of 0, ties, and persons whose records are all or partly in reach."""
    values, published, ids, persons, reach = case
    members = members_of(persons, ids, n_classes=len(reach))
    classes = sort_classes(values[:, 0], ids, n_classes=len(reach))
    for precision in (None, Fraction(1, 10)):
        found = persons_in_reach(classes, published[:, 0], members, linking_ranges=reach[:, 0], precision=precision)
        assert found.tolist() == counted_slowly(case)


@given(
    st.sampled_from([1, 2, 3]).flatmap(lambda d: records_of_persons(n_attributes=d)), st.integers(1, 5), st.booleans()
)
def test_persons_in_reach_of_several_attributes_equal_brute_force(case, cap, few_at_once):
    """Up to the cap, beyond which nobody asks; however many pairs are compared at once."""
    values, published, ids, persons, reach = case
    with pytest.MonkeyPatch.context() as patch:
        if few_at_once:
            patch.setattr(members_module, "_PAIRS", 5)
        found = persons_in_reach_of_several(
            values, published, ids, members_of(persons, ids, n_classes=len(reach)), linking_ranges=reach, cap=cap
        )
    assert found.tolist() == np.minimum(counted_slowly(case), cap).tolist()


@given(records_of_persons(n_attributes=1), st.integers(2, 4), st.sampled_from(ZeroRule))
def test_who_is_suppressed_equals_brute_force(case, k, rule):
    """By all three rules for records that noise moved away from everybody."""
    _, _, ids, persons, reach = case
    counts = np.array(counted_slowly(case))
    members = members_of(persons, ids, n_classes=len(reach))
    found = suppressed_for_confidence(counts, ids, k=k, n_classes=len(reach), rule=rule, members=members)
    assert found.tolist() == slow.suppressed(counts, ids.tolist(), persons.tolist(), k=k, rule=rule.value)
    for c in range(len(reach)):
        left = {p for p, i, gone in zip(persons, ids, found, strict=True) if i == c and not gone}
        assert len(left) >= k or not left


def test_five_records_of_one_patient_hide_nobody():
    """The mutant that counts records lets all of them stay; by persons they go, and with them the class."""
    values = np.array([10.0, 10.1, 10.2, 10.3, 10.4, 90.0])
    persons, ids = np.array([7, 7, 7, 7, 7, 8]), np.zeros(6, dtype=np.int64)
    classes, reach = sort_classes(values, ids, n_classes=1), np.array([2.0])
    members = members_of(persons, ids, n_classes=1)
    by_records = originals_in_reach(classes, values, linking_ranges=reach)
    by_persons = persons_in_reach(classes, values, members, linking_ranges=reach)
    assert by_records.tolist() == [5, 5, 5, 5, 5, 1]
    assert by_persons.tolist() == [1, 1, 1, 1, 1, 1]
    assert not suppressed_for_confidence(by_records, ids, k=5, n_classes=1)[:5].any()
    assert suppressed_for_confidence(by_persons, ids, k=2, n_classes=1, members=members).all()
    # Enough persons in reach of each record, but counting the records that are left keeps a class of one patient.
    many = np.array([2, 2, 2, 2, 2, 1])
    assert not suppressed_for_confidence(many, ids, k=2, n_classes=1)[:5].any()
    assert suppressed_for_confidence(many, ids, k=2, n_classes=1, members=members).all()


def test_without_repetition_persons_are_records():
    rng = np.random.default_rng(SEED)
    ids = rng.integers(0, 40, 3_000)
    values, persons = rng.normal(70, 9, 3_000).round(1), rng.permutation(3_000)
    published = (values + rng.laplace(0, 4, 3_000)).round(1)
    classes, reach = sort_classes(values, ids, n_classes=40), rng.uniform(0, 9, 40)
    found = persons_in_reach(
        classes, published, members_of(persons, ids, n_classes=40), linking_ranges=reach, precision=Fraction(1, 10)
    )
    assert (
        found.tolist()
        == originals_in_reach(classes, published, linking_ranges=reach, precision=Fraction(1, 10)).tolist()
    )


def test_missing_values_and_infinite_reach_count_all_persons_of_the_class():
    """A value that all of a class share tells nothing."""
    ids, persons = np.repeat([0, 1], 4), np.array([1, 1, 2, 3, 5, 5, 5, 1])
    members = members_of(persons, ids, n_classes=2)
    values = np.array([np.nan] * 4 + [5.0] * 4)
    classes = sort_classes(values, ids, n_classes=2)
    one = persons_in_reach(classes, values, members, linking_ranges=np.array([np.nan, np.inf]))
    reach = np.array([[np.nan], [np.inf]])
    several = persons_in_reach_of_several(
        values[:, np.newaxis], values[:, np.newaxis], ids, members, linking_ranges=reach, cap=9
    )
    assert one.tolist() == several.tolist() == [3] * 4 + [2] * 4


def test_members_of_a_class_are_its_persons():
    persons, ids = np.array([9, 4, 9, 9, 4, -1]), np.array([1, 0, 1, 0, 3, 1])
    found = members_of(persons, ids, n_classes=4)
    assert found.n_persons.tolist() == [2, 2, 0, 1]
    assert found.most.tolist() == [1, 2, 0, 1]
    assert found.sizes.tolist() == [2, 3, 0, 1]
    assert found.repeats.tolist() == [False, True, False, False]
    assert found.n_persons_among(np.array([True, False, True, False, False, False])).tolist() == [0, 1, 0, 0]
    with pytest.raises(ValueError, match="every record needs a person and a class"):
        members_of(persons, ids[1:], n_classes=4)
