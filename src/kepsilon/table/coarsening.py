# SPDX-License-Identifier: Apache-2.0
"""Which k-quasis to coarsen in the input, and to which level, so that few enough combinations are left.

For the advice that engines give when they refuse a table with too many combinations for the memory; from a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.policy.roles import KQuasi
from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Label
from kepsilon.table.distinct import DistinctCount, estimate_distinct
from kepsilon.table.domains import place_values
from kepsilon.table.keys import number


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCombinations:
    """Combinations of k-quasis in a sample of the records, with counts."""

    values: Mapping[str, Sequence[Label]]
    """Distinct values by k-quasi."""
    codes: Mapping[str, IntArray]
    """Positions among the distinct values by k-quasi, shape (n_combinations,)."""
    counts: IntArray
    """Sampled records of each combination, shape (n_combinations,)."""
    n_records: int
    """Records of the whole table, of which some were sampled."""

    def count(self, name: str, labels: IntArray | None = None) -> DistinctCount:
        """How many distinct values a k-quasi has; or distinct labels, where `labels` numbers the label of every value."""
        codes = self.codes[name] if labels is None else labels[self.codes[name]]
        of_value = np.bincount(codes, weights=self.counts)
        return estimate_distinct(of_value[of_value > 0].astype(np.int64), n_records=self.n_records)

    def count_combinations(self, labels: Mapping[str, IntArray] | None = None) -> DistinctCount:
        """How many combinations there are, with the values of some k-quasis replaced by labels, as for `count`."""
        replaced = labels or {}
        columns = [replaced[name][own] if name in replaced else own for name, own in self.codes.items()]
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        numbers, n_distinct = number(columns, sizes=sizes, length=len(self.counts))
        of_combination = np.bincount(numbers, weights=self.counts, minlength=n_distinct)
        return estimate_distinct(of_combination.astype(np.int64), n_records=self.n_records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening:
    """Levels to which some k-quasis would be coarsened."""

    levels: Mapping[str, int]
    """By k-quasi; one that is not listed stays at level 0."""
    left: float
    """About which share of the combinations, or of the values, would be left."""


def coarsenings_of_combinations(
    sample: SampledCombinations, attributes: Mapping[str, KQuasi], *, share: float
) -> tuple[list[Coarsening], bool]:
    """Coarsenings that leave no more than a share of the combinations, and whether there is any.

    For each k-quasi alone, the finest level that is enough. If no level of one is, several k-quasis together: the one
    that then leaves fewest combinations goes one level higher, again and again, and the last result is returned even if
    it is not enough. A level with one label for all is not tried: the attribute could as well be left out.
    """
    base = sample.count_combinations().about
    labels = {name: _labels(sample.values[name], own) for name, own in attributes.items()}

    def left(levels: Mapping[str, int]) -> Coarsening:
        chosen = {name: labels[name][level] for name, level in levels.items()}
        return Coarsening(levels=levels, left=sample.count_combinations(chosen).about / max(1, base))

    alone = []
    for name, own in labels.items():
        tried = (left({name: level}) for level in own)
        alone += [found for found in tried if found.left <= share][:1]
    if alone:
        return alone, True
    together = Coarsening(levels={}, left=1.0)
    while together.left > share:
        higher = [
            left({**together.levels, name: level})
            for name, own in labels.items()
            for level in [found for found in own if found > together.levels.get(name, 0)][:1]
        ]
        if not higher:
            break
        together = min(higher, key=lambda found: found.left)
    return ([together] if together.levels else []), together.left <= share


def coarsenings_of_values(
    sample: SampledCombinations, attributes: Mapping[str, KQuasi], name: str, *, share: float
) -> list[Coarsening]:
    """The finest level of one k-quasi that leaves no more than a share of its values; empty where no level does."""
    base = sample.count(name).about
    for level, labels in _labels(sample.values[name], attributes[name]).items():
        left = sample.count(name, labels).about / max(1, base)
        if left <= share:
            return [Coarsening(levels={name: level}, left=left)]
    return []


def coarsening_in_words(found: Coarsening, attributes: Mapping[str, KQuasi], *, of: str) -> str:
    """A coarsening for a message: "birth_date" to level 1 (month): about 1/28 of the combinations are left."""
    named = []
    for name, level in found.levels.items():
        hierarchy = attributes[name].hierarchy
        words = "" if hierarchy is None else hierarchy.level_in_words(level)
        named.append(f'"{name}" to level {level}' + f" ({words})" * bool(words))
    times = 1 / found.left
    share = f"1/{times:,.0f}" if times >= 9.5 else f"1/{times:.1f}"
    return f"{', '.join(named)}: about {share} of the {of} are left"


def _labels(values: Sequence[Label], attribute: KQuasi) -> dict[int, IntArray]:
    """By level, the number of each value's label; null and values that the hierarchy does not list stay themselves."""
    if attribute.hierarchy is None:
        return {}
    placed = place_values("", attribute, values)
    of_known = np.flatnonzero(np.array([bool(value) for value in values], dtype=np.bool_))
    by_level: dict[int, IntArray] = {}
    for level, labels in enumerate(placed.levels.labels, 1):
        numbers: dict[str, int] = {}
        of_value = np.arange(len(values)) + len(values)
        of_value[of_known] = [numbers.setdefault(label, len(numbers)) for label in labels]
        of_value[~placed.is_covered] = np.flatnonzero(~placed.is_covered) + len(values)
        if len(numbers) > 1:
            by_level[level] = np.unique(of_value, return_inverse=True)[1]
    return by_level
