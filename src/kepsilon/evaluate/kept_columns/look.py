# SPDX-License-Identifier: Apache-2.0
"""Looks at kept columns with the eyes of attackers who know the quasis, and says which of them give people away.

What does not depend on classes (features of the quasis, fits, bins, words) is made once by `fit_attackers`; what does is
worked out for each partition of the same records, in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

import numpy as np

from kepsilon.evaluate.kept_columns.bits import MOST_EXACT, BitCounter, OrderedCodes, codes_to_group, exact_codes
from kepsilon.evaluate.kept_columns.class_order import ClassOrder, order_of_classes
from kepsilon.evaluate.kept_columns.coding import n_occurring
from kepsilon.evaluate.kept_columns.findings import KeptColumn, KeptColumns, KeptPair, Verdict
from kepsilon.evaluate.kept_columns.fitted_columns import FittedColumn, fit_columns
from kepsilon.evaluate.kept_columns.identifiers_inside import Identifiers
from kepsilon.evaluate.kept_columns.links import likeliest_links, likeliest_persons
from kepsilon.evaluate.kept_columns.pairs import Measured, measured_of, telling_pairs
from kepsilon.evaluate.kept_columns.ranks import RankCounter
from kepsilon.evaluate.kept_columns.right_persons import RightPersons
from kepsilon.evaluate.kept_columns.tables import (
    QuasiValues,
    quasi_values,
    table_links,
    table_persons,
    tells_anything,
)
from kepsilon.evaluate.kept_columns.two_folds import TwoFolds, two_folds
from kepsilon.evaluate.kept_columns.verdicts import Linked, by_the_best, reasons_of, with_persons
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.whole_records import RecordsInClasses, WholeColumn

COLUMNS_AT_ONCE = 8
"""Columns whose bins are predicted and compared together; more need more memory and take no less time."""
ALIKE = 1e-5
"""Predicted shares of bins that differ by no more than this tie: rounding moves them by less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinModel:
    """What predicts the bins of a few kept columns from the quasis."""

    columns: tuple[FittedColumn, ...]
    offsets: tuple[int, ...]
    """Where the bins of each column begin among those of all."""
    coefficients: tuple[FloatArray, FloatArray]
    """For the records of fold 0 and of fold 1, each of shape (n_features, n_bins of all columns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedAttackers:
    """Attackers of some records, ready for any partition. They hold values of records: only what they find may go out."""

    folds: TwoFolds
    columns: tuple[FittedColumn, ...]
    bin_models: tuple[BinModel, ...]
    tables: Mapping[str, tuple[QuasiValues, tuple[FittedColumn, ...]]]
    """For each quasi its values, and the columns about which they tell anything."""
    k_quasis: Mapping[str, OrderedCodes]
    epsilon_quasis: Mapping[str, Measured]
    epsilon_order: Mapping[str, OrderedCodes]
    persons: IntArray | None
    """Whom each record is about, from 0, shape (n_records,); None where that is not known."""
    joining_tells: bool
    """Whether to know which records are one person's tells more than figures for single records say."""

    def in_classes(self, class_ids: IntArray) -> KeptColumns:
        """What the kept columns tell in one partition. A record with a negative class id is in no class."""
        classes = order_of_classes(class_ids, self.persons)
        if not classes.n_records:
            nothing = tuple(self._finding(own, None, (0.0, None), (0.0, None), (), 0) for own in self.columns)
            return KeptColumns(n_records=0, n_classes=0, columns=nothing, pairs=())
        linked = {
            column.name: [own for guess in column.guesses for own in guess.all_linked(classes)]
            for column in self.columns
        }
        for name, own in (*self._by_bins(classes), *self._by_tables(classes)):
            linked[name].append(own)
        measured = {own.name: own.measured for own in self.columns if own.measured is not None}
        pairs = telling_pairs(measured, self.epsilon_quasis, classes)
        bits = [BitCounter(self.k_quasis, own, among=among) for own, among in classes.looks]
        ranks = [RankCounter(self.epsilon_order, own, among=among) for own, among in classes.looks]
        n_records = classes.n_records
        return KeptColumns(
            n_records=n_records,
            n_classes=classes.n_classes,
            names_persons=self.persons is not None,
            columns=tuple(
                self._finding(
                    column,
                    by_the_best(linked[column.name], n_records),
                    max((own.largest(column.for_bits) for own in bits), key=itemgetter(0)),
                    max((own.largest(column.for_ranks) for own in ranks), key=itemgetter(0)),
                    tuple(pair for pair in pairs if column.name in pair.columns),
                    n_records,
                )
                for column in self.columns
            ),
            pairs=pairs,
        )

    def _by_bins(self, classes: ClassOrder) -> Iterator[tuple[str, Linked]]:
        """Links through predicted bins of each column."""
        fold = self.folds.fold[classes.records]
        halves = [np.flatnonzero(fold == own) for own in (0, 1)]
        features = [self.folds.basis[classes.records[own]].astype(np.float32) for own in halves]
        for model in self.bin_models:
            scores = np.empty((classes.n_records, model.coefficients[0].shape[1]), dtype=np.float32)
            for half, own, coefficients in zip(halves, features, model.coefficients, strict=True):
                scores[half] = own[:, : len(coefficients)] @ coefficients.astype(np.float32)
            bins = np.column_stack(
                [own.model_bins[classes.records] + at for own, at in zip(model.columns, model.offsets, strict=True)]
            )
            one = np.ones(classes.n_records, dtype=np.int64)
            links = likeliest_links(
                scores,
                bins,
                row_of_record=np.arange(classes.n_records),
                records_of_row=one,
                row_starts=classes.starts,
                classes=classes,
                tolerance=ALIKE,
            )
            persons = None
            if classes.by_person is not None:
                persons = likeliest_persons(
                    scores,
                    bins,
                    person_of_row=classes.by_person.ids,
                    records_of_row=one,
                    row_starts=classes.starts,
                    classes=classes,
                    by_person=classes.by_person,
                    tolerance=ALIKE,
                )
            yield from _all_shown(model.columns, links, persons, classes, by_table_of=None)

    def _by_tables(self, classes: ClassOrder) -> Iterator[tuple[str, Linked]]:
        """Links through the values of each quasi that varies within classes."""
        for name, (quasi, columns) in self.tables.items():
            if not quasi.varies_within(classes):
                continue
            for own in _in_groups(columns):
                bins = [column.table_bins for column in own]
                links = table_links(quasi, bins, classes)
                persons = None
                if classes.by_person is not None:
                    persons = table_persons(quasi, bins, classes, classes.by_person)
                yield from _all_shown(own, links, persons, classes, by_table_of=name)

    def _finding(
        self,
        column: FittedColumn,
        best: Linked | None,
        bits: tuple[float, str | None],
        told: tuple[float, str | None],
        pairs: tuple[KeptPair, ...],
        n_records: int,
    ) -> KeptColumn:
        alarms, notes = reasons_of(
            best=best,
            n_records=n_records,
            bits=bits[0],
            told=told[0],
            pairs=pairs,
            joined=column.joined,
            joining_tells=self.joining_tells,
            identifiers_inside=column.identifiers_inside,
            is_serial=column.is_serial,
            is_sorted=column.is_sorted,
            unique=column.unique,
            is_date=column.is_date,
            is_free_text=column.is_free_text,
        )
        verdict: Verdict = "alarm" if alarms else "note" if notes else "nothing"
        return KeptColumn(
            column=column.name,
            verdict=verdict,
            alarms=alarms,
            notes=notes,
            links_per_class=1.0 if best is None else best.per_class,
            z=0.0 if best is None else best.z,
            share_linked=0.0 if best is None else best.share_linked(n_records),
            largest=0.0 if best is None else best.largest,
            by=None if best is None else best.by,
            of=None if best is None else best.of,
            bits=bits[0],
            bits_of=bits[1],
            told=told[0],
            told_of=told[1],
            unique=column.unique,
            joined=column.joined,
            is_date=column.is_date,
            is_free_text=column.is_free_text,
            is_serial=column.is_serial,
            identifiers_inside=column.identifiers_inside,
        )


def look_at_kept_columns(records: RecordsInClasses, *, joining_tells: bool = False) -> KeptColumns:
    """What every kept column tells about the records of some classes to whoever knows the quasis of all of them.

    For each column the links of the best of four attackers (`findings.Attacker`), the bits about generalised k-quasis,
    how much of an ε-quasi it tells, and what it looks like; and pairs of columns that tell an ε-quasi.
    `verdicts.py` says what is an alarm and what a note. `joining_tells` says whether to know which
    records are one person's tells more than figures for single records say.
    """
    return fit_attackers(records, joining_tells=joining_tells).in_classes(records.class_ids)


def fit_attackers(records: RecordsInClasses, *, joining_tells: bool = False) -> FittedAttackers:
    """All that does not depend on the classes of the records; `in_classes` then takes any class ids of these records.

    `joining_tells` as for `look_at_kept_columns`.
    """
    n_records = len(records.class_ids)
    # ε-quasis first: if there is no room for all features, theirs matter most.
    quasis = {**records.epsilon_quasis, **records.k_quasis}
    persons = _numbered(records.persons)
    folds = two_folds(quasis, n_records=n_records, persons=persons)
    columns = tuple(
        fit_columns(
            records.kept,
            quasis,
            folds=folds,
            identifiers=Identifiers(records.identifiers, n_records=n_records),
            rows=records.rows,
            persons=persons,
        )
    )
    varying = tuple(own for own in columns if own.model_bins.max(initial=0) > 0)
    tables = {}
    for name, quasi in quasis.items():
        values = quasi_values(quasi, folds.fold)
        tables[name] = (values, tuple(own for own in varying if tells_anything(values, own.table_bins)))
    return FittedAttackers(
        folds=folds,
        columns=columns,
        bin_models=tuple(_bin_model(own, folds) for own in _in_groups(varying)),
        tables=tables,
        k_quasis={name: _for_bits(quasi) for name, quasi in records.k_quasis.items()},
        epsilon_quasis={
            name: own for name, quasi in records.epsilon_quasis.items() if (own := measured_of(quasi)) is not None
        },
        epsilon_order={name: codes_to_group(quasi.codes) for name, quasi in records.epsilon_quasis.items()},
        persons=persons,
        joining_tells=joining_tells,
    )


def _numbered(persons: IntArray | None) -> IntArray | None:
    """Whom each record is about, numbered from 0; whoever has no name is somebody else in every record."""
    if persons is None:
        return None
    n_named = int(persons.max(initial=-1)) + 1
    somebody = np.where(persons < 0, n_named + np.arange(len(persons)), persons)
    return np.unique(somebody, return_inverse=True)[1].ravel()


def _bin_model(columns: tuple[FittedColumn, ...], folds: TwoFolds) -> BinModel:
    widths = [int(own.model_bins.max()) + 1 for own in columns]
    offsets = tuple(accumulate(widths, initial=0))
    shown = np.zeros((len(folds.fold), offsets[-1]))
    for own, at in zip(columns, offsets, strict=False):
        shown[np.arange(len(shown)), own.model_bins + at] = 1.0
    return BinModel(columns=columns, offsets=offsets[:-1], coefficients=folds.coefficients(shown))


def _for_bits(quasi: WholeColumn) -> OrderedCodes:
    return exact_codes(quasi.codes) if n_occurring(quasi) <= MOST_EXACT else codes_to_group(quasi.codes)


def _in_groups(columns: tuple[FittedColumn, ...]) -> Iterator[tuple[FittedColumn, ...]]:
    for at in range(0, len(columns), COLUMNS_AT_ONCE):
        yield columns[at : at + COLUMNS_AT_ONCE]


def _all_shown(
    columns: tuple[FittedColumn, ...],
    links: tuple[FloatArray, FloatArray],
    persons: list[RightPersons] | None,
    classes: ClassOrder,
    *,
    by_table_of: str | None,
) -> Iterator[tuple[str, Linked]]:
    """Links of an attacker for whom a missing value is a value like others, for each column.

    `links` are those of each column, and the largest chance of one record.
    """
    for i, (column, own_links, largest) in enumerate(zip(columns, *(own.tolist() for own in links), strict=True)):
        own = Linked(
            links=own_links,
            by_chance=float(classes.n_classes),
            n_shown=classes.n_records,
            by="bins" if by_table_of is None else "table",
            of=by_table_of,
            largest=largest,
        )
        for found in (own,) if persons is None else with_persons(own, persons[i]):
            yield column.name, found
