# SPDX-License-Identifier: Apache-2.0
"""How much of the k-quasis generalising has lost, where a record that is left out for k has lost everything.

*ncp* of a label is the share of what occurs that it leaves open. *Entropy share* is the share of the bits of an attribute
that are lost: a record whose label covers c of the n records of the data, and whose value n_v of them hold, has lost
log2(c/n_v) of its log2(n/n_v) bits. Both are 0 where every value is published as it is, and 1 where nothing is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.frequency import FrequencyTable


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelLoss:
    """Means over all counted records, also those that were left out."""

    overall: float
    """Mean over attributes, each counted alike; without any, the share of records left out."""
    by_attribute: tuple[float, ...]


def ncp(recoding: Recoding, table: FrequencyTable) -> LabelLoss:
    """Mean over records of the share of what occurs that their labels leave open; 1 for a record that is left out.

    `recoding` is that of the table. Without any record there is no mean, and ValueError is raised.
    """
    n_left_out = _n_left_out(recoding, table)
    lost = [float(np.dot(own.ncp, recoding.sizes)) + n_left_out for own in recoding.attributes]
    return _losses([own / table.n_records for own in lost], without=n_left_out / table.n_records)


def entropy_share(recoding: Recoding, table: FrequencyTable) -> LabelLoss:
    """Bits that are lost of the values of all records, over all bits that they have; parameters as for `ncp`.

    An attribute with a single value has no bits to lose: only records that are left out count there.
    """
    n, without = table.n_records, _n_left_out(recoding, table) / table.n_records
    is_released = recoding.class_of != SUPPRESSED
    class_of = recoding.class_of[is_released]
    shares = []
    for own, codes, domain in zip(recoding.attributes, table.codes, table.domains, strict=False):
        of_value = np.bincount(codes, weights=table.counts, minlength=domain.n_values)
        hides_among = np.full(len(codes), float(n))
        hides_among[is_released] = own.covered[class_of]
        lost = float(np.dot(table.counts, np.log2(hides_among / of_value[codes])))
        bits = float(np.dot(table.counts, np.log2(n / of_value[codes])))
        shares.append(lost / bits if bits else without)
    return _losses(shares, without=without)


def _n_left_out(recoding: Recoding, table: FrequencyTable) -> int:
    """How many records are left out."""
    if table.n_records == 0:
        raise ValueError("there is no record whose loss could be averaged")
    return table.n_records - int(recoding.sizes.sum())


def _losses(shares: Sequence[float], *, without: float) -> LabelLoss:
    """The shares of all attributes with their mean; `without` is that of no attribute."""
    return LabelLoss(overall=sum(shares) / len(shares) if shares else without, by_attribute=tuple(shares))
