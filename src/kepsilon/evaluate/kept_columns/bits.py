# SPDX-License-Identifier: Apache-2.0
"""How much of what generalisation hid in a k-quasi a kept column tells again, in bits.

I(q; X | class) as a share of H(q | class), q being the true value of the k-quasi. Counted in few records, I is above 0
for any two columns. So E, what it is after shuffling within classes, is taken off both: there X tells nothing, and all
else stays as it is. (I − E) / (H − E) is 1 for a copy of q and about 0 for a column that tells nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.kept_columns.class_order import ClassOrder
from kepsilon.table.arrays import IntArray

MOST_EXACT = 200
"""A k-quasi with more values than this is looked at in groups of neighbouring values of the class."""
MOST_GROUPS = 16
N_SHUFFLES = 16
"""Their spread tells whether what is worth a note could be chance. The first one tells whether to look at the others."""

_SEED = 14_003
_WORTH_A_LOOK = 0.04
_SURE = 5.0
"""Standard deviations among shuffles by which the bits have to exceed their mean."""
_FEWEST_BITS = 20.0
"""Bits about all records together. With few records shuffles may all be alike; b bits come by chance in about 2^−b."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedCodes:
    """A column as the bits need it: exact codes, or an order from which groups are made in every class."""

    codes: IntArray
    """From 0, or MISSING, shape (n_records,)."""
    ranking: IntArray | None
    """Positions of the records by rising code, where the column has too many values to count each; otherwise None."""

    def in_classes(self, classes: ClassOrder) -> IntArray:
        """Codes from 0 of the records in the order of `classes`; equal codes of different classes mean nothing."""
        if self.ranking is None:
            own = self.codes[classes.records]
            counted: IntArray = own - own.min(initial=0)
            return counted
        return _groups(self.codes, self.ranking, classes)


def exact_codes(codes: IntArray) -> OrderedCodes:
    return OrderedCodes(codes=codes, ranking=None)


def codes_to_group(codes: IntArray) -> OrderedCodes:
    return OrderedCodes(codes=codes, ranking=np.argsort(codes, kind="stable").astype(np.int32))


def _groups(codes: IntArray, ranking: IntArray, classes: ClassOrder) -> IntArray:
    """Groups of about equally many records by the order of the values in each class: √m of them for m records, 2 to 16.

    More groups than that would leave so few records in each that chance alone could tell one from another.
    """
    at = classes.sorted_as(ranking)
    own, ids = codes[at], classes.ids
    begins = np.ones(len(at), dtype=np.bool_)
    begins[1:] = (own[1:] != own[:-1]) | (ids[1:] != ids[:-1])
    first = np.flatnonzero(begins)
    before = first - classes.starts[ids[first]]
    n_groups = np.clip(np.sqrt(classes.sizes).astype(np.int64), 2, MOST_GROUPS)
    group = 1 + before * n_groups[ids[first]] // classes.sizes[ids[first]]
    group = np.where(own[first] < 0, 0, group)  # missing values are a group of their own
    found = np.empty(len(codes), dtype=np.int64)
    found[at] = group[np.cumsum(begins) - 1]
    return found[classes.records]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenQuasi:
    """A k-quasi that varies within classes."""

    name: str
    pairs: IntArray
    """A number for each (class, value), from 0, shape (n_in_classes,)."""
    entropy: float
    """H(value | class) in bits, above 0."""
    weight: float
    """H(value | class) as a share of what is hidden among all records that an attacker cannot tell apart."""


class BitCounter:
    """Counts bits about all hidden k-quasis of one partition, with shuffles that are drawn once from a fixed seed."""

    def __init__(
        self, k_quasis: Mapping[str, OrderedCodes], classes: ClassOrder, *, among: ClassOrder | None = None
    ) -> None:
        """Bits are counted in `classes`, as shares of what is hidden in the classes `among` that these are parts of."""
        self._classes = classes
        self._among = among or classes
        self._logarithms = np.log2(np.maximum(np.arange(classes.n_records + 1), 1))
        rng = np.random.default_rng(_SEED)
        self._shuffles = [np.argsort(classes.ids + rng.random(classes.n_records)) for _ in range(N_SHUFFLES)]
        found = (self._hidden(name, codes) for name, codes in k_quasis.items())
        self.quasis = tuple(own for own in found if own is not None)

    def _hidden(self, name: str, codes: OrderedCodes) -> HiddenQuasi | None:
        own = codes.in_classes(self._classes)
        n_values = int(own.max(initial=0)) + 1
        found, pairs = np.unique(self._classes.ids * n_values + own, return_inverse=True)
        if len(found) == self._classes.n_classes:
            return None
        entropy, weight = self._entropy(self._classes, pairs), 1.0
        if self._among is not self._classes:
            own = codes.in_classes(self._among)
            numbers = self._among.ids * (int(own.max(initial=0)) + 1) + own
            weight = min(1.0, entropy / self._entropy(self._among, np.unique(numbers, return_inverse=True)[1]))
        return HiddenQuasi(name=name, pairs=pairs, entropy=entropy, weight=weight)

    def _entropy(self, classes: ClassOrder, pairs: IntArray) -> float:
        within = self._logarithms[classes.sizes][classes.ids] - self._logarithms[np.bincount(pairs)][pairs]
        return float(within.mean())

    def largest(self, codings: Sequence[OrderedCodes]) -> tuple[float, str | None]:
        """The largest share of a hidden quasi's bits that a column tells, and whose it is; 0 where it could be chance.

        `codings` are ways to look at the column; the one that tells most counts.
        """
        best: tuple[float, str | None] = (0.0, None)
        for coding in codings:
            for name, share in self.shares(coding).items():
                if share > best[0]:
                    best = (share, name)
        return best

    def shares(self, coding: OrderedCodes) -> dict[str, float]:
        """Adjusted I(q; X | class) as a share of H(q | class) for each hidden quasi; 0 where it could be chance."""
        shown = coding.in_classes(self._classes)
        alone = self._alike(self._classes.ids, shown)
        return {quasi.name: self._share(quasi, shown, alone) for quasi in self.quasis}

    def _share(self, quasi: HiddenQuasi, shown: IntArray, alone: float) -> float:
        # I = H(q | class) − H(q | class, X). Of its parts shuffling changes only how many share class, q and X.
        told = quasi.entropy + self._alike(quasi.pairs, shown) - alone
        chance: list[float] = []
        for shuffle in self._shuffles:
            chance.append(quasi.entropy + self._alike(quasi.pairs[shuffle], shown) - alone)
            if len(chance) == 1 and _adjusted(told, chance, quasi.entropy) < _WORTH_A_LOOK:
                return 0.0
        beyond = told - np.mean(chance)
        if beyond < _SURE * np.std(chance, ddof=1) or beyond * len(shown) < _FEWEST_BITS:
            return 0.0
        return quasi.weight * _adjusted(told, chance, quasi.entropy)

    def _alike(self, numbers: IntArray, shown: IntArray) -> float:
        """Mean over records of log2(how many share their number and what they show): log2(n) − H(number, shown)."""
        keys = numbers * (int(shown.max(initial=0)) + 1) + shown
        return float(self._logarithms[np.bincount(keys)][keys].mean())


def _adjusted(told: float, chance: Sequence[float], entropy: float) -> float:
    """(I − E) / (H − E). Where chance alone tells nearly all, the divisor is at least a twentieth of H."""
    by_chance = float(np.mean(chance))
    return (told - by_chance) / max(entropy - by_chance, entropy / 20)
