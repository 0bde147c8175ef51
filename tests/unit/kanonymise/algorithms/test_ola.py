# SPDX-License-Identifier: Apache-2.0
"""OLA against brute force over every node, and the recoding of a node."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kepsilon as ke
from kepsilon.kanonymise.algorithms import ola
from kepsilon.kanonymise.lattice import lattice_of
from kepsilon.kanonymise.losses import LOSSES
from kepsilon.table.classes import SUPPRESSED
from material.toy_requirements import at_most
from oracles import brute_force_ola
from strategies import Attribute, Sample, chances, samples

CELL_LIMITS = {"sparse": 0, "mixed": 6, "dense": 1 << 24}

several_ks = st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True)
limits = st.one_of(st.just(0), st.integers(0, 40))


def hierarchies_of(sample):
    return [attribute.labels for attribute in sample.attributes]


def numbers_of(sample):
    return [attribute.numbers for attribute in sample.attributes]


@st.composite
def preferences(draw, sample):
    """Importance and highest level of every attribute; mostly none are stated."""
    n = len(sample.attributes)
    importance = draw(st.none() | st.lists(st.sampled_from([1, 1, 2, 5]), min_size=n, max_size=n))
    max_levels = draw(st.none() | st.lists(st.none() | st.integers(0, 3), min_size=n, max_size=n))
    return importance, max_levels


@settings(max_examples=100)
@given(sample=samples(), ks=several_ks, limit=limits, data=st.data())
def test_search_finds_what_brute_force_over_every_node_finds(sample, ks, limit, data):
    """Same node, same suppression, same set of minimal nodes, for several k at once, whatever the loss."""
    importance, max_levels = data.draw(preferences(sample))
    for loss in LOSSES:
        searched = [
            ola.search(
                sample.table,
                ks=ks,
                max_suppressed=limit,
                loss=loss,
                max_slots=max_slots,
                importance=importance and list(map(Fraction, importance)),
                max_levels=max_levels,
            )
            for max_slots in CELL_LIMITS.values()
        ]
        assert all(list(results) == ks for results in searched)
        for k in ks:
            expected = brute_force_ola.search(
                sample.records,
                hierarchies_of(sample),
                k=k,
                max_suppressed=limit,
                loss=loss,
                numbers=numbers_of(sample),
                importance=importance,
                max_levels=max_levels,
            )
            for results in searched:
                check_result(results[k], expected, sample, k=k, limit=limit, loss=loss, max_levels=max_levels)


def check_result(result, expected, sample, *, k, limit, loss, max_levels=None):
    if expected is None:
        assert isinstance(result, ola.Unmet)
        top = lattice_of(sample.table.domains, max_levels=max_levels).top
        assert result.suppressed == brute_force_ola.suppressed_at(sample.records, hierarchies_of(sample), top, k)
        assert result.suppressed > limit
        return
    assert isinstance(result, ola.OlaResult)
    assert result.node == expected.node
    assert result.suppressed == expected.suppressed <= limit
    assert result.n_classes == expected.n_classes
    if result.k_minimal is not None or loss not in brute_force_ola.CHARGED:
        assert set(result.k_minimal) == expected.k_minimal
        assert len(result.k_minimal) == len(set(result.k_minimal))
    assert result.bound is None
    assert result.loss == pytest.approx(expected.loss, abs=1e-6)


@given(sample=samples(), ks=several_ks, limit=limits)
def test_one_sweep_for_several_k_gives_what_single_searches_give(sample, ks, limit):
    """Tags of one k must not leak into another."""
    together = ola.search(sample.table, ks=ks, max_suppressed=limit, loss="dm*")
    for k in ks:
        alone = ola.search(sample.table, ks=[k], max_suppressed=limit, loss="dm*")[k]
        assert type(together[k]) is type(alone)
        if isinstance(alone, ola.OlaResult):
            assert (together[k].node, together[k].k_minimal) == (alone.node, alone.k_minimal)
            assert together[k].nodes_counted >= alone.nodes_counted


@given(sample=samples(), chance=chances, k=st.integers(1, 8))
def test_record_order_does_not_matter(sample, chance, k):
    """Two exports of one table must give one release."""
    other = sample.reordered(chance.sample(range(sample.n_records), sample.n_records))
    for loss in LOSSES:
        one, two = (ola.search(s.table, ks=[k], max_suppressed=2, loss=loss)[k] for s in (sample, other))
        assert one == two
        if isinstance(one, ola.OlaResult):
            assert published(sample, one, k) == published(other, one, k)


@given(sample=samples(kinds=("categorical",)), k=st.integers(1, 8), limit=limits)
def test_value_names_do_not_matter(sample, k, limit):
    """The search sees counts; calling the values otherwise changes nothing, ties included."""
    renamed = sample.renamed()
    for loss in LOSSES:
        one, two = (ola.search(s.table, ks=[k], max_suppressed=limit, loss=loss)[k] for s in (sample, renamed))
        assert one == two


@given(sample=samples(), data=st.data())
def test_a_higher_node_only_merges_classes(sample, data):
    """The property that lets a search tag nodes it has not counted."""
    nodes = list(lattice_of(sample.table.domains).nodes())
    node = data.draw(st.sampled_from(nodes))
    higher = data.draw(st.sampled_from([n for n in nodes if all(a <= b for a, b in zip(node, n, strict=True))]))
    fine, coarse = (ola.recode(sample.table, n, k=1).class_of for n in (node, higher))
    pairs = set(zip(fine.tolist(), coarse.tolist(), strict=True))
    assert len(pairs) == len(set(fine.tolist()))


def test_tagging_saves_most_counts_and_finds_all_minimal_nodes():
    """A lattice of 625 nodes; without tags every one would be counted."""
    rng = np.random.default_rng(7)
    labels = {str(v): [str(v), *(f"{v // w}/{w}" for w in (2, 4, 8)), "*"] for v in range(16)}
    attributes = [Attribute(name=str(i), labels=labels) for i in range(4)]
    records = [tuple(map(str, r)) for r in rng.binomial(15, 0.5, (400, 4)).tolist()]
    sample = Sample(attributes=attributes, records=records)
    result = ola.search(sample.table, ks=[5], max_suppressed=20, loss="dm*")[5]
    hierarchies = hierarchies_of(sample)
    expected = brute_force_ola.search(records, hierarchies, k=5, max_suppressed=20, loss="dm*")
    assert result.node == expected.node
    assert set(result.k_minimal) == expected.k_minimal
    assert len(result.k_minimal) > 5
    assert len(result.k_minimal) < result.nodes_counted < 625 / 4


def test_ties_go_to_fewer_suppressed_then_lower_then_first():
    """Precision ties often; the rule, not chance, decides."""
    two = {"x": ["x", "*"], "y": ["y", "*"]}
    three = {"p": ["p", "p", "*"], "q": ["q", "q", "*"]}
    # Generalising `a` leaves one record in a small class, generalising `b` none.
    fewer = Sample(
        attributes=[Attribute(name="a", labels=two), Attribute(name="b", labels=two)],
        records=[("x", "x")] * 3 + [("x", "y")] + [("y", "x")] * 3,
    )
    result = ola.search(fewer.table, ks=[2], max_suppressed=1, loss="precision")[2]
    assert result.k_minimal == ((0, 0),)
    strict = ola.search(fewer.table, ks=[2], max_suppressed=0, loss="precision")[2]
    assert (strict.k_minimal, strict.node) == (((0, 1),), (0, 1))

    both = Sample(
        attributes=[Attribute(name="a", labels=two), Attribute(name="b", labels=two)],
        records=[("x", "x"), ("x", "y"), ("y", "x"), ("y", "y")],
    )
    result = ola.search(both.table, ks=[2], max_suppressed=0, loss="precision")[2]
    assert result.k_minimal == ((0, 1), (1, 0))
    assert result.node == (0, 1)

    # DM* is the same for both; (2, 0) is higher than (0, 1), which here also comes first.
    higher = Sample(
        attributes=[Attribute(name="a", labels=three), Attribute(name="b", labels=two)],
        records=[("p", "x"), ("p", "y"), ("q", "x"), ("q", "y")],
    )
    result = ola.search(higher.table, ks=[2], max_suppressed=0, loss="dm*")[2]
    assert (result.k_minimal, result.node) == (((0, 1), (2, 0)), (0, 1))
    swapped = Sample(attributes=higher.attributes[::-1], records=[r[::-1] for r in higher.records])
    result = ola.search(swapped.table, ks=[2], max_suppressed=0, loss="dm*")[2]
    assert (result.k_minimal, result.node) == (((0, 2), (1, 0)), (1, 0))


def test_equal_loss_prefers_the_node_that_suppresses_fewer():
    """Two minimal nodes of the same precision loss, of which the second in order loses fewer records."""
    two = {v: [v, "*"] for v in "xyz"}
    records = [("x", "x")] * 2 + [("x", "y"), ("y", "x"), ("z", "y"), ("z", "x")]
    sample = Sample(attributes=[Attribute(name="a", labels=two), Attribute(name="b", labels=two)], records=records)
    suppressed = {
        node: brute_force_ola.suppressed_at(records, hierarchies_of(sample), node, 2) for node in ((0, 1), (1, 0))
    }
    assert suppressed == {(0, 1): 1, (1, 0): 0}
    result = ola.search(sample.table, ks=[2], max_suppressed=1, loss="precision")[2]
    assert result.k_minimal == ((0, 1), (1, 0))
    assert result.node == (1, 0)


def test_a_limit_that_lets_every_record_go_shows_in_the_number_of_classes():
    """The definition is kept, and the caller is told that nothing would be released."""
    sample = Sample(
        attributes=[Attribute(name="a", labels={v: [v, "*"] for v in "xyz"})], records=[("x",), ("y",), ("z",)]
    )
    result = ola.search(sample.table, ks=[2], max_suppressed=3, loss="dm*")[2]
    assert (result.node, result.suppressed, result.n_classes) == ((0,), 3, 0)
    recoding = ola.recode(sample.table, result.node, k=2)
    assert (recoding.n_classes, recoding.attributes[0].labels) == (0, ())


def test_a_k_beyond_all_records_is_unmet_with_figures():
    """k is never weakened."""
    labels = {"x": ["x", "x"], "y": ["y", "y"]}
    sample = Sample(attributes=[Attribute(name="a", labels=labels)], records=[("x",)] * 5 + [("y",)] * 3)
    results = ola.search(sample.table, ks=[3, 4, 9], max_suppressed=2, loss="dm*")
    assert isinstance(results[3], ola.OlaResult)
    assert (results[4].suppressed, results[4].n_labels) == (3, (2,))
    assert results[9].suppressed == 8


def test_a_table_without_attributes_is_one_class():
    """Nothing to generalise, and still k has to hold."""
    sample = Sample(attributes=[], records=[()] * 4)
    results = ola.search(sample.table, ks=[4, 5], max_suppressed=0, loss="entropy")
    assert (results[4].node, results[4].k_minimal, results[4].n_classes, results[4].loss) == ((), ((),), 1, 0.0)
    assert results[5] == ola.Unmet(suppressed=4, n_labels=(), nodes_counted=1)
    recoding = ola.recode(sample.table, (), k=4)
    assert (recoding.class_of.tolist(), recoding.sizes.tolist(), recoding.attributes) == ([0], [4], ())
    assert ola.recode(sample.table, (), k=5).class_of.tolist() == [SUPPRESSED]


@pytest.mark.parametrize("max_slots", CELL_LIMITS.values(), ids=CELL_LIMITS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_table_without_records_passes_with_no_class(max_slots, loss):
    """Nobody is in it, so nobody is exposed; the caller sees that there is no class."""
    sample = Sample(attributes=[Attribute(name="a", labels={"x": ["x", "*"]})], records=[])
    result = ola.search(sample.table, ks=[2], max_suppressed=0, loss=loss, max_slots=max_slots)[2]
    assert (result.suppressed, result.n_classes) == (0, 0)
    assert ola.recode(sample.table, result.node, k=2).n_classes == 0


@pytest.mark.parametrize(("ks", "limit"), [([0], 0), ([2, -1], 0), ([2], -1)])
def test_nonsense_is_refused(ks, limit):
    """A k of 0 would pass everything."""
    sample = Sample(attributes=[], records=[()] * 4)
    with pytest.raises(ValueError):
        ola.search(sample.table, ks=ks, max_suppressed=limit, loss="dm*")
    with pytest.raises(KeyError):
        ola.search(sample.table, ks=[2], max_suppressed=0, loss="discernability")
    with pytest.raises(ValueError):
        ola.recode(sample.table, (), k=0)


@settings(max_examples=60)
@given(sample=samples(), ks=several_ks, limit=limits, data=st.data())
def test_descent_finds_a_passing_node_and_a_bound_that_no_node_is_below(sample, ks, limit, data):
    """Where a lattice is too large for proof; here it is small enough to see what the best node loses."""
    importance, max_levels = data.draw(preferences(sample))
    settings = {
        "importance": importance and list(map(Fraction, importance)),
        "max_levels": max_levels,
        "max_suppressed": limit,
    }
    for loss in LOSSES:
        proven = ola.search(sample.table, ks=ks, loss=loss, **settings)
        found = ola.search(sample.table, ks=ks, loss=loss, max_nodes=0, **settings)
        for k in ks:
            assert type(found[k]) is type(proven[k])
            if isinstance(proven[k], ola.Unmet):
                assert (found[k].suppressed, found[k].n_labels) == (proven[k].suppressed, proven[k].n_labels)
                continue
            assert found[k].suppressed <= limit
            assert (
                brute_force_ola.suppressed_at(sample.records, hierarchies_of(sample), found[k].node, k)
                == found[k].suppressed
            )
            assert found[k].bound <= proven[k].loss + 1e-9
            assert proven[k].loss <= found[k].loss + 1e-9
            assert found[k].k_minimal is None


def test_a_lattice_too_large_to_search_is_descended():
    """Forty attributes of two levels have a million million nodes; the best is to give up the one that is unique."""
    two = {v: [v, "*"] for v in "xyz"}
    records = [("x",) * 40] * 5 + [("y",) * 40] * 5
    alone = [tuple("z" if i == j else "x" for i in range(40)) for j in range(1)]
    sample = Sample(attributes=[Attribute(name=str(i), labels=two) for i in range(40)], records=records + alone)
    result = ola.search(sample.table, ks=[2], max_suppressed=0, loss="ncp")[2]
    assert result.node == (1, *[0] * 39)
    assert result.bound == pytest.approx(result.loss) == pytest.approx(1 / 40)
    assert ola.search(sample.table, ks=[2], max_suppressed=0, loss="dm*")[2].node == (1, *[0] * 39)


def test_a_lattice_too_large_is_refused_where_neither_descent_nor_proof_can_begin():
    """The top fails, and the requirement does not tell what that means for the nodes below."""
    two = {"x": ["x", "*"], "y": ["y", "*"]}
    sample = Sample(attributes=[Attribute(name=str(i), labels=two) for i in range(40)], records=[("x",) * 40] * 4)
    toy = at_most(3)
    with pytest.raises(ola.LatticeTooLargeError) as caught:
        ola.search(sample.table, ks=[2], max_suppressed=0, loss="ncp", further={2: [toy]})
    assert caught.value.n_nodes == 2**40


@given(sample=samples(), k=st.integers(1, 6), data=st.data())
def test_recoding_keeps_k_and_says_what_every_record_shows(sample, k, data):
    """Released records show the labels of their levels, every class has k, and the rest is suppressed."""
    node = data.draw(st.sampled_from(list(lattice_of(sample.table.domains).nodes())))
    recoding = ola.recode(sample.table, node, k=k)
    hierarchies = hierarchies_of(sample)
    sizes = brute_force_ola.class_sizes(sample.records, hierarchies, node)
    class_of_record = recoding.class_of[sample.combination_of]
    shown = []
    for record, class_id in zip(sample.records, class_of_record.tolist(), strict=True):
        labels = tuple(h[v][level] for h, v, level in zip(hierarchies, record, node, strict=True))
        assert (class_id == SUPPRESSED) == (sizes[labels] < k)
        if class_id != SUPPRESSED:
            assert labels == tuple(a.labels[a.of_class[class_id]] for a in recoding.attributes)
            shown.append(labels)
    assert Counter(shown) == Counter({labels: size for labels, size in sizes.items() if size >= k})
    assert sorted(recoding.sizes.tolist()) == sorted(size for size in sizes.values() if size >= k)
    assert (
        np.bincount(class_of_record[class_of_record >= 0], minlength=recoding.n_classes).tolist()
        == recoding.sizes.tolist()
    )
    assert (recoding.sizes >= k).all()
    assert recoding.levels == node
    for position, attribute in enumerate(recoding.attributes):
        # Labels that only suppressed records would have had must not travel with the recoding.
        assert set(attribute.labels) == {labels[position] for labels in shown}
        assert len(set(attribute.labels)) == len(attribute.labels)
        top = sample.attributes[position].n_levels - 1
        assert attribute.loss.tolist() == [node[position] / top if top else 0.0] * recoding.n_classes


def published(sample, result, k):
    recoding = ola.recode(sample.table, result.node, k=k)
    shown = (
        tuple(a.labels[a.of_class[c]] for a in recoding.attributes) if c != SUPPRESSED else None
        for c in recoding.class_of[sample.combination_of].tolist()
    )
    return recoding.sizes.tolist(), Counter(zip(sample.records, shown, strict=True))


def test_where_max_level_stands_in_the_way_the_refusal_says_so():
    """Another level “*” would not help: the hierarchy has one, and max_level keeps the attribute below it."""
    hierarchy = {"type": "intervals", "widths": [5, 10]}
    attributes = {"age": {"role": "k-quasi", "hierarchy": hierarchy, "max_level": 0}}
    policy = ke.Policy.from_dict({"k": 2, "algorithm": "ola", "max_suppression": 0, "attributes": attributes})
    with pytest.raises(ke.UnsatisfiableError) as refusal:
        ke.anonymise(pa.table({"age": [1, 2, 3, 4]}), policy)
    assert "at its max_level or top" in str(refusal.value)
    assert "a higher max_level of age, or none; or choose a smaller k" in str(refusal.value)
    assert "add a level" not in str(refusal.value)


@pytest.mark.parametrize(("max_level", "helps"), [(0, False), (1, True)])
def test_a_smaller_limit_is_advised_only_where_values_could_be_generalised_instead(max_level, helps):
    """max_level = 0 forbids that; then a smaller max_suppression would be refused too."""
    hierarchy = {"type": "intervals", "widths": [5, 10]}
    attributes = {"age": {"role": "k-quasi", "hierarchy": hierarchy, "max_level": max_level}}
    document = {"k": 2, "algorithm": "ola", "max_suppression": 1, "loss": "dm*", "attributes": attributes}
    with pytest.raises(ke.UnsatisfiableError) as refusal:
        ke.anonymise(pa.table({"age": [1, 2, 3, 4]}), ke.Policy.from_dict(document))
    said = str(refusal.value)
    assert "would leave out every record" in said
    assert ("so that values are generalised instead" in said) is helps
    assert (
        "with a max_suppression below 1: a higher max_level of age, or none; or choose a smaller k" in said
    ) is not helps
