# SPDX-License-Identifier: Apache-2.0
"""The counts and curves that a report draws, taken after noise is drawn, while records are in memory.

No count of records by value is below k, and none is about fewer than k persons where records say whom they are about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.error.error_curves import ErrorCurve, ErrorPicture, closed_curves, drawn_curves, error_picture
from kepsilon.evaluate.label_counts import LabelCounts
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.shown_counts import PersonsInCells, not_below, speak_of
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.round_numbers import nice_step
from kepsilon.table.steps import Steps

MOST_SAMPLED = 100_000
"""Records that error curves are computed from; more would not move a line by its own width."""

_SAMPLE_SEED = 1
_CHUNK = 1 << 16
"""Values that are counted at a time."""
_BINS = 34
"""About how many bins a picture has."""
_FEWEST_BINS = 6
_BULK = (0.01, 0.99)
"""Quantiles between which bins lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuePicture:
    """One ε-quasi before noise, or before it is averaged, and as published, counted in the same bins."""

    name: str
    edges: tuple[float, ...]
    """Round numbers, none of them the smallest or largest value. The first and the last bin are open."""
    before: tuple[int | None, ...]
    """Records per bin before noise, one more than edges; None where fewer than k, or about fewer than k persons, and
    sometimes in one bin more."""
    after: tuple[int | None, ...]
    """Released records per bin, as published; None as in `before`."""


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
    """Levels of its hierarchy."""
    level: int | None
    """The level it was generalised to; None for local algorithms, which have no level for a whole column."""
    n_values_before: int
    n_labels_after: int
    loss: float | None
    """Share of what occurs that labels leave open (ncp)."""
    bits_lost: float | None
    """Share of the bits of the values that is lost (entropy share)."""
    labels: LabelCounts = field(default_factory=LabelCounts)
    """Its labels, with how many released records carry each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Everything that a report draws and the curator's record does not hold."""

    k: int
    epsilon: float
    values: tuple[ValuePicture, ...]
    errors: tuple[ErrorPicture, ...]
    class_sizes: tuple[ClassSizePicture, ...]
    k_quasis: tuple[KQuasiPicture, ...] = ()
    risk_by_epsilon: tuple[tuple[float, float], ...] = ()
    """Pairs of an ε and the linking risk expected there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A random sample of the records."""

    values: FloatArray
    """Shape (n_sampled, n_epsilon_quasis)."""
    published: Sequence[FloatArray]
    """One array for each ε-quasi, shape (n_sampled,)."""
    class_ids: IntArray
    stays: BoolArray
    """Which of the records are released, shape (n_sampled,)."""
    persons: IntArray | None = None
    """Whom the records are about, shape (n_sampled,); None where they do not say."""

    def released(self, j: int) -> tuple[FloatArray, IntArray | None]:
        """What was published of one ε-quasi, of the records that are released, and whom they are about."""
        return self.published[j][self.stays], None if self.persons is None else self.persons[self.stays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Extremes and counts of all values of one ε-quasi; they add up over parts of the records."""

    low: float = math.inf
    """Smallest and largest value; (inf, −inf) where all are missing."""
    high: float = -math.inf
    n_nonzero: int = 0
    """Records whose value is neither 0 nor missing."""
    n_zeros: int = 0

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            n_nonzero=self.n_nonzero + other.n_nonzero,
            n_zeros=self.n_zeros + other.n_zeros,
        )


def spread_of(values: FloatArray) -> Spread:
    """The spread of some values, of which some may be missing."""
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
    mechanism: NoiseLaw | None,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
    k_quasis: Sequence[KQuasiPicture] = (),
    risk_by_epsilon: Sequence[tuple[float, float]] = (),
) -> Pictures:
    """The pictures of a release, from a sample of its records and from figures of all of them.

    `spreads` are of all values, by ε-quasi. `count` returns how many of all records are in each bin, before noise and as
    published, for bins by the number of the ε-quasi; `sizes` are records by class as released. `low` and `high` (n_classes,
    n_epsilon_quasis) are the ends of the ranges that set the noise; they agree where a class is constant, and are NaN
    where its values are missing. `mechanism` is None where averages are published: their errors are as they came out.
    """
    stays = None if bool(sample.stays.all()) else sample.stays
    present = [j for j, own in enumerate(spreads) if own.low <= own.high]
    bins = {
        j: _bins(
            sample.values[:, j],
            sample.published[j] if stays is None else sample.published[j][stays],
            precision=steps[j].precision,
        )
        for j in present
    }
    counts = count(bins)
    # A curve of errors relative to fewer than k values would tell about these values.
    drawn_at = [j for j in present if _speaks(np.abs(sample.values[:, j]) > 0, sample.persons, k=k)]
    curves: Iterable[tuple[ErrorCurve, ErrorCurve] | None]
    if mechanism is None:
        curves = [None] * len(drawn_at)
    elif mechanism.exponential is not None:
        widths = [own.high - own.low for own in spreads]
        curves = closed_curves(
            mechanism.exponential,
            sample.values,
            sample.class_ids,
            high - low,
            widths,
            drawn_at,
            epsilon=epsilon,
            steps=steps,
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
            stays=stays,
            curves=own,
            k=k,
            n_records=spreads[j].n_nonzero,
            n_zeros=_n_zeros(spreads[j].n_zeros, sample.values[:, j], sample.persons, k=k),
            persons=sample.persons,
        )
        for j, own in zip(drawn_at, curves, strict=True)
    ]
    return Pictures(
        k=k,
        epsilon=epsilon,
        values=tuple(_value_picture(names[j], j, bins[j], counts[j], spreads[j], sample, k=k) for j in present),
        errors=tuple(errors),
        class_sizes=_class_sizes(sizes, k=k),
        k_quasis=tuple(k_quasis),
        risk_by_epsilon=tuple((float(at), float(risk)) for at, risk in risk_by_epsilon),
    )


def sample_positions(n: int) -> IntArray:
    """Positions of the sampled records among n, rising."""
    if n <= MOST_SAMPLED:
        return np.arange(n)
    return np.sort(np.random.default_rng(_SAMPLE_SEED).choice(n, MOST_SAMPLED, replace=False, shuffle=False))


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of equal width, with edges at first·step, (first + 1)·step and so on; the first and the last bin are open."""

    step: float
    first: float
    n_edges: int

    def edge(self, i: int) -> float:
        """Edge number i, rounded to twelve digits."""
        return float(f"{(self.first + i) * self.step:.12g}")

    def count(self, values: FloatArray, chosen: BoolArray | None = None) -> IntArray:
        """Records per bin, of all or of the chosen ones; missing values are left out."""
        counts = np.zeros(self.n_edges + 1, dtype=np.int64)
        for start in range(0, len(values), _CHUNK):
            part = values[start : start + _CHUNK]
            if chosen is not None:
                part = part[chosen[start : start + _CHUNK]]
            place = self._places(part)
            if np.isnan(place).any():
                place = place[~np.isnan(place)]
            counts += np.bincount(place.astype(np.intp), minlength=self.n_edges + 1)
        return counts

    def of(self, values: FloatArray) -> IntArray:
        """The bin of every value, −1 for missing ones; shaped like `values`."""
        return np.nan_to_num(self._places(values), nan=-1).astype(np.int64)

    def _places(self, values: FloatArray) -> FloatArray:
        """The bin of every value, NaN for missing ones.

        A value on an edge in decimals belongs above it, also where binary puts it just below.
        """
        place = values / self.step
        place += 1e-9 - self.first
        np.floor(place, out=place)
        place += 1
        np.clip(place, 0, self.n_edges, out=place)
        return place


def _bins(before: FloatArray, after: FloatArray, *, precision: Fraction) -> Bins:
    """Bins with round edges over the bulk of the values, and of noisy values, which take two thirds of the width at most."""
    low, high = _bulk(before)
    bulk = high - low
    if not np.isnan(after).all():
        noisy_low, noisy_high = _bulk(after)
        low, high = max(min(low, noisy_low), low - bulk), min(max(high, noisy_high), high + bulk)
    step = _step((high - low) / _BINS, precision=precision)
    padding = max(0, _FEWEST_BINS * step - (high - low)) / 2
    # Bins as fine as the precision have their edges between the values that can be published.
    offset = 0.5 if step < 2 * precision else 0.0
    first = math.floor((low - padding) / step - offset + 1e-9)
    last = math.ceil((high + padding) / step - offset - 1e-9)
    return Bins(step, first + offset, last - first + 1)


def _bulk(values: FloatArray) -> tuple[float, float]:
    """The values between which all but the outermost 2 % lie."""
    low, high = np.nanquantile(values, _BULK)
    return float(low), float(high)


def _step(target: float, *, precision: Fraction) -> float:
    """A round width of bins; where possible a multiple of the precision, so that all hold equally many publishable values."""
    step = smallest = nice_step(max(target, float(precision)))
    for _ in range(4):
        if (Fraction(str(step)) / precision).denominator == 1:
            return step
        step = nice_step(step * 1.01)
    return smallest


def _speaks(chosen: BoolArray, persons: IntArray | None, *, k: int) -> bool:
    """Whether the chosen ones of the sampled records are k, or are about k persons, at least."""
    return speak_of(0, int(np.count_nonzero(chosen)), k, None if persons is None else persons[chosen])


def _n_zeros(n_zeros: int, values: FloatArray, persons: IntArray | None, *, k: int) -> int | None:
    """How many records have a value of 0; None where they are about fewer than k persons."""
    is_shown = persons is None or not n_zeros or _speaks(values == 0, persons, k=k)
    return n_zeros if is_shown else None


def _value_picture(
    name: str, j: int, bins: Bins, counts: tuple[IntArray, IntArray], spread: Spread, sample: Sample, *, k: int
) -> ValuePicture:
    """Counts per bin. Bins that meet at the smallest or largest value are joined: that edge would tell the value."""
    shown = [i for i in range(bins.n_edges) if bins.edge(i) not in (spread.low, spread.high)]
    first_of_bin = [0, *(i + 1 for i in shown)]

    def hide_few(own: IntArray, values: FloatArray, persons: IntArray | None) -> tuple[int | None, ...]:
        in_cells = None
        if persons is not None:
            # The place before the first cell is −1, which is that of missing values too.
            cells = np.searchsorted(first_of_bin, bins.of(values), side="right") - 1
            in_cells = PersonsInCells(cells=cells, persons=persons)
        return not_below(np.add.reduceat(own, first_of_bin), k, in_cells)

    return ValuePicture(
        name=name,
        edges=tuple(bins.edge(i) for i in shown),
        before=hide_few(counts[0], sample.values[:, j], sample.persons),
        after=hide_few(counts[1], *sample.released(j)),
    )


def _class_sizes(sizes: IntArray, *, k: int) -> tuple[ClassSizePicture, ...]:
    """Classes by size: k to 2k − 1 records, to 5k − 1, to 10k − 1 and so on; steps without a class are left out."""
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
