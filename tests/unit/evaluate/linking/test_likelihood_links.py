# SPDX-License-Identifier: Apache-2.0
"""Likelihoods of all originals of a class: large classes and small ones are weighed alike, and large ones cheaply."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from kepsilon.evaluate.linking import likelihood_links
from kepsilon.evaluate.linking.likelihood_links import Originals, weigh_originals
from kepsilon.perturb.mechanisms.bounded_laplace import BOUNDED_LAPLACE
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps

SIZES = (3, 400, 1, 30, 700)
"""Points of the classes: two of them are large."""


def drawn_classes(d, *, domain=None, missing=()):
    """Originals of classes of all sizes, and for records in mixed order what is published, their class and their point."""
    rng = np.random.default_rng(13)
    starts = np.concatenate([[0], np.cumsum(SIZES)])
    low, high = np.full((len(SIZES), d), -5.0), np.full((len(SIZES), d), 25.0)
    for class_id, j in missing:
        low[class_id, j] = high[class_id, j] = 0.0
    points = rng.integers(-50, 250, (starts[-1], d)) / 10
    originals = Originals(points=points, counts=rng.integers(1, 4, starts[-1]), starts=starts, low=low, high=high)
    own = rng.permutation(starts[-1])
    steps = [Steps(precision=Fraction(1, 2), domain=domain)] * d
    published = np.round((points[own] + rng.laplace(0, 5, (len(own), d))).clip(-5, 25) * 2) / 2
    return originals, published, np.searchsorted(starts, own, side="right") - 1, own, steps


def brute_force(originals, published, class_ids, own, *, mechanism, epsilon, steps):
    """The figures record by record, from one pair at a time."""
    found = []
    for x, c, i in zip(published, class_ids, own, strict=True):
        members = np.arange(originals.starts[c], originals.starts[c + 1])
        logs = mechanism.log_likelihoods(
            np.repeat(x[np.newaxis], len(members), axis=0),
            originals.points[members],
            np.repeat(originals.low[[c]], len(members), axis=0),
            np.repeat(originals.high[[c]], len(members), axis=0),
            epsilon=epsilon,
            steps=steps,
        )
        counts = originals.counts[members]
        behind = logs - logs.max()
        found.append((logs.max(), counts[behind >= -1e-9].sum(), np.exp(behind) @ counts, logs[i - members[0]]))
    return np.array(found).T


@pytest.mark.parametrize("largest_small", [1, 256, 10_000])
@pytest.mark.parametrize("mechanism", [BOUNDED_LAPLACE, LAPLACE])
@pytest.mark.parametrize(
    ("d", "domain", "missing"),
    [(1, None, ()), (2, (Fraction(0), Fraction(20)), ()), (3, None, ((1, 0), (1, 2), (3, 1), (4, 0), (4, 1), (4, 2)))],
)
def test_every_size_of_class_is_weighed_alike(monkeypatch, mechanism, d, domain, missing, largest_small):
    """One class after the other, all together, and pair by pair; also where an attribute has no noise in a class."""
    monkeypatch.setattr(likelihood_links, "_LARGE", largest_small)
    monkeypatch.setattr(likelihood_links, "_PAIRS", 1_000)
    originals, published, class_ids, own, steps = drawn_classes(d, domain=domain, missing=missing)
    how = {"mechanism": mechanism, "epsilon": 3.0, "steps": steps}
    weighed = weigh_originals(originals, published, class_ids, own, **how)
    expected = brute_force(originals, published, class_ids, own, **how)
    for figure, values in zip((weighed.best, weighed.n_best, weighed.total, weighed.own), expected, strict=True):
        np.testing.assert_allclose(figure, values, rtol=1e-9, atol=1e-9)


def test_no_records_have_no_figures():
    originals, published, class_ids, own, steps = drawn_classes(1)
    nobody = weigh_originals(
        originals, published[:0], class_ids[:0], own[:0], mechanism=BOUNDED_LAPLACE, epsilon=1.0, steps=steps
    )
    assert len(nobody.best) == 0


@dataclass
class Watched:
    """Counts the values that a mechanism is asked about."""

    n_values: int = 0
    exponential: None = field(default=None, init=False)

    def log_likelihoods(self, *arrays, **others):
        self.n_values += sum(array.size for array in arrays)
        return BOUNDED_LAPLACE.log_likelihoods(*arrays, **others)


def test_what_a_large_class_asks_for_does_not_grow_with_its_pairs():
    """A class of 4,000 has 16 million pairs; only its records, and its points once for each 131,072 pairs, are handed on."""
    n = 4_000
    values = np.arange(n)[:, np.newaxis] / 100
    originals = Originals(
        points=values,
        counts=np.ones(n, dtype=np.int64),
        starts=np.array([0, n]),
        low=np.zeros((1, 1)),
        high=np.full((1, 1), n / 100),
    )
    watched = Watched()
    steps = [Steps(precision=Fraction(1, 100))]
    ids = np.zeros(n, dtype=np.int64)
    weigh_originals(originals, values, ids, np.arange(n), mechanism=watched, epsilon=4.0, steps=steps)
    assert watched.n_values <= n + (n * n / likelihood_links._PAIRS + 10) * (n + 2)
