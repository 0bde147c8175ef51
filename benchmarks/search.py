# SPDX-License-Identifier: Apache-2.0
"""How long counting, OLA and Mondrian take on made-up voters, beside one pandas group-by of the same columns.

Run: python benchmarks/search.py [--records 134800 1000000 10000000] [--k 10] [--repeat 3]

The lattice is the paper's for voters: ZIP 6 levels, gender 2, birth year 5, race 2, so 120 nodes. Every time is the
shortest of the repeats, with the longest beside it; all times of one line come from one process and one table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np
import pyarrow as pa
from voters import K_QUASIS, k_quasi_labels, voter_columns

from kepsilon.kanonymise.algorithms import mondrian, ola
from kepsilon.table.codes import Domain, code_domain
from kepsilon.table.frequency import FrequencyTable, count_combinations
from kepsilon.table.number_line import number_line

T = TypeVar("T")

SIX_KS = (2, 5, 10, 20, 50, 100)
LIMIT = 20
"""One record in twenty may be suppressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    shortest: float
    longest: float

    def __str__(self) -> str:
        return f"{_seconds(self.shortest)} ({_seconds(self.longest)})"


def timed(function: Callable[[], T], *, repeat: int) -> tuple[T, Timing]:
    """The function's last result, and how long it took."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return result, Timing(shortest=min(times), longest=max(times))


def code_and_count(columns: dict[str, pa.Array]) -> FrequencyTable:
    """Codes of the four k-quasis from Arrow dictionaries, and the combinations that occur."""
    domains, codes = [], []
    n_records = len(columns["zip"])
    for name in K_QUASIS:
        domain, column = _coded(name, columns[name])
        domains.append(domain)
        codes.append(column)
    table, _ = count_combinations(codes, domains, n_records=n_records)
    return table


def _coded(name: str, column: pa.Array) -> tuple[Domain, np.ndarray]:
    if isinstance(column, pa.DictionaryArray):
        indices = column.indices.to_numpy()
        values = tuple(column.dictionary.to_pylist())
        positions = None
    else:
        numbers = column.to_numpy()
        first = numbers.min()
        indices = numbers - first
        values = tuple(str(first + i) for i in range(int(indices.max()) + 1))
        positions = np.array([float(value) for value in values])
    occurs = np.bincount(indices, minlength=len(values)) > 0
    kept = tuple(value for value, is_there in zip(values, occurs, strict=True) if is_there)
    labels = k_quasi_labels(name, kept)
    domain, code_of_kept = code_domain(
        name, [labels[level] for level in sorted(labels)], positions=None if positions is None else positions[occurs]
    )
    if positions is not None:
        domain = replace(domain, line=number_line([Fraction(value) for value in domain.levels[0]], step=Fraction(1)))
    code_of_index = np.zeros(len(values), dtype=np.int32)
    code_of_index[occurs] = code_of_kept
    return domain, code_of_index[indices]


def pandas_group_by(columns: dict[str, pa.Array]) -> Callable[[], int]:
    """One group-by over the same four columns as pandas holds them: categories and one integer."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(column.indices.to_numpy(), column.dictionary.to_pylist())
            if isinstance(column, pa.DictionaryArray)
            else column.to_numpy()
            for name, column in ((name, columns[name]) for name in K_QUASIS)
        }
    )
    return lambda: len(frame.groupby(list(K_QUASIS), observed=True, sort=False).size())


def line(n_records: int, *, k: int, repeat: int) -> list[str]:
    """One line of the table."""
    columns = voter_columns(n_records)
    table, counting = timed(lambda: code_and_count(columns), repeat=repeat)
    n_grouped, grouping = timed(pandas_group_by(columns), repeat=repeat)
    if n_grouped != table.n_combinations:
        raise RuntimeError("pandas found another number of combinations")
    limit = n_records // LIMIT
    one, searching = timed(lambda: ola.search(table, ks=[k], max_suppressed=limit, loss="dm*"), repeat=repeat)
    six, sweeping = timed(lambda: ola.search(table, ks=SIX_KS, max_suppressed=limit, loss="dm*"), repeat=repeat)
    _, recoding = timed(lambda: ola.recode(table, one[k].node, k=k), repeat=repeat)
    parts, cutting = timed(lambda: mondrian.partition(table, k=k), repeat=repeat)
    _, labelling = timed(lambda: mondrian.recode(table, parts), repeat=repeat)
    return [
        f"{n_records:,}",
        f"{table.n_combinations:,}",
        str(counting),
        str(grouping),
        f"{counting.shortest / grouping.shortest:.2f}",
        f"{searching}, {one[k].nodes_counted} nodes",
        f"{sweeping}, {six[SIX_KS[0]].nodes_counted} nodes",
        str(recoding),
        f"{cutting}, {parts.n_parts:,} parts",
        str(labelling),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[134_800, 1_000_000, 10_000_000])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    heads = [
        "records",
        "combinations",
        "code and count",
        "pandas group-by",
        "ratio",
        f"OLA, k = {options.k}",
        "OLA, six k",
        "OLA recode",
        f"Mondrian, k = {options.k}",
        "Mondrian labels",
    ]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for n_records in options.records:
        print("| " + " | ".join(line(n_records, k=options.k, repeat=options.repeat)) + " |", flush=True)


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
