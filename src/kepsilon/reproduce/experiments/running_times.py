# SPDX-License-Identifier: Apache-2.0
"""How long k-anonymity with the ε-quasi as one more k-quasi takes, beside (k,ε)-anonymity. Paper §VII-D.

Ours counts combinations once and then never looks at a record, so two ways of working that do are timed beside it: a
sweep of OLA's lattice that groups all records anew at every node, and Mondrian cutting records instead of combinations.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from kepsilon import Policy
from kepsilon.count import read_and_count
from kepsilon.engines.arrow.tables import table_from
from kepsilon.engines.choose import local_engine
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised, k_anonymise, mondrian
from kepsilon.kanonymise.lattice import Lattice, Node, lattice_of
from kepsilon.randomness import system_bytes
from kepsilon.reproduce.experiments.counted_data import CountedData, count_data, with_extra_k_quasi
from kepsilon.reproduce.scope import SHOWN_K, Scope
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.arrays import IntArray
from kepsilon.table.frequency import FrequencyTable

T = TypeVar("T")

REPETITIONS = 40
ENOUGH_SECONDS = 0.25
"""A function is timed this often, or for this long but twice at least; the shortest time counts, as the least disturbed."""
SWEEP_SECONDS, QUICK_SWEEP_SECONDS = 3.0, 0.4
"""Seconds for timing the nodes of one lattice; the nodes left over are taken to be like the others."""
FEWEST_NODES = 10
"""Nodes that are timed even if they take longer."""


def running_times(data: CountedData, algorithm: str, scope: Scope) -> Json:
    """Seconds from the records in memory to those released, by k, and why they differ."""
    crowded = count_data(data.data, document=with_extra_k_quasi(data.data))
    counting = [_counting(one) for one in (crowded, data)]
    ks: list[Json] = []
    for k in (SHOWN_K,) if scope.is_quick else scope.ks:
        policy = data.policy(algorithm=algorithm, k=k)
        together, search_with = _search(crowded, crowded.policy(algorithm=algorithm, k=k))
        alone, search_without = _search(data, policy)
        noise = _noise(data, alone, policy)
        seconds_with, seconds_without = counting[0] + search_with, counting[1] + search_without + noise
        ks.append(
            {
                "k": k,
                "seconds_with": seconds_with,
                "seconds_without": seconds_without,
                "ratio": seconds_with / seconds_without,
                "search_seconds_with": search_with,
                "search_seconds_without": search_without,
                "noise_seconds": noise,
                "search_only_ratio": search_with / search_without,
                "without_counting_ratio": search_with / (search_without + noise),
                "nodes_counted_with": together.nodes_counted,
                "nodes_counted_without": alone.nodes_counted,
            }
        )
    found = {
        **data.heading(algorithm),
        "combinations_with": crowded.counted.table.n_combinations,
        "combinations_without": data.counted.table.n_combinations,
        "records": data.counted.n_staying,
        "lattice_with": lattice_of(crowded.counted.table.domains).n_nodes if algorithm == "ola" else None,
        "lattice_without": lattice_of(data.counted.table.domains).n_nodes if algorithm == "ola" else None,
        "count_seconds_with": counting[0],
        "count_seconds_without": counting[1],
        "ks": ks,
    }
    if algorithm == "ola":
        seconds = QUICK_SWEEP_SECONDS if scope.is_quick else SWEEP_SECONDS
        found["regrouping"] = _regrouping(crowded, data, ks, seconds=seconds)
    else:
        found["by_record"] = [_by_record(crowded, data, row["k"], noise=row["noise_seconds"]) for row in ks]
    return found


def _search(data: CountedData, policy: Policy) -> tuple[KAnonymised, float]:
    """The classes, and seconds from the frequency table to the class of every record."""

    def run() -> KAnonymised:
        partition = k_anonymise(data.counted.table, policy)
        data.counted.columns.preview(partition.recoding)
        return partition

    return _best(run)


def _counting(data: CountedData) -> float:
    """Seconds from columns in memory to the frequency table."""
    table, policy, engine = table_from(data.data.columns), data.policy(), local_engine()
    return _best(lambda: read_and_count(table, policy, engine=engine, clock=Stopwatch(ignore_step)))[1]


def _noise(data: CountedData, partition: KAnonymised, policy: Policy) -> float:
    """Seconds of the extra loop of (k,ε)-anonymity, with the bytes that a release would use."""
    return _best(lambda: data.noisy_classes(partition, policy).draw(policy.stated_epsilon, system_bytes()))[1]


def _regrouping(crowded: CountedData, data: CountedData, ks: list[Json], *, seconds: float) -> Json:
    """Times of a search that groups all records at every node, with and without the extra k-quasi.

    `sweep_ratio` is for the whole lattice; `ratio` by k for as many nodes as OLA has to count with tagging.
    """
    together, alone = (regroup(one, seconds=seconds) for one in (crowded, data))
    return {
        **{f"{name}_with": figure for name, figure in together.items()},
        **{f"{name}_without": figure for name, figure in alone.items()},
        "sweep_ratio": together["sweep_seconds"] / (alone["sweep_seconds"] + max(row["noise_seconds"] for row in ks)),
        "ks": [
            {
                "k": row["k"],
                "ratio": row["nodes_counted_with"]
                * together["node_seconds"]
                / (row["nodes_counted_without"] * alone["node_seconds"] + row["noise_seconds"]),
            }
            for row in ks
        ],
    }


def regroup(data: CountedData, *, seconds: float) -> Json:
    """Times of grouping at the nodes of a lattice: label every record, and count equal ones in a dictionary."""
    table = data.counted.table
    of_record = codes_of_records(data)
    lattice = lattice_of(table.domains)
    n_timed, start = 0, time.perf_counter()
    for node in spread_nodes(lattice):
        group_records(table, of_record, node)
        n_timed += 1
        if n_timed >= FEWEST_NODES and time.perf_counter() - start > seconds:
            break
    per_node = (time.perf_counter() - start) / n_timed
    return {
        "nodes": lattice.n_nodes,
        "nodes_timed": n_timed,
        "node_seconds": per_node,
        "sweep_seconds": per_node * lattice.n_nodes,
    }


def codes_of_records(data: CountedData) -> list[IntArray]:
    """Codes by attribute, in the order of the records."""
    combination = data.combinations()
    return [column[combination] for column in data.counted.table.codes]


def group_records(table: FrequencyTable, of_record: list[IntArray], node: Node) -> Counter[tuple[int, ...]]:
    """Class sizes at a node, from one code per record and attribute."""
    columns = [
        domain.at_level(level)[codes].tolist()
        for domain, level, codes in zip(table.domains, node, of_record, strict=True)
    ]
    return Counter(zip(*columns, strict=True))


def spread_nodes(lattice: Lattice) -> Iterator[Node]:
    """All nodes, in an order of which any beginning is spread evenly over the lattice.

    Steps of about the golden section of the number of nodes, and coprime to it: every node comes once, and the levels
    of each attribute take turns.
    """
    n = lattice.n_nodes
    step = next(s for s in range(max(1, round(0.618 * n)), n + 2) if math.gcd(s, n) == 1)
    for i in range(n):
        yield tuple(int(level) for level in np.unravel_index(i * step % n, lattice.n_levels))


def _by_record(crowded: CountedData, data: CountedData, k: int, *, noise: float) -> Json:
    """Times of Mondrian on tables in which every record is a combination of its own, as if they had not been counted."""
    (together, n_together), (alone, n_alone) = (_cut_records(one, k) for one in (crowded, data))
    return {
        "k": k,
        "seconds_with": together,
        "seconds_without": alone + noise,
        "ratio": together / (alone + noise),
        "parts_with": n_together,
        "parts_without": n_alone,
    }


def _cut_records(data: CountedData, k: int) -> tuple[float, int]:
    table = data.counted.table
    records = FrequencyTable(
        domains=table.domains, codes=tuple(codes_of_records(data)), counts=np.ones(table.n_records, dtype=np.int64)
    )
    parts, seconds = _best(lambda: mondrian.partition(records, k=k))
    return seconds, parts.n_parts


def _best(function: Callable[[], T]) -> tuple[T, float]:
    """The function's result, and the shortest of several times it took."""
    times: list[float] = []
    while len(times) < 2 or (len(times) < REPETITIONS and sum(times) < ENOUGH_SECONDS):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return result, min(times)
