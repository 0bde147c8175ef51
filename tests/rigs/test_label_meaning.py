# SPDX-License-Identifier: Apache-2.0
"""The rig reads values as the package does; otherwise it would accuse the package, or miss what is wrong."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from kepsilon.engines.arrow.coding import encode
from kepsilon.errors import DataError
from kepsilon.table.sensitive import code_values_in_order
from rigs.columns import KEPT_TYPES
from rigs.person_invariants import sensitive_values


@pytest.mark.parametrize("kind", KEPT_TYPES)
def test_sensitive_values_are_numbers_or_categories_for_the_rig_as_for_the_package(kind):
    """A duration was a number for the package, and a category for the rig, which then saw no t-closeness."""
    column = KEPT_TYPES[kind](random.Random(1), 60)
    try:
        texts, codes = encode(pa.chunked_array([column]), "column", "table")
    except DataError:
        return  # such a column is refused where it is asked to be diverse
    by_text, n_values, are_numbers = code_values_in_order(texts)
    read = sensitive_values(column.to_pylist())
    present = {value for value in read if value is not None}
    pairs = {(by_text[code], value) for code, value in zip(codes, read, strict=True)}
    assert len(present) == n_values
    assert len(pairs) == n_values + (None in read)
    assert are_numbers == bool(present and not isinstance(next(iter(present)), str))
