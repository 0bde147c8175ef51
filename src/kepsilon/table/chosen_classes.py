# SPDX-License-Identifier: Apache-2.0
"""Chooses classes whose whole records are looked at, and puts whole records into their classes."""

from __future__ import annotations

import zlib

import numpy as np

from kepsilon.policy.roles import ColumnRoles
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.codes import Domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.whole_columns import number_column, text_column
from kepsilon.table.whole_records import RecordsInClasses, WholeColumn, WholeRecords

_FEWEST_CLASSES = 30
"""Classes that are chosen at the least, if they are not so large that there are too many records in them."""


def choose_classes(recoding: Recoding, *, most: int = 20_000, largest: int = 50_000) -> FloatArray:
    """Share of the records of each combination to take, so that whole classes are taken, shape (n_combinations,).

    Classes come in a random order that depends on their sizes alone, until there are `most` records; further ones until
    there are 30 classes, as long as there are at most `most` + `largest` records. Of a class of more than `largest`
    records a sample of about that size is taken. Suppressed combinations have the share 0.
    """
    shares = np.minimum(1.0, largest / np.maximum(recoding.sizes, 1))
    expected = np.minimum(recoding.sizes, largest)
    seed = zlib.crc32(np.ascontiguousarray(recoding.sizes, dtype="<i8").tobytes())
    order = np.random.default_rng(seed).permutation(recoding.n_classes)
    after = np.cumsum(expected[order])
    before = after - expected[order]
    is_one_of_few = (np.arange(recoding.n_classes) < _FEWEST_CLASSES) & (after <= most + largest)
    is_chosen = np.zeros(recoding.n_classes + 1, dtype=np.bool_)  # the entry at the end is for SUPPRESSED, which is −1
    is_chosen[order] = np.logical_and.accumulate((before < most) | is_one_of_few)
    found: FloatArray = np.where(is_chosen, np.append(shares, 0.0), 0.0)[recoding.class_of]
    return found


def in_classes(
    whole: WholeRecords,
    recoding: Recoding,
    table: FrequencyTable,
    roles: ColumnRoles,
    *,
    persons: IntArray | None = None,
) -> RecordsInClasses:
    """Whole records with their classes and the true values of their quasis; records without a class are left out.

    `table` is the frequency table that the records' combinations are rows of; `persons` says whom each record is about.
    """
    class_of_record = recoding.class_of[whole.combinations]
    if (class_of_record == SUPPRESSED).any():
        stays = np.flatnonzero(class_of_record != SUPPRESSED)
        whole, class_of_record = whole.of(stays), class_of_record[stays]
        persons = None if persons is None else persons[stays]
    domains = table.domains[: len(roles.k_quasis)]  # others say whether an ε-quasi is missing
    return RecordsInClasses(
        class_ids=np.unique(class_of_record, return_inverse=True)[1],
        k_quasis={
            domain.name: true_values(domain, codes[whole.combinations])
            for domain, codes in zip(domains, table.codes, strict=False)
        },
        epsilon_quasis={
            name: number_column(values, is_missing=np.isnan(values))
            for name, values in zip(roles.epsilon_quasis, whole.values.T, strict=True)
        },
        kept=whole.kept,
        identifiers=whole.identifiers,
        rows=whole.rows,
        persons=persons,
    )


def true_values(domain: Domain, codes: IntArray) -> WholeColumn:
    """The values of a k-quasi, before they were generalised; text that is numbers or dates is read as in kept columns."""
    held, positions = np.unique(codes, return_inverse=True)
    return text_column(
        [domain.levels[0][i] or "" for i in held.tolist()], positions
    )  # empty text is missing, as null is
