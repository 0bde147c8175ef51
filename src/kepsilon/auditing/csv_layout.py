# SPDX-License-Identifier: Apache-2.0
"""Whether the bytes of a CSV file are a function of the cells it holds: one line end, one rule for quotes, nothing more.

Readers give the same table for many files: with quotes here and there, with line ends of two kinds, with blank lines. Such
freedom can carry a message, so a file has to follow one rule from its first line to its last. Which rule, a program may
choose: to quote every cell, all cells of a column, or those that need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kepsilon.table.arrays import BoolArray, IntArray

_BLOCK = 1 << 24
_QUOTE, _FEED, _RETURN, _BLANK = (ord(character) for character in '"\n\r ')
_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some programs begin a file with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLayout:
    """How the cells of a CSV file are written."""

    faults: tuple[str, ...]
    """What no single rule explains, in words; none where the file follows a rule."""
    is_own: bool
    """Whether the rule is that of releases: text quoted, numbers not, every line ended by a line feed."""
    empty_in_two_ways: tuple[int, ...]
    """Columns with empty cells both with and without quotes, by position."""


@dataclass(slots=True)
class _Column:
    """How often cells of one column are written in which way."""

    n_quoted: int = 0
    n_unquoted: int = 0
    n_quoted_empty: int = 0
    n_blank: int = 0
    n_needless: int = 0
    """Quoted cells that hold nothing which has to be quoted."""
    n_needless_edge: int = 0
    """Those of them that neither begin nor end with a blank."""


class _Lines:
    """Adds up what the lines of a file are like, a block of whole lines at a time."""

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter[0]
        self.columns: list[_Column] = []
        self.header: list[_Column] = []
        self.n_ends = {"\n": 0, "\r\n": 0, "\r": 0}
        self.n_blank_lines = 0
        self.n_ragged = 0
        self.n_odd_quotes = 0
        """Cells in which quotes stand where none can."""

    def add(self, block: bytes) -> None:
        """Looks at whole lines; the first call begins with the header."""
        raw = np.frombuffer(block, dtype=np.uint8)
        is_quote = raw == _QUOTE
        outside = np.cumsum(is_quote) % 2 == 0
        is_feed, is_return = (raw == _FEED) & outside, (raw == _RETURN) & outside
        is_pair = np.zeros(len(raw), dtype=np.bool_)
        is_pair[1:] = is_feed[1:] & is_return[:-1]
        self.n_ends["\r\n"] += int(is_pair.sum())
        self.n_ends["\n"] += int((is_feed & ~is_pair).sum())
        is_bare = is_return.copy()
        is_bare[:-1] &= ~is_pair[1:]
        self.n_ends["\r"] += int(is_bare.sum())
        is_end = is_feed | is_bare
        # A cell ends before a delimiter or a line end; the return of a pair belongs to the line end.
        stops = np.flatnonzero(((raw == self._delimiter) & outside) | is_end)
        if not len(stops) or stops[-1] != len(raw) - 1:
            stops = np.append(stops, len(raw))
        starts = np.concatenate([[0], stops[:-1] + 1])
        ends = stops - np.append(is_pair, False)[stops]
        closes_line = np.append(is_end, True)[stops]
        line = np.concatenate([[0], np.cumsum(closes_line)[:-1]])
        first_of_line = np.searchsorted(line, np.arange(line[-1] + 1))
        place = np.arange(len(stops)) - first_of_line[line]
        sizes = np.bincount(line)
        self._count(raw, is_quote, starts, ends, place, line, sizes)

    def _count(
        self, raw: NDArray[np.uint8], is_quote: BoolArray, starts: IntArray, ends: IntArray, place: IntArray,
        line: IntArray, sizes: IntArray,
    ) -> None:  # fmt: skip
        if not self.columns:
            self.columns = [_Column() for _ in range(int(sizes[0]))]
            self.header = [_Column() for _ in range(int(sizes[0]))]
            is_header = line == 0
        else:
            is_header = np.zeros(len(line), dtype=np.bool_)
        lengths = ends - starts
        is_blank_line = (sizes == 1) & (np.bincount(line, weights=lengths) == 0)
        self.n_blank_lines += int(is_blank_line.sum()) if len(self.columns) > 1 else 0
        is_whole = (sizes == len(self.columns))[line]
        self.n_ragged += int(np.count_nonzero((sizes != len(self.columns)) & ~is_blank_line))
        quotes = np.cumsum(is_quote, dtype=np.int64)
        special = np.cumsum(self._is_special(raw), dtype=np.int64)
        opens = (lengths > 0) & is_quote[np.minimum(starts, len(raw) - 1)]
        closes = (lengths > 1) & is_quote[np.minimum(np.maximum(ends - 1, 0), len(raw) - 1)]
        is_quoted = opens & closes
        n_quotes = _between(quotes, starts, ends)
        self.n_odd_quotes += int(np.count_nonzero(~is_quoted & (n_quotes > 0)))
        is_empty = is_quoted & (lengths == 2)
        needs = _between(special, starts + 1, ends - 1) > 0
        edge = np.zeros(len(starts), dtype=np.bool_)
        filled = is_quoted & ~is_empty
        edge[filled] = (raw[starts[filled] + 1] == _BLANK) | (raw[ends[filled] - 2] == _BLANK)
        needless = filled & ~needs
        kinds = (filled, ~is_quoted & (lengths > 0), is_empty, lengths == 0, needless, needless & ~edge)
        for own, of_part in ((self.header, is_header), (self.columns, ~is_header)):
            counts = [np.bincount(place[kind & of_part & is_whole], minlength=len(own)) for kind in kinds]
            for i, column in enumerate(own):
                column.n_quoted += int(counts[0][i])
                column.n_unquoted += int(counts[1][i])
                column.n_quoted_empty += int(counts[2][i])
                column.n_blank += int(counts[3][i])
                column.n_needless += int(counts[4][i])
                column.n_needless_edge += int(counts[5][i])

    def _is_special(self, raw: NDArray[np.uint8]) -> BoolArray:
        """Bytes that make a cell need quotes; the quotes around it are not among those that are counted."""
        found: BoolArray = (raw == _QUOTE) | (raw == _FEED) | (raw == _RETURN) | (raw == self._delimiter)
        return found


def _between(totals: IntArray, first: IntArray, last: IntArray) -> IntArray:
    """How many there are at the positions from `first` up to, not including, `last`, by running totals."""
    padded = np.concatenate([[0], totals])
    counts: IntArray = padded[np.maximum(last, first)] - padded[first]
    return counts


def csv_layout(path: Path, delimiter: str) -> CsvLayout:
    """How the cells of a file are written, and what no single rule explains."""
    lines = _Lines(delimiter.encode())
    with path.open("rb") as file:
        has_mark = file.read(len(_MARK)) == _MARK
    for block in _whole_lines(path, skip=len(_MARK) if has_mark else 0):
        lines.add(block)
    columns, header = lines.columns, lines.header
    faults = []
    used_ends = [end for end, n in lines.n_ends.items() if n]
    if len(used_ends) > 1:
        faults.append("line ends of more than one kind")
    if lines.n_blank_lines:
        faults.append("blank lines")
    if lines.n_ragged:
        faults.append("lines with other numbers of cells than the header")
    if lines.n_odd_quotes:
        faults.append("quotes inside cells, or blanks around quotes")
    by_column = all(not own.n_quoted or not own.n_unquoted for own in columns)
    by_column &= all(not own.n_quoted_empty or not own.n_unquoted for own in columns)
    if not (by_column or _quotes_where_needed(columns)):
        faults.append("quotes around some cells of a column and not around others, without need")
    if not (all(own.n_unquoted == 0 for own in header) or _quotes_where_needed(header)):
        faults.append("quotes around some column names and not around others, without need")
    ends_well = _ends_with_feed(path)
    is_own = not faults and not has_mark and used_ends in (["\n"], []) and by_column and ends_well
    return CsvLayout(
        faults=tuple(faults),
        is_own=is_own and all(own.n_unquoted == 0 for own in header),
        empty_in_two_ways=tuple(i for i, own in enumerate(columns) if own.n_quoted_empty and own.n_blank),
    )


def _quotes_where_needed(columns: list[_Column]) -> bool:
    """Whether only cells that need it are quoted, or only these and those with a blank at an end."""
    return not any(own.n_needless for own in columns) or not any(own.n_needless_edge for own in columns)


def _ends_with_feed(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 1))
        return file.read() == b"\n"


def _whole_lines(path: Path, *, skip: int) -> Iterator[bytes]:
    """The file in blocks that end with a line, outside quotes; the last may end as the file does."""
    left = b""
    with path.open("rb") as file:
        file.seek(skip)
        while block := file.read(_BLOCK):
            left += block
            cut = _last_line_end(left)
            if cut:
                yield left[:cut]
                left = left[cut:]
    if left:
        yield left


def _last_line_end(block: bytes) -> int:
    """Where the last line ends that is surely whole; a return at the end may be followed by a feed."""
    raw = np.frombuffer(block, dtype=np.uint8)
    outside = np.cumsum(raw == _QUOTE) % 2 == 0
    ends = np.flatnonzero((raw == _FEED) & outside)
    if len(ends):
        return int(ends[-1]) + 1
    ends = np.flatnonzero((raw[:-1] == _RETURN) & outside[:-1])
    return int(ends[-1]) + 1 if len(ends) else 0
