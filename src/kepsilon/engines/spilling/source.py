# SPDX-License-Identifier: Apache-2.0
"""A Parquet file or folder that is read a part at a time."""

from __future__ import annotations

from kepsilon.engines.arrow.column_facts import offending, repetition
from kepsilon.engines.on_disk.needs import Needs
from kepsilon.engines.protocol import Repetition
from kepsilon.engines.spilling.columns import Disk, SpilledColumns
from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.sources.protocol import SourceInParts

_RECORDS_PER_PART = 1 << 18
_BYTES_PER_HASH = 256
"""What following a value takes, twice over: hashes wait beside those that are known, and are sorted with them."""


class SpilledSource:
    """Parquet that is read a part at a time."""

    def __init__(self, files: SourceInParts, engine: Disk) -> None:
        self._files = files
        self._engine = engine
        self.name = files.name
        self.column_names = files.column_names

    def read(self, roles: ColumnRoles) -> SpilledColumns:
        """Reads and counts; identifiers are not even taken from the files."""
        return SpilledColumns(self._files, roles, self._engine)

    def needs(self, roles: ColumnRoles) -> Needs:
        """What that will take; refused at once where it cannot be had."""
        return self._engine.foresee(self._files, roles).needs

    def repetition(self, column: str) -> Repetition:
        parts = self._files.parts([column], coded=[], n_records=_RECORDS_PER_PART)
        return repetition((part.column(0) for part in parts), most=self._engine.memory // _BYTES_PER_HASH)

    def offending(self, column: str, attribute: Attribute) -> list[tuple[str, int]]:
        """This one column has to fit into memory."""
        return offending(self._files.arrow_table([column]), attribute, self.name)
