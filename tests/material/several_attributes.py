# SPDX-License-Identifier: Apache-2.0
"""Classes of records with several ε-quasis: ties, constant and missing attributes, wide ranges, suppressed records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from kepsilon.evaluate.linking.simulated_links import expected_links_at_each
from material.noisy_classes import EPSILONS
from oracles import several
from oracles.noise import SEED


@dataclass(frozen=True)
class Several:
    values: np.ndarray
    published: np.ndarray
    class_ids: np.ndarray
    ranges: np.ndarray
    exact_ranges: list
    """The ranges as fractions."""
    stays: np.ndarray
    epsilon: float

    @property
    def arguments(self):
        return (self.values, self.published, self.class_ids)

    @property
    def keywords(self):
        return {"ranges": self.ranges, "epsilon": self.epsilon, "stays": self.stays}

    @property
    def released(self):
        return np.flatnonzero(self.stays)


def diameters(values, class_ids, n_classes):
    """As the pipeline takes them: differences of doubles; NaN where a class has no record or its values are missing."""
    return np.array(
        [
            np.ptp(values[class_ids == c], axis=0) if np.any(class_ids == c) else np.full(values.shape[1], np.nan)
            for c in range(n_classes)
        ]
    )


@st.composite
def several_classes(draw, fewest_attributes=2, most=40, largest=None):
    """Values and what was published of them, in tenths, so that ties are common; some attributes tell nothing."""
    n_classes, d = draw(st.integers(1, 4)), draw(st.integers(fewest_attributes, 3))
    record = st.tuples(
        st.integers(0, n_classes - 1),
        st.lists(st.integers(-20, 20), min_size=d, max_size=d),
        st.lists(st.integers(-45, 45), min_size=d, max_size=d),
        st.booleans() | st.just(True),
    )
    records = draw(st.lists(record, min_size=1, max_size=most))
    if largest is not None:
        records = [r for n, r in enumerate(records) if sum(s[0] == r[0] for s in records[:n]) < largest]
    class_ids = np.array([r[0] for r in records])
    values, published = np.array([r[1] for r in records]) / 10, np.array([r[2] for r in records]) / 10
    for c in range(n_classes):
        for j in range(d):
            kind = draw(st.sampled_from(["varies", "varies", "constant", "missing"]))
            if kind != "varies":
                values[class_ids == c, j] = 1.7 if kind == "constant" else np.nan
    wider = draw(st.sampled_from([[0.0] * d, [0.0] * d, [0.3] + [2.5] * (d - 1)]))
    ranges = diameters(values, class_ids, n_classes) + wider
    published = np.where(ranges[class_ids] > 0, published, values)
    return Several(
        values,
        published,
        class_ids,
        ranges,
        several.exact_ranges(values, class_ids, n_classes, wider),
        np.array([r[3] for r in records]),
        draw(st.sampled_from(EPSILONS)),
    )


def fixed_several():
    """A correlated class with ties, one of few places, a pair, one that varies in one attribute only, and a constant one."""
    rng = np.random.default_rng(SEED)
    heights = rng.normal(170, 8, 25).round()
    classes = [
        np.column_stack([heights, (heights - 100 + rng.normal(0, 9, 25)).round(1)]),
        np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [2.0, 1.0], [2.0, -3.0], [1.0, -3.0]]),
        np.array([[-1.5, 4.0], [9.0, 4.5]]),
        np.column_stack([np.arange(7.0) ** 2, np.full(7, 3.0)]),
        np.full((4, 2), 70.0),
    ]
    values = np.concatenate(classes)
    class_ids = np.repeat(np.arange(len(classes)), [len(c) for c in classes])
    mixed = rng.permutation(len(values))
    values, class_ids = values[mixed], class_ids[mixed]
    return values, class_ids, diameters(values, class_ids, len(classes))


def publish(rng, values, class_ids, ranges, epsilon, times=1):
    """Noise added as the mechanism would, not rounded, to `times` copies: shape (times, n_records, n_attributes)."""
    published = np.repeat(values[np.newaxis], times, axis=0)
    for c, widths in enumerate(ranges):
        active, records = np.flatnonzero(widths > 0), np.flatnonzero(class_ids == c)
        if active.size and records.size:
            noise = several.draw_noise(rng, times * len(records), active.size).reshape(times, len(records), -1)
            published[np.ix_(np.arange(times), records, active)] += noise * widths[active] / epsilon
    return published


def expected_links_of_several(values, class_ids, *, ranges, epsilon, law, stream=0):
    """Expected links of a block at one ε; see `expected_links_at_each`."""
    return expected_links_at_each(values, class_ids, ranges=ranges, epsilons=[epsilon], law=law, stream=stream)[0]
