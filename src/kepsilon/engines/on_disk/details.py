# SPDX-License-Identifier: Apache-2.0
"""The details of records on disk: whom each is about, and the codes of its sensitive values, in one array of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.policy.roles import ColumnRoles
from kepsilon.table.arrays import IntArray


def n_details(roles: ColumnRoles) -> int:
    """How many details a record has."""
    return (roles.person is not None) + len(roles.diverse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The details of some records."""

    numbers: IntArray
    """The number of the person first, if any, then a code for each sensitive column; shape (n_records, n_details)."""
    has_persons: bool

    @classmethod
    def of(cls, persons: IntArray | None, codes: Sequence[IntArray]) -> Details | None:
        """The details of records of which each array tells something, shape (n_records,); None where nothing is told."""
        columns = [*([] if persons is None else [persons]), *codes]
        if not columns:
            return None
        return cls(numbers=np.column_stack(columns).astype(np.int64, copy=False), has_persons=persons is not None)

    @property
    def persons(self) -> IntArray | None:
        """As `Batch.persons`."""
        return self.numbers[:, 0] if self.has_persons else None

    @property
    def sensitive(self) -> IntArray | None:
        """As `Batch.sensitive`."""
        return self.numbers[:, int(self.has_persons) :] if self.numbers.shape[1] > self.has_persons else None

    def take(self, records: IntArray | slice) -> Details:
        """The details of the records at some positions."""
        return Details(numbers=self.numbers[records], has_persons=self.has_persons)
