# SPDX-License-Identifier: Apache-2.0
"""Optimal Lattice Anonymization: the node of least loss that meets k within the suppression limit.

El Emam et al. 2009. A node passes if the number of records in classes smaller than k is within the limit. From a node to
those above it classes only merge: all nodes above a passing node pass, and all nodes below a failing one fail. Such nodes
are tagged without being counted. Which nodes to count is found by bisection, along chains from the lowest undecided node
up to the highest (Kohlmayer et al. 2012; fewer visits than bisecting every sublattice, and about as many counts).

Classes that fail a requirement beyond k records are left out as small ones are. Nodes are then tagged only if every
requirement allows such conclusions; otherwise every node is counted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.errors import AnonymisationError, PolicyError, Problem, UnsatisfiableError
from kepsilon.kanonymise.algorithms.protocol import KAnonymised, Request
from kepsilon.kanonymise.lattice import (
    Lattice,
    Node,
    at_or_above,
    at_or_below,
    closed_upwards,
    first_node,
    height,
    lattice_of,
    minimal_nodes,
)
from kepsilon.kanonymise.losses import LOSSES
from kepsilon.kanonymise.node_classes import RequirementCounter, classes_at
from kepsilon.kanonymise.node_counts import MAX_SLOTS, NodeCounter
from kepsilon.kanonymise.person_counts import PersonCounter
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.protocol import Requirement, all_met
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import SUPPRESSED, AttributeLabels, Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import rank

MAX_NODES = 1 << 24
"""Most nodes of a lattice that is searched; the search needs two bytes per node and k."""

_Counter = NodeCounter | PersonCounter | RequirementCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class OlaResult:
    """The best node for one k."""

    node: Node
    suppressed: int
    """Number of records left out, because their class is smaller than k or fails another requirement."""
    n_classes: int
    """Number of released classes; 0 if the limit allows to leave out every record, which the caller has to refuse."""
    loss: int | float
    """The loss of the node, by the loss that the policy names."""
    dm_star: int
    """Sum of squared class sizes over all classes, the suppressed ones included."""
    k_minimal: tuple[Node, ...]
    """All passing nodes with no passing node below them, in lexicographic order."""
    nodes_counted: int
    """Number of nodes whose classes were counted in the whole search, for all k together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmet:
    """Figures for the refusal where no node passes for one k, not even the top."""

    suppressed: int
    """Number of records in classes that fail at the top node: more than may be left out."""
    n_labels: tuple[int, ...]
    """Number of labels of each attribute at its top level; more than one stands in the way of larger classes."""
    nodes_counted: int


class LatticeTooLargeError(ValueError):
    """The levels of all hierarchies together make more nodes than are searched."""

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        super().__init__(f"a lattice of {n_nodes} nodes is larger than the {MAX_NODES} that are searched")


def search(
    table: FrequencyTable,
    *,
    ks: Sequence[int],
    max_suppressed: int,
    loss: str,
    max_slots: int = MAX_SLOTS,
    further: Mapping[int, Sequence[Requirement]] | None = None,
    importance: Sequence[Fraction] | None = None,
    max_levels: Sequence[int | None] | None = None,
) -> dict[int, OlaResult | Unmet]:
    """The best node for every k; nodes are counted once for all k, because class sizes do not depend on k.

    The best node is the k-minimal node of least loss; ties go to fewest suppressed records, then to the lowest node, then
    to the lexicographically first. The loss never falls from a node to one above it, so no passing node beats all minimal
    ones. `max_suppressed` is a number of records. `further` holds, by k, the requirements beyond k records.
    `importance` is the weight of each attribute's loss, 1 by default; `max_levels` are the highest levels that the
    attributes may have, None for the highest there is.
    """
    if any(k < 1 for k in ks) or max_suppressed < 0:
        raise ValueError("k is at least 1, and the number of records to be left out at least 0")
    node_loss = LOSSES[loss].for_table(table, importance or (Fraction(1),) * len(table.domains))
    lattice = lattice_of(table.domains, max_levels=max_levels)
    if lattice.n_nodes > MAX_NODES:
        raise LatticeTooLargeError(lattice.n_nodes)
    by_k = {k: tuple((further or {}).get(k, ())) for k in ks}
    counter = _counter(table, further=by_k, max_slots=max_slots)
    tags = {k: _Tags(lattice) for k in ks}
    may_conclude = may_tag(itertools.chain(*by_k.values()), max_suppressed=max_suppressed)
    if may_conclude:
        _bisect(lattice, counter, tags, max_suppressed=max_suppressed)
    else:
        _count_all(lattice, counter, tags, max_suppressed=max_suppressed)

    results: dict[int, OlaResult | Unmet] = {}
    for k in ks:
        passing = tags[k].passes
        k_minimal = minimal_nodes(passing if may_conclude else closed_upwards(passing))
        if not k_minimal:
            results[k] = Unmet(
                suppressed=counter.outcome(lattice.top, k=k)[0],
                n_labels=tuple(
                    len(domain.levels[level]) for domain, level in zip(table.domains, lattice.top, strict=True)
                ),
                nodes_counted=counter.n_counted,
            )
            continue
        # A minimal node was counted: no passing node lies below it from which it could have been tagged.
        candidates = k_minimal if may_conclude else tuple(map(tuple, np.argwhere(passing).tolist()))
        losses = {node: node_loss(node, counter.dm_star(node)) for node in candidates}
        least = min(losses.values())
        # How many records are left out can be costly to count, so only nodes that tie are asked.
        suppressed, _, node = min(
            (counter.outcome(node, k=k)[0], height(node), node) for node in candidates if losses[node] == least
        )
        results[k] = OlaResult(
            node=node,
            suppressed=suppressed,
            n_classes=counter.outcome(node, k=k)[1],
            loss=least,
            dm_star=counter.dm_star(node),
            k_minimal=k_minimal,
            nodes_counted=counter.n_counted,
        )
    return results


def _counter(table: FrequencyTable, *, further: Mapping[int, Sequence[Requirement]], max_slots: int) -> _Counter:
    """The fastest counter that knows all requirements; `further` has those beyond k records for every k."""
    if table.persons is not None and all(own == (KPersons(k=k),) for k, own in further.items()):
        return PersonCounter(table, table.persons, ks=tuple(further))
    sizes = NodeCounter(table, ks=tuple(further), max_slots=max_slots)
    return RequirementCounter(table, sizes, further=further) if any(further.values()) else sizes


def may_tag(requirements: Iterable[Requirement], *, max_suppressed: int) -> bool:
    """Whether all nodes above a passing node pass, and all nodes below a failing node fail.

    This is true of requirements that are monotone under suppression, as k records is. If no record may be left out, it is
    also true of requirements that hold for unions, because at a passing node every class meets them.
    """
    return all(
        requirement.is_monotone_under_suppression or (max_suppressed == 0 and requirement.holds_for_unions)
        for requirement in requirements
    )


def _bisect(lattice: Lattice, counter: _Counter, tags: Mapping[int, _Tags], *, max_suppressed: int) -> None:
    """Tags every node as passing or failing for every k, and counts few nodes for it."""
    for k, tags_of_k in tags.items():
        while (lowest := first_node(~tags_of_k.decided)) is not None:
            chain = _chain(lattice, lowest, undecided=~tags_of_k.decided)
            low, high = 0, len(chain)
            while low < high:
                middle = (low + high) // 2
                passing = counter.passing(chain[middle], max_suppressed=max_suppressed)
                for other_k, others in tags.items():
                    others.tag(chain[middle], passes=passing[other_k])
                low, high = (low, middle) if passing[k] else (middle + 1, high)


def _count_all(lattice: Lattice, counter: _Counter, tags: Mapping[int, _Tags], *, max_suppressed: int) -> None:
    """Counts every node, and marks for every k the nodes that pass."""
    for node in lattice.nodes():
        passing = counter.passing(node, max_suppressed=max_suppressed)
        for k, tags_of_k in tags.items():
            tags_of_k.passes[node] = passing[k]


class _Tags:
    """What is known so far about every node for one k: whether it is decided, and whether it passes."""

    def __init__(self, lattice: Lattice) -> None:
        self.decided: BoolArray = np.zeros(lattice.n_levels, dtype=np.bool_)
        self.passes: BoolArray = np.zeros(lattice.n_levels, dtype=np.bool_)

    def tag(self, node: Node, *, passes: bool) -> None:
        """Decides a counted node, and with it all nodes above it if it passes, or below it if it fails."""
        region = at_or_above(node) if passes else at_or_below(node)
        self.decided[region] = True
        if passes:
            self.passes[region] = True


def _chain(lattice: Lattice, start: Node, *, undecided: BoolArray) -> list[Node]:
    """Undecided nodes from `start` upwards, each one level above the one before, with attributes taking turns.

    As attributes take turns, the chain stays near the middle of the lattice, where one count tags most nodes.
    """
    chain = [start]
    turn = 0
    n_attributes = len(start)
    while True:
        node = chain[-1]
        for step in range(n_attributes):
            attribute = (turn + step) % n_attributes
            level = node[attribute] + 1
            higher = (*node[:attribute], level, *node[attribute + 1 :])
            if level < lattice.n_levels[attribute] and undecided[higher]:
                chain.append(higher)
                turn = attribute + 1
                break
        else:
            return chain


def recode(table: FrequencyTable, node: Node, *, k: int, further: Sequence[Requirement] = ()) -> Recoding:
    """The classes at a node, in lexicographic order of their codes.

    Classes smaller than k, and those that fail a further requirement, are suppressed.
    """
    if k < 1:
        raise ValueError("k is at least 1")
    codes, class_of, n_distinct = classes_at(table, node)
    sizes = np.bincount(class_of, weights=table.counts, minlength=n_distinct).astype(np.int64)
    released = sizes >= k
    if further:
        released &= all_met(further, table, class_of, n_classes=n_distinct)
    new_ids = np.where(released, np.cumsum(released) - 1, SUPPRESSED).astype(np.int32)
    class_of = new_ids[class_of]
    n_classes = int(released.sum())
    is_released = class_of != SUPPRESSED
    attributes = []
    for domain, level, column in zip(table.domains, node, codes, strict=True):
        code_of_class: IntArray = np.zeros(n_classes, dtype=np.int64)
        code_of_class[class_of[is_released]] = column[is_released]
        shown, of_class = rank(code_of_class)
        attributes.append(
            AttributeLabels(
                labels=tuple(domain.levels[level][code] for code in shown.tolist()),
                of_class=of_class,
                loss=np.full(n_classes, level / max(1, domain.n_levels - 1)),
            )
        )
    return Recoding(class_of=class_of, sizes=sizes[released], attributes=tuple(attributes), levels=node)


def find(table: FrequencyTable, request: Request) -> dict[int, KAnonymised | AnonymisationError]:
    """Classes for every k, or why there are none, as `Algorithm.find` describes; the lattice is searched once for all k."""
    policy = request.policy
    limit = policy.most_suppressed(table.n_records)
    try:
        results = search(
            table,
            ks=request.ks,
            max_suppressed=limit,
            loss=policy.loss,
            further=request.beyond_k,
            importance=request.importance(table),
            max_levels=request.max_levels(table),
        )
    except LatticeTooLargeError as error:
        raise PolicyError(
            Problem(
                where="attributes",
                what=f"the hierarchies together make a lattice of {error.n_nodes:,} nodes, more than the {MAX_NODES:,} "
                "that OLA searches.",
                fix='Give some hierarchies fewer levels, or use algorithm = "mondrian".',
            )
        ) from None
    return {k: _answer(result, table, request, k) for k, result in results.items()}


def _answer(
    result: OlaResult | Unmet, table: FrequencyTable, request: Request, k: int
) -> KAnonymised | AnonymisationError:
    """The classes at the best node for one k, or the refusal."""
    if isinstance(result, Unmet):
        return _cannot_be_met(result, table, request, k)
    if result.n_classes == 0:
        return UnsatisfiableError(
            Problem(
                where="",
                what=f"{_asked(request, k)} would leave out every record.",
                fix="Choose a smaller max_suppression, so that values are generalised instead.",
            )
        )
    recoding = recode(table, result.node, k=k, further=request.beyond_k[k])
    return KAnonymised(recoding=recoding, dm_star=result.dm_star, nodes_counted=result.nodes_counted)


def _cannot_be_met(unmet: Unmet, table: FrequencyTable, request: Request, k: int) -> UnsatisfiableError:
    """The refusal where not even the top node passes, with what stands in the way and what would work."""
    requirements = request.requirements[k]
    share = unmet.suppressed / table.n_records
    n_quasis = len(request.policy.k_quasis)
    several = [(d.name, n) for d, n in zip(table.domains, unmet.n_labels, strict=True) if n > 1]
    open_ended = [d.name for d, n in zip(table.domains[:n_quasis], unmet.n_labels, strict=False) if n > 1]
    ways = [f'add a level "*" to {" or ".join(open_ended)}'] if open_ended else []
    if len(table.domains) > n_quasis:
        ways.append('leave out records with missing values, missing = "suppress"')
    enough = math.ceil(1000 * share) / 1000
    if enough < 1:
        ways.append(f"allow max_suppression = {enough:g}")
    ways += dict.fromkeys(requirement.remedy for requirement in requirements)
    hindrances = f" ({', '.join(f'{name} keeps {n} values there' for name, n in several)})" if several else ""
    return UnsatisfiableError(
        Problem(
            where="",
            what=f"{_asked(request, k)} cannot be met.",
            fix=f"With every hierarchy at its top, {_percent(share)} of records stay in "
            f"{' or '.join(requirement.unmet for requirement in requirements)}{hindrances}.\n"
            f"What would work: {'; or '.join(ways)}.",
        )
    )


def _asked(request: Request, k: int) -> str:
    """What was asked for, such as "k = 5 with at most 5 % suppressed"."""
    claims = " and ".join(requirement.claim for requirement in request.requirements[k])
    return f"{claims} with at most {_percent(request.policy.max_suppression)} suppressed"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
