# SPDX-License-Identifier: Apache-2.0
"""What became of the records of a release, measured a batch at a time and added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.engines.protocol import Batch
from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.evaluate.linking.known_columns import KnownLinks
from kepsilon.evaluate.pictures import Sample, Spread
from kepsilon.evaluate.survival.collected import CollectedSurvival
from kepsilon.evaluate.tally import Realised
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


@dataclass(slots=True, kw_only=True)
class BatchMeasured:
    """What became of the records of one batch."""

    classes: slice
    realised: Realised | None
    """None for a large class of which confident k leaves fewer than k records, so that none of it is released."""
    sizes: IntArray
    """How many records of every class are released, after confident k."""
    spreads: list[Spread]
    """Of the values before noise, all records included, one for each ε-quasi."""
    samples: list[Sample]
    """Records that pictures show, one sample for each part of the batch."""
    survival: CollectedSurvival
    seconds: dict[str, float]
    """What each step took."""
    groups: GroupSums | None = None
    """The groups whose averages were published; None where there are none."""
    known: KnownLinks | None = None
    """What whoever knows kept columns links; None where nobody was tried on a record of the batch."""


@dataclass(slots=True, kw_only=True)
class Measured:
    """What became of all classes, added up."""

    realised: Realised | None = None
    """None as long as no batch with released records was added."""
    sizes: IntArray
    """How many records of every class are released, after confident k; shape (n_classes,)."""
    spreads: list[Spread]
    samples: list[Sample] = field(default_factory=list)
    survival: CollectedSurvival = field(init=False)
    """What of the statistics of ε-quasis survives."""
    groups: GroupSums | None = None
    """The groups whose averages were published; None where there are none."""
    known: KnownLinks | None = None
    """What whoever knows kept columns links; None where nobody was tried."""
    joined_share: float | None = None
    """The share of records that whoever joins equal noisy values links, where all records of a person got one draw and
    all are released; otherwise None."""

    def __post_init__(self) -> None:
        self.survival = CollectedSurvival(len(self.spreads))

    def add(self, own: BatchMeasured) -> None:
        """Adds what became of one batch."""
        self.sizes[own.classes] = own.sizes
        self.spreads = [one + more for one, more in zip(self.spreads, own.spreads, strict=True)]
        self.samples += own.samples
        self.survival.add(own.survival)
        if own.groups is not None:
            self.groups = own.groups if self.groups is None else self.groups + own.groups
        if own.known is not None:
            self.known = own.known if self.known is None else self.known + own.known
        if own.realised is not None:
            self.realised = own.realised if self.realised is None else self.realised + own.realised

    def sample(self) -> Sample:
        """The sampled records of all batches. Those of a class that is not released at all count as records that do not stay."""
        class_ids = np.concatenate([own.class_ids for own in self.samples])
        return Sample(
            values=np.concatenate([own.values for own in self.samples]),
            published=[np.concatenate([own.published[j] for own in self.samples]) for j in range(len(self.spreads))],
            class_ids=class_ids,
            stays=np.concatenate([own.stays for own in self.samples]) & (self.sizes[class_ids] > 0),
            persons=_joined([own.persons for own in self.samples]),
        )


def between(sampled: IntArray, first: int, last: int) -> IntArray:
    """Of some positions, which rise, those from `first` up to, not including, `last`, counted from `first`."""
    begin, end = np.searchsorted(sampled, [first, last])
    return sampled[begin:end] - first


def sample_of(part: Batch, values: FloatArray, published: FloatArray, stays: BoolArray, chosen: IntArray) -> Sample:
    """The records at some positions of a batch, or of a part of a large class.

    `values` and `published` have shape (n_records, n_epsilon_quasis).
    """
    return Sample(
        values=values[chosen],
        published=[published[chosen, j] for j in range(published.shape[1])],
        class_ids=part.class_ids[chosen] + part.classes.start,
        stays=stays[chosen],
        persons=None if part.persons is None else part.persons[chosen],
    )


def _joined(persons: Sequence[IntArray | None]) -> IntArray | None:
    """Whom all records are about; None where some do not say."""
    known = [own for own in persons if own is not None]
    return np.concatenate(known) if len(known) == len(persons) else None
