# SPDX-License-Identifier: Apache-2.0
"""Persons, the cap on their records and sensitive values: what every engine finds, against a slow way to it."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.count import Counted, read_and_count
from kepsilon.engines.local.engine import LocalEngine
from kepsilon.engines.protocol import Batch, LargeClass
from kepsilon.errors import DataError, MemoryLimitError, UnsatisfiableError
from kepsilon.kanonymise.algorithms import k_anonymise
from kepsilon.randomness import unsafe_seeded_bytes
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.classes import Recoding
from material.encounters import DIVERSE, Expected, encounters, expected, singles_and_several
from material.engine_cases import ENGINES, EVERY, OTHERS, Case, document, giant_class, random_people, release

CASES = {
    "text": encounters(),
    "number": encounters(naming="number", cap=2),
    "float": encounters(naming="float", cap=None),
    "one record each": encounters(cap=1),
    "no noise": encounters(height={"role": "insensitive"}),
    "missing in class": encounters(
        height={"role": "epsilon-quasi", "precision": 0.1, "range": "class", "missing": "class"}, n=900
    ),
}


def counted(case: Case, engine: str, folder: Path) -> Counted:
    """A case read from files and counted by an engine."""
    policy = kepsilon.Policy.from_dict(case.policy)
    source = folder / "table"
    if not source.exists():
        case.write(folder)
    return read_and_count(source, policy, engine=ENGINES[engine](folder, case.memory), clock=Stopwatch(ignore_step))


def combinations_of(own: Counted) -> list[tuple[Any, ...]]:
    """Values of the k-quasis, by row of the frequency table."""
    columns = [
        [domain.levels[0][code] for code in codes.tolist()]
        for domain, codes in zip(own.table.domains, own.table.codes, strict=True)
    ]
    return list(zip(*columns, strict=True))


def check_table(own: Counted, truth: Expected) -> None:
    """What was left out and counted, against the slow way."""
    assert own.left_out.missing == truth.missing
    assert own.left_out.unlisted == truth.unlisted
    assert own.left_out.by_cap == truth.by_cap
    combinations = combinations_of(own)
    assert Counter(dict(zip(combinations, own.table.counts.tolist(), strict=True))) == Counter(
        truth.combination.values()
    )
    persons = own.table.persons
    assert persons is not None
    single, several = singles_and_several(truth)
    assert +Counter(dict(zip(combinations, persons.single.tolist(), strict=True))) == single
    of_person: dict[int, list[Any]] = {}
    for row, number in zip(persons.combinations.tolist(), persons.persons.tolist(), strict=True):
        of_person.setdefault(number, []).append(combinations[row])
    assert all(len(set(listed)) == len(listed) for listed in of_person.values())
    assert Counter(frozenset(listed) for listed in of_person.values()) == several
    assert sorted(of_person) == list(range(persons.n_several))
    assert persons.n_persons == len(set(truth.person.values()))
    assert persons.most_records == max(Counter(truth.person.values()).values())
    assert persons.n_records == len(truth.rows)
    assert list(own.table.sensitive) == list(DIVERSE)
    for name, found in own.table.sensitive.items():
        assert found.n_values == truth.n_values[name]
        assert found.is_ordered is (name == "score")
        pairs = zip(found.combinations.tolist(), found.codes.tolist(), found.counts.tolist(), strict=True)
        assert {(combinations[row], code): n for row, code, n in pairs} == Counter(
            (truth.combination[row], code) for row, code in truth.codes[name].items() if code >= 0
        )


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("engine", EVERY)
def test_persons_and_sensitive_values_are_counted(name, engine, tmp_path):
    """Who is unknown, who has too many records, and who is in one combination or in several: as counted by hand."""
    case = CASES[name]
    own = counted(case, engine, tmp_path)
    check_table(own, expected(case))
    own.columns.close()
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def in_parts(found: Batch | LargeClass) -> list[Batch]:
    return [found] if isinstance(found, Batch) else list(found.parts())


def draw_nothing(found: Batch | LargeClass, random: Any, store: Any) -> list[Batch]:
    """Releases every record as it is, and returns what there was to see."""
    del random
    parts = []
    for part in in_parts(found):
        store(part, part.values, np.ones(len(part.class_ids), dtype=np.bool_))
        parts.append(part)
    return parts


def check_batches(batches: list[Batch], own: Counted, truth: Expected, class_of: np.ndarray) -> None:
    """Persons and codes of the records of all classes, each record found by its height, of which there are no two equal."""
    row_of = {round(100 + row / 10, 1): row for row in truth.rows}
    place = {combination: row for row, combination in enumerate(combinations_of(own))}
    number_of: dict[str, int] = {}
    met = []
    for batch in batches:
        assert batch.persons is not None
        assert batch.sensitive is not None
        assert batch.persons.dtype == np.int64
        assert batch.sensitive.shape == (len(batch.class_ids), len(DIVERSE))
        for i, height in enumerate(batch.values[:, 0].tolist()):
            row = row_of[height]
            met.append(row)
            assert class_of[place[truth.combination[row]]] == batch.class_ids[i] + batch.classes.start
            number = int(batch.persons[i])
            assert number_of.setdefault(truth.person[row], number) == number
            assert batch.sensitive[i].tolist() == [truth.codes[name][row] for name in DIVERSE]
    assert len(set(number_of.values())) == len(number_of)
    assert sorted(met) == [row for row in truth.rows if class_of[place[truth.combination[row]]] >= 0]


@pytest.mark.parametrize("name", ["text", "number", "one record each"])
@pytest.mark.parametrize("engine", EVERY)
def test_batches_say_whom_records_are_about_and_what_is_sensitive(name, engine, tmp_path):
    """In previews, in classes and while noise is drawn, beside the values of the same record."""
    case = replace(CASES[name], memory=200_000)
    own, truth = counted(case, engine, tmp_path), expected(case)
    recoding = k_anonymise(own.table, kepsilon.Policy.from_dict(case.policy)).recoding
    preview = own.columns.preview(recoding)
    classes = own.columns.classes(recoding)
    looks = [preview.each(copy), classes.each(copy)]
    if engine != "spark":  # workers find no module of tests; they draw in the batches that they look at
        looks.append(
            part for own_parts in classes.draw(draw_nothing, random=unsafe_seeded_bytes(1)) for part in own_parts
        )
    for found in looks:
        batches = [batch for seen in found for batch in in_parts(seen)]
        if engine != "in memory" and name != "one record each":
            assert len(batches) > 1
        check_batches(batches, own, truth, recoding.class_of)
    classes.close()
    own.columns.close()


def test_persons_of_every_type_of_single_values_are_told_apart():
    """Dates, decimals, categories and numbers are compared as the text that a k-quasi of their type has."""
    people = random_people(6)
    for names in (
        pa.array([1, 2, 1, 2, 1, None], pa.int8()),
        pa.array(["a", " b", "a ", "b", "a", "\t"]),
        pa.array(["a", "b", "a", "b", "a", None]).dictionary_encode(),
        pa.array([18_000, 18_001, 18_000, 18_001, 18_000, None], pa.date32()),
        pa.array([0.0, 2.5, -0.0, 2.5, 0.0, None]),
        pa.array([b"a", b"b", b"a", b"b", b"a", None]),
    ):
        policy = kepsilon.Policy.from_dict({**document(), "person": "name", "epsilon_per": "record", "k": 2})
        own = read_and_count(
            pa.table({**people, "name": names}), policy, engine=LocalEngine(), clock=Stopwatch(ignore_step)
        )
        assert own.left_out.missing == 1
        assert own.table.persons is not None
        assert own.table.persons.n_persons == 2


@pytest.mark.parametrize("engine", EVERY)
def test_persons_in_lists_are_refused(engine, tmp_path):
    """Nobody knows what one person is there; the message says where, and holds no value."""
    columns = {**random_people(50), "name": [[f"CANARY-{i}"] for i in range(50)]}
    case = Case(pa.table(columns), {**document(), "person": "name", "epsilon_per": "record"}, n_files=1)
    with pytest.raises(DataError, match=r'column "name".*lists or structures') as raised:
        counted(case, engine, tmp_path)
    assert "CANARY" not in str(raised.value)


@pytest.mark.parametrize("engine", EVERY)
def test_sensitive_lists_are_refused(engine, tmp_path):
    """Values that are not single ones cannot be counted, so nothing can be asked of them."""
    columns = {**random_people(50), "illness": [["flu"]] * 50}
    case = Case(pa.table(columns), document(illness=DIVERSE["illness"]), n_files=1)
    with pytest.raises(DataError, match=r'column "illness".*lists or structures'):
        counted(case, engine, tmp_path)


@pytest.mark.parametrize("engine", OTHERS)
def test_a_class_in_parts_has_its_sensitive_values(engine, tmp_path):
    """Without persons a class that is too large is read in parts, and each part has the codes of its own records."""
    case = giant_class()
    columns = {name: case.table.column(name) for name in case.table.column_names}
    columns["height"] = np.round(100 + np.arange(len(case.table)) / 10, 1)
    case = replace(case, table=pa.table(columns), policy=document(illness=DIVERSE["illness"]))
    own = counted(case, engine, tmp_path)
    recoding = k_anonymise(own.table, kepsilon.Policy.from_dict(case.policy)).recoding
    assert len(recoding.sizes) == 1
    listed = sorted(set(case.table.column("illness").to_pylist()))
    codes = [listed.index(value) for value in case.table.column("illness").to_pylist()]
    classes = own.columns.classes(recoding)
    for found in (own.columns.preview(recoding).each(copy), classes.each(copy)):
        batches = [batch for seen in found for batch in in_parts(seen)]
        assert len(batches) > 3
        met = {}
        for batch in batches:
            assert batch.persons is None
            assert batch.sensitive is not None
            met |= dict(zip(np.rint(10 * batch.values[:, 0] - 1_000).astype(int), batch.sensitive[:, 0], strict=True))
        assert [met[row] for row in range(len(case.table))] == codes
    classes.close()
    own.columns.close()


@pytest.mark.parametrize("engine", OTHERS)
def test_a_class_too_large_for_memory_is_refused_where_persons_are_counted(engine, tmp_path):
    """Figures of persons need the whole class; the refusal says how much memory would do."""
    case = giant_class()
    policy = {**case.policy, "person": "name", "epsilon_per": "record"}
    own = counted(replace(case, policy=policy, memory=3_000_000), engine, tmp_path)
    recoding = k_anonymise(own.table, kepsilon.Policy.from_dict(case.policy)).recoding
    for ask in (own.columns.preview, own.columns.classes):
        with pytest.raises(MemoryLimitError, match="with person the memory has room for") as raised:
            ask(recoding)
        assert "GB of memory" in str(raised.value)
    own.columns.close()
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


@pytest.mark.parametrize("engine", OTHERS)
def test_too_many_pairs_are_refused_in_words(engine, tmp_path):
    """Everybody is in several combinations, and every record has a value of its own: neither fits, and both are said."""
    n = 2_000
    columns = {**random_people(n), "name": [f"CANARY-{i % 500}" for i in range(n)]}
    policy = {**document(), "person": "name", "epsilon_per": "record"}
    with pytest.raises(
        MemoryLimitError, match="pairs of a combination of k-quasis and a person who has several"
    ) as one:
        counted(Case(pa.table(columns), policy, memory=500_000), engine, tmp_path)
    policy = document(score=DIVERSE["score"])
    with pytest.raises(MemoryLimitError, match=r'pairs of a combination|"score": has at least') as other:
        counted(Case(pa.table(columns), policy, memory=500_000), engine, tmp_path)
    for raised in (one, other):
        assert "memory" in str(raised.value)
        assert "CANARY" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_one_person_with_too_many_records_is_refused(tmp_path):
    """A column that says the same of everybody does not name persons; the refusal does not say what it says."""
    columns = {**random_people(3_000), "name": ["CANARY"] * 3_000}
    policy = {**document(), "person": "name", "epsilon_per": "record"}
    with pytest.raises(MemoryLimitError, match="3,000 have to be counted together") as raised:
        counted(Case(pa.table(columns), policy, memory=500_000), "spilling", tmp_path)
    assert "CANARY" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


@pytest.mark.parametrize("engine", EVERY)
def test_whole_records_are_only_those_within_the_cap(engine, tmp_path):
    """Whoever looks for leaks must not see a record that is not released."""
    case = CASES["text"]
    own, truth = counted(case, engine, tmp_path), expected(case)
    whole = own.columns.whole_records(np.ones(own.table.n_combinations), identifiers=["name"])
    assert whole.rows is not None
    assert sorted(whole.rows.tolist()) == truth.rows
    own.columns.close()


@pytest.mark.parametrize("engine", EVERY)
def test_persons_are_nowhere_in_what_is_written(engine, tmp_path):
    """Release, linkage, manifest and the curator's record: no byte of them holds a name, or the number that stands for it."""
    case = encounters(cap=None)
    policy = kepsilon.Policy.from_dict({**case.policy, "max_suppression": 0.5})
    case.write(tmp_path)
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    engine_of_run = ENGINES[engine](tmp_path, 10**6)
    with kepsilon.anonymise(tmp_path / "table", policy, engine=engine_of_run, unsafe_seed=1) as release:
        written = release.write(
            outputs / "release.parquet", linkage=outputs / "linkage.parquet", report=outputs / "report.html"
        )
        assert written.record["records"]["released"] > 0
        tables = [release.frame, release.linkage]
    assert len(list(outputs.iterdir())) == 5
    assert "name" not in tables[0].column_names
    names = {name.strip() for name in case.table.column("name").to_pylist() if name and name.strip()}
    numbers = {int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little", signed=True) for name in names}
    for table in tables:
        for column in table.columns:
            shown = set(column.to_pylist())
            assert not shown & numbers
            assert not any("CANARY" in str(value) for value in shown)
    for path in outputs.iterdir():
        content = path.read_bytes()
        assert b"CANARY" not in content
        assert not any(number.to_bytes(8, "little", signed=True) in content for number in numbers)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outputs", "table"]


@pytest.mark.parametrize("engine", EVERY)
def test_classes_of_scattered_combinations_have_the_details_of_their_records(engine, tmp_path):
    """A preview reads its classes from buckets that hold records of other classes too."""
    case = replace(CASES["text"], memory=200_000)
    own, truth = counted(case, engine, tmp_path), expected(case)
    class_of = np.arange(own.table.n_combinations) * 5 % 7
    sizes = np.bincount(class_of, weights=own.table.counts).astype(np.int64)
    recoding = Recoding(class_of=class_of, sizes=sizes, attributes=())
    batches = [batch for seen in own.columns.preview(recoding).each(copy) for batch in in_parts(seen)]
    check_batches(batches, own, truth, class_of)
    own.columns.close()


@pytest.mark.parametrize("engine", EVERY)
def test_values_of_records_beyond_the_cap_are_not_known(engine, tmp_path):
    """A combination all of whose records are left out is no row of the table, and its values are in no domain."""
    n = 300
    columns = {
        **random_people(n),
        "name": ["CANARY"] * 40 + [f"CANARY-{i}" for i in range(n - 40)],
        "zip": [f"{i:05d}" for i in range(40)] + ["99999"] * (n - 40),
        "illness": [f"rare {i}" for i in range(40)] + ["flu"] * (n - 40),
    }
    policy = document(illness=DIVERSE["illness"]) | {"person": "name", "epsilon_per": "record"}
    case = Case(pa.table(columns), {**policy, "max_records_per_person": 2}, memory=10**6)
    own = counted(case, engine, tmp_path)
    assert own.left_out.by_cap == 38
    assert own.table.counts.min() > 0
    assert own.table.domains[0].n_values == 3
    assert own.table.sensitive["illness"].n_values == 3
    own.columns.close()


@pytest.mark.parametrize("engine", EVERY)
def test_a_record_whose_person_is_not_a_number_names_nobody(engine, tmp_path):
    """Four patients and a NaN, which may be one of the four, would be a class of five persons."""
    persons = [1.0, 2.0, 3.0, 4.0, float("nan"), 5.0, 6.0, 7.0, None, 8.0]
    table = pa.table(random_people(10)).set_column(0, "name", pa.array(persons))
    policy = document() | {"k": 5, "person": "name", "epsilon_per": "record"}
    own = counted(Case(table=table, policy=policy), engine, tmp_path)
    assert own.left_out.missing == 2
    assert own.table.persons is not None
    assert own.table.persons.n_persons == 8
    own.columns.close()


@pytest.mark.parametrize("engine", EVERY)
def test_blanks_do_not_hide_that_a_code_repeats(engine, tmp_path):
    """Each patient is there twice, once with a blank behind the number."""
    names = [f"CANARY-{i // 2}" + " " * (i % 2) for i in range(100)]
    case = Case(pa.table(random_people(100)).set_column(0, "name", pa.array(names)), document())
    with pytest.raises(UnsatisfiableError, match="100 records hold only 50 different values"):
        counted(case, engine, tmp_path)


@pytest.mark.parametrize("engine", EVERY)
def test_pictures_have_no_cell_of_few_persons(engine, tmp_path):
    """Thirty visits of one patient whom nobody is as tall as are no bin of their own, wherever the records are."""
    n = 300
    table = pa.table(
        {
            "name": [*(f"P{i % 60}" for i in range(n)), *["tall"] * 30],
            "zip": ["00001"] * (n + 30),
            "height": [*(150.0 + i % 40 for i in range(n)), *[230.0] * 30],
        }
    )
    height = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
    policy = document(height=height) | {"person": "name", "epsilon_per": "record"}
    policy["attributes"] = {name: own for name, own in policy["attributes"].items() if name in table.column_names}
    with release(Case(table, policy, memory=400_000), engine, tmp_path) as released:
        picture = released._pictures.values[0]
    shown = dict(zip(picture.edges, picture.before[1:], strict=True))  # each bin by its lower edge
    assert not any(count for edge, count in shown.items() if edge > 195)
    assert n / 2 <= sum(count or 0 for count in picture.before) <= n
