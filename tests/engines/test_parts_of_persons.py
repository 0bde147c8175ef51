# SPDX-License-Identifier: Apache-2.0
"""Persons counted in parts, limits on their records, and marks of records: each against a slow way to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kepsilon
from kepsilon.engines.spark.person_tasks import limits_of
from kepsilon.engines.spilling.persons import Marks
from kepsilon.pipeline.needs import estimate_needs
from kepsilon.table.persons import count_persons, joined, regrouped
from kepsilon.table.record_hashes import xxhash64
from kepsilon.table.records_per_person import are_beyond_cap, n_within_cap
from material.encounters import encounters
from material.engine_cases import SEED

RECORDS = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 12)), min_size=1, max_size=60)
"""Combination and person of some records."""


def pairs_of(counts):
    """The sets of combinations of persons with several, sorted: which number a person has does not matter."""
    found = {}
    for combination, person in zip(counts.combinations.tolist(), counts.persons.tolist(), strict=True):
        found.setdefault(person, set()).add(combination)
    return sorted(map(sorted, found.values()))


@given(RECORDS, st.integers(1, 4))
def test_persons_of_parts_add_up(records, n_parts):
    """All records of a person are in one part, so that the parts together say what the table says."""
    combinations, persons = np.array(records).T
    place = persons % n_parts
    parts = [count_persons(combinations[place == i], persons[place == i], n_combinations=6) for i in range(n_parts)]
    found, truth = joined(parts, n_combinations=6), count_persons(combinations, persons, n_combinations=6)
    assert found.single.tolist() == truth.single.tolist()
    assert pairs_of(found) == pairs_of(truth)
    assert (found.n_persons, found.most_records, found.n_records) == (
        truth.n_persons,
        truth.most_records,
        truth.n_records,
    )


@given(RECORDS, st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_persons_of_rows_of_several_combinations(records, row_of):
    """Whoever has several combinations that are in one row has a single row."""
    combinations, persons = np.array(records).T
    found = regrouped(count_persons(combinations, persons, n_combinations=6), np.array(row_of), n_rows=3)
    truth = count_persons(np.array(row_of)[combinations], persons, n_combinations=3)
    assert found.single.tolist() == truth.single.tolist()
    assert pairs_of(found) == pairs_of(truth)
    assert (found.n_persons, found.most_records, found.n_records) == (
        truth.n_persons,
        truth.most_records,
        truth.n_records,
    )


@given(st.lists(st.integers(-3, 4), max_size=80), st.integers(1, 5))
def test_records_with_the_smallest_hashes_stay(persons, most):
    """Of each person as many as may, in whatever order the records come."""
    rows = np.arange(len(persons)) * 7 + 3
    hashes = dict(zip(rows.tolist(), xxhash64(rows).view(np.int64).tolist(), strict=True))
    beyond = set()
    for person in set(persons):
        own = sorted((row for row, mine in zip(rows.tolist(), persons, strict=True) if mine == person), key=hashes.get)
        beyond |= set(own[most:])
    order = np.random.default_rng(SEED).permutation(len(rows))
    found = are_beyond_cap(np.array(persons, dtype=np.int64)[order], rows[order], most=most)
    assert set(rows[order][found].tolist()) == beyond


@pytest.mark.parametrize("n", [1, 7, 8, 9, 250])
def test_marks_are_where_they_were_made(n):
    """Whatever part of the records is asked for, also one that begins inside a byte."""
    is_marked = np.random.default_rng(SEED).random(n) < 0.3
    marks = Marks(n)
    marks.mark(np.flatnonzero(is_marked))
    for first in range(0, n, 5):
        for length in (0, 1, 3, 8, n - first):
            own = is_marked[first : first + length]
            assert marks.are_marked(first, len(own)).tolist() == own.tolist()


def test_needs_count_what_is_stored_of_persons(tmp_path):
    """Numbers of persons and codes take disk, and what would not fit is told before any work starts."""
    case = encounters(20_000)
    source = case.write(tmp_path)
    policy = kepsilon.Policy.from_dict(case.policy)
    plain = {
        name: own
        for name, own in case.policy.items()
        if name not in ("person", "epsilon_per", "max_records_per_person")
    }
    plain["attributes"] = {**plain["attributes"], "illness": {"role": "sensitive"}, "score": {"role": "sensitive"}}
    with_persons, without = (
        estimate_needs(source, own, memory="200MB", spill_folder=tmp_path)
        for own in (policy, kepsilon.Policy.from_dict(plain))
    )
    assert with_persons.disk == pytest.approx(without.disk + 3 * 8 * 20_000, rel=0.02)


def test_limits_let_through_as_many_records_as_may_stay():
    """Against a loop over persons, with records that share a hash."""
    draw = np.random.default_rng(SEED)
    for most in (1, 2, 5):
        entries = np.unique(draw.integers(0, [20, 9], (60, 2)), axis=0)
        persons, hashes, counts = entries[:, 0], entries[:, 1] - 4, draw.integers(1, 4, len(entries))
        staying = n_within_cap(persons, hashes, counts, most=most)
        limits = limits_of(persons, hashes, counts, staying)
        limit_of = dict(
            zip(limits.persons.tolist(), zip(limits.hashes, limits.n_staying, limits.n_there, strict=True), strict=True)
        )
        for person in np.unique(persons).tolist():
            own = [(h, n) for p, h, n in zip(persons, hashes, counts, strict=True) if p == person]
            total = sum(n for _, n in own)
            assert staying[persons == person].sum() == min(most, total)
            assert (person in limit_of) == (total > most)
            if person in limit_of:
                limit, n_at, n_there = limit_of[person]
                assert sum(n for h, n in own if h < limit) + n_at == most
                assert dict(own)[limit] == n_there
