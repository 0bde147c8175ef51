# SPDX-License-Identifier: Apache-2.0
"""How well the size of the noise gives extreme records away: against SciPy, a slow oracle, and simulated attackers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kepsilon.evaluate.outliers import (
    LIKELY,
    WITHIN,
    Extremes,
    OutlierSums,
    extremes_of,
    gamma_between,
    recoverable_outliers,
)
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from oracles.noise import SEED


@pytest.mark.parametrize("shape", [1, 2, 3, 9, 30, 99, 1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("width", [0.01, 0.25, 1.0, 30.0])
def test_gamma_probabilities_are_those_of_scipy(shape, width):
    """To nine digits from one known record to millions; the mutant with one record more is seen."""
    low, high = np.array([shape * (1 - width)]), np.array([shape * (1 + width / 2)])
    expected = stats.gamma.cdf(high, shape) - stats.gamma.cdf(low, shape)
    assert gamma_between(low, high, shapes=np.array([float(shape)])) == pytest.approx(expected, abs=2e-8)
    if shape < 100 and 0.01 < expected < 0.99:
        assert gamma_between(low, high, shapes=np.array([shape + 1.0])) != pytest.approx(expected, abs=1e-6)


def test_an_interval_of_gamma_may_be_empty_or_negative():
    """A tolerance of 0 gives no chance, and one that reaches below 0 loses nothing."""
    found = gamma_between(np.array([5.0, 7.0, -9.0]), np.array([5.0, 3.0, 1e9]), shapes=np.array([5.0, 5.0, 5.0]))
    assert found == pytest.approx([0.0, 0.0, 1.0])


rows = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([-3.0, 0.0, 1.0, 2.0, 7.5]), st.integers(1, 3)), max_size=25
)


@given(rows)
def test_extremes_are_the_outermost_values_of_other_records(table):
    """Against sorting the records of each class; rows may stand for several records."""
    ids = np.array([own for own, _, _ in table], dtype=np.int64)
    values = np.array([own for _, own, _ in table])
    counts = np.array([own for _, _, own in table], dtype=np.int64)
    found = extremes_of(values, ids, n_classes=5, counts=counts)
    whole = extremes_of(np.repeat(values, counts), np.repeat(ids, counts), n_classes=5)
    for c in range(5):
        own = sorted(np.repeat(values, counts)[np.repeat(ids, counts) == c].tolist())
        ends = (
            [own[0], own[1], own[-2], own[-1]]
            if len(own) > 1
            else [*own, np.nan, np.nan, *own]
            if own
            else [np.nan] * 4
        )
        for extremes in (found, whole):
            got = [extremes.smallest[c], extremes.second_smallest[c], extremes.second_largest[c], extremes.largest[c]]
            assert np.array_equal(got, ends, equal_nan=True)


def one_class(values, *, low=None, high=None, step=0.0, n_active=1) -> OutlierSums:
    """The figures of one class."""
    values = np.asarray(values, dtype=np.float64)
    low, high = values.min() if low is None else low, values.max() if high is None else high
    return recoverable_outliers(
        extremes_of(values, np.zeros(len(values), dtype=np.int64), n_classes=1),
        low=np.array([low]), high=np.array([high]), sizes=np.array([len(values)]),
        n_active=np.array([n_active]), step=step,
    )  # fmt: skip


def attacked(values, target, *, low, high, step, n_active, n=20_000) -> float:
    """How often the attacker is within 25 % of the target: he measures the noise of the others and adds it up.

    Where there is a step he may also take the nearest multiple of it; the better of the two counts.
    """
    rng = np.random.default_rng(SEED)
    noise = LAPLACE.unit_noise(np.ones((n * (len(values) - 1), n_active), dtype=bool), rng)
    sizes = np.abs(noise).max(axis=1).reshape(n, -1)  # in units of R/ε
    measured = sizes.mean(axis=1) / n_active * (high - low)
    estimates = [measured, np.maximum(np.rint(measured / step), 1) * step] if step else [measured]
    return max(
        float(np.mean(np.abs(guess - target) <= 0.25 * abs(target)))
        for own in estimates
        for guess in [low + own - step / 2 if target == max(values) else high - own + step / 2]
    )


CASES = [
    pytest.param([20, 25, 30, 31, 33, 500], 500, {}, id="the largest"),
    pytest.param([-900, 25, 30, 31, 33, 40], -900, {}, id="the smallest"),
    pytest.param([20.0] * 5 + [30.0] * 20 + [90], 90, {}, id="not far out"),
    pytest.param([20, 25, 30, 31, 33, 500], 500, {"low": 0, "high": 600, "step": 200}, id="widened to a step"),
    pytest.param([5, 6, 7, 8, 9, 6, 7, 8, 9, 60], 60, {"low": 0, "high": 80, "step": 20}, id="a multiple of the step"),
    pytest.param([5, 6, 7, 8, 9, 6, 7, 8, 9, 79], 79, {"low": 0, "high": 80, "step": 40}, id="two steps wide"),
    pytest.param([5, 6, 7, 8, 9, 6, 7, 8, 9, 39], 39, {"low": 0, "high": 60, "step": 60}, id="one step wide"),
    pytest.param([-95, 6, 7, 8, 9], -95, {"low": -100, "high": 10, "step": 10}, id="the smallest, by steps"),
    pytest.param([20, 25, 30, 31, 33, 500], 500, {"n_active": 3}, id="three attributes"),
]


@pytest.mark.parametrize(("values", "target", "settings"), CASES)
def test_the_closed_form_is_what_the_attacker_reaches(values, target, settings):
    """20,000 simulated draws: within five standard errors."""
    share = attacked(
        values,
        target,
        low=settings.get("low", min(values)),
        high=settings.get("high", max(values)),
        step=settings.get("step", 0.0),
        n_active=settings.get("n_active", 1),
    )
    found = one_class(values, **settings)
    assert found.n_standing_out == 1
    assert abs(found.likeliest - share) < 5 * np.sqrt(share * (1 - share) / 20_000)
    assert found.n_likely == (found.likeliest >= LIKELY)


@pytest.mark.parametrize("d", [2, 3])
def test_one_unknown_range_among_several_is_told_nearly_as_well(d):
    """The best guess of one range, all others known: never better than the figure, and at most a tenth worse."""
    rng = np.random.default_rng(SEED + d)
    n, times = 9, 2_000
    noise = np.abs(LAPLACE.unit_noise(np.ones((n * times, d), dtype=bool), rng)).reshape(times, n, d)
    scales = np.exp(np.linspace(-2, 2, 801))
    hits = 0
    for own in noise:
        others = own[:, 1:].max(axis=1)
        likelihood = -np.maximum(others[:, None], own[:, :1] / scales).sum(axis=0) - n * np.log(scales)
        hits += abs(scales[likelihood.argmax()] - 1) <= WITHIN
    bound = gamma_between(np.array([n * d * 0.75]), np.array([n * d * 1.25]), shapes=np.array([float(n * d)]))[0]
    assert bound - 0.1 < hits / times < bound + 5 * np.sqrt(0.25 / times)


@pytest.mark.parametrize(
    ("values", "n_classes", "n_standing_out"),
    [
        pytest.param([100, 110, 120, 130], 1, 0, id="a neighbour within 25 %"),
        pytest.param([100, 110, 500, 500], 1, 0, id="two records share it"),
        pytest.param([50, 50, 50, 50], 0, 0, id="no noise"),
        pytest.param([0, 50, 51, 52], 1, 1, id="zero stands out, and is never told within 25 %"),
    ],
)
def test_only_values_that_stand_out_are_counted(values, n_classes, n_standing_out):
    """Whoever knows the others is as near without any noise."""
    found = one_class(values)
    assert (found.n_classes, found.n_standing_out) == (n_classes, n_standing_out)
    assert found.likeliest == 0.0


def test_classes_add_up_and_missing_ones_are_left_out():
    """A class without any value has no range, and tells nothing."""
    nothing = np.array([np.nan])
    missing = recoverable_outliers(
        Extremes(smallest=nothing, second_smallest=nothing, second_largest=nothing, largest=nothing),
        low=nothing, high=nothing, sizes=np.array([7]), n_active=np.array([0]), step=0.0,
    )  # fmt: skip
    assert missing == OutlierSums()
    one, other = one_class([1, 2, 3, 900]), one_class([1, 1.1, 1.2, 1.3])
    both = one + other + missing
    assert (both.n_classes, both.n_standing_out) == (2, 1)
    assert both.likeliest == one.likeliest
