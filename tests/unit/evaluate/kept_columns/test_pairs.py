# SPDX-License-Identifier: Apache-2.0
"""Two kept numbers that tell an ε-quasi: against least squares, and what chance alone cannot do."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns.class_order import order_of_classes
from kepsilon.evaluate.kept_columns.pairs import measured_of, telling_pairs
from material.whole_columns import whole_column

RNG = np.random.default_rng(11)
N = 3_000
IDS = RNG.integers(0, 150, N)
WEIGHT = np.exp(RNG.normal(4.3, 0.2, N)) + IDS % 7
SHARE = RNG.uniform(0.2, 0.8, N)


def pairs(kept, ids=IDS, epsilon_quasis=None):
    def measured(columns):
        return {name: own for name, values in columns.items() if (own := measured_of(whole_column(values))) is not None}

    return telling_pairs(measured(kept), measured(epsilon_quasis or {"weight": WEIGHT}), order_of_classes(ids))


def r_squared(y, *columns):
    """Of least squares with an intercept for every class."""
    design = np.column_stack([*columns, (IDS[:, None] == np.arange(150)).astype(float)])
    alone = y - (np.bincount(IDS, y) / np.bincount(IDS))[IDS]
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return 1 - residual @ residual / (alone @ alone)


def test_the_gain_is_that_of_least_squares_within_classes():
    """Two blurred parts of a weight; tails are clipped, so to a hundredth."""
    one, other = WEIGHT * SHARE + RNG.normal(0, 3, N), WEIGHT * (1 - SHARE)
    found, *_ = [own for own in pairs({"one": one, "other": other}) if own.kind == "sum"]
    assert found.columns == ("one", "other")
    assert found.of == "weight"
    assert found.r_squared == pytest.approx(r_squared(WEIGHT, one, other), abs=0.01)
    alone = max(r_squared(WEIGHT, one), r_squared(WEIGHT, other))
    assert found.gain == pytest.approx(found.r_squared - alone, abs=0.02)
    assert found.is_alarm


@pytest.mark.parametrize(
    ("kept", "kind"),
    [
        pytest.param({"a": WEIGHT * SHARE, "b": WEIGHT * (1 - SHARE)}, "sum", id="sum"),
        pytest.param({"a": WEIGHT + 100 * SHARE, "b": 100 * SHARE}, "sum", id="difference"),
        pytest.param({"a": WEIGHT * np.exp(4 * SHARE), "b": np.exp(4 * SHARE)}, "ratio", id="ratio"),
        pytest.param({"a": WEIGHT * np.exp(4 * SHARE), "b": np.exp(-4 * SHARE)}, "ratio", id="product"),
    ],
)
def test_sums_differences_products_and_ratios_are_alarms(kept, kind):
    """Among ten columns that tell nothing."""
    noise = {f"x{i}": RNG.normal(size=N) for i in range(10)}
    found = pairs({**noise, **kept})
    assert [(own.columns, own.is_alarm) for own in found] == [(("a", "b"), True)]
    assert found[0].kind == kind


def test_who_tells_it_alone_gains_nothing_and_is_no_pair():
    """A copy in pounds is a matter of links."""
    assert pairs({"pounds": WEIGHT / 0.4536, "x": RNG.normal(size=N)}) == ()


def test_a_small_gain_is_a_note():
    """Two blurred copies, better together."""
    spread = WEIGHT.std()
    kept = {name: WEIGHT + RNG.normal(0, spread, N) for name in ("a", "b")}
    found = pairs(kept)
    assert found
    assert not any(own.is_alarm for own in found)


def test_every_column_with_a_pair_is_named_once_by_its_best():
    """Six columns of which any two tell the weight: three to five pairs, not fifteen."""
    kept = {f"x{i}": WEIGHT + (i + 1) * 60 * SHARE for i in range(6)}
    found = [own for own in pairs(kept) if own.is_alarm]
    assert {name for own in found for name in own.columns} == set(kept)
    assert len(found) <= 5


def test_few_records_with_many_columns_prove_nothing():
    """Thirty records, forty columns of noise: 780 pairs, some of which explain most of it by chance."""
    ids, weight = np.arange(30) // 10, RNG.normal(size=30)
    kept = {f"x{i}": RNG.normal(size=30) for i in range(40)}
    assert pairs(kept, ids, {"weight": weight}) == ()


def test_what_the_class_tells_is_no_gain():
    """Two columns whose difference is the mean weight of the class tell nothing that the class does not."""
    blur = RNG.normal(0, 1_000, N)
    weight = 10.0 * IDS + RNG.normal(size=N)
    kept = {"a": 10.0 * IDS + blur, "b": blur}
    assert r_squared(weight, *kept.values()) < 0.01
    assert pairs(kept, epsilon_quasis={"weight": weight}) == ()


def test_what_does_not_vary_within_classes_tells_nothing():
    """Nor do columns with missing values only, nor a single one."""
    assert pairs({"a": IDS * 1.0, "b": IDS * 3.0 + 1, "c": np.full(N, np.nan)}) == ()
    assert pairs({"a": WEIGHT}) == ()
    assert pairs({}, epsilon_quasis={"weight": np.ones(N)}) == ()
    ones = np.arange(N)
    assert pairs({"a": WEIGHT * SHARE, "b": WEIGHT * (1 - SHARE)}, ones) == ()
