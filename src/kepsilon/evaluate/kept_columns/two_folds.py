# SPDX-License-Identifier: Apache-2.0
"""Linear predictions of kept columns from the quasis, each record's from a fit to the half that it is not in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from kepsilon.evaluate.kept_columns.coding import (
    bins_by_value,
    n_occurring,
    numbers_of,
    standardised,
    standardised_logarithms,
)
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.keys import number
from kepsilon.table.whole_records import WholeColumn

MOST_FEATURES = 200
"""Beyond that a fit would take longer than all that it is for."""
RECORDS_PER_FEATURE = 8
"""So many records of the sample are needed for each feature; with fewer, a fit learns single records by heart."""
MOST_PATTERN_RECORDS = 4_000
"""A column with missing values is fitted to so many records of a fold: it needs a fit of its own, and these suffice."""

_FEW_LEVELS = 30
"""A quasi with no more values than this also has a feature for each."""
_FARTHEST = 8.0
_SEED = 14_002
_RIDGE = 1e-9
_DEPENDENT = 1e-8
"""A feature is left out if no more than this share of its variance is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoFolds:
    """Features of all quasis and two halves of the records, drawn once from a fixed seed."""

    basis: FloatArray
    """Features made orthogonal one after the other, each with mean square 1, shape (n_records, n_features)."""
    fold: IntArray
    """The half of each record, 0 or 1, shape (n_records,); all records of a person are in one."""
    news: FloatArray
    """How much of a record is new, shape (n_records,): 1/m if m records of a person have its quasis. Their sum says how
    many features can be learnt."""

    def coefficients(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Least-squares coefficients for the records of fold 0 and of fold 1, each fitted to the records of the other.

        `targets` has shape (n_records, n_targets), coefficients (n_features, n_targets).
        """
        first, second = (self._fit(np.flatnonzero(self.fold != own), targets) for own in (0, 1))
        return first, second

    def predictions(self, targets: FloatArray) -> FloatArray:
        """Predictions of targets, each record's from the fold that it is not in, shape of `targets`.

        Targets may be NaN, in the same records for all of them: those are predicted, and nothing is learnt from them.
        """
        present: BoolArray = ~np.any(np.isnan(targets), axis=1)
        found = np.empty_like(targets)
        for own in (0, 1):
            rows = np.flatnonzero((self.fold != own) & present)
            if not present.all():
                rows = rows[:MOST_PATTERN_RECORDS]
            fitted = self._fit(rows, targets)
            is_own = self.fold == own
            found[is_own] = self.basis[is_own, : len(fitted)] @ fitted
        return found

    def _fit(self, rows: IntArray, targets: FloatArray) -> FloatArray:
        """Coefficients of as many of the first features as the rows allow."""
        n_features = max(1, min(self.basis.shape[1], int(2 * self.news[rows].sum() + 0.5) // RECORDS_PER_FEATURE))
        chosen = self.basis[rows, :n_features]
        gram = chosen.T @ chosen
        gram[np.diag_indices_from(gram)] += _RIDGE * max(len(rows), 1)
        return np.asarray(np.linalg.solve(gram, chosen.T @ targets[rows]), dtype=np.float64)


def two_folds(quasis: Mapping[str, WholeColumn], *, n_records: int, persons: IntArray | None = None) -> TwoFolds:
    """Features of the quasis in the order of their use, and the halves.

    `persons` says whom each record is about, from 0. What is the same in all records of a person would be learnt by heart
    from some of them, and found again in the others; so they are all in one half.
    """
    if persons is None:
        fold, news = np.random.default_rng(_SEED).permutation(n_records) % 2, np.ones(n_records)
    else:
        n_persons = int(persons.max(initial=-1)) + 1
        fold = (np.random.default_rng(_SEED).permutation(n_persons) % 2)[persons]
        columns = [persons, *(own.codes + 1 for own in quasis.values())]
        alike, _ = number(columns, sizes=[int(own.max(initial=0)) + 1 for own in columns], length=n_records)
        news = 1 / np.bincount(alike)[alike]
    most = max(1, min(MOST_FEATURES, int(news.sum() + 0.5) // RECORDS_PER_FEATURE))
    features = [np.ones(n_records)]
    for own in _features(list(quasis.values())):
        if len(features) == most:
            break
        features.append(own)
    return TwoFolds(basis=_orthogonal(np.column_stack(features)), fold=fold, news=news)


def _features(quasis: Sequence[WholeColumn]) -> Iterator[FloatArray]:
    """Numbers, their logarithms, squares, one feature for each frequent value of a quasi with few, and products.

    Missing numbers are taken to be the mean, and have a feature that says so. The first ones matter most: if records are
    few, or quasis many, the last ones are left out.
    """
    numbers: list[FloatArray] = []
    logarithms: list[FloatArray] = []
    missing: list[FloatArray] = []
    for quasi in quasis:
        values = numbers_of(quasi)
        if values is None or len(values) == 0:
            continue
        for found, made in ((numbers, standardised(values)), (logarithms, standardised_logarithms(values))):
            if made is not None:
                found.append(np.clip(np.nan_to_num(made), -_FARTHEST, _FARTHEST))
        if np.isnan(values).any():
            missing.append(np.isnan(values).astype(np.float64))
    squares = (own * own for own in numbers)
    products = (one * other for one, other in combinations(numbers, 2))
    yield from chain(numbers, logarithms, missing, squares, _levels(quasis), products)


def _levels(quasis: Sequence[WholeColumn]) -> Iterator[FloatArray]:
    for quasi in quasis:
        has_many = n_occurring(quasi) > _FEW_LEVELS
        if has_many and quasi.numbers is not None:
            continue
        codes = bins_by_value(quasi) if has_many else quasi.codes
        values, counts = np.unique(codes, return_counts=True)
        # The most frequent value is the one that all others are compared with.
        for value in np.delete(values, counts.argmax()) if len(values) else values:
            yield (codes == value).astype(np.float64)


def _orthogonal(features: FloatArray) -> FloatArray:
    """The features made orthogonal in their order; those that follow from earlier ones are left out.

    Cholesky's factorisation of their products, column by column, so that the first features of the result span what the
    first ones given do, however many are used.
    """
    sizes = np.sqrt(np.mean(features * features, axis=0)) if len(features) else np.zeros(features.shape[1])
    features = features[:, sizes > 0] / sizes[sizes > 0]
    left = features.T @ features / max(len(features), 1)
    n = len(left)
    factor = np.zeros((n, n))
    kept = []
    for j in range(n):
        if left[j, j] <= _DEPENDENT:
            continue
        column = left[:, j] / np.sqrt(left[j, j])
        column[:j] = 0.0
        left = left - np.outer(column, column)
        factor[:, j] = column
        kept.append(j)
    if not kept:
        return np.zeros((len(features), 1))
    triangle = factor[np.ix_(kept, kept)]
    return np.ascontiguousarray(np.linalg.solve(triangle, features[:, kept].T).T, dtype=np.float64)
