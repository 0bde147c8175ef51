# SPDX-License-Identifier: Apache-2.0
"""What a report draws: small sums taken while the arrays are in memory; none counts fewer than k records by value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.error.error_curves import ErrorPicture, closed_curves, drawn_curves, error_picture
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.round_numbers import nice_step
from kepsilon.table.steps import Steps

MOST_SAMPLED = 100_000
"""Records that the curves of the error are drawn from; more would not move a line by its own width."""

_SAMPLE_SEED = 1
_CHUNK = 1 << 16
_BINS = 34
_FEWEST_BINS = 6
_BULK = (0.01, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuePicture:
    """One ε-quasi before noise and as published, counted in the same bins."""

    name: str
    edges: tuple[float, ...]
    """Round numbers, none of them the smallest or largest value. The first and the last bin are open."""
    before: tuple[int | None, ...]
    """Records per bin, one more than edges; None where fewer than k, and sometimes in one bin more."""
    after: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizePicture:
    """Classes of `smallest` to `largest` records."""

    smallest: int
    largest: int
    n_classes: int
    n_records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KQuasiPicture:
    """How far one k-quasi was generalised."""

    name: str
    n_levels: int
    level: int | None
    """None for Mondrian, which has no level for a whole column."""
    n_values_before: int
    n_labels_after: int
    loss: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """All that a report draws and the curator's record does not hold."""

    k: int
    epsilon: float
    values: tuple[ValuePicture, ...]
    errors: tuple[ErrorPicture, ...]
    class_sizes: tuple[ClassSizePicture, ...]
    k_quasis: tuple[KQuasiPicture, ...] = ()
    risk_by_epsilon: tuple[tuple[float, float], ...] = ()


def picture_release(
    *,
    k: int,
    names: Sequence[str],
    values: FloatArray,
    published: Sequence[FloatArray],
    class_ids: IntArray,
    stays: BoolArray,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
    k_quasis: Sequence[KQuasiPicture] = (),
    risk_by_epsilon: Sequence[tuple[float, float]] = (),
) -> Pictures:
    """What to draw of a release.

    `values` (n_records, n_epsilon_quasis) is what received noise, `published` one array per ε-quasi, `low` and `high`
    (n_classes, n_epsilon_quasis) the ends of the range that set the noise, which agree where a class is constant and are
    NaN where its values are missing.
    `stays` is False where confidence-based suppression removed the record: it counts before, and not after.
    """
    keep = None if bool(stays.all()) else stays
    sampled = sample_positions(len(values))

    def count(bins: Mapping[int, Bins]) -> dict[int, tuple[IntArray, IntArray]]:
        return {j: (own.count(values[:, j]), own.count(published[j], keep)) for j, own in bins.items()}

    return picture_sample(
        k=k,
        names=names,
        sample=Sample(
            values=values[sampled],
            published=[column[sampled] for column in published],
            class_ids=class_ids[sampled],
            stays=stays[sampled],
        ),
        spreads=[spread(values[:, j]) for j in range(len(names))],
        count=count,
        sizes=np.bincount(class_ids if keep is None else class_ids[keep]),
        mechanism=mechanism,
        low=low,
        high=high,
        epsilon=epsilon,
        steps=steps,
        k_quasis=k_quasis,
        risk_by_epsilon=risk_by_epsilon,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some records, each as likely as any other."""

    values: FloatArray
    """Shape (n_sampled, n_epsilon_quasis)."""
    published: Sequence[FloatArray]
    class_ids: IntArray
    stays: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What the pictures need to know of all values of one ε-quasi; it adds up over parts of the records."""

    low: float = math.inf
    """(inf, −inf) where all are missing."""
    high: float = -math.inf
    n_nonzero: int = 0
    """Neither 0 nor missing."""
    n_zeros: int = 0

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            n_nonzero=self.n_nonzero + other.n_nonzero,
            n_zeros=self.n_zeros + other.n_zeros,
        )


def spread(values: FloatArray) -> Spread:
    n_zeros = int(np.count_nonzero(values == 0))
    return Spread(
        low=float(np.fmin.reduce(values, initial=math.inf)),
        high=float(np.fmax.reduce(values, initial=-math.inf)),
        n_nonzero=len(values) - int(np.count_nonzero(np.isnan(values))) - n_zeros,
        n_zeros=n_zeros,
    )


def picture_sample(
    *,
    k: int,
    names: Sequence[str],
    sample: Sample,
    spreads: Sequence[Spread],
    count: Callable[[Mapping[int, Bins]], Mapping[int, tuple[IntArray, IntArray]]],
    sizes: IntArray,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
    k_quasis: Sequence[KQuasiPicture] = (),
    risk_by_epsilon: Sequence[tuple[float, float]] = (),
) -> Pictures:
    """The same where not all records are at hand.

    `count` counts all records, before noise and as published, in the bins of each ε-quasi by its number; `sizes` are
    of classes as released.
    """
    kept = None if bool(sample.stays.all()) else sample.stays
    present = [j for j, own in enumerate(spreads) if own.low <= own.high]
    bins = {
        j: _bins(
            sample.values[:, j],
            sample.published[j] if kept is None else sample.published[j][kept],
            precision=steps[j].precision,
        )
        for j in present
    }
    counts = count(bins)
    # What is relative to fewer than k values would tell of them.
    drawn_at = [j for j in present if np.count_nonzero(np.abs(sample.values[:, j]) > 0) >= k]
    if mechanism.exponential is not None:
        widths = [own.high - own.low for own in spreads]
        curves = closed_curves(
            mechanism.exponential, sample.values, sample.class_ids, high - low, widths, drawn_at, epsilon=epsilon
        )
    else:
        curves = drawn_curves(
            mechanism, sample.values, sample.class_ids, low, high, drawn_at, epsilon=epsilon, steps=steps
        )
    errors = [
        error_picture(
            names[j],
            sample.values[:, j],
            sample.published[j],
            kept=kept,
            per_class=per_class,
            whole=whole,
            k=k,
            n_records=spreads[j].n_nonzero,
            n_zeros=spreads[j].n_zeros,
        )
        for j, (per_class, whole) in zip(drawn_at, curves, strict=True)
    ]
    return Pictures(
        k=k,
        epsilon=epsilon,
        values=tuple(_value_picture(names[j], bins[j], counts[j], spreads[j], k=k) for j in present),
        errors=tuple(errors),
        class_sizes=_class_sizes(sizes, k=k),
        k_quasis=tuple(k_quasis),
        risk_by_epsilon=tuple((float(at), float(risk)) for at, risk in risk_by_epsilon),
    )


def sample_positions(n: int) -> IntArray:
    """Which of n records to look at, rising."""
    if n <= MOST_SAMPLED:
        return np.arange(n)
    return np.sort(np.random.default_rng(_SAMPLE_SEED).choice(n, MOST_SAMPLED, replace=False, shuffle=False))


@dataclass(frozen=True, slots=True)
class Bins:
    """Edges at first·step, (first + 1)·step and so on."""

    step: float
    first: float
    n_edges: int

    def edge(self, i: int) -> float:
        return float(f"{(self.first + i) * self.step:.12g}")

    def count(self, values: FloatArray, keep: BoolArray | None = None) -> IntArray:
        """Records per bin. A value on an edge in decimals belongs above it, also where binary puts it just below."""
        counts = np.zeros(self.n_edges + 1, dtype=np.int64)
        for start in range(0, len(values), _CHUNK):
            part = values[start : start + _CHUNK]
            if keep is not None:
                part = part[keep[start : start + _CHUNK]]
            place = part / self.step
            place += 1e-9 - self.first
            np.floor(place, out=place)
            place += 1
            np.clip(place, 0, self.n_edges, out=place)
            if np.isnan(place).any():
                place = place[~np.isnan(place)]
            counts += np.bincount(place.astype(np.intp), minlength=self.n_edges + 1)
        return counts


def _bins(before: FloatArray, after: FloatArray, *, precision: Fraction) -> Bins:
    """Round bins over the bulk of the values, and of the noise as far as that leaves a third to the values."""
    low, high = _bulk(before)
    bulk = high - low
    if not np.isnan(after).all():
        noisy_low, noisy_high = _bulk(after)
        low, high = max(min(low, noisy_low), low - bulk), min(max(high, noisy_high), high + bulk)
    step = _step((high - low) / _BINS, precision=precision)
    padding = max(0, _FEWEST_BINS * step - (high - low)) / 2
    # Bins as fine as the precision lie around what can be published, not between.
    offset = 0.5 if step < 2 * precision else 0.0
    first = math.floor((low - padding) / step - offset + 1e-9)
    last = math.ceil((high + padding) / step - offset - 1e-9)
    return Bins(step, first + offset, last - first + 1)


def _bulk(values: FloatArray) -> tuple[float, float]:
    low, high = np.nanquantile(values, _BULK)
    return float(low), float(high)


def _step(target: float, *, precision: Fraction) -> float:
    """A round width; where possible a multiple of the precision, so that all bins hold as many publishable values."""
    step = smallest = nice_step(max(target, float(precision)))
    for _ in range(4):
        if (Fraction(str(step)) / precision).denominator == 1:
            return step
        step = nice_step(step * 1.01)
    return smallest


def _value_picture(name: str, bins: Bins, counts: tuple[IntArray, IntArray], spread: Spread, *, k: int) -> ValuePicture:
    """Counts in round bins. An edge that is the smallest or largest value is taken out: it would tell that value."""
    shown = [i for i in range(bins.n_edges) if bins.edge(i) not in (spread.low, spread.high)]
    first_of_bin = [0, *(i + 1 for i in shown)]
    before, after = (np.add.reduceat(own, first_of_bin) for own in counts)
    return ValuePicture(
        name=name,
        edges=tuple(bins.edge(i) for i in shown),
        before=_not_below(before, k),
        after=_not_below(after, k),
    )


def _not_below(counts: IntArray, k: int) -> tuple[int | None, ...]:
    """Counts of at least k, None elsewhere; and where the hidden ones together are fewer than k, the smallest of the
    others is hidden too, because the number of all records is known and would tell them. A single one stays: without
    it there would be no picture."""
    shown = [int(count) if count >= k else None for count in counts]
    hidden = sum(int(count) for count in counts if count < k)
    seen = [count for count in shown if count is not None]
    if 0 < hidden < k and len(seen) > 1:
        shown[shown.index(min(seen))] = None
    return tuple(shown)


def _class_sizes(sizes: IntArray, *, k: int) -> tuple[ClassSizePicture, ...]:
    """Classes by size, from k to 2k − 1, 5k − 1, 10k − 1 and so on; those that hold no class are left out."""
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return ()
    if sizes.min() < k:
        raise ValueError("some classes have fewer than k records")
    limits = [k]
    while limits[-1] <= sizes.max():
        limits.append(k * (1, 2, 5)[len(limits) % 3] * 10 ** (len(limits) // 3))
    place = np.searchsorted(limits, sizes, side="right") - 1
    n_classes = np.bincount(place, minlength=len(limits) - 1)
    n_records = np.bincount(place, weights=sizes, minlength=len(limits) - 1)
    return tuple(
        ClassSizePicture(smallest=low, largest=high - 1, n_classes=int(classes), n_records=int(records))
        for low, high, classes, records in zip(limits, limits[1:], n_classes, n_records, strict=False)
        if classes
    )
