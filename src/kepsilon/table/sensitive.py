# SPDX-License-Identifier: Apache-2.0
"""How often each value of a sensitive column occurs in each combination of a frequency table; these counts add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kepsilon.policy.numbers import parse_double
from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Label

MISSING = -1
"""The code of a missing value."""

NAN = "nan"
"""A double that is no number, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveCounts:
    """The values of one sensitive column by combination. A missing value is no value, and is not counted."""

    n_values: int
    """Distinct values; their codes are 0 to n_values − 1."""
    is_ordered: bool
    """Whether all values are numbers. Their codes rise with the numbers then."""
    combinations: IntArray
    """Rows of the table, shape (n_pairs,): with `codes`, each pair of a combination and a value that occurs in it."""
    codes: IntArray
    """Codes of the values, shape (n_pairs,)."""
    counts: IntArray
    """Records with the combination and the value, shape (n_pairs,)."""

    @property
    def overall(self) -> IntArray:
        """Records of each value in the whole table, shape (n_values,)."""
        sums = np.bincount(self.codes, weights=self.counts, minlength=self.n_values)
        return sums.astype(np.int64)


def code_values_in_order(values: Sequence[Label]) -> tuple[IntArray, int, bool]:
    """The code of each of some distinct texts, how many codes there are, and whether they are in the order of numbers.

    Null and texts without a character but blanks are MISSING. If all others are numbers, texts of one number share a code,
    and NaN is MISSING too.
    """
    texts = ["" if value is None else value.strip() for value in values]
    numbers = [parse_double(text) for text in texts]
    are_numbers = all(number is not None or text in ("", NAN) for number, text in zip(numbers, texts, strict=True))
    keys: list[Any] = [text or None for text in texts] if not are_numbers else numbers
    present = [key for key in keys if key is not None]
    # No array of texts: in NumPy all of them would be as long as the longest.
    place = {key: i for i, key in enumerate(sorted(set(present)))}
    codes: IntArray = np.array([MISSING if key is None else place[key] for key in keys], dtype=np.int64)
    return codes, len(place), bool(present) and are_numbers


def count_sensitive(
    combinations: IntArray, codes: IntArray, *, n_values: int, is_ordered: bool, counts: IntArray | None = None
) -> SensitiveCounts:
    """The values by combination, from the combination and the code of every record; both have shape (n_records,).

    `codes`, `n_values` and `is_ordered` are as `code_values_in_order` gives them. With `counts`, each entry stands for so
    many records.
    """
    is_value = codes != MISSING
    keys = combinations[is_value] * np.int64(max(1, n_values)) + codes[is_value]
    distinct, position = np.unique(keys, return_inverse=True)
    weights = None if counts is None else counts[is_value]
    rows, own = np.divmod(distinct, max(1, n_values))
    return SensitiveCounts(
        n_values=n_values,
        is_ordered=is_ordered,
        combinations=rows,
        codes=own,
        counts=np.bincount(position, weights=weights, minlength=len(distinct)).astype(np.int64),
    )
