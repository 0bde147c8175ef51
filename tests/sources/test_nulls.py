# SPDX-License-Identifier: Apache-2.0
"""Where a column is null, and a column in one piece: the two questions that every engine and every writer asks."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kepsilon.sources.columns import in_one_piece
from kepsilon.sources.rebuilding import null_mask

ARRAYS = {
    "no null": pa.array([1, 2, 3, 4]),
    "some nulls": pa.array([None, 2, None, 4]),
    "all null, of a type": pa.array([None] * 4, pa.int64()),
    "of type null": pa.nulls(4),
    "text": pa.array(["a", None, "", "b"]),
    "bool": pa.array([True, None, False, None]),
    "list": pa.array([[1], None, [], [None]]),
    "structure": pa.array([{"a": 1}, None, {"a": None}, {"a": 2}]),
    "dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "no record": pa.array([], pa.int64()),
    "no record, of type null": pa.nulls(0),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_nulls_are_where_arrow_says(name):
    """Whole or in part, and also where the type itself is null, which has no bits of validity."""
    array = ARRAYS[name]
    for own in (array, array.slice(1), array.slice(1, 2)):
        assert null_mask(own).tolist() == own.is_null().to_pylist()


@pytest.mark.parametrize("name", ARRAYS)
def test_a_column_in_one_piece_holds_what_its_pieces_held(name):
    """Whatever number of pieces it came in; dictionaries of several pieces become one."""
    array = ARRAYS[name]
    for pieces in ([], [array], [array.slice(0, 1), array.slice(1)], [array, array.slice(2), array]):
        column = pa.chunked_array(pieces, type=array.type)
        whole = in_one_piece(column)
        assert whole.type == array.type
        assert whole.to_pylist() == column.to_pylist()


def test_dictionaries_with_other_entries_become_one():
    """Positions of one piece mean nothing in the dictionary of another; Arrow unifies none that holds a null."""
    one, two = pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()
    with_null = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([None, "a"]))
    assert in_one_piece(pa.chunked_array([one, two])).to_pylist() == ["a", "b", "c", "a"]
    assert in_one_piece(pa.chunked_array([one, with_null])).to_pylist() == ["a", "b", None, "a"]
