# SPDX-License-Identifier: Apache-2.0
"""Whole records are those of the combinations asked for, with every column, and the same from every engine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kepsilon
from kepsilon.count import Counted, read_and_count
from kepsilon.kanonymise.algorithms import k_anonymise
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.chosen_classes import choose_classes, in_classes
from kepsilon.table.classes import SUPPRESSED
from kepsilon.table.whole_records import MISSING, WholeColumn, WholeRecords
from material.engine_cases import CASES, ENGINES, OTHERS, Case


def counted(case: Case, engine: str, folder: Path) -> Counted:
    """A case read from files and counted by an engine."""
    source = folder / "table"
    if not source.exists():
        case.write(folder)
    policy = kepsilon.Policy.from_dict(case.policy)
    return read_and_count(source, policy, engine=ENGINES[engine](folder, case.memory), clock=Stopwatch(ignore_step))


def values_of(column: WholeColumn, shown: list[Any]) -> dict[int, Any]:
    """What each code stands for, by the values that the input has; fails where a code stands for two."""
    found: dict[int, Any] = {}
    for code, value in zip(column.codes.tolist(), shown, strict=True):
        assert (code == MISSING) == (value is None)
        assert found.setdefault(code, value) == value
    return {code: value for code, value in found.items() if code != MISSING}


def check_column(column: WholeColumn, shown: list[Any]) -> None:
    """A column against the values of its records: codes are ranks of the distinct values."""
    values = values_of(column, shown)
    assert sorted(values) == list(range(column.n_distinct))
    listed = [values[code] for code in range(column.n_distinct)]
    assert len({repr(value) for value in listed}) == len(listed)
    if listed and isinstance(listed[0], str | int | float):
        assert listed == sorted(listed)
    if listed and isinstance(listed[0], str):
        assert list(column.texts) == listed
    if listed and isinstance(listed[0], int | float):
        assert column.numbers is not None
        assert column.numbers.tolist() == [float(value) for value in listed]


def row_of_combination(table: Any, own: Counted) -> list[int | None]:
    """The slow way to the combination of every record: by the labels of its values; None where it was left out."""
    place = {tuple(codes): row for row, codes in enumerate(zip(*(c.tolist() for c in own.table.codes), strict=True))}
    labels = [{label: code for code, label in enumerate(domain.levels[0])} for domain in own.table.domains]
    n_k = len(own.roles.k_quasis)
    found: list[int | None] = []
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for i in range(len(table)):
        shown: list[Any] = [columns[name][i] for name in own.roles.k_quasis]
        for domain in own.table.domains[n_k:]:
            value = columns[domain.name.removesuffix(" is missing")][i]
            shown.append("missing" if value is None else "present")
        codes = [known.get(value, -1) for known, value in zip(labels, shown, strict=True)]
        found.append(place.get(tuple(codes)))
    return found


def check_against_input(whole: WholeRecords, own: Counted, case: Case, expected_rows: list[int]) -> None:
    assert whole.rows is not None
    rows = whole.rows.tolist()
    assert sorted(rows) == expected_rows
    combinations = row_of_combination(case.table, own)
    assert whole.combinations.tolist() == [combinations[row] for row in rows]
    for j, name in enumerate(own.roles.epsilon_quasis):
        column = case.table.column(name).to_pylist()
        for row, value in zip(rows, whole.values[:, j].tolist(), strict=True):
            assert math.isnan(value) if column[row] is None else value == column[row]
    assert list(whole.kept) == list(own.roles.kept)
    for name, column in {**whole.kept, **whole.identifiers}.items():
        shown = case.table.column(name).to_pylist()
        check_column(column, [shown[row] for row in rows])


def same(one: WholeRecords, other: WholeRecords) -> None:
    """Two engines handed over the same records in the same order."""
    np.testing.assert_array_equal(one.combinations, other.combinations)
    np.testing.assert_array_equal(one.values, other.values)
    for mine, theirs in ((one.kept, other.kept), (one.identifiers, other.identifiers)):
        assert list(mine) == list(theirs)
        for name, column in mine.items():
            np.testing.assert_array_equal(column.codes, theirs[name].codes)
            assert column.texts == theirs[name].texts
            assert column.is_date == theirs[name].is_date
            assert (column.numbers is None) == (theirs[name].numbers is None)
            if column.numbers is not None:
                np.testing.assert_array_equal(column.numbers, theirs[name].numbers)
    if one.rows is not None and other.rows is not None:
        np.testing.assert_array_equal(one.rows, other.rows)


def some(own: Counted) -> np.ndarray:
    """All records of every third combination."""
    return (np.arange(own.table.n_combinations) % 3 == 0).astype(float)


def is_left_out(case: Case, own: Counted) -> list[bool]:
    """Which records the policy leaves out, by its own words: unlisted values, and missing ones that are suppressed."""
    policy = kepsilon.Policy.from_dict(case.policy)
    unlisted = [
        value == "M" and "groups" in str(case.policy) for value in case.table.column(own.roles.k_quasis[1]).to_pylist()
    ]
    missing = [False] * len(case.table)
    for name, attribute in policy.epsilon_quasis.items():
        if attribute.missing == "suppress":
            missing = [
                was or value is None for was, value in zip(missing, case.table.column(name).to_pylist(), strict=True)
            ]
    return [a or b for a, b in zip(unlisted, missing, strict=True)]


@pytest.mark.parametrize("name", list(CASES))
def test_whole_records_are_those_of_the_chosen_combinations(name, tmp_path):
    """Of hard tables, with nulls, left-out records and odd types, every column of every chosen record, and no other record."""
    case = CASES[name]()
    own = counted(case, "in memory", tmp_path)
    shares = some(own)
    combinations, left_out = row_of_combination(case.table, own), is_left_out(case, own)
    expected = [i for i, row in enumerate(combinations) if not left_out[i] and row is not None and shares[row]]
    assert expected
    whole = own.columns.whole_records(shares, identifiers=["name"])
    check_against_input(whole, own, case, expected)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("engine", OTHERS)
def test_every_engine_hands_over_the_same_whole_records(name, engine, tmp_path):
    """What a detector says must not depend on where the records are; samples included."""
    case = CASES[name]()
    mine, theirs = counted(case, "in memory", tmp_path), counted(case, engine, tmp_path)
    shares = some(mine)
    shares[::2] *= 0.3
    one, other = (own.columns.whole_records(shares, identifiers=["name"]) for own in (mine, theirs))
    assert len(one.combinations)
    same(one, other)
    theirs.columns.close()


@pytest.mark.parametrize("name", ["plain", "mondrian", "missing in class", "no epsilon quasi", "tiny classes"])
def test_records_in_classes_have_their_true_values(name, tmp_path):
    """Whoever looks for leaks compares kept columns with what the release hides, so that has to be there unchanged."""
    case = CASES[name]()
    own = counted(case, "in memory", tmp_path)
    recoding = k_anonymise(own.table, kepsilon.Policy.from_dict(case.policy)).recoding
    shares = choose_classes(recoding, most=700)
    found = in_classes(own.columns.whole_records(shares, identifiers=["name"]), recoding, own.table, own.roles)
    assert found.rows is not None
    rows = found.rows.tolist()
    combinations = row_of_combination(case.table, own)
    classes = [int(recoding.class_of[combinations[row]]) for row in rows]
    assert SUPPRESSED not in classes
    assert len(set(zip(classes, found.class_ids.tolist(), strict=True))) == len(set(classes)) == found.n_classes
    assert sorted(np.bincount(found.class_ids)) == sorted(recoding.sizes[list(set(classes))])
    assert list(found.k_quasis) == list(own.roles.k_quasis)
    assert list(found.epsilon_quasis) == list(own.roles.epsilon_quasis)
    for column_name, column in (found.k_quasis | found.epsilon_quasis).items():
        shown = case.table.column(column_name).to_pylist()
        check_column(column, [shown[row] for row in rows])
