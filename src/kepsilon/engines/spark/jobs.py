# SPDX-License-Identifier: Apache-2.0
"""Hands work to a cluster's workers, and collects one result for every item, from the attempt that succeeded."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from kepsilon.engines.protocol import Found
from kepsilon.engines.spark.session import as_hadoop, settled
from kepsilon.engines.spark.tasks import RESULT, WORK, Item, Outcome, own_folder, run_items, try_folder
from kepsilon.errors import EngineError, Problem
from kepsilon.files.private_folders import owner_only, worded


class Workers:
    """The workers of a session's cluster, and the private folder that they share with this machine."""

    def __init__(self, session: Any, folder: Path) -> None:
        self.folder = folder
        self._session = session

    def refuse_unshared_folder(self, n_tasks: int) -> None:
        """Refuses a folder in which workers cannot store records. Spark itself would write to the workers' own disks."""
        self.run(partial(try_folder, parent=self.folder), range(n_tasks))

    def run(self, work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """What the work returns for every item, in the order of the items; each item is a task."""
        if not items:
            return []
        # Items can be larger than a Spark plan may be, so workers read them from files.
        orders = own_folder(self.folder)
        for name, content in [(WORK, work), *((str(i), item) for i, item in enumerate(items))]:
            with worded(self.folder.parent), open(orders / name, "wb", opener=owner_only) as file:
                pickle.dump(content, file)
        with settled(self._session, {}):
            numbers = self._session.range(0, len(items), 1, len(items))
            found = self.collect(numbers, partial(run_items, orders=str(orders)))
        shutil.rmtree(orders, ignore_errors=True)
        if len(found) != len(items):
            raise EngineError(Problem(where="spark", what="some tasks never answered; nothing was released."))
        return found

    def collect(self, frame: Any, work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> list[Any]:
        """What the work returns for every partition. It is one Spark action, so that noise is drawn once."""
        table = frame.mapInArrow(work, RESULT).toArrow()
        outcomes: list[Outcome] = [pickle.loads(own) for own in table.column(0).to_pylist()]  # noqa: S301 (our own)
        return [own.result() for own in sorted(outcomes, key=lambda own: own.number)]

    def read(self, paths: Sequence[Path]) -> Any:
        """Files that workers wrote, as a Spark DataFrame."""
        with settled(self._session, {}):
            return self._session.read.parquet(*(as_hadoop(path) for path in paths))
