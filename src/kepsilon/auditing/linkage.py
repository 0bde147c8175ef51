# SPDX-License-Identifier: Apache-2.0
"""Reads the curator's linkage, which tells the original of each released record, and refuses what cannot be one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.findings import Findings
from kepsilon.engines.arrow.audited import read_whole_numbers
from kepsilon.table.arrays import IntArray

COLUMNS = ("original_row", "released_row", "class_id")
"""Columns of a linkage file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage:
    """Original and class of each released record, in the order of the release; all arrays have shape (n_released,)."""

    original_row: IntArray
    released_row: IntArray
    class_id: IntArray
    """Number that the linkage gives the class; it need not be that of `ReconstructedClasses`."""


def read_linkage(source: object, *, n_originals: int, n_released: int, findings: Findings) -> Linkage | None:
    """The linkage of two tables; None, with a finding, if it cannot be that of these two.

    A file without the columns of a linkage raises a DataError.
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
    """Whether all rows lie between 0 and n − 1 and none occurs twice."""
    if rows.size and not 0 <= rows.min() <= rows.max() < n:
        return False
    return bool(np.bincount(rows, minlength=1).max(initial=0) <= 1)
