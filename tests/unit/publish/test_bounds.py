# SPDX-License-Identifier: Apache-2.0
"""The bounds of the manifest hold whatever the values are, and are not needlessly wide."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import comb, factorial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kepsilon as ke
from kepsilon.policy.exact_bounds import GRID_BITS
from kepsilon.publish.bounds import bounds_of, most_links
from oracles import attacks


def policy(d: int, epsilon: float, range_: object = "class") -> ke.Policy:
    quasi = {"role": "epsilon-quasi", "precision": 0.001, "range": range_}
    attributes = {f"v{j}": quasi for j in range(d)} or {"z": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}}
    settings = {"k": 2, "epsilon": epsilon, "algorithm": "ola", "max_suppression": 0}
    return ke.Policy.from_dict({**settings, "attributes": attributes})


@given(
    classes=st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=25), min_size=1, max_size=6),
    epsilon=st.sampled_from([0.0001, 0.05, 0.5, 1, 2, 8, 16, 100]),
    wider=st.sampled_from([0, 1, 7]),
)
def test_no_table_of_one_attribute_is_expected_to_link_more(classes, epsilon, wider):
    """Against the closed form record by record; small values, so that there are many ties and constant classes."""
    values = [value for own in classes for value in own]
    ids = [c for c, own in enumerate(classes) for _ in own]
    scales = [(max(own) - min(own) + wider) / epsilon for own in classes]
    fair, _ = attacks.expected_links(values, ids, scales=scales)
    bound = bounds_of(policy(1, epsilon), np.array([len(own) for own in classes])).linking_risk
    assert sum(fair.values()) / len(values) <= bound


def expected_links(points: np.ndarray, *, epsilon: float, n_draws: int, seed: int) -> tuple[float, float]:
    """Links of whoever takes the nearest point in the largest norm, simulated, with the standard error.

    Points lie in a cube of side 1. Where m points are equal, one of them is guessed.
    """
    rng = np.random.default_rng(seed)
    n, d = points.shape
    records = rng.integers(0, n, n_draws)
    radii = rng.standard_gamma(d + 1, n_draws) / epsilon
    published = points[records] + rng.uniform(-1, 1, (n_draws, d)) * radii[:, np.newaxis]
    worth = np.empty(n_draws)
    for start in range(0, n_draws, 2_000):
        part = slice(start, start + 2_000)
        far = np.abs(published[part, np.newaxis, :] - points[np.newaxis]).max(axis=2)
        nearest = far.min(axis=1)
        own = far[np.arange(len(far)), records[part]]
        worth[part] = (own <= nearest + 1e-12) / (far <= nearest[:, np.newaxis] + 1e-12).sum(axis=1)
    return n * worth.mean(), n * worth.std() / np.sqrt(n_draws)


def lattice(per_side: int, d: int) -> np.ndarray:
    """Points that fill a cube evenly, which is the worst case for the curator."""
    sides = np.linspace(0, 1, per_side)
    return np.stack(np.meshgrid(*[sides] * d, indexing="ij"), axis=-1).reshape(-1, d)


@pytest.mark.parametrize(
    ("per_side", "d", "epsilon", "share"), [(80, 1, 4, 0.97), (17, 2, 3, 0.9), (17, 2, 1, 0.9), (8, 3, 2, 0.85)]
)
def test_points_that_fill_the_range_come_near_the_bound_and_do_not_pass_it(per_side, d, epsilon, share):
    """A smaller formula would be passed here, such as that of one attribute for several."""
    links, error = expected_links(lattice(per_side, d), epsilon=epsilon, n_draws=40_000, seed=d)
    bound = float(most_links(policy(d, epsilon)))
    assert share * bound < links < bound + 4 * error


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 4, 16])
def test_random_classes_of_several_attributes_do_not_pass_the_bound(d, epsilon):
    """With ties, with attributes that go together, and with classes smaller than the formula."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 6, (30, 1)) / 5
    tables = [
        rng.integers(0, 4, (40, d)) / 3,
        np.clip(first + rng.normal(0, 0.1, (30, d)), 0, 1),
        np.tile(first, (1, d)),
        rng.random((4, d)),
    ]
    for number, points in enumerate(tables):
        links, error = expected_links(points, epsilon=epsilon, n_draws=20_000, seed=number)
        bound = bounds_of(policy(d, epsilon), np.array([len(points)])).linking_risk * len(points)
        assert links < bound + 4 * error


@pytest.mark.parametrize("epsilon", [0.0001, 0.1, 1, 4, 16, 100])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_the_grid_that_noise_is_drawn_on_does_not_pass_the_bound(d, epsilon):
    """Σ_x max_v P(x|v) over whole numbers, with all v in a cube of 2^32 steps, is a ratio of moments of a geometric law.

    Around a cube of N + 1 points a side, (N + 1 + 2t)^d points are at most t steps away.
    """
    with localcontext() as exact:
        exact.prec = 400
        n_steps = 2**GRID_BITS
        q = (-Decimal(str(epsilon)) / n_steps).exp()
        odds = q / (1 - q)

        def stirling(n: int, k: int) -> int:
            return sum((-1) ** (k - i) * comb(k, i) * i**n for i in range(k + 1)) // factorial(k)

        moments = [sum(stirling(n, k) * factorial(k) * odds**k for k in range(n + 1)) for n in range(d + 1)]

        def points(side: int) -> Decimal:
            return sum(comb(d, j) * Decimal(side) ** (d - j) * 2**j * moments[j] for j in range(d + 1))

        bound = most_links(policy(d, epsilon))
        assert points(n_steps + 1) / points(1) <= Decimal(bound.numerator) / Decimal(bound.denominator)


def test_without_noise_every_class_links_one():
    """There is no ε-quasi: whoever guesses within a class is right once."""
    bounds = bounds_of(policy(0, 1), np.array([1, 5, 5, 9]))
    assert bounds.linking_risk == 0.2
    assert bounds.noise == {}


def test_the_bound_does_not_depend_on_the_order_of_classes():
    """Engines number classes in different orders, and whoever counts a release in yet another."""
    sizes = np.random.default_rng(1).integers(2, 40, 3_000)
    chosen = policy(3, 0.7)
    assert bounds_of(chosen, sizes).linking_risk == bounds_of(chosen, np.sort(sizes)[::-1]).linking_risk


@pytest.mark.parametrize(("d", "epsilon"), [(1, 2), (2, 2), (3, 0.5)])
def test_declared_bounds_tell_the_size_of_the_noise_that_is_drawn(d, epsilon):
    """(d + 1)/2 · R/ε against what a release did; other ranges tell nothing."""
    n = 20_000
    chosen = policy(d, epsilon, [0, 40])
    release = ke.anonymise(pa.table({f"v{j}": [20.0] * n for j in range(d)}), chosen, unsafe_seed=4)
    told = release.manifest["bounds"]["noise"]
    assert list(told) == [f"v{j}" for j in range(d)]
    for name, size in told.items():
        moved = np.abs(release.frame[name].to_numpy() - 20.0)
        assert abs(moved.mean() - size) < 5 * moved.std() / np.sqrt(n)
    for other in ("class", {"coarse": 5}):
        assert bounds_of(policy(d, epsilon, other), np.array([5])).noise == {}
