# SPDX-License-Identifier: Apache-2.0
"""Whole records from plain lists, as an engine would hand them over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kepsilon.table.whole_records import MISSING, RecordsInClasses, WholeColumn

EPOCH = dt.date(1970, 1, 1)


def whole_column(values: Sequence[Any] | np.ndarray) -> WholeColumn:
    """A column of texts, numbers or dates; None and NaN are missing."""
    found = values.tolist() if isinstance(values, np.ndarray) else list(values)
    present = [own for own in found if own is not None and own == own]
    is_date = any(isinstance(own, dt.date) for own in present)
    distinct = sorted(set(present))
    place = {own: i for i, own in enumerate(distinct)}
    codes = np.array([place[own] if own is not None and own == own else MISSING for own in found], dtype=np.int64)
    if is_date:
        numbers = np.array([float((own - EPOCH).days) for own in distinct])
    elif any(isinstance(own, str) for own in present):
        numbers = None
    else:
        numbers = np.array(distinct, dtype=np.float64)
    return WholeColumn(codes=codes, numbers=numbers, texts=tuple(distinct) if numbers is None else (), is_date=is_date)


def records_in_classes(
    class_ids: Sequence[int] | np.ndarray,
    *,
    k_quasis: Mapping[str, Any] | None = None,
    epsilon_quasis: Mapping[str, Any] | None = None,
    kept: Mapping[str, Any] | None = None,
    identifiers: Mapping[str, Any] | None = None,
    rows: np.ndarray | None = None,
) -> RecordsInClasses:
    """Records from lists of values by column; they are in the order of the input unless `rows` says otherwise."""

    def columns(values: Mapping[str, Any] | None) -> dict[str, WholeColumn]:
        return {name: whole_column(own) for name, own in (values or {}).items()}

    return RecordsInClasses(
        class_ids=np.asarray(class_ids, dtype=np.int64),
        k_quasis=columns(k_quasis),
        epsilon_quasis=columns(epsilon_quasis),
        kept=columns(kept),
        identifiers=columns(identifiers),
        rows=np.arange(len(class_ids)) if rows is None else rows,
    )


def taken(records: RecordsInClasses, at: np.ndarray) -> RecordsInClasses:
    """Some of the records, or all in another order; codes are left as they are, and may have gaps."""

    def columns(own: Mapping[str, WholeColumn]) -> dict[str, WholeColumn]:
        return {
            name: WholeColumn(codes=c.codes[at], numbers=c.numbers, texts=c.texts, is_date=c.is_date)
            for name, c in own.items()
        }

    return RecordsInClasses(
        class_ids=records.class_ids[at],
        k_quasis=columns(records.k_quasis),
        epsilon_quasis=columns(records.epsilon_quasis),
        kept=columns(records.kept),
        identifiers=columns(records.identifiers),
        rows=None if records.rows is None else records.rows[at],
    )


def median_classes(columns: Sequence[np.ndarray], *, k: int) -> np.ndarray:
    """Classes of at least k records, cut at medians of the column that spans most ranks, as Mondrian does."""
    ranks = np.column_stack([np.unique(own, return_inverse=True)[1].ravel() for own in columns])
    ranks = ranks / np.maximum(ranks.max(axis=0), 1)
    ids = np.zeros(len(ranks), dtype=np.int64)
    n_classes, waiting = 0, [np.arange(len(ranks))]
    while waiting:
        own = waiting.pop()
        for column in np.argsort(-np.ptp(ranks[own], axis=0), kind="stable"):
            values = ranks[own, column]
            left = values < np.median(values)
            if k <= np.count_nonzero(left) <= len(own) - k:
                waiting += [own[left], own[~left]]
                break
        else:
            ids[own] = n_classes
            n_classes += 1
    return ids


def interval_classes(columns: Sequence[np.ndarray]) -> np.ndarray:
    """One class for each combination of values, as a node of OLA's lattice makes them."""
    stacked = np.column_stack([np.unique(own, return_inverse=True)[1].ravel() for own in columns])
    return np.unique(stacked, axis=0, return_inverse=True)[1].ravel()
