# SPDX-License-Identifier: Apache-2.0
"""Counts the values of a batch by class once, for all figures that need no more than these counts."""

from __future__ import annotations

import dataclasses

import numpy as np

from kepsilon.engines.protocol import Batch
from kepsilon.evaluate.originals.class_values import ClassValues, count_values
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import FloatArray
from kepsilon.table.coded_values import CodedValues, code_values

CountedBatch = tuple[ClassValues | None, ...]
"""The distinct values of every class with their counts, by ε-quasi; None where some records miss the value."""


def code_batch(batch: Batch, policy: Policy) -> Batch:
    """The batch with its values coded, also where its engine does not code them."""
    return batch if batch.coded is not None else dataclasses.replace(batch, coded=codes_of(batch.values, policy))


def codes_of(values: FloatArray, policy: Policy) -> tuple[CodedValues, ...]:
    """The values coded, one for each ε-quasi; `values` has shape (n_records, n_epsilon_quasis)."""
    return tuple(
        code_values(values[:, j], precision=fraction(attribute.precision))
        for j, attribute in enumerate(policy.epsilon_quasis.values())
    )


def count_batch(batch: Batch) -> CountedBatch:
    """The values of the batch, which has to be coded, counted by class.

    A missing value has the code of 0, so that an ε-quasi which some records miss is not counted.
    """
    n_classes = batch.classes.stop - batch.classes.start
    return tuple(
        None if np.isnan(batch.values[:, j]).any() else count_values(own, batch.class_ids, n_classes=n_classes)
        for j, own in enumerate(batch.coded or ())
    )
