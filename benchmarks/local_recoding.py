# SPDX-License-Identifier: Apache-2.0
"""What local recoding loses and how long it takes, beside Mondrian with the same labels and beside counting.

Run: python benchmarks/local_recoding.py [--adult adult.data.csv] [--records 134791 10000000] [--k 5 20 100] [--repeat 3]

Years are cut on a step of 1; other attributes have the paper's hierarchies, and labels are sets of siblings. The made-up
survey has 30 categorical questions and 4,000 records. ncp is the mean over attributes and records. Both algorithms run on
one table, in one process, by turns. Times are seconds of computing, which other work on the machine changes little; each
is the shortest of the repeats, with the longest beside it.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import numpy as np
from search import Timing, code_and_count
from surveys import survey
from voters import voter_columns

from kepsilon.kanonymise.algorithms import local_recoding, mondrian
from kepsilon.table.classes import Recoding
from kepsilon.table.codes import code_domain
from kepsilon.table.frequency import FrequencyTable, count_combinations
from kepsilon.table.number_line import number_line

T = TypeVar("T")

IN_MARRIAGE = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")
OLDEST = 79
"""The paper leaves out people of 80 and more."""


def adult(path: Path) -> FrequencyTable:
    """Year of birth, sex, race and marital status of Adult, counted."""
    with path.open(newline="", encoding="utf-8") as file:
        records = [record for record in csv.DictReader(file) if int(record["age"]) <= OLDEST]
    columns: dict[str, tuple[list[str], Callable[[str], list[str]]]] = {
        "year": ([str(1994 - int(record["age"])) for record in records], lambda v: [v]),
        "sex": ([record["sex"] for record in records], lambda v: [v, "*"]),
        "race": ([record["race"] for record in records], lambda v: [v, "*"]),
        "marital": (
            [record["marital-status"] for record in records],
            lambda v: [v, "In marriage" if v in IN_MARRIAGE else "Alone", "*"],
        ),
    }
    domains, codes = [], []
    for name, (values, labels) in columns.items():
        occurring, given = np.unique(values, return_inverse=True)
        levels = list(zip(*(labels(value) for value in occurring.tolist()), strict=True))
        is_year = name == "year"
        domain, code_of = code_domain(name, levels, positions=occurring.astype(float) if is_year else None)
        if is_year:
            line = number_line([Fraction(value or 0) for value in domain.levels[0]], step=Fraction(1))
            domain = replace(domain, line=line)
        domains.append(domain)
        codes.append(code_of[given])
    return count_combinations(codes, domains, n_records=len(records))[0]


def timed(function: Callable[[], T], *, repeat: int) -> tuple[T, Timing]:
    """The function's last result, and how many seconds of computing it took."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return result, Timing(shortest=min(times), longest=max(times))


def ncp(table: FrequencyTable, recoding: Recoding) -> float:
    """Mean over attributes and records of what labels lose."""
    lost = [float(np.dot(attribute.ncp, recoding.sizes)) / table.n_records for attribute in recoding.attributes]
    return sum(lost) / len(lost)


def lines(name: str, count: Callable[[], FrequencyTable], ks: Sequence[int], *, repeat: int) -> Iterator[list[str]]:
    """The lines of one table."""
    table, counting = timed(count, repeat=repeat)
    for k in ks:
        found, searching = timed(lambda k=k: local_recoding.anonymise(table, k=k), repeat=repeat)
        other, cutting = timed(lambda k=k: mondrian.anonymise(table, k=k), repeat=repeat)
        yield [
            name,
            f"{table.n_combinations:,}",
            str(k),
            f"{ncp(table, found):.4f}",
            f"{ncp(table, other):.4f}",
            f"{found.n_classes:,}",
            str(searching),
            str(cutting),
            str(counting),
            f"{searching.shortest / counting.shortest:.1f}",
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--records", type=int, nargs="+", default=[134_791, 10_000_000])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 20, 100])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    heads = [
        "data",
        "combinations",
        "k",
        "ncp",
        "ncp, Mondrian",
        "classes",
        "local recoding",
        "Mondrian",
        "code and count",
        "local recoding / counting",
    ]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    tables: dict[str, Callable[[], FrequencyTable]] = {}
    if options.adult is not None:
        tables["Adult"] = lambda: adult(options.adult)
    tables["survey, 30 questions, 4,000"] = lambda: survey(4_000)
    for n_records in options.records:
        columns = voter_columns(n_records)
        tables[f"voters, {n_records:,}"] = lambda columns=columns: code_and_count(columns)
    for name, count in tables.items():
        for line in lines(name, count, options.k, repeat=options.repeat):
            print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    main()
