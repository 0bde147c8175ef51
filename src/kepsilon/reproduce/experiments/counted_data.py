# SPDX-License-Identifier: Apache-2.0
"""A data set of the paper, read and counted once for every k, ε and algorithm that is tried on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kepsilon.count import Counted, read_and_count
from kepsilon.engines.arrow.tables import table_from
from kepsilon.engines.choose import local_engine
from kepsilon.engines.protocol import Batch
from kepsilon.errors import AnonymisationError
from kepsilon.kanonymise.algorithms import KAnonymised, for_every_k
from kepsilon.policy.policy import Policy
from kepsilon.reproduce.data.data_sets import DataSet
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedData:
    data: DataSet
    document: Mapping[str, Any]
    """The data set's policy document, or what an experiment made of it."""
    counted: Counted

    def policy(self, **changes: Any) -> Policy:
        return _policy(self.document, **changes)

    def partitions(self, algorithm: str, ks: Sequence[int]) -> dict[int, KAnonymised]:
        """By k; the paper's set-up can be met for every one of its k, so a refusal is raised."""
        found = for_every_k(self.counted.table, self.policy(algorithm=algorithm), ks=ks)
        for partition in found.values():
            if isinstance(partition, AnonymisationError):
                raise partition
        return {k: partition for k, partition in found.items() if isinstance(partition, KAnonymised)}

    def batch(self, recoding: Recoding) -> Batch:
        """The released records of a partition, all together and in the order of the input."""
        (batch,) = self.counted.columns.preview(recoding).each(lambda whole: whole)
        if not isinstance(batch, Batch):
            raise TypeError("the local engine holds all records")
        return batch

    def class_ids(self, recoding: Recoding) -> IntArray:
        """Class id of every counted record in the order of the input, or SUPPRESSED."""
        return recoding.class_of.astype(np.int32, copy=False)[self.combinations()]

    def combinations(self) -> IntArray:
        """Position of every counted record's combination in the frequency table, in the order of the input."""
        table = self.counted.table
        each_alone = Recoding(class_of=np.arange(table.n_combinations), sizes=table.counts, attributes=())
        return self.batch(each_alone).class_ids


def count_data(data: DataSet, *, document: Mapping[str, Any] | None = None) -> CountedData:
    """Reads and counts with the data set's own policy document, or another for the same columns."""
    document = data.policy if document is None else document
    counted = read_and_count(
        table_from(data.columns), _policy(document), engine=local_engine(), clock=Stopwatch(ignore_step)
    )
    return CountedData(data=data, document=document, counted=counted)


def _policy(document: Mapping[str, Any], **changes: Any) -> Policy:
    """k, ε and algorithm vary, so the document has none; those not asked for do not matter."""
    return Policy.from_dict({"k": 2, "epsilon": 1, "algorithm": "ola", **document, **changes})
