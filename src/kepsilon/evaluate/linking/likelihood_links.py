# SPDX-License-Identifier: Apache-2.0
"""Links of an attacker who picks, in a record's class, the original that the mechanism's own likelihood favours.

For any mechanism and any number of ε-quasis: every record is compared with every distinct original of its class. A tie
of t originals counts as 1/t of a link; by the paper's rule every tie is a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.linking.linking_risk import ABOVE, LinkSums
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.evaluate.originals.rings import Rings
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.steps import Steps

_PAIRS = 1 << 17
"""Pairs of record and original at a time: few enough for their arrays to stay in a processor's cache."""

_LARGE = 1 << 8
"""Classes of so many points are weighed one by one, all pairs at once; smaller ones are put together."""

_TIE = 1e-9
"""Logarithms of likelihoods that differ by no more than this, which is rounding, are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """The distinct originals of some classes, one class after the other, and the ranges of the classes."""

    points: FloatArray
    """Shape (n_points, n_attributes); 0 where values are missing."""
    counts: IntArray
    """Originals at each point, shape (n_points,)."""
    starts: IntArray
    """Where the points of every class begin, and last the number of all points, shape (n_classes + 1,)."""
    low: FloatArray
    """Lower ends of the ranges, shape (n_classes, n_attributes); 0 where values are missing."""
    high: FloatArray
    """Upper ends of the ranges, shaped like `low`."""

    @classmethod
    def of_one(cls, classes: ClassValues, low: FloatArray, high: FloatArray) -> Originals:
        """The originals of classes with one ε-quasi. `low` and `high` have shape (n_classes, 1)."""
        return cls(
            points=classes.values[:, np.newaxis],
            counts=classes.counts,
            starts=classes.starts,
            low=np.nan_to_num(low),
            high=np.nan_to_num(high),
        )

    @classmethod
    def of_several(cls, classes: Rings, low: FloatArray, high: FloatArray) -> Originals:
        """The originals of classes with any number of ε-quasis."""
        return cls(
            points=np.ascontiguousarray(classes.points.T),
            counts=classes.counts,
            starts=np.searchsorted(classes.class_ids, np.arange(len(low) + 1)),
            low=np.nan_to_num(low),
            high=np.nan_to_num(high),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Likelihoods of the originals of a class, given what was published of each record; all have shape (n_records,)."""

    best: FloatArray
    """The logarithm of the largest likelihood."""
    n_best: FloatArray
    """How many originals have the largest likelihood."""
    total: FloatArray
    """Sum of all likelihoods, divided by the largest."""
    own: FloatArray
    """The logarithm of the likelihood of the record's own original."""

    def sums(self) -> LinkSums:
        """Links and posteriors, summed over the records."""
        is_link = self.own >= self.best - _TIE
        posterior = np.exp(self.own - self.best) / self.total
        return LinkSums(
            fair=float(np.sum(is_link / self.n_best)),
            paper=float(np.count_nonzero(is_link)),
            largest=float(posterior.max(initial=0.0)),
            n_over_half=int(np.count_nonzero(posterior > 0.5 * ABOVE)),
            n_over_nine_tenths=int(np.count_nonzero(posterior > 0.9 * ABOVE)),
        )


def weigh_originals(
    originals: Originals,
    published: FloatArray,
    class_ids: IntArray,
    own: IntArray,
    *,
    mechanism: NoiseLaw,
    epsilon: float,
    steps: Sequence[Steps],
) -> Weighed:
    """Likelihoods of all originals of each record's class.

    `published` has shape (n_records, n_attributes); `class_ids` says the class of each record, and `own` which point of
    `originals` is its own, both of shape (n_records,).
    """
    published = np.nan_to_num(published)
    found = np.empty((4, len(class_ids)))
    is_large = np.diff(originals.starts)[class_ids] >= _LARGE
    small, large = np.flatnonzero(~is_large), np.flatnonzero(is_large)
    law = _Law(mechanism=mechanism, epsilon=epsilon, steps=steps)
    found[:, small] = law.of_pairs(originals, published[small], class_ids[small], own[small])
    large = large[np.argsort(class_ids[large], kind="stable")]
    for records in np.split(large, np.flatnonzero(np.diff(class_ids[large])) + 1):
        if records.size:
            found[:, records] = law.of_class(originals, int(class_ids[records[0]]), published[records], own[records])
    best, n_best, total, own_likelihood = found
    return Weighed(best=best, n_best=n_best, total=total, own=own_likelihood)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    """How probable a mechanism makes what was published; figures are the four rows of a `Weighed`, in its order."""

    mechanism: NoiseLaw
    epsilon: float
    steps: Sequence[Steps]

    def of_pairs(self, originals: Originals, published: FloatArray, class_ids: IntArray, own: IntArray) -> FloatArray:
        """Figures of records of any classes: each is put beside each point of its class."""
        found = np.empty((4, len(class_ids)))
        widths = np.diff(originals.starts)[class_ids]
        ends = np.cumsum(widths)
        first = 0
        while first < len(class_ids):
            done = int(ends[first]) - int(widths[first])
            last = max(first + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
            part = slice(first, last)
            begins = ends[part] - widths[part] - done
            records = np.repeat(np.arange(first, last), widths[part])
            # All points of each record's class, from the first on.
            points = np.arange(len(records)) + np.repeat(originals.starts[class_ids[part]] - begins, widths[part])
            ids = class_ids[records]
            likelihood = self._log_likelihoods(
                published[records], originals.points[points], originals.low[ids], originals.high[ids]
            )
            best = np.maximum.reduceat(likelihood, begins)
            behind = likelihood - best[records - first]
            counts = originals.counts[points]
            n_best = np.add.reduceat(np.where(behind >= -_TIE, counts, 0), begins)
            total = np.add.reduceat(np.exp(behind) * counts, begins)
            found[:, part] = best, n_best, total, likelihood[begins + own[part] - originals.starts[class_ids[part]]]
            first = last
        return found

    def of_class(self, originals: Originals, class_id: int, published: FloatArray, own: IntArray) -> FloatArray:
        """Figures of records of one class, all of its points at once."""
        found = np.empty((4, len(published)))
        points = slice(originals.starts[class_id], originals.starts[class_id + 1])
        counts = originals.counts[points].astype(np.float64)
        n_records = max(1, _PAIRS // len(counts))
        for first in range(0, len(published), n_records):
            part = slice(first, first + n_records)
            likelihood = self._log_likelihoods(
                published[part, np.newaxis],
                originals.points[points],
                originals.low[[class_id]],
                originals.high[[class_id]],
            )
            best = likelihood.max(axis=1)
            own_likelihood = likelihood[np.arange(len(best)), own[part] - points.start]
            likelihood -= best[:, np.newaxis]
            rows, tied = np.nonzero(likelihood >= -_TIE)
            n_best = np.bincount(rows, weights=counts[tied], minlength=len(best))
            found[:, part] = best, n_best, np.exp(likelihood, out=likelihood) @ counts, own_likelihood
        return found

    def _log_likelihoods(
        self, published: FloatArray, points: FloatArray, low: FloatArray, high: FloatArray
    ) -> FloatArray:
        return self.mechanism.log_likelihoods(published, points, low, high, epsilon=self.epsilon, steps=self.steps)
