# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays ⇄ NumPy arrays through their buffers; Arrow's own functions import pandas, which takes half a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kepsilon.sources.columns import in_one_piece
from kepsilon.sources.rebuilding import null_mask
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


def from_numpy(values: NDArray[np.generic], *, is_null: BoolArray | None = None) -> pa.Array:
    """Numbers as an Arrow array, without a copy where nothing is null."""
    kind = pa.from_numpy_dtype(values.dtype)
    validity = None
    if is_null is not None and is_null.any():
        validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
        values = np.where(is_null, values.dtype.type(0), values)  # a value under a null would be written to files
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(np.ascontiguousarray(values))])


def from_texts(texts: Sequence[str]) -> pa.Array:
    """Text as an Arrow array; for a few texts, such as labels."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(texts) + 1, dtype=np.int32)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return pa.Array.from_buffers(
        pa.string(), len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )


def to_doubles(column: pa.ChunkedArray) -> FloatArray:
    """A column of numbers as doubles, NaN where it is null."""
    array = in_one_piece(column.cast(pa.float64(), safe=False))
    values: FloatArray = _raw(array)
    return np.where(null_mask(array), np.nan, values) if array.null_count else values


def to_positions(indices: pa.Array, *, null: int) -> IntArray:
    """An Arrow array of integers as NumPy array, `null` where it is null."""
    raw: IntArray = _raw(indices)
    if not indices.null_count:
        return raw
    wide = np.promote_types(raw.dtype, np.min_scalar_type(null))  # 128 is no int8, and would become −128
    return np.where(null_mask(indices), wide.type(null), raw)


def _raw(array: pa.Array) -> Any:
    """The array's buffer, also under nulls. `to_pandas_dtype` gives NumPy's type, and needs no pandas."""
    kind = np.dtype(array.type.to_pandas_dtype())
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), dtype=kind)
    return np.frombuffer(buffer, dtype=kind, count=array.offset + len(array))[array.offset :]
