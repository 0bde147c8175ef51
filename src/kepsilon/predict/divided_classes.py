# SPDX-License-Identifier: Apache-2.0
"""Classes that are too large for a batch and come in parts: what stands for them, and where they are refused."""

from __future__ import annotations

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass
from kepsilon.errors import MemoryLimitError, Problem
from kepsilon.evaluate.large_class import TooManyValuesError, count_parts
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.predict.recheck import Recheck
from kepsilon.table.arrays import FloatArray, IntArray


def require_persons(batch: Batch, policy: Policy) -> None:
    """Raises ValueError where the policy names a person and the records do not say whom they are about.

    Figures of records would be taken for those of persons.
    """
    if policy.person is not None and batch.persons is None:
        raise ValueError("the records do not say whom they are about")


def refuse_divided(policy: Policy, recheck: Recheck | None = None) -> None:
    """Refuses a class that memory has no room for, where distinct values and their counts do not say enough about it."""
    if policy.person is None and (recheck is None or policy.confidence is None):
        return
    why = (
        f'whom its records are about ("{shown_name(policy.person)}")'
        if policy.person is not None
        else "what confidence leaves of it"
    )
    raise MemoryLimitError(
        Problem(
            where="",
            what=f"a class is too large to be held in memory, which is needed to see {why}. No noise was drawn.",
            fix="Give more memory, or coarsen less, so that classes are smaller.",
        )
    )


def count_large(batch: LargeClass, policy: Policy) -> tuple[FloatArray, IntArray]:
    """Distinct values of the only ε-quasi in a large class, and how many records hold each; without one all hold 0."""

    def only(part: Batch) -> FloatArray:
        return part.values[:, 0] if policy.epsilon_quasis else np.zeros(len(part.class_ids))

    try:
        return count_parts((only(part) for part in batch.parts()), most=batch.most_values)
    except TooManyValuesError:
        (name,) = policy.epsilon_quasis
        raise MemoryLimitError(
            Problem(
                where="",
                what=f"a class is too large to be held in memory, and so are the more than {batch.most_values:,} distinct "
                f'values of "{name}" in it.',
                fix="Give more memory, or round the values to the precision first.",
            )
        ) from None
