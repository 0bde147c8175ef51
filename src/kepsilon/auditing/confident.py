# SPDX-License-Identifier: Apache-2.0
"""Confident k: around every published value lie k originals of its class, at the confidence of the policy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kepsilon.auditing.classes import Classes
from kepsilon.auditing.findings import Findings, counted
from kepsilon.auditing.noise_law import ClaimedNoise, inside_class, radius_quantile
from kepsilon.auditing.tables import Released
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import FloatArray, IntArray

ROUNDING = 4 * np.finfo(np.float64).eps
"""Distances between decimals held as doubles may differ by this part of them and be the same."""

PAIRS_AT_ONCE = 1 << 22


def check_confident_k(
    released: Released, classes: Classes, noise: ClaimedNoise, policy: Policy, findings: Findings
) -> None:
    confidence = policy.confidence
    if confidence is None:
        return
    rule = policy.confidence_rule
    reach = originals_in_reach(released, classes, noise, policy, confidence=confidence)
    seen = classes.is_known[classes.of_released]
    if not seen.any():
        findings.note("confident k", "the originals of no class are known, so that nothing was looked at.")
        return
    n_known = int(np.count_nonzero(classes.is_known))
    n_few = int(np.count_nonzero((reach > 0) & (reach < policy.k) & seen))
    n_zero = int(np.count_nonzero((reach == 0) & seen))
    findings.require(
        n_few == 0,
        "confident k",
        right=f"in the {counted(n_known, 'class', 'classes')} whose originals are known no published value has 1 to "
        f"{policy.k - 1} originals in reach at confidence {confidence}; {counted(n_zero, 'has', 'have')} none in reach"
        + ("." if rule == "suppress_zero" or not n_zero else f", which the rule {rule} allows."),
        wrong=f"{counted(n_few, 'published value has', 'published values have')} fewer than k = {policy.k} originals of "
        "their class in reach at confidence "
        f"{confidence}, and should have been left out.",
    )
    if rule == "suppress_zero" and n_zero:
        findings.broken(
            "confident k",
            f"{counted(n_zero, 'published value has', 'published values have')} no original in reach, and should have been "
            "left out.",
        )
    if rule == "strict":
        near = np.bincount(classes.of_released[reach >= policy.k], minlength=classes.n_classes)
        n_thin = int(np.count_nonzero(near[classes.is_known] < policy.k))
        if n_thin:
            findings.broken(
                "confident k",
                f"{counted(n_thin, 'class has', 'classes have')} fewer than k records with k originals in reach.",
            )
    if not classes.all_known:
        findings.note("confident k", "classes whose originals are not known were not looked at.")


def originals_in_reach(
    released: Released, classes: Classes, noise: ClaimedNoise, policy: Policy, *, confidence: float
) -> IntArray:
    """How many originals of its class lie within the linking range of every published record, in every ε-quasi."""
    names = list(policy.epsilon_quasis)
    radii = np.array([0.0, *(radius_quantile(d, confidence) for d in range(1, len(names) + 1))])
    half = np.array([float(fraction(attribute.precision)) / 2 for attribute in policy.epsilon_quasis.values()])
    reach = noise.ranges * (radii[noise.n_active] / float(policy.exact_epsilon))[:, np.newaxis] + half
    reach = np.where(noise.ranges > 0, reach, np.nan)  # what a whole class shares rules nobody out
    published = np.column_stack([released.numbers[name] for name in names])
    counts = np.zeros(released.n_records, dtype=np.int64)
    for c, records, originals in members_of_classes(classes):
        values, own = noise.values[originals], published[records]
        if len(names) == 1 and not np.isnan(values).any() and not np.isnan(reach[c, 0]):
            ordered = np.sort(values[:, 0])
            slack = np.minimum(ROUNDING * (np.abs(own[:, 0]) + reach[c, 0]), half[0] / 2)
            counts[records] = np.searchsorted(ordered, own[:, 0] + reach[c, 0] + slack, side="right") - np.searchsorted(
                ordered, own[:, 0] - reach[c, 0] - slack, side="left"
            )
            continue
        at_once = max(1, PAIRS_AT_ONCE // max(1, len(originals)))
        for start in range(0, len(records), at_once):
            counts[records[start : start + at_once]] = _within(own[start : start + at_once], values, reach[c], half)
    return counts


def _within(published: FloatArray, values: FloatArray, reach: FloatArray, half: FloatArray) -> IntArray:
    """Attributes that are missing or the same throughout the class rule nobody out. `half` is half the precision."""
    near = np.ones((len(published), len(values)), dtype=np.bool_)
    for j in range(published.shape[1]):
        if np.isnan(reach[j]):
            continue
        distance = np.abs(published[:, j, np.newaxis] - values[:, j])
        near &= distance <= reach[j] + np.minimum(
            ROUNDING * (np.abs(published[:, j, np.newaxis]) + reach[j]), half[j] / 2
        )
    counts: IntArray = np.count_nonzero(near, axis=1)
    return counts


def members_of_classes(classes: Classes) -> Iterator[tuple[int, IntArray, IntArray]]:
    """Every known class: its number, its released records and its originals."""
    originals = np.flatnonzero(inside_class(classes))
    originals = originals[np.argsort(classes.of_original[originals], kind="stable")]
    records = np.argsort(classes.of_released, kind="stable")
    places = np.arange(classes.n_classes + 1)
    first_original = np.searchsorted(classes.of_original[originals], places)
    first_record = np.searchsorted(classes.of_released[records], places)
    for c in np.flatnonzero(classes.is_known).tolist():
        yield (
            c,
            records[first_record[c] : first_record[c + 1]],
            originals[first_original[c] : first_original[c + 1]],
        )
