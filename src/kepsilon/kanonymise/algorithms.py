# SPDX-License-Identifier: Apache-2.0
"""The algorithms by name, and how each one's refusal is worded."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from kepsilon.errors import AnonymisationError, PolicyError, Problem, UnsatisfiableError
from kepsilon.kanonymise import mondrian, ola
from kepsilon.kanonymise.node_counts import sum_of_squares
from kepsilon.policy.policy import Policy
from kepsilon.table.classes import Recoding
from kepsilon.table.frequency import FrequencyTable


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymised:
    recoding: Recoding
    dm_star: int
    """Sum of squared class sizes over all classes, also those that were suppressed."""
    nodes_counted: int | None = None
    """Nodes whose classes OLA counted, for all k of its search together; None where there are no nodes."""


def k_anonymise(table: FrequencyTable, policy: Policy) -> KAnonymised:
    """The partition that the policy asks for, or why there is none."""
    result = for_every_k(table, policy, ks=[policy.k])[policy.k]
    if isinstance(result, AnonymisationError):
        raise result
    return result


def for_every_k(
    table: FrequencyTable, policy: Policy, *, ks: Sequence[int]
) -> dict[int, KAnonymised | AnonymisationError]:
    """The partition for each k, whatever the policy's own, or why there is none; OLA sweeps its lattice once for all."""
    return _ALGORITHMS[policy.algorithm](table, policy, ks)


def _by_ola(table: FrequencyTable, policy: Policy, ks: Sequence[int]) -> dict[int, KAnonymised | AnonymisationError]:
    limit = policy.most_suppressed(table.n_records)
    try:
        results = ola.search(table, ks=ks, max_suppressed=limit, loss=policy.loss)
    except ola.LatticeTooLargeError as error:
        raise PolicyError(
            Problem(
                where="attributes",
                what=f"the hierarchies together make a lattice of {error.n_nodes:,} nodes, more than the {ola.MAX_NODES:,} "
                "that OLA searches.",
                fix='Give some hierarchies fewer levels, or use algorithm = "mondrian".',
            )
        ) from None
    return {k: _from_ola(results[k], table, policy, k) for k in ks}


def _from_ola(
    result: ola.OlaResult | ola.Unmet, table: FrequencyTable, policy: Policy, k: int
) -> KAnonymised | AnonymisationError:
    if isinstance(result, ola.Unmet):
        return _cannot_be_met(result, table, policy, k)
    if result.n_classes == 0:
        return UnsatisfiableError(
            Problem(
                where="",
                what=f"k = {k} with at most {_percent(policy.max_suppression)} suppressed would leave out every record.",
                fix="Choose a smaller max_suppression, so that values are generalised instead.",
            )
        )
    recoding = ola.recode(table, result.node, k=k)
    return KAnonymised(
        recoding=_of_k_quasis(recoding, policy), dm_star=result.dm_star, nodes_counted=result.nodes_counted
    )


def _by_mondrian(
    table: FrequencyTable, policy: Policy, ks: Sequence[int]
) -> dict[int, KAnonymised | AnonymisationError]:
    return {k: _from_mondrian(table, policy, k) for k in ks}


def _from_mondrian(table: FrequencyTable, policy: Policy, k: int) -> KAnonymised | AnonymisationError:
    """Attributes beyond the k-quasis say which ε-quasis are missing; they are never generalised."""
    n_quasis = len(policy.k_quasis)
    fixed = range(n_quasis, len(table.domains))
    try:
        recoding = mondrian.anonymise(table, k=k, labels=policy.labels, fixed=fixed)
    except mondrian.FixedPartTooSmallError as error:
        return UnsatisfiableError(
            Problem(
                where="",
                what=f"{error.n_records:,} records have values missing that fewer than k = {k} records miss together, and "
                "Mondrian leaves no record out.",
                fix='Leave records with missing values out: missing = "suppress"; or use algorithm = "ola".',
            )
        )
    return KAnonymised(recoding=_of_k_quasis(recoding, policy), dm_star=sum_of_squares(recoding.sizes))


def _of_k_quasis(recoding: Recoding, policy: Policy) -> Recoding:
    """Without the attributes that say what is missing: they shape classes, but nothing is published for them."""
    n = len(policy.k_quasis)
    levels = None if recoding.levels is None else recoding.levels[:n]
    return dataclasses.replace(recoding, attributes=recoding.attributes[:n], levels=levels)


_ALGORITHMS = {"ola": _by_ola, "mondrian": _by_mondrian}


def _cannot_be_met(unmet: ola.Unmet, table: FrequencyTable, policy: Policy, k: int) -> UnsatisfiableError:
    share = unmet.suppressed / table.n_records
    n_quasis = len(policy.k_quasis)
    kept = [(d.name, n) for d, n in zip(table.domains, unmet.n_labels, strict=True) if n > 1]
    open_ended = [d.name for d, n in zip(table.domains[:n_quasis], unmet.n_labels, strict=False) if n > 1]
    ways = [f'add a level "*" to {" or ".join(open_ended)}'] if open_ended else []
    if len(table.domains) > n_quasis:
        ways.append('leave out records with missing values, missing = "suppress"')
    enough = math.ceil(1000 * share) / 1000
    if enough < 1:
        ways.append(f"allow max_suppression = {enough:g}")
    ways.append("choose a smaller k")
    return UnsatisfiableError(
        Problem(
            where="",
            what=f"k = {k} with at most {_percent(policy.max_suppression)} suppressed cannot be met.",
            fix=f"With every hierarchy at its top, {_percent(share)} of records stay in classes below {k} "
            f"({', '.join(f'{name} keeps {n} values there' for name, n in kept)}).\n"
            f"What would work: {'; or '.join(ways)}.",
        )
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
