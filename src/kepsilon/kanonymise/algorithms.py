# SPDX-License-Identifier: Apache-2.0
"""The algorithms by name, and how each one's refusal is worded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kepsilon.errors import PolicyError, Problem, UnsatisfiableError
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


def by_ola(table: FrequencyTable, policy: Policy) -> KAnonymised:
    limit = policy.most_suppressed(table.n_records)
    try:
        result = ola.search(table, ks=[policy.k], max_suppressed=limit, loss=policy.loss)[policy.k]
    except ola.LatticeTooLargeError as error:
        raise PolicyError(
            Problem(
                where="attributes",
                what=f"the hierarchies together make a lattice of {error.n_nodes:,} nodes, more than the {ola.MAX_NODES:,} "
                "that OLA searches.",
                fix='Give some hierarchies fewer levels, or use algorithm = "mondrian".',
            )
        ) from None
    if isinstance(result, ola.Unmet):
        raise _cannot_be_met(result, table, policy)
    if result.n_classes == 0:
        raise UnsatisfiableError(
            Problem(
                where="",
                what=f"k = {policy.k} with at most {_percent(policy.max_suppression)} suppressed would leave out every record.",
                fix="Choose a smaller max_suppression, so that values are generalised instead.",
            )
        )
    return KAnonymised(recoding=ola.recode(table, result.node, k=policy.k), dm_star=result.dm_star)


def by_mondrian(table: FrequencyTable, policy: Policy) -> KAnonymised:
    """Attributes beyond the k-quasis say which ε-quasis are missing; they are never generalised."""
    n_quasis = len(policy.k_quasis)
    fixed = range(n_quasis, len(table.domains))
    try:
        recoding = mondrian.anonymise(table, k=policy.k, labels=policy.labels, fixed=fixed)
    except mondrian.FixedPartTooSmallError as error:
        raise UnsatisfiableError(
            Problem(
                where="",
                what=f"{error.n_records:,} records share which epsilon-quasis are missing, fewer than k = {policy.k}, and Mondrian "
                "leaves no record out.",
                fix='Leave records with missing values out: missing = "suppress"; or use algorithm = "ola".',
            )
        ) from None
    return KAnonymised(recoding=recoding, dm_star=sum_of_squares(recoding.sizes))


ALGORITHMS: dict[str, Callable[[FrequencyTable, Policy], KAnonymised]] = {"ola": by_ola, "mondrian": by_mondrian}


def _cannot_be_met(unmet: ola.Unmet, table: FrequencyTable, policy: Policy) -> UnsatisfiableError:
    share = unmet.suppressed / table.n_records
    kept = [(d.name, n) for d, n in zip(table.domains, unmet.n_labels, strict=True) if n > 1]
    enough = math.ceil(1000 * share) / 1000
    return UnsatisfiableError(
        Problem(
            where="",
            what=f"k = {policy.k} with at most {_percent(policy.max_suppression)} suppressed cannot be met.",
            fix=f"With every hierarchy at its top, {_percent(share)} of records stay in classes below {policy.k} "
            f"({', '.join(f'{name} keeps {n} values there' for name, n in kept)}).\n"
            f'Either add a level "*" to {" or ".join(name for name, _ in kept)}, or allow max_suppression = {enough:g}.',
        )
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
