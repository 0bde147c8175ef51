# SPDX-License-Identifier: Apache-2.0
"""Sizes of the classes at a node, rolled up from a finer node that was counted before; OLA decides by them.

Class sizes do not depend on k, so one count serves every k. Sizes have two representations. If a node does not have many
more slots (the product of the sizes of its domains) than classes, the sizes are a dense cube with one axis per
attribute: values with one parent are neighbours, so a coarser node is a segmented sum along one axis. Otherwise they
are a sparse table of the combinations that occur. A node rolled up from a sparse one becomes dense as soon as it fits.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.kanonymise.lattice import Node, is_finer, lattice_of
from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import pack, unpack

MAX_SLOTS = 1 << 24
"""Largest number of slots of a dense cube (128 MB of counters)."""

SLOTS_PER_COMBINATION = 8
"""Measured: so many slots take as long as one combination of a sparse table, which has to be sorted."""

SMALL_CUBE = 1 << 12
"""A cube of up to so many slots is always the faster one, because the overhead of the calls outweighs the work."""

CACHE_NUMBERS = 1 << 25
"""Most numbers stored in counted nodes (256 MB), apart from the bottom node, which is always stored."""

CACHE_NODES = 512
"""Most nodes stored; all of them are compared when the cheapest node to roll up from is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSummary:
    """What a search needs to know about a node, for every k asked for; small enough to be stored for all nodes."""

    dm_star: int
    """Sum of squared class sizes over all classes, those to be suppressed included."""
    suppressed: dict[int, int]
    """By k: records in classes smaller than k."""
    n_classes: dict[int, int]
    """By k: classes of at least k records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sparse:
    """Class sizes as a table of the combinations that occur."""

    codes: tuple[IntArray, ...]
    """Codes at the levels of the node, one array per attribute, each of shape (n_classes,)."""
    counts: IntArray
    """Records of every class, shape (n_classes,)."""

    @property
    def n_numbers(self) -> int:
        return len(self.counts) * (len(self.codes) + 1)


_Dense = IntArray
"""Class sizes as a cube with one axis per attribute; 0 for a combination that does not occur."""


class NodeCounter:
    """Counts the classes at nodes of one table, and stores the summary of every node, so that none is counted twice."""

    def __init__(self, table: FrequencyTable, *, ks: Sequence[int], max_slots: int = MAX_SLOTS) -> None:
        """`ks` are the k that summaries are made for."""
        self._domains = table.domains
        self._ks = tuple(sorted(set(ks)))
        self._max_slots = max_slots
        self._bottom = lattice_of(table.domains).bottom
        self._summaries: dict[Node, NodeSummary] = {}
        self._maps: dict[tuple[int, int, int], IntArray] = {}
        """What `_map` returned, by its arguments."""
        self._starts: dict[tuple[int, int, int], IntArray] = {}
        """What `_segment_starts` returned, by its arguments."""
        self._counted: OrderedDict[Node, _Dense | _Sparse] = OrderedDict()
        """Class sizes of some counted nodes, the one used least recently first."""
        self._numbers_held = 0
        # The bottom node is stored outside the bounded cache, because every other node can be rolled up from it.
        self._bottom_counts = self._from_codes(table.codes, table.counts, node=self._bottom, distinct=True)

    @property
    def n_counted(self) -> int:
        """Number of nodes whose classes were counted so far."""
        return len(self._summaries)

    def summary(self, node: Node) -> NodeSummary:
        """What the search needs to know about a node."""
        if node not in self._summaries:
            counts = self._counts(node)
            sizes = counts.counts if isinstance(counts, _Sparse) else counts.ravel()
            self._summaries[node] = summarise(sizes, ks=self._ks)
        return self._summaries[node]

    def dm_star(self, node: Node) -> int:
        """Sum of squared class sizes over all classes at a node, those to be suppressed included."""
        return self.summary(node).dm_star

    def passing(self, node: Node, *, max_suppressed: int) -> dict[int, bool]:
        """By k: whether no more records than that are in classes smaller than k."""
        return {k: suppressed <= max_suppressed for k, suppressed in self.summary(node).suppressed.items()}

    def outcome(self, node: Node, *, k: int) -> tuple[int, int]:
        """Records in classes smaller than k, and the number of other classes."""
        summary = self.summary(node)
        return summary.suppressed[k], summary.n_classes[k]

    def left_out(self, node: Node, *, k: int) -> tuple[IntArray, ...]:
        """Records in classes smaller than k, by their label at the node: one array (n_labels,) per attribute."""
        counts = self._counts(node)
        if isinstance(counts, _Sparse):
            is_small = counts.counts < k
            codes, sizes = tuple(column[is_small] for column in counts.codes), counts.counts[is_small]
        else:
            flat = counts.ravel()
            at = np.flatnonzero((flat < k) & (flat > 0))
            codes, sizes = unpack(at, sizes=counts.shape), flat[at]
        return records_by_label(codes, sizes, domains=self._domains, node=node)

    def is_dense(self, node: Node) -> bool:
        """Whether the class sizes of a node are a dense cube."""
        return not isinstance(self._counts(node), _Sparse)

    def _counts(self, node: Node) -> _Dense | _Sparse:
        """Class sizes at a node, rolled up unless they are stored."""
        source, counts = self._cheapest_source(node)
        if source == node:
            return counts
        if isinstance(counts, _Sparse):
            codes = tuple(
                column if to == level else self._map(attribute, level, to)[column]
                for attribute, (column, level, to) in enumerate(zip(counts.codes, source, node, strict=True))
            )
            rolled = self._from_codes(codes, counts.counts, node=node)
            self._store(node, rolled)
            return rolled
        return self._roll_up(counts, source=source, node=node)

    def _cheapest_source(self, node: Node) -> tuple[Node, _Dense | _Sparse]:
        """The stored node, itself or a finer one, from which the node is rolled up fastest, and its class sizes."""
        if node in self._counted:
            self._counted.move_to_end(node)
            return node, self._counted[node]
        best, best_counts = self._bottom, self._bottom_counts
        best_cost = _cost(best_counts)
        for candidate, counts in self._counted.items():
            cost = _cost(counts)
            if cost < best_cost and is_finer(candidate, node):
                best, best_counts, best_cost = candidate, counts, cost
        return best, best_counts

    def _roll_up(self, cube: _Dense, *, source: Node, node: Node) -> _Dense:
        """Class sizes at `node` from the cube at `source`, one axis after the other; nodes on the way are stored too."""
        steps = []
        for axis in range(len(node)):
            if node[axis] != source[axis]:
                starts = self._segment_starts(axis, source[axis], node[axis])
                steps.append((len(starts) / max(1, cube.shape[axis]), axis, starts))
        reached = source
        # The axis that shrinks most goes first, so that the others have less to add up.
        for _, axis, starts in sorted(steps, key=lambda step: step[:2]):
            is_total = len(starts) == 1
            cube = cube.sum(axis=axis, keepdims=True) if is_total else np.add.reduceat(cube, starts, axis=axis)
            reached = (*reached[:axis], node[axis], *reached[axis + 1 :])
            self._store(reached, cube)
        return cube

    def _from_codes(
        self, codes: Sequence[IntArray], counts: IntArray, *, node: Node, distinct: bool = False
    ) -> _Dense | _Sparse:
        """Class sizes from combinations coded at the node's levels; `distinct` says that no two of them are equal."""
        shape = tuple(len(domain.levels[level]) for domain, level in zip(self._domains, node, strict=True))
        slots = math.prod(shape)
        if slots <= min(self._max_slots, max(SMALL_CUBE, SLOTS_PER_COMBINATION * len(counts))):
            key, _ = pack(codes, sizes=shape, length=len(counts))
            # Weights are added up as doubles, which is exact below 2**53 records.
            return np.bincount(key, weights=counts, minlength=slots).astype(np.int64).reshape(shape)
        if distinct:
            return _Sparse(codes=tuple(codes), counts=counts)
        return _merge_equal(codes, counts, sizes=shape)

    def _map(self, attribute: int, level: int, to: int) -> IntArray:
        """Code at level `to` of every code at `level`."""
        key = (attribute, level, to)
        if key not in self._maps:
            self._maps[key] = _codes_above(self._domains[attribute], level, to)
        return self._maps[key]

    def _segment_starts(self, attribute: int, level: int, to: int) -> IntArray:
        """The first code at `level` under each code at level `to`; rising."""
        key = (attribute, level, to)
        if key not in self._starts:
            self._starts[key] = np.flatnonzero(np.diff(self._map(*key), prepend=-1))
        return self._starts[key]

    def _store(self, node: Node, counts: _Dense | _Sparse) -> None:
        """Stores the class sizes of a node, and drops those used least recently where there are too many."""
        if node in self._counted:
            return
        self._counted[node] = counts
        self._numbers_held += _n_numbers(counts)
        while self._numbers_held > CACHE_NUMBERS or len(self._counted) > CACHE_NODES:
            _, dropped = self._counted.popitem(last=False)
            self._numbers_held -= _n_numbers(dropped)


def records_by_label(
    codes: Sequence[IntArray], counts: IntArray, *, domains: Sequence[Domain], node: Node
) -> tuple[IntArray, ...]:
    """Records of some classes by their label at the node: one array (n_labels,) per attribute.

    `codes` are those of the classes at the node's levels, one array (n_classes,) per attribute, as `counts` is.
    """
    return tuple(
        np.bincount(column, weights=counts, minlength=len(domain.levels[level])).astype(np.int64)
        for column, domain, level in zip(codes, domains, node, strict=True)
    )


def summarise(sizes: IntArray, *, ks: Sequence[int]) -> NodeSummary:
    """Summary of classes of the given sizes, shape (n,); a size of 0 is no class. `ks` must be in rising order."""
    if not ks:
        return NodeSummary(dm_star=sum_of_squares(sizes), suppressed={}, n_classes={})
    largest = min(ks[-1], int(sizes.sum()) + 1)  # no class is larger than all records together
    n_of_size = np.bincount(np.minimum(sizes, largest), minlength=largest + 1)
    n_of_size[0] = 0
    # Entry s holds the number of classes of at most s records, and the number of records in them.
    n_up_to = np.cumsum(n_of_size)
    records_up_to = np.cumsum(n_of_size[:largest] * np.arange(largest))
    below = [min(k, largest) - 1 for k in ks]
    return NodeSummary(
        dm_star=sum_of_squares(sizes),
        suppressed={k: int(records_up_to[size]) for k, size in zip(ks, below, strict=True)},
        n_classes={k: int(n_up_to[-1] - n_up_to[size]) for k, size in zip(ks, below, strict=True)},
    )


def sum_of_squares(sizes: IntArray) -> int:
    """Sum of squared class sizes; exact even where it does not fit into 64 bits."""
    sizes = sizes.astype(np.int64, copy=False)
    if int(sizes.sum()) ** 2 < 1 << 63:
        return int(np.einsum("i,i->", sizes, sizes))
    # (high·2^24 + low)² = high²·2^48 + high·low·2^25 + low²
    high, low = sizes >> 24, sizes & ((1 << 24) - 1)
    return (sum_of_squares(high) << 48) + (int(np.einsum("i,i->", high, low)) << 25) + int(np.einsum("i,i->", low, low))


def _merge_equal(codes: Sequence[IntArray], counts: IntArray, *, sizes: Sequence[int]) -> _Sparse:
    """Class sizes from combinations several of which may be equal."""
    key, _ = pack(codes, sizes=sizes, length=len(counts))
    order = np.argsort(key)
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    example = order[starts]
    return _Sparse(codes=tuple(column[example] for column in codes), counts=np.add.reduceat(counts[order], starts))


def _codes_above(domain: Domain, level: int, to: int) -> IntArray:
    """Code at level `to` of every code at `level`."""
    codes: IntArray = np.arange(len(domain.levels[level]))
    for up in domain.up[level:to]:
        codes = up[codes]
    steps = np.diff(codes, prepend=-1)
    # Sums along an axis are right only if siblings are neighbours; a wrong sum would invent a class.
    if ((steps < 0) | (steps > 1)).any() or (len(codes) and codes[-1] + 1 != len(domain.levels[to])):
        raise ValueError(f"codes of an attribute are out of order between levels {level} and {to}")
    return codes


def _cost(counts: _Dense | _Sparse) -> int:
    """The time that it takes to roll up from these class sizes, in slots of a cube."""
    return SLOTS_PER_COMBINATION * len(counts.counts) if isinstance(counts, _Sparse) else counts.size


def _n_numbers(counts: _Dense | _Sparse) -> int:
    """How many numbers are held for these class sizes."""
    return counts.n_numbers if isinstance(counts, _Sparse) else counts.size
