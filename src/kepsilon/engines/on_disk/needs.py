# SPDX-License-Identifier: Apache-2.0
"""The memory and disk that a table will take, estimated from a sample of its files before any work starts.

For the spilling engine, and for Spark where it reads files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kepsilon.engines.arrow.coding import holds_numbers
from kepsilon.engines.counts.growing import GrowingCodes, GrowingCounts
from kepsilon.engines.machine import refuse_full_disk
from kepsilon.engines.on_disk.details import n_details
from kepsilon.engines.on_disk.sizes import SpillSizes
from kepsilon.engines.room import Advice, Room, bytes_in_words, least_memory
from kepsilon.errors import DataError, Problem
from kepsilon.policy.reading import read_values
from kepsilon.policy.roles import ColumnRoles, KQuasi
from kepsilon.sources.protocol import SourceInParts
from kepsilon.table.coarsening import (
    SampledCombinations,
    coarsening_in_words,
    coarsenings_of_combinations,
    coarsenings_of_values,
)
from kepsilon.table.codes import Label
from kepsilon.table.distinct import DistinctCount

_SAMPLED = 200_000
_SEEN = 1 << 20
"""Records in the sample, and records that are read to draw it from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Estimates of what a release takes; the true numbers are known once all records have been read."""

    n_records: int
    n_sampled: int
    values: Mapping[str, DistinctCount]
    """Distinct values by k-quasi."""
    combinations: DistinctCount
    memory: int
    """The least limit, in bytes, under which the frequency table has room."""
    disk: int
    """Bytes that are on disk at the most at one time."""
    fits: bool
    """Whether memory has room for the lower estimates of values and of combinations."""

    def __str__(self) -> str:
        low, high = self.combinations.low, self.combinations.high
        if self.n_sampled >= self.n_records:
            n_combinations = f"{low:,}"
        elif _rounded(low) == _rounded(high):
            n_combinations = f"about {_rounded(low)}"
        else:
            n_combinations = f"about {_rounded(low)} to {_rounded(high)}"
        return (
            f"{self.n_records:,} records, {n_combinations} combinations of k-quasis; "
            f"needs about {bytes_in_words(self.memory)} of memory"
            f"{'' if self.fits else ', which may be more than there is room for,'} and {bytes_in_words(self.disk)} of disk"
        )


class Foreseen:
    """What is known before the first full reading: how columns are read, what memory has room for, what will be needed.

    `coded` names the columns that are read as dictionaries; `room`, `needs` and `advise` are for the whole table.
    """

    def __init__(
        self,
        files: SourceInParts,
        roles: ColumnRoles,
        *,
        memory: int,
        linkage: bool,
        at_once: bool = False,
        to_release: bool = True,
    ) -> None:
        """`memory` is the limit in bytes; `linkage` says whether the linkage may be asked for later.

        `at_once` as for `SpillSizes.disk`; `to_release` says whether records will be released or only previewed.
        """
        if not files.n_records:
            raise DataError(Problem(where=files.name, what="has columns, but no records."))
        self.coded = files.coded(roles.published, roles.k_quasis)
        sizes = SpillSizes(files, roles, self.coded, linkage=linkage)
        self.room = Room(
            memory=memory,
            n_epsilon_quasis=len(roles.epsilon_quasis),
            in_blocks=roles.are_figures_simulated,
            record_width=sizes.record,
            n_details=n_details(roles),
            has_persons=roles.person is not None,
        )
        sample = sample_combinations(files, roles)
        disk = sizes.disk(self.room, at_once=at_once) if to_release else sizes.numbers
        self.needs = needs_of(sample, self.room, disk=disk)
        self.advise = advice_from(sample, roles.attributes)
        self._source = files.name

    def refuse(self, folder: Path) -> None:
        """Refuses, before any work, what will not fit into memory, or onto the disk of that folder."""
        refuse_full_disk(folder, self.needs.disk, memory=self.room.memory)
        refuse_too_much(self.needs, self.room, self._source, self.advise)


def sample_combinations(files: SourceInParts, roles: ColumnRoles) -> SampledCombinations:
    """Combinations of k-quasis in a sample of the records. Whether ε-quasis are missing is not counted."""
    codes = {name: GrowingCodes(name, files.name) for name in roles.k_quasis}
    counts = GrowingCounts(len(codes))
    texts = files.coded(roles.k_quasis, roles.k_quasis)
    for part in files.sample(roles.k_quasis, coded=texts, most=_SAMPLED, seen=_SEEN) if codes else ():
        columns = [own.learn(part.column(name)) for name, own in codes.items()]
        counts.add(columns, [len(own) for own in codes.values()], n_records=len(part))
    columns_of_all, totals = counts.total()
    return SampledCombinations(
        values={
            name: _as_they_count(name, own.values, files.schema.field(name).type, roles) for name, own in codes.items()
        },
        codes=dict(zip(codes, columns_of_all, strict=True)),
        counts=totals,
        n_records=files.n_records,
    )


def _as_they_count(name: str, values: Sequence[Label], kind: pa.DataType, roles: ColumnRoles) -> tuple[Label, ...]:
    """Distinct values of a k-quasi as hierarchies place them: null where one means missing, numbers with a point."""
    is_typed, wants_numbers = holds_numbers(kind), roles.attributes[name].reads_numbers
    return tuple(read_values(values, roles.reading(name), is_typed=is_typed, wants_numbers=wants_numbers)[0])


def needs_of(sample: SampledCombinations, room: Room, *, disk: int) -> Needs:
    """The needs of a table, from a sample of its combinations; `disk` is in bytes."""
    values = {name: sample.count(name) for name in sample.codes}
    found = sample.count_combinations()
    most = max(found.seen, math.prod(own.high for own in values.values()))
    combinations = DistinctCount(seen=found.seen, low=min(found.low, most), high=min(found.high, most))
    n_values = sum(own.high for own in values.values())
    return Needs(
        n_records=sample.n_records,
        n_sampled=int(sample.counts.sum()),
        values=values,
        combinations=combinations,
        memory=least_memory(n_values, combinations.high, n_k_quasis=len(values)),
        disk=disk,
        fits=sum(own.low for own in values.values()) <= room.most_k_values
        and combinations.low <= room.most_combinations(len(values)),
    )


def refuse_too_much(needs: Needs, room: Room, source: str, advise: Advice) -> None:
    """Refuses a table whose sample alone has more values or combinations than there is room for.

    An estimate for the whole table refuses nothing, however large it is: records come in the order of their files, and
    those outside the sample may all be alike. Whether these fit is known once all records are counted.
    """
    seen = {name: own.seen for name, own in needs.values.items()}
    room.refuse_values(seen, source, advise)
    room.refuse_combinations(needs.combinations.seen, seen, source, advise)


def advice_from(sample: SampledCombinations, attributes: Mapping[str, KQuasi]) -> Advice:
    """Advice on levels of the policy's own hierarchies that would leave few enough values or combinations."""

    def advise(name: str | None, n_left: int, n_at_least: int) -> str:
        """As `room.Advice` describes."""
        if name is not None:
            n = max(n_at_least, sample.count(name).high)
            found = coarsenings_of_values(sample, attributes, name, share=n_left / n)
            return "".join(
                f"\nEnough, in the input: {coarsening_in_words(own, attributes, of='values')}." for own in found
            )
        n = max(n_at_least, sample.count_combinations().high)
        found, is_enough = coarsenings_of_combinations(sample, attributes, share=n_left / n)
        memory = bytes_in_words(least_memory(0, n, n_k_quasis=len(sample.codes)))
        lines = [f"\nThere are about {_rounded(n)} combinations in all, which take about {memory} of memory."]
        if len(found) > 1:
            lines.append("Any one of these is enough, in the input:")
            lines += [f"- {coarsening_in_words(own, attributes, of='combinations')}" for own in found]
        elif found and is_enough:
            lines.append(f"Enough, in the input: {coarsening_in_words(found[0], attributes, of='combinations')}.")
        elif found:
            lines.append(
                f"Not even the coarsest levels are enough: {coarsening_in_words(found[0], attributes, of='combinations')}. "
                "Give one of the k-quasis another role."
            )
        return "\n".join(lines)

    return advise


def _rounded(n: int) -> str:
    """A count with two significant digits; more would pretend to be exact."""
    step = 10 ** max(0, len(str(n)) - 2)
    return f"{round(n / step) * step:,}"
