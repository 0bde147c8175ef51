# SPDX-License-Identifier: Apache-2.0
"""The original and the release as arrays, read the way the policy says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

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

NOBODY = -1
"""In place of a person, for a record that does not say whom it is about."""

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
    """False for records that are left out before counting, shape (n_records,).

    Where a person may have only so many records, nothing says which ones were left out; those are still among these.
    """
    n_missing: int
    """Records left out because an ε-quasi is missing, or because they do not say whom they are about."""
    n_unlisted: int
    """Records left out because a hierarchy does not list their value."""
    domains: dict[str, Domain]
    """Hierarchy of each k-quasi, over the values that occur in records that stay."""
    codes: dict[str, IntArray]
    """Code of each record in the domain of each k-quasi, LEFT_OUT where it does not stay, shape (n_records,)."""
    numbers: dict[str, FloatArray]
    """Values of each ε-quasi, NaN where missing, shape (n_records,)."""
    persons: IntArray | None
    """Number of the person whom each record is about, or NOBODY, shape (n_records,); None where the policy names none."""
    is_sure: BoolArray
    """Whether each record is sure to be counted, and not left out because its person has too many, shape (n_records,)."""
    n_by_cap: int
    """Records left out because their persons have more than the policy allows."""
    n_still_capped: int
    """How many of the records that `stays` lists were left out so."""
    has_open_labels: bool
    """Whether labels depend on which records were left out so."""

    @property
    def n_staying(self) -> int:
        """Number of records that are not left out before counting."""
        return int(np.count_nonzero(self.stays)) - self.n_still_capped

    @property
    def is_exact(self) -> bool:
        """Whether it is known which records are left out before counting."""
        return self.n_still_capped == 0


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
    persons = read_persons(table, policy)
    if persons is not None:
        missing |= persons == NOBODY
    missing &= ~unlisted
    stays = ~(missing | unlisted)
    is_sure, n_by_cap = _within_cap(persons, stays, policy)
    domains, coded = _coded(table, policy, texts, stays)
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
        persons=persons,
        is_sure=is_sure,
        n_by_cap=n_by_cap,
        n_still_capped=n_by_cap,
        has_open_labels=n_by_cap > 0 and _differ(domains, _coded(table, policy, texts, is_sure)[0]),
    )


def without_capped(original: Original, policy: Policy, gone: BoolArray, sure: BoolArray) -> Original:
    """The original where more is known: records that the cap left out, and others that are sure to be counted."""
    stays, is_sure = original.stays & ~gone, original.is_sure | (original.stays & sure)
    n_still = original.n_still_capped - int(np.count_nonzero(original.stays & gone))
    texts = {name: original.table.labels(name) for name in original.domains}
    domains, coded = _coded(original.table, policy, texts, stays)
    is_open = n_still > 0 and _differ(domains, _coded(original.table, policy, texts, is_sure)[0])
    return replace(
        original,
        stays=stays,
        is_sure=is_sure,
        domains=domains,
        codes=coded,
        n_still_capped=n_still,
        has_open_labels=is_open,
    )


def read_persons(table: AuditedTable, policy: Policy) -> IntArray | None:
    """Number of the person whom each record is about, or NOBODY; None where the policy names no such column.

    Persons are compared as text, without the blanks around it.
    """
    if policy.person is None:
        return None
    texts, codes = table.labels(policy.person)
    numbers: dict[str, int] = {}
    trimmed = [(text or "").strip() for text in texts]
    if table.holds_doubles(policy.person):
        trimmed = ["" if text == "nan" else text for text in trimmed]
    of_text = [numbers.setdefault(text, len(numbers)) if text else NOBODY for text in trimmed]
    return np.array(of_text, dtype=np.int64)[codes]


def n_persons(class_ids: IntArray, persons: IntArray, *, n_classes: int) -> IntArray:
    """Distinct persons of each class, shape (n_classes,), from class and person of records; NOBODY is no person."""
    is_somebody = (persons != NOBODY) & (class_ids >= 0)
    pairs = np.unique(np.stack([class_ids[is_somebody], persons[is_somebody]]), axis=1)
    return np.bincount(pairs[0], minlength=n_classes)


def _within_cap(persons: IntArray | None, stays: BoolArray, policy: Policy) -> tuple[BoolArray, int]:
    """Which records stay whatever the cap on the records of a person leaves out, and how many it leaves out."""
    most = policy.max_records_per_person
    if persons is None or most is None:
        return stays, 0
    n_of_person = np.bincount(persons[stays], minlength=int(persons.max(initial=0)) + 1)
    return stays & (n_of_person[persons] <= most), int(np.maximum(0, n_of_person - most).sum())


def _coded(
    table: AuditedTable, policy: Policy, texts: dict[str, tuple[tuple[Label, ...], IntArray]], stays: BoolArray
) -> tuple[dict[str, Domain], dict[str, IntArray]]:
    """Hierarchies over the values of the records that stay, and the code of every record."""
    domains: dict[str, Domain] = {}
    coded: dict[str, IntArray] = {}
    for name, (values, codes) in texts.items():
        occurring, positions = np.unique(codes[stays], return_inverse=True)
        staying_values = tuple(values[i] for i in occurring.tolist())
        domains[name], code_of = domain_of(_placed(table, policy, name, staying_values))
        coded[name] = np.full(len(stays), LEFT_OUT, dtype=np.int64)
        coded[name][stays] = code_of[positions]
    return domains, coded


def _differ(domains: dict[str, Domain], fewer: dict[str, Domain]) -> bool:
    """Whether values that are in both have other labels, or other levels, in hierarchies over fewer values."""
    return any(
        own.n_levels != fewer[name].n_levels or _labels_by_value(own, fewer[name]) != _labels_by_value(fewer[name], own)
        for name, own in domains.items()
    )


def _labels_by_value(domain: Domain, other: Domain) -> dict[Label, tuple[Label, ...]]:
    """The labels of each value at all levels, of the values that another hierarchy has too."""
    labels = [[level[node] for node in domain.at_level(i).tolist()] for i, level in enumerate(domain.levels)]
    common = set(other.levels[0])
    return {own[0]: own for own in zip(*labels, strict=True) if own[0] in common}


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
