# SPDX-License-Identifier: Apache-2.0
"""Draws columns: odd names, and values of every kind that a table can hold; each text and large number carries a token."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rigs.tokens import number, token

ODD = (
    "", "", "", " ", "  ", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t", "é", "e\u0301", "ß", "\u202eabc", "שלום ", "日本",
    "👩\u200d🦱", '"', "'", "<b>", "&amp;", ",", ";", "|", "{", "}", "[", "]", "null", "*", "#", "%s", "{0}", "\\", "\\n", "$(id)",
    "NULL", "NaN", "None", "a b", "\u00a0", "\ufeff",
)  # fmt: skip
"""What stands before and after a token in a text."""

ODD_IN_LINES = ("\n", "\r\n", "x,y\nz", "\v", "\x1b[31m", "\x7f")
"""What only a quoted cell or a binary file can hold."""

NAMES = (
    "zip", "age", "sex", "weight", "height", "income", "diagnosis", "name", "id", "note", "city", "born", "admitted", "score", "=cmd()",
    "<b>bold</b>", "<script>alert(1)</script>", 'the "quoted"', "it's", "a,b", "a;b", "tab\there", "line\nbreak", " leading", "trailing ",
    "größe", "e\u0301te\u0301", "\u202ertl", "имя", "姓名", "😀", "role", "k", "attributes", "attributes.zip", "a.b.c", "x" * 300, "%s %d", "{0}",
    "${HOME}", "\\", "\\u0000", "1", "0", "-1", "true", "null", "nan", "*", "class_id", "original_row", "released_row", "kepsilon", "__index_level_0__",
    "class", "C:\\temp", "../../up", "index", "count", "records", "[red]rich[/red]", "#", "'", "--help", "-o", "a=b",
)  # fmt: skip
"""Names of columns, the first ones ordinary."""


@dataclass(kw_only=True)
class Column:
    """A column with its values, and what the policy has to know to give it a role."""

    name: str
    role: str
    """The role in the policy; "" where the policy does not list the column."""
    holds: str
    """What kind of values it holds: codes, categories, numbers, dates, flags, persons, texts or anything."""
    array: pa.Array
    pool: list[Any] = field(default_factory=list)
    """The distinct values that were drawn from, for columns that hierarchies list."""
    step: Fraction = Fraction(1)
    """What numbers are multiples of."""
    date_format: str | None = None

    @property
    def values(self) -> list[Any]:
        return self.array.to_pylist()


def names(rng: random.Random, n: int, *, in_lines: bool) -> list[str]:
    """Different names of columns, mostly ordinary ones; those with line breaks only where a file can hold them."""
    odd = rng.random() < 0.5
    possible = [name for name in (NAMES if odd else NAMES[:14]) if in_lines or "\n" not in name]
    chosen = rng.sample(possible, min(n, len(possible)))
    return chosen + [f"column {i}" for i in range(n - len(chosen))]


def text(rng: random.Random, *, in_lines: bool = False) -> str:
    """A text with a token in it."""
    odd = ODD + ODD_IN_LINES if in_lines and rng.random() < 0.3 else ODD
    return rng.choice(odd) + token(rng) + rng.choice(odd)


def drawn(rng: random.Random, pool: list[Any], n: int, *, nulls: float = 0.0) -> list[Any]:
    """Values from a pool with ties: some of them often, some rarely, and null with a probability."""
    weights = [rng.choice([1, 1, 2, 5, 20]) for _ in pool]
    values = rng.choices(pool, weights=weights, k=n) if pool else [None] * n
    return [None if nulls and rng.random() < nulls else value for value in values]


def some_nulls(rng: random.Random) -> float:
    return rng.choice([0.0, 0.0, 0.0, 0.02, 0.1, 0.5])


# k-quasis


def categories(rng: random.Random, n: int, *, typed: bool) -> Column:
    pool: list[Any] = [text(rng, in_lines=typed) for _ in range(rng.choice([1, 2, 2, 3, 4, 6, 12]))]
    if rng.random() < 0.1:
        pool += rng.sample(["", " ", "null", "*", "{a, b}", "[1, 2]", "[1, 2)", "not null", "<= 5", "null or 3"], 2)
    values = drawn(rng, pool, n, nulls=some_nulls(rng))
    return Column(name="", role="k-quasi", holds="categories", array=_as_text(rng, values, typed=typed), pool=pool)


def codes(rng: random.Random, n: int, *, typed: bool) -> Column:
    """Codes such as postcodes: digits of equal or unequal length, with leading zeros, or with a token, or with an exponent."""
    style = rng.choice(["digits", "digits", "unequal", "token", "exponents", "unicode"])
    many = rng.choice([3, 8, 30])
    if style == "digits":
        length = rng.choice([3, 5, 8])
        pool = ["".join(rng.choices("0123456789", k=length)) for _ in range(many)]
    elif style == "unequal":
        pool = ["".join(rng.choices("01234567", k=rng.randint(1, 7))) for _ in range(many)]
    elif style == "token":
        pool = [f"{token(rng)}{i:02}" for i in range(min(many, 8))]
    elif style == "unicode":
        pool = ["".join(rng.choices(["é", "e\u0301", "日", "*", "9", " "], k=rng.randint(1, 5))) for _ in range(many)]
    else:
        pool = [
            f"{rng.randint(1, 9)}{rng.choice('eE')}{rng.choice(['', '-', '+'])}{rng.randint(1, 10**10)}"
            for _ in range(many)
        ]
    pool = list(dict.fromkeys(pool))
    values = drawn(rng, pool, n, nulls=some_nulls(rng))
    return Column(name="", role="k-quasi", holds="codes", array=_as_text(rng, values, typed=typed), pool=pool)


def numbers(rng: random.Random, n: int, *, typed: bool, role: str = "k-quasi") -> Column:
    """Numbers with few or many distinct values, with outliers, ties, or all equal; as numbers or as text."""
    step = rng.choice([Fraction(1), Fraction(1), Fraction(1, 10), Fraction(1, 2), Fraction(5), Fraction(1, 100)])
    middle = rng.choice([0, 40, 170, 1960, -30, 7_391_500_000 if step == 1 else 60])
    spread = rng.choice([0, 3, 20, 20, 100])
    steps = [middle / step + round(rng.gauss(0, spread)) for _ in range(n)]
    if rng.random() < 0.2:
        for i in rng.sample(range(n), min(n, 2)):
            steps[i] *= rng.choice([-3, 10, 40])
    exact = [round(s) * step for s in steps]
    nulls = some_nulls(rng)
    kept: list[Fraction | None] = [None if nulls and rng.random() < nulls else value for value in exact]
    array = _as_numbers(rng, kept, step, typed=typed)
    return Column(name="", role=role, holds="numbers", array=array, pool=sorted(set(exact)), step=step)


def dates(rng: random.Random, n: int, *, typed: bool) -> Column:
    start, days = date(rng.choice([1, 1900, 1960, 2020, 9990]), 1, 1), rng.choice([10, 400, 3000])
    pool = sorted({start + timedelta(days=rng.randrange(days)) for _ in range(rng.choice([2, 10, 60]))})
    values = drawn(rng, pool, n, nulls=some_nulls(rng))
    style = rng.choice(["date32", "timestamp", "iso", "format"] if typed else ["iso", "iso", "format"])
    if style == "date32":
        return Column(name="", role="k-quasi", holds="dates", array=pa.array(values, pa.date32()), pool=pool)
    if style == "timestamp":
        unit = rng.choice(["s", "ms", "us"])
        moments = [None if v is None else datetime(v.year, v.month, v.day, 13, 30) for v in values]
        return Column(name="", role="k-quasi", holds="dates", array=pa.array(moments, pa.timestamp(unit)), pool=pool)
    form = None if style == "iso" else rng.choice(["%d.%m.%Y", "%Y/%m/%d"]) if start.year > 999 else None
    texts = [None if v is None else v.isoformat() if form is None else v.strftime(form) for v in values]
    return Column(
        name="", role="k-quasi", holds="dates", array=_as_text(rng, texts, typed=typed), pool=pool, date_format=form
    )


def flags(rng: random.Random, n: int, *, typed: bool) -> Column:
    values = drawn(rng, [True, False], n, nulls=some_nulls(rng))
    array = (
        pa.array(values, pa.bool_())
        if typed
        else pa.array([None if v is None else str(v).lower() for v in values], pa.string())
    )
    return Column(name="", role="k-quasi", holds="flags", array=array, pool=["true", "false"])


K_QUASIS: tuple[Callable[..., Column], ...] = (
    categories,
    categories,
    codes,
    codes,
    numbers,
    numbers,
    numbers,
    dates,
    flags,
)


# ε-quasis, identifiers, kept columns


def epsilon_numbers(rng: random.Random, n: int, *, typed: bool) -> Column:
    return numbers(rng, n, typed=typed, role="epsilon-quasi")


def identifiers(rng: random.Random, n: int, *, typed: bool) -> Column:
    """Names or numbers of persons, some of them repeated."""
    repeated = rng.random() < 0.3
    make = (lambda: number(rng)) if rng.random() < 0.3 else (lambda: text(rng, in_lines=typed))
    pool = [make() for _ in range(max(1, n // 3 if repeated else n))]
    values = [pool[i % len(pool)] for i in range(n)]
    array = (
        _as_text(rng, values, typed=typed) if isinstance(pool[0], str) or not typed else pa.array(values, pa.int64())
    )
    return Column(name="", role="identifier", holds="texts", array=array)


def persons(rng: random.Random, n: int, *, typed: bool) -> Column:
    """Whom each record is about: codes, names or numbers of persons with 1 to 40 records each; some records do not say."""
    style = rng.choice(["codes", "codes", "names", "numbers"])
    sizes = [1, 1, 1, 2, 3, 5, 10, 40] if n >= 100 else [1, 1, 2, 3]
    values: list[Any] = []
    while len(values) < n:
        name = token(rng)
        own = {"codes": name, "names": f"{name} {token(rng)}", "numbers": number(rng)}[style]
        values += [own] * rng.choice(sizes)
    values = values[:n]
    if rng.random() < 0.8:
        rng.shuffle(values)
    lacking = rng.choice([0.0, 0.0, 0.02, 0.1])
    values = [None if rng.random() < lacking else value for value in values]
    if style == "numbers" and typed:
        return Column(name="", role="identifier", holds="persons", array=pa.array(values, pa.int64()))
    if rng.random() < 0.3:  # blanks around a code are no part of it, and blanks alone say nothing
        odd = {0: lambda value: f" {value} ", 1: lambda value: "  "}
        values = [odd.get(rng.randrange(30), str)(value) if value is not None else None for value in values]
    return Column(name="", role="identifier", holds="persons", array=_as_text(rng, values, typed=typed))


def kept(rng: random.Random, n: int, *, typed: bool) -> Column:
    """A sensitive or insensitive column of any type; its values are all different, or repeat, or are all the same."""
    role = rng.choice(["sensitive", "insensitive"])
    if not typed or rng.random() < 0.4:
        many = rng.choice([1, 5, max(1, n), max(1, n)])
        pool: list[Any] = [text(rng, in_lines=typed or rng.random() < 0.1) for _ in range(many)]
        if rng.random() < 0.2:
            pool = [str(number(rng)) for _ in range(many)]
        values = [None if v is None else str(v) for v in drawn(rng, pool, n, nulls=some_nulls(rng))]
        if rng.random() < 0.1:
            values = _serial(rng, n).cast(pa.string()).to_pylist()
        return Column(name="", role=role, holds="texts", array=_as_text(rng, values, typed=typed))
    make = _dictionaries_of_anything if rng.random() < 0.15 else rng.choice(list(KEPT_TYPES.values()))
    return Column(name="", role=role, holds="anything", array=make(rng, n))


def _listed(rng: random.Random, n: int, make: Callable[[], Any]) -> list[Any]:
    nulls = some_nulls(rng)
    return [None if nulls and rng.random() < nulls else make() for _ in range(n)]


def _typed(kind: pa.DataType, make: Callable[[random.Random], Any]) -> Callable[[random.Random, int], pa.Array]:
    return lambda rng, n: pa.array(_listed(rng, n, lambda: make(rng)), kind)


def _moment(rng: random.Random) -> datetime:
    return datetime(2020, 1, 1) + timedelta(seconds=rng.randrange(10**8))


def _half_floats(rng: random.Random, n: int) -> pa.Array:
    return pa.array(np.array([rng.uniform(-9, 9) for _ in range(n)], dtype=np.float16))


def _few_texts(rng: random.Random, n: int) -> pa.Array:
    pool = [text(rng) for _ in range(4)]
    return pa.array(_listed(rng, n, lambda: rng.choice(pool)), pa.string())


def _serial(rng: random.Random, n: int) -> pa.Array:
    """Numbers in the order of the input, which give away whose record is whose."""
    return pa.array([number(rng, within=i, of=n) for i in range(n)], pa.int64())


def _dictionaries(rng: random.Random, n: int) -> pa.Array:
    """Text as a dictionary that also lists values no record holds."""
    listed = pa.array([text(rng) for _ in range(6)], pa.string())
    indices = pa.array(_listed(rng, n, lambda: rng.randrange(4)), rng.choice([pa.int8(), pa.int16(), pa.int32()]))
    return pa.DictionaryArray.from_arrays(indices, listed, ordered=rng.random() < 0.3)


CODED_TYPES: tuple[tuple[pa.DataType, Callable[[int], Any]], ...] = (
    (pa.binary(5), lambda i: f"{i:05}".encode()),
    (pa.binary(), lambda i: f"{i}".encode()),
    (pa.decimal32(7, 2), Decimal),
    (pa.decimal64(12, 2), Decimal),
    (pa.decimal128(20, 2), Decimal),
    (pa.timestamp("s", "Europe/Dublin"), lambda i: datetime(2020, 1, 1 + i)),
    (pa.timestamp("ns"), lambda i: datetime(2020, 1, 1 + i)),
    (pa.time32("s"), time),
    (pa.date64(), lambda i: date(2020, 1, 1 + i)),
    (pa.float16(), np.float16),
    (pa.float32(), lambda i: i / 4),
    (pa.bool_(), lambda i: bool(i % 2)),
    (pa.uint8(), lambda i: i),
    (pa.string_view(), lambda i: f"{i} is longer than a view holds"),
)
"""Types of values that a dictionary can list, and how to make some of them.

None of durations: Arrow writes them to Parquet so that everybody, also who reads the input, finds whole numbers there.
"""


def _dictionaries_of_anything(rng: random.Random, n: int) -> pa.Array:
    """A dictionary of values of any flat type, sometimes with a null among them, or a value twice."""
    kind, make = rng.choice(CODED_TYPES)
    listed = [make(i) for i in rng.sample(range(6), 6)]
    if rng.random() < 0.3:
        listed[rng.randrange(6)] = None
    if rng.random() < 0.3:
        listed[0] = listed[1]
    indices = pa.array(_listed(rng, n, lambda: rng.randrange(6)), rng.choice([pa.int8(), pa.uint16(), pa.int64()]))
    return pa.DictionaryArray.from_arrays(indices, pa.array(listed, kind), ordered=rng.random() < 0.2)


def _union(rng: random.Random, n: int) -> pa.Array:
    kinds = pa.array([i % 2 for i in range(n)], pa.int8())
    return pa.UnionArray.from_sparse(kinds, [_few_texts(rng, n), pa.array(range(n), pa.int64())])


def _floats(rng: random.Random) -> float:
    return rng.choice([0.1, -0.0, 1e300, 5e-324, float("nan"), float("inf"), rng.uniform(-1, 1), float(number(rng))])


KEPT_TYPES: dict[str, Callable[[random.Random, int], pa.Array]] = {
    "int8": _typed(pa.int8(), lambda rng: rng.randrange(-128, 128)),
    "serial": _serial,
    "uint64": _typed(pa.uint64(), lambda rng: rng.randrange(2**64)),
    "int64": _typed(pa.int64(), number),
    "float16": _half_floats,
    "float32": _typed(pa.float32(), lambda rng: rng.uniform(-9, 9)),
    "float64": _typed(pa.float64(), _floats),
    "bool": _typed(pa.bool_(), lambda rng: rng.random() < 0.5),
    "decimal128": _typed(pa.decimal128(20, 3), lambda rng: Decimal(rng.randrange(10**12)) / 1000),
    "decimal256": _typed(pa.decimal256(50, 0), lambda rng: Decimal(rng.randrange(10**40))),
    "date32": _typed(pa.date32(), lambda rng: _moment(rng).date()),
    "date64": _typed(pa.date64(), lambda rng: _moment(rng).date()),
    "timestamp s": _typed(pa.timestamp("s"), _moment),
    "timestamp ns": _typed(pa.timestamp("ns"), _moment),
    "timestamp tz": _typed(pa.timestamp("us", tz="Europe/Dublin"), _moment),
    "time32": _typed(pa.time32("s"), lambda rng: time(rng.randrange(24), rng.randrange(60))),
    "time64": _typed(pa.time64("us"), lambda rng: time(rng.randrange(24), rng.randrange(60))),
    "duration": _typed(pa.duration("s"), lambda rng: timedelta(seconds=rng.randrange(9999))),
    "interval": _typed(pa.month_day_nano_interval(), lambda rng: pa.MonthDayNano([rng.randrange(9), 1, 5])),
    "null": lambda rng, n: pa.nulls(n),
    "large_string": _typed(pa.large_string(), text),
    "string_view": lambda rng, n: _few_texts(rng, n).cast(pa.string_view()),
    "binary": _typed(pa.binary(), lambda rng: text(rng).encode()),
    "binary_view": lambda rng, n: _few_texts(rng, n).cast(pa.binary()).cast(pa.binary_view()),
    "fixed_size_binary": _typed(pa.binary(11), lambda rng: token(rng).encode()),
    "dictionary": _dictionaries,
    "dictionary of numbers": lambda rng, n: pa.array(_listed(rng, n, lambda: rng.randrange(5)), pa.int64()).dictionary_encode(),
    "run_end_encoded": lambda rng, n: pc.run_end_encode(_few_texts(rng, n)),
    "list": _typed(pa.list_(pa.string()), lambda rng: [text(rng) for _ in range(rng.randrange(3))]),
    "large_list": _typed(pa.large_list(pa.int64()), lambda rng: [rng.randrange(9)]),
    "list_view": _typed(pa.list_view(pa.string()), lambda rng: [text(rng)]),
    "fixed_size_list": _typed(pa.list_(pa.string(), 2), lambda rng: [text(rng), None]),
    "fixed_size_list of dictionaries": _typed(pa.list_(pa.dictionary(pa.int32(), pa.string()), 1), lambda rng: [text(rng)]),
    "struct": _typed(pa.struct({"a": pa.string(), "b": pa.int64()}), lambda rng: {"a": text(rng), "b": number(rng)}),
    "empty struct": _typed(pa.struct([]), lambda rng: {}),
    "struct in list": _typed(pa.list_(pa.struct({"a": pa.string()})), lambda rng: [{"a": text(rng)}]),
    "map": _typed(pa.map_(pa.string(), pa.string()), lambda rng: [(text(rng), text(rng))]),
    "map of dictionaries": _typed(pa.map_(pa.string(), pa.dictionary(pa.int8(), pa.string())), lambda rng: [("k", "v")]),
    "list of views": _typed(pa.list_(pa.string_view()), lambda rng: [text(rng)]),
    "union": _union,
    "uuid": lambda rng, n: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([rng.randbytes(16) for _ in range(n)], pa.binary(16))),
}  # fmt: skip
"""Arrow types that a kept column can have; the ones that cannot be released must be refused in words."""


def _as_text(rng: random.Random, values: list[Any], *, typed: bool) -> pa.Array:
    """Text in one of the forms that Arrow has for it."""
    plain = pa.array([None if value is None else str(value) for value in values], pa.string())
    form = rng.choice(["string", "string", "string", "large", "dictionary", "view"]) if typed else "string"
    if form == "large":
        return plain.cast(pa.large_string())
    if form == "view":
        return plain.cast(pa.string_view())
    return plain.dictionary_encode() if form == "dictionary" else plain


def _as_numbers(rng: random.Random, values: list[Fraction | None], step: Fraction, *, typed: bool) -> pa.Array:
    """Numbers in one of the types that can hold them, or as text."""
    forms = ["text", "double", "double"] + (["int64", "int64"] if step.denominator == 1 else ["decimal"])
    form = rng.choice(forms) if typed else "text"
    if form == "int64":
        return pa.array([None if v is None else int(v) for v in values], pa.int64())
    if form == "double":
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if form == "decimal":
        return pa.array([None if v is None else decimal(v) for v in values], pa.decimal128(30, 2))
    written = [None if v is None else _written(rng, v) for v in values]
    return pa.array(written, pa.string())


def with_commas(array: pa.Array) -> pa.Array:
    """Numbers that are text, with decimal commas; other types as they are."""
    if not pa.types.is_string(array.type):
        return array
    return pc.replace_substring(array, ".", ",")


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _written(rng: random.Random, value: Fraction) -> str:
    """A number as people write it: mostly plain, sometimes with an exponent, a sign, zeros or blanks."""
    plain = format(decimal(value).normalize(), "f")
    if rng.random() < 0.97:
        return plain
    odd = [f"{plain}e0", f" {plain} ", f"{plain}.0" if "." not in plain else f"{plain}0", f"{decimal(value):E}"]
    return rng.choice([*odd, f"+{plain}" if value > 0 else plain, "-0" if value == 0 else plain])
