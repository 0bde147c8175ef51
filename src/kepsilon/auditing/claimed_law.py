# SPDX-License-Identifier: Apache-2.0
"""Probabilities of what is drawn for the originals of a case, by the law that the audit states for its mechanism."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing import bounded_law
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.noise_law import LATTICE, marginal_cdf, radius_quantile
from kepsilon.auditing.stated_laws import is_bounded
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import FloatArray, IntArray


def below(
    case: AuditCase, j: int, bounds: FloatArray, own: FloatArray, class_ids: IntArray, *, factor: float = 1.0
) -> FloatArray:
    """Probability that the j-th ε-quasi is drawn below each bound, before it is rounded; shaped like `bounds`.

    `own` are the values that it is drawn for and `class_ids` their classes, both of shape (n,); `bounds` has shape (n,) or
    (n, n_bounds). With `factor` it is for noise that is so many times smaller.
    """
    noise = case.noise
    shape = (-1, 1) if bounds.ndim == 2 else (-1,)
    own = own.reshape(shape)
    n_active = noise.n_active[class_ids]
    scale = (noise.ranges[class_ids, j] / (case.epsilon * factor)).reshape(shape)
    if is_bounded(case.policy):
        start, d = noise.starts[class_ids, j].reshape(shape), n_active.reshape(shape)
        return bounded_law.below(
            (bounds - start) / scale / d, (own - start) / scale / d, case.epsilon * factor / d.astype(np.float64)
        )
    distances = (bounds - own) / scale
    found: FloatArray = np.empty_like(distances)
    for d in np.unique(n_active).tolist():
        found[n_active == d] = marginal_cdf(distances[n_active == d], d)
    return found


def below_in_class(policy: Policy, bounds: FloatArray, own: FloatArray, *, start: float, width: float) -> FloatArray:
    """Probability that the only ε-quasi of a class is drawn below each bound; `bounds` and `own` broadcast together.

    Its range starts at `start` and has this width.
    """
    epsilon = float(policy.record_epsilon)
    if not is_bounded(policy):
        return marginal_cdf((bounds - own) * (epsilon / width), 1)
    x, own = np.broadcast_arrays((bounds - start) * (epsilon / width), (own - start) * (epsilon / width))
    return bounded_law.below(x, own, np.full(x.shape, epsilon))


def uniform_of(
    case: AuditCase,
    j: int,
    begins: FloatArray,
    ends: FloatArray,
    own: FloatArray,
    class_ids: IntArray,
    rng: np.random.Generator,
    rows: IntArray,
) -> FloatArray:
    """A number for each draw that is uniform on 0 to 1 under the claim, ½ being no noise; all arrays have shape (n,).

    A draw lay between `begins` and `ends`. A point is drawn between them as the claim has it; `rng` gives a number to each
    row of the input, and `rows` says which are asked for.
    """
    mix = rng.random(case.original.n_records)[rows]
    first, last = (below(case, j, side, own, class_ids) for side in (begins, ends))
    share = first + (last - first) * mix
    if not is_bounded(case.policy):
        return share
    coins = rng.random(case.original.n_records)[rows]
    length = case.epsilon / case.noise.n_active[class_ids]
    place = (own - case.noise.starts[class_ids, j]) / case.noise.ranges[class_ids, j] * length
    return bounded_law.folded(bounded_law.quantile(share, place, length), place, length, coins)


def lattice_share(case: AuditCase) -> float:
    """How much the steps of R/2³², in which is drawn, add to the probability of one published value, at most."""
    return (case.epsilon + is_bounded(case.policy)) * LATTICE


def reach_in_ranges(policy: Policy, d: int) -> float:
    """The linking range of confident k in units of R, before rounding, in a class in which d ε-quasis have noise."""
    epsilon, confidence = float(policy.record_epsilon), float(policy.confidence or 0)
    if is_bounded(policy):
        return bounded_law.reach(epsilon / d, confidence ** (1 / d)) / (epsilon / d)
    return radius_quantile(d, confidence) / epsilon
