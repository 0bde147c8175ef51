# SPDX-License-Identifier: Apache-2.0
"""UCI's Adult from a file, with or without a header; what is odd about it is told by line, never by value."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from kepsilon import DataError, Problem

FILE_NAMES = ("adult.data.csv", "adult.data", "adult.csv")
COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
IN_MARRIAGE = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")
ALONE = ("Divorced", "Never-married", "Separated", "Widowed")
KNOWN = {
    "marital-status": frozenset((*IN_MARRIAGE, *ALONE)),
    "race": frozenset(("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")),
    "sex": frozenset(("Female", "Male")),
}
USED = ("age", *KNOWN)
MOST_DIGITS_OF_AGE = 3
GET_IT = (
    "Adult's training set is `adult.data` of the UCI Machine Learning Repository (CC BY 4.0); name its folder with "
    "--data, or in KEPSILON_DATA."
)


def read_adult(folder: Path) -> dict[str, list[str]]:
    """The columns that the paper uses, by UCI's names; every age is a number, every other value one that Adult has."""
    path = adult_path(folder)
    lines = _lines(path)
    number, first = next(lines, (0, []))
    if not first:
        raise DataError(Problem(where=str(path), what="is empty.", fix=GET_IT))
    header = None if _is_age(first[0]) else first
    places = _places(path, header)
    records = {} if header else {number: first}
    records |= dict(lines)
    n_fields = len(header or COLUMNS)
    whole = {number: fields for number, fields in records.items() if len(fields) == n_fields}
    columns = {name: {number: fields[place] for number, fields in whole.items()} for name, place in places.items()}
    odd = {"": [number for number in records if number not in whole]}
    odd |= {name: [i for i, value in column.items() if not _fits(name, value)] for name, column in columns.items()}
    problems = [_odd_lines(path, name, numbers, n_fields) for name, numbers in odd.items() if numbers]
    if problems:
        raise DataError(problems)
    return {name: list(column.values()) for name, column in columns.items()}


def adult_path(folder: Path) -> Path:
    """Adult's file in a folder, or the file itself."""
    if folder.is_file():
        return folder
    for name in FILE_NAMES:
        if (folder / name).is_file():
            return folder / name
    what = f"holds none of {', '.join(FILE_NAMES)}." if folder.is_dir() else "is not there."
    raise DataError(Problem(where=str(folder), what=what, fix=GET_IT))


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that is not blank, without the blanks around them, by the line's number."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            for fields in reader:
                if any(field.strip() for field in fields):
                    yield reader.line_num, [field.strip() for field in fields]
    except OSError as error:
        raise DataError(
            Problem(where=str(path), what=f"cannot be read: {error.strerror or 'unknown reason'}.")
        ) from None
    except (UnicodeDecodeError, csv.Error):
        raise DataError(Problem(where=str(path), what="is not text separated by commas.", fix=GET_IT)) from None


def _places(path: Path, header: list[str] | None) -> dict[str, int]:
    """The position of each used column in a line."""
    names = [name.lower().replace("_", "-") for name in header] if header else list(COLUMNS)
    lacking = [name for name in USED if names.count(name) != 1]
    if lacking:
        raise DataError(
            Problem(
                where=str(path),
                what=f"its first line neither begins with an age nor names each of {', '.join(USED)} once; "
                f"it lacks {', '.join(lacking)}.",
                fix=GET_IT,
            )
        )
    return {name: names.index(name) for name in USED}


def _fits(name: str, value: str) -> bool:
    return _is_age(value) if name == "age" else value in KNOWN[name]


def _is_age(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) <= MOST_DIGITS_OF_AGE


def _odd_lines(path: Path, column: str, numbers: list[int], n_fields: int) -> Problem:
    """The problem of some lines: values of a column or, where none is named, the number of fields."""
    n = len(numbers)
    lines = f"{n:,} line{'s' * (n > 1)}, the first of them line {numbers[0]}, {'do' if n > 1 else 'does'} not"
    if not column:
        return Problem(where=str(path), what=f"{lines} have {n_fields} cells.", fix=GET_IT)
    return Problem(where=f'{path}: column "{column}"', what=f"{lines} hold a value that Adult has.", fix=GET_IT)
