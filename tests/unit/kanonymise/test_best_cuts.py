# SPDX-License-Identifier: Apache-2.0
"""Which cuts of a large part are tried where requirements fail, and that a table without any allowed cut takes no longer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kepsilon.kanonymise import best_cuts
from kepsilon.kanonymise.algorithms import local_recoding
from kepsilon.kanonymise.best_cuts import MOST_ATTEMPTS, cut_to_the_end
from kepsilon.kanonymise.candidate_cuts import Guide
from kepsilon.kanonymise.local_attributes import local_attributes
from kepsilon.kanonymise.requirements.t_closeness import TCloseness
from kepsilon.table.sensitive import count_sensitive
from strategies import Attribute, Sample


def numbers(n):
    """One attribute of n numbers, two records of each, and an illness that every record has by chance."""
    values = [str(i) for i in range(n)]
    attribute = Attribute(name="n", labels={v: [v] for v in values}, numbers={v: float(v) for v in values})
    sample = Sample(attributes=[attribute], records=[(v,) for v in values for _ in range(2)])
    illness = np.random.default_rng(1).integers(0, 50, sample.n_records)
    counted = count_sensitive(sample.combination_of, illness, n_values=50, is_ordered=False)
    return replace(sample.table, sensitive={"illness": counted})


def tried_on(table, meets, **settings):
    """The parts after all cuts, and how often the requirements were asked about."""
    asked = 0

    def parts_meet(part_of, n_parts):
        nonlocal asked
        asked += 1
        return meets(part_of, n_parts)

    attributes = local_attributes(table, k=2, style="siblings", importance=[1.0])
    whole = np.zeros(table.n_combinations, dtype=np.int64)
    found = cut_to_the_end(attributes, table.counts, whole, k=2, guide=Guide.LOSS, parts_meet=parts_meet, **settings)
    return found, asked


def never(_, n_parts):
    return np.zeros(n_parts, dtype=np.bool_)


@pytest.mark.parametrize(("n", "asked"), [(1000, MOST_ATTEMPTS), (MOST_ATTEMPTS + 1, MOST_ATTEMPTS), (101, 100)])
def test_so_many_cuts_are_tried_and_no_more(n, asked):
    """All of them where there are few: n numbers have n − 1 thresholds."""
    found, n_asked = tried_on(numbers(n), never)
    assert n_asked == asked
    assert found.max() == 0
    assert tried_on(numbers(n), never, attempts=5)[1] == 5


@pytest.mark.parametrize("allowed", [1, 30, 199, 255])
def test_the_only_allowed_cut_is_found_where_all_are_tried(allowed):
    """Whatever its rank: the worst threshold, which cuts off the last number, comes at the very end."""

    def meets(part_of, n_parts):
        sizes = np.bincount(part_of[part_of >= 0], minlength=n_parts)
        return np.isin(sizes, [allowed, MOST_ATTEMPTS + 1 - allowed])

    found, _ = tried_on(numbers(MOST_ATTEMPTS + 1), meets)
    assert sorted(np.bincount(found).tolist()) == sorted([allowed, MOST_ATTEMPTS + 1 - allowed])


def test_others_than_the_best_are_tried_in_large_parts():
    """Only sides of which one is small are allowed; the best cuts halve the numbers."""

    def meets(part_of, n_parts):
        sizes = np.bincount(part_of[part_of >= 0], minlength=n_parts)
        return (sizes < 100) | (sizes > 1900)

    found, _ = tried_on(numbers(2000), meets)
    assert len(np.unique(found)) > 1
    assert len(np.unique(tried_on(numbers(2000), meets, attempts=MOST_ATTEMPTS)[0])) == 1


@pytest.mark.parametrize("n_candidates", [1, 5, 255, 256, 257, 300, 511, 512, 10_000])
def test_attempts_are_about_different_candidates_up_to_the_last_ones(n_candidates):
    ranks = [
        int(best_cuts._spread(attempt, np.array([n_candidates]))[0])
        for attempt in range(min(MOST_ATTEMPTS, n_candidates))
    ]
    assert ranks == sorted(set(ranks))
    assert ranks[: MOST_ATTEMPTS // 2] == list(range(min(n_candidates, MOST_ATTEMPTS // 2)))
    step = max(1, -(-n_candidates // (MOST_ATTEMPTS // 2)))
    assert n_candidates - step <= ranks[-1] < n_candidates


def test_time_does_not_grow_with_the_square_where_no_cut_is_allowed(monkeypatch):
    """Counted, not measured: as many questions for 2,000 numbers as for 1,000."""
    asked = []
    met_by = TCloseness.met_by
    monkeypatch.setattr(TCloseness, "met_by", lambda *own, **named: asked.append(1) or met_by(*own, **named))
    counts = []
    for n in (1000, 2000):
        asked.clear()
        recoding = local_recoding.anonymise(numbers(n), k=2, further=[TCloseness(column="illness", t=0.001)])
        assert recoding.n_classes == 1
        counts.append(len(asked))
    assert counts[1] <= 1.2 * counts[0] < 2 * MOST_ATTEMPTS
