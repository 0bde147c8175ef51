# SPDX-License-Identifier: Apache-2.0
"""The curator's linkage: which original each released record was, read and checked before anything relies on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.findings import Findings
from kepsilon.engines.arrow.audited import read_whole_numbers
from kepsilon.table.arrays import IntArray

COLUMNS = ("original_row", "released_row", "class_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage:
    """One entry for every released record, in the order of the release."""

    original_row: IntArray
    released_row: IntArray
    class_id: IntArray


def read_linkage(source: object, *, n_originals: int, n_released: int, findings: Findings) -> Linkage | None:
    """The linkage of these two tables; None if it cannot be theirs, which is then among the findings.

    A file that is no linkage at all is refused.
    """
    original_row, released_row, class_id = read_whole_numbers(source, COLUMNS, what="a linkage file")
    problem = None
    if len(released_row) != n_released:
        problem = f"has {len(released_row):,} lines for {n_released:,} released records."
    elif not _are_distinct_positions(released_row, n_released):
        problem = "does not name every released record once in released_row."
    elif not _are_distinct_positions(original_row, n_originals):
        problem = "names an original twice, or one that is not there, in original_row."
    elif class_id.min(initial=0) < 0:
        problem = "has a negative class_id."
    if problem is not None:
        findings.warning(
            "linkage", f"the linkage {problem} It does not go with this release; the rest is checked without it."
        )
        return None
    order = np.argsort(released_row)
    return Linkage(original_row=original_row[order], released_row=released_row[order], class_id=class_id[order])


def _are_distinct_positions(rows: IntArray, n: int) -> bool:
    if rows.size and not 0 <= rows.min() <= rows.max() < n:
        return False
    return bool(np.bincount(rows, minlength=1).max(initial=0) <= 1)


def check_linkage(linkage: Linkage, class_of_released: IntArray, findings: Findings) -> None:
    """Class ids and labels must say the same; that labels contain their records is checked with the classes."""
    pairs = np.unique(np.stack([class_of_released, linkage.class_id]), axis=1).shape[1]
    n_by_label, n_by_id = len(np.unique(class_of_released)), len(np.unique(linkage.class_id))
    findings.require(
        pairs == n_by_label == n_by_id,
        "linkage",
        right="one line for every released record, each original named once, classes as the labels have them.",
        wrong="the classes of the linkage are not those of the labels.",
    )
