# SPDX-License-Identifier: Apache-2.0
"""Requirements that every class has to meet again once confident k has left records of it out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from kepsilon.engines.protocol import Batch
from kepsilon.table.arrays import BoolArray, IntArray

Recheck = Callable[[Batch, BoolArray], BoolArray]
"""Which classes of a batch meet every further requirement with the records that stay, shape (n_classes,).

Called with whole classes and which of their records stay, shape (n_records,). It has to be picklable, because it is called
wherever the records are. A class of which nothing stays may be called either.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckOfDraws:
    """A recheck for classes as a simulation draws them, each possibly several times."""

    recheck: Recheck
    batch: Batch

    def __call__(self, records: IntArray, class_ids: IntArray, n_classes: int, stays: BoolArray) -> BoolArray:
        """Arguments as for `StillMeets` of `confident_k.simulated_suppression`."""
        batch = self.batch
        drawn = dataclasses.replace(
            batch,
            classes=slice(0, n_classes),
            class_ids=class_ids,
            values=batch.values[records],
            coded=None,
            persons=None if batch.persons is None else batch.persons[records],
            sensitive=None if batch.sensitive is None else batch.sensitive[records],
        )
        return self.recheck(drawn, stays)
