# SPDX-License-Identifier: Apache-2.0
"""Settings for a numeric quasi that gets the other role: what `init` would propose, to be edited by the curator."""

from __future__ import annotations

from kepsilon.engines.arrow.profile import ColumnProfile
from kepsilon.json_values import Json
from kepsilon.policy.exact_bounds import FINEST_BITS
from kepsilon.policy.roles import fraction
from kepsilon.propose.hierarchies import (
    Hierarchy,
    coarse_step,
    intervals_of,
    is_numeric,
    nice,
    precision_of,
    public_step,
    round_domain,
    tidy,
)
from kepsilon.propose.rules import propose_role


def can_switch(column: ColumnProfile) -> bool:
    """Whether the column holds different numbers that intervals and noise can handle."""
    return is_numeric(column)


def as_k_quasi(column: ColumnProfile) -> Json:
    """Settings of a numeric k-quasi: intervals, and the public step for algorithms that cut numbers."""
    proposed = propose_role(column).hierarchy
    is_of_numbers = proposed is not None and "widths" in proposed
    hierarchy: Hierarchy = proposed if proposed is not None and is_of_numbers else intervals_of(column)
    return {"role": "k-quasi", "hierarchy": hierarchy, "step": public_step(column, hierarchy)}


def as_epsilon_quasi(column: ColumnProfile, *, is_declared: bool, has_missing: bool) -> Json:
    """Settings of an ε-quasi: a coarse range, or bounds where `is_declared`, and a domain where no number is negative.

    Where values are missing their records make classes of their own, as they do for a k-quasi.
    """
    precision, _ = precision_of(column)
    coarse = coarse_step(column, precision)
    domain = round_domain(column, precision)
    settings: Json = {"role": "epsilon-quasi", "precision": precision, "range": {"coarse": coarse}}
    if is_declared:
        settings["range"] = list(domain or _round_bounds(column))
    if domain is not None:
        settings["domain"] = list(domain)
    if has_missing:
        settings["missing"] = "class"
    return settings | {"precision": _fitting(precision, settings["range"])}


def _round_bounds(column: ColumnProfile) -> tuple[float, float]:
    """Round numbers at least twice as far from zero as the smallest and the largest number."""
    low, high = (nice(2 * abs(own)) if own else 0 for own in (column.low, column.high))
    return (-low if column.low < 0 else 0), (high if column.high > 0 else 0)


def _fitting(precision: float, range_: object) -> float:
    """The precision, coarser where the range has more steps of it than noise can have."""
    if not isinstance(range_, list):
        return precision
    while fraction(range_[1]) - fraction(range_[0]) > fraction(precision) * 2**FINEST_BITS:
        precision = tidy(10 * precision)
    return precision
