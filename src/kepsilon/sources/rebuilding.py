# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays made anew from their values, so that their buffers hold these values and nothing else.

An Arrow array may hold more than it shows: values under nulls, parts of lists that no list covers, entries of dictionaries
that no record uses, records before and after a slice, bits of a bitmap beyond its end. Two arrays that were rebuilt and
show the same values have the same bytes in every buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kepsilon.sources.kept_types import is_list_like, is_view, released_type

Mask = NDArray[np.bool_]

_PART = 1 << 16
"""Numbers worked on together: few enough to stay in a processor's cache."""


def rebuilt(array: pa.Array, kind: pa.DataType, *, also_null: Mask | None = None) -> pa.Array:
    """The array in the type `kind`, which is its own type, its `released_type`, or one that its values can be cast to.

    Records at which `also_null` is true become null. A flat array that holds nothing but its values is not copied.
    """
    if isinstance(kind, pa.BaseExtensionType):
        storage = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
        own = rebuilt(storage, kind.storage_type, also_null=also_null)
        if kind.extension_name == "arrow.bool8":  # any number but 0 is true, and could number the records
            flags = (_raw_numbers(own) != 0).astype(np.int8)
            own = pa.Array.from_buffers(own.type, len(own), [own.buffers()[0], pa.py_buffer(flags)])
        return pa.ExtensionArray.from_storage(kind, own)
    if pa.types.is_dictionary(array.type) and not pa.types.is_dictionary(kind):
        entries = rebuilt(array.dictionary, released_type(array.type.value_type, inside=True, views=False))
        return rebuilt(entries.take(array.indices), kind, also_null=also_null)
    if pa.types.is_dictionary(kind):
        return _rebuilt_dictionary(array, kind, also_null)
    if pa.types.is_run_end_encoded(array.type):
        return rebuilt(_run_ends_decoded(array), kind, also_null=also_null)
    if is_view(array.type):
        array = array.cast(released_type(array.type, views=False))
    if pa.types.is_null(kind):
        return pa.nulls(len(array))
    if pa.types.is_struct(kind):
        return _rebuilt_struct(array, kind, also_null)
    if pa.types.is_fixed_size_list(kind):
        return _rebuilt_fixed_size_list(array, kind, also_null)
    if is_list_like(kind) or pa.types.is_map(kind):
        return _rebuilt_list(array, kind, also_null)
    if is_view(kind):
        return _as_view(rebuilt(array, released_type(kind, views=False), also_null=also_null), kind)
    if array.type != kind:
        array = array.cast(kind)
    if _has_offsets(kind):
        return _rebuilt_text(array, also_null)
    return _rebuilt_fixed(array, also_null)


def null_mask(array: pa.Array) -> Mask:
    """True where the array is null, shape (len(array),)."""
    if pa.types.is_null(array.type):
        return np.ones(len(array), dtype=np.bool_)
    validity = array.buffers()[0]
    if array.null_count == 0 or validity is None:
        return np.zeros(len(array), dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")
    is_null: Mask = bits[array.offset : array.offset + len(array)] == 0
    return is_null


def is_exact(array: pa.Array) -> bool:
    """Whether every buffer of an array, at any depth, is as `rebuilt` would make it."""
    return _same_buffers(array, rebuilt(array, array.type))


def _same_buffers(array: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays of one type have the same bytes in every buffer."""
    mine, theirs = array.buffers(), other.buffers()
    if array.offset or len(mine) != len(theirs):
        return False
    for own, its in zip(mine, theirs, strict=True):
        if (own is None or not own.size) != (its is None or not its.size):
            return False
        if own is not None and its is not None and not own.equals(its):
            return False
    return not pa.types.is_dictionary(array.type) or _same_buffers(array.dictionary, other.dictionary)


def _nulls_of(array: pa.Array, also_null: Mask | None) -> Mask | None:
    """Where a rebuilt array is null; None where it is not."""
    if not array.null_count and not pa.types.is_null(array.type):
        found = also_null
    else:
        found = null_mask(array) if also_null is None else null_mask(array) | also_null
    return found if found is not None and found.any() else None


def _validity(is_null: Mask | None) -> pa.Buffer | None:
    return None if is_null is None else pa.py_buffer(np.packbits(~is_null, bitorder="little"))


def _has_offsets(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _rebuilt_fixed(array: pa.Array, also_null: Mask | None) -> pa.Array:
    """Values of one width: numbers, times, decimals, booleans and bytes of one length."""
    kind, n = array.type, len(array)
    is_null = _nulls_of(array, also_null)
    if pa.types.is_boolean(kind):
        values = _bits(array)
        bits = values if is_null is None else values & ~is_null
        content = pa.py_buffer(np.packbits(bits, bitorder="little"))
        return pa.Array.from_buffers(kind, n, [_validity(is_null), content])
    width = kind.bit_width // 8
    buffer = array.buffers()[1]
    raw = np.frombuffer(buffer if buffer is not None else b"", dtype=np.uint8)
    raw = raw[array.offset * width : (array.offset + n) * width]
    is_nan = _nans(raw, kind, n)
    unit = np.dtype(f"u{width}") if width in (1, 2, 4, 8) else np.dtype((np.void, max(1, width)))
    values = raw.view(unit)
    is_hiding = is_null is not None and _any_bit(values[is_null])
    is_whole = buffer is not None and buffer.size == n * width and not array.offset
    if is_hiding or is_nan is not None or not is_whole:
        values = values.copy()
        if is_nan is not None:
            values[is_nan] = np.array([np.nan], dtype=f"f{width}").view(unit)[0]
        if is_null is not None:
            values[is_null] = np.zeros(1, dtype=unit)[0]
        buffer = pa.py_buffer(values.view(np.uint8))
    if is_null is None and is_whole and array.buffers()[0] is None and is_nan is None:
        return array
    return pa.Array.from_buffers(kind, n, [_validity(is_null), buffer])


def _any_bit(values: NDArray[Any]) -> bool:
    """Whether any bit of some values is set."""
    return bool(values.view(np.uint8).any())


def _bits(array: pa.Array) -> Mask:
    """The values of booleans, also under nulls."""
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(buffer, dtype=np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)


def _nans(raw: NDArray[np.uint8], kind: pa.DataType, n: int) -> Mask | None:
    """Where a floating-point value is NaN, which has many bit patterns and shows none of them; None where it never is."""
    if not pa.types.is_floating(kind) or not n:
        return None
    found: Mask = np.isnan(raw.view(f"f{kind.bit_width // 8}"))
    return found if found.any() else None


def _rebuilt_text(array: pa.Array, also_null: Mask | None) -> pa.Array:
    """Text or bytes of any length."""
    kind, n = array.type, len(array)
    is_null = _nulls_of(array, also_null)
    offsets = _offsets(array)
    if is_null is not None and np.diff(offsets)[is_null].any():
        # A null position is taken as null, without the text that stands there.
        array = array.take(_positions(np.arange(n), is_null=is_null))
        offsets = _offsets(array)
    n_bytes = int(offsets[-1] - offsets[0])
    _, offset_buffer, content = array.buffers()
    if content is None or content.size != n_bytes:
        text = np.frombuffer(content if content is not None else b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
        content = pa.py_buffer(text.copy())
    if offset_buffer is None or offset_buffer.size != offsets.nbytes or offsets[0] or array.offset:
        offset_buffer = pa.py_buffer(offsets - offsets[0])
    return pa.Array.from_buffers(kind, n, [_validity(is_null), offset_buffer, content])


def _offsets(array: pa.Array) -> NDArray[Any]:
    """The offsets of text, bytes, lists or maps, shape (len(array) + 1,)."""
    is_large = array.type in (pa.large_string(), pa.large_binary()) or pa.types.is_large_list(array.type)
    unit = np.dtype(np.int64 if is_large else np.int32)
    buffer = array.buffers()[1]
    if buffer is None or not buffer.size:
        return np.zeros(len(array) + 1, dtype=unit)
    return np.frombuffer(buffer, dtype=unit, count=len(array) + 1, offset=array.offset * unit.itemsize)


def _rebuilt_list(array: pa.Array, kind: pa.DataType, also_null: Mask | None) -> pa.Array:
    """Lists and maps; also from list views, whose lists may overlap and stand in any order."""
    is_null = _nulls_of(array, also_null)
    starts, lengths = list_places(array)
    if is_null is not None:
        lengths = np.where(is_null, 0, lengths)
    total = int(lengths.sum())
    ends = np.cumsum(lengths, dtype=np.int64)
    shown = lengths > 0
    low = int(starts[shown].min()) if total else 0
    high = int((starts + lengths)[shown].max()) if total else 0
    values = array.values.slice(low, high - low)
    own = pa.struct([kind.key_field, kind.item_field]) if pa.types.is_map(kind) else kind.value_type
    if total != high - low or not np.array_equal((starts - low)[shown], (ends - lengths)[shown]):
        values = rebuilt(values, released_type(values.type, inside=True, views=False))
        first = np.repeat(starts - low - (ends - lengths), lengths)
        values = values.take(_positions(first + np.arange(total)))
    values = rebuilt(values, own)
    unit = np.int64 if pa.types.is_large_list(kind) else np.int32
    offsets = np.concatenate([[0], ends]).astype(unit)
    buffers = [_validity(is_null), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kind, len(array), buffers, children=[values])


def list_places(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each list begins among the values, and how many it has; also under nulls."""
    is_plain = pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_map(array.type)
    if is_plain:
        offsets = _offsets(array).astype(np.int64)
        return offsets[:-1], np.diff(offsets)
    unit = np.dtype(np.int64 if pa.types.is_large_list_view(array.type) else np.int32)
    found = []
    for buffer in array.buffers()[1:3]:
        empty = buffer is None or not buffer.size
        at = array.offset * unit.itemsize
        raw = np.zeros(len(array), unit) if empty else np.frombuffer(buffer, unit, len(array), at)
        found.append(raw.astype(np.int64))
    return found[0], found[1]


def _rebuilt_fixed_size_list(array: pa.Array, kind: pa.DataType, also_null: Mask | None) -> pa.Array:
    """Lists of one length; those that are null hold nulls."""
    is_null = _nulls_of(array, also_null)
    size = kind.list_size
    values = array.values.slice(array.offset * size, len(array) * size)
    inner = rebuilt(values, kind.value_type, also_null=None if is_null is None else np.repeat(is_null, size))
    return pa.Array.from_buffers(kind, len(array), [_validity(is_null)], children=[inner])


def _rebuilt_struct(array: pa.Array, kind: pa.DataType, also_null: Mask | None) -> pa.Array:
    """Structures; the fields of those that are null are null."""
    is_null = _nulls_of(array, also_null)
    fields = [rebuilt(array.field(i), kind.field(i).type, also_null=is_null) for i in range(kind.num_fields)]
    return pa.Array.from_buffers(kind, len(array), [_validity(is_null)], children=fields)


def _rebuilt_dictionary(array: pa.Array, kind: pa.DataType, also_null: Mask | None) -> pa.DictionaryArray:
    """A dictionary of the entries that are used, each once; sorted, unless it was declared to be ordered."""
    values = released_type(kind.value_type, views=False)
    if not pa.types.is_dictionary(array.type):
        array = each_once(rebuilt(array, values))
    is_null = _nulls_of(array.indices, also_null)
    positions = _raw_numbers(rebuilt(array.indices, array.indices.type, also_null=is_null))
    listed = array.dictionary
    if is_view(listed.type):
        listed = rebuilt(listed, released_type(listed.type, views=False))
    used = np.flatnonzero(_occurring(positions if is_null is None else positions[~is_null], n_values=len(listed)))
    # An entry that is listed twice is two ways to write one value, and a null among the entries a second way to be null.
    distinct = each_once(rebuilt(listed.take(_positions(used)), values))
    entries = distinct.dictionary
    of_used = np.arange(len(used)) if len(entries) == len(used) else positions_or_null(distinct.indices)
    order = np.arange(len(entries)) if kind.ordered else _sorted(entries)
    rank = np.empty(len(entries) + 1, dtype=np.int64)
    rank[order], rank[-1] = np.arange(len(entries)), -1
    index_type = narrowest(kind.index_type, len(entries))
    # −1 stands for null, where an entry of the dictionary is null.
    place = np.zeros(max(1, len(listed)), dtype=np.int64 if len(entries) < len(used) else index_type.to_pandas_dtype())
    place[used] = rank[of_used]
    shown = _looked_up(place, positions)
    if is_null is not None or len(entries) < len(used):
        is_null = shown < 0 if is_null is None else (shown < 0) | is_null
        is_null = is_null if is_null.any() else None
        shown = shown if is_null is None else np.where(is_null, 0, shown)
    buffers = [_validity(is_null), pa.py_buffer(shown.astype(index_type.to_pandas_dtype(), copy=False))]
    numbers = pa.Array.from_buffers(index_type, len(shown), buffers)
    return pa.DictionaryArray.from_arrays(
        numbers, rebuilt(entries.take(_positions(order)), kind.value_type), ordered=kind.ordered
    )


def each_once(array: pa.Array) -> pa.DictionaryArray:
    """A rebuilt array with each value once in a dictionary; by its bytes where Arrow cannot, as with short decimals."""
    try:
        return array.dictionary_encode()
    except pa.ArrowNotImplementedError:
        as_bytes = pa.binary(array.type.bit_width // 8)
        coded = pa.Array.from_buffers(as_bytes, len(array), array.buffers()).dictionary_encode()
        listed = coded.dictionary
        entries = pa.Array.from_buffers(array.type, len(listed), rebuilt(listed, as_bytes).buffers())
        return pa.DictionaryArray.from_arrays(coded.indices, entries)


def _sorted(entries: pa.Array) -> NDArray[np.int64]:
    """The positions of different entries in an order that does not depend on the one in which they stand.

    By their bytes where Arrow has no order for a type, such as short decimals.
    """
    if pa.types.is_floating(entries.type):
        # Arrow takes zero and minus zero for equal, and would leave them as they came.
        buffer = entries.buffers()[1]
        unit = f"f{entries.type.bit_width // 8}"
        values = np.frombuffer(buffer if buffer is not None else b"", dtype=unit)[: len(entries)]
        return np.lexsort([~np.signbit(values), values])
    try:
        return whole_numbers(pc.sort_indices(entries))
    except pa.ArrowNotImplementedError:
        width = entries.type.bit_width // 8
        raw = entries.buffers()[1].to_pybytes()
        return np.array(sorted(range(len(entries)), key=lambda i: raw[width * i : width * (i + 1)]), dtype=np.int64)


def narrowest(index_type: pa.DataType, n_entries: int) -> pa.DataType:
    """The index type itself if it can number so many entries; otherwise the narrowest signed type that can."""
    if n_entries <= int(np.iinfo(index_type.to_pandas_dtype()).max) + 1:
        return index_type
    return next(kind for kind in (pa.int16(), pa.int32(), pa.int64()) if n_entries < 1 << (kind.bit_width - 1))


def positions_or_null(indices: pa.Array) -> NDArray[np.int64]:
    """Positions in a dictionary, −1 where they are null."""
    found = whole_numbers(rebuilt(indices, pa.int64()))
    return np.where(null_mask(indices), -1, found)


def _positions(numbers: NDArray[Any], *, is_null: Mask | None = None) -> pa.Array:
    """Positions for `take`. Arrow's own function for this imports pandas, which takes half a second."""
    content = pa.py_buffer(np.ascontiguousarray(numbers, dtype=np.int64))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [_validity(is_null), content])


def whole_numbers(array: pa.Array) -> NDArray[np.int64]:
    """Whole numbers without nulls as a NumPy array."""
    return _raw_numbers(array).astype(np.int64)


def _raw_numbers(array: pa.Array) -> NDArray[Any]:
    """Whole numbers without nulls, in their own type; not copied."""
    unit = np.dtype(array.type.to_pandas_dtype())
    buffer = array.buffers()[1]
    raw = np.frombuffer(buffer if buffer is not None else b"", dtype=unit)
    return raw[array.offset : array.offset + len(array)]


def _occurring(positions: NDArray[Any], *, n_values: int) -> Mask:
    """Which of 0 … n_values − 1 are among the positions, shape (n_values,)."""
    occurs = np.zeros(n_values, dtype=np.bool_)
    for first in range(0, len(positions), _PART):
        occurs[positions[first : first + _PART]] = True
    return occurs


def _looked_up(table: NDArray[Any], positions: NDArray[Any]) -> NDArray[Any]:
    """The entry of the table at each position; NumPy would hold all positions as numbers of 64 bits at once."""
    found = np.empty(len(positions), dtype=table.dtype)
    for first in range(0, len(positions), _PART):
        part = slice(first, first + _PART)
        found[part] = table[positions[part]]
    return found


def _run_ends_decoded(array: pa.Array) -> pa.Array:
    """The values of a run-end encoded array, one for each record."""
    values = rebuilt(array.values, released_type(array.type.value_type, inside=True, views=False))
    ends = whole_numbers(array.run_ends)
    run = np.searchsorted(ends, np.arange(array.offset, array.offset + len(array)), side="right")
    return values.take(_positions(run))


def _as_view(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Rebuilt text or bytes as views: up to 12 bytes inside the view, longer ones in one buffer of their own."""
    n = len(array)
    is_null = _nulls_of(array, None)
    offsets = _offsets(array).astype(np.int64)
    lengths = np.diff(offsets)
    content = array.buffers()[2]
    text = np.frombuffer(content if content is not None else b"", dtype=np.uint8)
    views = np.zeros((n, 16), dtype=np.uint8)
    views[:, :4] = lengths.astype("<i4").view(np.uint8).reshape(n, 4)
    is_long = lengths > _INLINE
    for i in range(_INLINE):
        has_more = (lengths > i) & (~is_long if i >= 4 else True)
        views[has_more, 4 + i] = text[offsets[:-1][has_more] + i]
    long_lengths = lengths[is_long]
    places = np.cumsum(long_lengths) - long_lengths
    views[is_long, 12:] = places.astype("<i4").view(np.uint8).reshape(-1, 4)
    where = np.repeat(offsets[:-1][is_long] - places, long_lengths) + np.arange(int(long_lengths.sum()))
    more = [pa.py_buffer(text[where])] if len(where) else []
    return pa.Array.from_buffers(kind, n, [_validity(is_null), pa.py_buffer(views), *more])


_INLINE = 12
"""Bytes of a text that a view holds itself."""
