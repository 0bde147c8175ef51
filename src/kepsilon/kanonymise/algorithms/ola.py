# SPDX-License-Identifier: Apache-2.0
"""Optimal Lattice Anonymization: the node of least loss that meets k within the suppression limit.

El Emam et al. 2009. A node passes if the number of records in classes smaller than k is within the limit. Classes that
fail a requirement beyond k records are left out as small ones are. `tagging` finds the nodes that pass, `best_node` the
best of them. Where there are too many nodes to look at, `descent` finds a good one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.errors import AnonymisationError, PolicyError, Problem, UnsatisfiableError
from kepsilon.kanonymise.algorithms.protocol import KAnonymised, Request
from kepsilon.kanonymise.best_node import best_node
from kepsilon.kanonymise.counting import counter_for
from kepsilon.kanonymise.descent import descend, loss_bound, worth_leaving_out
from kepsilon.kanonymise.label_losses import lost_by_label, most_to_lose
from kepsilon.kanonymise.lattice import Node, closed_upwards, lattice_of, minimal_nodes
from kepsilon.kanonymise.lookup import Lookup, RankedNode
from kepsilon.kanonymise.losses import LOSSES
from kepsilon.kanonymise.node_classes import classes_at
from kepsilon.kanonymise.node_counts import MAX_SLOTS, records_by_label
from kepsilon.kanonymise.requirements.protocol import Requirement, all_met
from kepsilon.kanonymise.tagging import may_tag, passing_by_bisection, passing_one_by_one
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import SUPPRESSED, AttributeLabels, Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import rank

MAX_NODES = 1 << 24
"""Most nodes of a lattice that is searched for the best node; the search needs two bytes per node and k."""


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
    k_minimal: tuple[Node, ...] | None
    """All passing nodes with no passing node below them, in lexicographic order; None if not all were looked for."""
    bound: int | float | None
    """What every passing node loses at least, where the node was found by descent; None where it is proven to be best."""
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
    """More nodes than are searched, no node that descent could begin at, and requirements that prove nothing by that."""

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
    max_nodes: int = MAX_NODES,
    further: Mapping[int, Sequence[Requirement]] | None = None,
    importance: Sequence[Fraction] | None = None,
    max_levels: Sequence[int | None] | None = None,
) -> dict[int, OlaResult | Unmet]:
    """The best node for every k; nodes are counted once for all k, because class sizes do not depend on k.

    The best node is the passing node of least loss; ties go to fewest suppressed records, then to the lowest node, then to
    the lexicographically first. In a lattice of more than `max_nodes` nodes a good node is found by descent instead, with a
    bound that no node loses less than.

    `max_suppressed` is a number of records. `further` holds, by k, the requirements beyond k records. `importance` is the
    weight of each attribute's loss, 1 by default; `max_levels` are the highest levels that the attributes may have, None
    for the highest there is.
    """
    if any(k < 1 for k in ks) or max_suppressed < 0:
        raise ValueError("k is at least 1, and the number of records to be left out at least 0")
    weights = importance or (Fraction(1),) * len(table.domains)
    lattice = lattice_of(table.domains, max_levels=max_levels)
    by_k = {k: tuple((further or {}).get(k, ())) for k in ks}
    may_conclude = may_tag(itertools.chain(*by_k.values()), max_suppressed=max_suppressed)
    lookup = Lookup(
        lattice=lattice,
        counter=counter_for(table, further=by_k, max_slots=max_slots),
        loss=LOSSES[loss].for_table(table, weights),
        max_suppressed=max_suppressed,
        may_conclude=may_conclude,
    )
    find = _by_descent if lattice.n_nodes > max_nodes else _among_all_nodes
    found = find(lookup, ks)
    return {k: _result(own, lookup, table, k=k) for k, own in found.items()}


def _among_all_nodes(lookup: Lookup, ks: Sequence[int]) -> dict[int, _Found | None]:
    """By k: the best node that passes, or None."""
    worth_it = worth_leaving_out(lookup, ks)
    which_pass = passing_by_bisection if lookup.may_conclude else passing_one_by_one
    passes = which_pass(lookup.lattice, lookup.counter, ks=ks, max_suppressed=worth_it)
    found: dict[int, _Found | None] = {}
    for k in ks:
        k_minimal = minimal_nodes(passes[k] if lookup.may_conclude else closed_upwards(passes[k]))
        if not k_minimal:
            found[k] = None
        else:
            best = best_node(lookup, passes[k], k_minimal, k=k)
            found[k] = _Found(best=best, k_minimal=k_minimal if worth_it == lookup.max_suppressed else None)
    return found


def _by_descent(lookup: Lookup, ks: Sequence[int]) -> dict[int, _Found | None]:
    """By k: a good node, and the loss that no node that passes is below, or None if no node passes."""
    found: dict[int, _Found | None] = {}
    for k in ks:
        if lookup.passes(lookup.lattice.top, k=k):
            found[k] = _Found(best=descend(lookup, k=k), bound=loss_bound(lookup, k=k))
        elif lookup.may_conclude:
            found[k] = None
        else:
            raise LatticeTooLargeError(lookup.lattice.n_nodes)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The node that a search chose for one k."""

    best: RankedNode
    k_minimal: tuple[Node, ...] | None = None
    bound: int | float | None = None


def _result(found: _Found | None, lookup: Lookup, table: FrequencyTable, *, k: int) -> OlaResult | Unmet:
    counter = lookup.counter
    if found is None:
        top = lookup.lattice.top
        return Unmet(
            suppressed=counter.outcome(top, k=k)[0],
            n_labels=tuple(len(domain.levels[level]) for domain, level in zip(table.domains, top, strict=True)),
            nodes_counted=counter.n_counted,
        )
    best = found.best
    return OlaResult(
        node=best.node,
        suppressed=best.suppressed,
        n_classes=counter.outcome(best.node, k=k)[1],
        loss=float(best.loss) if isinstance(best.loss, Fraction) else best.loss,
        dm_star=counter.dm_star(best.node),
        k_minimal=found.k_minimal,
        bound=found.bound,
        nodes_counted=counter.n_counted,
    )


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
        (records,) = records_by_label([column], table.counts, domains=[domain], node=(level,))
        shown, of_class = rank(code_of_class)
        attributes.append(
            AttributeLabels(
                labels=tuple(domain.levels[level][code] for code in shown.tolist()),
                of_class=of_class,
                loss=np.full(n_classes, level / max(1, domain.n_levels - 1)),
                ncp=(lost_by_label(domain, level) / most_to_lose(domain))[code_of_class],
                covered=records[code_of_class],
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
        return _leaves_nobody(result, table, request, k)
    recoding = recode(table, result.node, k=k, further=request.beyond_k[k])
    return KAnonymised(
        recoding=recoding,
        dm_star=result.dm_star,
        loss=result.loss,
        bound=result.bound,
        nodes_counted=result.nodes_counted,
    )


def _leaves_nobody(result: OlaResult, table: FrequencyTable, request: Request, k: int) -> UnsatisfiableError:
    """The refusal where the best node leaves out every record: a smaller limit helps only if a node releases any."""
    asked = f"{_asked(request, k)} would leave out every record."
    top = lattice_of(table.domains, max_levels=request.max_levels(table)).top
    if recode(table, top, k=k, further=request.beyond_k[k]).n_classes:
        fix = "Choose a smaller max_suppression, so that values are generalised instead."
        return UnsatisfiableError(Problem(where="", what=asked, fix=fix))
    n_labels = tuple(len(domain.levels[level]) for domain, level in zip(table.domains, top, strict=True))
    unmet = Unmet(suppressed=table.n_records, n_labels=n_labels, nodes_counted=result.nodes_counted)
    fix = _in_the_way(unmet, table, request, k, would_work="What would work, with a max_suppression below 1")
    return UnsatisfiableError(Problem(where="", what=asked, fix=fix))


def _cannot_be_met(unmet: Unmet, table: FrequencyTable, request: Request, k: int) -> UnsatisfiableError:
    """The refusal where not even the top node passes."""
    fix = _in_the_way(unmet, table, request, k, would_work="What would work")
    return UnsatisfiableError(Problem(where="", what=f"{_asked(request, k)} cannot be met.", fix=fix))


def _in_the_way(unmet: Unmet, table: FrequencyTable, request: Request, k: int, *, would_work: str) -> str:
    """What stands in the way at the top node, and, after the words `would_work`, what would work."""
    requirements = request.requirements[k]
    share = unmet.suppressed / table.n_records
    n_quasis = len(request.policy.k_quasis)
    several = [(d.name, n) for d, n in zip(table.domains, unmet.n_labels, strict=True) if n > 1]
    divided = [
        (d.name, own.max_level is not None and own.max_level < d.n_levels - 1)
        for d, own, n in zip(table.domains, request.policy.k_quasis.values(), unmet.n_labels, strict=False)
        if n > 1
    ]
    limited = [name for name, is_limited in divided if is_limited]
    open_ended = [name for name, is_limited in divided if not is_limited]
    ways = [f"a higher max_level of {' or '.join(limited)}, or none"] if limited else []
    ways += [f'add a level "*" to {" or ".join(open_ended)}'] if open_ended else []
    if len(table.domains) > n_quasis:
        ways.append('leave out records with missing values, missing = "suppress"')
    enough = math.ceil(1000 * share) / 1000
    if enough < 1:
        ways.append(f"allow max_suppression = {enough:g}")
    ways += dict.fromkeys(requirement.remedy for requirement in requirements)
    hindrances = f" ({', '.join(f'{name} keeps {n} values there' for name, n in several)})" if several else ""
    return (
        f"With every hierarchy at its {'max_level or top' if limited else 'top'}, {_percent(share)} of records stay in "
        f"{' or '.join(requirement.unmet for requirement in requirements)}{hindrances}.\n"
        f"{would_work}: {'; or '.join(ways)}."
    )


def _asked(request: Request, k: int) -> str:
    """What was asked for, such as "k = 5 with at most 5 % suppressed"."""
    claims = " and ".join(requirement.claim for requirement in request.requirements[k])
    return f"{claims} with at most {_percent(request.policy.max_suppression)} suppressed"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
