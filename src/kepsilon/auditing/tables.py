# SPDX-License-Identifier: Apache-2.0
"""The original and the release as arrays, read the way the policy says."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from kepsilon.classify import classify
from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.errors import DataError, Problem
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Domain, Label
from kepsilon.table.domains import PlacedValues, domain_of, place_values, refused_values, unplaceable

LEFT_OUT = -1
"""The code of a record that is left out before counting, because a value is missing or unlisted."""

ZEROS_OF_SECONDS = re.compile(r"(:\d\d(?:\.\d*[1-9])?)\.?0*(?=$|[Z+-])")
"""The seconds of a time, and zeros after them that say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The records before anonymisation, in the order of the input."""

    table: AuditedTable
    published: tuple[str, ...]
    """Columns that the release should have, in the order of the input."""
    n_records: int
    stays: BoolArray
    """False for records that are left out before counting, shape (n_records,)."""
    n_missing: int
    """Records left out because an ε-quasi is missing."""
    n_unlisted: int
    """Records left out because a hierarchy does not list their value."""
    domains: dict[str, Domain]
    """Hierarchy of each k-quasi, over the values that occur in records that stay."""
    codes: dict[str, IntArray]
    """Code of each record in the domain of each k-quasi, LEFT_OUT where it does not stay, shape (n_records,)."""
    numbers: dict[str, FloatArray]
    """Values of each ε-quasi, NaN where missing, shape (n_records,)."""

    @property
    def n_staying(self) -> int:
        """Number of records that are not left out before counting."""
        return int(np.count_nonzero(self.stays))


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The records as published, in the order of the release."""

    table: AuditedTable
    n_records: int
    labels: dict[str, tuple[tuple[Label, ...], IntArray]]
    """The different labels of each k-quasi, and the position of each record's label among them."""
    numbers: dict[str, FloatArray]
    """Published values of each ε-quasi, NaN where missing, shape (n_records,)."""

    @property
    def reads_empty_as_null(self) -> bool:
        """Whether its format writes nulls as empty text, so that the two cannot be told apart."""
        return self.table.reads_empty_as_null


def read_original(table: AuditedTable, policy: Policy) -> Original:
    """The original, read the way the policy says; raises a DataError if it does not fit the policy."""
    roles = classify(table.column_names, policy, source=table.name)
    if table.n_records == 0:
        raise DataError(Problem(where=table.name, what="has a header, but no records."))
    texts = {name: table.labels(name) for name in roles.k_quasis}
    readings = policy.readings
    numbers = {name: table.numbers(name, readings[name]) for name in roles.epsilon_quasis}
    unlisted = np.zeros(table.n_records, dtype=np.bool_)
    problems: list[Problem] = []
    for name, (values, codes) in texts.items():
        placed = _placed(table, policy, name, values)
        if policy.k_quasis[name].unlisted == "error":
            problems += refused_values(placed, np.bincount(codes, minlength=len(values)))
        problems += unplaceable(placed)
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
        staying_values = tuple(values[i] for i in occurring.tolist())
        domains[name], code_of = domain_of(_placed(table, policy, name, staying_values))
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


def _placed(table: AuditedTable, policy: Policy, name: str, values: tuple[Label, ...]) -> PlacedValues:
    """Values of a k-quasi with their labels, read the way the policy says."""
    attribute, reading = policy.k_quasis[name], policy.readings[name]
    return place_values(name, attribute, values, reading=reading, is_typed=table.is_typed(name))


def codes_of_both(original: Original, released: Released, name: str) -> tuple[IntArray, IntArray, int]:
    """A kept column as codes of the same values: of the originals, of the released records, and how many values.

    Texts that formats write in different ways for one value are one value: times with zeros at the end of their seconds,
    and empty text where the format of the release writes nulls as such.
    """
    texts, theirs = original.table.texts(name)
    own_texts, own = released.table.texts(name)
    are_times = original.table.is_time(name) or released.table.is_time(name)

    def plain(text: Label) -> Label:
        if text is not None and are_times:
            text = ZEROS_OF_SECONDS.sub(r"\1", text)
        return text or None if released.reads_empty_as_null else text

    positions: dict[Label, int] = {}
    by_text, by_own_text = (
        np.array([positions.setdefault(plain(text), len(positions)) for text in listed], dtype=np.int64)
        for listed in (texts, own_texts)
    )
    return by_text[theirs], by_own_text[own], len(positions)
