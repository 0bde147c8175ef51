# SPDX-License-Identifier: Apache-2.0
"""Parquet files or a Spark DataFrame that the workers of a cluster read."""

from __future__ import annotations

import secrets

import pyarrow as pa

from kepsilon.engines.arrow.column_facts import offending
from kepsilon.engines.on_disk.needs import Needs
from kepsilon.engines.protocol import Repetition
from kepsilon.engines.spark.columns import Cluster, SparkColumns
from kepsilon.engines.spark.session import settled
from kepsilon.engines.spark.storing import as_input
from kepsilon.engines.spark.tables import SparkTable
from kepsilon.errors import Problem
from kepsilon.policy.reading import Reading
from kepsilon.policy.roles import Attribute, ColumnRoles
from kepsilon.sources.kept_types import refuse_other_types


class SparkSource:
    """Parquet files or a Spark DataFrame that the workers of a cluster read."""

    def __init__(self, table: SparkTable, engine: Cluster) -> None:
        self._table, self._engine = table, engine
        self.name = table.name
        self.column_names: tuple[str, ...] = tuple(table.schema.names)
        self.notes: tuple[Problem, ...] = ()

    def read(self, roles: ColumnRoles) -> SparkColumns:
        """Counts the columns to publish on the cluster; of identifiers only the one that names persons is read."""
        refuse_other_types((self._table.schema.field(name) for name in roles.published), self.name)
        return SparkColumns(self._table, roles, self._engine)

    def needs(self, roles: ColumnRoles) -> Needs:
        """The memory and disk that a release will take; refused at once where there is too little."""
        return self._table.needs(roles, self._engine.memory, self._engine.staging, linkage=self._engine.linkage)

    def repetition(self, column: str) -> Repetition:
        """As `Source.repetition`, counted on the cluster; values that Spark cannot compare are taken for different."""
        from pyspark.sql import functions as f

        with settled(self._engine.session, self._table.settings):
            value = (frame := self._table.columns([column], rows=False))["c0"]
            kind = self._table.schema.field(column).type
            with_blanks = f.lit(0)
            if _is_text(kind):
                # A blank text is no value, and blanks around one do not make it another. (?U): any blank of Unicode is one.
                trimmed = f.regexp_replace(value, r"(?U)^\s+|\s+$", "")
                value = f.when(trimmed != "", trimmed)
                with_blanks = f.sum(f.when(value.rlike(r"(?U)\S\s+\S"), 1).otherwise(0))
            elif pa.types.is_floating(kind):
                value = f.when(~f.isnan(value), value)  # NaN names nobody
            distinct = f.count(value)
            if not pa.types.is_nested(kind):
                # What is counted is moved through files of the workers: hashes, under a key that nobody keeps.
                distinct = f.count_distinct(f.sha2(f.concat(f.lit(secrets.token_hex(16)), value.cast("string")), 256))
            figures = (distinct.alias("distinct"), f.count(value).alias("valid"), with_blanks.alias("blanks"))
            found = frame.agg(*figures).toArrow()
        n_distinct, n_records, n_with_blanks = (found.column(i).to_pylist()[0] or 0 for i in range(3))
        return Repetition(n_distinct=n_distinct, n_records=n_records, n_with_blanks=n_with_blanks)

    def offending(self, column: str, attribute: Attribute, reading: Reading) -> list[tuple[str, int]]:
        """As `Source.offending`; the column has to fit into memory."""
        with settled(self._engine.session, self._table.settings):
            table = self._table.columns([column], rows=False).toArrow()
        kind = self._table.schema.field(column).type
        return offending(pa.table({column: as_input(table.column(0), kind)}), attribute, self.name, reading)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
