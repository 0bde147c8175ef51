# SPDX-License-Identifier: Apache-2.0
"""The rig reads values as the package does; otherwise it would accuse the package, or miss what is wrong."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from kepsilon.engines.arrow.coding import encode
from kepsilon.errors import DataError
from kepsilon.policy.reading import Reading
from kepsilon.table.sensitive import code_values_in_order
from rigs.columns import KEPT_TYPES, Column
from rigs.person_invariants import sensitive_values
from rigs.readings import as_read


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


@pytest.mark.parametrize("codes", [[""], [], ["?"], ["none\n"], ["?", " "]])
def test_values_are_missing_for_the_rig_as_for_the_package(codes):
    """An empty text is missing also where a list does not have it; the rig took it for a value that a set has to name."""
    texts = ["", " ", "?", " ? ", "none", "none\n", "a", "null"]
    column = Column(name="x", role="k-quasi", holds="categories", array=pa.array([*texts, None]))
    read = as_read(column, {"attributes": {"x": {"role": "k-quasi", "missing_values": codes}}})
    reading = Reading(missing_values=tuple(codes))
    assert [value is None for value in read] == [*map(reading.means_missing, texts), True]
