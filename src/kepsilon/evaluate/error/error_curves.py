# SPDX-License-Identifier: Apache-2.0
"""Curves of the relative error, for the report: the share of records whose error is at most x, against x.

One curve is expected for the noise of the release, two are yardsticks, and one is realised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kepsilon.evaluate.noise_law import ExponentialLaw, NoiseLaw
from kepsilon.evaluate.shown_counts import shown_steps
from kepsilon.evaluate.simulation import SimulatedBytes, generator
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.round_numbers import nice_step
from kepsilon.table.steps import Steps

N_POINTS = 60
"""Steps of a curve, which has one point more."""
UNIFORM = 0.05
"""The paper's yardstick: uniform noise of ±5 % of the value."""

_MOSTLY = 0.95
"""Share of records that the end of a curve takes in; see `curve_end`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPicture:
    """The share of records whose relative error is at most `at`: expected, for two yardsticks, and as it came out."""

    name: str
    """The ε-quasi."""
    at: tuple[float, ...]
    """The errors that shares are given for; each tuple below has one entry for each."""
    per_class: tuple[float, ...] | None
    """Expected shares with the noise of the release; None, as the next two, where averages are published."""
    whole_dataset: tuple[float, ...] | None
    """Expected shares if the whole dataset were one class."""
    uniform: tuple[float, ...] | None
    """Shares with uniform noise of ±5 % of the value."""
    realised: tuple[float | None, ...]
    """None where the difference to the last share shown, or the rest above, would speak of fewer than k records or persons."""
    n_sampled: int
    """Sampled records with a value other than 0."""
    n_records: int
    """All records with a value other than 0."""
    n_zeros: int | None
    """All records whose value is 0, which have no relative error; None where they are about fewer than k persons."""


class ErrorCurve(Protocol):
    """How large relative errors are expected to be, over some records."""

    def shares_within(self, step: float, *, n_points: int = N_POINTS) -> FloatArray:
        """The share of records expected within 0, 1·step, 2·step and so on, shape (n_points + 1,)."""

    def thinned(self) -> ErrorCurve:
        """The curve of about 2,000 of the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialErrors:
    """The curve of exponential noise, in closed form."""

    scales: FloatArray
    """R/(ε·|v|), by record; see `relative_scales`."""
    n_active: IntArray
    """How many ε-quasis have noise in the record's class."""
    law: ExponentialLaw
    room: Room | None = None
    """How far noise can move each record within a domain; None where there is no domain."""

    def shares_within(self, step: float, *, n_points: int = N_POINTS) -> FloatArray:
        """Expected shares; a record without noise has no error, unless it lies outside the domain."""
        exceeding = np.zeros(n_points + 1)
        scales, n_active = self.scales, self.n_active
        for d in np.unique(n_active[scales > 0]).tolist():
            chosen = (scales > 0) & (n_active == d)
            own = step / scales[chosen]
            room = None if self.room is None else self.room.of(chosen)
            shrink, left = np.exp(-own), np.ones(len(own))
            for i in range(n_points + 1):  # e^(−i·x) is e^(−x) multiplied up: one exp for the whole curve
                chances = left if d == 1 else left * self.law.exceeding_factor(i * own, d=d)
                exceeding[i] += (chances if room is None else room.within(chances, at=i * step)).sum()
                left *= shrink
        is_still = ~(scales > 0)
        if self.room is not None and is_still.any():
            still, nothing = self.room.of(is_still), np.zeros(np.count_nonzero(is_still))
            exceeding += [float(still.within(nothing, at=i * step).sum()) for i in range(n_points + 1)]
        return 1 - exceeding / len(scales)

    def thinned(self) -> ExponentialErrors:
        few = slice(None, None, max(1, len(self.scales) // 2000))
        return ExponentialErrors(
            scales=self.scales[few],
            n_active=self.n_active[few],
            law=self.law,
            room=None if self.room is None else self.room.of(few),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How far each value is from the ends of a domain, as a multiple of its size; negative beyond an end."""

    above: FloatArray
    """(b − v)/|v|, by record."""
    below: FloatArray
    """(v − a)/|v|, by record."""

    @classmethod
    def of_values(cls, values: FloatArray, steps: Steps) -> Room | None:
        """The room of values, none of them 0; None where there is no domain."""
        if steps.domain is None:
            return None
        low, high = float(steps.domain[0]), float(steps.domain[1])
        with np.errstate(over="ignore"):
            return cls(above=(high - values) / np.abs(values), below=(values - low) / np.abs(values))

    def of(self, chosen: BoolArray | slice) -> Room:
        """The room of some of the values."""
        return Room(above=self.above[chosen], below=self.below[chosen])

    def within(self, chances: FloatArray, *, at: float) -> FloatArray:
        """The chance of an error above `at` for values that are clamped to the domain.

        `chances` are those of symmetric noise without a domain: half of each belongs to either side. Clamping takes away
        errors that lead out of the domain, and makes errors certain that lead into it from outside.
        """
        upwards = np.where(at < self.above, np.where(at < -self.below, 1.0, chances / 2), 0.0)
        downwards = np.where(at < self.below, np.where(at < -self.above, 1.0, chances / 2), 0.0)
        return upwards + downwards


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnErrors:
    """The curve of any mechanism, from one simulated draw for every record."""

    errors: FloatArray
    """|x − v|/|v| of every record, rising."""

    @classmethod
    def of(cls, drawn: FloatArray, values: FloatArray) -> DrawnErrors:
        with np.errstate(over="ignore"):
            return cls(errors=np.sort(np.abs(drawn - values) / np.abs(values)))

    def shares_within(self, step: float, *, n_points: int = N_POINTS) -> FloatArray:
        within: FloatArray = _n_within(self.errors, points(step)[: n_points + 1]) / len(self.errors)
        return within

    def thinned(self) -> DrawnErrors:
        return self


def error_picture(
    name: str,
    values: FloatArray,
    published: FloatArray,
    *,
    stays: BoolArray | None,
    curves: tuple[ErrorCurve, ErrorCurve] | None,
    k: int,
    n_records: int,
    n_zeros: int | None,
    persons: IntArray | None = None,
) -> ErrorPicture:
    """All curves of one ε-quasi.

    `values`, `published` and `stays` are by record of the sample; `stays` is None where all records are released.
    `curves` are the expected curve of sampled records whose value is neither 0 nor missing, and the curve if the whole
    dataset were one class; None where averages are published, which are as they came out. `n_records` and `n_zeros` count
    all records. `persons` says whom the sampled records are about.
    """
    sizes = np.abs(values)
    has_error = sizes > 0
    shown = has_error if stays is None else has_error & stays
    with np.errstate(over="ignore"):
        errors = np.abs(published[shown] - values[shown]) / sizes[shown]
    order = np.argsort(errors, kind="stable")
    realised = errors[order]
    step = curve_end(DrawnErrors(errors=realised) if curves is None else curves[0]) / N_POINTS
    at = points(step)
    expected, whole = (None, None) if curves is None else (_rounded(own.shares_within(step)) for own in curves)
    return ErrorPicture(
        name=name,
        at=at,
        per_class=expected,
        whole_dataset=whole,
        uniform=None if curves is None else _rounded(uniform_shares(at)),
        realised=shown_steps(
            _n_within(realised, at), len(realised), k, None if persons is None else persons[shown][order]
        ),
        n_sampled=int(np.count_nonzero(has_error)),
        n_records=n_records,
        n_zeros=n_zeros,
    )


def closed_curves(
    law: ExponentialLaw,
    values: FloatArray,
    class_ids: IntArray,
    ranges: FloatArray,
    widths: Sequence[float],
    attributes: Sequence[int],
    *,
    epsilon: float,
    steps: Sequence[Steps],
) -> Iterator[tuple[ErrorCurve, ErrorCurve]]:
    """For each attribute its expected curve, and the curve if the whole dataset were one class, in closed form.

    Both are of values that are clamped to the domain, where there is one. `attributes` are numbers of ε-quasis. `values`,
    (n_sampled, n_attributes), and `class_ids` are of the sample, `ranges` (R) has shape (n_classes, n_attributes), and
    `widths` are the ranges of the whole dataset, by attribute.
    """
    n_active = np.count_nonzero(ranges > 0, axis=1)[class_ids]
    n_wide = sum(width > 0 for width in widths)
    for j in attributes:
        sizes = np.abs(values[:, j])
        has_error = sizes > 0
        sizes, own_ranges = sizes[has_error], ranges[class_ids[has_error], j]
        room = Room.of_values(values[has_error, j], steps[j])
        yield (
            ExponentialErrors(
                scales=relative_scales(own_ranges, sizes, epsilon=epsilon),
                n_active=n_active[has_error],
                law=law,
                room=room,
            ),
            ExponentialErrors(
                scales=relative_scales(widths[j], sizes, epsilon=epsilon),
                n_active=np.full(len(sizes), n_wide),
                law=law,
                room=room,
            ),
        )


def drawn_curves(
    mechanism: NoiseLaw,
    values: FloatArray,
    class_ids: IntArray,
    low: FloatArray,
    high: FloatArray,
    attributes: Sequence[int],
    *,
    epsilon: float,
    steps: Sequence[Steps],
) -> Iterator[tuple[ErrorCurve, ErrorCurve]]:
    """For each attribute its expected curve, and the curve if the whole dataset were one class, from simulated draws.

    Parameters as for `closed_curves`; `low` and `high` are the ends of the ranges, (n_classes, n_attributes). Where the
    range of the whole dataset is too wide for the precision, its draw is rounded more coarsely: it is a yardstick that is
    never published.
    """
    is_missing = np.isnan(values)
    patterns, pattern_of = np.unique(is_missing, axis=0, return_inverse=True)
    widest = [(np.nanmin(low[:, j], initial=np.inf), np.nanmax(high[:, j], initial=-np.inf)) for j in range(len(steps))]
    wide_low, wide_high = (np.where(patterns, np.nan, np.array(ends)) for ends in zip(*widest, strict=True))
    wide_steps = []
    for j, published_in in enumerate(steps):
        precision = published_in.precision
        while not mechanism.coarse_enough(wide_low[:, j], wide_high[:, j], precision).all():
            precision *= 10
        wide_steps.append(Steps(precision=precision))

    def draw(ids: IntArray, low: FloatArray, high: FloatArray, steps: Sequence[Steps]) -> FloatArray:
        source = SimulatedBytes(generator(0))
        return mechanism.draw(values, ids, low, high, epsilon=fraction(epsilon), steps=steps, source=source)

    own = draw(class_ids, low, high, steps)
    wide = draw(pattern_of.reshape(-1), wide_low, wide_high, wide_steps)
    for j in attributes:
        has_error = np.abs(values[:, j]) > 0
        before = values[has_error, j]
        yield DrawnErrors.of(own[has_error, j], before), DrawnErrors.of(wide[has_error, j], before)


def relative_scales(ranges: FloatArray | float, sizes: FloatArray, *, epsilon: float) -> FloatArray:
    """R/(ε·|v|): the scale of the relative error, by record; `sizes` are |v|, none of them 0."""
    with np.errstate(over="ignore"):
        return np.asarray(ranges / epsilon / sizes)


def curve_end(curve: ErrorCurve) -> float:
    """A round error that about 95 % of records are expected to stay below; at least twice that of the ±5 % yardstick."""
    few = curve.thinned()
    end = 2 * UNIFORM
    while end < 100 and few.shares_within(end, n_points=1)[1] < _MOSTLY:
        end = nice_step(end * 1.01)
    return end


def points(step: float) -> tuple[float, ...]:
    """The errors that a curve is drawn at: 0, 1·step, 2·step and so on."""
    return tuple(float(f"{i * step:.10g}") for i in range(N_POINTS + 1))


def _n_within(errors: FloatArray, at: Sequence[float]) -> IntArray:
    """How many of the rising errors are at most each of `at`, up to a double's rounding."""
    n_within: IntArray = np.searchsorted(errors, np.array(at) * (1 + 1e-12), side="right")
    return n_within


def uniform_shares(at: Sequence[float]) -> FloatArray:
    """The share of records within each error for uniform noise of ±5 % of the value."""
    return np.minimum(np.array(at) / UNIFORM, 1.0)


def _rounded(shares: FloatArray) -> tuple[float, ...]:
    """Shares to four decimals."""
    return tuple(round(share, 4) for share in shares.tolist())
