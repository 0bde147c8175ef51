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
    n_cells = len(header or COLUMNS)
    whole = {number: cells for number, cells in records.items() if len(cells) == n_cells}
    columns = {name: {number: cells[place] for number, cells in whole.items()} for name, place in places.items()}
    odd = {"": [number for number in records if number not in whole]}
    odd |= {name: [i for i, value in column.items() if not _fits(name, value)] for name, column in columns.items()}
    problems = [_odd_lines(path, name, numbers, n_cells) for name, numbers in odd.items() if numbers]
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
    """The cells of each line that is not blank, without the blanks around them, by the line's number."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield reader.line_num, [cell.strip() for cell in cells]
    except OSError as error:
        raise DataError(
            Problem(where=str(path), what=f"cannot be read: {error.strerror or 'unknown reason'}.")
        ) from None
    except (UnicodeDecodeError, csv.Error):
        raise DataError(Problem(where=str(path), what="is not text separated by commas.", fix=GET_IT)) from None


def _places(path: Path, header: list[str] | None) -> dict[str, int]:
    """Where each used column stands."""
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


def _odd_lines(path: Path, column: str, numbers: list[int], n_cells: int) -> Problem:
    n = len(numbers)
    lines = f"{n:,} line{'s' * (n > 1)}, the first of them line {numbers[0]},"
    if not column:
        return Problem(where=str(path), what=f"{lines} {_do(n)} not have {n_cells} cells.", fix=GET_IT)
    what = f"{lines} {_do(n)} not hold a value that Adult has."
    return Problem(where=f'{path}: column "{column}"', what=what, fix=GET_IT)


def _do(n: int) -> str:
    return "do" if n > 1 else "does"
