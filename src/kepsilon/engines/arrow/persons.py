# SPDX-License-Identifier: Apache-2.0
"""Whom records are about: numbers that stand for the persons of a column, so that no text of it has to be held.

Persons are compared as text, as k-quasis are, without the blanks around it. A null, NaN and a text of blanks say
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.coding import distinct_texts, not_text
from kepsilon.engines.arrow.numpy_arrays import to_positions
from kepsilon.table.arrays import BoolArray, IntArray

_DIGEST = 8
"""Bytes of the number that stands for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Persons:
    """Whom some records are about."""

    numbers: IntArray
    """A number for each record, equal for records about one person, shape (n_records,)."""
    is_known: BoolArray
    """Whether the record says whom it is about; its number means nothing if not, shape (n_records,)."""


def code_persons(column: pa.ChunkedArray, name: str, source: str) -> Persons:
    """The persons of a whole column; two persons never share a number."""
    _, codes, is_known = _distinct_persons(column, name, source)
    return Persons(numbers=codes, is_known=is_known)


def hash_persons(column: pa.ChunkedArray, name: str, source: str) -> Persons:
    """The persons of one part of a column; a person has the same number of 64 bits in every part.

    Two persons can share a number, though among a million persons the chance that any two do is below 10^−7. They then
    count as one person, so that a class is never taken for larger than it is.
    """
    texts, codes, is_known = _distinct_persons(column, name, source)
    digests = b"".join(blake2b(text.encode(), digest_size=_DIGEST).digest() for text in texts.to_pylist())
    numbers = np.frombuffer(digests, dtype="<i8").astype(np.int64)
    return Persons(numbers=numbers[codes] if len(numbers) else np.zeros(len(codes), dtype=np.int64), is_known=is_known)


def _distinct_persons(column: pa.ChunkedArray, name: str, source: str) -> tuple[pa.Array, IntArray, BoolArray]:
    """Distinct texts, the position of every record's text among them, and whether the record says whom it is about."""
    array, texts = distinct_texts(column, name, source)
    if pa.types.is_floating(array.dictionary.type):
        texts = pc.if_else(pc.equal(texts, "-0"), "0", texts)  # equal, and one k-quasi value too
        texts = pc.if_else(pc.equal(texts, "nan"), pa.scalar(None, texts.type), texts)
    try:
        trimmed = pc.utf8_trim_whitespace(texts)
        trimmed.validate(full=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise not_text(name, source) from None
    coded = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed).dictionary_encode()
    of_text = np.append(to_positions(coded.indices, null=-1).astype(np.int64), -1)
    codes = of_text[to_positions(array.indices, null=len(texts))]
    is_known: BoolArray = codes >= 0
    return coded.dictionary, np.maximum(codes, 0), is_known
