# SPDX-License-Identifier: Apache-2.0
"""Whether more records are missing than confident k explains, for OLA and one ε-quasi.

How probable it is that confident k takes a record out follows from its value and those of its class, with rounding and
clamping in it. Classes are independent, so that the sum over all of them cannot stray far from what is expected.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kepsilon.auditing.classes import NOWHERE, Classes
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.noise_law import Grid, bernstein, marginal_cdf, radius_quantile, range_of
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray

MOST_PAIRS = 1 << 28


def check_taken_out(
    original: Original, released: Released, classes: Classes, policy: Policy, findings: Findings, *, alpha: float
) -> None:
    if policy.confidence is None:
        return
    of_node = classes.of_node
    if of_node is None or len(policy.epsilon_quasis) != 1 or len(classes.nodes or ()) != 1:
        findings.note("suppression", "how many records confident k should have taken out was not worked out.")
        return
    belongs = np.flatnonzero(of_node != NOWHERE)
    belongs = belongs[np.argsort(of_node[belongs], kind="stable")]
    sizes = np.bincount(of_node[belongs])
    stays = sizes >= policy.k
    n_missing = int(sizes[stays].sum()) - released.n_records
    if float((sizes[stays].astype(np.float64) ** 2).sum()) > MOST_PAIRS:
        findings.note("suppression", "how many records confident k should have taken out was not worked out.")
        return
    [(name, _)] = policy.epsilon_quasis.items()
    parts = np.split(original.numbers[name][belongs], np.cumsum(sizes)[:-1])
    expected = np.array([_expected(parts[c], policy) for c in np.flatnonzero(stays).tolist()])
    total, own_sizes = float(expected.sum()), sizes[stays]
    variance = float((own_sizes * expected).sum())
    findings.figures = replace(findings.figures, confident_k_expected=total / max(1, int(own_sizes.sum())))
    findings.require(
        bernstein(n_missing - total, variance=variance, largest=float(own_sizes.max(initial=0))) >= alpha,
        "suppression",
        right=f"{n_missing:,} records of classes of k and more are missing; confident k takes out about {total:,.0f}.",
        wrong=f"{n_missing:,} records of classes of k and more are missing, where confident k takes out about {total:,.0f}.",
    )


def _expected(values: FloatArray, policy: Policy) -> float:
    """Records of a class that confident k is expected to take out, at most; exact where the class is sure to stay."""
    [attribute] = policy.epsilon_quasis.values()
    grid = Grid.of(attribute)
    if isinstance(attribute.range, tuple):
        values = np.clip(values, float(fraction(attribute.range[0])), float(fraction(attribute.range[1])))
    width = float(range_of(values.min(keepdims=True), values.max(keepdims=True), attribute)[0])
    if not width > 0:
        return 0.0
    scale = width / float(policy.exact_epsilon)
    reach = scale * radius_quantile(1, float(policy.confidence or 0)) + grid.step / 2
    reach += 1e-12 * (float(np.abs(values).max()) + reach)
    distinct, of_value = np.unique(values, return_inverse=True)
    # Between two neighbouring edges every published value has the same originals in reach.
    first = np.ceil((distinct - reach) / grid.step) - 0.5
    last = np.floor((distinct + reach) / grid.step) + 0.5
    edges = np.unique(np.concatenate([first, last]))
    counts = np.bincount(of_value).astype(np.float64)
    within = np.zeros(len(edges) + 1)
    np.add.at(within, np.searchsorted(edges, first) + 1, counts)
    np.add.at(within, np.searchsorted(edges, last) + 1, -counts)
    near = np.rint(np.cumsum(within))
    ends = grid.clamp(edges * grid.step)
    if math.isfinite(grid.low) or math.isfinite(grid.high):
        # What lies beyond an end of the domain is published there, and has in reach what the end has.
        at_end = np.searchsorted(edges, np.array([grid.low, grid.high]) / grid.step)
        near[: at_end[0]] = near[at_end[0]]
        near[at_end[1] + 1 :] = near[at_end[1]]
    below = marginal_cdf((ends - distinct[:, np.newaxis]) / scale, 1)
    mass = np.diff(below, axis=1, prepend=0.0, append=1.0)
    few = (near > 0) & (near < policy.k)
    goes_if = near < policy.k if policy.confidence_rule == "suppress_zero" else few
    counts_if = ~few if policy.confidence_rule == "text" else near >= policy.k
    goes, remains = (_share(mass, chosen)[of_value] for chosen in (goes_if, counts_if))
    falls = _fewer_than(remains, policy.k)
    # A record that counts as staying makes it no likelier that the class falls; one that stays without counting may.
    uncounted = np.minimum(np.maximum(0.0, 1 - goes - remains), falls)
    return min(float(len(values)), float((goes + remains * falls + uncounted).sum()))


def _share(mass: FloatArray, chosen: BoolArray) -> FloatArray:
    share: FloatArray = mass[:, chosen].sum(axis=1)
    return share


def _fewer_than(probabilities: FloatArray, k: int) -> float:
    """Probability that fewer than k of independent events happen, or a bound above it where that is next to nothing."""
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
