# SPDX-License-Identifier: Apache-2.0
"""Spark DataFrames whose records are about persons: they have no position, and some are alike in everything."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.count import Counted, read_and_count
from kepsilon.engines.protocol import Batch
from kepsilon.engines.spark.engine import SparkEngine
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.classes import Recoding
from kepsilon.table.persons import count_persons
from kepsilon.table.sensitive import count_sensitive
from material.encounters import DIVERSE
from material.engine_cases import SEED, document, spark_session

pytestmark = pytest.mark.spark

N, CAP = 1_200, 2


@pytest.fixture(scope="module")
def session():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield spark_session()


def alike() -> pa.Table:
    """Persons with up to forty records, most of them alike in all but an identifier."""
    draw = random.Random(SEED)
    persons = [min(int(draw.paretovariate(0.7)), 300) * 7 % 301 for _ in range(N)]
    changes = [draw.random() < 0.2 for _ in range(N)]
    return pa.table(
        {
            "visit": [f"CANARY-{i}" for i in range(N)],
            "name": [None if draw.random() < 0.02 else f" CANARY-{own} " for own in persons],
            "zip": [
                f"{own % 3:05d}" if same else f"{draw.randrange(3):05d}"
                for own, same in zip(persons, changes, strict=True)
            ],
            "sex": ["FM"[own % 2] for own in persons],
            "height": [None if draw.random() < 0.03 else 160.0 + own % 5 for own in persons],
            "illness": [f"illness {own % 4}" for own in persons],
            "score": pa.array([own % 6 for own in persons], pa.int32()),
        }
    )


def counted(session: Any, table: pa.Table, folder: Path, n_parts: int) -> Counted:
    policy = document(visit={"role": "identifier"}, **DIVERSE)
    policy |= {"person": "name", "epsilon_per": "record", "max_records_per_person": CAP}
    frame = session.createDataFrame(table).repartition(n_parts)
    engine = SparkEngine(session=session, memory=4_000_000, staging=folder)
    return read_and_count(frame, kepsilon.Policy.from_dict(policy), engine=engine, clock=Stopwatch(ignore_step))


def seen_in(batches: list[Batch]) -> Counter[Any]:
    """Class, height, person and codes of every record."""
    seen: Counter[Any] = Counter()
    for batch in batches:
        assert batch.persons is not None
        assert batch.sensitive is not None
        columns = (batch.class_ids + batch.classes.start, batch.values[:, 0], batch.persons, *batch.sensitive.T)
        seen.update(zip(*(own.tolist() for own in columns), strict=True))
    return seen


def test_every_job_takes_the_same_records_of_a_person(session, tmp_path):
    """Counts, previews, classes and whole records agree, though nothing tells records that are alike apart."""
    table = alike()
    own = counted(session, table, tmp_path, 5)
    known = [
        name
        for name, height in zip(*(table.column(c).to_pylist() for c in ("name", "height")), strict=True)
        if name and height
    ]
    n_of = Counter(known)
    assert own.left_out.missing == N - len(known)
    assert own.left_out.by_cap == sum(max(0, n - CAP) for n in n_of.values()) > N / 4
    n_rows = own.table.n_combinations
    recoding = Recoding(class_of=np.arange(n_rows), sizes=own.table.counts, attributes=())
    classes = own.columns.classes(recoding)
    preview, stored = (seen_in(list(each.each(copy))) for each in (own.columns.preview(recoding), classes))
    assert preview == stored
    of_person = Counter()
    for (_, _, person, *_), n in preview.items():
        of_person[person] += n
    assert sorted(of_person.values()) == sorted(min(CAP, n) for n in n_of.values())
    rows, _, persons, *codes = (np.array(column) for column in zip(*preview.elements(), strict=True))
    truth = count_persons(rows, persons, n_combinations=n_rows)
    assert own.table.persons is not None
    assert own.table.persons.single.tolist() == truth.single.tolist()
    assert sorted(own.table.persons.combinations.tolist()) == sorted(truth.combinations.tolist())
    assert (own.table.persons.n_persons, own.table.persons.n_records) == (truth.n_persons, truth.n_records)
    for found, column in zip(own.table.sensitive.values(), codes, strict=True):
        again = count_sensitive(rows, column, n_values=found.n_values, is_ordered=found.is_ordered)
        assert found.counts.tolist() == again.counts.tolist()
        assert found.codes.tolist() == again.codes.tolist()
    for identifiers in ([], ["visit", "name"]):
        whole = own.columns.whole_records(np.ones(n_rows), identifiers=identifiers)
        assert Counter(zip(whole.combinations.tolist(), whole.values[:, 0].tolist(), strict=True)) == Counter(
            (row, height) for row, height, *_ in preview.elements()
        )
    assert max(np.bincount(whole.identifiers["name"].codes)) == CAP
    classes.close()
    own.columns.close()
    assert list(tmp_path.iterdir()) == []


def test_values_do_not_decide_which_records_of_a_dataframe_stay(session, tmp_path):
    """A hash that everybody can work out would tell whoever knows all other records which values one cannot have."""
    table = alike()
    one, other = (counted(session, table, tmp_path, 2).table for _ in range(2))
    assert one.counts.sum() == other.counts.sum()
    assert (
        any(one.sensitive[name].counts.tolist() != other.sensitive[name].counts.tolist() for name in DIVERSE)
        or one.counts.tolist() != other.counts.tolist()
    )


def test_a_dataframe_that_is_computed_in_other_pieces_keeps_the_same_records(session, tmp_path, monkeypatch):
    """What is left out does not depend on how Spark divides the work."""
    monkeypatch.setattr("kepsilon.engines.spark.reading.randbits", lambda _: 11)
    table = alike()
    one, other = (counted(session, table, tmp_path, n_parts).table for n_parts in (2, 7))
    assert one.counts.tolist() == other.counts.tolist()
    assert one.persons is not None
    assert other.persons is not None
    assert one.persons.single.tolist() == other.persons.single.tolist()
    for name in DIVERSE:
        assert one.sensitive[name].counts.tolist() == other.sensitive[name].counts.tolist()
