# SPDX-License-Identifier: Apache-2.0
"""Columns that tell nothing raise no alarm: 1,000 of them, shuffled within their classes.

Each is a column of the made-up hospital, clean or leaky, whose values were dealt anew among the records of each class. So
it keeps all that the class tells, and tells nothing beyond. Links by chance have about a Poisson distribution with one for
each class. With 130 classes an attacker reaches the alarm (λ ≥ 2) in 1e-23 of all columns and a note (z ≥ 5) in 1e-6, with
32 classes in 4e-7 and 3e-6. With eight attackers for each of 1,000 columns, a right detector raises an alarm here with
one seed in 750, and a note with one in 60; the seed is fixed.
"""

from __future__ import annotations

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
