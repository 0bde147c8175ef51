# SPDX-License-Identifier: Apache-2.0
"""The original and the release as arrays: what the policy says stays, the hierarchies of what stays, and the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.classify import classify
from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.errors import DataError, Problem
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain, Label
from kepsilon.table.domains import domain_of, not_covered, place_values

LEFT_OUT = -1
"""The code of a record that leaves before anything is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The records before anonymisation, in their order."""

    table: AuditedTable
    published: tuple[str, ...]
    """Columns that the release should have, in their order."""
    n_records: int
    stays: BoolArray
    """False for records that leave before counting, shape (n_records,)."""
    n_missing: int
    n_unlisted: int
    domains: dict[str, Domain]
    """Hierarchies of the k-quasis, of the values of records that stay."""
    codes: dict[str, IntArray]
    """Code in the domain of every record, LEFT_OUT where it does not stay."""
    numbers: dict[str, FloatArray]

    @property
    def n_staying(self) -> int:
        return int(np.count_nonzero(self.stays))


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The records as published, in their order."""

    table: AuditedTable
    n_records: int
    labels: dict[str, tuple[tuple[Label, ...], IntArray]]
    numbers: dict[str, FloatArray]


def read_original(table: AuditedTable, policy: Policy) -> Original:
    """The original as the policy sees it; one that does not fit the policy is refused, for no release can come of it."""
    roles = classify(table.column_names, policy, source=table.name)
    if table.n_records == 0:
        raise DataError(Problem(where=table.name, what="has a header, but no records."))
    texts = {name: table.texts(name) for name in roles.k_quasis}
    numbers = {name: table.numbers(name) for name in roles.epsilon_quasis}
    unlisted = np.zeros(table.n_records, dtype=np.bool_)
    problems: list[Problem] = []
    for name, (values, codes) in texts.items():
        placed = place_values(name, policy.k_quasis[name], values)
        if policy.k_quasis[name].unlisted == "error":
            error = not_covered(placed, np.bincount(codes, minlength=len(values)))
            problems += () if error is None else error.problems
        unlisted |= ~placed.is_covered[codes]
    if problems:
        raise DataError(problems)
    missing = np.zeros(table.n_records, dtype=np.bool_)
    for name, attribute in policy.epsilon_quasis.items():
        if attribute.missing == "suppress":
            missing |= np.isnan(numbers[name])
    missing &= ~unlisted
    stays = ~(missing | unlisted)
    domains: dict[str, Domain] = {}
    coded: dict[str, IntArray] = {}
    for name, (values, codes) in texts.items():
        occurring, positions = np.unique(codes[stays], return_inverse=True)
        kept_values = tuple(values[i] for i in occurring.tolist())
        domains[name], code_of = domain_of(place_values(name, policy.k_quasis[name], kept_values))
        coded[name] = np.full(table.n_records, LEFT_OUT, dtype=np.int64)
        coded[name][stays] = code_of[positions]
    return Original(
        table=table,
        published=roles.published,
        n_records=table.n_records,
        stays=stays,
        n_missing=int(missing.sum()),
        n_unlisted=int(unlisted.sum()),
        domains=domains,
        codes=coded,
        numbers=numbers,
    )
