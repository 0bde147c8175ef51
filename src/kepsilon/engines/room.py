# SPDX-License-Identifier: Apache-2.0
"""How many records, values and combinations a limit on memory leaves room for, and refusals of more than that.

What does not fit is refused before work starts where it can be foreseen, and always before noise is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kepsilon.errors import EngineError, MemoryLimitError, Problem
from kepsilon.table.arrays import IntArray
from kepsilon.table.blocks import block_bounds

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
LEAST = 200 * 10**6
"""The smallest limit, in bytes; Python and its libraries take as much before there is a single record."""

_BYTES_PER_RECORD = 120
_BYTES_PER_VALUE = 120
"""What the kernels hold at most for a record, and for each of its ε-quasis; measured."""

_BYTES_PER_DETAIL = 48
"""What is reckoned for the number of a person, or for the code of a sensitive value: itself, and five numbers to sort it by."""

_BYTES_PER_PERSON_RECORD = 160
"""What is held for a record while persons are counted; measured at about 110."""

_BYTES_PER_PAIR = 64
"""What a pair of a combination and a person, or a sensitive value, takes in the frequency table and in a search."""

_BYTES_PER_SENSITIVE_VALUE = 400
"""What a distinct value of a sensitive column takes, as text with its code; measured."""

_BYTES_WHILE_WRITING = 64
"""What is held of a record, besides its columns, while a bucket is shuffled and written."""

_BYTES_PER_DISTINCT = 160
"""What the kernels hold at most for a distinct value of a class that is too large for a batch."""

_BYTES_PER_K_VALUE = 800
"""What a distinct value of a k-quasi takes with its labels at all levels of the hierarchy; measured."""

_VALUE_SHARE, _COMBINATION_SHARE, _PAIR_SHARE = 2, 4, 8
"""Half of the memory is for values of k-quasis, a quarter for their combinations, and an eighth for pairs of each kind."""

_LARGEST_PART = 1 << 20
"""Records that are read and moved together at the most."""

LEAST_WIDTH = 24
"""Bytes that are reckoned for a value of no fixed width at the least, however short it is in the file."""

_MOST_BYTES = 1 << 30
"""Bytes of columns that are moved together at the most: Arrow's text ends at twice as much."""

Advice = Callable[[str | None, int, int], str]
"""Lines for a message on how to coarsen the input.

Called with a k-quasi (None for combinations of all), how many values or combinations may be left, and the least number
that there are.
"""


def no_advice(_name: str | None, _n_left: int, _n: int) -> str:
    """An `Advice` without a line, where there was no sample to take advice from."""
    return ""


_MOST_BYTES_OF_MEMORY = 10**18
_LONGEST_SHOWN = 40


def parse_bytes(memory: str | int) -> int:
    """The bytes of a size such as "2GB"; refused where it is no size, or too small to work with."""
    if isinstance(memory, int):
        memory = str(memory) if abs(memory) < _MOST_BYTES_OF_MEMORY else "a number of so many digits"
    text = memory.strip().upper()
    found = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?I?B?)", text)
    unit = "" if found is None else found[2] if found[2].endswith("B") or not found[2] else found[2] + "B"
    if found is None or unit not in _UNITS:
        shown = memory if len(memory) <= _LONGEST_SHOWN else f"{memory[:_LONGEST_SHOWN]}…"
        raise EngineError(
            Problem(where="memory", what=f'"{shown}" is not a size.', fix="Write 2GB, 500MB or the like.")
        )
    n_bytes = int(float(found[1]) * _UNITS[unit])
    if n_bytes < LEAST:
        raise EngineError(
            Problem(where="memory", what=f"{memory} is too little to work with.", fix="The least is 200MB.")
        )
    return n_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many records, values and combinations fit into memory together."""

    memory: int
    """The limit, in bytes."""
    n_epsilon_quasis: int
    record_width: int = 0
    """Bytes of a record as it is stored on disk."""
    in_blocks: bool = False
    """Whether batches are whole blocks of classes (`table.blocks`) where there is room for them.

    They have to be where figures are simulated, which is done block by block.
    """
    n_details: int = 0
    """Numbers of a record beside its ε-quasis: that of the person, and a code for each sensitive column."""
    has_persons: bool = False
    """Whether figures are of persons, who may have several records in a class, so that no class is read in parts."""

    @property
    def records_per_part(self) -> int:
        """Records that are read and moved together, with all their columns."""
        wide = max(1, self.record_width)
        return max(1, min(_LARGEST_PART, self.memory // max(2048, 8 * wide), _MOST_BYTES // wide))

    def n_noisy_buckets(self, n_records: int) -> int:
        """Buckets for the noisy records: a power of two, so that random bits choose one without bias."""
        n_needed = 4 * n_records * (3 * self.record_width + _BYTES_WHILE_WRITING) // self.memory
        return 1 << max(n_needed, n_records * self.record_width // _MOST_BYTES).bit_length()

    @property
    def bytes_per_record(self) -> int:
        """Bytes that the kernels hold for a record at most."""
        return _BYTES_PER_RECORD + _BYTES_PER_VALUE * self.n_epsilon_quasis + _BYTES_PER_DETAIL * self.n_details

    @property
    def records_per_batch(self) -> int:
        """Records of whole classes that go through the kernels together."""
        return self.memory // 2 // self.bytes_per_record

    @property
    def most_values(self) -> int:
        """Distinct values of a class that is too large for a batch; the kernels hold these instead of its records."""
        return self.memory // 2 // _BYTES_PER_DISTINCT

    @property
    def most_slots(self) -> int:
        """Slots of a table in which combinations are looked up by position."""
        return self.memory // 16 // 4

    def refuse_values(self, values: Mapping[str, int], source: str, advise: Advice = no_advice) -> None:
        """Refuses too many distinct values of k-quasis: they are held in memory with their labels at every level.

        `values` is how many distinct values each k-quasi has, `source` the name of the table.
        """
        n_values = sum(values.values())
        most = self.most_k_values
        if n_values <= most:
            return
        name = max(values, key=lambda own: values[own])
        # The others stay as they are; where they alone are too many, this one becomes as few as can be.
        n_left = max(1, most - (n_values - values[name]))
        raise EngineError(
            Problem(
                where=source,
                what=f'its k-quasis have too many distinct values, "{name}" at least {values[name]:,}, and the memory has '
                f"room for {most:,}.",
                fix="Coarsen them before anything else (a date to its month, say), give them another role, or give more "
                f"memory.{advise(name, n_left, values[name])}",
            )
        )

    def refuse_combinations(
        self, n_combinations: int, values: Mapping[str, int], source: str, advise: Advice = no_advice
    ) -> None:
        """Refuses too many combinations: the frequency table takes its memory a few times over while it is searched.

        `values` is how many distinct values each k-quasi has, `source` the name of the table.
        """
        most = self.most_combinations(len(values))
        if n_combinations <= most:
            return
        largest = sorted(values, key=lambda name: values[name], reverse=True)[:3]
        listed = ", ".join(f'"{name}" ({values[name]:,} values)' for name in largest)
        needed = least_memory(0, n_combinations, n_k_quasis=len(values))
        raise EngineError(
            Problem(
                where=source,
                what=f"its k-quasis have at least {n_combinations:,} combinations, and the memory has room for {most:,}.",
                fix=f"Coarsen the k-quasis with the most values before anything else: {listed}. Their combinations have to "
                f"become at least {n_combinations / most:.1f} times fewer. Or give more memory, at least {bytes_in_words(needed)}."
                f"{advise(None, most, n_combinations)}",
            )
        )

    @property
    def most_k_values(self) -> int:
        """Distinct values of all k-quasis together that fit."""
        return self.memory // _VALUE_SHARE // _BYTES_PER_K_VALUE

    def most_combinations(self, n_k_quasis: int) -> int:
        """Combinations of `n_k_quasis` k-quasis that fit."""
        return self.memory // _COMBINATION_SHARE // _bytes_per_combination(n_k_quasis)

    def batches(self, sizes: IntArray, *, n_batches: int = 1) -> list[slice]:
        """The classes of each batch: as many neighbours as there is room for, and at least one.

        `sizes` are the records of every class. At least about `n_batches` batches are made, if there are as many classes,
        or, with `in_blocks`, as many blocks.
        """
        return self._cut(sizes, block_bounds(sizes) if self.in_blocks else np.arange(len(sizes) + 1), n_batches)

    def buckets(self, counts: IntArray, *, n_buckets: int) -> list[slice]:
        """The combinations of each bucket, neighbours together; `counts` are the records of every combination."""
        return self._cut(counts, np.arange(len(counts) + 1), n_buckets)

    def _cut(self, sizes: IntArray, bounds: IntArray, n_cuts: int) -> list[slice]:
        """Slices of neighbours, cut at some of the `bounds`; between two bounds only where memory has no room for all between.

        `sizes` are the records of each neighbour; about `n_cuts` slices are made, or more where memory asks for it.
        """
        ends = np.cumsum(sizes)
        most = min(self.records_per_batch, -(-int(ends[-1]) // n_cuts))
        planned, first, done = [], 0, 0
        while first < len(sizes):
            until = int(np.searchsorted(ends, done + most, side="right"))
            last = int(bounds[np.searchsorted(bounds, until, side="right") - 1])
            if last <= first:
                last = int(bounds[np.searchsorted(bounds, first, side="right")])
                if ends[last - 1] - done > self.records_per_batch:
                    last = max(first + 1, int(np.searchsorted(ends, done + self.records_per_batch, side="right")))
            planned.append(slice(first, last))
            first, done = last, int(ends[last - 1])
        return planned

    def refuse_large_class(self, largest: int, source: str) -> None:
        """Refuses a largest class, of `largest` records, that does not fit where all its records are needed at once.

        They are with several ε-quasis, and where figures are of persons.
        """
        if (self.n_epsilon_quasis < 2 and not self.has_persons) or largest <= self.records_per_batch:
            return
        needed = 2 * largest * self.bytes_per_record / 10**9
        why = "several epsilon-quasis" if self.n_epsilon_quasis > 1 else "person"
        raise MemoryLimitError(
            Problem(
                where=source,
                what=f"the largest class has {largest:,} records, and with {why} the memory has room for "
                f"{self.records_per_batch:,} at a time. No noise was drawn.",
                fix=f"Give {needed:.1f}GB of memory, or coarsen less, so that classes are smaller.",
            )
        )

    @property
    def records_per_person_part(self) -> int:
        """Records whose persons are counted together at the most."""
        return max(1, self.memory // 2 // _BYTES_PER_PERSON_RECORD)

    def refuse_large_person_part(self, n_records: int, source: str) -> None:
        """Refuses more records of persons than can be counted together: parts are made by person, and one has too many."""
        if n_records > self.records_per_person_part:
            needed = bytes_in_words(2 * _BYTES_PER_PERSON_RECORD * n_records)
            raise MemoryLimitError(
                Problem(
                    where=source,
                    what=f"some persons have so many records that {n_records:,} have to be counted together, and the memory "
                    f"has room for {self.records_per_person_part:,}. No noise was drawn.",
                    fix=f"Give {needed} of memory, or see whether person names a column that says whom a record is about.",
                )
            )

    def refuse_pairs(self, n_pairs: int, of: str, source: str) -> None:
        """Refuses too many pairs of a combination and, in the words of `of`, something that it occurs with."""
        most = self.memory // _PAIR_SHARE // _BYTES_PER_PAIR
        if n_pairs > most:
            needed = bytes_in_words(_PAIR_SHARE * _BYTES_PER_PAIR * n_pairs)
            raise MemoryLimitError(
                Problem(
                    where=source,
                    what=f"there are at least {n_pairs:,} pairs of a combination of k-quasis and {of}, and the memory has "
                    f"room for {most:,}. No noise was drawn.",
                    fix=f"Give at least {needed} of memory, or coarsen the k-quasis before anything else.",
                )
            )

    def refuse_sensitive_values(self, n_values: int, name: str, source: str) -> None:
        """Refuses too many distinct values of a sensitive column: their texts are held in memory."""
        most = self.memory // _PAIR_SHARE // _BYTES_PER_SENSITIVE_VALUE
        if n_values > most:
            needed = bytes_in_words(_PAIR_SHARE * _BYTES_PER_SENSITIVE_VALUE * n_values)
            raise MemoryLimitError(
                Problem(
                    where=f'{source}: column "{name}"',
                    what=f"has at least {n_values:,} distinct values, and the memory has room for {most:,}. No noise was "
                    "drawn.",
                    fix=f"Give at least {needed} of memory, coarsen the values first, or ask nothing of this column.",
                )
            )

    def refuse_capped_persons(self, n_persons: int, source: str) -> None:
        """Refuses too many persons who have more records than may stay: for each it is held which records stay."""
        most = self.memory // _PAIR_SHARE // _BYTES_PER_PAIR
        if n_persons > most:
            needed = bytes_in_words(_PAIR_SHARE * _BYTES_PER_PAIR * n_persons)
            raise MemoryLimitError(
                Problem(
                    where=source,
                    what=f"at least {n_persons:,} persons have more records than max_records_per_person, and the memory has "
                    f"room for {most:,} such persons. No noise was drawn.",
                    fix=f"Give at least {needed} of memory, or allow more records per person.",
                )
            )

    def refuse_marks(self, n_records: int, source: str) -> None:
        """Refuses more records than memory has room for to mark each by one bit."""
        if n_records // 8 > self.memory // _PAIR_SHARE:
            needed = bytes_in_words(_PAIR_SHARE * n_records // 8)
            raise MemoryLimitError(
                Problem(
                    where=source,
                    what=f"with max_records_per_person a bit is held for each of {n_records:,} records, for which the "
                    "memory has no room. No noise was drawn.",
                    fix=f"Give at least {needed} of memory.",
                )
            )


def least_memory(n_values: int, n_combinations: int, *, n_k_quasis: int) -> int:
    """The least limit on memory, in bytes, that has room for `n_values` values and `n_combinations` combinations."""
    for_values = _VALUE_SHARE * _BYTES_PER_K_VALUE * n_values
    return max(LEAST, for_values, _COMBINATION_SHARE * _bytes_per_combination(n_k_quasis) * n_combinations)


def _bytes_per_combination(n_k_quasis: int) -> int:
    """Bytes of a combination in the frequency table and in what a search makes of it."""
    return 8 * (2 * n_k_quasis + 4)


def bytes_in_words(n_bytes: int) -> str:
    """A size for messages, such as "1.5 GB", with two significant digits where it is below ten."""
    unit = max((own for own in ("TB", "GB", "MB", "KB") if _UNITS[own] <= n_bytes), key=_UNITS.__getitem__, default="B")
    size = n_bytes / _UNITS[unit]
    return f"{size:.1f} {unit}" if size < 10 and unit != "B" else f"{size:,.0f} {unit}"
