# SPDX-License-Identifier: Apache-2.0
"""Predictions from the quasis: exact where the formula is, and never from a record itself."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns.class_order import order_of_classes
from kepsilon.evaluate.kept_columns.guesses import formula_guesses
from kepsilon.evaluate.kept_columns.pairs import measured_of
from kepsilon.evaluate.kept_columns.two_folds import MOST_FEATURES, TwoFolds, two_folds
from material.whole_columns import whole_column

RNG = np.random.default_rng(8)
N = 1_000
WEIGHT, HEIGHT = np.exp(RNG.normal(4.3, 0.2, N)), RNG.normal(170, 8, N)
SEX = RNG.choice(["F", "M"], N)
QUASIS = {"weight": whole_column(WEIGHT), "height": whole_column(HEIGHT), "sex": whole_column(SEX)}


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(2 * WEIGHT - HEIGHT, id="sum"),
        pytest.param(np.log(WEIGHT / HEIGHT**2), id="logarithm of a ratio"),
        pytest.param(WEIGHT * HEIGHT, id="product"),
        pytest.param(np.where(SEX == "F", 1.0, 3.0) + HEIGHT, id="sum with a category"),
    ],
)
@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_formulas_are_found(target, missing):
    """Predicted within three hundredths of the spread, tails aside, also for records whose own value is missing."""
    shown = np.where(RNG.random(N) < missing, np.nan, target)
    found = two_folds(QUASIS, n_records=N).predictions(shown[:, None])[:, 0]
    assert np.quantile(np.abs(found - target), 0.98) < 0.03 * target.std()


def test_nothing_is_learnt_from_the_record_itself():
    """Changing one record's value leaves its own prediction alone, and moves those of the other half."""
    folds = two_folds(QUASIS, n_records=N)
    noise = RNG.normal(size=(N, 1))
    changed = noise.copy()
    changed[7] += 100
    before, after = folds.predictions(noise)[:, 0], folds.predictions(changed)[:, 0]
    same = folds.fold == folds.fold[7]
    assert np.array_equal(before[same], after[same])
    assert np.all(before[~same] != after[~same])
    first, second = folds.coefficients(noise), folds.coefficients(changed)
    own = folds.fold[7]
    assert np.array_equal(first[own], second[own])
    assert not np.array_equal(first[1 - own], second[1 - own])


def test_a_fit_to_the_record_itself_would_be_seen(monkeypatch):
    """Noise in classes of ten: honest folds link as chance does, and folds that overlap link far more."""
    n = 1_600
    quasis = {f"q{i}": whole_column(RNG.normal(size=n)) for i in range(20)}
    noise = {"x": measured_of(whole_column(RNG.normal(size=n)))}
    classes = order_of_classes(np.arange(n) // 10)

    def z():
        guess, *_ = formula_guesses(noise, two_folds(quasis, n_records=n))["x"]
        return guess.linked(classes).z

    honest = z()

    def overlapping(self, targets):
        return self.basis @ np.linalg.lstsq(self.basis, targets, rcond=None)[0]

    monkeypatch.setattr(TwoFolds, "predictions", overlapping)
    assert abs(honest) < 3
    assert z() > 5


def test_features_are_orthogonal_and_never_more_than_records_allow():
    """Copies, constants and sums of others are left out."""
    quasis = {**QUASIS, "copy": QUASIS["height"], "constant": whole_column([3.0] * N), "none": whole_column([None] * N)}
    basis = two_folds(quasis, n_records=N).basis
    assert basis.T @ basis / N == pytest.approx(np.eye(basis.shape[1]), abs=1e-6)
    assert basis.shape[1] == two_folds(QUASIS, n_records=N).basis.shape[1]
    many = {f"q{i}": whole_column(RNG.normal(size=2_000)) for i in range(40)}
    assert two_folds(many, n_records=2_000).basis.shape[1] == MOST_FEATURES
    few = {name: whole_column(values[:16]) for name, values in (("weight", WEIGHT), ("height", HEIGHT))}
    assert two_folds(few, n_records=16).basis.shape[1] <= 2
    assert two_folds({}, n_records=5).basis.shape == (5, 1)
    assert two_folds({}, n_records=0).basis.shape[0] == 0
