# SPDX-License-Identifier: Apache-2.0
"""A column that does not keep its type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChange:
    """A published column that has another type in the release than in the input."""

    column: str
    before: str
    after: str
