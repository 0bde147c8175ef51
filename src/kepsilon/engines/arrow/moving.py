# SPDX-License-Identifier: Apache-2.0
"""Arrow columns of released records, made anew so that nothing of the other records comes along."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.numpy_arrays import from_numpy, from_texts, in_one_piece, null_mask, to_positions
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Label

_MOST_TEXT = 1 << 30
"""Bytes of text that are put together; twice as much would be more than Arrow has offsets for."""


def with_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Chunks that share a dictionary; one that lists null is made anew, for Arrow can neither unify nor write it."""
    if any(chunk.dictionary.null_count for chunk in column.chunks):
        return column.cast(column.type.value_type).dictionary_encode()
    return column.unify_dictionaries()


def stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in the plain type its extension type, such as UUID, is stored in."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], type=column.type.storage_type)


def label_column(labels: Sequence[Label], of_class: IntArray, class_ids: IntArray) -> pa.DictionaryArray:
    """What a k-quasi shows in every record; a null label is a null, not an entry of the dictionary."""
    index_type = np.int8 if len(labels) < 1 << 7 else np.int16 if len(labels) < 1 << 15 else np.int32
    texts = [label for label in labels if label is not None]
    position = np.zeros(len(labels), dtype=index_type)
    position[[label is not None for label in labels]] = np.arange(len(texts))
    is_null = np.array([label is None for label in labels], dtype=np.bool_)
    indices = from_numpy(position[of_class][class_ids], is_null=is_null[of_class][class_ids] if is_null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, from_texts(texts))


def number_column(values: FloatArray, *, stays_whole: bool) -> pa.Array:
    """Noisy values; integers stay integers where the precision (not the noise) says so."""
    column = from_numpy(values, is_null=np.isnan(values))
    return column.cast(pa.int64()) if stays_whole else column


def taken(column: pa.ChunkedArray, rows: IntArray) -> pa.Array | pa.ChunkedArray:
    """The values of some records, with nothing of the others; text that repeats comes as a dictionary."""
    if (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) and _repeats(column):
        return _taken_dictionary(in_one_piece(column.dictionary_encode()), rows)
    return taken_as_is(column, rows)


def taken_as_is(column: pa.ChunkedArray, rows: IntArray) -> pa.Array | pa.ChunkedArray:
    """The same, and of the same type: dictionaries hold used entries only."""
    if pa.types.is_dictionary(column.type):
        return _taken_dictionary(in_one_piece(with_one_dictionary(column)), rows)
    if (pa.types.is_string(column.type) or pa.types.is_binary(column.type)) and column.nbytes > _MOST_TEXT:
        return _taken_large(column, rows)
    return in_one_piece(column).take(from_numpy(rows))


def _taken_large(column: pa.ChunkedArray, rows: IntArray) -> pa.ChunkedArray:
    """In pieces, none of which is more than Arrow's offsets of 32 bits can tell apart."""
    is_text = pa.types.is_string(column.type)
    together = in_one_piece(column.cast(pa.large_string() if is_text else pa.large_binary()))
    lengths = to_positions(pc.binary_length(together), null=0)[rows]
    piece = np.cumsum(lengths, dtype=np.int64) // _MOST_TEXT
    cuts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(rows)]
    pieces = [together.take(from_numpy(rows[first:last])).cast(column.type) for first, last in itertools.pairwise(cuts)]
    return pa.chunked_array(pieces, type=column.type)


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether text repeats so often that moving positions in a dictionary is faster than moving text."""
    head = column.slice(0, 100_000)
    return len(head) > 0 and pc.count_distinct(head).as_py() < len(head) / 20


def _taken_dictionary(array: pa.DictionaryArray, rows: IntArray) -> pa.DictionaryArray:
    """Used entries only, in an order of their own.

    A dictionary lists values as they first came up in the input, which is an order of records; only one that was
    declared to be ordered is kept as it was.
    """
    positions = array.indices.take(from_numpy(rows))
    used = np.unique(to_positions(positions.drop_null(), null=0))
    if not array.type.ordered:
        entries = array.dictionary.take(from_numpy(used.astype(np.int64)))
        used = used[to_positions(pc.sort_indices(entries), null=0)]
    renumbered = np.zeros(max(1, len(array.dictionary)), dtype=np.int32)
    renumbered[used] = np.arange(len(used))
    is_null = null_mask(positions)
    indices = from_numpy(renumbered[to_positions(positions, null=0)], is_null=is_null)
    dictionary = array.dictionary.take(from_numpy(used.astype(np.int64)))
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=array.type.ordered)


def used_entries(column: pa.ChunkedArray, *, least: int) -> pa.ChunkedArray:
    """The same values with dictionaries of used entries only, where a dictionary has more than `least`."""
    return pa.chunked_array(
        [chunk if len(chunk.dictionary) <= least else _with_used_entries(chunk) for chunk in column.chunks],
        type=column.type,
    )


def _with_used_entries(array: pa.DictionaryArray) -> pa.DictionaryArray:
    is_null = null_mask(array.indices)
    positions = to_positions(array.indices, null=0).astype(np.int64)
    used = np.unique(positions[~is_null])
    indices = from_numpy(np.searchsorted(used, positions), is_null=is_null).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary.take(from_numpy(used)), ordered=array.type.ordered)
