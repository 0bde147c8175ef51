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
    best, n_best, total, own_likelihood = np.empty((4, len(class_ids)))
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
        likelihood = mechanism.log_likelihoods(
            published[records],
            originals.points[points],
            originals.low[ids],
            originals.high[ids],
            epsilon=epsilon,
            steps=steps,
        )
        best[part] = np.maximum.reduceat(likelihood, begins)
        behind = likelihood - best[records]
        counts = originals.counts[points]
        n_best[part] = np.add.reduceat(np.where(behind >= -_TIE, counts, 0), begins)
        total[part] = np.add.reduceat(np.exp(behind) * counts, begins)
        own_likelihood[part] = likelihood[begins + own[part] - originals.starts[class_ids[part]]]
        first = last
    return Weighed(best=best, n_best=n_best, total=total, own=own_likelihood)
