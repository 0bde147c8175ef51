# SPDX-License-Identifier: Apache-2.0
"""Class sizes by roll-up, against counting the records anew at every node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.kanonymise import node_counts
from kepsilon.kanonymise.node_counts import NodeCounter, sum_of_squares, summarise
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from oracles import brute_force_ola
from strategies import chances, samples

CELL_LIMITS = {"sparse": 0, "mixed": 6, "dense": 1 << 24}
KS = (1, 2, 3, 5, 8, 1000)


def hierarchies_of(sample):
    return [attribute.labels for attribute in sample.attributes]


@given(sample=samples(), chance=chances)
def test_every_node_counts_as_the_records_do_in_whatever_order_nodes_are_asked_for(sample, chance):
    """A roll-up that lost or doubled records would publish a class that is not there."""
    counters = [NodeCounter(sample.table, ks=KS, max_slots=max_slots) for max_slots in CELL_LIMITS.values()]
    nodes = brute_force_ola.all_nodes(hierarchies_of(sample))
    chance.shuffle(nodes)
    for n, node in enumerate(nodes, start=1):
        sizes = list(brute_force_ola.class_sizes(sample.records, hierarchies_of(sample), node).values())
        dm_star = sum(size**2 for size in sizes)
        suppressed = {k: sum(s for s in sizes if s < k) for k in KS}
        n_classes = {k: sum(s >= k for s in sizes) for k in KS}
        for counter in counters:
            summary = counter.summary(node)
            assert (summary.dm_star, summary.suppressed, summary.n_classes) == (dm_star, suppressed, n_classes)
            assert counter.n_counted == n
            assert counter.summary(node) is summary
            assert counter.n_counted == n


@given(sample=samples())
def test_a_cache_that_holds_nothing_changes_no_count(sample):
    """The bound on memory is about speed only."""
    nodes = brute_force_ola.all_nodes(hierarchies_of(sample))
    for max_slots in CELL_LIMITS.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_counts, "CACHE_NODES", 0)
            without = NodeCounter(sample.table, ks=KS, max_slots=max_slots)
            patch.setattr(node_counts, "CACHE_NUMBERS", 0)
            with_little = NodeCounter(sample.table, ks=KS, max_slots=max_slots)
            summaries = [(without.summary(node), with_little.summary(node)) for node in nodes]
            assert not without._counted
            assert without._numbers_held == 0
        counter = NodeCounter(sample.table, ks=KS, max_slots=max_slots)
        assert summaries == [(counter.summary(node), counter.summary(node)) for node in nodes]


def test_the_cell_limit_decides_between_cube_and_sparse_table():
    """Otherwise the tests above would all run on one of the two."""
    domain = Domain(name="a", levels=(("x", "y", "z"), ("*",)), up=(np.zeros(3, dtype=np.int64),))
    codes = (np.array([0, 1, 2]), np.array([2, 1, 0]))
    table = FrequencyTable(domains=(domain, domain), codes=codes, counts=np.array([1, 2, 3]))
    assert NodeCounter(table, ks=[2], max_slots=9).is_dense((0, 0))
    mixed = NodeCounter(table, ks=[2], max_slots=8)
    assert not mixed.is_dense((0, 0))
    assert mixed.is_dense((0, 1))
    assert not NodeCounter(table, ks=[2], max_slots=0).is_dense((1, 1))


def test_a_wide_table_of_few_combinations_stays_sparse_until_it_is_rolled_up():
    """A cube of a million slots for ten combinations would be all zeros."""
    n = 1000
    domain = Domain(name="a", levels=(tuple(map(str, range(n))), ("*",)), up=(np.zeros(n, dtype=np.int64),))
    codes = (np.arange(10), np.arange(10))
    table = FrequencyTable(domains=(domain, domain), codes=codes, counts=np.full(10, 3))
    counter = NodeCounter(table, ks=[2, 30])
    assert not counter.is_dense((0, 0))
    assert counter.is_dense((1, 0))
    assert counter.summary((1, 1)).n_classes == {2: 1, 30: 1}


def test_codes_whose_siblings_are_not_neighbours_are_refused():
    """A segmented sum over them would invent classes."""
    domain = Domain(name="a", levels=(("x", "y", "z"), ("p", "q")), up=(np.array([0, 1, 0]),))
    table = FrequencyTable(domains=(domain,), codes=(np.arange(3),), counts=np.array([1, 1, 1]))
    with pytest.raises(ValueError, match="out of order"):
        NodeCounter(table, ks=[2]).summary((1,))


@pytest.mark.parametrize("sizes", [[0, 3_000_000_000], [2**40, 2**40 - 1, 7, 0], [2**24, 1], []])
def test_sums_of_squares_are_exact_past_sixty_four_bits(sizes):
    """DM* decides between nodes, so it may not overflow."""
    assert sum_of_squares(np.array(sizes, dtype=np.int64)) == sum(size**2 for size in sizes)


@given(st.lists(st.integers(0, 12)), st.lists(st.integers(1, 20), unique=True))
def test_a_class_of_exactly_k_is_released_and_one_of_k_minus_1_is_not(sizes, ks):
    """The worst thing that can be shipped is a class of k − 1."""
    summary = summarise(np.array(sizes, dtype=np.int64), ks=sorted(ks))
    for k in ks:
        assert summary.suppressed[k] == sum(s for s in sizes if s < k)
        assert summary.n_classes[k] == sum(s >= k for s in sizes)
    assert summary.dm_star == sum(s * s for s in sizes)
