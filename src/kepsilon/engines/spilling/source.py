# SPDX-License-Identifier: Apache-2.0
"""A Parquet file or folder that is read a part at a time."""

from __future__ import annotations

from kepsilon.engines.arrow.column_facts import offending, repetition
from kepsilon.engines.on_disk.needs import Needs
from kepsilon.engines.protocol import Repetition
from kepsilon.engines.spilling.columns import Disk, SpilledColumns
from kepsilon.errors import Problem
from kepsilon.policy.reading import Reading
from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.sources.kept_types import refuse_other_types
from kepsilon.sources.protocol import SourceInParts

_RECORDS_PER_PART = 1 << 18
_BYTES_PER_HASH = 256
"""Memory for each value that `repetition` follows: twice its size, for new hashes are sorted together with the known."""


class SpilledSource:
    """A Parquet file or folder that is read a part at a time."""

    def __init__(self, files: SourceInParts, engine: Disk) -> None:
        self._files = files
        self._engine = engine
        self.name = files.name
        self.column_names = files.column_names
        self.notes: tuple[Problem, ...] = ()

    def read(self, roles: ColumnRoles) -> SpilledColumns:
        """Reads and counts the columns to publish; of identifiers only the one that names persons is taken from the files."""
        refuse_other_types((self._files.schema.field(name) for name in roles.published), self.name)
        return SpilledColumns(self._files, roles, self._engine)

    def needs(self, roles: ColumnRoles) -> Needs:
        """The memory and disk that a release will take; refused at once where there is too little."""
        return self._engine.foresee(self._files, roles).needs

    def repetition(self, column: str) -> Repetition:
        parts = self._files.parts([column], coded=[], n_records=_RECORDS_PER_PART)
        return repetition((part.column(0) for part in parts), most=self._engine.memory // _BYTES_PER_HASH)

    def offending(self, column: str, attribute: Attribute, reading: Reading) -> list[tuple[str, int]]:
        """As `Source.offending`; the column has to fit into memory."""
        return offending(self._files.arrow_table([column]), attribute, self.name, reading)
