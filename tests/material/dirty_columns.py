# SPDX-License-Identifier: Apache-2.0
"""Arrow columns of every type, nested to any depth, that hold a token wherever Arrow lets a value hide.

Records that will be left out hold the token as their value. Some of the others are null, with the token under the null.
Lists begin after values that no list covers, dictionaries list the token first, and every array is a slice.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

TEXT = b"q8Zx3KpV7w"
WIDE = 0x0329A7C3B5D7E9F1
TOKENS = {
    "4": struct.pack("<i", 0x2B4D6F71),
    "8": struct.pack("<q", WIDE),
    "16": struct.pack("<qq", WIDE, 0x0011223344556677),
    "32": struct.pack("<qqqq", WIDE, 0x0011223344556677, 0, 0),
    "date32[day]": struct.pack("<i", 2_729_923),
    "date64[ms]": struct.pack("<q", 2_729_923 * 86_400_000),
    "time32[s]": struct.pack("<i", 84_507),
    "time32[ms]": struct.pack("<i", 53_061_571),
    "time64[us]": struct.pack("<q", 0x1329A7C3B5),
    "time64[ns]": struct.pack("<q", 0x3329A7C3B5D7),
    "timestamp[s]": struct.pack("<q", 0x29A7C3B5),
    "timestamp[ms]": struct.pack("<q", 0x29A7C3B5D7),
    "duration[ms]": struct.pack("<q", 0x29A7C3B5D7),
    "timestamp[us]": struct.pack("<q", 0x000329A7C3B5D7E9),
}

FLAT = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    pa.float16(), pa.float32(), pa.float64(), pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(38, 2),
    pa.decimal256(60, 2), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.duration("ms"), pa.duration("ns"),
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(7),
    pa.uuid(), pa.json_(), pa.null(),
]  # fmt: skip
"""One type for every flat type constructor of Arrow that a release may have."""


def coded(kind: pa.DataType, *, ordered: bool = False, index: pa.DataType | None = None) -> pa.DataType:
    return pa.dictionary(index or pa.int16(), kind, ordered=ordered)


def nested_types(rng: random.Random, n: int, *, depth: int = 3) -> Iterator[pa.DataType]:
    """Types that nest up to `depth` others, chosen at random; every way to nest comes first once, around a dictionary."""
    text = coded(pa.string())
    yield from (own(text) for own in WAYS)
    for _ in range(n):
        kind = rng.choice([*(own for own in FLAT if not pa.types.is_null(own)), text, coded(pa.int64())])
        for _ in range(rng.randrange(1, depth + 1)):
            kind = rng.choice(WAYS)(kind)
        yield kind


WAYS = (
    pa.list_,
    pa.large_list,
    lambda kind: pa.list_(kind, 2),
    pa.list_view,
    pa.large_list_view,
    lambda kind: pa.struct([("a", kind), ("b", pa.int32())]),
    lambda kind: pa.map_(pa.string(), kind),
)


def token(kind: pa.DataType) -> bytes:
    """The bytes of the token in a column of a flat type; empty where values are too short to be told apart."""
    if isinstance(kind, pa.BaseExtensionType):
        return token(kind.storage_type)
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return b""
    if str(kind).partition(",")[0].rstrip("]") + "]" in TOKENS:
        return TOKENS[str(kind).partition(",")[0].rstrip("]") + "]"]
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return (TEXT * 2)[: kind.byte_width]
    if not pa.types.is_primitive(kind) and not pa.types.is_decimal(kind):
        return TEXT
    return TOKENS.get(str(kind.bit_width // 8), b"")


def dirty(kind: pa.DataType, is_token: np.ndarray, is_null: np.ndarray, rng: random.Random) -> pa.Array:
    """An array with the token at some records, and under nulls at others; a slice of a longer one that begins with it."""
    first = np.array([True, False, True])
    whole = _array(kind, np.concatenate([first, is_token]), np.concatenate([~first, is_null]), rng)
    return whole.slice(len(first))


def _array(kind: pa.DataType, is_token: np.ndarray, is_null: np.ndarray, rng: random.Random) -> pa.Array:
    n = len(is_token)
    hides = is_token | is_null
    valid = pa.py_buffer(np.packbits(~is_null, bitorder="little").tobytes())
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _array(kind.storage_type, is_token, is_null, rng))
    if pa.types.is_null(kind):
        return pa.nulls(n)
    none = np.zeros(n, dtype=bool)
    if pa.types.is_dictionary(kind):
        entries = _array(kind.value_type, np.arange(9) == 0, np.zeros(9, dtype=bool), rng)
        numbers = np.where(hides, 0, [rng.randrange(1, 9) for _ in range(n)]).astype(kind.index_type.to_pandas_dtype())
        indices = pa.Array.from_buffers(kind.index_type, n, [valid, pa.py_buffer(numbers.tobytes())])
        return pa.DictionaryArray.from_arrays(indices, entries, ordered=kind.ordered)
    if pa.types.is_struct(kind):
        fields = [_array(kind.field(i).type, hides, none, rng) for i in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, n, [valid], children=fields)
    if pa.types.is_fixed_size_list(kind):
        inner = _array(kind.value_type, np.repeat(hides, kind.list_size), np.zeros(n * kind.list_size, bool), rng)
        return pa.Array.from_buffers(kind, n, [valid], children=[inner])
    if pa.types.is_nested(kind):
        return _lists(kind, hides, valid, rng)
    if pa.types.is_boolean(kind):
        bits = np.array([bool(own) or rng.random() < 0.5 for own in hides])
        return pa.Array.from_buffers(kind, n, [valid, pa.py_buffer(np.packbits(bits, bitorder="little").tobytes())])
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind):
        width = kind.bit_width // 8
        own = token(kind) or b"\x01" * width
        values = [own if hidden else _ordinary(kind, width, rng) for hidden in hides]
        return pa.Array.from_buffers(kind, n, [valid, pa.py_buffer(b"".join(values))])
    texts = [TEXT if hidden else rng.choice([b"", b"plain", b"longer than a view holds", b"other"]) for hidden in hides]
    if kind in (pa.string_view(), pa.binary_view()):
        full = pa.array([own.decode() if kind == pa.string_view() else own for own in texts], kind)
        return pa.Array.from_buffers(kind, n, [valid, *full.buffers()[1:]])
    offsets = np.cumsum([0, *map(len, texts)])
    unit = np.int64 if "large" in str(kind) else np.int32
    return pa.Array.from_buffers(
        kind, n, [valid, pa.py_buffer(offsets.astype(unit).tobytes()), pa.py_buffer(b"".join(texts))]
    )


def _ordinary(kind: pa.DataType, width: int, rng: random.Random) -> bytes:
    """The bytes of an ordinary value, which is small where it is a number."""
    if pa.types.is_floating(kind):
        return np.array([rng.randrange(40) / 4], dtype=f"f{width}").tobytes()
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return bytes(rng.randrange(97, 122) for _ in range(width))
    step = 86_400_000 if kind == pa.date64() else 1
    return (rng.randrange(1, 100) * step).to_bytes(width, "little")


def _lists(kind: pa.DataType, hides: np.ndarray, valid: pa.Buffer, rng: random.Random) -> pa.Array:
    """Lists of two values each; two values that no list covers come first."""
    n = len(hides)
    inner_hides = np.concatenate([[True, True], np.repeat(hides, 2)])
    none = np.zeros(len(inner_hides), dtype=bool)
    if pa.types.is_map(kind):
        keys = _array(kind.key_type, inner_hides, none, rng)
        items = _array(kind.item_type, inner_hides, none, rng)
        fields = [kind.key_field, kind.item_field]
        child = pa.StructArray.from_arrays([keys, items], fields=fields)
    else:
        child = _array(kind.value_type, inner_hides, none, rng)
    is_view = "view" in str(kind).partition("<")[0]
    unit = np.int64 if str(kind).startswith("large") else np.int32
    starts = np.arange(2, 2 * n + 4, 2).astype(unit)
    buffers: list[Any] = [valid, pa.py_buffer((starts[:-1] if is_view else starts).tobytes())]
    if is_view:
        buffers.append(pa.py_buffer(np.full(n, 2, unit).tobytes()))
    return pa.Array.from_buffers(kind, n, buffers, children=[child])


def buffers_of(array: pa.Array) -> Iterator[bytes]:
    """The bytes of all buffers of an array, with those of its dictionaries at any depth."""
    yield from (buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from buffers_of(array.storage)
    elif pa.types.is_dictionary(kind):
        yield from buffers_of(array.dictionary)
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from buffers_of(array.field(i))
    elif pa.types.is_nested(kind):
        yield from buffers_of(array.values)
