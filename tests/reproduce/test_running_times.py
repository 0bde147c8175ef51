# SPDX-License-Identifier: Apache-2.0
"""Running times: what is timed does what it says, and the ratios are of what was timed."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from kepsilon.kanonymise.algorithms import mondrian, ola
from kepsilon.kanonymise.lattice import Lattice
from kepsilon.reproduce.experiments import running_times as subject
from kepsilon.reproduce.experiments.counted_data import count_data, with_extra_k_quasi
from material.small_data_sets import SHORT, assert_plain, short_michigan


@pytest.fixture(scope="module")
def michigan():
    return count_data(short_michigan())


@pytest.fixture(scope="module")
def crowded(michigan):
    return count_data(michigan.data, document=with_extra_k_quasi(michigan.data))


@pytest.mark.parametrize("n_levels", [(6, 2, 5, 8), (6, 2, 5, 2, 8), (5, 2, 2, 3, 8), (1,), (2, 2), (3,)])
def test_every_node_comes_once_and_a_beginning_is_spread(n_levels):
    """A stride that had a factor in common with the levels would see one level of an attribute only."""
    lattice = Lattice(n_levels=n_levels)
    nodes = list(subject.spread_nodes(lattice))
    assert sorted(nodes) == list(lattice.nodes())
    if lattice.n_nodes >= 480:
        for first in (48, 120):
            for attribute, n in enumerate(n_levels):
                seen = Counter(node[attribute] for node in islice(nodes, first))
                assert set(seen) == set(range(n))
                assert max(seen.values()) - min(seen.values()) <= 0.35 * first / n + 2


def test_records_are_regrouped_as_their_labels_say(crowded):
    """Against a dictionary of the labels that a release at that node would show."""
    table, codes = crowded.counted.table, subject.codes_of_records(crowded)
    for column, domain in zip(codes, table.domains, strict=True):
        values = [domain.levels[0][code] for code in column.tolist()]
        assert values == [
            f"{v:g}" if domain.name == "weight" else str(v) for v in crowded.data.columns[domain.name].tolist()
        ]
    node = (2, 1, 3, 5)
    labels = zip(
        [zip_code[:3] for zip_code in crowded.data.columns["zip"].tolist()],
        (crowded.data.columns["birth_year"] // 8).tolist(),
        (crowded.data.columns["weight"] // 16).tolist(),
        strict=True,
    )
    found = subject.group_records(table, codes, node)
    assert sorted(found.values()) == sorted(Counter(labels).values())


def test_a_sweep_is_cut_short_and_says_so(michigan, crowded, monkeypatch):
    """Nodes timed and nodes in the lattice, and the whole is as many times a node's time."""
    found = subject.regroup(crowded, seconds=0)
    assert (found["nodes"], found["nodes_timed"]) == (480, subject.FEWEST_NODES)
    assert found["sweep_seconds"] == pytest.approx(480 * found["node_seconds"])
    found = subject.regroup(michigan, seconds=60)
    assert (found["nodes"], found["nodes_timed"]) == (60, 60)


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_ratios_are_of_the_times_beside_them(michigan, crowded, algorithm, monkeypatch):
    """Count, search and noise on one side, count and search on the other."""
    monkeypatch.setattr(subject, "SWEEP_SECONDS", 0.01)
    found = subject.running_times(michigan, algorithm, SHORT)
    assert_plain(found)
    assert found["combinations_with"] == len(combinations(michigan, "zip", "gender", "birth_year", "weight"))
    assert found["combinations_without"] == len(combinations(michigan, "zip", "gender", "birth_year"))
    assert [row["k"] for row in found["ks"]] == list(SHORT.ks)
    for row in found["ks"]:
        with_extra = found["count_seconds_with"] + row["search_seconds_with"]
        without = found["count_seconds_without"] + row["search_seconds_without"] + row["noise_seconds"]
        assert row["seconds_with"] == pytest.approx(with_extra)
        assert row["seconds_without"] == pytest.approx(without)
        assert row["ratio"] == pytest.approx(with_extra / without)
        assert min(row["noise_seconds"], row["search_seconds_with"], row["search_seconds_without"]) > 0
    if algorithm == "ola":
        assert (found["lattice_with"], found["lattice_without"]) == (480, 60)
        for row in found["ks"]:
            for one, name in ((crowded, "nodes_counted_with"), (michigan, "nodes_counted_without")):
                searched = ola.search(one.counted.table, ks=[row["k"]], max_suppressed=150, loss="dm*")
                assert row[name] == searched[row["k"]].nodes_counted < found["lattice_with"]
        assert len(found["regrouping"]["ks"]) == len(SHORT.ks)
    else:
        assert found["lattice_with"] is None
        assert {row["nodes_counted_with"] for row in found["ks"]} == {None}
        for row in found["by_record"]:
            for one, name in ((crowded, "parts_with"), (michigan, "parts_without")):
                assert row[name] == mondrian.partition(one.counted.table, k=row["k"]).n_parts


@pytest.mark.parametrize(
    ("durations", "n_calls"), [([0.1, 0.05, 0.15, 9], 3), ([2.0, 3.0, 9], 2), ([0.003] * 20 + [0.001] * 20 + [9], 40)]
)
def test_the_shortest_of_several_times_is_taken(monkeypatch, durations, n_calls):
    """Whatever else the machine does makes a time longer, never shorter; what is slow is repeated less often."""
    now, calls = [0.0], []

    def work():
        now[0] += durations[len(calls)]
        calls.append(1)
        return len(calls)

    with monkeypatch.context() as patched:
        patched.setattr(subject.time, "perf_counter", lambda: now[0])
        result, seconds = subject._best(work)
    assert result == len(calls) == n_calls
    assert seconds == pytest.approx(min(durations[:n_calls]))


def combinations(data, *names):
    columns = (data.data.columns[name].tolist() for name in names)
    return set(zip(*columns, strict=True))


def test_levels_of_the_extra_attribute_take_turns():
    """Every eighth node of any beginning has each of its levels, so that no level's cost is missed."""
    lattice = Lattice(n_levels=(6, 2, 5, 2, 8))
    last = np.array([node[-1] for node in subject.spread_nodes(lattice)])
    for start in range(0, len(last), 8):
        assert sorted(last[start : start + 8]) == list(range(8))
