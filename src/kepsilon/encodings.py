# SPDX-License-Identifier: Apache-2.0
"""Decides the encoding of a text file from all of its bytes; a file that is no text, or text of two encodings, is refused.

A guess from the beginning of a file would be wrong for a later line, and its letters would be released as other letters.
Errors name lines as an editor counts them, and never what is on them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kepsilon.errors import DataError, Problem

Encoding = Literal["utf-8", "cp1252"]

BLOCK_BYTES = 1 << 24
UTF_8_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""A letter as UTF-8 writes it outside ASCII. In Windows-1252 it would be two to four letters that hardly ever meet."""
NOT_IN_1252 = (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")

SAVE_AS_UTF_8 = "Open it in the program that wrote it and save it as UTF-8"


def encoding_of(path: Path) -> Encoding:
    """The encoding of a whole file: UTF-8 if every byte is, else Windows-1252 if nothing speaks against it.

    Latin-1 is Windows-1252 as far as it has letters. Refused are NUL bytes, UTF-16, a file that has letters of UTF-8
    beside bytes that are not, and bytes that neither encoding has.
    """
    found = _look_through(path)
    where = str(path)
    if found.is_utf_16:
        raise DataError(Problem(where=where, what="is UTF-16 text.", fix=f"{SAVE_AS_UTF_8}."))
    if found.nul is not None:
        raise DataError(
            Problem(
                where=where,
                what=f"line {line_of(path, found.nul)} holds a NUL byte, which no text has.",
                fix=f"It is damaged, or UTF-16 text without a mark. {SAVE_AS_UTF_8}.",
            )
        )
    if found.not_utf_8 is None:
        return "utf-8"
    line = line_of(path, found.not_utf_8)
    letter = _first_letter(path, skip=len(UTF_8_MARK) * found.has_mark)
    if found.has_mark or letter is not None:
        other = "its first bytes say so" if letter is None else f"line {line_of(path, letter)} is"
        raise DataError(
            Problem(
                where=where,
                what=f"is written in two encodings: line {line} is not UTF-8, although {other}.",
                fix=f"Read in either, some letters would be released as others. {SAVE_AS_UTF_8}, or write line {line} and "
                "those like it anew.",
            )
        )
    foreign = _first_not_in_1252(path)
    if foreign is not None:
        raise DataError(
            Problem(
                where=where,
                what=f"line {line_of(path, foreign)} holds a byte that is a letter neither in UTF-8 nor in Windows-1252.",
                fix=f"{SAVE_AS_UTF_8}; with iconv: iconv -f ITS-ENCODING -t UTF-8",
            )
        )
    return "cp1252"


def not_utf_8(name: str) -> Problem:
    """The note for a file that was read as Windows-1252."""
    return Problem(
        where=name,
        what="is not UTF-8 text, and was read as Windows-1252 (Latin-1).",
        fix="If letters with accents look wrong, save it as UTF-8. What kepsilon writes is always UTF-8.",
    )


def line_of(path: Path, offset: int) -> int:
    """The number of the line that a byte is on, which is no line break itself; lines end in a line feed, a return, or both."""
    n_breaks, last, left = 0, b"", offset
    with path.open("rb") as file:
        while left and (block := file.read(min(left, BLOCK_BYTES))):
            n_breaks += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
            n_breaks -= last == b"\r" and block.startswith(b"\n")
            last, left = block[-1:], left - len(block)
    return n_breaks + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Where the first byte of each kind is, counted from the beginning of the file; None where there is none."""

    is_utf_16: bool
    has_mark: bool
    """Whether the file begins with the mark of UTF-8."""
    nul: int | None
    not_utf_8: int | None


def _look_through(path: Path) -> _Found:
    nul = not_utf_8 = None
    offset, rest, head = 0, b"", None
    for block in _blocks(path):
        head = block[:4] if head is None else head
        if nul is None and (at := block.find(b"\0")) >= 0:
            nul = offset + at
        if not_utf_8 is None:
            not_utf_8, rest = _first_not_utf_8(rest + block, at=offset - len(rest))
        offset += len(block)
    if not_utf_8 is None and rest:
        not_utf_8 = offset - len(rest)  # the file ends inside a letter
    head = head or b""
    return _Found(
        is_utf_16=head.startswith(UTF_16_MARKS),
        has_mark=head.startswith(UTF_8_MARK),
        nul=nul,
        not_utf_8=not_utf_8,
    )


def _first_not_utf_8(own: bytes, *, at: int) -> tuple[int | None, bytes]:
    """Where the first byte that is not UTF-8 is, of bytes that begin `at`, and the bytes of a letter cut in two at their end."""
    if own.isascii():
        return None, b""
    try:
        used = codecs.utf_8_decode(own, "strict", False)[1]
    except UnicodeDecodeError as error:
        return at + error.start, b""
    return None, own[used:]


def _first_letter(path: Path, *, skip: int) -> int | None:
    """Where the first letter of several bytes begins that is not among the first `skip` bytes."""
    start, rest = 0, b""
    for block in _blocks(path):
        own = rest + block
        match = SEVERAL_BYTES.search(own, max(0, skip - start))
        if match is not None:
            return start + match.start()
        rest = own[-3:]  # a letter has at most four bytes
        start += len(own) - len(rest)
    return None


def _first_not_in_1252(path: Path) -> int | None:
    """Where the first byte is that Windows-1252 does not use."""
    start = 0
    for block in _blocks(path):
        found = [at for own in NOT_IN_1252 if (at := block.find(own)) >= 0]
        if found:
            return start + min(found)
        start += len(block)
    return None


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block
