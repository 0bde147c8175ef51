# SPDX-License-Identifier: Apache-2.0
"""Joins row groups that were encoded apart, each by a core of its own, into one Parquet file.

Arrow encodes the row groups of a file one after the other. Encoded apart, each is a file of its own. The bytes of its
columns do not depend on where they stand; its footer does, and says so in numbers that are put right here. The file that
results has the bytes that Arrow would have written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kepsilon.sources.parquet_footer import MAGIC, TAIL, Compact

Path = tuple[int, ...]
"""The way to a value in a footer: numbers of fields, and places in lists."""

_N_ROWS: Path = (3,)
_GROUPS = 4
_ORDINAL = 7
_START_OF_GROUP = 5
_START_OF_CHUNK = 2
_METADATA_OF_CHUNK = 3
_STARTS_OF_PAGES = (9, 10, 11)
"""Numbers that Parquet gives these fields (https://github.com/apache/parquet-format)."""


class JoinedGroups:
    """Says which bytes to write, as row groups come in."""

    def __init__(self) -> None:
        self._groups: list[bytes] = []
        self._n_records = 0
        self._at = len(MAGIC)

    def add(self, encoded: pa.Buffer) -> memoryview:
        """What a file that holds one row group adds to the file: the bytes of its columns."""
        content = memoryview(encoded)
        footer = _Located(_footer(content))
        body = content[len(MAGIC) : len(content) - TAIL.size - len(footer.content)]
        self._groups.append(_moved(footer, by=self._at - len(MAGIC), ordinal=len(self._groups)))
        self._n_records += footer.values[_N_ROWS]
        self._at += len(body)
        return body

    def footer(self, without_records: pa.Buffer) -> bytes:
        """The end of the file; `without_records` is a file of its schema and metadata that has no row group."""
        footer = _Located(_footer(memoryview(without_records)))
        ending = footer.with_changes(
            {
                _N_ROWS: _signed(self._n_records),
                (_GROUPS,): _head_of_structs(len(self._groups)) + b"".join(self._groups),
            }
        )
        return ending + TAIL.pack(len(ending), MAGIC)


def _footer(content: memoryview) -> bytes:
    n_footer = TAIL.unpack(content[-TAIL.size :])[0]
    return bytes(content[-TAIL.size - n_footer : -TAIL.size])


def _moved(footer: _Located, *, by: int, ordinal: int) -> bytes:
    """What a footer says of its only row group, for a place so many bytes later in a file."""
    group: Path = (_GROUPS, 0)
    changes: dict[Path, bytes] = {}
    for path, value in footer.values.items():
        match path[len(group) :] if path[: len(group)] == group else ():
            case (place,) if place == _ORDINAL:
                changes[path] = _signed(ordinal)
            case (place,) if place == _START_OF_GROUP:
                changes[path] = _signed(value + by)
            case (1, _, place) if place == _START_OF_CHUNK and value:  # this version of Arrow writes 0 for "not said"
                changes[path] = _signed(value + by)
            case (1, _, within, place) if within == _METADATA_OF_CHUNK and place in _STARTS_OF_PAGES:
                changes[path] = _signed(value + by)
    return footer.with_changes(changes, within=group)


class _Located(Compact):
    """All numbers, lists and structs of a footer, and the bytes that each of them takes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.content = content
        self.values: dict[Path, Any] = {}
        self._spans: dict[Path, slice] = {}
        self._path: Path = ()
        self.struct()

    def _member(self, number: int, kind: int) -> Any:
        self._path, before, start = (*self._path, number), self._path, self._at
        value = super()._member(number, kind)
        self.values[self._path] = value
        self._spans[self._path] = slice(start, self._at)
        self._path = before
        return value

    def with_changes(self, changes: Mapping[Path, bytes], *, within: Path = ()) -> bytes:
        """The bytes of all, or of what is at one place, with other bytes at some places that do not contain each other."""
        whole = self._spans[within] if within else slice(0, len(self.content))
        parts, at = [], whole.start
        for path in sorted(changes, key=lambda path: self._spans[path].start):
            parts += [self.content[at : self._spans[path].start], changes[path]]
            at = self._spans[path].stop
        return b"".join([*parts, self.content[at : whole.stop]])


def _signed(number: int) -> bytes:
    """Zigzag: 0, -1, 1, -2, … as 0, 1, 2, 3, …"""
    return _unsigned(number << 1 ^ number >> 63)


def _unsigned(number: int) -> bytes:
    """Seven bits a byte, the lowest first; all bytes but the last have their highest bit set."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _head_of_structs(n: int) -> bytes:
    """How a list of so many structs begins."""
    struct = 12
    return bytes([n << 4 | struct]) if n < 15 else bytes([15 << 4 | struct]) + _unsigned(n)
