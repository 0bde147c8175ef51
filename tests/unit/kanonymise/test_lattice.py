# SPDX-License-Identifier: Apache-2.0
"""Nodes of the generalisation lattice and their order."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.kanonymise.lattice import (
    Lattice,
    at_or_above,
    at_or_below,
    closed_upwards,
    first_node,
    height,
    is_finer,
    minimal_nodes,
)

lattices = st.lists(st.integers(1, 4), max_size=3).map(lambda n: Lattice(n_levels=tuple(n)))


@given(lattices)
def test_nodes_are_all_combinations_of_levels_from_bottom_to_top(lattice):
    """A node left out would be a release never considered."""
    nodes = list(lattice.nodes())
    assert nodes == sorted(set(itertools.product(*map(range, lattice.n_levels))))
    assert len(nodes) == lattice.n_nodes
    assert nodes[0] == lattice.bottom
    assert nodes[-1] == lattice.top
    assert height(lattice.top) == sum(n - 1 for n in lattice.n_levels)


@given(lattices)
def test_the_regions_of_a_node_hold_exactly_what_is_comparable_to_it(lattice):
    """Tagging writes through these slices; one node too many and k is no longer checked where it has to be."""
    for node in lattice.nodes():
        above = np.zeros(lattice.n_levels, dtype=bool)
        below = np.zeros(lattice.n_levels, dtype=bool)
        above[at_or_above(node)] = True
        below[at_or_below(node)] = True
        for other in lattice.nodes():
            assert bool(above[other]) is all(a <= b for a, b in zip(node, other, strict=True)) is is_finer(node, other)
            assert bool(below[other]) is is_finer(other, node)


@given(lattices)
def test_successors_are_one_step_up(lattice):
    """They are the nodes above with nothing in between."""
    for node in lattice.nodes():
        expected = [other for other in lattice.nodes() if is_finer(node, other) and height(other) == height(node) + 1]
        assert sorted(lattice.successors(node)) == sorted(expected)


@given(lattices, st.data())
def test_minimal_nodes_of_an_upward_closed_set_have_no_member_below(lattice, data):
    """OLA compares only these, so none may be missing."""
    seeds = data.draw(st.lists(st.sampled_from(list(lattice.nodes())), max_size=4))
    members = np.zeros(lattice.n_levels, dtype=bool)
    for seed in seeds:
        members[at_or_above(seed)] = True
    expected = [s for s in set(seeds) if not any(o != s and is_finer(o, s) for o in seeds)]
    assert minimal_nodes(members) == tuple(sorted(expected))
    assert first_node(members) == min(seeds, default=None)


@given(lattices, st.data())
def test_closed_upwards_adds_what_lies_above_and_keeps_the_minimal_nodes(lattice, data):
    """A set that is not closed, as a requirement that is not monotone leaves it, has minimal nodes too."""
    seeds = data.draw(st.lists(st.sampled_from(list(lattice.nodes())), max_size=4))
    members = np.zeros(lattice.n_levels, dtype=bool)
    for seed in seeds:
        members[seed] = True
    closed = closed_upwards(members)
    assert all(bool(closed[node]) is any(is_finer(seed, node) for seed in seeds) for node in lattice.nodes())
    expected = [s for s in set(seeds) if not any(o != s and is_finer(o, s) for o in seeds)]
    assert minimal_nodes(closed) == tuple(sorted(expected))
