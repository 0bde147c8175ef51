# SPDX-License-Identifier: Apache-2.0
"""What the footer of a Parquet file says about its column chunks, read here and not by Arrow.

Python's view of Arrow's metadata does not catch what is thrown below it: where a damaged footer holds sizes that
contradict each other, asking a row group for one of its columns ends the whole process. Reading the columns does not,
so only what is *said* about them is read here. The footer is a struct in Thrift's compact protocol
(https://github.com/apache/parquet-format).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

MAGIC = b"PAR1"
TAIL = struct.Struct("<I4s")

_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4")
"""Names of the ways to compress, by number; Arrow has one name for the two forms of LZ4."""

_DEEPEST = 32
"""Structs in structs; Parquet has fewer than ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A column of a row group."""

    path: str
    """Its path in the schema, parts separated by dots."""
    n_bytes: int
    """Uncompressed bytes."""
    compression: str
    has_dictionary: bool
    has_statistics: bool


def chunks_of(file: Path) -> list[list[Chunk]]:
    """The column chunks of each row group; Arrow's own error where the footer is damaged."""
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - TAIL.size))
        tail = opened.read()
        if len(tail) != TAIL.size or tail[4:] != MAGIC:
            raise _damaged()
        n_footer = TAIL.unpack(tail)[0]
        if n_footer > size - TAIL.size:
            raise _damaged()
        opened.seek(size - TAIL.size - n_footer)
        footer = opened.read(n_footer)
    try:
        groups = Compact(footer).struct()[4]
        return [[_chunk(column[3]) for column in group[1]] for group in groups]
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError):
        raise _damaged() from None


def _damaged() -> pa.ArrowInvalid:
    return pa.ArrowInvalid("The footer is damaged.")


def _chunk(metadata: Mapping[int, Any]) -> Chunk:
    """A chunk from the fields of its metadata, which have the numbers that Parquet gives them."""
    n_bytes, codec = metadata[6], metadata[4]
    if type(n_bytes) is not int or n_bytes < 0 or codec < 0:
        raise _damaged()
    return Chunk(
        path=b".".join(metadata[3]).decode(),
        n_bytes=n_bytes,
        compression=_CODECS[codec],
        has_dictionary=11 in metadata,
        has_statistics=12 in metadata,
    )


class Compact:
    """Reads values of Thrift's compact protocol, one after the other; a struct is a dictionary by field number."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._depth = 0

    def struct(self) -> dict[int, Any]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _damaged()
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            fields[number] = kind == 1 if kind in (1, 2) else self._member(number, kind)
        self._depth -= 1
        return fields

    def _member(self, number: int, kind: int) -> Any:
        """The value of a field of a struct by its number, or of a list by its place."""
        del number
        return self._value(kind)

    def _value(self, kind: int) -> Any:
        match kind:
            case 4 | 5 | 6:
                return self._signed()
            case 8:
                return self._bytes(self._unsigned())
            case 9 | 10:
                return self._list()
            case 12:
                return self.struct()
            case 1 | 2 | 3:  # within a list, truth values take a byte as well
                return self._byte()
            case 7:
                return self._bytes(8)
            case 11:
                return self._map()
        raise _damaged()

    def _list(self) -> list[Any]:
        head = self._byte()
        n, kind = head >> 4, head & 15
        if n == 15:
            n = self._unsigned()
        return [self._member(i, kind) for i in range(n)]

    def _map(self) -> list[tuple[Any, Any]]:
        n = self._unsigned()
        if not n:
            return []
        kinds = self._byte()
        return [(self._value(kinds >> 4), self._value(kinds & 15)) for _ in range(n)]

    def _byte(self) -> int:
        byte = self._content[self._at]
        self._at += 1
        return byte

    def _bytes(self, n: int) -> bytes:
        taken = self._content[self._at : self._at + n]
        if len(taken) != n:
            raise _damaged()
        self._at += n
        return taken

    def _unsigned(self) -> int:
        byte = self._content[self._at]
        self._at += 1
        if byte < 128:  # most are
            return byte
        found, shift = byte & 127, 7
        while shift < 64:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
        raise _damaged()

    def _signed(self) -> int:
        """Zigzag: 0, -1, 1, -2, …"""
        found = self._unsigned()
        return found >> 1 ^ -(found & 1)
