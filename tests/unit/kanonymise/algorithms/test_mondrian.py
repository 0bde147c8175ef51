# SPDX-License-Identifier: Apache-2.0
"""Strict Mondrian against the textbook recursion, and what every partition has to keep."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kepsilon.kanonymise.algorithms import mondrian
from kepsilon.kanonymise.first_parts import FirstPartsFailError
from kepsilon.table import keys
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.number_line import number_line
from material.mondrian_places import members, places, positions
from material.toy_requirements import at_most, even, several_combinations
from oracles import slow_labels, textbook_mondrian
from strategies import Attribute, Sample, chances, samples, two_level_samples

STYLES = ("siblings", "ancestor")
EACH_STYLE = pytest.mark.parametrize("style", STYLES)


@settings(max_examples=300)
@given(sample=samples(), k=st.integers(1, 8), data=st.data())
def test_parts_are_those_of_the_textbook_recursion(sample, k, data):
    """Cutting all partitions of one depth at once is a matter of speed only."""
    fixed = data.draw(
        st.lists(st.sampled_from(range(len(sample.attributes))), max_size=1) if sample.attributes else st.just([])
    )
    parts = Counter(tuple(record[a] for a in fixed) for record in places(sample))
    if min(parts.values()) < k:
        with pytest.raises(FirstPartsFailError) as caught:
            mondrian.partition(sample.table, k=k, fixed=fixed)
        assert caught.value.n_records == sum(n for n in parts.values() if n < k)
        assert caught.value.n_parts == sum(n < k for n in parts.values())
        return
    partition = mondrian.partition(sample.table, k=k, fixed=fixed)
    expected = textbook_mondrian.partition(places(sample), k=k, positions=positions(sample), fixed=fixed)
    assert members(sample, partition.part_of) == expected


@given(sample=samples(max_attributes=3), k=st.integers(1, 5), data=st.data())
def test_importance_multiplies_widths(sample, k, data):
    """What matters more is cut first; weights are powers of two, so that equal widths tie as fractions do."""
    assume(sample.n_records >= k)
    n = len(sample.attributes)
    weights = data.draw(st.lists(st.sampled_from([0.125, 1.0, 16.0]), min_size=n, max_size=n))
    partition = mondrian.partition(sample.table, k=k, importance=weights)
    expected = textbook_mondrian.partition(
        places(sample), k=k, positions=positions(sample), importance=[Fraction(weight) for weight in weights]
    )
    assert members(sample, partition.part_of) == expected


@given(sample=samples(max_attributes=4), k=st.integers(1, 6))
def test_no_part_is_below_k_and_none_has_an_allowable_cut_left(sample, k):
    """By any threshold in any attribute, before parts with equal labels are merged."""
    assume(sample.n_records >= k)
    partition = mondrian.partition(sample.table, k=k)
    records = places(sample)
    for part in members(sample, partition.part_of):
        assert len(part) >= k
        assert textbook_mondrian.allowable_cut([records[i] for i in part], k=k) is None
    assert sorted(partition.sizes.tolist()) == sorted(len(part) for part in members(sample, partition.part_of))


def test_a_large_table_is_cut_to_the_end():
    """Many depths, weights of very different size, four attributes; every part is checked by the slow oracle."""
    rng = np.random.default_rng(11)
    sizes = (30, 2, 17, 5)
    flat = rng.choice(np.prod(sizes), 2500, replace=False)
    codes = np.unravel_index(np.sort(flat), sizes)
    domains = tuple(
        Domain(
            name=str(n),
            levels=(tuple(map(str, range(n))),),
            up=(),
            line=number_line([Fraction(i * i) for i in range(n)], step=Fraction(1)),
        )
        for n in sizes
    )
    counts = np.minimum(rng.zipf(1.7, len(flat)), 500)
    table = FrequencyTable(domains=domains, codes=codes, counts=counts)
    for k in (2, 7, 40):
        partition = mondrian.partition(table, k=k)
        assert partition.sizes.sum() == counts.sum()
        records = np.repeat(np.column_stack(codes), counts, axis=0)
        part_of_record = np.repeat(partition.part_of, counts)
        assert np.bincount(part_of_record).tolist() == partition.sizes.tolist()
        assert partition.sizes.min() >= k
        for part in range(0, partition.n_parts, 1 + partition.n_parts // 60):
            assert textbook_mondrian.allowable_cut(list(map(tuple, records[part_of_record == part])), k=k) is None


def test_keys_too_long_to_carry_positions_are_sorted_all_the_same(monkeypatch):
    """A table of a hundred million combinations takes the other branch."""
    rng = np.random.default_rng(2)
    codes = tuple(np.sort(rng.integers(0, 50, (3, 400)), axis=0))
    domain = Domain(name="a", levels=(tuple(map(str, range(50))),), up=())
    table = FrequencyTable(domains=(domain,) * 3, codes=codes, counts=rng.integers(1, 9, 400))
    expected = mondrian.partition(table, k=5)
    monkeypatch.setattr(keys, "_MAX_BITS", 0)
    assert mondrian.partition(table, k=5).part_of.tolist() == expected.part_of.tolist()


@given(sample=samples(), k=st.integers(1, 6), chance=chances)
def test_record_order_does_not_matter(sample, k, chance):
    """Two exports of one table must give one release, class ids included."""
    assume(sample.n_records >= k)
    other = sample.reordered(chance.sample(range(sample.n_records), sample.n_records))
    one, two = (mondrian.anonymise(s.table, k=k) for s in (sample, other))
    assert one.class_of.tolist() == two.class_of.tolist()
    assert one.sizes.tolist() == two.sizes.tolist()
    assert [a.labels for a in one.attributes] == [a.labels for a in two.attributes]


@given(sample=samples(), k=st.integers(1, 6))
def test_classes_are_numbered_by_their_first_combination(sample, k):
    """So that the numbers say nothing about how the search went."""
    assume(sample.n_records >= k)
    partition = mondrian.partition(sample.table, k=k)
    for ids in (partition.part_of, mondrian.recode(sample.table, partition).class_of):
        seen = list(dict.fromkeys(ids.tolist()))
        assert seen == list(range(len(seen)))


@given(sample=st.one_of(samples(), two_level_samples()), k=st.integers(1, 6))
def test_classes_with_the_same_labels_are_one_class(sample, k):
    """Who reads the release cannot tell them apart, so noise must not either."""
    assume(sample.n_records >= k)
    partition = mondrian.partition(sample.table, k=k)
    for recoding in (mondrian.recode(sample.table, partition, labels=style) for style in STYLES):
        shown = [tuple(a.labels[a.of_class[c]] for a in recoding.attributes) for c in range(recoding.n_classes)]
        assert len(set(shown)) == recoding.n_classes
        assert (recoding.sizes >= k).all()
        assert recoding.sizes.sum() == sample.n_records
        assert np.bincount(recoding.class_of[sample.combination_of]).tolist() == recoding.sizes.tolist()
        # A class is made of whole parts.
        pairs = set(zip(partition.part_of.tolist(), recoding.class_of.tolist(), strict=True))
        assert len(pairs) == partition.n_parts
        for attribute in recoding.attributes:
            assert len(set(attribute.labels)) == len(attribute.labels)
            assert set(attribute.of_class.tolist()) == set(range(len(attribute.labels)))
            assert ((attribute.loss >= 0) & (attribute.loss <= 1)).all()


def test_parts_under_one_ancestor_are_merged():
    """Two parts of five values each, of one parent: the same label, so one class, and its loss is the label's."""
    labels = {v: [v, "P", "*"] for v in "ABCDEFGHIJ"} | {"Z": ["Z", "Q", "*"]}
    sample = Sample(attributes=[Attribute(name="a", labels=labels)], records=[(v,) for v in "ABCDEFGHIJ" + "Z" * 10])
    partition = mondrian.partition(sample.table, k=5)
    recoding = mondrian.recode(sample.table, partition)
    assert partition.sizes.tolist() == [5, 5, 10]
    assert recoding.sizes.tolist() == [10, 10]
    assert [recoding.attributes[0].labels[i] for i in recoding.attributes[0].of_class] == ["P", "Z"]
    assert recoding.attributes[0].loss.tolist() == [0.9, 0.0]


def test_one_text_at_two_levels_is_one_label_with_the_coarser_loss():
    """The value "Other" and the group "Other" read the same, so they are the same class."""
    labels = {
        "Other": ["Other", "Other", "*"],
        "B": ["B", "Other", "*"],
        "C": ["C", "Other", "*"],
        "D": ["D", "D", "*"],
    }
    sample = Sample(
        attributes=[Attribute(name="a", labels=labels)],
        records=[("Other",)] * 3 + [("B",)] * 2 + [("C",)] * 2 + [("D",)] * 7,
    )
    partition = mondrian.partition(sample.table, k=3)
    recoding = mondrian.recode(sample.table, partition, labels="ancestor")
    assert partition.n_parts == 3
    assert (recoding.sizes.tolist(), recoding.attributes[0].labels) == ([7, 7], ("Other", "D"))
    assert recoding.attributes[0].loss.tolist() == pytest.approx([2 / 3, 0])


@given(sample=samples(kinds=("flat",)), k=st.integers(1, 4), data=st.data())
def test_fixed_attributes_show_their_values(sample, k, data):
    """Whatever the labels' style, and at no loss."""
    assume(sample.attributes)
    fixed = data.draw(st.lists(st.sampled_from(range(len(sample.attributes))), min_size=1, unique=True))
    assume(min(Counter(tuple(record[a] for a in fixed) for record in sample.records).values()) >= k)
    for style in STYLES:
        recoding = mondrian.anonymise(sample.table, k=k, labels=style, fixed=fixed)
        for record, class_id in zip(sample.records, recoding.class_of[sample.combination_of].tolist(), strict=True):
            for attribute in fixed:
                labelled = recoding.attributes[attribute]
                assert labelled.labels[labelled.of_class[class_id]] == slow_labels.without_hierarchy(
                    [record[attribute]], [], k=k, style=style
                )
                assert labelled.loss[class_id] == 0


def test_a_table_with_fewer_than_k_records_is_refused_without_naming_values():
    """A class below k must not come into being because nothing was cut."""
    labels = {"secret": ["secret", "*"]}
    sample = Sample(attributes=[Attribute(name="a", labels=labels)], records=[("secret",)] * 4)
    assert mondrian.anonymise(sample.table, k=4).sizes.tolist() == [4]
    with pytest.raises(FirstPartsFailError) as caught:
        mondrian.anonymise(sample.table, k=5)
    assert (caught.value.n_records, caught.value.n_parts) == (4, 1)
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError):
        mondrian.partition(sample.table, k=0)


@EACH_STYLE
def test_a_table_without_attributes_is_one_class(style):
    """Nothing to cut along, and still k has to hold."""
    sample = Sample(attributes=[], records=[()] * 4)
    recoding = mondrian.anonymise(sample.table, k=4, labels=style)
    assert (recoding.class_of.tolist(), recoding.sizes.tolist(), recoding.attributes) == ([0], [4], ())
    with pytest.raises(FirstPartsFailError):
        mondrian.anonymise(sample.table, k=5)


@EACH_STYLE
def test_a_table_without_records_has_no_class(style):
    """The caller sees that there is nothing to release."""
    attributes = [Attribute(name=str(i), labels={"x": ["x", "*"]}, generalises=bool(i)) for i in range(2)]
    numeric = Attribute(name="n", labels={"1": ["1"]}, numbers={"1": 1.0})
    sample = Sample(attributes=[*attributes, numeric], records=[])
    recoding = mondrian.anonymise(sample.table, k=4, labels=style)
    assert (recoding.n_classes, recoding.class_of.tolist()) == (0, [])
    assert [a.labels for a in recoding.attributes] == [(), (), ()]


def test_an_even_number_of_records_is_cut_at_the_lower_median():
    """Ten different values at k = 3 are cut into two fives; the upper median would give six and four, then threes."""
    numbers = {str(v): float(v) for v in range(10)}
    attribute = Attribute(name="a", labels={v: [v] for v in numbers}, numbers=numbers)
    sample = Sample(attributes=[attribute], records=[(v,) for v in numbers])
    assert mondrian.partition(sample.table, k=3).sizes.tolist() == [5, 5]


def test_the_widest_attribute_relative_to_the_data_is_cut_first():
    """Both halves of `b` differ in `a` too, which spans less of its range there."""
    numbers = {str(v): float(v) for v in (0, 1, 2, 10)}
    a = Attribute(name="a", labels={v: [v] for v in numbers}, numbers=numbers)
    b = Attribute(name="b", labels={v: [v] for v in numbers}, numbers=numbers)
    sample = Sample(
        attributes=[a, b], records=[("0", "0"), ("1", "0"), ("0", "10"), ("1", "10"), ("10", "1"), ("10", "2")]
    )
    partition = mondrian.partition(sample.table, k=2)
    shown = {tuple(r) for r in np.column_stack((partition.part_of[sample.combination_of], [0, 1, 2, 3, 4, 5])).tolist()}
    assert shown == {(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5)}


@settings(max_examples=200)
@given(
    sample=samples(),
    k=st.integers(1, 6),
    toy=st.sampled_from([several_combinations(2), several_combinations(4), even()]),
    data=st.data(),
)
def test_mondrian_cuts_where_the_textbook_does_with_a_further_requirement(sample, k, toy, data):
    """A cut that would leave a side which fails is not made; the next attribute is tried."""
    assume(all(a.numbers is None or a.step <= 1 for a in sample.attributes))  # the toy counts combinations, not cells
    fixed = data.draw(
        st.lists(st.sampled_from(range(len(sample.attributes))), max_size=1) if sample.attributes else st.just([])
    )
    first = {}
    for record in places(sample):
        first.setdefault(tuple(record[a] for a in fixed), []).append(record)
    assume(min(map(len, first.values())) >= k)
    failing = [part for part in first.values() if not toy.meets(part)]
    if failing:
        with pytest.raises(FirstPartsFailError) as caught:
            mondrian.partition(sample.table, k=k, fixed=fixed, further=[toy])
        assert (caught.value.requirement, caught.value.n_records) == (toy, sum(map(len, failing)))
        return
    partition = mondrian.partition(sample.table, k=k, fixed=fixed, further=[toy])
    expected = textbook_mondrian.partition(
        places(sample), k=k, positions=positions(sample), fixed=fixed, meets=toy.meets
    )
    assert members(sample, partition.part_of) == expected


@given(sample=st.one_of(samples(), two_level_samples()), k=st.integers(1, 4))
def test_every_class_of_mondrian_meets_a_further_requirement(sample, k):
    """Also where parts with equal labels become one class."""
    toy = several_combinations(2)
    assume(sample.n_records >= k and sample.table.n_combinations >= 2)
    for style in STYLES:
        recoding = mondrian.anonymise(sample.table, k=k, labels=style, further=[toy])
        combinations = {}
        for record, class_id in zip(sample.records, recoding.class_of[sample.combination_of].tolist(), strict=True):
            combinations.setdefault(class_id, []).append(record)
        assert all(toy.meets(of_class) and len(of_class) >= k for of_class in combinations.values())


def test_mondrian_does_not_merge_what_must_not_be_merged():
    """A requirement that breaks when two classes are put together is refused before anything is cut."""
    sample = Sample(
        attributes=[Attribute(name="a", labels={v: [v] for v in "ABCD"})], records=[(v,) for v in "ABCD"] * 4
    )
    with pytest.raises(ValueError, match="unions"):
        mondrian.partition(sample.table, k=2, further=[at_most(5)])


def test_a_broken_class_of_mondrian_is_a_bug_that_releases_nothing():
    """The cuts are checked once more when labels are given, as k is."""
    sample = Sample(
        attributes=[Attribute(name="a", labels={v: [v] for v in "ABCD"})], records=[(v,) for v in "ABCD"] * 4
    )
    partition = mondrian.partition(sample.table, k=4)
    with pytest.raises(RuntimeError, match="this is a bug"):
        mondrian.recode(sample.table, replace(partition, further=(at_most(3),)))
