# SPDX-License-Identifier: Apache-2.0
"""Columns of a table as Spark reads them for every job: ε-quasis as doubles, persons as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import randbits
from typing import Any

import pyarrow as pa

from kepsilon.engines.arrow.coding import read_doubles
from kepsilon.engines.spark.persons import read_columns
from kepsilon.engines.spark.tables import SparkTable
from kepsilon.engines.spark.tasks import ReadNumbers
from kepsilon.errors import DataError
from kepsilon.policy.roles import ColumnRoles


class TableReading:
    """Reads columns of a table, the same way for every job."""

    def __init__(self, table: SparkTable, roles: ColumnRoles) -> None:
        self._table, self._roles = table, roles
        self._key = randbits(63)
        self.refused: dict[str, DataError] = {}
        """By ε-quasi whose type holds no numbers, the error that says so."""
        self.parsed = tuple(name for name in roles.epsilon_quasis if self._is_parsed(name))
        """The ε-quasis that workers have to read."""

    @property
    def usable(self) -> tuple[str, ...]:
        """The ε-quasis whose type can hold numbers."""
        return tuple(name for name in self._roles.epsilon_quasis if name not in self.refused)

    def _is_parsed(self, name: str) -> bool:
        """Whether workers have to read an ε-quasi: it is text, or some numbers mean missing.

        A type that holds no numbers is noted for `largest` to refuse.
        """
        kind = self._table.schema.field(name).type
        try:
            read_doubles(pa.chunked_array([], type=kind), name, self._table.name)
        except DataError as error:
            self.refused[name] = error
        return name not in self.refused and (_is_text(kind) or self._roles.reading(name).concerns_numbers)

    def columns(self, names: Sequence[str], *, rows: bool, hashes: bool = False) -> Any:
        """A Spark frame of the named columns as c0, c1 …, with ε-quasis as doubles and persons as numbers.

        Beside them are the counts of `ReadNumbers` for ε-quasis that workers read, the position in the input if `rows`, and
        the hash by which records within the cap are chosen if `hashes`.
        """
        frame = read_columns(self._table, self._roles, names, rows=rows, hashes=hashes, key=self._key)
        parsed = [name for name in names if name in self.parsed]
        if parsed:
            places = tuple(names.index(name) for name in parsed)
            readings = tuple(self._roles.reading(name) for name in parsed)
            work = ReadNumbers(places=places, names=tuple(parsed), readings=readings, source=self._table.name)
            frame = frame.mapInArrow(work, _with_numbers(frame.schema, places))
        for i, name in enumerate(names):
            if name in self._roles.epsilon_quasis and name not in self.refused:
                frame = frame.withColumn(f"c{i}", frame[f"c{i}"].cast("double"))
        return frame


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _with_numbers(schema: Any, places: Sequence[int]) -> Any:
    """The schema of what `ReadNumbers` returns for frames of a given schema."""
    from pyspark.sql import types

    fields = list(schema.fields)
    for place in places:
        fields[place] = types.StructField(fields[place].name, types.DoubleType())
    more = [types.StructField(f"wrong{len(fields) + i}", types.LongType()) for i in range(2 * len(places))]
    return types.StructType([*fields, *more])
