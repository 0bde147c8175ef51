# SPDX-License-Identifier: Apache-2.0
"""Figures of the curator's record about persons and sensitive values, worked out again as far as they are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.comparison import Between, Comparison, compare_figures
from kepsilon.auditing.published_groups import (
    groups_as_classes,
    groups_follow_from_values,
    published_groups,
    publishes_groups,
)
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.auditing.sensitive_values import NAN
from kepsilon.auditing.tables import NOBODY, n_persons
from kepsilon.evaluate.linking.reidentification import ChanceOfFinding, Reidentification
from kepsilon.json_values import Json
from kepsilon.policy.numbers import parse_double
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.whole_records import WholeColumn

MOST_VALUES = 1_000
"""Distinct values of a sensitive column, at most, for which the record says exactly what chance would give."""

NEGLECTED = 1e-12
"""Chances below this are not worked out exactly; each side leaves out other values that are too rare to matter."""

SHARES = ("one_value", "one_value_by_chance", "nearly_one_value", "nearly_one_value_by_chance")


def known_persons(case: AuditCase) -> Json:
    """What the record says about persons: their number, records of each, and how few share a released class."""
    original, persons = case.original, case.original.persons
    if persons is None:
        return {}
    counted = persons[original.stays]
    n_of_person = np.bincount(counted[counted != NOBODY], minlength=1)
    n_all = int(np.count_nonzero(n_of_person))
    most = case.policy.max_records_per_person
    largest = int(n_of_person.max()) if most is None else min(most, int(n_of_person.max()))
    known: Json = {
        "count": n_all,
        "records_per_person": {"mean": round(original.n_staying / max(1, n_all), 2), "largest": largest},
    }
    released = persons_of_released(case)
    if released is not None:
        by_class = n_persons(*released, n_classes=case.classes.n_classes)
        known["fewest_in_a_class"] = int(by_class.min())
    return known


def persons_of_released(case: AuditCase) -> tuple[IntArray, IntArray] | None:
    """Class and person of every released record, in any order; None where persons are not known."""
    persons, classes = case.original.persons, case.classes
    if persons is None:
        return None
    if case.linkage is not None:
        return classes.of_released, persons[case.linkage.original_row]
    rows = classes.known_originals
    if classes.all_known and np.array_equal(
        np.bincount(classes.of_original[rows], minlength=classes.n_classes), classes.n_released
    ):
        return classes.of_original[rows], persons[rows]
    return None


def most_of_one(class_ids: IntArray, persons: IntArray, *, n_classes: int) -> IntArray:
    """The largest number of records that one person has in each class, shape (n_classes,)."""
    pairs, counts = np.unique(np.stack([class_ids, persons]), axis=1, return_counts=True)
    most = np.zeros(n_classes, dtype=np.int64)
    np.maximum.at(most, pairs[0], counts)
    return most


def most_of_originals(case: AuditCase) -> IntArray | None:
    """The largest number of originals that one person has in each class; None where originals are not known."""
    persons, classes = case.original.persons, case.classes
    if persons is None or not classes.all_known:
        return None
    rows = classes.known_originals
    return most_of_one(classes.of_original[rows], persons[rows], n_classes=classes.n_classes)


def reidentification_of_persons(case: AuditCase) -> Reidentification | None:
    """The standard risks of attackers who name in each class the person with most records; None where not known."""
    classes, released = case.classes, persons_of_released(case)
    if released is None:
        return None
    sizes, n = classes.n_released, case.released.n_records
    prosecutor = _chance(most_of_one(*released, n_classes=classes.n_classes) / sizes, sizes, n)
    most = most_of_originals(case)
    if most is None:
        return Reidentification(prosecutor=prosecutor, journalist=None, marketer=None)
    journalist = _chance(most / classes.n_originals, sizes, n)
    return Reidentification(prosecutor=prosecutor, journalist=journalist, marketer=journalist.average)


def _chance(shares: FloatArray, sizes: IntArray, n: int) -> ChanceOfFinding:
    """The chances of finding somebody by a guess that is right for these shares of classes."""
    highest = float(shares.max())
    return ChanceOfFinding(
        highest=highest,
        average=float((shares * sizes).sum()) / n,
        share_at_highest=int(sizes[shares == highest].sum()) / n,
    )


def compare_homogeneity(case: AuditCase, document: Json, found: Comparison) -> None:
    """Compares how far classes agree on sensitive values: the form, and the figures where all records were measured."""
    stated = document.get("homogeneity")
    if stated is None:
        return  # a record of version 0.1 has none
    if not isinstance(stated, Mapping) or set(stated) != set(case.policy.sensitive):
        found.require(False, "homogeneity")
        return
    is_known = case.classes.all_known and n_taken_out_with_class(case) == 0
    if case.policy.averages is not None:
        # Figures are those of the groups, which were predicted before chance decided between equal values.
        groups = published_groups(case) if publishes_groups(case.policy) else None
        is_known = is_known and groups is not None and groups_follow_from_values(case, groups)
        if groups is not None and is_known:
            case = groups_as_classes(case, groups)
    for name, own in stated.items():
        where = f"homogeneity.{name}"
        if not isinstance(own, Mapping) or not all(_is_share(own.get(key)) for key in SHARES):
            found.require(False, where)
            continue
        found.require(
            own["one_value"] <= own["nearly_one_value"]
            and (own.get("measured_on") is None or isinstance(own["measured_on"], str)),
            where,
        )
        if is_known and own.get("measured_on") is None:
            compare_figures(own, _homogeneity(case, name), where, found)


def _homogeneity(case: AuditCase, name: str) -> Json:
    """Shares of records with a value, by how far their class agrees on it, over all originals of the released classes."""
    classes = case.classes
    rows = np.flatnonzero(classes.of_original != NOWHERE)
    values = _values(case.original.table.whole_columns([name], rows)[name])
    has_value = values >= 0
    ids, values = classes.of_original[rows][has_value], values[has_value]
    n = len(values)
    if not n:
        return dict.fromkeys(SHARES, 0.0)
    sizes = np.bincount(ids, minlength=classes.n_classes)
    most = most_of_one(ids, values.astype(np.int64), n_classes=classes.n_classes)
    figures: Json = {
        "one_value": int(sizes[most == sizes].sum()) / n,
        "nearly_one_value": int(sizes[10 * most >= 9 * sizes].sum()) / n,
    }
    held = np.unique(values, return_counts=True)[1]
    if len(held) <= MOST_VALUES:
        distinct, times = np.unique(sizes[sizes > 0], return_counts=True)
        one, nearly = 0.0, 0.0
        for size, weight in zip(distinct.tolist(), (distinct * times).tolist(), strict=True):
            one += weight * float(((held / n) ** size).sum())
            nearly += weight * sum(_tail(int(count), n, size) for count in held.tolist())
        figures |= {"one_value_by_chance": _about(one / n), "nearly_one_value_by_chance": _about(nearly / n)}
    return figures


def _values(column: WholeColumn) -> IntArray:
    """A number for each record's value, or −1: texts that differ in blanks around them, or write one number, are equal."""
    trimmed = [text.strip() for text in column.texts]
    if not trimmed:
        return column.codes
    numbers = [parse_double(text) for text in trimmed]
    are_numbers = all(number is not None or text == NAN for number, text in zip(numbers, trimmed, strict=True))
    keys: list[Any] = numbers if are_numbers else trimmed
    places: dict[Any, int] = {}
    of_code = [-1 if key is None else places.setdefault(key, len(places)) for key in keys]
    return np.array([*of_code, -1], dtype=np.int64)[column.codes]


def _about(chance: float) -> Between:
    """A chance, to nine digits, or as far as it was worked out."""
    return Between(chance * (1 - 1e-9) - NEGLECTED, chance * (1 + 1e-9) + NEGLECTED)


def _tail(count: int, n: int, size: int) -> float:
    """The chance that at least nine tenths of `size` records hold a value that `count` of all n hold."""
    least = math.ceil(9 * size / 10) if 9 * size % 10 else 9 * size // 10
    if count == n:
        return 1.0
    p, log_p, log_q = count / n, math.log(count / n), math.log1p(-count / n)
    if size > 50 and p < 0.25:
        return 0.0  # below 1e-15
    total = 0.0
    for hits in range(least, size + 1):
        ways = math.lgamma(size + 1) - math.lgamma(hits + 1) - math.lgamma(size - hits + 1)
        total += math.exp(ways + hits * log_p + (size - hits) * log_q)
    return total


def _is_share(stated: Any) -> bool:
    return isinstance(stated, int | float) and not isinstance(stated, bool) and 0 <= stated <= 1 + 1e-9
