# SPDX-License-Identifier: Apache-2.0
"""All figures of a release as sums over classes, which add up across partitions: one machine and many run the same code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.linking_risk import LinkSums, link_sums
from kepsilon.evaluate.relative_error import ErrorSums, error_sums
from kepsilon.evaluate.sorted_classes import blocks_of_classes, sort_classes
from kepsilon.table.arrays import FloatArray, IntArray

_PART = 1 << 15
"""Records at a time where any split of the records adds up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkingShares:
    """Links and near-certainties as shares of records, 0 to 1."""

    expected: float
    realised: float
    expected_paper_ties: float
    realised_paper_ties: float
    largest: float
    over_half: float
    over_nine_tenths: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What whole classes contribute; adding tallies of different classes gives the tally of all of them."""

    n_released: int
    n_classes: int
    """Classes that have records here."""
    errors: tuple[ErrorSums, ...]
    """One per ε-quasi."""
    links: LinkSums | None
    """None unless there is exactly one ε-quasi."""

    def __add__(self, other: Tally) -> Tally:
        if len(self.errors) != len(other.errors):
            raise ValueError("tallies of different ε-quasis do not add up")
        return Tally(
            n_released=self.n_released + other.n_released,
            n_classes=self.n_classes + other.n_classes,
            errors=tuple(mine + theirs for mine, theirs in zip(self.errors, other.errors, strict=True)),
            links=None if self.links is None or other.links is None else self.links + other.links,
        )

    def linking_shares(self, *, n_records: int | None = None) -> LinkingShares | None:
        """Shares of the released records, or of `n_records` originals; None where links are not tallied."""
        if self.links is None:
            return None
        n = self.n_released if n_records is None else n_records
        if n < 1:
            raise ValueError("there is no record whose links could be shared out")
        return LinkingShares(
            expected=self.links.expected / n,
            realised=self.links.realised / n,
            expected_paper_ties=self.links.expected_paper_ties / n,
            realised_paper_ties=self.links.realised_paper_ties / n,
            largest=self.links.largest,
            over_half=self.links.n_over_half / n,
            over_nine_tenths=self.links.n_over_nine_tenths / n,
        )


def tally_classes(
    values: FloatArray,
    published: Sequence[FloatArray],
    class_ids: IntArray,
    *,
    expected_noise: FloatArray,
    ranges: FloatArray,
    epsilon: float,
    originals: FloatArray | None = None,
) -> Tally:
    """The tally of whole classes. Records must not be missing from a class, or its gaps would be wrong.

    `values` and `originals` have shape (n_records, n_epsilon_quasis), `expected_noise` (E|Z|) and `ranges` (R) the shape
    (n_classes, n_epsilon_quasis), and `published` is one array per ε-quasi. `values` is what received noise. Where bounds
    were declared these are clipped values, between which an attacker cannot tell records apart; `originals` then holds
    them as they were, to which errors are relative.
    """
    unclipped = values if originals is None else originals
    sizes = np.bincount(class_ids, minlength=len(ranges))
    errors = tuple(
        _error_sums(unclipped[:, j], published[j], class_ids, expected_noise=expected_noise[:, j])
        for j in range(values.shape[1])
    )
    links = None
    if len(errors) == 1:
        links = LinkSums()
        for records, own_ids, block in blocks_of_classes(class_ids, n_classes=len(ranges)):
            classes = sort_classes(values[records, 0], own_ids, n_classes=block.stop - block.start)
            links += link_sums(
                classes,
                published[0][records],
                ranges=ranges[block, 0],
                epsilon=epsilon,
                largest_elsewhere=links.largest,
            )
    return Tally(n_released=len(class_ids), n_classes=int(np.count_nonzero(sizes)), errors=errors, links=links)


def _error_sums(
    values: FloatArray, published: FloatArray, class_ids: IntArray, *, expected_noise: FloatArray
) -> ErrorSums:
    """A part of the records at a time, in any order, so that what is in flight stays small."""
    parts = (slice(start, start + _PART) for start in range(0, len(values), _PART))
    every = (
        error_sums(values[part], class_ids[part], expected_noise=expected_noise, published=published[part])
        for part in parts
    )
    return sum(every, start=ErrorSums())
