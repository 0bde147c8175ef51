# SPDX-License-Identifier: Apache-2.0
"""Values of a column that mean "missing": 99, 777, −9 and the like, which stand apart from all other numbers, or signs."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

LARGE = tuple(float(digit * n) for n in (2, 3, 4, 5, 6) for digit in ("7", "8", "9"))
"""77, 88, 99, 777, … 999999: codes where all other numbers are smaller by far."""
SMALL = (7.0, 8.0, 9.0)
"""Codes of questions with up to five answers, where 9 is among them."""
NEGATIVE = tuple(
    -float(digit * n) for n in (1, 2, 3, 4) for digit in ("1", "6", "7", "8", "9") if digit != "1" or n == 1
)
"""−1, −6, … −9999: codes where no other number is negative."""
LEAST_RECORDS = 5
"""A code is held by at least so many records, and by one in a thousand; a single number far from others is an outlier."""
MOST_ANSWERS = 5
FAR = 3.0
"""A code is this many times as far from the other numbers as these are from each other, at most, in their upper half."""

SIGNS = frozenset({"?", "??", "-", "--", ".", "n/a", "n.a.", "nan", "null"})
"""Texts, in small letters, that stand for a missing value whatever the other values of a column are."""
WORDS_BESIDE_NUMBERS = frozenset({"na", "none", "unknown", "missing"})
"""Texts that do so only where all other values are numbers: elsewhere they may be a country or an answer."""


def are_among(texts: pa.ChunkedArray, wanted: AbstractSet[str]) -> pa.ChunkedArray:
    """Which texts are among some others, capitals and white space around them aside."""
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    return pc.is_in(plain, value_set=pa.array(sorted(wanted), plain.type))


def codes_among(numbers: FloatArray, counts: IntArray) -> BoolArray:
    """Which of the distinct numbers, each held by `counts` records, mean missing; shape (n_distinct,)."""
    often = counts >= max(LEAST_RECORDS, counts.sum() / 1000)
    is_code: BoolArray = np.isin(numbers, NEGATIVE) & often
    others = numbers[~is_code]
    if len(others) < 2 or others.min() < 0 or (len(others) == 2 and set(others) == {0.0, 1.0}):
        is_code[:] = False
    for codes in (LARGE, SMALL):
        found = np.isin(numbers, codes) & often & ~is_code
        while found.any() and not _stand_apart(numbers[found], numbers[~found & ~is_code], codes):
            found[np.flatnonzero(found)[np.argmin(numbers[found])]] = False  # the smallest may be an ordinary number
        is_code |= found
    return is_code


def _stand_apart(found: FloatArray, others: FloatArray, codes: tuple[float, ...]) -> bool:
    """Whether numbers that look like codes are far above the others."""
    if len(others) < 2 or others.max() >= found.min() or others.min() < 0:
        return False
    if codes == SMALL:
        answers = np.sort(others)
        follow_each_other = (
            answers[0] in (0, 1) and len(answers) <= MOST_ANSWERS and bool(np.all(np.diff(answers) == 1))
        )
        return follow_each_other and 9 in found and bool(found.min() - others.max() > 1)
    upper = np.sort(others)[(len(others) - 1) // 2 :]
    return bool(found.min() - others.max() >= max(FAR * np.diff(upper).max(initial=1.0), 2.0))
