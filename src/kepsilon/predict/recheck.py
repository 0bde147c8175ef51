# SPDX-License-Identifier: Apache-2.0
"""Requirements that every class has to meet again once confident k has left records of it out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kepsilon.engines.protocol import Batch
from kepsilon.kanonymise.requirements import beyond_k, requirements_of
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.protocol import Requirement, all_met_by_records
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.class_members import ClassMembers
from kepsilon.table.classes import SUPPRESSED
from kepsilon.table.frequency import FrequencyTable

Recheck = Callable[[Batch, BoolArray], BoolArray]
"""Which classes of a batch meet every further requirement with the records that stay, shape (n_classes,).

Called with whole classes and which of their records stay, shape (n_records,). It has to be picklable, because it is called
wherever the records are. A class of which nothing stays may be called either.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementsAgain:
    """A recheck of the policy's requirements beyond k records."""

    requirements: tuple[Requirement, ...]
    """Bound to the frequency table."""
    diverse: tuple[str, ...]
    """The sensitive columns, in the order of `Batch.sensitive`."""

    def __call__(self, batch: Batch, stays: BoolArray) -> BoolArray:
        sensitive = batch.sensitive
        return all_met_by_records(
            self.requirements,
            ClassMembers(
                class_ids=np.where(stays, batch.class_ids, SUPPRESSED),
                n_classes=batch.classes.stop - batch.classes.start,
                persons=batch.persons,
                sensitive={} if sensitive is None else {n: sensitive[:, j] for j, n in enumerate(self.diverse)},
            ),
        )


def recheck_of(policy: Policy, table: FrequencyTable) -> RequirementsAgain | None:
    """The recheck that the policy needs; None where classes stay as the search found them, or only k is asked for.

    Confident k leaves records of a class out, and averages divide a class into groups.
    """
    # Confident k counts persons by itself, and leaves no class with fewer than k of them; so do groups.
    asked = [own for own in beyond_k(requirements_of(policy, k=policy.k)) if not isinstance(own, KPersons)]
    if (policy.confidence is None and policy.averages is None) or not asked:
        return None
    return RequirementsAgain(requirements=tuple(own.bound_to(table) for own in asked), diverse=policy.diverse)


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
