# SPDX-License-Identifier: Apache-2.0
"""Bounds on how far chance strays: probabilities that hold for every number of records; none relies on a limit theorem.

Variables called uniform are uniform on −1 to 1 and independent. A uniform variable s has
E e^(λs) = sinh(λ)/λ ≤ e^(λ²/6), because (2k + 1)! ≥ 6^k·k! in the series of both sides: its tails are no heavier than
those of a normal variable of the same variance, 1/3.
"""

from __future__ import annotations

import math

import numpy as np

from kepsilon.table.arrays import FloatArray, IntArray

UNIFORM_VARIANCE = 1 / 3

_TRIED = np.linspace(0.002, 0.998, 250)
"""Points at which a bound that holds for each λ is evaluated; the smallest of the bounds is taken."""

_CAPS = (1.5, 3.0, 6.0)
"""The largest that an exponential variable counts as, where some are not known: a low one is better if these are many."""


def gamma_tail_bound(total: float, n: int, *, above: bool) -> float:
    """Chernoff's bound on the probability that n standard exponential variables sum to `total` or more (or less)."""
    ratio = total / n if n else 1.0
    if ratio <= 0:
        return 0.0 if not above and n else 1.0
    if (ratio > 1) is not above:
        return 1.0
    return math.exp(-n * (ratio - 1 - math.log(ratio)))


def exponential_tails(sizes: FloatArray, n_hidden: int = 0) -> tuple[float, float]:
    """Bounds on the probability that standard exponential variables are so small together, and that they are so large.

    `n_hidden` more of them are not known. They count as nothing where large ones are looked for; where small ones are,
    they count as the largest, and all are cut off there; the bound is the best of several cuts times their number.
    """
    n = len(sizes) + n_hidden
    too_large = gamma_tail_bound(float(sizes.sum()), n, above=True)
    if not n_hidden:
        return gamma_tail_bound(float(sizes.sum()), n, above=False), too_large
    too_small = 1.0
    for cap in _CAPS:
        mean = 1 - math.exp(-cap)
        variance = 2 * (1 - math.exp(-cap) * (1 + cap)) - mean**2
        total = float(np.minimum(sizes, cap).sum()) + cap * n_hidden
        # A variable is at least 0, so that none is further below its mean than the mean itself.
        too_small = min(too_small, bernstein_bound(n * mean - total, variance=n * variance, largest=mean))
    return min(1.0, len(_CAPS) * too_small), too_large


def bernstein_bound(excess: float, *, variance: float, largest: float) -> float:
    """Bernstein's bound on the probability that a sum of independent variables exceeds its mean by `excess`.

    `variance` is that of the sum; no variable exceeds its own mean by more than `largest`.
    """
    if excess <= 0:
        return 1.0
    if variance <= 0 and largest <= 0:
        return 0.0
    return math.exp(-(excess**2) / 2 / (variance + largest * excess / 3))


def chernoff_bound(found: float, mean: float) -> float:
    """Chernoff's bound on the probability that a sum of independent variables in [0, 1] with this mean reaches `found`.

    It also holds for negatively associated variables, whose E e^(λ·sum) is no larger than that of independent ones.
    """
    if found <= mean:
        return 1.0
    if mean <= 0:
        return 0.0
    return math.exp(-(found * math.log(found / mean) - found + mean))


def dkw_bound(distance: float, n: int) -> float:
    """Massart's bound on the probability that n draws have a distribution function this far from the true one."""
    return min(1.0, 2 * math.exp(-2 * n * distance**2)) if distance > 0 else 1.0


def linear_bound(size: float, *, squares: float) -> float:
    """Bound on the probability that |Σ w·s| of uniform variables s reaches `size`; `squares` is Σ w².

    From the moments above, P(Σ w·s ≥ t) ≤ e^(−t²/(2·Σw²/3)), for either sign.
    """
    if size <= 0 or squares <= 0:
        return 1.0
    return min(1.0, 2 * math.exp(-(size**2) / (2 * squares * UNIFORM_VARIANCE)))


def sign_bound(size: float, n: int) -> float:
    """Hoeffding's bound on the probability that |Σ ±1| of n fair signs reaches `size`: P(Σ ≥ t) ≤ e^(−t²/2n)."""
    return min(1.0, 2 * math.exp(-(size**2) / (2 * n))) if size > 0 and n else 1.0


def product_bounds(sizes: FloatArray, counts: FloatArray) -> FloatArray:
    """Bounds on the probability that |Σ s·t| of uniform variables s and t reaches `sizes`, for `counts` products each.

    E e^(λst) ≤ E e^(λ²t²/6) = E e^(λgt/√3) for a standard normal g, and that is at most E e^(λ²g²/18) = (1 − λ²/9)^(−1/2).
    With x = λ/3, P(Σ ≥ T) ≤ e^(−3xT)·(1 − x²)^(−m/2), which is least at x/(1 − x²) = 3T/m.
    """
    size, m = np.maximum(sizes, 1e-12), np.maximum(counts, 1.0)
    x = (np.sqrt(m**2 + 36 * size**2) - m) / (6 * size)
    exponent = -3 * x * size - m / 2 * np.log1p(-(x**2))
    bounds: FloatArray = np.where(sizes > 0, np.minimum(1.0, 2 * np.exp(np.minimum(0.0, exponent))), 1.0)
    return bounds


def cosine_bound(size: float, n: int) -> float:
    """Bound on the probability that |Σ cos(πku)| reaches `size`, for n values u uniform on 0 to 1 and a whole k ≥ 1.

    E e^(λ·cos) = I₀(λ) = Σ (λ/2)^(2j)/(j!)² ≤ Σ (λ²/4)^j/j! = e^(λ²/4), hence P(Σ ≥ t) ≤ e^(−t²/n), for either sign.
    """
    return min(1.0, 2 * math.exp(-(size**2) / n)) if size > 0 and n else 1.0


def pairs_bound(total: float, sizes: IntArray, *, above: bool) -> float:
    """Bound on the probability that products of uniform variables, over all pairs within groups, sum so high (or low).

    `total` is Σ_g Σ_{i<j in g} s_i·s_j/(m_g − 1), for groups of m_g = `sizes` ≥ 2 variables.

    No product has two equal factors, so the sum is linear in each s_i while the others stay fixed, and
    E e^(λ·sum) does not decrease if s_i, whose moments are E e^(as) ≤ e^(a²/6), is replaced by a normal variable of
    variance 1/3, for which this is an equality. Replaced one after another, all are normal, and the moment is
    det(I − A)^(−1/2). With x = λ/3 the matrix A of a group has the eigenvalue x once and −x/(m − 1) otherwise, so that
    log E e^(λ·sum) ≤ Σ_g [−½·log(1 − x) − ½(m − 1)·log(1 + x/(m − 1))]. This holds for 0 < x < 1, and for low sums with
    −x in place of x as long as x < m − 1 for all groups. Markov's inequality for each x gives the bound.
    """
    sizes, counts = np.unique(sizes, return_counts=True)
    if not sizes.size or (total <= 0) is above:
        return 1.0
    rest = (sizes - 1).astype(np.float64)
    if above:
        x = _TRIED
        by_size = -0.5 * np.log1p(-x)[:, np.newaxis] - 0.5 * rest * np.log1p(x[:, np.newaxis] / rest)
    else:
        x = _TRIED * rest[0]
        by_size = -0.5 * np.log1p(x)[:, np.newaxis] - 0.5 * rest * np.log1p(-x[:, np.newaxis] / rest)
    exponent = float(np.min(by_size @ counts - x / UNIFORM_VARIANCE * abs(total)))
    return min(1.0, math.exp(min(0.0, exponent)))


def permuted_sum_bound(size: float, first: FloatArray, second: FloatArray) -> float:
    """Bound on the probability that |Σ a·b| reaches `size`, where the values a are in random order beside fixed values b.

    Both have mean 0. Values in random order are negatively associated (Joag-Dev and Proschan 1983): the mean of a product
    of functions that all rise is no larger than the product of their means. The functions e^(λab) rise where b > 0 and
    fall where b < 0; so the two parts are bounded apart and joined by Cauchy and Schwarz, which doubles λ. With
    Bernstein's bound on the moments of each a, log E e^(λ·sum) ≤ λ²v/2/(1 − λc/3), v = 2·Σa²·Σb²/n, c = 2·max|a|·max|b|.
    """
    n = len(first)
    variance = 2 * float(first @ first) * float(second @ second) / max(1, n)
    if not variance > 0:
        return 1.0
    largest = 2 * float(np.abs(first).max()) * float(np.abs(second).max())
    return min(1.0, 2 * bernstein_bound(size, variance=variance, largest=largest))


def permuted_trend_bound(correlation: float, n: int) -> float:
    """Bound on the probability that values in random order have so strong a correlation with their places 1 to n.

    As in `permuted_sum_bound`; the places are evenly spaced, so that their moments are no larger than a normal
    variable's and no second term is needed: P(|r| ≥ t) ≤ 2·e^(−t²n/4).
    """
    return min(1.0, 2 * math.exp(-(correlation**2) * n / 4))


def permuted_matches_bound(found: float, mean: float) -> float:
    """Chatterjee's bound (2007, Proposition 1.1) on the probability of so many matches with a sequence in random order.

    P(X − m ≥ t) ≤ 2·e^(−t²/(4m + 2t)) for a sum X of mean m. The bound rises with m, so that an upper
    bound on the mean may stand in its place.
    """
    if found <= mean:
        return 1.0
    excess = found - mean
    return min(1.0, 2 * math.exp(-(excess**2) / (4 * mean + 2 * excess)))


def neighbours_bound(found: int, n: int) -> float:
    """Bound on the probability that `found` of the n − 1 neighbours in a random order of 1 to n differ by one.

    P(X ≥ m) ≤ E[X choose m], the sum over all sets of m places of the probability that each holds such neighbours. If the
    set consists of r runs of places, (n − m)!·2^r orders do it, because each run is a rising or falling block; and there
    are (m − 1 choose r − 1)·(n − m choose r) such sets.
    """
    if found <= 2 or n < 2:
        return 1.0
    m = min(found, n - 1, 200)  # more than 200 is no more probable than 200, which is improbable enough

    def log_choose(a: int, b: int) -> float:
        return math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)

    first = math.lgamma(n - m + 1) - math.lgamma(n + 1)
    terms = [
        first + r * math.log(2) + log_choose(m - 1, r - 1) + log_choose(n - m, r) for r in range(1, min(m, n - m) + 1)
    ]
    top = max(terms)
    exponent = top + math.log(math.fsum(math.exp(term - top) for term in terms))
    return min(1.0, math.exp(min(0.0, exponent)))
