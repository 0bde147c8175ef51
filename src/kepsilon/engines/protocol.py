# SPDX-License-Identifier: Apache-2.0
"""The operations that every engine offers; the pipeline is handed an engine and never asks for its type.

An `Engine` opens a `Source`; a source is read into `Columns`; columns are counted, and give the `Classes` of a recoding, or
only a `Preview` of them; classes are given noise and merged into the release, which is `Merged`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kepsilon.errors import Problem
from kepsilon.policy.reading import Reading
from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import Recoding
from kepsilon.table.coded_values import CodedValues
from kepsilon.table.codes import Domain, Label
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.type_changes import TypeChange
from kepsilon.table.whole_records import WholeColumn, WholeRecords


class Random(Protocol):
    """A source of random bytes. It can be pickled, because engines send it to the workers that draw noise."""

    @property
    def seeded(self) -> bool:
        """Whether somebody who knows the seed can repeat the bytes."""

    def bytes(self, n: int) -> bytes:
        """`n` random bytes that nobody can guess."""

    def apart(self, number: int) -> Random:
        """A source of its own for one piece of work; no two numbers give the same bytes."""


class Shuffle(Protocol):
    """Draws the order of the released records."""

    def __call__(self, n: int, *, random_bytes: Callable[[int], bytes]) -> IntArray:
        """A random permutation of 0 … n − 1 that nobody can guess, shape (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """How many records are left out before combinations are counted."""

    missing: int
    """Records with a missing ε-quasi, or that say not whom they are about, and no unlisted value."""
    unlisted: int
    """Records with an unlisted k-quasi value."""
    by_cap: int = 0
    """Records of persons who have more than the policy allows one person, beyond that number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctValues:
    """The distinct values of one k-quasi as text, null as None, and how many records hold each."""

    values: tuple[Label, ...]
    counts: IntArray
    """Records that hold each value, shape (n_values,)."""
    is_typed: bool = False
    """Whether the column is one of numbers, not text: such numbers have a decimal point, whatever the policy says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """How far the values of a column repeat."""

    n_distinct: int
    """Distinct values, null and blank ones not counted."""
    n_records: int
    """Records that hold a value: neither null nor blank."""
    n_with_blanks: int = 0
    """Records whose value has a blank inside, as names of persons mostly have and codes have not."""
    is_estimate: bool = False
    """Whether only a sample of the values was followed. Whether any value repeats is all but certain even then."""

    @property
    def repeats(self) -> bool:
        """Whether some value is held by several records."""
        return self.n_distinct < self.n_records

    @property
    def is_of_codes(self) -> bool:
        """Whether most values have no blank inside: they are codes, such as numbers of patients, and no names."""
        return 2 * self.n_with_blanks < self.n_records


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The records of some whole classes, or one part of a class that is too large for memory."""

    classes: slice
    """Which classes of the recoding."""
    class_ids: IntArray
    """Class of every record, counted from the first class of the batch, shape (n_records,)."""
    values: FloatArray
    """ε-quasis as they are in the data, NaN where missing, shape (n_records, n_epsilon_quasis)."""
    coded: tuple[CodedValues, ...] | None = None
    """The values of each ε-quasi, coded; None from an engine that does not code them once for all recodings."""
    persons: IntArray | None = None
    """Whom every record is about, as a number of 64 bits that the person has in every batch, shape (n_records,); None where
    the policy names no such column."""
    sensitive: IntArray | None = None
    """Codes of the values of `ColumnRoles.diverse`, as in the frequency table, shape (n_records, n_diverse); None where there
    is no such column."""
    kept_at: KeptAt | None = None
    """Looks up kept columns; None in parts of a class, and in previews, which do not hold them."""


KeptAt = Callable[[IntArray, Sequence[str]], Mapping[str, WholeColumn]]
"""Some kept columns, by name, of the records at some positions of a batch or class, which rise; as long as no noise of
other batches is drawn."""


class LargeClass(Protocol):
    """A class that is too large for memory and is read in parts."""

    @property
    def class_id(self) -> int: ...

    @property
    def most_values(self) -> int:
        """How many distinct values of the class memory has room for."""

    def parts(self) -> Iterator[Batch]:
        """The records of the class; may be called often, and always gives them in the same order."""

    @property
    def kept_at(self) -> KeptAt | None:
        """Looks up kept columns, as in `Batch`."""


class Merged(Protocol):
    """The released records, shuffled, not yet written."""

    n_records: int
    inputs: tuple[Path, ...]
    """The files that were read, and the folder or pattern that they came from; outputs may not be written there."""
    input_types: Mapping[str, Any]
    """The Arrow types of the kept columns in the input, by name."""

    def frame(self) -> Any:
        """The release as the kind of object that was read."""

    def write(self, target: Path, *, final_name: Path) -> None:
        """Writes the release to `target`, as Parquet files into a folder, else as the suffix of `final_name` says."""

    def linkage(self) -> Any:
        """Which original record each released record was: for the curator only."""

    def write_linkage(self, target: Path, *, final_name: Path) -> None:
        """Writes the linkage to `target`, as the suffix of `final_name` says."""

    def close(self) -> None:
        """Removes the records stored on disk; afterwards the release can neither be written nor read."""


class Store(Protocol):
    """Stores noisy records until they are merged."""

    def __call__(self, part: Batch, published: FloatArray, stays: BoolArray) -> None:
        """Stores the published values of a batch, or of one part of a large class; parts come in their order.

        `published` has shape (n_records, n_epsilon_quasis); `stays`, shape (n_records,), says which records are released.
        """


Found = TypeVar("Found")
Look = Callable[[Batch | LargeClass], Found]
"""Finds something in one batch, without any other batch; small enough to be returned from a worker."""

Draw = Callable[[Batch | LargeClass, Random, Store], Found]
"""Draws the noise of one batch, hands the published values to `Store`, and returns what the noise did."""


class Preview(Protocol):
    """The classes of a recoding, to be looked at before any noise is drawn.

    Engines call a look wherever the records are, so a look and what it returns have to be picklable.
    """

    sizes: IntArray
    """Records of every class, shape (n_classes,)."""

    def each(self, look: Look[Found]) -> Iterable[Found]:
        """What `look` finds in every batch, in the order of the classes; may be called often."""


class Classes(Preview, Protocol):
    """The classes of a recoding with all their columns: to be looked at, given noise and released.

    `draw` is called once; then `each_released`, any number of times; then `merge`, once.
    """

    def draw(self, draw: Draw[Found], *, random: Random) -> Iterable[Found]:
        """What `draw` returns for every batch. Noise is drawn once, and what is stored is what is released."""

    def each_released(self, look: Callable[[FloatArray], Found], new_ids: IntArray) -> Iterable[Found]:
        """What `look` finds in the published values of released records, some records at a time.

        `new_ids` as for `merge`.
        """

    def merge(
        self, recoding: Recoding, new_ids: IntArray, *, whole: Collection[str], shuffle: Shuffle, random: Random
    ) -> Merged:
        """Labels, noisy values and kept columns of the released records in one shuffled table.

        `recoding` is that of the classes that are left; `new_ids` gives the id of every earlier class in it, or
        SUPPRESSED. `whole` names the ε-quasis whose precision is a whole number.
        """

    def close(self) -> None:
        """Removes the records stored on disk; for runs that end without a release."""


class Columns(Protocol):
    """The columns of a table that will be published; only `whole_records` reads others, if it is asked to.

    Methods are called in this order: `distinct` and `largest`, to check the table against the policy; `leave_out`, once;
    `distinct` again where records were left out; `count`, once; then any of `preview`, `n_formulas`, `whole_records` and
    `classes`, until classes are merged.
    """

    n_records: int
    """Records of the table, those to be left out included."""
    are_in_memory: bool
    """Whether whole records may be looked at while classes are, because all of them are in memory anyway."""
    type_changes: tuple[TypeChange, ...]
    """Kept columns that have another type in a release of any kind than in the input."""

    def distinct(self, name: str) -> DistinctValues:
        """The distinct values of a k-quasi."""

    def largest(self, name: str) -> float:
        """The largest absolute value of an ε-quasi, 0 where all are missing; DataError where some are no numbers."""

    def leave_out(self, is_listed: Mapping[str, BoolArray], *, drop_missing: Sequence[str]) -> LeftOut:
        """Leaves out records with an unlisted k-quasi value or a missing ε-quasi, before combinations are counted.

        `is_listed` says for every distinct value of a k-quasi whether its hierarchy lists it, in the order of
        `distinct(name).values`; `drop_missing` names the ε-quasis of which no value may be missing. A record with both
        faults is reported as unlisted. Records that do not say whom they are about are missing too, where `ColumnRoles`
        names a column of persons. Of what is left, at most `max_records_per_person` records of each person stay: those
        that are taken do not depend on their values, and are the same whenever the same table is read again.

        Afterwards `distinct`, `count` and all classes know only the records that are not left out, so that nothing published
        depends on the others.
        """

    def count(
        self, domains: Mapping[str, tuple[Domain, IntArray]], *, missing_in_class: Sequence[str]
    ) -> FrequencyTable:
        """The frequency table of the records that are not left out.

        `domains` gives the domain of every k-quasi, and the code of each of its values in the order of
        `distinct(name).values`. Whether an ε-quasi of `missing_in_class` is missing is counted as one more attribute, so
        that records without the value make classes of their own. Persons, and values of sensitive columns that something
        is asked of, are counted too (`ColumnRoles.person` and `diverse`).
        """

    def n_formulas(self, name: str) -> int:
        """How many texts of a kept column, those inside lists and structures included, a spreadsheet would take for formulas."""

    def whole_records(self, shares: FloatArray, *, identifiers: Sequence[str]) -> WholeRecords:
        """Records of some combinations with every column, to see what kept columns and identifiers tell about them.

        `shares`, shape (n_combinations,), says for each row of the frequency table how many of its records are taken: 0 is
        none, 1 is all, and in between a sample that is the same whenever the same table is read again. All records taken
        are held in memory, so they have to be few. The columns named by `identifiers` are read for them alone, and no
        other column of that role is. Records that were left out are never among them.
        """

    def preview(self, recoding: Recoding) -> Preview:
        """The classes of a recoding, to be looked at only; may be called for any number of recodings until `close`.

        An engine that does not hold the records in memory stores their ε-quasis once, by combination of k-quasi
        values, and not again for another recoding.
        """

    def classes(self, recoding: Recoding) -> Classes:
        """The classes of a recoding with all their columns, to be given noise and released."""

    def close(self) -> None:
        """Removes the records that were stored on disk for previews."""


class Source(Protocol):
    """A file or frame whose column names are known and whose records have not been read yet."""

    name: str
    column_names: tuple[str, ...]
    notes: tuple[Problem, ...]
    """What the user should know of how the source was read."""

    def read(self, roles: ColumnRoles) -> Columns:
        """Reads the columns to publish, and no other."""

    def repetition(self, column: str) -> Repetition:
        """Whether the values of one column repeat; the values themselves are not returned."""

    def offending(self, column: str, attribute: Attribute, reading: Reading) -> list[tuple[str, int]]:
        """Values that the attribute's role cannot place, with how many records hold each.

        These are values of records, so they are shown only to a curator who asks for them.
        """


class Engine(Protocol):
    """Opens sources; everything else is asked of what it opens."""

    @property
    def name(self) -> str:
        """The name for the curator's record."""

    def open_source(self, source: object) -> Source:
        """A path or a frame as a source; refused where the engine cannot read it."""
