# SPDX-License-Identifier: Apache-2.0
"""Where strict Mondrian may cut a part of the table so that both sides have k persons.

A person may be on both sides of a cut. The left side has k persons if the threshold is at least the k-th smallest of the
persons' smallest codes in the part; the right side has k persons if it is below the k-th largest of their largest codes.
So the thresholds that may be cut at are an interval, which may be empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.kanonymise.median_cuts import Runs, SortedMembers
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.keys import sorted_keys
from kepsilon.table.persons import PersonCounts


class PersonPairs:
    """The pairs of a combination and a person that lie in parts which are still being cut."""

    def __init__(self, persons: PersonCounts, codes: tuple[IntArray, ...], *, k: int) -> None:
        """`codes` are those of the combinations, as runs have them, one array of shape (n_combinations,) per attribute."""
        self._k = k
        self._single = persons.single
        self._codes = codes
        self._combinations = persons.combinations
        self._persons = persons.persons
        self._n_several = max(1, persons.n_several)

    def of_round(self, runs: Runs) -> PersonsOfRuns:
        """Who is in each part; pairs that are in none are dropped, because no later part has them."""
        part_of: IntArray = np.full(len(self._single), -1, dtype=np.int64)
        part_of[runs.combinations] = np.repeat(np.arange(runs.n_parts), runs.lengths)
        part_of_pair = part_of[self._combinations]
        is_left = part_of_pair >= 0
        if not is_left.all():
            self._combinations, self._persons = self._combinations[is_left], self._persons[is_left]
            part_of_pair = part_of_pair[is_left]
        order, keys = sorted_keys(part_of_pair * self._n_several + self._persons, bound=runs.n_parts * self._n_several)
        is_first = np.diff(keys, prepend=-1) > 0
        starts = np.flatnonzero(is_first)
        return PersonsOfRuns(
            k=self._k,
            single=self._single[runs.combinations],
            codes=self._codes,
            combinations=self._combinations[order],
            starts=starts,
            parts=part_of_pair[order[starts]],
            n_parts=runs.n_parts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsOfRuns:
    """The persons of each part in one round of cuts."""

    k: int
    single: IntArray
    """Persons who have a single combination, by member of the runs, shape (n_members,)."""
    codes: tuple[IntArray, ...]
    """Codes of all combinations of the table by attribute, each of shape (n_combinations,)."""
    combinations: IntArray
    """Combination of each pair of the other persons, part by part and person by person, shape (n_pairs,)."""
    starts: IntArray
    """Position of the first pair of each person in a part, shape (n_persons,)."""
    parts: IntArray
    """Part of each of these persons, rising, shape (n_persons,)."""
    n_parts: int

    def thresholds(
        self, chosen: IntArray, attribute_of: IntArray, *, members: SortedMembers
    ) -> tuple[IntArray, IntArray]:
        """Lowest and highest code that each chosen part may be cut after, two arrays of shape (n_chosen,).

        The lowest one is above the highest one where the part cannot be cut along this attribute. Parameters are those of
        `median_cuts`: numbers of parts, the attribute of each, and their members in the order of that attribute.
        """
        smallest, largest, rank = self._extremes(chosen, attribute_of)
        single = self.single.take(members.positions)
        has_single = single > 0
        keys, weights = members.keys[has_single], single[has_single]
        first_key = members.first_keys[rank]
        n_persons = np.bincount(members.parts[has_single], weights=weights, minlength=len(chosen)).astype(np.int64)
        n_persons += np.bincount(rank, minlength=len(chosen))
        before = np.cumsum(n_persons) - n_persons
        enough = n_persons >= self.k
        # Where there are too few persons, the first one stands in; the result is not used there.
        kth_lowest = np.where(enough, before + self.k, 1)
        kth_highest = np.where(enough, before + n_persons - self.k + 1, 1)
        lowest = _at_rank(keys, weights, first_key + smallest, ranks=kth_lowest, bound=members.bound)
        highest = _at_rank(keys, weights, first_key + largest, ranks=kth_highest, bound=members.bound) - 1
        return np.where(enough, lowest - members.first_keys, 0), np.where(enough, highest - members.first_keys, -1)

    def _extremes(self, chosen: IntArray, attribute_of: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Smallest and largest code of each person in a chosen part, and the position of the part in `chosen`."""
        position: IntArray = np.full(self.n_parts, -1, dtype=np.int64)
        position[chosen] = np.arange(len(chosen))
        rank = position[self.parts]
        lengths = np.diff(self.starts, append=len(self.combinations))
        is_chosen: BoolArray = rank >= 0
        combinations = self.combinations
        if not is_chosen.all():
            combinations = combinations[np.repeat(is_chosen, lengths)]
            rank, lengths = rank[is_chosen], lengths[is_chosen]
        if not len(rank):
            return rank, rank, rank
        code: IntArray = np.empty(len(combinations), dtype=np.int64)
        along = attribute_of[rank]
        for attribute, column in enumerate(self.codes):
            is_along = along == attribute
            if is_along.any():
                np.copyto(
                    code, column.take(combinations), where=True if is_along.all() else np.repeat(is_along, lengths)
                )
        starts = np.cumsum(lengths) - lengths
        return np.minimum.reduceat(code, starts), np.maximum.reduceat(code, starts), rank


def _at_rank(keys: IntArray, weights: IntArray, others: IntArray, *, ranks: IntArray, bound: int) -> IntArray:
    """The keys of the given ranks, counted from 1, among `keys`, each repeated by its weight, and `others`."""
    order, merged = sorted_keys(np.concatenate((keys, others)), bound=bound)
    cumulative = np.cumsum(np.concatenate((weights, np.ones(len(others), dtype=weights.dtype)))[order])
    return merged[np.searchsorted(cumulative, ranks)]
