# SPDX-License-Identifier: Apache-2.0
"""Classes with ties, constant classes, pairs and negative values, with or without made-up noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from oracles.noise import SEED

EPSILONS = [0.01, 0.5, 2.0, 16.0, 100.0]


@dataclass(frozen=True)
class Noisy:
    values: np.ndarray
    published: np.ndarray
    class_ids: np.ndarray
    ranges: np.ndarray
    epsilon: float

    @property
    def n_classes(self):
        return len(self.ranges)

    @property
    def scales(self):
        return self.ranges / self.epsilon

    @property
    def variable(self):
        """The arguments of the tally."""
        return {
            "expected_noise": self.scales[:, np.newaxis],
            "ranges": self.ranges[:, np.newaxis],
            "epsilon": self.epsilon,
        }


def diameters(values, class_ids, n_classes):
    return np.array([np.ptp(values[class_ids == c]) if np.any(class_ids == c) else 0.0 for c in range(n_classes)])


@st.composite
def noisy_classes(draw):
    """Values and what was published of them, in tenths, so that ties and midpoints are common; ranges may be wider."""
    n_classes = draw(st.integers(1, 5))
    tenths = st.integers(-40, 40)
    records = draw(
        st.lists(st.tuples(st.integers(0, n_classes - 1), tenths, st.integers(-90, 90)), min_size=1, max_size=40)
    )
    class_ids, values, published = np.array(records).T
    values, published = values / 10, published / 10
    ranges = diameters(values, class_ids, n_classes)
    wide = draw(st.sampled_from([0.0, 0.0, 2.5]))
    moved = np.where(ranges[class_ids] + wide == 0, values, published)
    return Noisy(values, moved, class_ids, ranges + wide, draw(st.sampled_from(EPSILONS)))


def fixed_classes():
    """A class with ties, a constant one, a pair, one of negative values, one about 0, and a spread-out large one."""
    rng = np.random.default_rng(SEED)
    classes = [
        np.array([160.0, 160.0, 160.0, 171.5, 171.5, 180.0, 192.0]),
        np.full(6, 70.0),
        np.array([1.5, 9.0]),
        -np.array([3.0, 3.5, 3.5, 8.0, 21.0]),
        np.array([-2.0, -1.0, 1.0, 2.0, 4.0]),
        np.exp(rng.normal(4, 0.4, 30)).round(2),
    ]
    values = np.concatenate(classes)
    class_ids = np.repeat(np.arange(len(classes)), [len(c) for c in classes])
    mixed = rng.permutation(len(values))
    return values[mixed], class_ids[mixed], len(classes)


def copies(values, class_ids, n_classes, times):
    """Many draws at once: every copy of a class is a class of its own."""
    ids = (class_ids[np.newaxis, :] + n_classes * np.arange(times)[:, np.newaxis]).reshape(-1)
    return np.tile(values, times), ids, n_classes * times
