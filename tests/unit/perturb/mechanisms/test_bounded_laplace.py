# SPDX-License-Identifier: Apache-2.0
"""The law of `bounded-laplace` as figures use it: closed forms against the mechanism's own draws, and bounds against sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from kepsilon.perturb.mechanisms.bounded_laplace import BOUNDED_LAPLACE, _links_of_one
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from oracles.bounded import law
from oracles.noise import seeded

N_DRAWS = 60_000


def steps(precision, domain=None, *, d=1):
    bounds = None if domain is None else tuple(map(Fraction, domain))
    return [Steps(precision=Fraction(precision), domain=bounds)] * d


def draws(value, low, high, *, epsilon, own_steps, stream, n=N_DRAWS):
    d = len(own_steps)
    return BOUNDED_LAPLACE.draw(
        np.full((n, d), float(value)),
        np.zeros(n, dtype=np.int64),
        np.full((1, d), float(low)),
        np.full((1, d), float(high)),
        epsilon=Fraction(epsilon),
        steps=own_steps,
        source=seeded(stream),
    )


def one_row(x, d=1):
    return np.full((1, d), float(x))


CASES = [
    pytest.param(0, 0, None, 1, id="at an end"),
    pytest.param(3, 3, None, 1, id="inside"),
    pytest.param(10, 14, None, 1, id="clipped"),
    pytest.param(3, 3, (2, 6), 1, id="clamped"),
    pytest.param(0, -5, (-3, 4), 1, id="clipped and clamped"),
    pytest.param(3, 3, (20, 30), 1, id="a domain beside the range"),
    pytest.param(7, 7, None, 3, id="three share epsilon"),
]


@pytest.mark.parametrize("epsilon", ["0.0001", "0.5", "4", "100"])
@pytest.mark.parametrize(("value", "original", "domain", "d"), CASES)
def test_expected_distances_are_those_of_draws(value, original, domain, d, epsilon):
    """|z| < 5 over 60,000 draws, in steps of a ten-thousandth of the range; with 1.3 ε it is more where ε tells."""
    own = steps("0.001", domain, d=d)
    came = np.abs(draws(value, 0, 10, epsilon=epsilon, own_steps=own, stream=230)[:, 0] - original)

    def z(epsilon):
        found = BOUNDED_LAPLACE.expected_distances(
            one_row(value, d), one_row(original, d), one_row(0, d), one_row(10, d), epsilon=epsilon, steps=own
        )
        return abs(came.mean() - found[0, 0]) / max(came.std() / math.sqrt(N_DRAWS), 1e-9)

    assert z(float(epsilon)) < 5
    if domain is None and 1 < float(epsilon) < 50:
        assert z(1.3 * float(epsilon)) > 5


@pytest.mark.parametrize(
    ("epsilon", "error"), [("0.05", 0.33), ("0.5", 0.31), ("1", 0.29), ("2", 0.24), ("4", 0.18), ("8", 0.107)]
)
def test_errors_of_evenly_spread_values_are_those_of_the_model(epsilon, error):
    """In units of the range, expected and drawn; noise that leaves the range has 1/ε of it."""
    values = np.linspace(0, 1, 20_001)[:, np.newaxis]
    own = steps("0.0001")
    low, high = np.zeros_like(values), np.ones_like(values)
    found = BOUNDED_LAPLACE.expected_distances(values, values, low, high, epsilon=float(epsilon), steps=own).mean()
    assert found == pytest.approx(error, abs=0.006)
    came = BOUNDED_LAPLACE.draw(
        values, np.zeros(len(values), dtype=np.int64), low[:1], high[:1],
        epsilon=Fraction(epsilon), steps=own, source=seeded(231),
    )  # fmt: skip
    assert np.abs(came - values).mean() == pytest.approx(found, rel=0.03)


LAWS = [
    pytest.param(0, 10, "1", None, id="ends on multiples"),
    pytest.param(0.5, 10.5, "1", None, id="ends between multiples"),
    pytest.param(0, 10, "3", None, id="few multiples"),
    pytest.param(0, 10, "1", (2, 8), id="a domain inside"),
    pytest.param(0, 10, "1", (-5, 6), id="a domain over one end"),
]


@pytest.mark.parametrize("epsilon", ["0.01", "2", "20"])
@pytest.mark.parametrize(("low", "high", "precision", "domain"), LAWS)
def test_likelihoods_are_the_law_of_what_is_published(low, high, precision, domain, epsilon):
    """Rounding and clamping included: differences of logarithms are those of frequencies, for every pair of originals."""
    own = steps(precision, domain)
    originals = np.array([low, low + 1.3, 5.0, high])
    frequencies = []
    for i, value in enumerate(originals):
        came = draws(value, low, high, epsilon=epsilon, own_steps=own, stream=232 + i)[:, 0]
        frequencies.append(came)
    shown = np.unique(np.concatenate(frequencies))
    counts = np.array([[np.count_nonzero(came == x) for x in shown] for came in frequencies])
    x, v = (grid.reshape(-1, 1) for grid in np.meshgrid(shown, originals))
    logs = BOUNDED_LAPLACE.log_likelihoods(
        x, v, np.full_like(x, low), np.full_like(x, high), epsilon=float(epsilon), steps=own
    ).reshape(counts.shape)
    assert (logs.max(axis=0) - logs.min(axis=0)).max() <= float(epsilon) + 1e-9
    # Logarithms lack a number for each published value, which the total of all originals gives.
    share = np.exp(logs)
    share *= counts.sum(axis=0) / share.sum(axis=0)
    seen = counts.sum(axis=0) > 200
    spread = np.sqrt(np.maximum(share, 1.0))
    assert (np.abs(counts - share) / spread)[:, seen].max() < 5
    doubled = np.exp(2 * logs)
    doubled *= counts.sum(axis=0) / doubled.sum(axis=0)
    if float(epsilon) > 1 and seen.sum() > 2:
        assert (np.abs(counts - doubled) / spread)[:, seen].max() > 10


def test_several_likelihoods_add_up_with_a_part_of_epsilon_each():
    own = steps("1", d=2)
    x, v = np.array([[2.0, 7.0]]), np.array([[5.0, 6.0]])
    low, high = np.zeros((1, 2)), np.full((1, 2), 10.0)
    both = BOUNDED_LAPLACE.log_likelihoods(x, v, low, high, epsilon=4.0, steps=own)
    apart = sum(
        BOUNDED_LAPLACE.log_likelihoods(x[:, [j]], v[:, [j]], low[:, [j]], high[:, [j]], epsilon=2.0, steps=own[:1])
        for j in range(2)
    )
    np.testing.assert_allclose(both, apart)
    high[0, 1] = 0.0  # the second has no noise, and the first gets all of ε
    alone = BOUNDED_LAPLACE.log_likelihoods(x, v, low, high, epsilon=4.0, steps=own)
    first = BOUNDED_LAPLACE.log_likelihoods(x[:, :1], v[:, :1], low[:, :1], high[:, :1], epsilon=4.0, steps=own[:1])
    np.testing.assert_allclose(alone, first)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("epsilon", ["0.01", "2", "20"])
def test_values_lie_within_reach_as_often_as_asked_for(epsilon, d):
    """Just so often at the ends of a range, and more often elsewhere; rounding is left out of it."""
    reach = BOUNDED_LAPLACE.reach(one_row(0, d), one_row(10, d), epsilon=float(epsilon), confidence=0.9)[0]
    own = steps("0.0001", d=d)
    for value in (0, 2, 5, 10):
        came = draws(value, 0, 10, epsilon=epsilon, own_steps=own, stream=240 + value)
        share = np.all(np.abs(came - value) <= reach, axis=1).mean()
        slack = 5 * math.sqrt(0.09 / N_DRAWS)
        assert share > 0.9 - slack
        if value in (0, 10):
            assert share < 0.9 + slack


@pytest.mark.parametrize("n_steps", [1, 2, 7, 64])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), Fraction(1), Fraction(8), Fraction(40)], ids=str)
def test_links_of_a_grid_do_not_pass_the_bound(epsilon, n_steps):
    """Σ_y max_n P(y | n) ≤ sinh(t/2)/(t/2)·f(ε + t) for steps of t = ε/N, the inequality that the bound rests on."""
    laws = [law(n, n_steps, epsilon) for n in range(n_steps + 1)]
    links = float(sum(max(column) for column in zip(*laws, strict=True)))
    t = float(epsilon) / n_steps
    bound = math.sinh(t / 2) / (t / 2) * _links_of_one(float(epsilon) + t)
    assert links <= bound * (1 + 1e-12)
    if t < 0.2:
        assert bound < 1.02 * links, "the bound is loose"


def test_bounds_of_several_hold_where_some_are_missing():
    """Fewer that are active share ε among fewer; the bound is for whichever have most links."""
    for epsilon in (Fraction(1, 10), Fraction(4), Fraction(60)):
        links = [float(BOUNDED_LAPLACE.most_links(d, epsilon=epsilon)) for d in (1, 2, 3, 5)]
        assert links == sorted(links)
        assert links[0] < 1 + float(epsilon) / 2
        assert links[-1] < math.exp(float(epsilon))


@pytest.mark.parametrize("epsilon", [0.0001, 0.7, 3.0, 50.0])
def test_no_value_has_more_noise_than_the_bound(epsilon):
    values = np.linspace(0, 1, 101)[:, np.newaxis]
    found = BOUNDED_LAPLACE.expected_distances(
        values, values, np.zeros_like(values), np.ones_like(values), epsilon=epsilon, steps=steps("0.001")
    )
    most = float(BOUNDED_LAPLACE.most_noise(1, epsilon=Fraction(epsilon)))
    assert found.max() == pytest.approx(most, rel=1e-6)
    assert most <= float(LAPLACE.most_noise(1, epsilon=Fraction(epsilon)))


def test_what_has_no_range_is_published_as_it_is_and_what_is_missing_stays_missing():
    values = np.array([[5.0, np.nan], [5.0, np.nan], [2.0, 3.0]])
    low, high = np.array([[5.0, np.nan], [0.0, 0.0]]), np.array([[5.0, np.nan], [10.0, 10.0]])
    came = BOUNDED_LAPLACE.draw(
        values, np.array([0, 0, 1]), low, high, epsilon=Fraction(1), steps=steps("1", d=2), source=seeded()
    )
    assert came[:2, 0].tolist() == [5.0, 5.0]
    assert np.isnan(came[:2, 1]).all()
    assert ((came[2] >= 0) & (came[2] <= 10)).all()


def test_nothing_leaves_the_range_but_by_rounding():
    came = draws(0.7, 0.7, 9.4, epsilon="0.0001", own_steps=steps("1"), stream=250)
    assert set(came[:, 0]) == set(range(1, 10))
