# SPDX-License-Identifier: Apache-2.0
"""OLA and Mondrian with k persons, ℓ-diversity and t-closeness, against exhaustive searches with slow oracles."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kepsilon
from kepsilon.kanonymise import node_slots, person_counts
from kepsilon.kanonymise.algorithms import Request, for_every_k, k_anonymise, mondrian, ola
from kepsilon.kanonymise.algorithms.find_classes import _refuse_broken
from kepsilon.kanonymise.first_parts import FirstPartsFailError
from kepsilon.kanonymise.person_counts import PersonCounter
from kepsilon.kanonymise.requirements import requirements_of
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from kepsilon.kanonymise.requirements.protocol import all_met
from kepsilon.kanonymise.requirements.t_closeness import TCloseness
from kepsilon.policy.choices import ALGORITHMS
from material.mondrian_places import members, places, positions
from oracles import brute_force_ola, textbook_mondrian
from oracles import requirements as oracle
from strategies import Attribute, Encounters, Sample, chances, encounters

several_ks = st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True)
limits = st.one_of(st.just(0), st.integers(0, 40))

ASKED = {
    "persons": lambda k: KPersons(k=k),
    "distinct": lambda _: DistinctDiversity(column="illness", least=2),
    "entropy": lambda _: EntropyDiversity(column="illness", least=1.8),
    "recursive": lambda _: RecursiveDiversity(column="illness", c=1.5, least=2),
    "t": lambda _: TCloseness(column="illness", t=0.2),
}
COMBINED = [*((name,) for name in ASKED), ("persons", "distinct"), ("persons", "entropy", "t")]
"""All are looked at in every example, because drawing one takes most of the time."""


def judged(asked, made_up, k):
    """The oracle's verdict on the extended records of a class."""

    def meets(records):
        persons, values = [r[-2] for r in records], [r[-1] for r in records]
        verdict = {
            "persons": lambda: oracle.has_persons(persons, k),
            "distinct": lambda: oracle.is_distinct(values, 2),
            "entropy": lambda: oracle.is_entropy_diverse(values, 1.8),
            "recursive": lambda: oracle.is_recursive(values, 1.5, 2),
            "t": lambda: oracle.is_close(values, made_up.values, 0.2, ordered=made_up.ordered),
        }
        return all(verdict[name]() for name in asked)

    return meets


def extended(made_up):
    """Records with person and value at the end, and hierarchies that show neither of them."""
    hierarchies = [attribute.labels for attribute in made_up.sample.attributes]
    columns = (made_up.persons, made_up.values)
    hierarchies += [{key: ["*"] for key in column} for column in columns]
    return [(*r, *more) for r, *more in zip(made_up.sample.records, *columns, strict=True)], hierarchies


@settings(max_examples=60)
@given(made_up=encounters(), ks=several_ks, limit=limits)
def test_ola_finds_what_an_exhaustive_search_finds(made_up, ks, limit):
    """With and without records left out; what is left out is counted in records."""
    for asked, loss in zip(COMBINED, itertools.cycle(["dm*", "ncp", "entropy"]), strict=False):
        check_search(asked, made_up, ks, limit, loss)
    check_search(("persons",), made_up, ks, limit, "ncp")


def check_search(asked, made_up, ks, limit, loss):
    """For what is asked for in common."""
    records, hierarchies = extended(made_up)
    table = made_up.table
    further = {k: tuple(ASKED[name](k) for name in asked) for k in ks}
    results = ola.search(table, ks=ks, max_suppressed=limit, loss=loss, further=further)
    for k in ks:
        meets = judged(asked, made_up, k)
        expected = brute_force_ola.search(
            records,
            hierarchies,
            k=k,
            max_suppressed=limit,
            loss=loss,
            meets=meets,
            numbers=[*(attribute.numbers for attribute in made_up.sample.attributes), None, None],
            importance=[*(1 for _ in made_up.sample.attributes), 0, 0],
        )
        result = results[k]
        if expected is None:
            assert isinstance(result, ola.Unmet)
            top = tuple(len(next(iter(h.values()))) - 1 for h in hierarchies)
            assert result.suppressed == brute_force_ola.suppressed_at(records, hierarchies, top, k, meets)
            continue
        assert isinstance(result, ola.OlaResult)
        assert result.node == expected.node[:-2]
        assert (result.suppressed, result.n_classes) == (expected.suppressed, expected.n_classes)
        assert result.k_minimal is None or set(result.k_minimal) == {node[:-2] for node in expected.k_minimal}
        assert result.loss == pytest.approx(expected.loss, abs=1e-6)
        assert loss != "dm*" or result.loss == result.dm_star == expected.loss
        recoding = ola.recode(table, result.node, k=k, further=further[k])
        assert table.n_records - recoding.sizes.sum() == expected.suppressed
        assert all_met(further[k], table, recoding.class_of, n_classes=recoding.n_classes).all()


WAYS_TO_COUNT = {
    "as it is": (4, 1 << 16, 1 << 25),
    "numbered anew": (0, 1 << 16, 1 << 25),
    "many groups": (1 << 20, 4, 1 << 25),
    "nothing stored": (1 << 20, 1 << 16, 0),
    "everything little": (1, 4, 150),
}
"""Slots per combination, how many are counted together, and how many numbers are held."""


@settings(max_examples=60)
@given(made_up=encounters(), limit=limits, chance=chances)
def test_every_node_counts_persons_as_the_records_do(made_up, limit, chance):
    """In whatever order nodes are asked for, and whichever way classes are numbered; a class too many would be published, one too few lost."""
    records, hierarchies = extended(made_up)
    ks = (1, 2, 3, 5, 9)
    table = made_up.table
    nodes = brute_force_ola.all_nodes(hierarchies)
    chance.shuffle(nodes)
    expected = {}
    for node in nodes:
        sizes = [
            brute_force_ola.released_sizes(records, hierarchies, node, k, judged(("persons",), made_up, k)) for k in ks
        ]
        outcomes = {k: (len(records) - sum(own), len(own)) for k, own in zip(ks, sizes, strict=True)}
        expected[node[:-2]] = outcomes, brute_force_ola.exact_loss("dm*", records, hierarchies, node)
    for slots, together, held in WAYS_TO_COUNT.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_slots, "SLOTS_PER_COMBINATION", slots)
            patch.setattr(node_slots, "MOST_TOGETHER", together)
            patch.setattr(person_counts, "MOST_NUMBERS_HELD", held)
            deciding, counting = (PersonCounter(table, table.persons, ks=ks) for _ in range(2))
            for n, (node, (outcomes, dm_star)) in enumerate(expected.items(), start=1):
                passing = deciding.passing(node, max_suppressed=limit)
                for k in ks:
                    assert counting.outcome(node, k=k) == outcomes[k]
                    assert passing[k] is bool(outcomes[k][0] <= limit)
                    assert deciding.outcome(node, k=k) == outcomes[k]
                assert counting.dm_star(node) == dm_star
                assert counting.n_counted == deciding.n_counted == n


def test_tagging_by_entropy_would_lose_the_node_that_passes():
    """The mutant: a class that fails, and is left out below, pulls down the class that it is merged with."""
    labels = {v: [v, "AB", "*"] for v in "AB"}
    made_up = Encounters(
        sample=Sample(attributes=[Attribute(name="a", labels=labels)], records=[("A",)] * 10 + [("B",)] * 2),
        persons=list(range(12)),
        values=[0, 1] * 5 + [0, 0],
        ordered=False,
    )

    class Lying(EntropyDiversity):
        is_monotone_under_suppression = True

    def found(requirement):
        return ola.search(made_up.table, ks=[2], max_suppressed=2, loss="dm*", further={2: [requirement]})[2]

    honest = found(EntropyDiversity(column="illness", least=2))
    assert (honest.node, honest.suppressed, honest.nodes_counted) == ((0,), 2, 3)
    assert isinstance(found(Lying(column="illness", least=2)), ola.Unmet)
    assert not ola.may_tag([EntropyDiversity(column="illness", least=2)], max_suppressed=2)
    assert ola.may_tag([EntropyDiversity(column="illness", least=2)], max_suppressed=0)
    assert ola.may_tag([KPersons(k=2), DistinctDiversity(column="illness", least=2)], max_suppressed=2)


@settings(max_examples=250)
@given(made_up=encounters(), k=st.integers(1, 6), data=st.data())
def test_mondrian_cuts_where_the_textbook_does_by_persons(made_up, k, data):
    """At the threshold nearest to the median that leaves k persons on both sides; by any other, no cut is left."""
    sample, table = made_up.sample, made_up.table
    fixed = data.draw(
        st.lists(st.sampled_from(range(len(sample.attributes))), max_size=1) if sample.attributes else st.just([])
    )
    records = places(sample)
    first = {}
    for record, person in zip(records, made_up.persons, strict=True):
        first.setdefault(tuple(record[a] for a in fixed), []).append(person)
    assume(min(map(len, first.values())) >= k)
    too_few = sum(len(own) for own in first.values() if len(set(own)) < k)
    if too_few:
        with pytest.raises(FirstPartsFailError) as caught:
            mondrian.partition(table, k=k, fixed=fixed, further=[KPersons(k=k)])
        assert caught.value.n_records == too_few
        return
    partition = mondrian.partition(table, k=k, fixed=fixed, further=[KPersons(k=k)])
    parts = members(sample, partition.part_of)
    for part in parts:
        assert len({made_up.persons[i] for i in part}) >= k
        assert allowable_cut([(records[i], made_up.persons[i]) for i in part], k=k) is None
    assert parts == textbook(made_up, k=k, fixed=fixed)
    assert mondrian.recode(table, partition).sizes.sum() == sample.n_records


def textbook(made_up, *, k, fixed=()):
    return textbook_mondrian.partition_by_persons(
        places(made_up.sample), made_up.persons, k=k, positions=positions(made_up.sample), fixed=fixed
    )


def allowable_cut(part, *, k):
    """An attribute and a threshold that would leave k persons on both sides; None if there is none."""
    for attribute in range(len(part[0][0])):
        for threshold in {record[attribute] for record, _ in part}:
            left = {person for record, person in part if record[attribute] <= threshold}
            right = {person for record, person in part if record[attribute] > threshold}
            if len(left) >= k and len(right) >= k:
                return attribute, threshold
    return None


def line_of(persons_by_value):
    """Records of one numeric attribute: for each value, the persons of its records."""
    numbers = {str(v): float(v) for v in range(len(persons_by_value))}
    attribute = Attribute(name="a", labels={v: [v] for v in numbers}, numbers=numbers)
    records = [(str(v),) for v, persons in enumerate(persons_by_value) for _ in persons]
    persons = [p for persons in persons_by_value for p in persons]
    sample = Sample(attributes=[attribute], records=records)
    return Encounters(sample=sample, persons=persons, values=[0] * len(records), ordered=False)


def test_a_part_that_can_be_cut_away_from_the_median_is_cut_there():
    """One patient's many encounters hold the median; cutting only there would leave the table whole."""
    made_up = line_of([[1] * 20, [2], [3], [4], [5]])
    table = made_up.table
    assert mondrian.partition(table, k=2, further=[KPersons(k=2)]).part_of.tolist() == [0, 0, 1, 1, 1]
    # By parts that meet it, the requirement is asked at the median alone.
    generic = dataclasses.make_dataclass("Generic", [], bases=(KPersons,), frozen=True)(k=2)
    assert mondrian.partition(table, k=2, further=[generic]).n_parts == 1


@given(made_up=encounters(), k=st.integers(1, 4))
def test_mondrian_keeps_persons_diversity_and_closeness_together(made_up, k):
    """Every class meets everything, or there is a refusal before any cut."""
    table = made_up.table
    further = [ASKED[name](k) for name in ("persons", "distinct", "entropy", "t")]
    try:
        recoding = mondrian.anonymise(table, k=k, further=further)
    except FirstPartsFailError:
        whole = np.zeros(table.n_combinations, dtype=np.int64)
        assert not all_met([KRecords(k=k), *further], table, whole, n_classes=1).all()
        return
    classes = recoding.class_of[made_up.sample.combination_of]
    meets = judged(("persons", "distinct", "entropy", "t"), made_up, k)
    records, _ = extended(made_up)
    for c in range(recoding.n_classes):
        assert meets([r for r, own in zip(records, classes.tolist(), strict=True) if own == c])


def test_without_persons_mondrian_cuts_as_it_did():
    """The same cuts where every record is a person."""
    rng = np.random.default_rng(4)
    values = rng.integers(0, 30, 300)
    made_up = line_of([[1000 * v + i for i in range(n)] for v, n in sorted(Counter(values.tolist()).items())])
    table = made_up.table
    for k in (2, 5, 17):
        plain = mondrian.partition(table, k=k)
        by_persons = mondrian.partition(table, k=k, further=[KPersons(k=k)])
        assert by_persons.part_of.tolist() == plain.part_of.tolist()
        assert by_persons.sizes.tolist() == plain.sizes.tolist()


def policy_of(algorithm, *, k=3, **further):
    document = {
        "k": k, "epsilon": 1, "algorithm": algorithm, "max_suppression": 0.2, "person": "id",
        "attributes": {
            "id": {"role": "identifier"},
            "a": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
            "illness": {"role": "sensitive", **further},
        },
    }  # fmt: skip
    return kepsilon.Policy.from_dict(document)


@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
def test_fewer_than_k_persons_in_all_are_refused_in_words(algorithm):
    """Forty encounters of two patients are no class of three."""
    labels = {v: [v, "*"] for v in "AB"}
    sample = Sample(attributes=[Attribute(name="a", labels=labels)], records=[("A",)] * 20 + [("B",)] * 20)
    made_up = Encounters(sample=sample, persons=[1, 2] * 20, values=[0, 1] * 20, ordered=False)
    with pytest.raises(kepsilon.UnsatisfiableError) as caught:
        k_anonymise(made_up.table, policy_of(algorithm))
    said = str(caught.value)
    assert "3 persons in every class" in said
    assert "classes of fewer than 3 persons" in said
    assert said.count("choose a smaller k") == 1


@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
def test_explore_asks_for_several_k_at_once(algorithm):
    """One search by persons for all k finds for each what a search of its own finds."""
    rng = np.random.default_rng(8)
    labels = {f"{v:02d}": [f"{v:02d}", f"{v // 10}*", "*"] for v in range(40)}
    sample = Sample(
        attributes=[Attribute(name="a", labels=labels)], records=[(f"{v:02d}",) for v in rng.integers(0, 40, 600)]
    )
    values = rng.integers(0, 4, 600).tolist()
    made_up = Encounters(sample=sample, persons=rng.integers(0, 150, 600).tolist(), values=values, ordered=True)
    policy = policy_of(algorithm, l_diversity={"distinct": 2}, t_closeness=0.5)
    together = for_every_k(made_up.table, policy, ks=[2, 5, 20, 500])
    for k in (2, 5, 20):
        alone = k_anonymise(made_up.table, policy_of(algorithm, k=k, l_diversity={"distinct": 2}, t_closeness=0.5))
        assert alone.recoding.class_of.tolist() == together[k].recoding.class_of.tolist()
    assert isinstance(together[500], kepsilon.UnsatisfiableError)


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        ({}, "k persons"),
        ({"l_diversity": {"distinct": 2}}, "l-diversity"),
        ({"t_closeness": 0.1}, "t-closeness"),
    ],
    ids=["persons", "diversity", "closeness"],
)
def test_a_class_that_an_algorithm_broke_is_never_released(broken, name):
    """No algorithm is trusted: whatever it returns is asked about every requirement again."""
    labels = {v: [v, "*"] for v in "AB"}
    sample = Sample(attributes=[Attribute(name="a", labels=labels)], records=[("A",)] * 6 + [("B",)] * 6)
    persons = [1, 1, 1, 1, 1, 2, *range(3, 9)] if name == "k persons" else list(range(12))
    made_up = Encounters(sample=sample, persons=persons, values=[0] * 6 + [0, 1] * 3, ordered=False)
    policy = policy_of("ola", **broken)
    request = Request(policy=policy, requirements={3: requirements_of(policy, k=3)})
    recoding = ola.recode(made_up.table, (0,), k=3)
    with pytest.raises(RuntimeError, match=f"fails “{name}”"):
        _refuse_broken(recoding, ALGORITHMS["ola"], made_up.table, request, 3)
