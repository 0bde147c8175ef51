# SPDX-License-Identifier: Apache-2.0
"""Arrow columns of every type become whole columns: equal values share a code, and nothing is raised over odd ones."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kepsilon.engines.arrow.whole_columns import taken_rows, whole_column
from kepsilon.table.whole_records import MISSING, WholeColumn
from rigs.columns import KEPT_TYPES

NUMBERS = (
    "int8", "uint64", "int64", "float16", "float32", "float64", "bool", "decimal128", "decimal256", "time32", "time64",
    "duration", "dictionary of numbers", "serial",
)  # fmt: skip
DATES = ("date32", "date64", "timestamp s", "timestamp ns", "timestamp tz")


def is_missing(value: Any) -> bool:
    return value is None or value in ("", b"") or (isinstance(value, float) and value != value)


def check(column: WholeColumn, values: list[Any]) -> None:
    """Codes against Python's values: one code for each value that is not missing, from 0 on."""
    codes: dict[str, int] = {}
    for value, code in zip(values, column.codes.tolist(), strict=True):
        if is_missing(value):
            assert code == MISSING
        else:
            assert codes.setdefault("0" if value == 0 else repr(value), code) == code
    assert sorted(codes.values()) == list(range(column.n_distinct))
    assert column.numbers is None or len(column.numbers) == column.n_distinct
    assert len(column.texts) in (0, column.n_distinct)


@pytest.mark.parametrize("kind", list(KEPT_TYPES))
def test_columns_of_every_type_have_a_code_for_each_value(kind):
    """Whatever a table holds, the detector looks at it; an error here would stop a release, and might quote a value."""
    for seed in range(12):
        rng = random.Random(seed)
        n = rng.choice([0, 1, 7, 120])
        array = KEPT_TYPES[kind](rng, n)
        table = pa.table({"a": pa.chunked_array([array.slice(0, n // 3), array.slice(n // 3)], type=array.type)})
        rows = np.array(sorted(rng.sample(range(n), n // 2)), dtype=np.int64)
        values = table.column(0).to_pylist()
        check(whole_column(table.column(0)), values)
        column = whole_column(taken_rows(table, rows).column(0))
        check(column, [values[row] for row in rows])
        assert (column.numbers is not None) == (kind in NUMBERS + DATES) or not column.n_distinct
        assert column.is_date == (kind in DATES) or not column.n_distinct
        if column.numbers is not None:
            known = column.numbers[~np.isnan(column.numbers)]
            assert (np.diff(known) >= 0).all()


def column_of(*values: Any, kind: pa.DataType | None = None) -> WholeColumn:
    return whole_column(pa.chunked_array([pa.array(values, kind)]))


def test_dictionaries_are_their_values():
    """Every chunk has a dictionary of its own, in an order of its own, with entries that nobody holds or that are null."""
    one = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["b", "a", "nobody"]))
    other = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), pa.array(["a", "b", None, "c"]))
    column = whole_column(pa.chunked_array([one, other]))
    assert column.texts == ("a", "b", "c")
    assert column.codes.tolist() == [1, 0, MISSING, 0, 1, MISSING, 2]
    numbers = whole_column(pa.chunked_array([pa.array([30, 10, 30, 20]).dictionary_encode()]))
    assert numbers.codes.tolist() == [2, 0, 2, 1]
    np.testing.assert_array_equal(numbers.numbers, [10, 20, 30])


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", tz="Asia/Tokyo")]
)
def test_dates_are_days_since_1970(kind):
    """A date gives as much away in one unit as in another."""
    column = column_of(datetime(1970, 1, 11), None, datetime(1969, 12, 31), kind=kind)
    assert column.codes.tolist() == [1, MISSING, 0]
    assert column.is_date
    np.testing.assert_array_equal(column.numbers, [-1, 10])


def test_times_and_durations_are_numbers_of_days():
    """How long somebody stayed is a number, and no date."""
    column = column_of(timedelta(hours=36), timedelta(0), kind=pa.duration("ms"))
    assert not column.is_date
    np.testing.assert_array_equal(column.numbers, [0, 1.5])
    assert column_of(datetime(1970, 1, 1, 18).time(), kind=pa.time64("ns")).numbers == pytest.approx([0.75])


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([pa.array([2**63 - 1, -(2**63), 0], pa.int64()).view(pa.timestamp("s"))]),
        pa.chunked_array([pa.array([2**31 - 1, -(2**31), 0], pa.int32()).view(pa.date32())]),
        pa.chunked_array(
            [pa.array([2**63 - 1, -(2**63), 0], pa.int64()).view(pa.timestamp("ns", tz="Nowhere/At all"))]
        ),
        pa.chunked_array([pa.array([[2**62], [2**61], [0]], pa.list_(pa.int64())).view(pa.list_(pa.timestamp("s")))]),
        pa.chunked_array([pa.array([b"\xff", b"\xfe", b"a"]).view(pa.string())]),
        pa.chunked_array([pa.array([b"\xff", b"\xfe", b"a"]).view(pa.string()).dictionary_encode()]),
        pa.chunked_array([pa.array([Decimal(10) ** 75, -(Decimal(10) ** 75), Decimal(0)], pa.decimal256(76, 0))]),
        pa.chunked_array([pa.array([2**64 - 1, 2**64 - 2, 0], pa.uint64())]),
        pa.chunked_array([pa.array([2**63 - 1, -(2**63), 0], pa.int64()).view(pa.duration("ns"))]),
    ],
    ids=["moments", "dates", "nowhere", "lists of moments", "no text", "no texts", "decimals", "integers", "durations"],
)
def test_values_that_python_has_no_objects_for_are_told_apart(column):
    """Moments beyond the year 9999, bytes that are no text and numbers that no double holds must raise nothing."""
    found = whole_column(column)
    assert sorted(found.codes.tolist()) == [0, 1, 2]


def test_values_that_nobody_can_write_are_taken_for_equal():
    """Text inside a structure that is no text cannot be shown; that it is there still counts."""
    broken = pa.array([{"a": b"\xff"}, {"a": b"\xfe"}, None], pa.struct({"a": pa.binary()}))
    text = pa.StructArray.from_arrays([broken.field(0).view(pa.string())], ["a"], mask=pa.array([False, False, True]))
    found = whole_column(pa.chunked_array([text]))
    assert found.codes.tolist() == [0, 0, MISSING]


def test_bytes_and_nested_values_are_never_numbers():
    """They are compared by value only; what they hold can be searched as text."""
    assert column_of(b"1", b"2", b"1").numbers is None
    assert column_of(b"2", b"1", b"2").codes.tolist() == [1, 0, 1]
    nested = column_of({"a": [1]}, {"a": [2]}, {"a": [1]})
    assert nested.codes.tolist() == [0, 1, 0]
    assert nested.numbers is None
    assert "2" in nested.texts[1]
