# SPDX-License-Identifier: Apache-2.0
"""Two kept numbers that together give an ε-quasi away, as a sum, a difference, a product or a ratio."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.kept_columns.class_order import ClassOrder
from kepsilon.evaluate.kept_columns.coding import (
    is_measured,
    numbers_of,
    standardised,
    standardised_logarithms,
    without_codes,
)
from kepsilon.evaluate.kept_columns.findings import KeptPair, PairKind
from kepsilon.table.arrays import FloatArray
from kepsilon.table.whole_records import WholeColumn

ALARMING_GAIN = 0.3
ALARMING_R_SQUARED = 0.8
NOTED_GAIN = 0.05

_BY_CHANCE = 1e-6
"""Pairs that chance would bring forth more often than this, in tables with few records, are left out."""
_PARALLEL = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A column of numbers as pairs need it: standardised, NaN where missing, shape (n_records,)."""

    numbers: FloatArray
    logarithms: FloatArray | None
    """None where a number is not positive."""


def measured_of(column: WholeColumn) -> Measured | None:
    """The column's numbers; None where it has few distinct ones, or hardly any that differ."""
    values = numbers_of(column)
    return None if values is None or not is_measured(column) else _measured(values)


def measured_without_codes(column: WholeColumn) -> Measured | None:
    """The column's numbers without codes such as 999; None where it has no codes, or nothing to measure."""
    values = numbers_of(column)
    if values is None or not is_measured(column):
        return None
    others = without_codes(values)
    return None if others is None else _measured(others)


def _measured(values: FloatArray) -> Measured | None:
    numbers = standardised(values)
    return None if numbers is None else Measured(numbers=numbers, logarithms=standardised_logarithms(values))


def telling_pairs(
    kept: Mapping[str, Measured], epsilon_quasis: Mapping[str, Measured], classes: ClassOrder
) -> tuple[KeptPair, ...]:
    """Pairs with a gain of at least NOTED_GAIN: how much more of an ε-quasi's variance within classes two columns
    explain than the better of them does alone.

    A column that tells the ε-quasi by itself gains nothing from another. Of many pairs for one ε-quasi those are named
    that are the best for one of their columns.
    """
    by_quasi: dict[str, list[KeptPair]] = {}
    kinds: tuple[PairKind, ...] = ("sum", "ratio")
    for kind in kinds:
        for own, among in classes.looks:
            for pair in _pairs(_as(kind, kept), _as(kind, epsilon_quasis), kind, own, among):
                by_quasi.setdefault(pair.of, []).append(pair)
    found = []
    for quasi in epsilon_quasis:
        named: set[str] = set()
        for pair in sorted(by_quasi.get(quasi, ()), key=lambda own: (not own.is_alarm, -own.gain, own.columns)):
            if not named.issuperset(pair.columns):
                named.update(pair.columns)
                found.append(pair)
    return tuple(found)


def _as(kind: PairKind, columns: Mapping[str, Measured]) -> dict[str, FloatArray]:
    """Numbers for sums, logarithms for ratios, of those columns that have them."""
    chosen = {name: own.numbers if kind == "sum" else own.logarithms for name, own in columns.items()}
    return {name: own for name, own in chosen.items() if own is not None}


def _pairs(
    kept: Mapping[str, FloatArray],
    epsilon_quasis: Mapping[str, FloatArray],
    kind: PairKind,
    classes: ClassOrder,
    among: ClassOrder,
) -> Iterator[KeptPair]:
    """Pairs that tell in `classes`, as shares of the variance in the classes `among` that these are parts of."""
    freedom = classes.n_records - classes.n_classes - 2
    if len(kept) < 2 or not epsilon_quasis or freedom < 1:
        return
    names = list(kept)
    n_pairs = len(names) * (len(names) - 1) / 2
    columns = within_classes(kept, classes)
    alike = columns.T @ columns
    apart = 1 - alike**2
    apart[apart < _PARALLEL] = np.inf
    targets = within_classes(epsilon_quasis, classes)
    weights = np.ones(len(epsilon_quasis)) if among is classes else _variances(epsilon_quasis, classes, among)
    for quasi, alone, weight in zip(epsilon_quasis, targets.T @ columns, weights.tolist(), strict=True):
        both = (alone[:, None] ** 2 + alone**2 - 2 * np.outer(alone, alone) * alike) / apart
        better = np.maximum(alone[:, None] ** 2, alone**2)
        for i, j in zip(*np.nonzero(np.triu(weight * (both - better), 1) >= NOTED_GAIN), strict=True):
            r_squared, gain = min(float(both[i, j]), 1.0), weight * float(both[i, j] - better[i, j])
            # The share of what the better column left has a Beta(½, freedom/2) law where the other tells nothing.
            left = (1 - r_squared) / (1 - float(better[i, j]))
            if n_pairs * left ** (freedom / 2) <= _BY_CHANCE:
                yield KeptPair(
                    columns=(names[i], names[j]),
                    of=quasi,
                    kind=kind,
                    r_squared=weight * r_squared,
                    gain=gain,
                    is_alarm=gain >= ALARMING_GAIN or weight * r_squared >= ALARMING_R_SQUARED,
                )


def within_classes(columns: Mapping[str, FloatArray], classes: ClassOrder) -> FloatArray:
    """Columns less their means in each class, of length 1, missing values 0; (n_in_classes, n_columns) in class order."""
    centred = _centred(columns, classes)
    lengths = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    # A column that does not vary within any class leaves rounding errors alone, and tells nothing.
    lengths[lengths < 1e-9 * math.sqrt(max(len(centred), 1))] = np.inf
    shortened: FloatArray = centred / lengths
    return shortened


def _centred(columns: Mapping[str, FloatArray], classes: ClassOrder) -> FloatArray:
    """Columns less their means in each class, missing values 0; (n_in_classes, n_columns) in class order."""
    values = np.column_stack([own[classes.records] for own in columns.values()])
    missing = np.isnan(values)
    values = np.where(missing, 0.0, values)
    present = np.add.reduceat(~missing, classes.starts, axis=0, dtype=np.int64)
    means = np.add.reduceat(values, classes.starts, axis=0) / np.maximum(present, 1)
    centred: FloatArray = np.where(missing, 0.0, values - np.repeat(means, classes.sizes, axis=0))
    return centred


def _variances(columns: Mapping[str, FloatArray], classes: ClassOrder, among: ClassOrder) -> FloatArray:
    """Variance of each column in `classes` as a share of that in the classes `among`, shape (n_columns,)."""
    own, of_all = (np.square(_centred(columns, these)).sum(axis=0) for these in (classes, among))
    shares: FloatArray = np.divide(own, of_all, out=np.zeros(len(own)), where=of_all > 0)
    return shares
