# SPDX-License-Identifier: Apache-2.0
"""Counts of combinations, for the engines that do not hold the records in memory (spilling and Spark).

Such an engine reads all records once and counts them by the values of their k-quasis and by which ε-quasis are missing.
From these counts follow, in the step that counts: the distinct values of each k-quasi, how many records are left out, and
the frequency table; and later, when the engine reads the records a second time, the class that each of them goes to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import WrongNumbers, holds_numbers, missingness
from kepsilon.engines.protocol import DistinctValues, LeftOut
from kepsilon.errors import DataError
from kepsilon.policy.roles import ColumnRoles
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.codes import Domain, Label
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.keys import number


class CountedCombinations:
    """The combinations that an engine counted: one value for each k-quasi, and whether each ε-quasi is missing.

    Methods are called in this order: `distinct`; `leave_out`, once; `distinct` again, which then knows only the records
    that are not left out; `count`; then any of `class_of`, `row_in_table` and `counts_in_table`.

    Counted combinations and rows of the frequency table are numbered apart: the table has no row for what is left out,
    and one row for combinations that differ only in whether an ε-quasi outside `missing_in_class` is missing.
    """

    def __init__(
        self,
        values: Mapping[str, tuple[Label, ...]],
        codes: Mapping[str, IntArray],
        is_missing: Mapping[str, BoolArray],
        counts: IntArray,
    ) -> None:
        """`codes` are positions in `values`, by k-quasi; `is_missing` is by ε-quasi; `counts` are records.

        All arrays have shape (n_combinations,).
        """
        self._values, self._codes, self._is_missing, self._counts = values, codes, is_missing, counts
        self._stays: BoolArray = np.ones(len(counts), dtype=np.bool_)
        """Which combinations are not left out, shape (n_combinations,)."""
        self._row_of_staying: IntArray = np.zeros(0, dtype=np.int64)
        """Row of the frequency table of each combination that is not left out; set by `count`."""

    def distinct(self, name: str) -> DistinctValues:
        """The distinct values of a k-quasi among the records that are not left out."""
        values, positions = self._occurring(name)
        counts = np.bincount(positions, weights=self._counts[self._stays], minlength=len(values))
        return DistinctValues(values=values, counts=counts.astype(np.int64))

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        """Leaves out combinations with an unlisted value, or with a missing ε-quasi of `drop_missing`.

        `is_listed[name]` is indexed like `distinct(name).values` before this call.
        """
        unlisted = np.zeros(len(self._counts), dtype=np.bool_)
        for name, listed in is_listed.items():
            unlisted |= ~listed[self._occurring(name)[1]]
        missing = np.zeros(len(self._counts), dtype=np.bool_)
        for name in drop_missing:
            missing |= self._is_missing[name]
        missing &= ~unlisted  # records with both faults are reported once, as unlisted
        self._stays = ~(unlisted | missing)
        return LeftOut(missing=int(self._counts[missing].sum()), unlisted=int(self._counts[unlisted].sum()))

    def lose(self, n_lost: IntArray) -> int:
        """Leaves out some records of each combination, shape (n_combinations,); how many they are. Called after `leave_out`."""
        self._counts = self._counts - n_lost
        self._stays &= self._counts > 0  # a value that only lost records hold occurs no more
        return int(n_lost.sum())

    def staying(self) -> IntArray:
        """The number of every combination, shape (n_combinations,), with SUPPRESSED where it is left out."""
        numbers: IntArray = np.arange(len(self._counts))
        return np.where(self._stays, numbers, SUPPRESSED)

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        """The frequency table of the records that are not left out.

        `domains` gives for each k-quasi its domain and the code of each of its values, indexed like
        `distinct(name).values` after `leave_out`. `missing_in_class` names the ε-quasis whose missing values make classes
        of their own: whether one of them is missing is one more attribute of the table.
        """
        columns = [code_of_value[self._occurring(name)[1]] for name, (_, code_of_value) in domains.items()]
        all_domains = [domain for domain, _ in domains.values()]
        for name in missing_in_class:
            domain, is_missing = missingness(name, self._is_missing[name][self._stays])
            columns.append(is_missing)
            all_domains.append(domain)
        counts = self._counts[self._stays]
        self._row_of_staying, n_rows = number(columns, sizes=[d.n_values for d in all_domains], length=len(counts))
        example = np.empty(n_rows, dtype=np.int64)
        example[self._row_of_staying] = np.arange(
            len(counts)
        )  # of combinations in one row any will do: codes are equal
        return FrequencyTable(
            domains=tuple(all_domains),
            codes=tuple(column[example] for column in columns),
            counts=np.bincount(self._row_of_staying, weights=counts, minlength=n_rows).astype(np.int64),
        )

    def class_of(self, recoding: Recoding) -> IntArray:
        """Class of every combination, shape (n_combinations,); SUPPRESSED where the combination or its class is left out."""
        return self._for_all(recoding.class_of[self._row_of_staying])

    def row_in_table(self) -> IntArray:
        """Row of the frequency table of every combination, shape (n_combinations,); SUPPRESSED where it is left out."""
        return self._for_all(self._row_of_staying)

    def counts_in_table(self) -> IntArray:
        """How many records every row of the frequency table has, shape (n_rows,)."""
        counts = np.bincount(self._row_of_staying, weights=self._counts[self._stays])
        return counts.astype(np.int64)

    def _for_all(self, numbers: IntArray) -> IntArray:
        """Numbers of the combinations that are not left out, with SUPPRESSED put in for the others."""
        of_all: IntArray = np.full(len(self._counts), SUPPRESSED, dtype=np.int64)
        of_all[self._stays] = numbers
        return of_all

    def _occurring(self, name: str) -> tuple[tuple[Label, ...], IntArray]:
        """The values of a k-quasi in combinations that are not left out, and the position among them of each one's value."""
        occurring, positions = np.unique(self._codes[name][self._stays], return_inverse=True)
        return tuple(self._values[name][i] for i in occurring.tolist()), positions


class CountedColumns:
    """The methods of `engines.protocol.Columns` that counts can answer; a base of the spilling and the Spark columns.

    While they count, subclasses set `_combinations`, and for every ε-quasi either `_refused` or `_wrong` and `_largest`.
    """

    _combinations: CountedCombinations

    def __init__(self, source: str, schema: pa.Schema, roles: ColumnRoles) -> None:
        """`source` is the name of the source in error messages; `schema` has the types of the input."""
        self._source, self._roles = source, roles
        self._typed = {name for name in roles.k_quasis if holds_numbers(schema.field(name).type)}
        """The k-quasis whose columns are of numbers, not text."""
        self._refused: dict[str, DataError] = {}
        """By ε-quasi whose type holds no numbers, the error that says so."""
        self._wrong: dict[str, WrongNumbers] = {}
        """By ε-quasi, how many of its values are no numbers."""
        self._largest: dict[str, float] = {}
        """By ε-quasi, its largest absolute value; 0 where all are missing."""

    def distinct(self, name: str) -> DistinctValues:
        return replace(self._combinations.distinct(name), is_typed=name in self._typed)

    def largest(self, name: str) -> float:
        """The largest absolute value of an ε-quasi; DataError where some of its values are no numbers."""
        if name in self._refused:
            raise self._refused[name]
        self._wrong[name].refuse_any(name, self._source, self._roles.reading(name))
        return self._largest[name]

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        return self._combinations.leave_out(is_listed, drop_missing=drop_missing)

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        return self._combinations.count(domains, missing_in_class=missing_in_class)
