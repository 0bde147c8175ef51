# SPDX-License-Identifier: Apache-2.0
"""Checks that no more records are missing than confident k explains, for OLA and one ε-quasi.

The probability that confident k takes a record out follows from its value and those of its class, rounding and clamping
included. Classes are independent, so the number taken out from all of them cannot stray far from its mean.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import below_in_class, reach_in_ranges
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.noise_law import Rounding, range_of, start_of
from kepsilon.auditing.tail_bounds import bernstein_bound
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray

MOST_PAIRS = 1 << 28
"""Pairs of records of a class, summed over classes, beyond which the number is not worked out."""


def check_taken_out(case: AuditCase) -> None:
    """Compares the number of records missing from classes of k and more with the number expected under confident k."""
    policy, classes, findings = case.policy, case.classes, case.findings
    if policy.confidence is None:
        return
    of_node = classes.of_node
    if of_node is None or len(policy.epsilon_quasis) != 1 or policy.person is not None or policy.diverse:
        findings.note("suppression", "how many records confident k should have taken out was not worked out.")
        return
    belongs = np.flatnonzero(of_node != NOWHERE)
    belongs = belongs[np.argsort(of_node[belongs], kind="stable")]
    sizes = np.bincount(of_node[belongs])
    stays = sizes >= policy.k
    n_missing = int(sizes[stays].sum()) - case.released.n_records
    if float((sizes[stays].astype(np.float64) ** 2).sum()) > MOST_PAIRS:
        findings.note("suppression", "how many records confident k should have taken out was not worked out.")
        return
    [(name, _)] = policy.epsilon_quasis.items()
    parts = np.split(case.original.numbers[name][belongs], np.cumsum(sizes)[:-1])
    expected = np.array([_expected_taken_out(parts[c], policy) for c in np.flatnonzero(stays).tolist()])
    total, own_sizes = float(expected.sum()), sizes[stays]
    variance = float((own_sizes * expected).sum())  # a number between 0 and n with mean m has variance n·m at most
    findings.figures = replace(findings.figures, confident_k_expected=total / max(1, int(own_sizes.sum())))
    probability = bernstein_bound(n_missing - total, variance=variance, largest=float(own_sizes.max(initial=0)))
    findings.require(
        probability >= case.false_alarms.level("taken out", n_tests=1),
        "suppression",
        right=f"{n_missing:,} records of classes of k and more are missing; confident k takes out about {total:,.0f}.",
        wrong=f"{n_missing:,} records of classes of k and more are missing, where confident k takes out about {total:,.0f}.",
    )


def _expected_taken_out(values: FloatArray, policy: Policy) -> float:
    """Bound on the mean number of records of a class that confident k takes out; exact where the class is sure to stay.

    `values` are all originals of the class, shape (n_originals,).
    """
    [attribute] = policy.epsilon_quasis.values()
    rounding = Rounding.of(attribute)
    if isinstance(attribute.range, tuple):
        values = np.clip(values, float(fraction(attribute.range[0])), float(fraction(attribute.range[1])))
    width = float(range_of(values.min(keepdims=True), values.max(keepdims=True), attribute)[0])
    if not width > 0:
        return 0.0
    reach = width * reach_in_ranges(policy, 1) + rounding.step / 2
    reach += 1e-12 * (float(np.abs(values).max()) + reach)
    distinct, of_value = np.unique(values, return_inverse=True)
    # All values published between two neighbouring edges have the same originals in reach; `near` counts these.
    first = np.ceil((distinct - reach) / rounding.step) - 0.5
    last = np.floor((distinct + reach) / rounding.step) + 0.5
    edges = np.unique(np.concatenate([first, last]))
    counts = np.bincount(of_value).astype(np.float64)
    within = np.zeros(len(edges) + 1)
    np.add.at(within, np.searchsorted(edges, first) + 1, counts)
    np.add.at(within, np.searchsorted(edges, last) + 1, -counts)
    near = np.rint(np.cumsum(within))
    ends = rounding.clamp(edges * rounding.step)
    if math.isfinite(rounding.low) or math.isfinite(rounding.high):
        # A value beyond an end of the domain is published as that end, so it has the same originals in reach.
        at_end = np.searchsorted(edges, np.array([rounding.low, rounding.high]) / rounding.step)
        near[: at_end[0]] = near[at_end[0]]
        near[at_end[1] + 1 :] = near[at_end[1]]
    start = float(start_of(values.min(keepdims=True), attribute)[0])
    upto = below_in_class(policy, ends, distinct[:, np.newaxis], start=start, width=width)
    mass = np.diff(upto, axis=1, prepend=0.0, append=1.0)
    few = (near > 0) & (near < policy.k)
    goes_if = near < policy.k if policy.confidence_rule == "suppress_zero" else few
    counts_if = ~few if policy.confidence_rule == "text" else near >= policy.k
    goes, remains = (_share(mass, chosen)[of_value] for chosen in (goes_if, counts_if))
    falls = _fewer_than(remains, policy.k)
    # A class falls as a whole if fewer than k of its records count. Where a record counts, that is no likelier, so the
    # product bounds both together; where it stays without counting, it may be, and the smaller probability is the bound.
    uncounted = np.minimum(np.maximum(0.0, 1 - goes - remains), falls)
    return min(float(len(values)), float((goes + remains * falls + uncounted).sum()))


def _share(mass: FloatArray, chosen: BoolArray) -> FloatArray:
    """Probability of the chosen intervals of published values for each original value, shape (n_distinct,)."""
    share: FloatArray = mass[:, chosen].sum(axis=1)
    return share


def _fewer_than(probabilities: FloatArray, k: int) -> float:
    """Probability that fewer than k independent events happen; where Chernoff's bound is below 1e-6, that bound."""
    mean = float(probabilities.sum())
    if mean > k - 1 > 0:
        bound = math.exp(-(mean - (k - 1) + (k - 1) * math.log((k - 1) / mean)))
        if bound < 1e-6:
            return bound
    happened = np.zeros(k)
    happened[0] = 1.0
    for p in probabilities.tolist():
        happened[1:] = happened[1:] * (1 - p) + happened[:-1] * p
        happened[0] *= 1 - p
    return float(happened.sum())
