# SPDX-License-Identifier: Apache-2.0
"""Losses of a node: their values, and that they never fall on the way up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given

from kepsilon.kanonymise.lattice import lattice_of
from kepsilon.kanonymise.losses import LOSSES, entropy_by_level
from kepsilon.kanonymise.node_counts import NodeCounter
from oracles import brute_force_ola
from strategies import Attribute, Sample, samples


def losses_of(sample, name):
    """The loss of every node, if no record is left out."""
    counter = NodeCounter(sample.table, ks=[2])
    loss = LOSSES[name].for_table(sample.table, [Fraction(1)] * len(sample.attributes))
    nodes = lattice_of(sample.table.domains).nodes()
    return {node: loss.at(node, counter.dm_star(node)) if hasattr(loss, "at") else loss.of(node) for node in nodes}


def test_every_loss_is_listed_under_its_own_name():
    """The name in a policy is what is looked up."""
    assert set(LOSSES) == {"ncp", "entropy", "precision", "dm*"}
    assert all(loss.name == name for name, loss in LOSSES.items())


@given(sample=samples())
def test_a_loss_never_falls_on_the_way_up(sample):
    """Only then is the best node among the minimal ones."""
    lattice = lattice_of(sample.table.domains)
    for name in LOSSES:
        losses = losses_of(sample, name)
        for node, loss in losses.items():
            for higher in lattice.successors(node):
                assert losses[higher] >= loss, name


@given(sample=samples())
def test_a_loss_has_the_value_it_has_by_definition(sample):
    """Computed anew from the records, without rounding."""
    hierarchies = [attribute.labels for attribute in sample.attributes]
    numbers = [attribute.numbers for attribute in sample.attributes]
    for name in LOSSES:
        for node, loss in losses_of(sample, name).items():
            exact = brute_force_ola.exact_loss(name, sample.records, hierarchies, node, numbers=numbers)
            assert math.isclose(loss, brute_force_ola.loss_value(name, exact), rel_tol=0, abs_tol=1e-6), name
            if name == "dm*":
                assert isinstance(loss, int)


def test_precision_of_one_level_is_no_loss():
    """An attribute that cannot be generalised does not divide by zero; it still counts among the attributes."""
    one_level = Attribute(name="a", labels={"x": ["x"], "y": ["y"]})
    two_levels = Attribute(name="b", labels={"p": ["p", "*"], "q": ["q", "*"]})
    sample = Sample(attributes=[one_level, two_levels], records=[("x", "p"), ("y", "q")])
    assert losses_of(sample, "precision") == {(0, 0): 0.0, (0, 1): 0.5}


def test_precision_ties_do_not_depend_on_the_order_of_attributes():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 are not the same float."""
    ten = {"x": ["x", *(f"l{i}" for i in range(10))]}
    sample = Sample(attributes=[Attribute(name=str(i), labels=ten) for i in range(3)], records=[("x",) * 3])
    losses = losses_of(sample, "precision")
    assert losses[1, 2, 3] == losses[3, 2, 1] == losses[2, 1, 3] == 0.2


def test_entropy_counts_bits_over_all_records():
    """Four equally frequent values merged into one cost two bits a record; merging nothing costs nothing."""
    labels = {v: [v, v.lower(), "1" if v in "AB" else "2", "*"] for v in "ABCD"}
    sample = Sample(attributes=[Attribute(name="a", labels=labels)], records=[(v,) for v in "ABCD"] * 5)
    assert losses_of(sample, "entropy") == {(0,): 0.0, (1,): 0.0, (2,): 20.0, (3,): 40.0}


def test_levels_that_merge_nothing_have_bit_equal_entropy():
    """Otherwise rounding, not the tie rule, would choose between them."""
    rng = np.random.default_rng(3)
    labels = {str(v): [str(v), f"a{v % 7}", f"b{v % 7}", f"c{v % 7}"] for v in range(100)}
    records = [(str(v),) for v in range(100) for _ in range(int(rng.integers(1, 50)))]
    table = Sample(attributes=[Attribute(name="a", labels=labels)], records=records).table
    by_level = entropy_by_level(table.domains[0], table.counts)
    assert by_level[1] == by_level[2] == by_level[3] > by_level[0] == 0.0
    assert math.isfinite(by_level[1])
