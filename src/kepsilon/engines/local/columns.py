# SPDX-License-Identifier: Apache-2.0
"""The columns to publish, held in memory: read, counted, put into classes and merged there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import as_doubles, encode, holds_numbers, missingness, only_occurring, rank_by_hash
from kepsilon.engines.arrow.formulas import n_formulas
from kepsilon.engines.arrow.merging import label_columns, merged_table
from kepsilon.engines.arrow.moving import stored, taker
from kepsilon.engines.arrow.persons import Persons, code_persons
from kepsilon.engines.arrow.whole_columns import in_any_order, taken_rows, whole_columns
from kepsilon.engines.local.classes import LocalClasses
from kepsilon.engines.local.merged import LocalMerged, ReleasedRecords
from kepsilon.engines.protocol import DistinctValues, LeftOut
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import disordered, lost_orders, movable, shown_type, taken_field, without_order
from kepsilon.sources.files import changed
from kepsilon.sources.kept_types import type_changes
from kepsilon.sources.protocol import Source as OpenedSource
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import Recoding
from kepsilon.table.coded_values import CodedValues, code_values
from kepsilon.table.codes import Domain, Label
from kepsilon.table.frequency import FrequencyTable, count_combinations
from kepsilon.table.keys import count_codes, looked_up
from kepsilon.table.persons import count_persons
from kepsilon.table.record_hashes import are_taken
from kepsilon.table.records_per_person import are_beyond_cap
from kepsilon.table.sensitive import SensitiveCounts, code_values_in_order, count_sensitive
from kepsilon.table.type_changes import TypeChange
from kepsilon.table.whole_records import WholeColumn, WholeRecords, in_canonical_order
from kepsilon.threads import each_of


def _fields_of_input(table: pa.Table, names: Sequence[str], source: OpenedSource) -> list[pa.Field]:
    """The columns in the types of the input; what was read may hold them in types that are faster to move."""
    schema: pa.Schema | None = getattr(source, "schema", None)
    if schema is not None:
        return [schema.field(name) for name in names]
    return [pa.field(name, shown_type(table.schema.field(name))) for name in names]


class LocalColumns:
    """The columns to publish, in memory; see `engines.protocol.Columns` for its methods and their order.

    A column is dropped from the Arrow table once its codes or doubles are made. After `leave_out`, codes and doubles are
    only of the records that are not left out; the kept columns in the Arrow table are still of all.
    """

    def __init__(self, table: pa.Table, roles: ColumnRoles, source: OpenedSource) -> None:
        lacking_order = disordered(table)
        table = without_order(table, lacking_order)
        kept = _fields_of_input(table, roles.kept, source)
        self.input_types: Mapping[str, Any] = {field.name: field.type for field in kept}
        self.are_in_memory = True
        self.type_changes: tuple[TypeChange, ...] = (
            *type_changes(kept),
            *lost_orders(name for name in lacking_order if name in roles.kept),
            *(own for own in getattr(source, "type_changes", ()) if own.column in roles.kept),
        )
        self._table = movable(table)
        self._roles = roles
        self._source = source
        self.n_records: int = table.num_rows
        self._persons: Persons | None = None
        """Whom the records are about; None where the policy names no such column."""
        if roles.person is not None:
            self._persons = code_persons(self._table.column(roles.person), roles.person, source.name)
            self._table = self._table.drop_columns([roles.person])
        self._distinct: dict[str, tuple[tuple[Label, ...], IntArray]] = {}
        """By k-quasi, its distinct values and the position of every record's value among them."""
        self._numbers: dict[str, FloatArray] = {}
        self._integers: set[str] = set()
        self._typed: set[str] = set()
        """The k-quasis whose columns are of numbers, not text."""
        self._stays: IntArray | None = None
        """Positions in the table of the records that are not left out; None where none is."""
        self._coded: tuple[CodedValues, ...] | None = None
        self.combinations: IntArray = np.zeros(0, dtype=np.int32)
        """Row of the frequency table of every record that is not left out, in the order of the input; set by `count`."""
        self._sensitive: IntArray | None = None
        """Codes of the values of `roles.diverse`, of every record that is not left out; set by `count`."""

    def distinct(self, name: str) -> DistinctValues:
        if name not in self._distinct:
            self._encode_k_quasis()
        values, codes = self._distinct[name]
        counts = count_codes(codes, n_values=len(values))
        return DistinctValues(values=values, counts=counts, is_typed=name in self._typed)

    def _encode_k_quasis(self) -> None:
        """Codes all k-quasis; codes are all that is needed of them from here on."""
        names = self._roles.k_quasis
        columns = {name: self._table.column(name) for name in names}
        coded = each_of(names, lambda name: encode(columns[name], name, self._source.name))
        self._distinct = dict(zip(names, coded, strict=True))
        self._typed = {name for name, column in columns.items() if holds_numbers(stored(column).type)}
        self._table = self._table.drop_columns(list(names))

    def numbers(self, name: str) -> FloatArray:
        """An ε-quasi as doubles, NaN where it is missing; DataError where some values are no numbers."""
        if name not in self._numbers:
            column = self._table.column(name)
            self._numbers[name] = as_doubles(column, name, self._source.name, self._roles.reading(name))
            if pa.types.is_integer(column.type):
                self._integers.add(name)
            self._table = self._table.drop_columns([name])
        return self._numbers[name]

    def largest(self, name: str) -> float:
        numbers = self.numbers(name)
        return float(max(np.fmax.reduce(numbers, initial=0.0), -np.fmin.reduce(numbers, initial=0.0)))

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        unlisted = np.zeros(self.n_records, dtype=np.bool_)
        for name, listed in is_listed.items():
            if not listed.all():
                unlisted |= ~listed[self._distinct[name][1]]
        missing = np.zeros(self.n_records, dtype=np.bool_)
        for name in drop_missing:
            missing |= np.isnan(self.numbers(name))
        if self._persons is not None:
            missing |= ~self._persons.is_known
        missing &= ~unlisted  # records with both faults are reported once, as unlisted
        beyond = self._beyond_cap(~(unlisted | missing))
        leaves = unlisted | missing | beyond
        if leaves.any():
            self._stays = stays = np.flatnonzero(~leaves)
            if self._persons is not None:
                self._persons = Persons(numbers=self._persons.numbers[stays], is_known=self._persons.is_known[stays])
            self._numbers = {name: values[stays] for name, values in self._numbers.items()}
            self._distinct = {
                name: only_occurring(values, codes[stays]) for name, (values, codes) in self._distinct.items()
            }
        return LeftOut(missing=int(missing.sum()), unlisted=int(unlisted.sum()), by_cap=int(np.sum(beyond)))

    def _beyond_cap(self, remains: BoolArray) -> BoolArray | np.bool_:
        """Which of the records that remain a person has beyond the number that the policy allows; no record without a cap."""
        most = self._roles.max_records_per_person
        if self._persons is None or most is None:
            return np.False_
        beyond = np.zeros(self.n_records, dtype=np.bool_)
        rows = np.flatnonzero(remains)
        beyond[rows] = are_beyond_cap(self._persons.numbers[rows], rows, most=most)
        return beyond

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        n_staying = self.n_records if self._stays is None else len(self._stays)
        columns: list[IntArray] = []
        all_domains: list[Domain] = []
        for name, (domain, code_of_value) in domains.items():
            narrow: IntArray = code_of_value.astype(np.int16 if domain.n_values < 1 << 15 else np.int32)
            columns.append(looked_up(narrow, self._distinct.pop(name)[1]))
            all_domains.append(domain)
        for name in missing_in_class:
            domain, is_missing = missingness(name, np.isnan(self.numbers(name)))
            columns.append(is_missing)
            all_domains.append(domain)
        table, self.combinations = count_combinations(columns, all_domains, n_records=n_staying, rank=rank_by_hash)
        if self._persons is not None:
            persons = count_persons(self.combinations, self._persons.numbers, n_combinations=table.n_combinations)
            table = replace(table, persons=persons)
        if self._roles.diverse:
            table = replace(table, sensitive=self._count_sensitive())
        return table

    def _count_sensitive(self) -> dict[str, SensitiveCounts]:
        """The sensitive values of the records that are not left out, by column; their codes are held for the batches."""
        found: dict[str, SensitiveCounts] = {}
        codes = np.empty((len(self.combinations), len(self._roles.diverse)), dtype=np.int64)
        for j, name in enumerate(self._roles.diverse):
            values, places = encode(self._table.column(name), name, self._source.name)
            if self._stays is not None:
                values, places = only_occurring(values, places[self._stays])
            of_value, n_values, is_ordered = code_values_in_order(values)
            codes[:, j] = of_value[places]
            found[name] = count_sensitive(self.combinations, codes[:, j], n_values=n_values, is_ordered=is_ordered)
        self._sensitive = codes
        return found

    def _by_class(self, recoding: Recoding) -> IntArray:
        """Class id of every record that is not left out, or SUPPRESSED, shape (n_staying,)."""
        return looked_up(recoding.class_of.astype(np.int32, copy=False), self.combinations)

    def n_formulas(self, name: str) -> int:
        return n_formulas(self._table.column(name))

    def whole_records(self, shares: FloatArray, *, identifiers: Sequence[str]) -> WholeRecords:
        staying = np.arange(self.n_records) if self._stays is None else self._stays
        records = np.flatnonzero(are_taken(shares, self.combinations, staying))
        rows = staying[records]
        return in_canonical_order(
            WholeRecords(
                combinations=self.combinations[records],
                values=self.epsilon_quasis(records),
                kept=whole_columns(taken_rows(self._table.select(self._roles.kept), rows)),
                identifiers=whole_columns(taken_rows(self._identifiers(identifiers), rows)),
                rows=rows,
            )
        )

    def _identifiers(self, names: Sequence[str]) -> pa.Table:
        """The named columns of all records, which were not read before; refused where the table has changed."""
        if not names:
            return pa.table({})
        table = self._source.arrow_table(names)
        if table.num_rows != self.n_records:
            raise changed(self._source.name)
        return table.select(names)

    def preview(self, recoding: Recoding) -> LocalClasses:
        return self.classes(recoding)

    def classes(self, recoding: Recoding) -> LocalClasses:
        return LocalClasses(self, self._by_class(recoding), sizes=recoding.sizes)

    def close(self) -> None:
        """Nothing is on disk."""

    def coded(self) -> tuple[CodedValues, ...]:
        """The ε-quasis of all records that are not left out, coded once for all recodings."""
        if self._coded is None:
            numbers = {name: self.numbers(name) for name in self._roles.epsilon_quasis}
            precisions = self._roles.precisions
            self._coded = tuple(each_of(list(numbers), lambda n: code_values(numbers[n], precision=precisions[n])))
        return self._coded

    def forget_codes(self) -> None:
        """Frees the memory that codes take; they are made anew if they are asked for again."""
        self._coded = None

    def persons(self, records: IntArray) -> IntArray | None:
        """Whom the records at some positions among those not left out are about, shape (n_records,)."""
        return None if self._persons is None else self._persons.numbers[records]

    def sensitive(self, records: IntArray) -> IntArray | None:
        """Codes of the sensitive values of the records at some positions among those not left out."""
        return None if self._sensitive is None else self._sensitive[records]

    def kept_columns(self, records: IntArray, names: Sequence[str]) -> dict[str, WholeColumn]:
        """Some kept columns of the records at some positions among those not left out, in their order."""
        rows = records if self._stays is None else self._stays[records]
        table = self._table.select(list(names))
        return in_any_order(rows, lambda rising: whole_columns(taken_rows(table, rising)))

    def epsilon_quasis(self, records: IntArray, coded: Sequence[CodedValues] = ()) -> FloatArray:
        """The ε-quasis of the records at some positions among those not left out, shape (n_records, n_epsilon_quasis).

        Where `coded` holds the codes of these records, values are looked up by code, which is nearer in memory.
        """
        names = self._roles.epsilon_quasis
        values = np.empty((len(records), len(names)))
        for j, name in enumerate(names):
            numbers = self.numbers(name)
            is_coded = bool(coded) and not np.isnan(numbers).any()  # a missing value has the code of 0
            values[:, j] = looked_up(coded[j].distinct, coded[j].codes) if is_coded else looked_up(numbers, records)
        return values

    def merge(self, recoding: Recoding, released: ReleasedRecords, *, whole: Collection[str]) -> LocalMerged:
        """Labels, noisy values and kept columns of the released records, in the order in which they will be published.

        Algorithm 1, lines 8 to 10. Every column is copied, so that no shared buffer, dictionary or metadata holds a
        value of a record that was left out, and nothing that happens to the input afterwards changes the release. Labels and
        noisy values are put beside kept columns when rows are asked for.
        """
        self._numbers.clear()
        self._coded = self._persons = self._sensitive = None
        stays, roles, integers = self._stays, self._roles, self._integers.intersection(whole)
        fields = {name: self._table.schema.field(name) for name in roles.kept}
        columns = {name: self._table.column(name) for name in roles.kept}
        self._table = self._table.drop_columns(list(fields))
        rows = looked_up(released.records, released.order)
        rows = rows if stays is None else looked_up(stays, rows)

        def taken(name: str) -> pa.Array | pa.ChunkedArray:
            take = taker(columns.pop(name), codes_text=shown_type(fields[name]) == fields[name].type)
            return take(rows)

        kept_columns = dict(zip(fields, each_of(list(fields), taken), strict=True))
        labels = label_columns(roles, recoding)

        def table_of(own: slice) -> pa.Table:
            first, last, _ = own.indices(len(rows))

            def kept(name: str) -> tuple[pa.Field, pa.Array | pa.ChunkedArray]:
                column = kept_columns[name].slice(first, last - first)
                return taken_field(fields[name], column.type), column

            class_ids, published = released.at(own)
            return merged_table(roles, labels, class_ids, published, kept, integers=integers)

        def linkage() -> tuple[IntArray, IntArray]:
            return rows, released.class_ids[released.order]

        return LocalMerged(table_of, linkage, self._source, n_records=len(rows), input_types=self.input_types)
