# SPDX-License-Identifier: Apache-2.0
"""How many bytes records take on disk, estimated from a sample of the kept columns before any work starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.numpy_arrays import to_positions
from kepsilon.engines.on_disk.buckets import LARGE_DICTIONARY, stream_overhead
from kepsilon.engines.on_disk.details import n_details
from kepsilon.engines.room import LEAST_WIDTH, Room
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import in_one_piece, moved_schema
from kepsilon.sources.dictionaries import with_one_dictionary
from kepsilon.sources.protocol import SourceInParts
from kepsilon.sources.rebuilding import null_mask
from kepsilon.table.arrays import IntArray
from kepsilon.table.distinct import estimate_distinct

_SAMPLED = 1 << 14
_SAMPLED_BYTES = 32 << 20
"""Records and bytes in a sample at the most; the bytes are reckoned from the widths that the files tell."""

_TOGETHER = 1 << 12
"""About how many records share a dictionary; the exact number depends on the limit on memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptColumn:
    """How many bytes the values of a kept column take."""

    each: float
    """Bytes of a value, or of its position in a dictionary."""
    counts: IntArray | None = None
    """How often each entry of the dictionary came up in the sample."""
    entry: float = 0.0
    """Bytes of an entry of the dictionary."""
    n_entries: int = 0
    """About how many entries the whole table has."""

    def dictionary(self, n_records: float) -> float:
        """Bytes of the dictionary of `n_records` records: of the entries that occur, or of all where they are few."""
        if self.counts is None or not self.n_entries:
            return 0.0
        if self.n_entries <= n_records / LARGE_DICTIONARY:
            return self.entry * self.n_entries
        n_sampled = int(self.counts.sum())
        occurring = float(np.sum(1 - (1 - self.counts / n_sampled) ** n_records))
        rare = min(1.0, n_records / n_sampled) * (self.n_entries - len(self.counts))
        return self.entry * min(n_records, self.n_entries, occurring + rare)


class SpillSizes:
    """Bytes on disk, of a record and of all records; of k-quasis only a class id is stored."""

    def __init__(self, files: SourceInParts, roles: ColumnRoles, coded: list[str], *, linkage: bool) -> None:
        """`coded` names the columns that are read as dictionaries; with `linkage`, positions in the input are stored."""
        self._files, self._linkage = files, linkage
        self._numbers = 4 + 8 * len(roles.epsilon_quasis)  # bytes of the class id and the ε-quasis of a record
        self._details = 8 * n_details(roles)
        has_cap = roles.max_records_per_person is not None
        self._of_persons = (
            0 if roles.person is None else 12 + 8 * has_cap
        )  # bytes of a record while persons are counted
        self._kept = _kept_columns(files, roles, coded)
        self._overhead = stream_overhead(_kept_schema(files, roles, coded)) if roles.kept else 0

    @property
    def record(self) -> int:
        """Bytes of a record in memory, with a margin for values longer than those of the sample."""
        width = float(self._numbers + self._details + 8 * self._linkage)
        for name, own in self._kept.items():
            is_fixed = own.counts is None and _is_fixed(self._files.schema.field(name).type)
            share = own.dictionary(_TOGETHER) / _TOGETHER
            no_less = 0 if is_fixed or own.counts is not None else max(LEAST_WIDTH, self._files.width(name))
            width += max(no_less, own.each + share)
        return int(np.ceil(width))

    @property
    def numbers(self) -> int:
        """Bytes of all records for a preview: the place of the combination, the ε-quasis and the details of each."""
        return self._files.n_records * max(self._numbers + self._details, self._of_persons)

    def disk(self, room: Room, *, at_once: bool = False) -> int:
        """Bytes that are on disk at the most at one time.

        Class ids and ε-quasis are stored twice, by class and with noise; details only by class. Kept columns move from one
        to the other a bucket at a time, so the larger of the two counts, and one bucket more. Where all batches are given
        noise `at_once`, kept columns stay by class until the last batch has its noise, so they are stored twice as well.
        """
        n = self._files.n_records
        n_buckets = 1 + n // room.records_per_batch
        n_parts = len(self._files.paths) + n // room.records_per_part
        by_class = self._kept_bytes(n_parts * n_buckets)
        n_parts = n_buckets * (1 + min(n, room.records_per_batch) // room.records_per_part)
        with_noise = self._kept_bytes(n_parts * room.n_noisy_buckets(n))
        kept = by_class + with_noise if at_once else max(by_class, with_noise) + by_class / n_buckets
        return int(max(n * (2 * self._numbers + self._details) + kept, n * self._of_persons))

    def _kept_bytes(self, n_chunks: int) -> float:
        """Bytes of kept columns and positions in the input of all records, appended in `n_chunks` pieces."""
        n = self._files.n_records
        n_chunks = max(1, min(n, n_chunks))
        shared = sum(own.dictionary(n / n_chunks) for own in self._kept.values())
        moved = 8 * self._linkage + sum(own.each for own in self._kept.values())
        return n * moved + n_chunks * (self._overhead + shared)


def _kept_columns(files: SourceInParts, roles: ColumnRoles, coded: list[str]) -> dict[str, KeptColumn]:
    """Kept columns by name. Those of no fixed width are sampled, for dictionaries in a file make long values look short."""
    asked = [name for name in roles.kept if not _is_fixed(files.schema.field(name).type)]
    found = {
        name: KeptColumn(each=files.schema.field(name).type.bit_width / 8) for name in roles.kept if name not in asked
    }
    if asked:
        longest = max(files.width(name) for name in asked)
        n_sampled = max(1, min(_SAMPLED, _SAMPLED_BYTES // max(1, longest)))
        parts = files.sample(asked, coded=[n for n in coded if n in asked], most=n_sampled, seen=n_sampled)
        sample = pa.concat_tables(parts)
        found |= {name: _sampled_column(sample.column(name), files.n_records) for name in asked}
    return found


def _is_fixed(kind: pa.DataType) -> bool:
    """Whether all values of a type take equally many bytes."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def _sampled_column(column: pa.ChunkedArray, n_records: int) -> KeptColumn:
    """The sizes of a kept column, from a sample of it; `n_records` is that of the whole table."""
    if not pa.types.is_dictionary(column.type):
        return KeptColumn(each=column.nbytes / max(1, len(column)))
    array = in_one_piece(with_one_dictionary(column))
    positions = to_positions(array.indices, null=0)[~null_mask(array.indices)]
    used, counts = np.unique(positions, return_counts=True)
    entries = array.dictionary.take(pa.array(used))
    return KeptColumn(
        each=array.type.index_type.bit_width / 8,
        counts=counts,
        entry=entries.nbytes / max(1, len(used)),
        n_entries=estimate_distinct(counts, n_records=n_records).about,
    )


def _kept_schema(files: SourceInParts, roles: ColumnRoles, coded: list[str]) -> pa.Schema:
    """The schema of the kept columns as they are stored."""
    schema: pa.Schema = moved_schema(pa.schema([files.schema.field(name) for name in roles.kept]))
    return pa.schema(
        [pa.field(own.name, pa.dictionary(pa.int32(), own.type) if own.name in coded else own.type) for own in schema]
    )
