# SPDX-License-Identifier: Apache-2.0
"""The engine in memory: opens every kind of table."""

from __future__ import annotations

from dataclasses import dataclass

from kepsilon.engines.local.source import LocalSource
from kepsilon.sources import kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """The engine that holds all records in memory, as Arrow and NumPy arrays."""

    name: str = "local"

    def open_source(self, source: object) -> LocalSource:
        """A path or a frame whose columns are known and whose records are not read yet."""
        return LocalSource(kinds.open_source(source))
