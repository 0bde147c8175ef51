# SPDX-License-Identifier: Apache-2.0
"""The losses that OLA can minimise.

`precision` and `dm*`, which the paper has, never fall from a node to a node above it, so the best node that passes is a
minimal one. `ncp` and `entropy` charge records that are left out: each costs what it would lose if nothing of it were
published. Such a loss may fall on the way up, because fewer records are left out there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from kepsilon.kanonymise.label_losses import bits_kept, covered_by_label, lost_by_label, most_to_lose
from kepsilon.kanonymise.lattice import Node
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable

Importance = Sequence[Fraction]
"""The weight of the loss of each attribute of a table."""


class DmStar:
    """Every record is charged the size of its class. El Emam et al. 2009, the discernability metric DM*."""

    def __init__(self, table: FrequencyTable, importance: Importance) -> None:
        """It knows no attributes, so their importance makes no difference."""

    def at(self, node: Node, dm_star: int) -> int:  # noqa: ARG002 -- every loss has this signature
        return dm_star


class Precision:
    """Weighted mean over attributes of level/(h−1). Paper §III-A, categorical precision."""

    def __init__(self, table: FrequencyTable, importance: Importance) -> None:
        self._tops = [domain.n_levels - 1 for domain in table.domains]
        self._importance = importance

    def at(self, node: Node, dm_star: int) -> float:  # noqa: ARG002 -- every loss has this signature
        # Exact fractions, so that nodes tie whatever the order of the attributes: 1/3 + 1/2 and 1/2 + 1/3.
        own = zip(node, self._tops, self._importance, strict=True)
        shares = [weight * Fraction(level, top) for level, top, weight in own if top]
        return float(sum(shares, start=Fraction(0)) / (sum(self._importance) or 1))


class ChargedNcp:
    """Mean over records of the weighted mean over attributes of ncp; a record that is left out costs 1."""

    def __init__(self, table: FrequencyTable, importance: Importance) -> None:
        self._scales: list[Fraction] = []
        """By attribute: what one unit of its loss adds to the loss of a node."""
        self._lost: list[list[int]] = []
        """By attribute and level: units that all records lose."""
        self._kept: list[list[IntArray]] = []
        """By attribute and level: units that are kept of a record, by its label."""
        whole = table.n_records * sum(importance) or 1
        self.least_charge = 1 / max(1, table.n_records) if sum(importance) else 0.0
        """What a record that is left out costs at least."""
        self.most = 1.0
        """The loss of leaving out everybody."""
        for domain, counts, weight in zip(table.domains, _counts_of_values(table), importance, strict=True):
            most = most_to_lose(domain)
            lost = [lost_by_label(domain, level) for level in range(domain.n_levels)]
            covered = [covered_by_label(domain, level, counts) for level in range(domain.n_levels)]
            self._scales.append(Fraction(weight) / most / whole)
            self._lost.append([_exact_dot(*own) for own in zip(lost, covered, strict=True)])
            self._kept.append([most - own for own in lost])

    @property
    def plain(self) -> tuple[FloatArray, ...]:
        """What all records lose at each level, if none is left out; one array (n_levels,) per attribute.

        The sum over attributes is a lower bound of the loss of a node. It never falls from a node to one above it.
        """
        own = zip(self._scales, self._lost, strict=True)
        return tuple(np.array([float(scale * lost) for lost in by_level]) for scale, by_level in own)

    @property
    def tolerance(self) -> float:
        """More than the sum of `plain` differs from the loss of a node at which no record is left out."""
        return 1e-12

    def of(self, node: Node, left_out: Sequence[IntArray] | None = None) -> Fraction:
        """The loss of a node, from the records left out by their label there, one array (n_labels,) per attribute.

        Without these it is the plain loss. Exactly equal for two nodes that lose equally much, so that they tie.
        """
        total = Fraction(0)
        for i, (scale, lost, kept, level) in enumerate(zip(self._scales, self._lost, self._kept, node, strict=True)):
            charge = 0 if left_out is None else _exact_dot(kept[level], left_out[i])
            total += scale * (lost[level] + charge)
        return total


class ChargedEntropy:
    """Bits needed to tell each record's value from all values that its label stands for, weighted, summed over records.

    Gionis and Tassa 2009, non-uniform entropy. Each attribute adds its own loss. A record that is left out costs all bits
    of its values.
    """

    def __init__(self, table: FrequencyTable, importance: Importance) -> None:
        self._weights = [float(weight) for weight in importance]
        self._lost: list[tuple[float, ...]] = []
        self._kept: list[list[FloatArray]] = []
        for domain, counts in zip(table.domains, _counts_of_values(table), strict=True):
            covered = [covered_by_label(domain, level, counts) for level in range(domain.n_levels)]
            self._lost.append(entropy_by_level(domain, counts))
            self._kept.append([bits_kept(own, n_records=table.n_records) for own in covered])
        bits = [bits_kept(counts, n_records=table.n_records) for counts in _counts_of_values(table)]
        fewest = sum(weight * float(own.min(initial=np.inf)) for weight, own in zip(self._weights, bits, strict=True))
        self.least_charge = fewest if math.isfinite(fewest) else 0.0
        """As that of `ChargedNcp`."""
        self.most = sum(
            weight * float(np.dot(own, counts))
            for weight, own, counts in zip(self._weights, bits, _counts_of_values(table), strict=True)
        )
        """As that of `ChargedNcp`."""
        whole = sum(weight * math.log2(max(1, table.n_records)) for weight in self._weights) * table.n_records
        # Far above what rounding adds to a sum of so many bits, and far below what can be told apart.
        self._digits = 6 - max(0, math.ceil(math.log10(whole / 1e8))) if whole else 6

    @property
    def plain(self) -> tuple[FloatArray, ...]:
        """As that of `ChargedNcp`."""
        return tuple(weight * np.array(lost) for weight, lost in zip(self._weights, self._lost, strict=True))

    @property
    def tolerance(self) -> float:
        """As that of `ChargedNcp`."""
        return float(10.0**-self._digits)

    def of(self, node: Node, left_out: Sequence[IntArray] | None = None) -> float:
        """As that of `ChargedNcp`."""
        terms: list[float] = []
        for i, (weight, lost, kept, level) in enumerate(zip(self._weights, self._lost, self._kept, node, strict=True)):
            terms.append(weight * lost[level])
            if left_out is not None:
                terms += (weight * left_out[i] * kept[level]).tolist()
        # `fsum` rounds once, whatever the order. Then rounded, so that nodes that lose equally much in other attributes tie.
        return round(math.fsum(terms), self._digits)


def entropy_by_level(domain: Domain, counts: IntArray) -> tuple[float, ...]:
    """Non-uniform entropy of one attribute at each of its levels; `counts` holds the number of records of every value.

    `fsum` rounds once, whatever the order of its terms. So two levels with the same groups of values have exactly equal
    entropy, and the names of the values make no difference.
    """
    present = counts > 0
    losses = []
    for level in range(domain.n_levels):
        codes = domain.at_level(level)
        together = np.bincount(codes, weights=counts)[codes]
        terms = counts[present] * np.log2(together[present] / counts[present])
        losses.append(math.fsum(terms.tolist()))
    return tuple(losses)


def _counts_of_values(table: FrequencyTable) -> list[IntArray]:
    """Records of every value, one array (n_values,) per attribute."""
    return [
        np.bincount(codes, weights=table.counts, minlength=domain.n_values).astype(np.int64)
        for domain, codes in zip(table.domains, table.codes, strict=True)
    ]


def _exact_dot(units: IntArray, counts: IntArray) -> int:
    """The sum of products of two arrays (n,) of whole numbers that are not negative, even where 64 bits are too few."""
    if int(units.max(initial=0)) * int(counts.sum()) < 1 << 63:
        return int(np.dot(units, counts))
    return sum(map(int.__mul__, units.tolist(), counts.tolist()))


ChargedLoss = ChargedNcp | ChargedEntropy
"""A loss that charges records that are left out, for the nodes of one table."""

MonotoneLoss = Precision | DmStar
"""A loss that never falls from a node to one above it, for the nodes of one table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss that a policy can name."""

    name: str
    title: str
    for_table: Callable[[FrequencyTable, Importance], ChargedLoss | MonotoneLoss]
    """Makes the loss of the nodes of a table; what all nodes share is computed once."""


LOSSES: Mapping[str, Loss] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            Loss(name="ncp", title="share of what occurs that labels leave open", for_table=ChargedNcp),
            Loss(name="entropy", title="bits lost, non-uniform entropy", for_table=ChargedEntropy),
            Loss(name="precision", title="mean level over attributes", for_table=Precision),
            Loss(name="dm*", title="sum of squared class sizes", for_table=DmStar),
        )
    }
)
"""Every loss by its name in a policy."""
