# SPDX-License-Identifier: Apache-2.0
"""Persons, ℓ-diversity and t-closeness of classes, by table and by records, against slow oracles in fractions."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kepsilon
from kepsilon.kanonymise.requirements import REQUIREMENTS, beyond_k, requirements_of
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from kepsilon.kanonymise.requirements.protocol import all_met_by_records
from kepsilon.kanonymise.requirements.t_closeness import TCloseness
from kepsilon.table import value_distances
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.class_values import is_less, values_in_classes
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.persons import count_persons, persons_in_classes
from kepsilon.table.sensitive import count_sensitive
from kepsilon.table.value_distances import Reference, reference_of
from oracles import requirements as oracle

N_CLASSES = 4
least_values = st.integers(2, 4)
entropies = st.sampled_from([1.5, 2, 2.5, 3])
recursives = st.tuples(st.sampled_from([0.5, 1, 1.5, 3]), least_values)
closenesses = st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 1])


@st.composite
def classed_records(draw):
    """Records as (combination, person, code or None), and the class of every combination, some in none."""
    n_combinations = draw(st.integers(1, 8))
    record = st.tuples(
        st.integers(0, n_combinations - 1), st.integers(0, 9), st.one_of(st.none(), st.integers(0, 4), st.just(0))
    )
    records = [(c, 0, None) for c in range(n_combinations)] + draw(st.lists(record, max_size=60))
    return records, draw(st.lists(st.integers(-1, N_CLASSES - 1), min_size=n_combinations, max_size=n_combinations))


def table_of(records, *, ordered):
    """The table of these records; which values an attribute has does not matter here."""
    combinations = np.array([r[0] for r in records])
    n_combinations = int(combinations.max()) + 1
    domain = Domain(name="a", levels=(tuple(map(str, range(n_combinations))),), up=())
    codes, n_values = ranked([r[2] for r in records])
    return FrequencyTable(
        domains=(domain,),
        codes=(np.arange(n_combinations),),
        counts=np.bincount(combinations),
        persons=count_persons(combinations, np.array([r[1] for r in records]), n_combinations=n_combinations),
        sensitive={"illness": count_sensitive(combinations, codes, n_values=n_values, is_ordered=ordered)},
    )


def ranked(values):
    """Codes of the values that occur, in their order, −1 for None; and how many there are."""
    domain = sorted(set(oracle.present(values)))
    return np.array([-1 if v is None else domain.index(v) for v in values], dtype=np.int64), len(domain)


def members_of(records, class_of):
    class_ids = np.array([class_of[r[0]] for r in records], dtype=np.int32)
    codes, _ = ranked([r[2] for r in records])
    # Any numbers will do for persons, negative and huge ones too.
    persons = np.array([(-1) ** r[1] * r[1] * 2**59 for r in records], dtype=np.int64)
    return ClassMembers(class_ids=class_ids, n_classes=N_CLASSES, persons=persons, sensitive={"illness": codes})


def by_oracle(judge, records, class_of, what):
    """The oracle's verdict on every class, from one field of its records."""
    return [judge([r[what] for r in records if class_of[r[0]] == c]) for c in range(N_CLASSES)]


def verdicts(requirement, records, class_of, *, ordered=False):
    """By table and by records, which have to agree; the requirement travels to another process in between."""
    table = table_of(records, ordered=ordered)
    by_table = requirement.met_by(table, np.array(class_of, dtype=np.int32), n_classes=N_CLASSES)
    bound = pickle.loads(pickle.dumps(requirement.bound_to(table)))
    assert (by_table.dtype, by_table.shape) == (np.bool_, (N_CLASSES,))
    assert bound.met_by_records(members_of(records, class_of)).tolist() == by_table.tolist()
    return by_table.tolist()


@settings(max_examples=200)
@given(case=classed_records(), k=st.integers(1, 8))
def test_k_persons_counts_distinct_persons(case, k):
    """A person with records in several combinations of a class is one person of it."""
    records, class_of = case
    expected = by_oracle(lambda persons: oracle.has_persons(persons, k), records, class_of, 1)
    assert verdicts(KPersons(k=k), records, class_of) == expected
    table = table_of(records, ordered=False)
    assert table.persons.in_classes(np.array(class_of), n_classes=N_CLASSES).tolist() == [
        len({r[1] for r in records if class_of[r[0]] == c}) for c in range(N_CLASSES)
    ]


@given(case=classed_records(), k=st.integers(1, 8))
def test_k_records_by_records_is_k_records_by_table(case, k):
    """Confident k drops records and asks again."""
    records, class_of = case
    assert verdicts(KRecords(k=k), records, class_of) == by_oracle(lambda own: len(own) >= k, records, class_of, 0)


@given(case=classed_records(), least=least_values)
def test_distinct_diversity_is_the_oracles(case, least):
    """Missing values are no values."""
    records, class_of = case
    expected = by_oracle(lambda values: oracle.is_distinct(values, least), records, class_of, 2)
    assert verdicts(DistinctDiversity(column="illness", least=least), records, class_of) == expected


@settings(max_examples=200)
@given(case=classed_records(), least=entropies)
def test_entropy_diversity_is_the_oracles(case, least):
    """Also where a class has exactly the entropy that is asked for."""
    records, class_of = case
    expected = by_oracle(lambda values: oracle.is_entropy_diverse(values, least), records, class_of, 2)
    assert verdicts(EntropyDiversity(column="illness", least=least), records, class_of) == expected


@settings(max_examples=200)
@given(case=classed_records(), asked=recursives)
def test_recursive_diversity_is_the_oracles(case, asked):
    """With c as it is written, and strictly less."""
    records, class_of = case
    c, least = asked
    expected = by_oracle(lambda values: oracle.is_recursive(values, c, least), records, class_of, 2)
    assert verdicts(RecursiveDiversity(column="illness", c=c, least=least), records, class_of) == expected


@settings(max_examples=200)
@given(case=classed_records(), t=closenesses)
@example(case=([(0, 0, 0), (1, 0, 1)], [0, 1]), t=0.5)
def test_t_closeness_is_the_oracles(case, t):
    """The reference is all records, those without a class too; both ways to hold large products give one answer."""
    for ordered in (True, False):
        for largest in (1 << 61, 0):
            check_closeness(case, t, ordered=ordered, largest=largest)


def check_closeness(case, t, *, ordered, largest):
    """For numbers or categories, in 64 bits or in as many as it takes."""
    records, class_of = case
    everyone = [r[2] for r in records]
    exact = by_oracle(lambda values: oracle.distance(values, everyone, ordered=ordered), records, class_of, 2)
    expected = [distance <= Fraction(str(t)) for distance in exact]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_distances, "_LARGEST", largest)
        assert verdicts(TCloseness(column="illness", t=t), records, class_of, ordered=ordered) == expected
        table = table_of(records, ordered=ordered)
        values = values_in_classes(
            np.array(class_of)[[r[0] for r in records]],
            ranked(everyone)[0],
            n_classes=N_CLASSES,
            n_values=table.sensitive["illness"].n_values,
        )
        found = reference_of(table.sensitive["illness"]).distances(values)
    assert found.tolist() == pytest.approx([float(distance) for distance in exact], abs=1e-12)


def test_the_reference_stays_that_of_all_records_when_some_are_left_out():
    """The mutant: compared with what is left, one class is always as all records are."""
    records = [(0, 0, v) for v in (0, 0, 0, 1)] + [(1, 0, v) for v in (1, 1, 1, 0)]
    table = table_of(records, ordered=False)
    bound = TCloseness(column="illness", t=0.2).bound_to(table)
    left = members_of(records[:4], [0, -1])
    assert bound.met_by_records(left).tolist() == [False, True, True, True]
    mutant = TCloseness(column="illness", t=0.2).bound_to(table_of(records[:4], ordered=False))
    assert mutant.met_by_records(left).all()
    # The search asks about a table with classes left out, and the reference is the whole table there too.
    assert not TCloseness(column="illness", t=0.2).met_by(table, np.array([0, -1]), n_classes=1).any()


def test_k_by_records_would_release_one_person():
    """The mutant: five encounters of one patient are five records."""
    records = [(0, 7, 0)] * 5 + [(1, person, 0) for person in range(5)]
    assert verdicts(KRecords(k=5), records, [0, 1])[:2] == [True, True]
    assert verdicts(KPersons(k=5), records, [0, 1])[:2] == [False, True]


@pytest.mark.parametrize(
    ("requirement", "meets"),
    [
        (DistinctDiversity(column="illness", least=2), False),
        (EntropyDiversity(column="illness", least=1.1), False),
        (RecursiveDiversity(column="illness", c=9, least=2), False),
        (TCloseness(column="illness", t=0.01), True),
    ],
    ids=["distinct", "entropy", "recursive", "t"],
)
def test_a_class_without_a_value_is_not_diverse_and_tells_nothing(requirement, meets):
    """Nor is a class that has no record."""
    records = [(0, 0, None), (0, 1, None), (1, 0, 0), (1, 1, 1)]
    found = verdicts(requirement, records, [0, 1])
    assert (found[0], found[2]) == (meets, meets)
    everywhere = [(0, 0, None), (1, 1, None)]
    assert verdicts(requirement, everywhere, [0, 1]) == [meets] * N_CLASSES


@pytest.mark.parametrize(("least", "meets"), [(100, True), (100.000001, False)])
def test_exactly_as_many_equal_values_as_asked_for_have_enough_entropy(least, meets):
    """Whatever the logarithms are rounded to."""
    values = values_in_classes(np.zeros(300, int), np.arange(300) % 100, n_classes=1, n_values=100)
    assert values.are_entropy_diverse(least).tolist() == [meets]


@pytest.mark.parametrize(
    ("left", "right", "ratio", "less", "or_equal"),
    [
        (1, 3, "1/3", False, True),
        (10**15, 3 * 10**15, "0.333333333333333333", False, False),
        (10**15, 3 * 10**15, "0.333333333333333334", True, True),
        (0, 0, "5", False, True),
        (1, 1, "1e300", True, True),
    ],
)
def test_a_ratio_is_compared_without_rounding(left, right, ratio, less, or_equal):
    """In more than 64 bits where it needs them."""
    arrays = np.array([left]), np.array([right])
    assert is_less(*arrays, ratio=Fraction(ratio)).tolist() == [less]
    assert is_less(*arrays, ratio=Fraction(ratio), or_equal=True).tolist() == [or_equal]


def test_a_distance_of_exactly_t_is_close_enough():
    """0.3 of three tenths, which no double is."""
    everyone = Reference(counts=np.array([10, 10]), is_ordered=True)
    values = values_in_classes(np.zeros(10, int), np.array([0] * 8 + [1] * 2), n_classes=1, n_values=2)
    assert everyone.are_within(values, Fraction("0.3")).tolist() == [True]
    assert everyone.are_within(values, Fraction("0.2999999")).tolist() == [False]


def test_what_was_not_counted_is_not_met():
    """A requirement that finds nothing to look at must not pass."""
    bare = FrequencyTable(domains=(), codes=(), counts=np.array([5]))
    members = ClassMembers(class_ids=np.zeros(5, int), n_classes=1)
    asked = [
        KPersons(k=2),
        DistinctDiversity(column="illness", least=2),
        EntropyDiversity(column="illness", least=2),
        RecursiveDiversity(column="illness", c=2, least=2),
        TCloseness(column="illness", t=0.1),
    ]
    for requirement in asked:
        with pytest.raises(RuntimeError, match="not counted"):
            requirement.met_by(bare, np.array([0]), n_classes=1)
        with pytest.raises(RuntimeError, match="not counted"):
            requirement.met_by_records(members)
    assert all_met_by_records([KRecords(k=5)], members).tolist() == [True]
    assert all_met_by_records([KRecords(k=6)], members).tolist() == [False]
    assert all_met_by_records([], members).tolist() == [True]


def test_persons_that_fit_no_key_are_numbered_anew():
    """Hashes of names are 64 bits long."""
    persons = np.array([2**62, -(2**62), 2**62, 5, 5], dtype=np.int64)
    assert persons_in_classes(np.array([0, 0, 1, 1, 1]), persons, n_classes=2).tolist() == [2, 2]
    assert persons_in_classes(np.array([-1, -1]), np.array([1, 2]), n_classes=2).tolist() == [0, 0]


def asking(**columns):
    attributes = {"id": {"role": "identifier"}, "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}}}
    attributes |= {name: {"role": "sensitive", **settings} for name, settings in columns.items()}
    document = {"k": 3, "epsilon": 1, "algorithm": "ola", "max_suppression": 0.1, "person": "id"}
    return kepsilon.Policy.from_dict({**document, "attributes": attributes})


def test_a_policy_may_ask_something_of_several_columns():
    """Each requirement names its column, and only k depends on the k asked about."""
    policy = asking(
        illness={"l_diversity": {"distinct": 3}, "t_closeness": 0.3},
        cost={"l_diversity": {"entropy": 2.5}},
        ward={"l_diversity": {"recursive": [2, 3]}},
        doctor={},
    )
    assert requirements_of(policy, k=7) == (
        KRecords(k=7),
        KPersons(k=7),
        DistinctDiversity(column="illness", least=3),
        EntropyDiversity(column="cost", least=2.5),
        RecursiveDiversity(column="ward", c=2, least=3),
        TCloseness(column="illness", t=0.3),
    )
    assert len(beyond_k(requirements_of(policy, k=7))) == 5
    assert {requirement.name for requirement in requirements_of(policy, k=7)} == set(REQUIREMENTS.names())
    for requirement in requirements_of(policy, k=7):
        words = (requirement.claim, requirement.unmet, requirement.remedy)
        assert all(words)
        column = getattr(requirement, "column", None)
        assert column is None or all(f'"{column}"' in text for text in words)
