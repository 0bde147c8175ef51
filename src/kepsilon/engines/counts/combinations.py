# SPDX-License-Identifier: Apache-2.0
"""Counted combinations, from which everything follows that is asked of records before they get a class.

An engine that does not hold the records counts them by the values of their k-quasis and by which ε-quasis are missing.
Which records are left out, the frequency table, and the class of every combination follow from these counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kepsilon.engines.arrow.coding import WrongNumbers, missingness
from kepsilon.engines.protocol import DistinctValues, LeftOut
from kepsilon.errors import DataError
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.codes import Domain, Label
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number


class CountedCombinations:
    """Combinations of k-quasi values and missing ε-quasis, with counts; after `leave_out` only those that stay."""

    def __init__(
        self,
        values: Mapping[str, tuple[Label, ...]],
        codes: Mapping[str, IntArray],
        is_missing: Mapping[str, BoolArray],
        counts: IntArray,
    ) -> None:
        """`codes` are positions in `values`, by k-quasi; `is_missing` is by ε-quasi; all have shape (n_combinations,)."""
        self._values, self._codes, self._is_missing, self._counts = values, codes, is_missing, counts
        self._stays: BoolArray = np.ones(len(counts), dtype=np.bool_)
        self._combination: IntArray = np.zeros(0, dtype=np.int64)
        """Position in the frequency table of every combination that stays."""

    def distinct(self, name: str) -> DistinctValues:
        values, positions = self._occurring(name)
        counts = np.bincount(positions, weights=self._counts[self._stays], minlength=len(values))
        return DistinctValues(values=values, counts=counts.astype(np.int64))

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        unlisted = np.zeros(len(self._counts), dtype=np.bool_)
        for name, listed in is_listed.items():
            unlisted |= ~listed[self._occurring(name)[1]]
        missing = np.zeros(len(self._counts), dtype=np.bool_)
        for name in drop_missing:
            missing |= self._is_missing[name]
        # Each record is reported once; unlisted comes first because it is the curator's list that decides.
        missing &= ~unlisted
        self._stays = ~(unlisted | missing)
        return LeftOut(missing=int(self._counts[missing].sum()), unlisted=int(self._counts[unlisted].sum()))

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        columns = [code_of_value[self._occurring(name)[1]] for name, (_, code_of_value) in domains.items()]
        all_domains = [domain for domain, _ in domains.values()]
        for name in missing_in_class:
            domain, is_missing = missingness(name, self._is_missing[name][self._stays])
            columns.append(is_missing)
            all_domains.append(domain)
        counts = self._counts[self._stays]
        self._combination, n = number(columns, sizes=[d.n_values for d in all_domains], length=len(counts))
        first = np.empty(n, dtype=np.int64)
        first[self._combination] = np.arange(len(counts))  # any of those with the same codes will do
        return FrequencyTable(
            domains=tuple(all_domains),
            codes=tuple(column[first] for column in columns),
            counts=np.bincount(self._combination, weights=counts, minlength=n).astype(np.int64),
        )

    def class_of(self, recoding: Recoding) -> IntArray:
        """Class id of every combination; SUPPRESSED for those that do not stay."""
        return self._answers(recoding.class_of[self._combination])

    def place_of(self) -> IntArray:
        """Position of every combination in the frequency table; SUPPRESSED for those that do not stay."""
        return self._answers(self._combination)

    def counts_in_table(self) -> IntArray:
        """How many records every combination of the frequency table has."""
        counts = np.bincount(self._combination, weights=self._counts[self._stays])
        return counts.astype(np.int64)

    def _answers(self, of_staying: IntArray) -> IntArray:
        """The given number of every combination that stays; SUPPRESSED for the others."""
        answers: IntArray = np.full(len(self._counts), SUPPRESSED, dtype=np.int64)
        answers[self._stays] = of_staying
        return answers

    def _occurring(self, name: str) -> tuple[tuple[Label, ...], IntArray]:
        """The values of a k-quasi that occur where combinations stay, and the position of each combination's value."""
        occurring, positions = np.unique(self._codes[name][self._stays], return_inverse=True)
        return tuple(self._values[name][i] for i in occurring.tolist()), positions


class CountedColumns:
    """The methods of `Columns` that counted combinations can answer; engines fill in the fields while they count."""

    _combinations: CountedCombinations

    def __init__(self, source: str) -> None:
        self._source = source
        self._refused: dict[str, DataError] = {}
        """By ε-quasi whose type holds no numbers, the error that says so."""
        self._wrong: dict[str, WrongNumbers] = {}
        self._largest: dict[str, float] = {}

    def distinct(self, name: str) -> DistinctValues:
        return self._combinations.distinct(name)

    def largest(self, name: str) -> float:
        if name in self._refused:
            raise self._refused[name]
        self._wrong[name].refuse(name, self._source)
        return self._largest[name]

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        return self._combinations.leave_out(is_listed, drop_missing=drop_missing)

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        return self._combinations.count(domains, missing_in_class=missing_in_class)
