# SPDX-License-Identifier: Apache-2.0
"""Compares what the curator's record says about surviving statistics with the original and the release.

Statistics are worked out again, two columns at a time, in the plainest way. Figures that the record has from a sample are
not compared; where all records fit, it may not call anything a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.comparison import Comparison, agree
from kepsilon.auditing.grouped import numbered_groups
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.auditing.tables import codes_of_both
from kepsilon.evaluate.survival import rules
from kepsilon.json_values import Json
from kepsilon.table.arrays import FloatArray, IntArray

NEVER_SAMPLED = 20_000
"""Records of an original, at most, of which everything is measured on all."""

PERCENTS = (5, 25, 50, 75, 95)

MARGIN = 1e-3
"""A change this near to what is allowed may be judged either way: sums are rounded in another order here."""

EXTREME = 1e100
"""Values beyond this, or spreads below its inverse, leave no digits to compare once they are squared."""


def compare_survival(case: AuditCase, document: Json, found: Comparison) -> None:
    """Compares every figure of `survives` that can be worked out from the original and the release."""
    stated = document.get("survives")
    if stated is None:
        return  # a record of version 0.1 has none
    names = list(case.policy.epsilon_quasis)
    if not isinstance(stated, Mapping) or set(stated) != set(names):
        found.require(False, "survives")
        return
    if not case.original.is_exact:
        return  # it is not known which records were counted
    for name in names:
        _compare_attribute(case, stated[name], name, f"survives.{name}", found)


def _compare_attribute(case: AuditCase, own: Any, name: str, where: str, found: Comparison) -> None:
    """Compares the figures of one ε-quasi."""
    parts = ("mean", "spread", "quantiles", "error", "error_of_best_constant", "correlation", "relations")
    if not isinstance(own, Mapping) or not all(isinstance(own.get(part), Mapping) for part in parts):
        found.require(False, where)
        return
    before, after = case.original.numbers[name][case.original.stays], case.released.numbers[name]
    x, y = _Column.of(before), _Column.of(after)
    if _all_measured(case, own, where, found) and x.has_digits and y.has_digits:
        slack = x.slack + y.slack
        changes = {
            "mean": (x.mean, y.mean, rules.shift(x.mean, y.mean, spread=x.spread), slack),
            "spread": (x.spread, y.spread, rules.stretch(x.spread, y.spread), slack),
        }
        for key, (one, other, change, give) in changes.items():
            is_fixed = x.spread == 0
            _compare_figure(own[key], one, other, change, f"{where}.{key}", found, slack=give, is_fixed=is_fixed)
    if _all_measured(case, own["quantiles"], f"{where}.quantiles", found) and x.has_digits and y.has_digits:
        _compare_quantiles(case, own["quantiles"], x, y, where, found)
    _compare_single_values(case, own, name, where, found)
    for other, relation in own["relations"].items():
        _compare_relation(case, relation, name, other, f"{where}.relations.{other}", found)


def _all_measured(case: AuditCase, stated: Any, where: str, found: Comparison) -> bool:
    """Whether the figures are of all records; they have to be where there are few."""
    if not isinstance(stated, Mapping):
        found.require(False, where)
        return False
    words = stated.get("measured_on")
    if words is not None:
        found.require(isinstance(words, str) and case.original.n_staying > NEVER_SAMPLED, f"{where}.measured_on")
    return words is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """Some values, none missing, with their mean and spread."""

    values: FloatArray
    mean: float | None
    spread: float | None
    """The standard deviation, with n − 1; exactly 0 where all values agree."""

    @classmethod
    def of(cls, values: FloatArray) -> _Column:
        values = values[~np.isnan(values)]
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(np.mean(values)) if values.size else None
            spread = None
            if values.size > 1:
                spread = 0.0 if values.max() == values.min() else float(np.std(values, ddof=1))
        return cls(values=values, mean=mean, spread=spread)

    @property
    def slack(self) -> float:
        """By how much a sum in another order may change a mean."""
        return 1e-9 * (self.spread or 0.0) + 1e-13 * float(np.abs(self.values).max(initial=0.0))

    @property
    def has_digits(self) -> bool:
        largest = float(np.abs(self.values).max(initial=0.0))
        return largest < EXTREME and (not self.spread or self.spread > max(1 / EXTREME, 1e-9 * largest))


def _compare_figure(
    stated: Any,
    before: float | None,
    after: float | None,
    change: float | None,
    where: str,
    found: Comparison,
    *,
    slack: float,
    is_fixed: bool = False,
) -> None:
    """Compares a statistic before and after, and whether it may be used: `change` is as in `rules`.

    It `is_fixed` if it may not move at all, because all values before agree.
    """
    if not isinstance(stated, Mapping):
        found.require(False, where)
        return
    for key, known in (("before", before), ("after", after)):
        found.require(_near(stated.get(key), known, slack=slack), f"{where}.{key}")
    if is_fixed and before is not None and after is not None and abs(after - before) <= slack:
        return  # rounding decides
    if change is None or abs(change - 1) > MARGIN:
        found.require(stated.get("usable") is rules.usable(change), f"{where}.usable")


def _near(stated: Any, known: float | None, *, slack: float) -> bool:
    """Whether a stated figure is the known one, or as near as sums in another order come to it."""
    if stated is None or known is None:
        return stated is known
    if not isinstance(stated, int | float) or isinstance(stated, bool) or abs(stated) > 1e300:
        return False
    return agree(stated, known) or abs(stated - known) <= slack


def _compare_quantiles(
    case: AuditCase, stated: Mapping[str, Any], before: _Column, after: _Column, where: str, found: Comparison
) -> None:
    for percent in PERCENTS:
        one, other = (_quantile(own.values, percent, k=case.policy.k) for own in (before, after))
        change = rules.shift(one, other, spread=before.spread)
        path = f"{where}.quantiles.{percent}"
        _compare_figure(stated.get(str(percent)), one, other, change, path, found, slack=0.0)


def _quantile(values: FloatArray, percent: int, *, k: int) -> float | None:
    """The smallest value that so many per cent do not exceed; None where fewer than k values lie on one side of it."""
    n = len(values)
    if n == 0 or min(percent, 100 - percent) * n < 100 * k:
        return None
    return float(np.sort(values)[-(-percent * n // 100) - 1])


def _compare_single_values(case: AuditCase, own: Mapping[str, Any], name: str, where: str, found: Comparison) -> None:
    """Compares errors in units: of noise with a linkage, and of the best constant where all classes are known."""
    error, constant = own["error"], own["error_of_best_constant"]
    classes, linkage = case.classes, case.linkage
    known = None
    if classes.all_known and n_taken_out_with_class(case) == 0:
        known = _error_of_medians(case, name)
        found.require(
            _near(constant.get("absolute"), known, slack=1e-9 * (known or 0.0)),
            f"{where}.error_of_best_constant.absolute",
        )
    expected = error.get("expected")
    if known is not None and isinstance(expected, int | float) and not agree(expected, known):
        usable = rules.tells_more_than_class(expected, of_constant=known)
        found.require(error.get("usable") is usable, f"{where}.error.usable")
    if linkage is None:
        return
    before, after = case.original.numbers[name][linkage.original_row], case.released.numbers[name]
    present = ~np.isnan(before)
    if present.any() and _Column.of(before).has_digits:
        moved = float(np.mean(np.abs(after - before)[present]))
        found.require(_near(error.get("realised"), moved, slack=1e-9 * moved), f"{where}.error.realised")
    _compare_inside_classes(case, own["correlation"], before, after, f"{where}.correlation", found)


def _compare_inside_classes(
    case: AuditCase, stated: Mapping[str, Any], before: FloatArray, after: FloatArray, where: str, found: Comparison
) -> None:
    """Compares the correlation of published with true values inside classes, where they vary enough to have digits."""
    if not _Column.of(before).has_digits or not _Column.of(after).has_digits:
        return
    rows = np.flatnonzero(~np.isnan(before))
    groups, sizes = numbered_groups(case.classes.of_released[rows])
    one, other = (_from_means(own[rows], groups, sizes) for own in (before, after))
    squares = (float(one @ one), float(other @ other), float(one @ other))
    least = [1e-9 * float(np.nanmax(np.abs(own), initial=0.0)) for own in (before, after)]
    if squares[0] <= len(before) * least[0] ** 2 or squares[1] <= len(before) * least[1] ** 2:
        return
    known = float(squares[2] / math.sqrt(squares[0]) / math.sqrt(squares[1]))
    found.require(_near(stated.get("inside_classes"), known, slack=1e-6), f"{where}.inside_classes")
    change = rules.deafness(known)
    if change is None or abs(change - 1) > MARGIN:
        found.require(stated.get("usable") is rules.usable(change), f"{where}.usable")


def _from_means(values: FloatArray, groups: IntArray, sizes: IntArray) -> FloatArray:
    """Values as distances from the mean of their group; from the first value first, so that large values keep their digits."""
    firsts = np.zeros(len(sizes))
    firsts[groups[::-1]] = values[::-1]
    apart = values - firsts[groups]
    return apart - (np.bincount(groups, weights=apart, minlength=len(sizes)) / sizes)[groups]


def _error_of_medians(case: AuditCase, name: str) -> float | None:
    """The mean distance of originals from the median of their class, over all released classes."""
    rows = np.flatnonzero(case.classes.of_original != NOWHERE)
    values, ids = case.original.numbers[name][rows], case.classes.of_original[rows]
    present = ~np.isnan(values)
    values, ids = values[present], ids[present]
    if not values.size:
        return None
    order = np.argsort(ids, kind="stable")
    total = 0.0
    for own in np.split(values[order], np.flatnonzero(np.diff(ids[order])) + 1):
        total += float(np.abs(own - np.median(own)).sum())
    mean = total / len(values)
    return mean if math.isfinite(mean) else None


def _compare_relation(case: AuditCase, stated: Any, name: str, other: str, where: str, found: Comparison) -> None:
    """Compares correlation and slope with another column."""
    pairs = _columns(case, name, other)
    if pairs is None or not isinstance(stated, Mapping):
        found.require(False, where)
        return
    if not _all_measured(case, stated, where, found):
        return
    (x, y), (drawn_x, drawn_y) = pairs
    before, after = _Pair.of(x, y, k=case.policy.k), _Pair.of(drawn_x, drawn_y, k=case.policy.k)
    if not before.has_digits or not after.has_digits:
        return
    change = rules.correlation_shift(before.correlation, after.correlation)
    _compare_figure(
        stated.get("correlation"),
        before.correlation,
        after.correlation,
        change,
        f"{where}.correlation",
        found,
        slack=before.slack + after.slack,
    )
    change = rules.slope_change(before.slope, after.slope, standard_error=before.standard_error)
    scale = max(before.scale, after.scale)
    slack = (before.slack + after.slack) * scale
    _compare_figure(stated.get("slope"), before.slope, after.slope, change, f"{where}.slope", found, slack=slack)


def _columns(
    case: AuditCase, name: str, other: str
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]] | None:
    """An ε-quasi and another column, of the counted originals and of the release; None where it is no such column."""
    original, released = case.original, case.released
    x, drawn_x = original.numbers[name][original.stays], released.numbers[name]
    if other in original.numbers and other != name:
        return (x, original.numbers[other][original.stays]), (drawn_x, released.numbers[other])
    if other not in case.policy.kept:
        return None
    rows = np.flatnonzero(original.stays)
    column = original.table.whole_columns([other], rows)[other]
    if column.numbers is None:
        return None
    y = np.append(column.numbers, np.nan)[column.codes]
    theirs, ours, n_values = codes_of_both(original, released, other)
    number_of = np.full(n_values, np.nan)
    number_of[theirs[rows]] = y
    return (x, y), (drawn_x, number_of[ours])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Correlation and slope of two columns; None where one of them does not vary, or fewer than k records hold both."""

    correlation: float | None
    slope: float | None
    standard_error: float
    scale: float
    """The spread of y over that of x."""
    slack: float
    """By how much sums in another order may change the correlation."""
    has_digits: bool

    @classmethod
    def of(cls, x: FloatArray, y: FloatArray, *, k: int) -> _Pair:
        both = ~(np.isnan(x) | np.isnan(y))
        one, other = _Column.of(x[both]), _Column.of(y[both])
        n, has_digits = len(one.values), one.has_digits and other.has_digits
        if not has_digits or n < k or not one.spread or not other.spread:
            return cls(correlation=None, slope=None, standard_error=0.0, scale=0.0, slack=0.0, has_digits=has_digits)
        scale = other.spread / one.spread
        r = float(np.mean((one.values - np.mean(one.values)) * (other.values - np.mean(other.values))))
        r *= n / (n - 1) / (one.spread * other.spread)
        return cls(
            correlation=r,
            slope=r * scale,
            standard_error=scale * math.sqrt(max(0.0, 1 - r * r) / (n - 2)) if n > 2 else 0.0,
            scale=scale,
            slack=1e-8 + one.slack / one.spread + other.slack / other.spread,
            has_digits=True,
        )
