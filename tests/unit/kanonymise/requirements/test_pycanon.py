# SPDX-License-Identifier: Apache-2.0
"""k, ℓ and t of released tables, as pycanon sees them.

pycanon needs older libraries than the package, so tools/write_pycanon_answers.py asks it in an environment of its own, and
its answers are kept beside the oracles. Where it parts from the definitions, the difference is written down here.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kepsilon.table.class_values import values_in_classes
from kepsilon.table.persons import persons_in_classes
from kepsilon.table.value_distances import Reference
from material.released_labels import CASES, COLUMNS, ILLNESSES, QUASIS, made_up, released
from oracles import requirements as oracle

FOLDER = Path(oracle.__file__).parent
DOCUMENT = json.loads((FOLDER / "pycanon_answers.json").read_text(encoding="utf-8"))
EVERY_CASE = pytest.mark.parametrize("name", list(CASES))
BOTH = pytest.mark.parametrize("column", ["illness", "cost"])


class Judged:
    """The rows of one case as the package's kernels take them."""

    def __init__(self, name, column="illness"):
        rows = DOCUMENT["cases"][name]["rows"]
        self.answers = DOCUMENT["cases"][name]["answers"]
        labels = [tuple(row[: len(QUASIS)]) for row in rows]
        numbers = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        self.class_ids = np.array([numbers[label] for label in labels])
        self.n_classes = len(numbers)
        self.persons = np.array([row[COLUMNS.index("person")] for row in rows])
        self.column = [row[COLUMNS.index(column)] for row in rows]
        by_illness, by_cost = made_up()
        self.everyone = by_cost.values if column == "cost" else [ILLNESSES[value] for value in by_illness.values]
        self.domain = sorted(set(self.everyone))
        self.values = values_in_classes(
            self.class_ids,
            np.array([self.domain.index(value) for value in self.column]),
            n_classes=self.n_classes,
            n_values=len(self.domain),
        )

    def reference(self, values, *, ordered):
        counts = Counter(values)
        return Reference(counts=np.array([counts[value] for value in self.domain]), is_ordered=ordered)


@EVERY_CASE
def test_the_tables_are_what_is_released_today(name):
    """If a search changes, ask pycanon again: python tools/write_pycanon_answers.py."""
    assert DOCUMENT["cases"][name]["rows"] == released(name)


@EVERY_CASE
def test_pycanon_agrees_on_k_of_records_and_of_persons(name):
    """Persons as records of a table that has one record per class and person."""
    judged = Judged(name)
    assert np.bincount(judged.class_ids).min() == judged.answers["k"]
    fewest = persons_in_classes(judged.class_ids, judged.persons, n_classes=judged.n_classes).min()
    assert fewest == judged.answers["k persons"] >= CASES[name]["k"]


@EVERY_CASE
@BOTH
def test_pycanon_agrees_on_distinct_and_entropy_diversity(name, column):
    """pycanon rounds e to the entropy down to a whole number, and 1.9999999999999998, two equal values, to 1."""
    judged = Judged(name, column)
    answers = judged.answers[column]
    assert judged.values.n_distinct.min() == answers["distinct"]
    least = math.exp(judged.values.entropies().min())
    is_whole = math.isclose(least, round(least), rel_tol=1e-12)
    assert answers["entropy"] in ({round(least), round(least) - 1} if is_whole else {math.floor(least)})
    assert judged.values.are_entropy_diverse(max(answers["entropy"], 1.0)).all()


@EVERY_CASE
@BOTH
def test_pycanon_counts_recursive_diversity_from_the_rarest_value(name, column):
    """Its r_1 is the rarest value, against Machanavajjhala et al. 2007; so only what it computes can be compared.

    Ours is the definition's, with the most frequent value first: c just above the largest ratio is met, the ratio is not.
    """
    judged = Judged(name, column)
    c, least = judged.answers[column]["recursive"]
    in_class = [
        sorted(Counter(v for v, own in zip(judged.column, judged.class_ids, strict=True) if own == i).values())
        for i in range(judged.n_classes)
    ]
    assert max(rising[0] // sum(rising[least - 1 :]) + 1 for rising in in_class) == c
    ratio = max(Fraction(rising[-1], sum(rising[::-1][least - 1 :])) for rising in in_class)
    assert not judged.values.are_recursively_diverse(ratio, least).all()
    assert judged.values.are_recursively_diverse(ratio + Fraction(1, 10**9), least).all()


@EVERY_CASE
@BOTH
def test_pycanon_agrees_on_t_where_nobody_is_left_out(name, column):
    """It takes the release for all records. So does the mutant, and where records are left out it differs from ours."""
    judged = Judged(name, column)
    ordered = column == "cost"
    ours = judged.reference(judged.everyone, ordered=ordered).distances(judged.values).max()
    mutant = judged.reference(judged.column, ordered=ordered).distances(judged.values).max()
    assert mutant == pytest.approx(judged.answers[column]["t"], abs=1e-12)
    is_complete = len(judged.column) == len(judged.everyone)
    assert bool(ours == pytest.approx(mutant, abs=1e-12)) is is_complete


def test_there_are_cases_with_and_without_records_left_out():
    """Otherwise one half of the test above would be empty."""
    n_everyone = len(made_up()[0].persons)
    n_released = {len(case["rows"]) for case in DOCUMENT["cases"].values()}
    assert min(n_released) < n_everyone == max(n_released)
    assert set(DOCUMENT["cases"]) == set(CASES)
