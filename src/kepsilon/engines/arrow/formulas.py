# SPDX-License-Identifier: Apache-2.0
"""Finds the cells that a spreadsheet would take for formulas when it opens a release."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.table.formulas import BEGINS, PLAIN


def n_formulas(column: pa.ChunkedArray) -> int:
    """How many texts of a column a spreadsheet would take for formulas, those inside lists and structures included."""
    return sum(_n_in(texts) for chunk in column.chunks for texts in _texts(chunk))


def may_hold_text(kind: pa.DataType) -> bool:
    """Whether a type is text or may have text inside."""
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_wrapped = pa.types.is_dictionary(kind) or pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType)
    return bool(is_text or is_wrapped or pa.types.is_run_end_encoded(kind))


def _n_in(texts: pa.Array) -> int:
    begins = pc.match_substring_regex(texts, BEGINS)
    found = pc.and_not(begins, pc.match_substring_regex(texts, PLAIN))
    return pc.sum(found).as_py() or 0


def _texts(array: pa.Array) -> Iterator[pa.Array]:
    """All arrays of text inside an array; values under a null are left out."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        yield from _texts(array.storage)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield array
    elif pa.types.is_string_view(kind):
        yield array.cast(pa.large_string())
    elif pa.types.is_dictionary(kind):
        yield from _texts(array.dictionary_decode())
    elif pa.types.is_run_end_encoded(kind):
        yield from _texts(pc.run_end_decode(array))
    elif pa.types.is_map(kind):
        yield from _texts(array.drop_null().keys)
        yield from _texts(array.drop_null().items)
    elif pa.types.is_struct(kind):
        for child in array.flatten():
            yield from _texts(child)
    elif pa.types.is_nested(kind) and hasattr(array, "flatten"):
        yield from _texts(array.flatten())
