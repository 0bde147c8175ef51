# SPDX-License-Identifier: Apache-2.0
"""Columns that tell nothing raise no alarm: 1,000 of them, shuffled within their classes.

Each is a column of the made-up hospital, clean or leaky, whose values were dealt anew among the records of each class. So
it keeps all that the class tells, and tells nothing beyond. Links by chance have about a Poisson distribution with one for
each class. With 130 classes an attacker reaches the alarm (λ ≥ 2) in 1e-23 of all columns and a note (z ≥ 5) in 1e-6, with
32 classes in 4e-7 and 3e-6. With eight attackers for each of 1,000 columns, a right detector raises an alarm here with
one seed in 750, and a note with one in 60; the seed is fixed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kepsilon.evaluate.kept_columns.look import fit_attackers
from material.hospital import hospital
from material.whole_columns import median_classes, records_in_classes

N = 2_000
N_COLUMNS = 1_000


def shuffled_within(values, ids, rng):
    by_class = np.argsort(ids, kind="stable")
    moved = np.empty_like(values)
    moved[by_class] = values[np.argsort(ids + rng.random(len(ids)))]
    return moved


def test_no_column_that_was_shuffled_within_its_classes_is_an_alarm():
    """None among 1,000 in small classes, and none in larger ones; z is what it should be for chance, a little below."""
    rng = np.random.default_rng(2_107)
    made = hospital(N, seed=21)
    columns = {**made.clean, **made.leaky, **made.noted, **made.paired}
    texts = ("note", "remarks", "case", "row")  # these are judged by what they hold or look like
    names = [name for name in columns if name not in texts]
    quasis = list(made.k_quasis.values())
    for k, n_columns in ((10, 600), (40, 400)):
        ids = median_classes(quasis, k=k)
        kept = {
            f"{i} {name}": shuffled_within(columns[name], ids, rng)
            for i in range(n_columns)
            for name in [names[i % len(names)]]
        }
        records = records_in_classes(
            ids, k_quasis=made.k_quasis, epsilon_quasis=made.epsilon_quasis, kept=kept, identifiers=made.identifiers
        )
        found = fit_attackers(records).in_classes(ids)
        assert [own.column for own in found.alarming] == []
        assert found.pairs == ()
        assert not any("links" in own.notes or "bits" in own.notes for own in found.columns)
        assert np.quantile([own.z for own in found.columns], 0.5) < 1.0
        assert len(found.columns) == n_columns


def test_the_detector_could_have_noticed():
    """Half of the records hold their own BMI, among as many that hold somebody else's of their class: an alarm."""
    rng = np.random.default_rng(3)
    made = hospital(N, seed=21)
    ids = median_classes(list(made.k_quasis.values()), k=10)
    verdicts = {}
    for share in (0.0, 0.5):
        bmi = np.where(rng.random(N) < share, made.leaky["bmi"], shuffled_within(made.leaky["bmi"], ids, rng))
        records = records_in_classes(ids, k_quasis=made.k_quasis, epsilon_quasis=made.epsilon_quasis, kept={"bmi": bmi})
        (column,) = fit_attackers(records).in_classes(ids).columns
        verdicts[share] = column.verdict
    assert verdicts == {0.0: "nothing", 0.5: "alarm"}


def encounters(seed):
    """Records of a few persons or of many, 1 to 40 of each, in classes of persons; some persons are in two classes.

    Of quasis and kept columns some are the same in all records of a person, some nearly, some not, and some are missing in
    records of persons who have many. No kept column goes with any quasi.
    """
    rng = np.random.default_rng(seed)
    n_persons = int(rng.choice([10, 20, 60, 300]))
    n_each = rng.integers(1, 41, n_persons) if seed % 2 else np.full(n_persons, rng.choice([4, 30, 60]))
    person = np.repeat(np.arange(n_persons), n_each)
    n = len(person)
    ids = (rng.permutation(n_persons) // int(rng.choice([3, 5, 10])))[person]
    if seed % 3 == 0:
        ids = 2 * ids + rng.integers(0, 2, n)

    def same(*law):
        return getattr(rng, law[0])(*law[1:], n_persons)[person]

    records = records_in_classes(
        ids,
        k_quasis={"age": same("integers", 20, 80), "room": rng.integers(0, 30, n), "decade": same("integers", 0, 4)},
        epsilon_quasis={
            "height": same("normal", 170, 10).round(1),
            "weight": rng.normal(80, 15, n).round(1),
            "nearly": (same("normal", 80, 10) + rng.normal(0, 1, n)).round(1),
        },
        kept={
            "blood": [f"B{own}" for own in same("integers", 0, 8)],
            "town": [f"T{own}" for own in same("integers", 0, 60)],
            "income": same("normal", 3e4, 5e3).round(),
            "diagnosis": [f"D{own}" for own in rng.integers(0, 40, n)],
            "pulse": rng.normal(70, 8, n).round(1),
            "cholesterol": (same("normal", 200, 30) + rng.normal(0, 3, n)).round(1),
            "rare": np.where(n_each[person] > 5, np.nan, same("normal", 0, 1).round(2)),
            "rarely": np.where(n_each[person] > 20, np.nan, rng.normal(0, 1, n).round(2)),
        },
    )
    return replace(records, persons=person)


def test_no_column_of_persons_that_goes_with_no_quasi_is_an_alarm():
    """Of persons with many records, whatever is the same in all of them; told apart, 200 columns raise no alarm.

    Were records taken for persons, the same tables would raise some: so the test can see it.
    """
    n_taken_for_persons = 0
    for seed in range(25):
        records = encounters(seed)
        found = fit_attackers(records, joining_tells=False).in_classes(records.class_ids)
        assert [own.column for own in found.alarming] == [], seed
        assert found.pairs == ()
        assert not any({"links", "bits", "alone"} & set(own.notes) for own in found.columns), seed
        if seed < 5:
            n_taken_for_persons += len(
                fit_attackers(replace(records, persons=None)).in_classes(records.class_ids).alarming
            )
    assert n_taken_for_persons > 0
