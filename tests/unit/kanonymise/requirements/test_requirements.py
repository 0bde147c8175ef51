# SPDX-License-Identifier: Apache-2.0
"""What a class must satisfy: the table, the first requirement, and searches that keep others against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kepsilon import Policy
from kepsilon.kanonymise.algorithms import Request, mondrian, ola
from kepsilon.kanonymise.losses import LOSSES
from kepsilon.kanonymise.requirements import REQUIREMENTS, KRecords, beyond_k, requirements_of
from kepsilon.kanonymise.requirements.protocol import all_met, class_sums
from material.people import policy
from material.toy_requirements import at_most, even, several_combinations
from oracles import brute_force_ola
from strategies import Attribute, Sample, samples

TOYS = {"monotone": several_combinations(), "for unions only": even(), "neither": at_most(9)}
ALL_KINDS = ("k records", "k persons", "l-diversity", "t-closeness")
several_ks = st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True)
limits = st.one_of(st.just(0), st.integers(0, 40))
FOUR_VALUES = {v: [v, "AB" if v in "AB" else "CD", "*"] for v in "ABCD"}


def one_attribute(**records):
    return Sample(
        attributes=[Attribute(name="a", labels=FOUR_VALUES)],
        records=[(v,) for v, n in records.items() for _ in range(n)],
    )


def policy_of_one(**settings):
    """A policy for a table of the one attribute that `one_attribute` has."""
    quasi = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    return Policy.from_dict({"k": 2, "algorithm": "ola", "max_suppression": 0, "attributes": {"a": quasi}, **settings})


@given(sample=samples(), k=st.integers(1, 8), data=st.data())
def test_k_records_counts_the_records_of_every_class(sample, k, data):
    """By a dictionary, with combinations that are in no class."""
    class_of = np.array([data.draw(st.integers(-1, 3)) for _ in range(sample.table.n_combinations)], dtype=np.int32)
    sizes = dict.fromkeys(range(-1, 4), 0)
    for class_id in class_of[sample.combination_of].tolist():
        sizes[class_id] += 1
    del sizes[-1]
    met = KRecords(k=k).met_by(sample.table, class_of, n_classes=4)
    assert met.tolist() == [size >= k for size in sizes.values()]
    assert class_sums(sample.table.counts, class_of, n_classes=4).tolist() == list(sizes.values())
    assert all_met([KRecords(k=k), KRecords(k=1)], sample.table, class_of, n_classes=4).tolist() == [
        size >= max(k, 1) for size in sizes.values()
    ]


def test_a_policy_asks_for_k_records_with_the_k_that_is_asked_about():
    """`explore` asks about many k under one policy."""
    assert requirements_of(policy(k=3), k=7) == (KRecords(k=7),)
    assert beyond_k(requirements_of(policy(k=3), k=7)) == ()
    assert REQUIREMENTS.names() == ALL_KINDS
    words = KRecords(k=7)
    assert (words.claim, words.unmet, words.remedy) == ("k = 7", "classes below 7", "choose a smaller k")


def test_only_what_is_asked_for_is_required():
    """A requirement in the table that the policy does not ask for changes nothing."""

    class Sleeping:
        name = "sleeping"

        def asked_by(self, policy, *, k):
            return (even(),) if policy.k == 5 and k > 5 else ()

    with REQUIREMENTS.having(Sleeping()):
        assert [r.name for r in requirements_of(policy(k=5), k=6)] == ["k records", "toy"]
        assert len(requirements_of(policy(k=5), k=5)) == len(requirements_of(policy(k=3), k=6)) == 1
    assert REQUIREMENTS.names() == ALL_KINDS


@settings(max_examples=150)
@given(sample=samples(), ks=several_ks, limit=limits, loss=st.sampled_from(list(LOSSES)))
@example(sample=one_attribute(A=20, B=1, C=10, D=1), ks=[2], limit=2, loss="dm*")
@example(sample=one_attribute(A=9, B=9, C=9, D=9), ks=[2], limit=0, loss="dm*")
def test_ola_finds_what_brute_force_finds_with_a_further_requirement(sample, ks, limit, loss):
    """Whether or not one node tells of others; classes that fail are left out, and count toward the limit."""
    for toy in TOYS.values():
        check_search(toy, sample, ks, limit, loss)


def check_search(toy, sample, ks, limit, loss):
    hierarchies = [attribute.labels for attribute in sample.attributes]
    results = ola.search(sample.table, ks=ks, max_suppressed=limit, loss=loss, further={k: [toy] for k in ks})
    for k in ks:
        expected = brute_force_ola.search(
            sample.records,
            hierarchies,
            k=k,
            max_suppressed=limit,
            loss=loss,
            meets=toy.meets,
            numbers=[attribute.numbers for attribute in sample.attributes],
        )
        result = results[k]
        if expected is None:
            assert isinstance(result, ola.Unmet)
            top = tuple(attribute.n_levels - 1 for attribute in sample.attributes)
            assert result.suppressed == brute_force_ola.suppressed_at(sample.records, hierarchies, top, k, toy.meets)
            continue
        assert isinstance(result, ola.OlaResult)
        assert result.node == expected.node
        assert (result.suppressed, result.n_classes) == (expected.suppressed, expected.n_classes)
        assert result.k_minimal is None or set(result.k_minimal) == expected.k_minimal
        assert result.loss == pytest.approx(expected.loss, abs=1e-6)
        recoding = ola.recode(sample.table, result.node, k=k, further=[toy])
        found = brute_force_ola.released_sizes(sample.records, hierarchies, result.node, k, toy.meets)
        assert sorted(recoding.sizes.tolist()) == sorted(found)
        assert all_met([KRecords(k=k), toy], sample.table, recoding.class_of, n_classes=recoding.n_classes).all()


@given(sample=samples(), ks=several_ks, limit=limits)
def test_a_requirement_that_every_class_meets_changes_nothing(sample, ks, limit):
    """Neither the node nor how many nodes are counted."""
    alone = ola.search(sample.table, ks=ks, max_suppressed=limit, loss="dm*")
    toy = several_combinations(1)
    assert ola.search(sample.table, ks=ks, max_suppressed=limit, loss="dm*", further={k: [toy] for k in ks}) == alone


@pytest.mark.parametrize(
    ("toy", "sample", "limit"),
    [
        # Two odd classes are left out at the bottom; one level up all classes are odd; at the top all records are even.
        (even(), one_attribute(A=20, B=1, C=10, D=1), 2),
        # Nothing is left out at the bottom, where all classes are small enough.
        (at_most(5), one_attribute(A=4, B=4, C=4, D=4), 0),
    ],
    ids=["some may be left out", "none may"],
)
def test_tagging_by_a_requirement_that_is_not_monotone_would_miss_the_best_node(toy, sample, limit):
    """The mutant that this guards against: one whose flags lie is tagged, and the best node is lost."""
    honest = ola.search(sample.table, ks=[2], max_suppressed=limit, loss="dm*", further={2: [toy]})[2]
    assert (honest.node, honest.nodes_counted) == ((0,), 3)
    lying = replace(toy, is_monotone_under_suppression=True)
    tagged = ola.search(sample.table, ks=[2], max_suppressed=limit, loss="dm*", further={2: [lying]})[2]
    assert isinstance(tagged, ola.Unmet) or tagged.node != honest.node


@pytest.mark.parametrize(
    ("toys", "limit", "tags"),
    [
        ([], 5, True),
        ([several_combinations()], 5, True),
        ([several_combinations(), even()], 5, False),
        ([several_combinations(), even()], 0, True),
        ([at_most(3)], 0, False),
        ([at_most(3)], 5, False),
    ],
    ids=[
        "k alone",
        "monotone",
        "for unions, some left out",
        "for unions, none left out",
        "neither, none",
        "neither, some",
    ],
)
def test_nodes_are_tagged_only_where_every_requirement_allows_it(toys, limit, tags):
    """Holding for unions is enough where no record may be left out."""
    assert ola.may_tag(toys, max_suppressed=limit) is tags


def test_a_refusal_of_ola_is_worded_by_every_requirement():
    """What is asked for, what fails and what would help; k's own words are those of a policy without more."""
    sample = one_attribute(A=5, B=4)
    far = replace(
        several_combinations(3), claim="3 combinations", unmet="classes of fewer than 3", remedy="ask for fewer"
    )
    request = Request(policy=policy_of_one(max_suppression=0.05), requirements={2: (KRecords(k=2), far)})
    refusal = str(ola.find(sample.table, request)[2])
    assert refusal.startswith("refused: k = 2 and 3 combinations with at most 5 % suppressed cannot be met.")
    assert "100 % of records stay in classes below 2 or classes of fewer than 3" in refusal
    assert "choose a smaller k; or ask for fewer." in refusal
    generous = Request(policy=policy_of_one(max_suppression=1), requirements={2: (KRecords(k=2), far)})
    assert "would leave out every record" in str(ola.find(sample.table, generous)[2])


def test_a_refusal_of_mondrian_is_worded_by_the_requirement_that_fails():
    """Nothing was cut yet, and nobody may be left out."""
    sample = one_attribute(A=5, B=4)
    far = replace(
        several_combinations(3), claim="3 combinations", unmet="classes of fewer than 3", remedy="ask for fewer"
    )
    request = Request(policy=policy_of_one(algorithm="mondrian"), requirements={2: (KRecords(k=2), far)})
    refusal = str(mondrian.find(sample.table, request)[2])
    assert "3 combinations cannot be met: before any cut, 9 records are in classes of fewer than 3" in refusal
    assert "What would work: ask for fewer." in refusal


def test_mondrian_refuses_what_merging_would_break():
    """In words: it cannot know beforehand which parts will end with equal labels."""
    sample = one_attribute(A=4, B=4, C=4, D=4)
    request = Request(policy=policy_of_one(algorithm="mondrian"), requirements={2: (KRecords(k=2), at_most(5))})
    refusal = mondrian.find(sample.table, request)[2]
    assert "Mondrian cannot keep a toy: it merges classes that end with equal labels." in str(refusal)
