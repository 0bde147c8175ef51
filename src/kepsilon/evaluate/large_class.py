# SPDX-License-Identifier: Apache-2.0
"""Figures of one class that is too large to be held in memory at once: its distinct values with counts stand for it.

The figures of a record depend on its own value and the distinct values of its class, so the records may come in parts.
Only whether k records of the class stay is known at the end, and then for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, goes_alone, originals_in_reach
from kepsilon.evaluate.error.relative_error import ErrorSums, realised_errors
from kepsilon.evaluate.linking.likelihood_links import Originals, weigh_originals
from kepsilon.evaluate.linking.linking_risk import LinkSums, link_sums
from kepsilon.evaluate.linking.reidentification import ClassSizes, class_sizes
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.evaluate.originals.sorted_classes import SortedClasses
from kepsilon.evaluate.tally import Realised
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.coded_values import without_missing
from kepsilon.table.steps import Steps

_BLOCK = 1 << 17
"""Records measured together, at least: sums over the distinct values are formed anew for each block."""


class TooManyValuesError(Exception):
    """A class has more distinct values than may be held."""


def count_parts(parts: Iterable[FloatArray], *, most: int) -> tuple[FloatArray, IntArray]:
    """Distinct values of one ε-quasi in rising order, missing ones as one NaN, and how many records hold each.

    `parts` are the values of some records each. TooManyValuesError where there are more than `most` distinct values.
    """
    values: FloatArray = np.zeros(0)
    counts: IntArray = np.zeros(0, dtype=np.int64)
    for part in parts:
        own, own_counts = np.unique(part, return_counts=True)
        values, counts = merge_counts(np.concatenate([values, own]), np.concatenate([counts, own_counts]))
        if len(values) > most:
            raise TooManyValuesError
    return values, counts


def merge_counts(values: FloatArray, counts: IntArray) -> tuple[FloatArray, IntArray]:
    """Each distinct value once, in rising order, and the sum of its counts."""
    distinct, places = np.unique(values, return_inverse=True)
    merged = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(merged, places, counts)
    return distinct, merged


def one_class(values: FloatArray, counts: IntArray) -> ClassValues:
    """Distinct values and their counts as those of a single class; missing values count as one more value."""
    return ClassValues(
        values=without_missing(values),
        class_ids=np.zeros(len(values), dtype=np.int64),
        counts=counts,
        starts=np.array([0, len(values)]),
    )


class LargeClassFigures:
    """The realised figures of a large class: call `measure` once for every part of its records, then `realised`."""

    def __init__(
        self,
        classes: ClassValues,
        *,
        mechanism: NoiseLaw,
        low: FloatArray,
        high: FloatArray,
        epsilon: float,
        steps: Sequence[Steps],
        confident: ConfidentK | None,
    ) -> None:
        """`classes` holds the one class, from all its records; `low` and `high` have shape (1, n_epsilon_quasis).

        There is at most one ε-quasi.
        """
        self._classes = classes
        self._mechanism = mechanism
        self._epsilon = epsilon
        self._steps = steps
        self._confident = confident
        self._low, self._high = (ends if ends.shape[1] else np.zeros((1, 1)) for ends in (low, high))
        self._errors = tuple(ErrorSums() for _ in range(low.shape[1]))
        self._links = LinkSums()
        self._n_staying = 0
        """Records so far that are released if the class is."""
        self._n_left = 0
        """Records so far that count among the k that the class needs."""

    def measure(
        self, values: FloatArray, published: Sequence[FloatArray], *, originals: FloatArray | None = None
    ) -> BoolArray:
        """Adds the figures of a part, and returns which of its records stay if the class stays.

        Arguments as for `tally.realise`.
        """
        stays = np.ones(len(values), dtype=np.bool_)
        for block in self._blocks(len(values)):
            stays[block] = self._measure(values[block], [column[block] for column in published])
        unclipped = values if originals is None else originals
        self._errors = tuple(
            sums + realised_errors(unclipped[stays, j], column[stays])
            for j, (sums, column) in enumerate(zip(self._errors, published, strict=True))
        )
        self._n_staying += int(np.count_nonzero(stays))
        return stays

    def realised(self) -> Realised | None:
        """The figures of the class; None where fewer than k records are left, so that none of it is released."""
        if self._confident is not None and self._n_left < self._confident.k:
            return None
        sizes = (np.array([self._n_staying]), np.array([int(self._classes.counts.sum())]))
        return Realised(
            sizes=class_sizes(*sizes) if self._n_staying else ClassSizes(), errors=self._errors, links=self._links
        )

    def _blocks(self, n: int) -> Iterator[slice]:
        """Slices that together hold n records."""
        step = max(_BLOCK, len(self._classes.values))
        return (slice(start, start + step) for start in range(0, n, step))

    def _measure(self, values: FloatArray, published: Sequence[FloatArray]) -> BoolArray:
        """Adds the links of a block, and returns which of its records stay if the class stays."""
        # Without any ε-quasi all records of a class look alike, as if they agreed on one.
        own = without_missing(values[:, 0]) if published else np.zeros(len(values))
        noisy = published[0] if published else np.zeros(len(values))
        place = np.searchsorted(self._classes.values, own)
        classes = SortedClasses(
            values=self._classes.values,
            class_ids=self._classes.class_ids,
            counts=self._classes.counts,
            starts=self._classes.starts,
            order=np.arange(len(own)),
            place=place,
        )
        stays = np.ones(len(own), dtype=np.bool_)
        if self._confident is not None:
            in_reach = originals_in_reach(
                classes,
                noisy,
                linking_ranges=self._confident.reach(self._mechanism, self._low, self._high, epsilon=self._epsilon)[
                    :, 0
                ],
                precision=self._confident.precisions[0],
            )
            goes, counts_as_gone = goes_alone(in_reach, k=self._confident.k, rule=self._confident.rule)
            stays = ~goes
            self._n_left += int(np.count_nonzero(~counts_as_gone))
        self._links += self._link_sums(classes, noisy, stays)
        return stays

    def _link_sums(self, classes: SortedClasses, noisy: FloatArray, stays: BoolArray) -> LinkSums:
        """Links of the records of a block that stay."""
        if self._mechanism.exponential is not None:
            return link_sums(
                classes,
                noisy,
                ranges=self._high[:, 0] - self._low[:, 0],
                epsilon=self._epsilon,
                stays=stays,
                largest_elsewhere=self._links.largest,
            )
        released = np.flatnonzero(stays)
        return weigh_originals(
            Originals.of_one(classes, self._low, self._high),
            noisy[released, np.newaxis],
            np.zeros(len(released), dtype=np.int64),
            classes.place[released],
            mechanism=self._mechanism,
            epsilon=self._epsilon,
            steps=self._steps,
        ).sums()
