# SPDX-License-Identifier: Apache-2.0
"""Arrow columns of released records, copied so that nothing of other records comes along."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.numpy_arrays import from_numpy, from_texts, to_positions
from kepsilon.sources.columns import in_one_piece
from kepsilon.sources.dictionaries import with_one_dictionary
from kepsilon.sources.rebuilding import null_mask, rebuilt
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.codes import Label

_MOST_TEXT = 1 << 30
"""Bytes of text in one array at the most; Arrow's offsets of 32 bits end at twice as much."""


def stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in the plain type that its extension type, such as UUID, is stored in."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    # Made anew, for of flags of eight bits every number but 0 is one and the same value.
    chunks = [rebuilt(chunk, column.type).storage for chunk in column.chunks]
    return pa.chunked_array(chunks, type=column.type.storage_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelColumn:
    """The label of a k-quasi in every class, ready to be looked up for any records."""

    texts: pa.Array
    """The distinct labels; a null label is a null in the column, and none of them."""
    of_class: IntArray
    """Position of the label of every class among them, in a type as narrow as that of the column's codes, (n_classes,)."""
    is_null: BoolArray | None
    """Classes with a null label, shape (n_classes,); None where there is none."""

    @classmethod
    def of(cls, labels: Sequence[Label], of_class: IntArray) -> LabelColumn:
        """From the distinct labels, and the position of the label of every class among them."""
        index_type = np.int8 if len(labels) < 1 << 7 else np.int16 if len(labels) < 1 << 15 else np.int32
        texts = [label for label in labels if label is not None]
        is_null = np.array([label is None for label in labels], dtype=np.bool_)
        position: IntArray = np.zeros(len(labels), dtype=index_type)
        position[~is_null] = np.arange(len(texts))
        return cls(
            texts=from_texts(texts),
            of_class=position[of_class],
            is_null=is_null[of_class] if is_null.any() else None,
        )

    def of_records(self, class_ids: IntArray) -> pa.DictionaryArray:
        """The column of records of these classes."""
        is_null = None if self.is_null is None else self.is_null[class_ids]
        return pa.DictionaryArray.from_arrays(from_numpy(self.of_class[class_ids], is_null=is_null), self.texts)


def number_column(values: FloatArray, *, stays_whole: bool) -> pa.Array:
    """A column of noisy values, null for NaN; as integers if `stays_whole`, which input and precision decide, not noise."""
    column = from_numpy(values, is_null=np.isnan(values))
    return column.cast(pa.int64()) if stays_whole else column


Taker = Callable[[IntArray], "pa.Array | pa.ChunkedArray"]
"""Gives the values of one column at some rows, with nothing of other rows."""


def taker(column: pa.ChunkedArray, *, codes_text: bool) -> Taker:
    """What takes values of a column, in the type of the column; with `codes_text`, text that repeats becomes a dictionary.

    Dictionaries hold used entries only. What has to be done once for the whole column is done here.
    """
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if codes_text and is_text and _repeats(column):
        return partial(_taken_dictionary, in_one_piece(column.dictionary_encode()))
    if pa.types.is_dictionary(column.type):
        return partial(_taken_dictionary, in_one_piece(with_one_dictionary(column)))
    if (pa.types.is_string(column.type) or pa.types.is_binary(column.type)) and column.nbytes > _MOST_TEXT:
        return partial(_taken_large, in_one_piece(column.cast(_large(column.type))), column.type)
    array = in_one_piece(column)
    return lambda rows: rebuilt(array.take(from_numpy(rows)), column.type)


def _large(kind: pa.DataType) -> pa.DataType:
    """The type of text or bytes with offsets of 64 bits."""
    return pa.large_string() if pa.types.is_string(kind) else pa.large_binary()


def _taken_large(together: pa.Array, kind: pa.DataType, rows: IntArray) -> pa.ChunkedArray:
    """The values at some rows of a column of much text, in chunks that fit Arrow's offsets of 32 bits."""
    lengths = to_positions(pc.binary_length(together), null=0)[rows]
    piece = np.cumsum(lengths, dtype=np.int64) // _MOST_TEXT
    cuts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(rows)]
    pieces = [
        rebuilt(together.take(from_numpy(rows[first:last])).cast(kind), kind)
        for first, last in itertools.pairwise(cuts)
    ]
    return pa.chunked_array(pieces, type=kind)


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether text repeats so often that moving it as a dictionary is faster."""
    head = column.slice(0, 100_000)
    return len(head) > 0 and pc.count_distinct(head).as_py() < len(head) / 20


def _taken_dictionary(array: pa.DictionaryArray, rows: IntArray) -> pa.DictionaryArray:
    """The values at some rows, with a dictionary of used entries in sorted order.

    A dictionary lists values as they first came up, which would show the order of the input. Only a dictionary that
    was declared to be ordered stays in its order, and whole: of parts with different entries nobody could tell the order
    any more. Whoever writes or shows the records leaves out what they do not use.
    """
    positions = array.indices.take(from_numpy(rows))
    if array.type.ordered:
        return pa.DictionaryArray.from_arrays(rebuilt(positions, positions.type), array.dictionary, ordered=True)
    return rebuilt(pa.DictionaryArray.from_arrays(positions, array.dictionary), array.type)


def used_entries(column: pa.ChunkedArray, *, least: int) -> pa.ChunkedArray:
    """The column with only used entries in its dictionaries; small ones, of `least` entries or fewer, stay as they are.

    So do those that were declared to be ordered: put together again from parts, their order would be that of the parts.
    """
    if column.type.ordered:
        return column
    return pa.chunked_array(
        [chunk if len(chunk.dictionary) <= least else _with_used_entries(chunk) for chunk in column.chunks],
        type=column.type,
    )


def _with_used_entries(array: pa.DictionaryArray) -> pa.DictionaryArray:
    is_null = null_mask(array.indices)
    positions = to_positions(array.indices, null=0).astype(np.int64)
    used = np.unique(positions[~is_null])
    indices = from_numpy(np.searchsorted(used, positions), is_null=is_null).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary.take(from_numpy(used)))
