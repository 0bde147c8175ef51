# SPDX-License-Identifier: Apache-2.0
"""Takes the whole records of some released classes, with the kept columns that an attacker may know or work out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.table.arrays import IntArray
from kepsilon.table.chosen_classes import choose_classes, true_values
from kepsilon.table.classes import Recoding
from kepsilon.table.keys import number
from kepsilon.table.whole_columns import number_column
from kepsilon.table.whole_records import RecordsInClasses, WholeColumn

MOST_RECORDS = 20_000
"""Records that are looked at, about; whole classes are taken until there are so many."""

LARGEST_CLASS = 50_000
"""Records of a class from which on a sample of it is taken."""

SEED = 20_090_803
"""Seed of the sample of a very large class, so that an audit can be repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """Originals of some released classes, with their kept columns."""

    rows: IntArray
    """Row of each original in the input, rising, shape (n_records,)."""
    class_ids: IntArray
    """Class of each in `ReconstructedClasses`, shape (n_records,)."""
    kept: Mapping[str, WholeColumn]
    n_all: int
    """Originals of all released classes, as far as they are known."""
    is_thinned: bool
    """Whether only some originals of a very large class were looked at, so that its records had too few candidates."""

    @property
    def is_sample(self) -> bool:
        """Whether there are released classes, or originals of them, that were not looked at."""
        return len(self.rows) < self.n_all

    @property
    def in_words(self) -> str:
        """How many records were looked at."""
        n = len(self.rows)
        return f"{n:,} of {self.n_all:,} records" if self.is_sample else f"all {n:,} records"

    @property
    def sample_in_words(self) -> str | None:
        """How many records were looked at, and in what classes; None where all were."""
        if not self.is_sample:
            return None
        whole = f"; of a class above {LARGEST_CLASS:,} records only some, so that shares are at most these"
        return f"{self.in_words}{whole if self.is_thinned else ', in whole classes'}"

    def groups(self, names: Sequence[str]) -> IntArray:
        """Group of each record, shape (n_records,): those of one class that agree on some kept columns."""
        columns = [self.class_ids, *(self.kept[name].codes + 1 for name in names)]
        sizes = [int(own.max(initial=0)) + 1 for own in columns]
        return number(columns, sizes=sizes, length=len(self.rows))[0].astype(np.int64)


def look_at_whole_records(case: AuditCase, *, only_known: bool) -> LookedAt:
    """All originals of some classes: of every class of a small release, of a random choice of classes of a large one.

    Originals of a class that labels do not tell are those that the linkage names, unless `only_known`.
    """
    classes = case.classes
    of_original = np.full(case.original.n_records, NOWHERE, dtype=np.int64)
    of_original[classes.known_originals] = classes.of_original[classes.known_originals]
    if case.linkage is not None and not only_known:
        is_open = ~classes.is_known[classes.of_released]
        of_original[case.linkage.original_row[is_open]] = classes.of_released[is_open]
    rows = np.flatnonzero(of_original != NOWHERE)
    sizes = np.bincount(of_original[rows], minlength=classes.n_classes)
    recoding = Recoding(class_of=np.arange(classes.n_classes), sizes=sizes, attributes=())
    shares = choose_classes(recoding, most=MOST_RECORDS, largest=LARGEST_CLASS)[of_original[rows]]
    chosen: IntArray = rows[(shares >= 1) | (np.random.default_rng(SEED).random(len(rows)) < shares)]
    return LookedAt(
        rows=chosen,
        class_ids=of_original[chosen],
        kept=case.original.table.whole_columns(case.policy.kept, chosen),
        n_all=len(rows),
        is_thinned=bool(np.any((shares > 0) & (shares < 1))),
    )


def records_in_classes(case: AuditCase, looked: LookedAt) -> RecordsInClasses:
    """What was looked at, with the true values of the quasis, as those who look for leaks take it."""
    original, rows = case.original, looked.rows
    return RecordsInClasses(
        class_ids=np.unique(looked.class_ids, return_inverse=True)[1],
        k_quasis={name: true_values(domain, original.codes[name][rows]) for name, domain in original.domains.items()},
        epsilon_quasis={
            name: number_column(values[rows], is_missing=np.isnan(values[rows]))
            for name, values in original.numbers.items()
        },
        kept=looked.kept,
        identifiers=original.table.whole_columns(case.policy.identifiers, rows),
        rows=rows,
        persons=None if original.persons is None else original.persons[rows],
    )
