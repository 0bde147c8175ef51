# SPDX-License-Identifier: Apache-2.0
"""The losses that OLA can minimise; none of them falls from a node to a node above it.

A loss that charged suppressed records could fall, and the best node would then not have to be a minimal one; so no such
loss is offered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from kepsilon.kanonymise.label_losses import lost_by_label, most_to_lose
from kepsilon.kanonymise.lattice import Node
from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable

NodeLoss = Callable[[Node, int], int | float]
"""Loss of a node, from the node and its DM*; exactly equal for two nodes that lose equally much, so that they tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss that a policy can name."""

    name: str
    title: str
    for_table: Callable[[FrequencyTable, Sequence[Fraction]], NodeLoss]
    """Makes the function that computes the loss of a node, from a table and the importance of each of its attributes.

    What all nodes share is computed once."""


def _dm_star(table: FrequencyTable, importance: Sequence[Fraction]) -> NodeLoss:  # noqa: ARG001 -- as every loss
    """Every record is charged the size of its class. El Emam et al. 2009, the discernability metric DM*."""
    return lambda _, dm_star: dm_star


def _ncp(table: FrequencyTable, importance: Sequence[Fraction]) -> NodeLoss:
    """Mean over records and attributes of the share of what occurs that the label covers."""
    by_level = [
        [
            weight
            * int(np.dot(lost_by_label(domain, level), _records_by_label(domain, codes, table.counts, level)))
            / most_to_lose(domain)
            for level in range(domain.n_levels)
        ]
        for domain, codes, weight in zip(table.domains, table.codes, importance, strict=True)
    ]
    return lambda node, _: float(
        sum((levels[level] for levels, level in zip(by_level, node, strict=True)), Fraction(0))
    )


def _records_by_label(domain: Domain, codes: IntArray, counts: IntArray, level: int) -> IntArray:
    of_value = np.bincount(codes, weights=counts, minlength=domain.n_values)
    return np.bincount(domain.at_level(level), weights=of_value, minlength=len(domain.levels[level])).astype(np.int64)


def _precision(table: FrequencyTable, importance: Sequence[Fraction]) -> NodeLoss:
    """Mean over attributes of level/(h−1). Paper §III-A, categorical precision."""
    tops = [domain.n_levels - 1 for domain in table.domains]

    def loss(node: Node, _: int) -> float:
        # Exact fractions, so that nodes tie whatever the order of the attributes: 1/3 + 1/2 and 1/2 + 1/3.
        own = zip(node, tops, importance, strict=True)
        shares = [weight * Fraction(level, top) for level, top, weight in own if top]
        return float(sum(shares, start=Fraction(0)) / max(1, len(tops)))

    return loss


def _entropy(table: FrequencyTable, importance: Sequence[Fraction]) -> NodeLoss:
    """Bits needed to tell each record's value from all values that its label stands for, summed over records.

    Gionis and Tassa 2009, non-uniform entropy. Each attribute adds its own loss, which depends on its level alone.
    """
    by_level = [
        entropy_by_level(domain, np.bincount(codes, weights=table.counts, minlength=domain.n_values).astype(np.int64))
        for domain, codes in zip(table.domains, table.codes, strict=True)
    ]

    def loss(node: Node, _: int) -> float:
        # Rounded, so that nodes that lose equally much in different attributes tie in spite of rounding errors.
        own = zip(by_level, node, importance, strict=True)
        return round(math.fsum(weight * levels[level] for levels, level, weight in own), 6)

    return loss


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


LOSSES: Mapping[str, Loss] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            Loss(name="ncp", title="share of what occurs that labels cover", for_table=_ncp),
            Loss(name="dm*", title="sum of squared class sizes", for_table=_dm_star),
            Loss(name="precision", title="mean level over attributes", for_table=_precision),
            Loss(name="entropy", title="non-uniform entropy", for_table=_entropy),
        )
    }
)
"""Every loss by its name in a policy."""
