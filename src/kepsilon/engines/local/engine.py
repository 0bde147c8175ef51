# SPDX-License-Identifier: Apache-2.0
"""Arrow and NumPy on this machine, in memory."""

from __future__ import annotations

from dataclasses import dataclass

from kepsilon.engines.local.source import LocalSource
from kepsilon.sources import kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """Holds all records in memory."""

    name: str = "local"

    def open_source(self, source: object) -> LocalSource:
        """A path or a frame, known by its columns and not read yet."""
        return LocalSource(kinds.open_source(source))
