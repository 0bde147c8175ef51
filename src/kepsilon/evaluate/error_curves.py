# SPDX-License-Identifier: Apache-2.0
"""How errors are spread over the records: cumulative shares, expected for the noise and for yardsticks, and realised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.round_numbers import nice_step

N_POINTS = 60
UNIFORM = 0.05
"""The paper's yardstick: uniform noise of ±5 % of the value."""

_MOSTLY = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPicture:
    """The share of records whose relative error is at most `at`: expected, for two yardsticks, and as it came out."""

    name: str
    at: tuple[float, ...]
    per_class: tuple[float, ...]
    whole_dataset: tuple[float, ...]
    uniform: tuple[float, ...]
    realised: tuple[float | None, ...]
    """None where the step since the last share shown, or what is left above it, would speak of fewer than k records."""
    n_sampled: int
    n_records: int
    """Records with a value other than 0, from which the sample was taken."""
    n_zeros: int


def error_picture(
    name: str,
    values: FloatArray,
    published: FloatArray,
    *,
    kept: BoolArray | None,
    ranges: FloatArray,
    n_active: IntArray,
    whole: tuple[float, int],
    epsilon: float,
    k: int,
    n_records: int,
    n_zeros: int,
) -> ErrorPicture | None:
    """All curves of one ε-quasi; None where fewer than k records have a relative error.

    All arrays are by record of the sample: `ranges` is R of its class and `n_active` how many ε-quasis have noise there.
    `whole` is R and their number if the whole dataset were one class. `n_records` and `n_zeros` count all records.
    """
    sizes = np.abs(values)
    has_error = sizes > 0  # neither 0 nor missing
    if np.count_nonzero(has_error) < k:
        return None
    kept = has_error if kept is None else has_error & kept
    with np.errstate(over="ignore"):
        realised = np.sort(np.abs(published[kept] - values[kept]) / sizes[kept])
    sizes, n_active = sizes[has_error], n_active[has_error]
    scales = relative_scales(ranges[has_error], sizes, epsilon=epsilon)
    step = curve_end(scales, n_active) / N_POINTS
    at = points(step)
    whole_range, n_wide = whole
    wide_scales = relative_scales(whole_range, sizes, epsilon=epsilon)
    n_within = np.searchsorted(realised, np.array(at) * (1 + 1e-12), side="right")
    return ErrorPicture(
        name=name,
        at=at,
        per_class=_rounded(shares_within(scales, n_active, step=step)),
        whole_dataset=_rounded(shares_within(wide_scales, np.full(len(sizes), n_wide), step=step)),
        uniform=_rounded(uniform_shares(at)),
        realised=_shown_steps(n_within, len(realised), k),
        n_sampled=len(sizes),
        n_records=n_records,
        n_zeros=n_zeros,
    )


def relative_scales(ranges: FloatArray | float, sizes: FloatArray, *, epsilon: float) -> FloatArray:
    """R/(ε·|v|): the scale of the relative error, by record; `sizes` are |v|, none of them 0."""
    with np.errstate(over="ignore"):
        return np.asarray(ranges / epsilon / sizes)


def curve_end(scales: FloatArray, n_active: IntArray) -> float:
    """A round error that nearly all records stay below, and not less than twice what the yardstick needs."""
    few = slice(None, None, max(1, len(scales) // 2000))
    end = 2 * UNIFORM
    while end < 100 and shares_within(scales[few], n_active[few], step=end)[1] < _MOSTLY:
        end = nice_step(end * 1.01)
    return end


def points(step: float) -> tuple[float, ...]:
    """The errors that a curve is drawn at: 0, 1·step, 2·step and so on."""
    return tuple(float(f"{i * step:.10g}") for i in range(N_POINTS + 1))


def shares_within(scales: FloatArray, n_active: IntArray, *, step: float) -> FloatArray:
    """The share of records expected within 0, 1·step, 2·step and so on. Without noise a record is always within."""
    exceeding = np.zeros(N_POINTS + 1)
    for d in np.unique(n_active[scales > 0]).tolist():
        own = step / scales[(scales > 0) & (n_active == d)]
        shrink, left = np.exp(-own), np.ones(len(own))
        for i in range(N_POINTS + 1):  # e^(−i·x) is e^(−x) multiplied up: one exp for the whole curve
            exceeding[i] += (left if d == 1 else left * exceeding_factor(i * own, d=d)).sum()
            left *= shrink
    return 1 - exceeding / len(scales)


def uniform_shares(at: Sequence[float]) -> FloatArray:
    """The same for uniform noise of ±5 % of the value."""
    return np.minimum(np.array(at) / UNIFORM, 1.0)


def _rounded(shares: FloatArray) -> tuple[float, ...]:
    return tuple(round(share, 4) for share in shares.tolist())


def _shown_steps(counts: IntArray, n: int, k: int) -> tuple[float | None, ...]:
    """Cumulative shares, less every one that would tell of 1 to k − 1 records below, between or above."""
    shown: list[float | None] = []
    last = 0
    for count in counts.tolist():
        fits = all(rest == 0 or rest >= k for rest in (count - last, n - count))
        shown.append(round(count / n, 4) if fits and n else None)
        last = count if fits else last
    return tuple(shown)


def exceeding_factor(distances: FloatArray, *, d: int) -> FloatArray:
    """e^t·P(|Z_j| > t) for one of d attributes whose noise has the density ∝ exp(−max_j|z_j|), t in units of R_j/ε.

    |Z_j| is uniform on [0, M] with M of a Gamma(d + 1) distribution, so the chance is Q_{d+1}(t) − (t/d)·Q_d(t) with
    Q_d(t) = e^(−t)·Σ_{i<d} t^i/i!, which is e^(−t)·Σ_{i<d} (1 − i/d)·t^i/i!; for d = 1 it is e^(−t), Laplace.
    """
    total = np.zeros_like(distances)
    for i in reversed(range(d)):  # Horner: what is multiplied by t at every turn gets its 1/i! on the way
        total = total * distances / (i + 1) + (1 - i / d)
    return total
