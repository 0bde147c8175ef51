# SPDX-License-Identifier: Apache-2.0
"""One dictionary for all pieces of an Arrow column.

Arrow puts dictionaries together wrongly or not at all for some types of values: those of floating-point numbers of 16 bits
come out as other numbers, and those with a null among their entries are refused.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kepsilon.sources.kept_types import released_type
from kepsilon.sources.rebuilding import each_once, narrowest, null_mask, positions_or_null, rebuilt, whole_numbers


def with_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with one dictionary for all chunks, in which no entry is null; its index type may be a wider one."""
    listed = [chunk.dictionary for chunk in column.chunks]
    if not any(own.null_count for own in listed):
        # Arrow takes zero and minus zero for equal, which are two entries.
        is_float = pa.types.is_floating(column.type.value_type)
        if len(listed) <= 1 or (not is_float and all(own.equals(listed[0]) for own in listed[1:])):
            return column
        if _is_put_together_by_arrow(column.type.value_type):
            return column.unify_dictionaries()
    kind = column.type
    values = released_type(kind.value_type, inside=True, views=False)
    distinct = each_once(pa.concat_arrays([rebuilt(own, values) for own in listed]))
    entries = rebuilt(distinct.dictionary, kind.value_type)
    kind = pa.dictionary(narrowest(kind.index_type, len(entries)), kind.value_type, ordered=kind.ordered)
    place = positions_or_null(distinct.indices)
    chunks, first = [], 0
    for chunk, own in zip(column.chunks, listed, strict=True):
        indices = _looked_up(place[first : first + len(own)], chunk.indices, kind.index_type)
        chunks.append(pa.DictionaryArray.from_arrays(indices, entries, ordered=kind.ordered))
        first += len(own)
    return pa.chunked_array(chunks, type=kind)


def each_with_one_dictionary(table: pa.Table) -> pa.Table:
    """The table with one dictionary for every column that is one."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = with_one_dictionary(table.column(i))
            table = table.set_column(i, field.with_type(column.type), column)
    return table


def _is_put_together_by_arrow(kind: pa.DataType) -> bool:
    """Whether Arrow, which is fast, puts dictionaries of these values together rightly."""
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_int64(kind))


def _looked_up(place: NDArray[np.int64], indices: pa.Array, index_type: pa.DataType) -> pa.Array:
    """The place of the entry that each index stands for; null where the index is null, or its place −1."""
    is_null = null_mask(indices)
    found = np.full(len(indices), -1, dtype=np.int64)
    found[~is_null] = place[whole_numbers(indices)[~is_null]]
    is_null = found < 0
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little")) if is_null.any() else None
    found[is_null] = 0
    content = pa.py_buffer(found.astype(index_type.to_pandas_dtype()))
    return pa.Array.from_buffers(index_type, len(found), [validity, content])
