# SPDX-License-Identifier: Apache-2.0
"""How many persons the released records of each class are about, and how many of its records are about one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.originals.members import Members
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestShare:
    """The largest share of the records of a class that are about one person, and the released records of such classes."""

    share: float = 0.0
    n_records: int = 0

    def __add__(self, other: LargestShare) -> LargestShare:
        """The largest share of both, with the records of both where the shares are equal."""
        if self.share == other.share:
            return LargestShare(share=self.share, n_records=self.n_records + other.n_records)
        return max(self, other, key=lambda own: own.share)


_NONE = LargestShare()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedPersons:
    """The persons of released classes as sums and extremes; those of different batches are added."""

    fewest: int | None = None
    """The fewest persons of a released class; None where no class is released."""
    n_most: int = 0
    """The largest number of released records of one person, summed over classes.

    Whoever knows which classes everybody's released records are in, and names in each class the person with most of them,
    is right so often.
    """
    largest: LargestShare = _NONE
    """By the records that classes have in the release."""
    largest_original: LargestShare = _NONE
    """By the records that classes have in the original table."""
    original_sum: float = 0.0
    """The largest share of one person in the original table, times released records, summed over classes."""

    def __add__(self, other: ReleasedPersons) -> ReleasedPersons:
        fewest = [own.fewest for own in (self, other) if own.fewest is not None]
        return ReleasedPersons(
            fewest=min(fewest, default=None),
            n_most=self.n_most + other.n_most,
            largest=self.largest + other.largest,
            largest_original=self.largest_original + other.largest_original,
            original_sum=self.original_sum + other.original_sum,
        )


def released_persons(members: Members, stays: BoolArray) -> ReleasedPersons:
    """The persons of the released classes, given which records stay, shape (n_records,)."""
    staying = np.flatnonzero(stays)
    if not staying.size:
        return ReleasedPersons()
    left = members.of(staying, members.class_ids[members.of_record[staying]], n_classes=members.n_classes)
    is_released = left.n_persons > 0
    released = left.sizes[is_released]
    originally = members.most[is_released] / members.sizes[is_released]
    return ReleasedPersons(
        fewest=int(left.n_persons[is_released].min()),
        n_most=int(left.most.sum()),
        largest=_largest(left.most[is_released] / released, released),
        largest_original=_largest(originally, released),
        original_sum=float(np.dot(originally, released)),
    )


def _largest(shares: FloatArray, released: IntArray) -> LargestShare:
    """The largest of some shares, and the released records of classes that have it."""
    share = float(shares.max())
    return LargestShare(share=share, n_records=int(released[shares == share].sum()))
