# SPDX-License-Identifier: Apache-2.0
"""Tests the noise against its claim without a linkage, by the values that each class publishes.

Published values are sorted into bins, and each bin is scored by how much more probable half the noise (or twice the noise)
makes it than the claimed noise. The sum of scores does not depend on which record came from which original; its mean and
variance under the claim are exact, rounding and clamping included.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import as_one_class
from kepsilon.auditing.noise_bins import DOUBLE, HALF, LARGEST_SCORE, PLACE, BinnedValues, binned_values
from kepsilon.auditing.noise_law import Rounding, claimed_noise
from kepsilon.auditing.order import sorting_ranks
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.auditing.tables import codes_of_both
from kepsilon.auditing.tail_bounds import bernstein_bound
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import FloatArray

TESTS_OF_ONE = 5
"""Tests of one ε-quasi: too little noise, too much, centre, classes that move as a whole, classes that do not move."""

FEWEST_VALUES = 100
"""Different values, and records with noise, that a column needs before its equality with the originals is reported."""
LARGEST_SURPRISE = 25.0
"""The most that one class counts for in the test of shared noise; the mean is 1."""


def check_unlinked_noise(case: AuditCase) -> None:
    """Without a linkage, tests scale, centre and independence of the noise on each ε-quasi."""
    if case.linkage is not None or not case.policy.epsilon_quasis:
        return
    policy, original, released = case.policy, case.original, case.released
    has_all = original.is_exact and original.n_staying == released.n_records
    if not case.classes.all_known and _all_ranges_declared(policy) and has_all:
        # Every record is released and has the same range, so that it does not matter who is in which class.
        one_class = as_one_class(original, case.classes)
        case = replace(case, classes=one_class, noise=claimed_noise(original, one_class, policy))
    classes, findings = case.classes, case.findings
    level = case.false_alarms.level("noise", n_tests=TESTS_OF_ONE * len(policy.epsilon_quasis))
    by_kept_value: dict[str, dict[str, float]] = {}
    for j, name in enumerate(policy.epsilon_quasis):
        usable = classes.is_known & (np.nan_to_num(case.noise.ranges[:, j]) > 0)
        if policy.confidence is None:
            usable &= classes.n_released == classes.n_originals
        if not classes.all_known and _is_unchanged(case, name):
            findings.broken(
                "noise", f"{name} is published as it is: its values are those of the originals, all of them."
            )
            continue
        if not usable.any():
            if classes.all_known and not np.nan_to_num(case.noise.ranges[:, j]).any():
                findings.note("noise", f"{name} has no noise in any class; nothing to test.")
            else:
                findings.warning(
                    "noise",
                    f"not tried without a linkage: whether {name} has the noise that is claimed. The originals are known of no "
                    "class that has noise, record by record.",
                )
            continue
        binned = binned_values(case, j, np.flatnonzero(usable))
        n_elsewhere = n_taken_out_with_class(case)
        n_gone = int((classes.n_originals - classes.n_released)[usable].sum()) + n_elsewhere
        _judge(case, binned, name, n_gone=n_gone, n_elsewhere=n_elsewhere, level=level)
        if policy.confidence is None and not n_gone and not policy.draws_once_per_person:
            by_kept_value[name] = _against_kept_columns(case, binned)
    n_tests = sum(map(len, by_kept_value.values()))
    level = case.false_alarms.level("patterns", n_tests=n_tests)
    for name, suspicions in by_kept_value.items():
        faults = [what for what, probability in suspicions.items() if probability < level]
        if faults:
            findings.broken("noise", f"the noise on {name} is not alike for every record: {'; '.join(faults)}.")


def _judge(case: AuditCase, binned: BinnedValues, name: str, *, n_gone: int, n_elsewhere: int, level: float) -> None:
    """Adds the finding on the noise of one ε-quasi: its first fault, or that it is as claimed."""
    findings, n_seen, n_released = case.findings, binned.n_seen, case.released.n_records
    # Whether classes move depends on who is in them, and persons with one draw may be in several.
    by_class = not n_gone and not case.policy.draws_once_per_person
    if _tail(binned, HALF, n_gone, n_elsewhere) < level:
        findings.broken("noise", f"{name} has less noise than claimed: {n_seen:,} values lie too near their originals.")
    elif _tail(binned, DOUBLE, n_gone, n_elsewhere) < level:
        findings.warning(
            "noise", f"{name} has more noise than claimed: {n_seen:,} values lie too far from their originals."
        )
    elif not n_gone and _off_centre(binned) < level:
        findings.broken("noise", f"the noise on {name} is not centred: it moves values one way more than the other.")
    elif by_class and moved_probability(binned.excess(PLACE), binned.variances[:, PLACE]) < level:
        findings.broken(
            "noise",
            f"the noise on {name} is not drawn anew for every record: classes move as a whole, or records share it.",
        )
    elif by_class and unmoved_probability(binned.excess(PLACE), binned.variances[:, PLACE]) < level:
        findings.broken(
            "noise",
            f"the noise on {name} is not drawn anew for every record: within classes it cancels, as it does in pairs of "
            "opposite noise.",
        )
    elif n_seen < n_released:
        findings.note(
            "noise",
            f"{name}: only {n_seen:,} of {n_released:,} records could be tested; their values lie as they would under the "
            "claimed noise.",
        )
    else:
        findings.passed("noise", f"{name}: the values of {n_seen:,} records lie as they would under the claimed noise.")


def _against_kept_columns(case: AuditCase, binned: BinnedValues) -> dict[str, float]:
    """Probabilities, under the claim, that noise goes so much with a kept value; by what that would mean.

    Kept values are published unchanged, so the originals of a class with one kept value are known, though not which of
    them each record came from.
    """
    suspicions = {}
    for column in case.policy.kept:
        theirs, ours, n_values = codes_of_both(case.original, case.released, column)
        texts = case.original.table.texts(column)[0]
        theirs, ours = theirs[binned.originals], ours[binned.records]
        if not np.array_equal(np.bincount(theirs, minlength=n_values), np.bincount(ours, minlength=n_values)):
            continue  # another check reports kept values that are not those of the originals
        excess = np.empty((n_values, 3))
        variance = np.empty((n_values, 3))
        for score in range(3):
            excess[:, score] = np.bincount(ours, weights=binned.found[:, score], minlength=n_values)
            excess[:, score] -= np.bincount(theirs, weights=binned.means[:, score], minlength=n_values)
            variance[:, score] = np.bincount(theirs, weights=binned.spreads[:, score], minlength=n_values)
        suspicions[f"its direction depends on {column}"] = moved_probability(excess[:, PLACE], variance[:, PLACE])
        suspicions[f"it moves values one way for one value of {column}"] = _largest(
            np.abs(excess[:, PLACE]), variance[:, PLACE], largest=2.0, sides=2
        )
        suspicions[f"it is smaller for one value of {column}"] = _largest(
            excess[:, HALF], variance[:, HALF], largest=2 * LARGEST_SCORE, sides=1
        )
        weights = sorting_ranks(texts)
        weights = 2 * weights / max(1, len(weights) - 1) - 1
        own = excess[: len(weights), PLACE]
        suspicions[f"its direction follows the order of {column}"] = min(
            1.0,
            2
            * bernstein_bound(
                abs(float(weights @ own)), variance=float(weights**2 @ variance[: len(weights), PLACE]), largest=2.0
            ),
        )
    return suspicions


def _largest(excess: FloatArray, variance: FloatArray, *, largest: float, sides: int) -> float:
    """Bound on the probability that any of these sums exceeds its mean so far: the smallest one, times their number."""
    n = int(np.count_nonzero(variance > 0))
    found = [
        bernstein_bound(float(e), variance=float(v), largest=largest) for e, v in zip(excess, variance, strict=True)
    ]
    return min(1.0, sides * n * min(found, default=1.0)) if n else 1.0


def _is_unchanged(case: AuditCase, name: str) -> bool:
    """Whether an ε-quasi shows each value as often as the originals do, though it should have noise.

    Chance cannot do that to many different values if the noise is wider than the precision. Where ranges follow from
    classes, the smallest range that the labels of a class allow tells how wide its noise is at least.
    """
    policy, original, classes = case.policy, case.original, case.classes
    attribute = policy.epsilon_quasis[name]
    rounding = Rounding.of(attribute)
    published, own = case.released.numbers[name], original.numbers[name][original.stays]
    if isinstance(attribute.range, tuple):
        own = np.clip(own, float(fraction(attribute.range[0])), float(fraction(attribute.range[1])))
    if len(published) != len(own) or classes.cover is None:
        return False
    units = np.sort(np.rint(np.clip(own, rounding.low, rounding.high) / rounding.step))
    if len(np.unique(units)) < FEWEST_VALUES or not np.array_equal(
        units, np.sort(np.rint(published / rounding.step)), equal_nan=True
    ):
        return False
    wide = rounding.step * case.epsilon  # with this range the scale of the noise is one step of the precision
    if isinstance(attribute.range, tuple):
        return float(fraction(attribute.range[1])) - float(fraction(attribute.range[0])) >= wide
    is_due = classes.cover.smallest_ranges(original.numbers[name], classes.n_released) >= wide
    return int(classes.n_released[is_due].sum()) >= FEWEST_VALUES


def _all_ranges_declared(policy: Policy) -> bool:
    """Whether no range depends on classes: all are declared, and no class is made of missing values."""
    quasis = policy.epsilon_quasis.values()
    return all(isinstance(attribute.range, tuple) and attribute.missing == "suppress" for attribute in quasis)


def _tail(binned: BinnedValues, score: int, n_gone: int, n_elsewhere: int) -> float:
    """Bound on the probability, under the claim, of so large a sum of one score over all classes.

    Each of the `n_gone` records that were taken out is counted with the lowest score. The `n_elsewhere` among them whose
    class is not in the release add to the variance as much as they can.
    """
    excess = float(binned.excess(score).sum()) - n_gone * 2 * LARGEST_SCORE
    variance = float(binned.variance[score]) + n_elsewhere * binned.most * LARGEST_SCORE**2
    if n_elsewhere and binned.most > 1:
        variance *= 2  # a draw may be of records on both sides, and (a + b)² ≤ 2(a² + b²)
    largest = float(binned.largest[score])
    if n_elsewhere:
        largest += (binned.most - 1) * 2 * LARGEST_SCORE  # what records of other classes add
    return bernstein_bound(excess, variance=variance, largest=largest)


def _off_centre(binned: BinnedValues) -> float:
    """Bound on the probability, under the claim, that values lie so far to one side."""
    excess = abs(float(binned.excess(PLACE).sum()))
    return 2 * bernstein_bound(excess, variance=float(binned.variance[PLACE]), largest=float(binned.largest[PLACE]))


def moved_probability(excess: FloatArray, variance: FloatArray) -> float:
    """Bound on the probability, under the claim, that groups of records move so much as a whole.

    `excess` is the sum of a score from −1 to 1 over each group, less its mean, and `variance` its variance, V. Shared noise
    does not average out, so that the surprise Y = excess²/V, whose mean is 1, is then far above it. Scores x, centred,
    are at most 2 in size, so E excess⁴ ≤ 3V² + ΣE x⁴ ≤ 3V² + 4V and E Y² ≤ 3 + 4/V; cut off at L, also E Y² ≤ L.
    """
    has_any = variance > 1e-9
    if not has_any.any():
        return 1.0
    surprise = np.minimum(LARGEST_SURPRISE, excess[has_any] ** 2 / variance[has_any])
    squares = np.minimum(LARGEST_SURPRISE, 3 + 4 / variance[has_any])
    return bernstein_bound(
        float(surprise.sum()) - len(surprise), variance=float(squares.sum()), largest=LARGEST_SURPRISE
    )


def unmoved_probability(excess: FloatArray, variance: FloatArray) -> float:
    """Bound on the probability, under the claim, that groups of records move so little as a whole.

    As in `moved_probability`; 1 − Y is at most 1, and its variance at most 2 + 4/V. Groups of small variance say little,
    and are left out.
    """
    has_any = variance > 1.0
    if not has_any.any():
        return 1.0
    surprise = excess[has_any] ** 2 / variance[has_any]
    squares = 2 + 4 / variance[has_any]
    return bernstein_bound(float((1 - surprise).sum()), variance=float(squares.sum()), largest=1.0)
