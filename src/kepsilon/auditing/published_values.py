# SPDX-License-Identifier: Apache-2.0
"""Tests the published values themselves, with a linkage or without: their last digits, and values that come too often.

Noise that is wider than the precision leaves the last digit of a published value to chance: it says nothing about the
record, and no digit is much likelier than another. By Poisson's summation formula the number N = round(X/s) of steps s,
for X = v + b·Z and Z of characteristic function φ, has E e^(2πi·jN/m) = Σ_l ±φ(2πb(j/m + l)/s)·sinc(π(j/m + l)). So
|P(N ≡ r mod m) − 1/m| is at most the sum of |φ(2πbk/ms)·sinc(πk/m)| over all k that m does not divide, over m. One
coordinate of the noise of d ε-quasis has |φ(ω)| ≤ (1 + ω²)^(−d/2)/(ωd).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.bounded_law import largest_density
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import below, lattice_share
from kepsilon.auditing.noise_law import Rounding
from kepsilon.auditing.noise_patterns import N_BLOCKS, last_digits
from kepsilon.auditing.one_draw import has_own_draw
from kepsilon.auditing.pattern_bounds import evidence_bound
from kepsilon.auditing.stated_laws import is_bounded
from kepsilon.auditing.tail_bounds import chernoff_bound
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

N_TERMS = 8
"""Terms of the sum over k, per residue, that are added one by one; a bound stands for the rest."""

LEANINGS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Alternatives to the claim: how strongly the last digits of a group lean to even or to odd ones, as half log-odds."""

LARGEST_UNITS = 2.0**50
"""Units of the precision beyond which doubles have no last digit."""

MOST_VALUES = 32
"""Published values, at most, that are looked at because they come more often than those beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedValues:
    """What is published of one ε-quasi in classes that are known and have noise."""

    records: IntArray
    """Rows of these records in the release, shape (n_records,)."""
    units: FloatArray
    """Published values in units of the precision, shape (n_records,)."""
    is_seen: BoolArray
    """Whether the last digit is that of value and noise, and not of an end of the domain, shape (n_records,)."""
    scale: FloatArray
    """Scale of the noise in units of the precision, shape (n_records,)."""
    n_active: IntArray
    """ε-quasis with noise in the record's class, shape (n_records,)."""
    steps: FloatArray
    """Steps in which noise was drawn, per unit of the precision, shape (n_records,)."""
    most_of_one: FloatArray | None
    """For a density on a range that first rises and then falls: the most probability that one value has, shape (n_records,).

    Probabilities of successive values then rise and fall too, and no residue has more or less than its part of them by more
    than the largest."""

    def bias(self, m: int) -> FloatArray:
        """Bound on how far the probability of a residue modulo m is from 1/m, shape (n_records,)."""
        off = residue_bias(self.scale, self.n_active, m) if self.most_of_one is None else self.most_of_one
        # A unit holds the same number of the noise's own steps as the next one, or one more.
        bias: FloatArray = np.minimum(1.0, off + 2 / self.steps)
        return bias


def check_published_values(case: AuditCase) -> None:
    """Tests the last digits and the frequencies of the values that are published of each ε-quasi.

    Where confident k takes records out by their noise, nothing is tested; nor is it without a linkage where all records of
    a person carry one draw.
    """
    if not case.policy.epsilon_quasis or case.policy.confidence is not None:
        return
    if case.policy.draws_once_per_person and case.linkage is None:
        return  # `check_one_draw` says so
    found: dict[str, dict[str, float]] = {}
    n_tested: dict[str, int] = {}
    for j, name in enumerate(case.policy.epsilon_quasis):
        published = _published(case, j)
        n_tested[name] = len(published.records)
        if n_tested[name]:
            found[name] = {**_digits(published), **_against_groups(case, published), **_frequent(case, j, published)}
    n_tests = sum(map(len, found.values()))
    if not n_tests:
        return
    level = case.false_alarms.level("published values", n_tests=n_tests)
    for name, suspicions in found.items():
        faults = [what for what, probability in suspicions.items() if probability < level]
        if faults:
            case.findings.broken(
                "noise", f"published values of {name} are not original plus noise, rounded: {'; '.join(faults)}."
            )
        elif n_tested[name] == case.released.n_records or case.policy.draws_once_per_person:
            case.findings.passed(
                "noise",
                f"{name}: last digits and frequencies of published values tell nothing in {len(suspicions)} ways.",
            )


def _published(case: AuditCase, j: int) -> PublishedValues:
    """The published values of the j-th ε-quasi in classes that are known and have noise."""
    classes, noise = case.classes, case.noise
    name, attribute = list(case.policy.epsilon_quasis.items())[j]
    rounding, values = Rounding.of(attribute), case.released.numbers[name]
    ranges = np.nan_to_num(noise.ranges[:, j])
    has_digits = np.fmax(np.abs(noise.low[:, j]), np.abs(noise.high[:, j])) + 800 * ranges / case.epsilon
    usable = classes.is_known & (ranges > 0) & (has_digits < LARGEST_UNITS * rounding.step)
    records = np.flatnonzero(usable[classes.of_released])
    if case.linkage is not None:
        records = records[has_own_draw(case)[case.linkage.original_row[records]]]
    own = classes.of_released[records]
    units = np.rint(values[records] / rounding.step)
    is_inside = (values[records] > rounding.low) & (values[records] < rounding.high)
    return PublishedValues(
        records=records,
        units=units,
        is_seen=is_inside & (np.abs(units) < LARGEST_UNITS),
        scale=ranges[own] / case.epsilon / rounding.step,
        n_active=noise.n_active[own],
        steps=2.0**32 * rounding.step / ranges[own],
        most_of_one=largest_density(case.epsilon / noise.n_active[own]) * rounding.step / ranges[own]
        if is_bounded(case.policy)
        else None,
    )


def _digits(published: PublishedValues) -> dict[str, float]:
    """How probable it is, at most, that one last digit comes so often."""
    digits = np.mod(published.units[published.is_seen], 10).astype(np.int64)
    counts = np.bincount(digits, minlength=10)
    mean = float(np.minimum(1.0, 0.1 + published.bias(10)).sum())
    return {"one last digit comes too often": min(1.0, 10 * chernoff_bound(float(counts.max()), mean))}


def _against_groups(case: AuditCase, published: PublishedValues) -> dict[str, float]:
    """How probable it is, at most, that whether the last digit is even goes so much with what is known of the record."""
    records, linkage = published.records, case.linkage
    bits = np.where(published.is_seen, 1.0 - 2.0 * np.mod(published.units, 2), np.nan)
    bias = 2 * published.bias(2)
    groups: dict[str, IntArray] = {}
    for name in case.policy.kept:
        groups[name] = case.released.table.texts(name)[1][records]
    if linkage is None:
        for name, (_, codes) in case.released.labels.items():
            groups[name] = codes[records]
    else:
        rows = linkage.original_row[records]
        groups["whether the row of the input is even"] = rows % 2
        for n_blocks in N_BLOCKS:
            groups[f"the part of the input, of {n_blocks}"] = rows * n_blocks // max(1, case.original.n_records)
        for name in case.original.domains:
            groups[name] = case.original.table.texts(name)[1][rows]
        groups |= last_digits(case, rows)
    return {
        f"whether the last digit is even depends on {name}": leaning_probability(bits, ids, bias=bias)
        for name, ids in groups.items()
    }


def _frequent(case: AuditCase, j: int, published: PublishedValues) -> dict[str, float]:
    """How probable it is, at most, that some value is published so often, as one does to which others were moved.

    Of n records a mean of μ_x publish x, and all μ_x sum to n. So a value that comes so often with probability p gives the
    bound p·n/μ_x for all values together.
    """
    classes, noise = case.classes, case.noise
    attribute = list(case.policy.epsilon_quasis.values())[j]
    rounding = Rounding.of(attribute)
    values, counts = np.unique(published.units[published.is_seen], return_counts=True)
    smallest = 1.0
    if values.size:
        is_next = np.diff(values) == 1
        beside = np.append(np.where(is_next, counts[1:], 0), 0) + np.append(0, np.where(is_next, counts[:-1], 0))
        chosen = np.argsort(-counts / (beside / 2 + 1), kind="stable")[:MOST_VALUES]
        usable = np.zeros(classes.n_classes, dtype=np.bool_)
        usable[classes.of_released[published.records]] = True
        originals = classes.known_originals
        originals = originals[usable[classes.of_original[originals]] & has_own_draw(case)[originals]]
        ids, centre = classes.of_original[originals], noise.values[originals, j]
        for value, count in zip(values[chosen].tolist(), counts[chosen].tolist(), strict=True):
            ends = (np.full(len(ids), (value + side) * rounding.step) for side in (-0.5, 0.5))
            first, last = (below(case, j, end, centre, ids) for end in ends)
            mean = float(np.minimum(1.0, last - first + lattice_share(case)).sum())
            smallest = min(smallest, chernoff_bound(count, mean) * len(originals) / mean if mean > 0 else 0.0)
    return {"one value comes too often": smallest}


def residue_bias(scale: FloatArray, n_active: IntArray, m: int) -> FloatArray:
    """Bound on |P(N ≡ r mod m) − 1/m| for values in steps of the precision, noise included; shape of `scale`.

    `scale` is that of the noise in such steps.
    """
    pairs, of_pair = np.unique(np.stack([scale, n_active.astype(np.float64)]), axis=1, return_inverse=True)
    own, d = pairs
    last = N_TERMS * m
    total = np.zeros(len(own))
    for k in range(1, last + 1):
        if k % m:
            frequency = 2 * np.pi * own * k / m
            size = np.minimum(1.0, (1 + frequency**2) ** (-d / 2) / (frequency * d))
            total += 2 * size * abs(np.sin(np.pi * k / m)) / (np.pi * k / m)
    # Beyond the last term |φ| ≤ 1/ω², |sinc| ≤ m/πk, and Σ k^(−3) ≤ 1/(2·last²), for either sign of k.
    total += (m / (2 * np.pi * own)) ** 2 * (m / np.pi) / last**2
    bias: FloatArray = np.minimum(1.0, total / m)[of_pair.reshape(-1)]
    return bias


def leaning_probability(bits: FloatArray, ids: IntArray, *, bias: FloatArray) -> float:
    """Bound on the probability that values of −1 and 1 lean so much to one of them, in any or several of the groups.

    A value of mean μ has E e^(λb) = cosh λ·(1 + μ·tanh λ). With |μ| ≤ `bias`, Π e^(λb)/(cosh λ·(1 + bias·tanh λ)) over a
    group has mean 1 at most, and so has its mean over λ and −λ; groups are put together as in `evidence_bound`. A value
    that is NaN counts as the one that speaks most for the release.
    """
    _, ids, sizes = np.unique(ids, return_inverse=True, return_counts=True)
    is_seen = ~np.isnan(bits)
    sums = np.bincount(ids[is_seen], weights=bits[is_seen], minlength=len(sizes))
    n_hidden = sizes - np.bincount(ids[is_seen], minlength=len(sizes))
    of_group = np.full(len(sizes), -np.inf)
    for leaning in LEANINGS:
        cost = np.bincount(ids, weights=np.log1p(bias * np.tanh(leaning)), minlength=len(sizes))
        cost += sizes * np.log(np.cosh(leaning)) + n_hidden * leaning
        for sign in (1.0, -1.0):
            of_group = np.logaddexp(of_group, sign * leaning * sums - cost - np.log(2 * len(LEANINGS)))
    return evidence_bound(of_group)
