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

from kepsilon.table.classes import Recoding
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
    left_out = _left_out(recoding, table)
    n = table.n_records
    kept = [float(np.dot(1 - own.ncp, recoding.sizes)) / n for own in recoding.attributes]
    return _losses([1 - share for share in kept], left_out=left_out)


def entropy_share(recoding: Recoding, table: FrequencyTable) -> LabelLoss:
    """Bits that are lost of the values of all records, over all bits that they have; parameters as for `ncp`.

    An attribute with a single value has no bits to lose: only records that are left out count there.
    """
    left_out = _left_out(recoding, table)
    n = table.n_records
    shares = []
    for own, codes, domain in zip(recoding.attributes, table.codes, table.domains, strict=False):
        of_value = np.bincount(codes, weights=table.counts, minlength=domain.n_values)
        bits = float(np.dot(of_value, np.log2(n / np.maximum(1, of_value))))
        kept = float(np.dot(recoding.sizes, np.log2(n / own.covered)))
        shares.append(1 - kept / bits if bits else left_out)
    return _losses(shares, left_out=left_out)


def _left_out(recoding: Recoding, table: FrequencyTable) -> float:
    """The share of records that are left out."""
    if table.n_records == 0:
        raise ValueError("there is no record whose loss could be averaged")
    return 1 - int(recoding.sizes.sum()) / table.n_records


def _losses(shares: Sequence[float], *, left_out: float) -> LabelLoss:
    # What is lost is 1 minus what is kept, so rounding may leave it a little below 0 or above 1.
    lost = tuple(min(1.0, max(0.0, share)) for share in shares)
    return LabelLoss(overall=sum(lost) / len(lost) if lost else left_out, by_attribute=lost)
