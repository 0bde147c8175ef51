# SPDX-License-Identifier: Apache-2.0
"""The engine under a limit on memory: opens Parquet, which is counted in one reading and stored by class in a second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kepsilon.engines.on_disk.needs import Foreseen
from kepsilon.engines.spilling.source import SpilledSource
from kepsilon.errors import EngineError, Problem
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.kinds import find_kind
from kepsilon.sources.protocol import SourceInParts


@dataclass(frozen=True, slots=True, kw_only=True)
class SpillingEngine:
    """The engine that holds some classes at a time in memory, and all records on disk."""

    memory: int
    """The limit, in bytes."""
    folder: Path
    """Where a private folder is made for records on disk."""
    linkage: bool = True
    """Whether the linkage may be asked for later."""
    to_release: bool = True
    """Whether records will be released, or only previewed, which takes less room on disk."""
    name: str = "local"

    def open_source(self, source: object) -> SpilledSource:
        """A path to Parquet whose columns are known and whose records are not read yet; other sources are refused."""
        path = Path(source) if isinstance(source, str | Path) else None
        kind = None if path is None else find_kind(path)
        if path is None or kind is None or kind.open_in_parts is None:
            raise EngineError(
                Problem(
                    where="input" if path is None else str(path),
                    what="under a memory limit only Parquet can be read, in a file, a folder or by a pattern.",
                    fix="Give no limit, or write the table as Parquet first.",
                )
            )
        return SpilledSource(kind.open_in_parts(path), self)

    def foresee(self, files: SourceInParts, roles: ColumnRoles) -> Foreseen:
        """The memory and disk that a run will take; refused at once where there is too little."""
        foreseen = Foreseen(files, roles, memory=self.memory, linkage=self.linkage, to_release=self.to_release)
        foreseen.refuse(self.folder)
        return foreseen
