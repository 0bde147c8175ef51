# SPDX-License-Identifier: Apache-2.0
"""What a part shows: that its label covers its records, says what the documentation says, and shows no more."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kepsilon.kanonymise import category_labels, interval_labels
from kepsilon.kanonymise.algorithms import mondrian
from kepsilon.kanonymise.partitions import Partition, recode
from kepsilon.table.number_line import NumberLine
from oracles import read_label, slow_labels
from strategies import Attribute, Sample, chances, numeric, samples, two_level_samples

STYLES = ("siblings", "ancestor")
"""Both are looked at in every example, because drawing one takes most of the time."""


def shown(sample, recoding, attribute):
    """The label and the loss of every record, and its class."""
    labelled = recoding.attributes[attribute]
    class_of = recoding.class_of[sample.combination_of].tolist()
    return [(labelled.labels[labelled.of_class[c]], labelled.loss[c], c) for c in class_of]


def covers(attribute, label, value):
    """Whether a label covers a value, read from its text alone."""
    if attribute.numbers is not None:
        return read_label.interval_covers(label, value)
    above = attribute.labels[value] if attribute.generalises else [value]
    if label == "*" or label in above:
        return True
    if label is None or not label.startswith("{"):
        return False
    return any(member in above for member in read_label.set_members(label))


def cut_anywhere(sample, k, n_parts, chance):
    """Any partition into parts of at least k records, not only those that Mondrian would find."""
    part_of = np.array([chance.randrange(n_parts) for _ in range(sample.table.n_combinations)])
    _, part_of = np.unique(part_of, return_inverse=True)
    sizes = np.bincount(part_of, weights=sample.table.counts).astype(np.int64)
    assume((sizes >= k).all())
    first = {}
    part_of = np.array([first.setdefault(part, len(first)) for part in part_of.tolist()])
    sizes = np.bincount(part_of, weights=sample.table.counts).astype(np.int64)
    return Partition(k=k, further=(), part_of=part_of, sizes=sizes)


def oracle_label(sample, position, members, *, k, style):
    """What the slow oracle says of the records `members` in one attribute."""
    attribute = sample.attributes[position]
    column = [record[position] for record in sample.records]
    values = [column[i] for i in members]
    if attribute.numbers is not None:
        return slow_labels.numbers(values, step=attribute.step, style=style)
    if attribute.generalises:
        in_order = {value: attribute.labels[value] for value in sample.table.domains[position].levels[0]}
        return slow_labels.category(values, in_order, style=style)
    return slow_labels.without_hierarchy(values, column, k=k, style=style)


def disagreements(sample, partition, recoding, *, style):
    """Parts whose label is not what the slow oracle says."""
    of_record = partition.part_of[sample.combination_of].tolist()
    found = []
    for position in range(len(sample.attributes)):
        labels = shown(sample, recoding, position)
        for part in set(of_record):
            members = [i for i, own in enumerate(of_record) if own == part]
            expected = oracle_label(sample, position, members, k=partition.k, style=style)
            if any(labels[i][0] != expected for i in members):
                found.append((position, expected, labels[members[0]][0]))
    return found


@settings(max_examples=300)
@given(
    sample=st.one_of(samples(), two_level_samples()),
    k=st.integers(1, 6),
    n_parts=st.sampled_from([1, 2, 4]),
    chance=chances,
)
def test_labels_are_those_of_the_slow_oracle(sample, k, n_parts, chance):
    """For any partition, since other algorithms than Mondrian label with the same function."""
    partition = cut_anywhere(sample, k, n_parts, chance)
    for style in STYLES:
        assert disagreements(sample, partition, recode(sample.table, partition, labels=style), style=style) == []


@settings(max_examples=300)
@given(sample=samples(), k=st.integers(1, 8))
def test_every_label_covers_its_records(sample, k):
    """A label that leaves out one of its own records is a false statement about a person."""
    assume(sample.n_records >= k)
    for recoding in (mondrian.anonymise(sample.table, k=k, labels=style) for style in STYLES):
        for position, attribute in enumerate(sample.attributes):
            for record, (label, _, _) in zip(sample.records, shown(sample, recoding, position), strict=True):
                assert covers(attribute, label, record[position])


@settings(max_examples=300)
@given(sample=samples(), k=st.integers(1, 8))
def test_the_loss_is_the_share_of_what_occurs_that_a_label_covers(sample, k):
    """By reading each label back and trying every value of the data; equal texts of two levels are left to another test."""
    assume(sample.n_records >= k)
    recodings = [mondrian.anonymise(sample.table, k=k, labels=style) for style in STYLES]
    for position, attribute in enumerate(sample.attributes):
        column = [record[position] for record in sample.records]
        for label, loss, _ in set().union(*(shown(sample, own, position) for own in recodings)):
            is_in = [covers(attribute, label, value) for value in column]
            if attribute.numbers is not None:
                expected = slow_labels.loss_of_numbers(label, column, is_in)
            else:
                expected = slow_labels.loss_of_categories(column, is_in)
            assert loss == pytest.approx(float(expected))


@settings(max_examples=200)
@given(attribute=numeric(), data=st.data(), k=st.integers(1, 6))
def test_no_bound_is_finer_than_the_step_and_no_cut_divides_a_cell(attribute, data, k):
    """Records of one cell that differ in nothing else are in one class, and bounds are multiples of the step."""
    records = data.draw(st.lists(st.tuples(st.sampled_from(list(attribute.labels))), min_size=k, max_size=30))
    sample = Sample(attributes=[attribute], records=records)
    for recoding in (mondrian.anonymise(sample.table, k=k, labels=style) for style in STYLES):
        classes_of_cell = {}
        for (value,), (label, _, class_id) in zip(records, shown(sample, recoding, 0), strict=True):
            if value is not None:
                classes_of_cell.setdefault(Fraction(value) // attribute.step, set()).add(class_id)
            if label not in (None, "*"):
                assert all(bound % attribute.step == 0 for bound in read_label.interval_bounds(label))
        assert all(len(classes) == 1 for classes in classes_of_cell.values())


@settings(max_examples=200)
@given(sample=samples(kinds=("flat", "categorical"), max_attributes=2), k=st.integers(2, 8))
def test_sets_name_at_most_four_siblings_and_no_rare_value(sample, k):
    """Four where there is a hierarchy; where there is none, only values that at least k records hold."""
    assume(sample.n_records >= k)
    recodings = {style: mondrian.anonymise(sample.table, k=k, labels=style) for style in STYLES}
    for position, attribute in enumerate(sample.attributes):
        column = [record[position] for record in sample.records]
        shown_sets = [
            (style, read_label.set_members(label))
            for style, recoding in recodings.items()
            for label in recoding.attributes[position].labels
            if label is not None and label.startswith("{")
        ]
        for style, members in shown_sets:
            if style == "ancestor":
                assert len(members) == 1
            elif attribute.generalises:
                assert len(members) <= 4
            else:
                assert all(column.count(member) >= k for member in members)


# Mutants: each of these mistakes has to be noticed by the oracle.

NUMBERS = Attribute(
    name="n", labels={str(v): [str(v)] for v in range(40)}, numbers={str(v): v for v in range(40)}, step=Fraction(10)
)
FIVE = Attribute(name="c", labels={v: [v, "P"] for v in "ABCDE"})
RARE = Attribute(name="f", labels={v: [v] for v in "ABC"}, generalises=False)


def one_part(attribute, values, *, k):
    sample = Sample(attributes=[attribute], records=[(v,) for v in values])
    n = sample.table.n_combinations
    return sample, Partition(k=k, further=(), part_of=np.zeros(n, dtype=np.int64), sizes=np.array([len(values)]))


@pytest.mark.parametrize(
    ("mutate", "attribute", "values"),
    [
        pytest.param(
            lambda m: m.setattr(NumberLine, "interval", lambda *_: "[13, 28)"), NUMBERS, ["13", "14", "27"], id="hull not widened"
        ),
        pytest.param(lambda m: m.setattr(interval_labels, "_hull", lambda a, b: (a, b - 1)), NUMBERS, ["13", "27"], id="hull too narrow"),
        pytest.param(lambda m: m.setattr(category_labels, "MOST_SIBLINGS", 5), FIVE, "ABCDE", id="five siblings"),
        pytest.param(lambda m: m.setattr(category_labels, "MOST_SIBLINGS", 3), FIVE, "ABCD", id="three siblings"),
        pytest.param(
            lambda m: m.setattr(category_labels, "_set_or_value", lambda _: "{A, B}"), RARE, "AAAAB", id="a set with a rare value"
        ),
    ],
)  # fmt: skip
def test_the_oracle_notices_labels_that_show_too_much(monkeypatch, mutate, attribute, values):
    """As it stands the label is right; with the mistake it is not."""
    sample, partition = one_part(attribute, values, k=2)
    assert disagreements(sample, partition, recode(sample.table, partition), style="siblings") == []
    mutate(monkeypatch)
    assert disagreements(sample, partition, recode(sample.table, partition), style="siblings")


# The wording is published, so it is fixed.

YEARS = [None, "-3", "0", "1950", "1951", "1955", "1960"]


def years(records, *, step):
    attribute = Attribute(
        name="y", labels={v: [v] for v in YEARS}, numbers={v: float(v) for v in YEARS[1:]}, step=Fraction(step)
    )
    return Sample(attributes=[attribute], records=[(v,) for v in records])


@pytest.mark.parametrize(
    ("records", "k", "step", "siblings", "ancestor"),
    [
        pytest.param(["1950"] * 2 + ["1951"] * 2, 2, "1", ("[1950, 1951)", "[1951, 1952)"), ("[1950, 1951)", "[1951, 1952)"), id="single cells"),
        pytest.param(["1950"] * 2 + ["1951"] * 2, 2, "5", ("[1950, 1955)",), ("[1950, 1955)",), id="one cell of several values"),
        pytest.param(["1950", "1951", "1955", "1960"], 2, "1", ("[1950, 1952)", "[1955, 1961)"), ("[1950, 1952)", "[1952, 1968)"), id="two"),
        pytest.param(["1950", "1951", "1955", "1960"], 3, "2", ("[1950, 1962)",), ("[1920, 1984)",), id="no cut"),
        pytest.param(["1950"], 1, "0.5", ("[1950, 1950.5)",), ("[1950, 1950.5)",), id="a step finer than the data"),
        pytest.param([None] * 2 + ["1950", "1951"], 2, "1", (None, "[1950, 1952)"), (None, "[1950, 1952)"), id="null apart"),
        pytest.param([None, "1951", "1955", "1960"], 2, "1", ("null or [1951, 1952)", "[1955, 1961)"), ("null or [1951, 1952)", "[1952, 1968)"), id="null with one"),
        pytest.param([None, "1950", "1955"], 3, "10", ("null or [1950, 1960)",), ("null or [1950, 1960)",), id="null with an interval"),
        pytest.param([None] * 3, 2, "1", (None,), (None,), id="nothing but null"),
        pytest.param(["-3", "0"], 2, "1", ("[-3, 1)",), ("*",), id="across zero"),
        pytest.param([None, "-3", "0"], 2, "10", ("null or [-10, 10)",), ("*",), id="across zero, with null"),
        pytest.param(["-3", "-3"], 2, "2", ("[-4, -2)",), ("[-4, -2)",), id="below zero"),
    ],
)  # fmt: skip
def test_intervals_read_as_documented(records, k, step, siblings, ancestor):
    """Half-open, both bounds multiples of the step, whatever the data hold."""
    sample = years(records, step=step)
    for style, expected in (("siblings", siblings), ("ancestor", ancestor)):
        labels = mondrian.anonymise(sample.table, k=k, labels=style).attributes[0].labels
        assert sorted(labels, key=str) == sorted(expected, key=str)


TREE = {
    "Berlin": ["Berlin", "Germany", "Europe", "World"],
    "Bonn": ["Bonn", "Germany", "Europe", "World"],
    "Lyon": ["Lyon", "France", "Europe", "World"],
    "Oslo": ["Oslo", "Norway", "Europe", "World"],
    "Rome": ["Rome", "Italy", "Europe", "World"],
    "Wien": ["Wien", "Austria", "Europe", "World"],
    "Lima": ["Lima", "Peru", "America", "World"],
    None: [None, None, None, "World"],
}


@pytest.mark.parametrize(
    ("values", "siblings", "ancestor"),
    [
        (["Berlin", "Berlin"], "Berlin", "Berlin"),
        (["Berlin", "Bonn"], "{Berlin, Bonn}", "Germany"),
        (["Berlin", "Lyon"], "{Germany, France}", "Europe"),
        (["Berlin", "Bonn", "Lyon", "Oslo", "Rome"], "{Germany, France, Norway, Italy}", "Europe"),
        (["Berlin", "Lyon", "Oslo", "Rome", "Wien"], "Europe", "Europe"),
        (["Berlin", "Lima"], "{Europe, America}", "World"),
        (["Berlin", "Lima", None], "{null, Europe, America}", "World"),
        ([None, None], None, None),
    ],
)
def test_categories_show_the_children_of_their_common_ancestor(values, siblings, ancestor):
    """Children are nodes of one level: a child of which one value occurs is not shown by that value."""
    attribute = Attribute(name="town", labels=TREE)
    everybody = Sample(attributes=[attribute], records=[(v,) for v in [*values, *TREE]])
    part_of = np.array(
        [0 if everybody.table.domains[0].levels[0][c] in values else 1 for c in everybody.table.codes[0]]
    )
    sizes = np.bincount(part_of, weights=everybody.table.counts).astype(np.int64)
    partition = Partition(k=1, further=(), part_of=part_of, sizes=sizes)
    for style, expected in (("siblings", siblings), ("ancestor", ancestor)):
        recoding = recode(everybody.table, partition, labels=style)
        labels = {shown(everybody, recoding, 0)[i][0] for i in range(len(values))}
        assert labels == {expected}


@pytest.mark.parametrize(("n_roots", "expected"), [(4, "{A, B, C, D}"), (5, "*")])
def test_roots_without_a_common_top_are_siblings_under_nothing(n_roots, expected):
    """As in a hierarchy file whose last column has several labels."""
    roots = "ABCDE"[:n_roots]
    labels = {f"{root}{i}": [f"{root}{i}", root] for root in roots for i in (1, 2)}
    sample = Sample(attributes=[Attribute(name="a", labels=labels)], records=[(v,) for v in labels])
    k = len(labels)
    assert mondrian.anonymise(sample.table, k=k).attributes[0].labels == (expected,)
    assert mondrian.anonymise(sample.table, k=k, labels="ancestor").attributes[0].labels == ("*",)


def test_sets_without_hierarchy_need_k_records_of_every_value():
    """Six A, three B and one C at k = 3: a part of all would name the one who has C, so it shows nothing."""
    sample, partition = one_part(RARE, "AAAAAABBB", k=3)
    assert recode(sample.table, partition).attributes[0].labels == ("{A, B}",)
    sample, partition = one_part(RARE, "AAAAAABBBC", k=3)
    recoding = recode(sample.table, partition)
    assert (recoding.attributes[0].labels, recoding.attributes[0].loss.tolist()) == (("*",), [1.0])


def test_sets_quote_what_could_be_taken_for_something_else():
    """A comma inside a value must not make two values of it."""
    values = ["plain", "a, b", "{x}", 'say "hi"', " blank", "null", "", None, "ü"]
    attribute = Attribute(name="a", labels={v: [v] for v in values}, generalises=False)
    sample, partition = one_part(attribute, values * 9, k=9)
    (label,) = recode(sample.table, partition).attributes[0].labels
    assert label == '{null, "", " blank", "a, b", "null", plain, "say \\"hi\\"", "{x}", ü}'
    assert set(read_label.set_members(label)) == set(values)


@pytest.mark.parametrize("generalises", [True, False])
def test_a_value_that_looks_like_a_set_is_not_taken_for_one(generalises):
    """The value "{A, B}" is a set of one; A and B together are a set of two. They stay two classes."""
    values = ["{A, B}", "A", "B"]
    attribute = Attribute(
        name="a", labels={v: [v, "top"] if generalises else [v] for v in values}, generalises=generalises
    )
    sample = Sample(attributes=[attribute], records=[(v,) for v in values * 4])
    codes = sample.table.domains[0].levels[0]
    part_of = np.array([int(codes[c] == "{A, B}") for c in sample.table.codes[0]])
    recoding = recode(sample.table, Partition(k=4, further=(), part_of=part_of, sizes=np.array([8, 4])))
    assert set(recoding.attributes[0].labels) == {"{A, B}", '{"{A, B}"}'}


def test_a_value_called_everything_is_not_taken_for_everything():
    """Without hierarchy `*` stands for any value, so the value `*` is shown as a set of one."""
    attribute = Attribute(name="a", labels={v: [v] for v in "*AB"}, generalises=False)
    sample, partition = one_part(attribute, "**", k=2)
    assert recode(sample.table, partition).attributes[0].labels == ("{*}",)


def test_a_hierarchy_that_groups_distant_numbers_does_not_narrow_an_interval():
    """1 and 9 are siblings and so neighbouring codes; an interval by codes from 1 to 5 would leave out 9."""
    labels = {"1": ["1", "odd"], "9": ["9", "odd"], "5": ["5", "five"]}
    attribute = Attribute(name="a", labels=labels, numbers={"1": 1.0, "5": 5.0, "9": 9.0})
    sample = Sample(attributes=[attribute], records=[("1",), ("9",), ("5",)])
    assert sample.table.domains[0].levels[0] == ("1", "9", "5")
    assert mondrian.anonymise(sample.table, k=3).attributes[0].labels == ("[1, 10)",)


def test_cells_beyond_any_machine_integer_are_cut_and_labelled():
    """A step of 10^-20 at numbers of 10^15 makes cells of 35 digits."""
    values = ["1000000000000000", "1000000000000000.00000000000000000001"]
    attribute = Attribute(
        name="a", labels={v: [v] for v in values}, numbers={v: Fraction(v) for v in values}, step=Fraction(1, 10**20)
    )
    sample = Sample(attributes=[attribute], records=[(v,) for v in values * 2])
    labels = mondrian.anonymise(sample.table, k=2).attributes[0].labels
    assert labels == (
        "[1000000000000000, 1000000000000000.00000000000000000001)",
        "[1000000000000000.00000000000000000001, 1000000000000000.00000000000000000002)",
    )
