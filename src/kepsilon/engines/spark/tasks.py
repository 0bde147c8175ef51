# SPDX-License-Identifier: Apache-2.0
"""The tasks that workers of a cluster run. Nothing here needs Spark: a worker has kepsilon, Arrow and NumPy.

Every attempt at a task writes into a folder of its own, and only the folder of the attempt that succeeded is ever read.
So a task that is tried again, or run twice at once, has one result.
"""

from __future__ import annotations

import contextlib
import pickle
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.coding import read_doubles
from kepsilon.engines.arrow.formulas import n_formulas
from kepsilon.engines.arrow.merging import label_columns, linkage_table
from kepsilon.engines.arrow.numpy_arrays import from_numpy
from kepsilon.engines.on_disk.batches import NoisyBuckets, NoisyRecords, StoredBatch
from kepsilon.engines.on_disk.buckets import Bucket
from kepsilon.engines.on_disk.combinations import StoredCombinations
from kepsilon.engines.protocol import Draw, Found, Look, Random, Shuffle
from kepsilon.engines.room import Room
from kepsilon.errors import AnonymisationError, EngineError, Problem
from kepsilon.files.private_folders import chosen_place, owner_only, worded
from kepsilon.policy.reading import Reading
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.kinds import writing
from kepsilon.sources.parquet_files import RECORDS_PER_FILE, ParquetFiles, file_in
from kepsilon.sources.protocol import Sink
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import Recoding

Item = TypeVar("Item")

RESULT = "result binary"
"""The schema of what tasks return: one column, with a pickled `Outcome`."""

WORK = "work"
"""The file name of the pickled work; the items beside it are named by their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a task returns: what it found, or the error that it ended with."""

    number: int
    """The number of the item that the task worked on; 0 where tasks have none."""
    found: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """What the task found; raises the error that it ended with."""
        if self.error is not None:
            raise self.error
        return self.found


def attempt(number: int, work: Callable[[], Any]) -> pa.RecordBatch:
    """One row with the outcome of `work`. An error is returned, not raised: a traceback in Spark's log quotes values."""
    try:
        outcome = Outcome(number=number, found=work())
    except (MemoryError, AnonymisationError) as error:
        outcome = Outcome(number=number, error=error)
    except Exception as error:  # noqa: BLE001 (its text may quote a record)
        problem = Problem(where="spark", what=f"a task failed ({type(error).__name__}); nothing was released.")
        outcome = Outcome(number=number, error=EngineError(problem))
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)], type=pa.binary())], names=["result"])


def run_items(batches: Iterator[pa.RecordBatch], *, orders: str) -> Iterator[pa.RecordBatch]:
    """The outcomes of the items whose numbers come in; the work and the items are files in the folder `orders`."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield attempt(number, partial(_run_item, Path(orders), number))


def _run_item(orders: Path, number: int) -> Any:
    try:
        work, item = (_unpickled(orders / name) for name in (WORK, str(number)))
    except EngineError:
        raise _not_shared(chosen_place(orders)) from None
    return work(item)


def _unpickled(path: Path) -> Any:
    with worded(path.parent), path.open("rb") as file:
        return pickle.load(file)  # noqa: S301 (our own, from a folder that only we can write to)


def _not_shared(place: Path) -> EngineError:
    return EngineError(
        Problem(
            where=str(place),
            what="the workers of the cluster do not see this folder, or are not run by the same user; nothing was released.",
            fix="Choose a folder that is in the same place for this machine and for all workers: --spill-folder, or staging.",
        )
    )


def try_folder(number: int, *, parent: Path) -> None:
    """Fails where a worker cannot write to the folder; that the worker sees it, reading this task has shown."""
    del number
    own_folder(parent).rmdir()


def own_folder(parent: Path) -> Path:
    """A new folder for one attempt; it is named by a number, as everything inside private folders is."""
    folder = parent / str(secrets.randbits(62))
    with worded(parent):
        folder.mkdir(mode=0o700)
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """Task: stores counted combinations in a file that only this user can read, and returns its path."""

    parent: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield attempt(0, lambda: self._store(batches))

    def _store(self, batches: Iterator[pa.RecordBatch]) -> Path:
        path = own_folder(self.parent) / "0.arrow"
        with worded(path), open(path, "wb", opener=owner_only) as file, contextlib.ExitStack() as stack:
            writer = None
            for batch in batches:
                writer = writer or stack.enter_context(pa.ipc.new_stream(file, batch.schema))
                writer.write_batch(batch)
        return path


def read_counts(path: Path) -> pa.Table:
    """The counted combinations that `StoreCounts` stored."""
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_stream(file) as stream:
        return stream.read_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadNumbers:
    """Task: turns ε-quasis into doubles, null where missing, and adds two columns for each that count what is no number."""

    places: tuple[int, ...]
    """Positions of these columns in what comes in."""
    names: tuple[str, ...]
    """Their names, for error messages."""
    readings: tuple[Reading, ...]
    """How their cells are read."""
    source: str
    """The name of the table, for error messages."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns, names = list(batch.columns), list(batch.schema.names)
            for place, name, reading in zip(self.places, self.names, self.readings, strict=True):
                text = pa.chunked_array([batch.column(place)])
                values, wrong = read_doubles(text, name, self.source, reading)
                usable = values if len(values) == len(text) else np.full(len(text), np.nan)
                columns[place] = from_numpy(usable, is_null=np.isnan(usable))
                for n in (wrong.n_texts, wrong.n_not_finite):
                    told = np.zeros(len(text), dtype=np.int64)
                    told[:1] = n  # the count of the whole batch stands in its first row
                    names.append(f"wrong{len(columns)}")
                    columns.append(from_numpy(told))
            yield pa.RecordBatch.from_arrays(columns, names=names)


def count_formulas(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Task: how many texts of the only column a spreadsheet would take for formulas, a number for each batch."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([n_formulas(pa.chunked_array([batch.column(0)]))])], names=["n"])


def find_in_batches(stored: Sequence[StoredBatch], *, look: Look[Found], room: Room) -> list[Found]:
    """Task: what `look` finds in some batches that are stored by class."""
    return [look(own.read(room)) for own in stored]


def find_in_combinations(
    batches: Sequence[slice], *, look: Look[Found], stored: StoredCombinations, recoding: Recoding, room: Room
) -> list[Found]:
    """Task: what `look` finds in some batches of classes, whose records are stored by combination."""
    return [look(stored.batch(own, recoding, room)) for own in batches]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The batches that one task gives noise, and its source of random bytes."""

    stored: Sequence[StoredBatch]
    random: Random


def draw_all(
    drawing: Drawing, *, draw: Draw[Found], parent: Path, n_buckets: int, n_values: int, room: Room
) -> tuple[list[Found], list[Bucket]]:
    """Task: gives some batches noise; what `draw` returned for each, and this attempt's buckets of noisy records."""
    noisy = NoisyBuckets(own_folder(parent), first_number=0, n_buckets=n_buckets, n_values=n_values, room=room)
    found = [draw(own.read(room), drawing.random, noisy.store_for(own, drawing.random)) for own in drawing.stored]
    return found, noisy.buckets


def find_in_released(
    places: Sequence[NoisyRecords], *, look: Callable[[FloatArray], Found], new_ids: IntArray
) -> list[Found]:
    """Task: what `look` finds in the published values of released records, bucket by bucket."""
    return [look(own.published(new_ids)) for own in places if own.n_records]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """Records that drew the same place in the last order, and the source of random bytes for shuffling them."""

    place: NoisyRecords
    random: Random


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPart:
    """A Parquet file of released records in their last order, and the file of their linkage."""

    path: Path
    linkage: Path | None
    n_records: int


def write_parts(
    mergings: Sequence[Merging],
    *,
    parent: Path,
    roles: ColumnRoles,
    recoding: Recoding,
    new_ids: IntArray,
    integers: frozenset[str],
    shuffle: Shuffle,
) -> list[WrittenPart]:
    """Task: shuffles the records of each place and writes them to a file of this attempt."""
    folder = own_folder(parent)
    written = []
    labels = label_columns(roles, recoding)
    for i, merging in enumerate(mergings):
        place = merging.place
        released = place.released(new_ids)
        if not len(released):
            continue
        order = released[shuffle(len(released), random_bytes=merging.random.bytes)]
        path, linkage = folder / f"{2 * i}.parquet", folder / f"{2 * i + 1}.parquet"
        rows = place.rows()
        with worded(parent):
            with writing(Sink(target=path, final_name=path, in_parts=True)) as write:
                write(place.table(order, roles, labels, new_ids, integers=integers))
            if rows is not None:
                with writing(Sink(target=linkage, final_name=linkage, in_parts=True)) as write:
                    write(linkage_table(rows[order], new_ids[place.class_ids()[order]], first=0))
        written.append(WrittenPart(path=path, linkage=None if rows is None else linkage, n_records=len(order)))
    return written


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Records of a written part that follow each other."""

    part: WrittenPart
    first: int
    last: int
    """The record after the last one."""


def files_of_parts(parts: Sequence[WrittenPart]) -> list[list[Stretch]]:
    """For every file of a folder, the records that it gets: all have the same number but the last."""
    starts = np.cumsum([0, *(part.n_records for part in parts)]).tolist()
    files: list[list[Stretch]] = [[] for _ in range(0, starts[-1], RECORDS_PER_FILE)]
    for part, start in zip(parts, starts[:-1], strict=True):
        end = start + part.n_records
        for i in range(start // RECORDS_PER_FILE, -(-end // RECORDS_PER_FILE)):
            first, last = max(start, i * RECORDS_PER_FILE), min(end, (i + 1) * RECORDS_PER_FILE)
            files[i].append(Stretch(part=part, first=first - start, last=last - start))
    return files


def write_file(stretches: Sequence[Stretch], *, parent: Path, roles: ColumnRoles) -> Path:
    """Task: writes the records of one file of a folder, which workers wrote in parts of other sizes."""
    file = file_in(own_folder(parent), 0)
    with worded(parent), writing(Sink(target=file, final_name=file, in_parts=True)) as write:
        for own in stretches:
            at = 0
            for table in read_part(own.part, roles):
                begin, end = max(own.first - at, 0), min(own.last - at, len(table))
                if begin < end:
                    write(table.slice(begin, end - begin))
                at += len(table)
    return file


def read_part(part: WrittenPart, roles: ColumnRoles) -> Iterator[pa.Table]:
    """The records of a part. Labels repeat, so they are moved faster as dictionaries."""
    return ParquetFiles(part.path).parts(roles.published, coded=roles.k_quasis, n_records=1 << 20)
