# SPDX-License-Identifier: Apache-2.0
"""Whom records are about, on a cluster: hashes that decide which records of a person stay, and the count of persons."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from kepsilon.engines.arrow.numpy_arrays import from_numpy, to_positions
from kepsilon.engines.room import Room
from kepsilon.engines.spark.jobs import Workers
from kepsilon.engines.spark.person_tasks import CountPersons, Limits, PersonsOfPart, ReadPersons
from kepsilon.engines.spark.sampling import hashable
from kepsilon.engines.spark.tables import ROW, SparkTable
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import in_one_piece
from kepsilon.sources.rebuilding import null_mask
from kepsilon.table.arrays import IntArray
from kepsilon.table.persons import PersonCounts, joined

_HASH = "of_record"
"""The column with the hash that decides which records of a person stay."""
_TIED, _ALLOWED = "tied", "allowed"
"""Of records that are alike and of which not all stay: the person, null for all others, and how many stay."""

_PARTS_PER_ROOM = 2
"""Parts for each room's worth of records: persons have records in different numbers, so parts are not of one size."""


def read_columns(
    table: SparkTable, roles: ColumnRoles, names: Sequence[str], *, rows: bool, hashes: bool, key: int
) -> Any:
    """A Spark frame of the named columns as c0, c1 …; persons come as numbers, null where a record does not name one.

    With `rows`, the position in the input is beside them. With `hashes`, so is a hash of it or, where records have no
    position, of all values that are read: in any reading it has to be of the same ones. That hash is one with a secret
    `key`, so that which records stay tells nothing about their values to whoever knows all others.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types

    if hashes and not table.has_rows:
        places = [f"c{i}" for i in range(len(names))]
        frame = table.columns([*names, *roles.read], rows=False)
        values = [hashable(frame, f"c{len(names) + i}") for i in range(len(roles.read))]
        frame = frame.select(*places, f.xxhash64(f.lit(key).cast("bigint"), *values).alias(_HASH))
    elif hashes:
        frame = table.columns(names, rows=True)
        frame = frame.withColumn(_HASH, f.xxhash64(frame[ROW]))
        frame = frame if rows else frame.drop(ROW)
    else:
        frame = table.columns(names, rows=rows)
    if roles.person is None or roles.person not in names:
        return frame
    place = names.index(roles.person)  # the first: an identifier that is asked for by itself stays as it is
    fields = list(frame.schema.fields)
    fields[place] = types.StructField(fields[place].name, types.LongType())
    return frame.mapInArrow(ReadPersons(place=place, name=roles.person, source=table.name), types.StructType(fields))


class CapOnSpark:
    """Leaves out records that persons have too many of, the same ones whenever the table is read."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def write(self, target: Path) -> None:
        """Writes the file that records are joined to."""
        own = self._limits
        columns = {"person": own.persons, "limit": own.hashes, "staying": own.n_staying, "there": own.n_there}
        parquet.write_table(pa.table({name: from_numpy(column) for name, column in columns.items()}), target)

    def within(self, frame: Any, limits: Any, *, place: int) -> Any:
        """The records of a frame that `read_columns` read with hashes, without those beyond the cap.

        `limits` was read from such a file, and persons are at the position `place`. Records that are alike in everything
        stay as many as may: these alone go through Spark's shuffle files.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        frame = self.marked(frame, limits, place=place)
        if not self._limits.has_ties:
            return frame
        number = f.row_number().over(Window.partitionBy(_TIED).orderBy(_TIED))
        tied = frame.where(frame[_TIED].isNotNull()).withColumn("number", number)
        some = tied.where(tied["number"] <= tied[_ALLOWED]).drop("number")
        return frame.where(frame[_TIED].isNull()).unionByName(some).drop(_TIED, _ALLOWED)

    def marked(self, frame: Any, limits: Any, *, place: int) -> Any:
        """As `within`, with all records that are alike; `without_surplus` takes care of these."""
        from pyspark.sql import functions as f

        person, own, columns = frame[f"c{place}"], frame[_HASH], [name for name in frame.columns if name != _HASH]
        joined_to = frame.join(f.broadcast(limits), person == limits["person"], "left")
        staying = joined_to.where(limits["limit"].isNull() | (own <= limits["limit"]))
        if not self._limits.has_ties:
            return staying.select(*(frame[name] for name in columns))
        is_tied = (own == limits["limit"]) & (limits["there"] > limits["staying"])
        return staying.select(
            *(frame[name] for name in columns),
            f.when(is_tied, person).alias(_TIED),
            limits["staying"].alias(_ALLOWED),
        )

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that `marked` adds to a frame."""
        return (_TIED, _ALLOWED) if self._limits.has_ties else ()

    def without_surplus(self, table: pa.Table) -> pa.Table:
        """Records that a marked frame returned, of those that are alike as many as may stay; without the marks."""
        if not self._limits.has_ties:
            return table
        tied, allowed = (in_one_piece(table.column(name)) for name in self.marks)
        found = np.flatnonzero(~null_mask(tied))
        persons, most = (to_positions(own, null=0)[found] for own in (tied, allowed))
        _, first, place = np.unique(persons, return_index=True, return_inverse=True)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(first)))
        number = np.empty(len(found), dtype=np.int64)
        number[order] = np.arange(len(found)) - starts[place[order]]
        stays = np.ones(len(table), dtype=np.bool_)
        stays[found[number >= most]] = False
        return table.drop_columns(list(self.marks)).take(from_numpy(np.flatnonzero(stays)))


def count_on_cluster(
    frame: Any,
    combinations: Any,
    are_same: Any,
    workers: Workers,
    *,
    place: int,
    n_records: int,
    n_tasks: int,
    task: CountPersons,
) -> tuple[PersonCounts, IntArray, Limits]:
    """The persons of all combinations, how many records of each persons have too many of, and the limits of such persons.

    `frame` was read by `read_columns`, with hashes where there is a cap, and persons at the position `place`; `combinations`
    has the number of each combination that is not left out, and `are_same` joins the two.
    """
    from pyspark.sql import functions as f

    person = frame[f"c{place}"].alias("person")
    number = f.lit(0).cast("bigint") if task.most is None else frame[_HASH]
    known = frame.join(f.broadcast(combinations), are_same).select(
        person, combinations["combination"].alias("combination"), number.alias("hash")
    )
    counted = known.groupBy("person", "combination", "hash").agg(f.count(f.lit(1)).alias("n"))
    n_parts = max(n_tasks, 1 + _PARTS_PER_ROOM * n_records // task.room.records_per_person_part)
    paths = workers.collect(counted.repartition(n_parts, "person"), task)
    n_combinations = task.n_combinations
    counts = joined([], n_combinations=n_combinations)
    n_lost = np.zeros(n_combinations, dtype=np.int64)
    limits: list[Limits] = []
    for path in paths:
        if path is None:
            continue
        part = _read_part(path)
        counts = joined([counts, part.counts], n_combinations=n_combinations)
        n_lost += part.n_lost
        limits.append(part.limits)
        _refuse_too_many(counts, limits, task.room, task.source)
    return counts, n_lost, _together(limits)


def _read_part(path: Path) -> PersonsOfPart:
    with path.open("rb") as file:
        part: PersonsOfPart = pickle.load(file)  # noqa: S301 (our own, from a folder that only we can write to)
    return part


def _refuse_too_many(counts: PersonCounts, limits: Sequence[Limits], room: Room, source: str) -> None:
    room.refuse_pairs(len(counts.persons), "a person who has several", source)
    room.refuse_capped_persons(sum(len(own.persons) for own in limits), source)


def _together(limits: Sequence[Limits]) -> Limits:
    none: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    return Limits(
        persons=np.concatenate([*none, *(own.persons for own in limits)]),
        hashes=np.concatenate([*none, *(own.hashes for own in limits)]),
        n_staying=np.concatenate([*none, *(own.n_staying for own in limits)]),
        n_there=np.concatenate([*none, *(own.n_there for own in limits)]),
    )
