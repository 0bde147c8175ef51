# SPDX-License-Identifier: Apache-2.0
"""Kept columns that show which records are one person's: a pseudonym, the hash of an identifier, a date of birth."""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import IntArray
from kepsilon.table.whole_records import MISSING, WholeColumn

FEWEST_JOINED = 20
"""Persons with several records, at least, whose records a column joins: a few persons may all live in different towns."""


def joined_share(column: WholeColumn, persons: IntArray | None) -> float:
    """Share of the persons with several records whose value is the same in all of them, and no other person's.

    Records without a value are left out. 0 where that is fewer than FEWEST_JOINED persons, or persons are not known.
    """
    if persons is None:
        return 0.0
    present = np.flatnonzero(column.codes != MISSING)
    codes, owners = column.codes[present].astype(np.int64), persons[present]
    n_codes = int(codes.max(initial=0)) + 1
    pairs = np.unique(owners * n_codes + codes)
    n_records = np.bincount(owners)
    values_of = np.bincount(pairs // n_codes, minlength=len(n_records))
    persons_of = np.bincount(pairs % n_codes, minlength=n_codes)
    has_own = np.bincount(pairs // n_codes, weights=persons_of[pairs % n_codes] == 1, minlength=len(n_records)) > 0
    has_several = n_records > 1
    n_joined = int(np.count_nonzero(has_several & (values_of == 1) & has_own))
    return n_joined / int(np.count_nonzero(has_several)) if n_joined >= FEWEST_JOINED else 0.0


def own_share(column: WholeColumn, persons: IntArray) -> float:
    """Share of the records whose value no other person has."""
    present = np.flatnonzero(column.codes != MISSING)
    codes, owners = column.codes[present].astype(np.int64), persons[present]
    n_codes = int(codes.max(initial=0)) + 1
    persons_of = np.bincount(np.unique(owners * n_codes + codes) % n_codes, minlength=n_codes)
    return float(np.count_nonzero(persons_of[codes] == 1) / max(len(column.codes), 1))
