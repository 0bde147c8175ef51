# SPDX-License-Identifier: Apache-2.0
"""ncp and entropy share: what generalising loses, written out record by record."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepsilon.evaluate.loss.label_loss import entropy_share, ncp
from kepsilon.kanonymise.algorithms import ola
from kepsilon.kanonymise.lattice import lattice_of
from oracles import brute_force_ola
from strategies import Attribute, Sample, samples


@settings(max_examples=150)
@given(sample=samples(), k=st.integers(1, 6), data=st.data())
def test_both_are_means_over_records_of_which_those_left_out_lose_all(sample, k, data):
    """By the definitions, from the records and what they show at a node; OLA minimises the same figure."""
    node = data.draw(st.sampled_from(list(lattice_of(sample.table.domains).nodes())))
    recoding = ola.recode(sample.table, node, k=k)
    hierarchies = [attribute.labels for attribute in sample.attributes]
    sizes = brute_force_ola.class_sizes(sample.records, hierarchies, node)
    stays = [sizes[brute_force_ola.shown_at(record, hierarchies, node)] >= k for record in sample.records]
    shares, bits = ncp(recoding, sample.table), entropy_share(recoding, sample.table)
    n = sample.n_records
    for i, (attribute, level) in enumerate(zip(sample.attributes, node, strict=True)):
        column = [record[i] for record in sample.records]
        lost = brute_force_ola.ncp_of_records(column, attribute.labels, level, attribute.numbers, stays)
        assert shares.by_attribute[i] == pytest.approx(float(sum(lost, Fraction(0)) / n))
        n_of = {value: column.count(value) for value in column}
        hides = [
            sum(attribute.labels[other][level] == attribute.labels[value][level] for other in column) if stay else n
            for value, stay in zip(column, stays, strict=True)
        ]
        all_bits = sum(math.log2(n / n_of[value]) for value in column)
        lost_bits = sum(math.log2(own / n_of[value]) for own, value in zip(hides, column, strict=True))
        expected = lost_bits / all_bits if all_bits else stays.count(False) / n
        assert bits.by_attribute[i] == pytest.approx(expected, abs=1e-12)
    for found in (shares, bits):
        assert 0 <= found.overall <= 1 + 1e-12
        own = found.by_attribute
        assert found.overall == pytest.approx(sum(own) / len(own) if own else stays.count(False) / n)
    result = ola.search(sample.table, ks=[k], max_suppressed=n, loss="ncp")[k]
    if sample.attributes:
        best = ncp(ola.recode(sample.table, result.node, k=k), sample.table).overall
        assert result.loss == pytest.approx(best)
        assert best <= shares.overall + 1e-9


def test_numbers_of_an_interval_hierarchy_lose_by_range():
    """Two of three years that are close lose little, although they are two of three values."""
    labels = {year: [year, f"{int(year) // 10 * 10}s", "*"] for year in ("1950", "1951", "1999")}
    records = [("1950",), ("1951",), ("1999",)] * 4
    years = Sample(
        attributes=[Attribute(name="y", labels=labels, numbers={y: float(y) for y in labels})], records=records
    )
    codes = Sample(attributes=[Attribute(name="y", labels=labels)], records=records)
    by_range, by_values = (ncp(ola.recode(s.table, (1,), k=2), s.table).overall for s in (years, codes))
    assert by_range == pytest.approx(2 / 3 / 49)
    assert by_values == pytest.approx(2 / 3 / 2)


def test_without_records_there_is_no_mean():
    """An undefined figure is refused."""
    sample = Sample(attributes=[Attribute(name="a", labels={"x": ["x"]})], records=[])
    for figure in (ncp, entropy_share):
        with pytest.raises(ValueError, match="no record"):
            figure(ola.recode(sample.table, (0,), k=1), sample.table)
