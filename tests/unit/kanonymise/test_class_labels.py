# SPDX-License-Identifier: Apache-2.0
"""What a part shows: that its label covers its records, and shows no more than it should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kepsilon.kanonymise.algorithms import mondrian
from oracles import read_label
from strategies import Attribute, Sample, flat, numeric, samples

STYLES = pytest.mark.parametrize("style", ["tight", "cut"])


def shown(sample, recoding, attribute):
    """The label and the loss of every record, and its class."""
    labelled = recoding.attributes[attribute]
    class_of = recoding.class_of[sample.combination_of].tolist()
    return [(labelled.labels[labelled.of_class[c]], labelled.loss[c], c) for c in class_of]


def covers(attribute, label, value):
    if attribute.numbers is not None:
        return read_label.interval_covers(label, value)
    if attribute.generalises and read_label.ancestor_covers(label, value, attribute.labels[value]):
        return True
    if label == value:
        return True
    return label is not None and label.startswith("{") and value in read_label.set_members(label)


@STYLES
@settings(max_examples=300)
@given(sample=samples(), k=st.integers(1, 8))
def test_every_label_covers_its_records(style, sample, k):
    """A label that leaves out one of its own records is a false statement about a person."""
    assume(sample.n_records >= k)
    recoding = mondrian.anonymise(sample.table, k=k, labels=style)
    for position, attribute in enumerate(sample.attributes):
        for record, (label, _, _) in zip(sample.records, shown(sample, recoding, position), strict=True):
            assert covers(attribute, label, record[position])


@settings(max_examples=200)
@given(attribute=numeric(), data=st.data(), k=st.integers(1, 6))
def test_tight_intervals_begin_and_end_at_a_record(attribute, data, k):
    """No narrower interval would do; the loss is the width over the data's range, null standing at the minimum."""
    records = data.draw(st.lists(st.tuples(st.sampled_from(list(attribute.labels))), min_size=k, max_size=30))
    sample = Sample(attributes=[attribute], records=records)
    recoding = mondrian.anonymise(sample.table, k=k)
    numbers = [float(v) for (v,) in records if v is not None]
    data_range = max(numbers, default=0) - min(numbers, default=0)
    labels = shown(sample, recoding, 0)
    for label, loss, class_id in set(labels):
        values = [v for (v,), (_, _, c) in zip(records, labels, strict=True) if c == class_id]
        inside = sorted(float(v) for v in values if v is not None)
        if not inside:
            assert (label, loss) == (None, 0)
            continue
        assert label.startswith("null or ") is (None in values)
        assert read_label.interval_numbers(label) == (
            [inside[0]] if inside[0] == inside[-1] else [inside[0], inside[-1]]
        )
        low = min(numbers) if None in values else inside[0]
        assert loss == pytest.approx((inside[-1] - low) / data_range if data_range else 0)


@settings(max_examples=200)
@given(attribute=numeric(), data=st.data(), k=st.integers(2, 6))
def test_cut_intervals_show_no_extreme_of_a_single_record(attribute, data, k):
    """Every bound has k records on either side: the largest value is never shown, the smallest only if k share it."""
    records = data.draw(st.lists(st.tuples(st.sampled_from(list(attribute.labels))), min_size=k, max_size=30))
    sample = Sample(attributes=[attribute], records=records)
    recoding = mondrian.anonymise(sample.table, k=k, labels="cut")
    numbers = [float(v) for (v,) in records if v is not None]
    for label in recoding.attributes[0].labels:
        for bound in read_label.interval_numbers(label):
            n_below = sum(n <= bound for n in numbers) + sum(v is None for (v,) in records)
            assert n_below >= k
            assert sum(n > bound for n in numbers) >= k


@given(attribute=numeric(), data=st.data(), k=st.integers(1, 4))
def test_cut_intervals_of_one_attribute_tile_the_line(attribute, data, k):
    """Every value is covered by the label of one class and no other."""
    records = data.draw(st.lists(st.tuples(st.sampled_from(list(attribute.labels))), min_size=k, max_size=30))
    sample = Sample(attributes=[attribute], records=records)
    recoding = mondrian.anonymise(sample.table, k=k, labels="cut")
    for (value,), (label, _, _) in zip(records, shown(sample, recoding, 0), strict=True):
        assert [x for x in recoding.attributes[0].labels if read_label.interval_covers(x, value)] == [label]


@settings(max_examples=200)
@given(attribute=flat(), data=st.data(), k=st.integers(1, 8))
def test_tight_sets_hold_the_values_present_and_no_others(attribute, data, k):
    """In the order of their codes, and with the loss of the set's size."""
    records = data.draw(st.lists(st.tuples(st.sampled_from(list(attribute.labels))), min_size=k, max_size=30))
    sample = Sample(attributes=[attribute], records=records)
    recoding = mondrian.anonymise(sample.table, k=k)
    domain = sample.table.domains[0].levels[0]
    labels = shown(sample, recoding, 0)
    for label, loss, class_id in set(labels):
        values = {v for (v,), (_, _, c) in zip(records, labels, strict=True) if c == class_id}
        in_order = [v for v in domain if v in values]
        if len(values) == 1:
            assert label == in_order[0]
        else:
            assert read_label.set_members(label) == in_order
        assert loss == pytest.approx((len(values) - 1) / max(1, len(domain) - 1))


@STYLES
@settings(max_examples=200)
@given(sample=samples(kinds=("categorical",), max_attributes=2), k=st.integers(1, 8))
def test_a_common_ancestor_is_the_lowest(style, sample, k):
    """With tight labels, one level less would not cover the class; the loss is that level's."""
    assume(sample.n_records >= k)
    partition = mondrian.partition(sample.table, k=k)
    recoding = mondrian.recode(sample.table, partition, labels=style)
    for position, attribute in enumerate(sample.attributes):
        labels = shown(sample, recoding, position)
        parts = partition.part_of[sample.combination_of].tolist()
        for part in set(parts):
            mine = [i for i, p in enumerate(parts) if p == part]
            values = {sample.records[i][position] for i in mine}
            if style == "cut":
                codes = sample.table.domains[position].levels[0]
                low, high = partition.low[position, part], partition.high[position, part]
                assert values <= set(codes[low : high + 1])
                values = set(codes[low : high + 1])
            agreeing = [lv for lv in range(attribute.n_levels) if len({attribute.labels[v][lv] for v in values}) == 1]
            label, loss, _ = labels[mine[0]]
            if agreeing:
                assert label == attribute.labels[next(iter(values))][agreeing[0]]
                assert loss == pytest.approx(agreeing[0] / max(1, attribute.n_levels - 1))
            else:
                assert set(read_label.set_members(label)) == values
                assert loss == pytest.approx((len(values) - 1) / (sample.table.domains[position].n_values - 1))


YEARS = [None, "1950", "1951", "1955", "1960"]


def years(records):
    attribute = Attribute(name="y", labels={v: [v] for v in YEARS}, numbers={v: float(v) for v in YEARS[1:]})
    return Sample(attributes=[attribute], records=[(v,) for v in records])


@pytest.mark.parametrize(
    ("records", "k", "tight", "cut"),
    [
        pytest.param(["1950"] * 2 + ["1951"] * 2, 2, ("1950", "1951"), ("<= 1950", "> 1950"), id="single values"),
        pytest.param(
            ["1950", "1951", "1955", "1960"], 2, ("[1950, 1951]", "[1955, 1960]"), ("<= 1951", "> 1951"), id="two"
        ),
        pytest.param(["1950", "1951", "1955", "1960"], 3, ("[1950, 1960]",), ("*",), id="no cut"),
        pytest.param([None] * 2 + ["1950", "1951"], 2, (None, "[1950, 1951]"), (None, "not null"), id="null apart"),
        pytest.param(
            [None, "1951", "1955", "1960"],
            2,
            ("null or 1951", "[1955, 1960]"),
            ("null or <= 1951", "> 1951"),
            id="null with one",
        ),
        pytest.param([None, "1950", "1955"], 3, ("null or [1950, 1955]",), ("*",), id="null with an interval"),
        pytest.param([None] * 3, 2, (None,), ("*",), id="nothing but null"),
        pytest.param(
            [None] * 2 + ["1950"] * 2 + ["1955"] * 2,
            2,
            (None, "1950", "1955"),
            (None, "<= 1950", "> 1950"),
            id="null is no bound",
        ),
        pytest.param(
            ["1950"] * 2 + ["1951"] * 2 + ["1955"] * 2 + ["1960"] * 2,
            2,
            ("1950", "1951", "1955", "1960"),
            ("<= 1950", "(1950, 1951]", "(1951, 1955]", "> 1955"),
            id="inner regions",
        ),
    ],
)
def test_intervals_read_as_documented(records, k, tight, cut):
    """The wording is published, so it is fixed."""
    sample = years(records)
    assert sorted(mondrian.anonymise(sample.table, k=k, labels="tight").attributes[0].labels, key=str) == sorted(
        tight, key=str
    )
    assert sorted(mondrian.anonymise(sample.table, k=k, labels="cut").attributes[0].labels, key=str) == sorted(
        cut, key=str
    )


def test_a_label_that_tells_nothing_loses_everything():
    """Also where the data has one number only, so that no width can be measured."""
    for records in (["1950"] * 3, [None, "1950", "1950"], [None] * 3):
        recoding = mondrian.anonymise(years(records).table, k=3, labels="cut")
        assert recoding.attributes[0].labels == ("*",)
        assert recoding.attributes[0].loss.tolist() == [1.0]
    single = mondrian.anonymise(years(["1950"] * 3).table, k=3)
    assert (single.attributes[0].labels, single.attributes[0].loss.tolist()) == (("1950",), [0.0])


def test_a_hierarchy_that_groups_distant_numbers_does_not_narrow_an_interval():
    """1 and 9 are siblings and so neighbouring codes; an interval by codes from 1 to 5 would leave out 9."""
    labels = {"1": ["1", "odd"], "9": ["9", "odd"], "5": ["5", "five"]}
    attribute = Attribute(name="a", labels=labels, numbers={"1": 1.0, "5": 5.0, "9": 9.0})
    sample = Sample(attributes=[attribute], records=[("1",), ("9",), ("5",)])
    assert sample.table.domains[0].levels[0] == ("1", "9", "5")
    assert mondrian.anonymise(sample.table, k=3).attributes[0].labels == ("[1, 9]",)
    two = Sample(attributes=[attribute], records=[("1",), ("9",), ("5",), ("5",)])
    assert mondrian.anonymise(two.table, k=1, labels="cut").attributes[0].labels == ("<= 1", "(1, 5]", "> 5")


@pytest.mark.parametrize("position", [np.nan, np.inf, -np.inf])
def test_a_number_without_a_finite_position_is_refused(position):
    """It has no place in any interval, and the message does not say which value it is."""
    attribute = Attribute(name="a", labels={v: [v] for v in ("1", "secret")}, numbers={"1": 1.0, "secret": position})
    sample = Sample(attributes=[attribute], records=[("1",), ("secret",)])
    with pytest.raises(ValueError, match="no finite position") as caught:
        mondrian.anonymise(sample.table, k=1)
    assert "secret" not in str(caught.value)


def test_sets_quote_what_could_be_taken_for_something_else():
    """A comma inside a value must not make two values of it."""
    values = ["plain", "a, b", "{x}", 'say "hi"', " blank", "null", "", None, "ü"]
    attribute = Attribute(name="a", labels={v: [v] for v in values}, generalises=False)
    sample = Sample(attributes=[attribute], records=[(v,) for v in values])
    (label,) = mondrian.anonymise(sample.table, k=len(values)).attributes[0].labels
    assert label == '{null, "", " blank", "a, b", "null", plain, "say \\"hi\\"", "{x}", ü}'
    assert set(read_label.set_members(label)) == set(values)


def test_a_cut_set_holds_the_whole_region():
    """Also values that none of the class's records has; tight sets leave them out."""
    a = Attribute(name="a", labels={v: [v] for v in "ABCDE"}, generalises=False)
    b = Attribute(name="b", labels={v: [v] for v in ("0", "9")}, numbers={"0": 0.0, "9": 9.0})
    records = [("A", "0"), ("E", "0"), ("B", "9"), ("C", "9"), ("D", "9"), ("C", "9")]
    sample = Sample(attributes=[a, b], records=records)
    tight, cut = (mondrian.anonymise(sample.table, k=2, labels=style, fixed=[1]) for style in ("tight", "cut"))
    assert "{A, E}" in tight.attributes[0].labels
    assert "{A, B, C, D, E}" in cut.attributes[0].labels
    assert np.all(cut.attributes[0].loss >= tight.attributes[0].loss)
