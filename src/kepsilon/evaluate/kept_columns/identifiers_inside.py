# SPDX-License-Identifier: Apache-2.0
"""Identifier values inside kept texts: a note that names its patient, a copy of a number that was dropped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.whole_records import MISSING, WholeColumn

SHORTEST_WORD = 3
SHORTEST_NUMBER = 4
"""Shorter words and numbers are found in any text."""
FEWEST_RECORDS = 3
"""Fewer records than this may be coincidence, whatever the shuffles say."""
N_SHUFFLES = 5
MOST_CHARACTERS = 4_000_000
"""Of a column with more characters than this, about so many are read, in texts from the first to the last of its order."""

_SURE = 5.0
_TELLING = 2
_WORD_BITS = 32
_WORD_MASK = (1 << _WORD_BITS) - 1
_SEED = 14_004
_WORD = re.compile(r"[^\W_]{3,}")
_BEGIN_NUMBERS = frozenset("0123456789+-. ")
_NUMBER = re.compile(r"\d{4,}")


class Identifiers:
    """The words of every record's identifier values, so that texts can be searched for their own record's.

    Words are compared whole and without regard to case: “Frau Maier kam” and “anna_maier” hold a word of “Anna Maier”,
    “Maierhof” does not. Numbers are also compared without leading zeros, and without letters beside them: “MRN12345” holds
    the number 12345.
    """

    def __init__(self, identifiers: Mapping[str, WholeColumn], *, n_records: int) -> None:
        self._n_records = n_records
        self._numbers: dict[str, int] = {}
        """A number for each word of an identifier value."""
        found: list[IntArray] = [np.empty(0, dtype=np.int64)]
        for column in identifiers.values():
            words = [
                [self._numbers.setdefault(word, len(self._numbers)) for word in own if _is_telling(word)]
                for own in _words(column)
            ]
            found.append(_keys(words, column.codes, np.arange(n_records)))
        # A word's number is in the low half of a key, so that keys stay what they are when words are added.
        self._keys = np.unique(np.concatenate(found))
        self._whole_numbers = np.array([float(word) for word in self._numbers if word.isdecimal()])
        rng = np.random.default_rng(_SEED)
        self._shuffles = [rng.permutation(n_records) for _ in range(N_SHUFFLES)] if identifiers else []

    def share_inside(self, column: WholeColumn) -> float:
        """Share of the column's values that hold an identifier value of the same record, or a word of one.

        0 where fewer than FEWEST_RECORDS do, or not clearly more than if the values were shuffled among all records: the
        name of a town may stand in an address and in a diagnosis.
        """
        is_read = _is_read(column.texts)
        codes = (
            column.codes if is_read.all() else np.where(np.append(is_read, False)[column.codes], column.codes, MISSING)
        )
        n_present = int(np.count_nonzero(codes != MISSING))
        if not len(self._keys) or not n_present:
            return 0.0
        of_codes = _words(column, among=self._whole_numbers, is_read=is_read)
        words = [[self._numbers[word] for word in own if word in self._numbers] for own in of_codes]
        if not any(words):
            return 0.0
        n_found = self._n_found(words, codes, np.arange(self._n_records))
        if n_found < FEWEST_RECORDS:
            return 0.0
        chance = float(np.mean([self._n_found(words, codes, own) for own in self._shuffles]))
        return n_found / n_present if n_found > chance + _SURE * np.sqrt(chance) else 0.0

    def _n_found(self, words: list[list[int]], codes: IntArray, records: IntArray) -> int:
        """Records that hold a word of their own, if what position i holds were in the record `records[i]`.

        Words that are in their own records less than twice as often as chance puts them there are left out: the end of
        all e-mail addresses would hide what is found through their beginnings.
        """
        keys = np.unique(_keys(words, codes, records))
        own = keys[np.isin(keys, self._keys)]
        in_texts, in_identifiers, found = (
            np.bincount(these & _WORD_MASK, minlength=len(self._numbers)) for these in (keys, self._keys, own)
        )
        is_telling = found * self._n_records >= _TELLING * in_texts * in_identifiers
        return len(np.unique(own[is_telling[own & _WORD_MASK]] >> _WORD_BITS))


def _keys(words: list[list[int]], codes: IntArray, records: IntArray) -> IntArray:
    """A number for every (record, word of its value), where `words` holds the words of each code."""
    lengths = np.array([*(len(own) for own in words), 0], dtype=np.int64)  # MISSING is −1: the last place
    flat = np.array([word for own in words for word in own], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    n_words = lengths[codes]
    within = np.arange(n_words.sum()) - np.repeat(np.cumsum(n_words) - n_words, n_words)
    keys: IntArray = (np.repeat(records, n_words) << _WORD_BITS) + flat[np.repeat(starts[codes], n_words) + within]
    return keys


def _is_read(texts: Sequence[str]) -> BoolArray:
    """Which texts are read: all, or every second, third … of them where they have too many characters, (n_texts,)."""
    every = 1 + sum(map(len, texts)) // MOST_CHARACTERS
    chosen: BoolArray = np.arange(len(texts)) % every == 0
    return chosen


def _words(
    column: WholeColumn, *, among: FloatArray | None = None, is_read: BoolArray | None = None
) -> Iterator[Collection[str]]:
    """The words of each code's value; a whole number is one word.

    Of numbers, only those `among` some are asked for, because most columns of numbers hold none of them. Where texts are
    numbers, those that are none, and codes such as 00123 and P-00123, are read as texts.
    """
    if column.numbers is None:
        for text, chosen in zip(column.texts, _is_read(column.texts) if is_read is None else is_read, strict=True):
            yield _words_of(text) if chosen else ()
        return
    is_number = np.isfinite(column.numbers)
    sizes = np.abs(np.where(is_number, column.numbers, 0.0))
    is_word = is_number & (sizes == np.rint(sizes)) & (sizes < 2.0**53)
    if among is not None:
        is_word &= np.isin(sizes, among)
    words: list[Collection[str]] = [()] * len(sizes)
    for i in np.flatnonzero(is_word).tolist():
        words[i] = (str(int(sizes[i])),)
    for i, text in enumerate(column.texts):
        is_code = text[:1] not in _BEGIN_NUMBERS or (text[:1] == "0" and text[1:].isdecimal())
        if not is_number[i] or is_code:
            words[i] = (*words[i], *_words_of(text))
    yield from words


def _words_of(text: str) -> list[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    words: list[str] = _WORD.findall(text.casefold())
    numbers: list[str] = _NUMBER.findall(text)
    return [*words, *numbers, *(word.lstrip("0") for word in numbers)] if numbers else words


def _is_telling(word: str) -> bool:
    return len(word) >= (SHORTEST_NUMBER if word.isdecimal() else SHORTEST_WORD)
