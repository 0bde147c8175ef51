# SPDX-License-Identifier: Apache-2.0
"""A file or frame that is read into memory as a whole."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.arrow.column_facts import offending, present, with_blanks_inside
from kepsilon.engines.local.columns import LocalColumns
from kepsilon.engines.protocol import Repetition
from kepsilon.errors import DataError, Problem
from kepsilon.policy.reading import Reading
from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.sources.columns import movable
from kepsilon.sources.kept_types import refuse_other_types
from kepsilon.sources.protocol import Source as OpenedSource
from kepsilon.sources.undeclared_types import refuse_undeclared


class LocalSource:
    """A file or frame that is read into memory as a whole."""

    def __init__(self, source: OpenedSource) -> None:
        self._source = source
        self.name = source.name
        self.column_names = source.column_names
        self.notes = source.notes

    def read(self, roles: ColumnRoles) -> LocalColumns:
        """Reads the columns to publish; of identifiers only the one that names persons is taken from the file."""
        table = self._source.arrow_table(roles.read, coded=roles.k_quasis)
        if table.num_rows == 0:
            raise DataError(Problem(where=self.name, what="has a header, but no records."))
        refuse_other_types((table.schema.field(name) for name in roles.published), self.name)
        refuse_undeclared((table.schema.field(name) for name in roles.kept), self.name)
        return LocalColumns(table, roles, self._source)

    def repetition(self, column: str) -> Repetition:
        values = present(movable(self._source.arrow_table([column])).column(0))
        n_records = len(values)
        if pa.types.is_nested(values.type) or pa.types.is_null(values.type):
            return Repetition(n_distinct=n_records, n_records=n_records)
        return Repetition(
            n_distinct=pc.count_distinct(values, mode="only_valid").as_py(),
            n_records=n_records,
            n_with_blanks=with_blanks_inside(values),
        )

    def offending(self, column: str, attribute: Attribute, reading: Reading) -> list[tuple[str, int]]:
        return offending(self._source.arrow_table([column]), attribute, self.name, reading)
