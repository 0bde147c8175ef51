# SPDX-License-Identifier: Apache-2.0
"""Finds a few records without protection, which tests of averages over many records do not show."""

from __future__ import annotations

import math

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import below, lattice_share
from kepsilon.auditing.findings import counted
from kepsilon.auditing.noise_law import Rounding
from kepsilon.auditing.one_draw import has_own_draw, most_with_one_draw
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.auditing.tail_bounds import chernoff_bound
from kepsilon.rounding import percent
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


def check_exact_values(case: AuditCase, *, units: str = "records") -> None:
    """With a linkage, counts values that noise left as they were, over the whole release and class by class.

    The number expected is summed over all originals of a class, released or not, so that leaving some out cannot explain
    a high count. Confident k takes out whole classes by their noise, so those that stay hold more values near their
    originals than chance gives; over the whole release each record of an absent class therefore counts as expected.
    `units` names what was drawn for: records, or groups whose averages are published.
    """
    classes, noise, linkage, findings = case.classes, case.noise, case.linkage, case.findings
    if linkage is None or not case.policy.epsilon_quasis:
        return
    level = case.false_alarms.level("exact values", n_tests=2 * len(case.policy.epsilon_quasis))
    n_elsewhere = n_taken_out_with_class(case)
    one_class = level / max(1, classes.n_classes + n_elsewhere // case.policy.k)
    for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
        rounding = Rounding.of(attribute)
        originals = classes.known_originals
        originals = originals[has_own_draw(case)[originals]]
        originals = originals[np.nan_to_num(noise.ranges[classes.of_original[originals], j]) > 0]
        is_own = np.zeros(case.original.n_records, dtype=np.bool_)
        is_own[linkage.original_row] = _is_unmoved(
            case.released.numbers[name], noise.values[linkage.original_row, j], rounding=rounding
        )
        ids = classes.of_original[originals]
        probability = _probability_unmoved(case, originals, j, rounding=rounding)
        is_found = is_own[originals] & (probability > 0)
        found = np.bincount(ids, weights=is_found, minlength=classes.n_classes)
        expected = np.bincount(ids, weights=probability, minlength=classes.n_classes)
        n_found = int(found.sum())
        exposed = [c for c in np.flatnonzero(found) if chernoff_bound(float(found[c]), float(expected[c])) < one_class]
        its = f"the {name} of the original" if units == "records" else f"the average {name} of its originals"
        if chernoff_bound(n_found, float(expected.sum()) + n_elsewhere) < level:
            findings.broken(
                "noise",
                f"{counted(n_found, f'{units[:-1]} is', f'{units} are')} published with {its} as it is, and "
                f"{float(expected.sum()):,.1f} would be by chance.",
            )
        elif exposed:
            n_exposed = int(found[exposed].sum())
            findings.broken(
                "noise",
                f"{counted(n_exposed, units[:-1], units)} of {counted(len(exposed), 'class', 'classes')} published with "
                f"{its} as it is, and {float(expected[exposed].sum()):,.1f} would be by chance.",
            )


def _is_unmoved(published: FloatArray, values: FloatArray, *, rounding: Rounding) -> BoolArray:
    """Whether each original value rounds to the published one; a value halfway between two multiples rounds to neither."""
    inside: BoolArray = np.abs(published - values) < rounding.step / 2 * (1 - 1e-9)
    return inside


def _probability_unmoved(case: AuditCase, originals: IntArray, j: int, *, rounding: Rounding) -> FloatArray:
    """Probability that the j-th ε-quasi of each original is published as the original rounded, shape (len(originals),).

    It is 0 for values that round to an end of the domain, where clamping gathers others too; they are not counted.
    """
    noise, ids = case.noise, case.classes.of_original[originals]
    centre = noise.values[originals, j]
    rounded = np.rint(centre / rounding.step) * rounding.step
    first, last = (below(case, j, rounded + side * rounding.step / 2, centre, ids) for side in (-1, 1))
    probability = np.minimum(1.0, last - first + lattice_share(case))
    is_inside = (rounded > rounding.low + rounding.step / 2) & (rounded < rounding.high - rounding.step / 2)
    return np.where(is_inside, probability, 0.0)


def check_links(case: AuditCase, *, realised: float, expected: float) -> None:
    """Compares the links of an attacker who attacks each record by itself with the number that claimed noise allows.

    `expected` leaves out rounding and clamping. They can only take links away, because nobody links more than an attacker
    who sees values before they are rounded and clamped. Where m records carry one draw, at most, their links count for one
    in units of m.
    """
    n, most = case.released.n_records, most_with_one_draw(case)
    if chernoff_bound(realised / most, expected / most) < case.false_alarms.level("links", n_tests=1):
        case.findings.broken(
            "attacks",
            f"a nearest-neighbour attacker links {percent(realised / n)} of the records, where the claimed noise leaves "
            f"{percent(expected / n)} to expect: some records are less protected than claimed.",
        )
    elif math.isfinite(expected):
        case.findings.passed(
            "attacks", "links of a nearest-neighbour attacker are no more than the claimed noise allows."
        )
