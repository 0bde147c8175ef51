# SPDX-License-Identifier: Apache-2.0
"""The few operations an engine offers; the pipeline is handed an engine and never looks at its type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import Recoding
from kepsilon.table.coded_values import CodedValues
from kepsilon.table.codes import Domain, Label
from kepsilon.table.frequency import FrequencyTable


class Random(Protocol):
    """Where random bytes come from. Engines that work elsewhere send it there, so it can be pickled."""

    @property
    def seeded(self) -> bool:
        """Whether somebody who knows the seed can repeat the bytes."""

    def bytes(self, n: int) -> bytes:
        """So many bytes that nobody can guess."""

    def apart(self, number: int) -> Random:
        """A source for work that is done elsewhere; no two numbers give the same bytes."""


class Shuffle(Protocol):
    def __call__(self, n: int, *, random_bytes: Callable[[int], bytes]) -> IntArray:
        """A permutation of so many positions that nobody can guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Records that leave before anything is counted."""

    missing: int
    unlisted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctValues:
    """The distinct values of one k-quasi as text, null as None, and how many records hold each."""

    values: tuple[Label, ...]
    counts: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """Whether the values of a column repeat."""

    n_distinct: int
    """Distinct non-null values."""
    n_records: int
    """Records that hold one."""
    is_estimate: bool = False
    """Whether only a sample of the values was followed; that some repeat, or none, is then all but certain too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The records of some whole classes, or one part of a class that is too large to be looked at whole."""

    classes: slice
    """Which classes of the recoding."""
    class_ids: IntArray
    """Counted from the first of them, shape (n_records,)."""
    values: FloatArray
    """ε-quasis as they are in the data, NaN where missing, shape (n_records, n_epsilon_quasis)."""
    coded: tuple[CodedValues, ...] | None = None
    """The values coded, one for each ε-quasi, by an engine that codes them once for all partitions."""


class LargeClass(Protocol):
    """One class that is looked at in parts."""

    @property
    def class_id(self) -> int: ...

    @property
    def most_values(self) -> int:
        """Distinct values that there is room for."""

    def parts(self) -> Iterator[Batch]:
        """Its records, as often as asked for and always in the same order."""


class Merged(Protocol):
    """The released records, shuffled, not yet written."""

    n_records: int
    inputs: tuple[Path, ...]
    """The files that were read, and the folder or pattern that they came from; nothing is written there."""

    def frame(self) -> Any:
        """The release as the kind of object that was read."""

    def write(self, target: Path, *, final_name: Path) -> None:
        """Writes to `target` what the suffix of `final_name` asks for; Parquet files into it, if it is a folder."""

    def linkage(self) -> Any:
        """Which original record each released record was: for the curator only."""

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        """Writes the same to `target`, as the suffix of `final_name` asks for."""

    def close(self) -> None:
        """Removes what was kept on disk; nothing can be written or looked at afterwards."""


class Store(Protocol):
    def __call__(self, part: Batch, published: FloatArray, stays: BoolArray) -> None:
        """Takes what is published of a batch, or of the parts of a large class in their order."""


Found = TypeVar("Found")
Look = Callable[[Batch | LargeClass], Found]
"""What is to be known of a batch: small, and found without looking at any other."""

Draw = Callable[[Batch | LargeClass, Random, Store], Found]
"""Gives a batch its noise, hands what is published to `Store`, and says what it did."""


class Preview(Protocol):
    """Whole classes to look at, before anything is drawn.

    Engines call what they are handed wherever the records are, so it has to be picklable, and so has what it returns.
    """

    sizes: IntArray
    """Records of every class, shape (n_classes,)."""

    def each(self, look: Look[Found]) -> Iterable[Found]:
        """What is found in every batch, in the order of their classes; as often as asked for."""


class Classes(Preview, Protocol):
    """Whole classes to look at, to give noise and to release, with all their columns."""

    def draw(self, draw: Draw[Found], *, random: Random) -> Iterable[Found]:
        """Every batch gets its noise: once, and what is kept of it is what is released."""

    def each_released(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> Iterable[Found]:
        """What is found in the published values of released records, a part at a time. `new_ids` as for `merge`."""

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle, random: Random
    ) -> Merged:
        """Labels, noisy values and untouched columns of the released records in one shuffled table.

        `recoding` is of the classes that are left, and `new_ids` says for each old one which it is now, or SUPPRESSED.
        `whole` names the ε-quasis with a whole precision.
        """

    def close(self) -> None:
        """Removes what was kept on disk, where it did not come to a release."""


class Columns(Protocol):
    """A table that has been read: only the columns that will be published."""

    n_records: int

    def distinct(self, name: str) -> DistinctValues: ...

    def largest(self, name: str) -> float:
        """The largest absolute value of an ε-quasi, 0 where all are missing; refused where it is not all numbers."""

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        """Leaves out records with an unlisted k-quasi value or a missing ε-quasi, before anything is counted.

        `is_listed` says for every distinct value of a k-quasi whether it may stay. Afterwards everything speaks only
        of the records that stay, so that nothing published depends on the others.
        """

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        """The frequency table. A domain comes with the code of every distinct value."""

    def n_formulas(self, name: str) -> int:
        """How many cells of a kept column a spreadsheet would take for formulas."""

    def preview(self, recoding: Recoding) -> Preview:
        """The classes of a recoding, to look at only; for as many recodings as one likes, until `close`.

        An engine that does not hold the records in memory stores their ε-quasis once, by combination of k-quasi
        values, and not again for another recoding.
        """

    def classes(self, recoding: Recoding) -> Classes:
        """Carries the recoding back to the records, to release them."""

    def close(self) -> None:
        """Removes what previews keep on disk."""


class Source(Protocol):
    """A file or frame that is known by its columns, and not read yet."""

    name: str
    column_names: tuple[str, ...]

    def read(self, roles: ColumnRoles) -> Columns: ...

    def repetition(self, column: str) -> Repetition:
        """Whether the values of one column repeat; nothing else of it is kept."""

    def offending(self, column: str, attribute: Attribute) -> list[tuple[str, int]]:
        """Values the attribute's role cannot place, with how many records hold each; the curator has asked."""


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    def open_source(self, source: object) -> Source: ...
