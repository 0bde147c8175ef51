# SPDX-License-Identifier: Apache-2.0
"""Expected links with noise on several ε-quasis: exact where there is a closed form, otherwise simulated, with a variance.

For exponential noise without rounding and clamping, and without suppression for confident k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kepsilon.evaluate.linking.linking_risk import ExpectedLinks, link_gaps
from kepsilon.evaluate.linking.several_attributes import by_record, class_extremes, in_units_of_ranges
from kepsilon.evaluate.noise_law import ExponentialLaw
from kepsilon.evaluate.originals.rings import WIDEST, Rings, lay_out_rings, sum_over_originals
from kepsilon.evaluate.originals.sorted_classes import runs_of_classes, sort_classes
from kepsilon.evaluate.simulation import SampledClasses, generator, sample_records
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

COMPARISONS = 25_000_000
"""Comparisons of a record with an original in a simulation, about."""

LIKELIHOODS = 2_000_000
"""Comparisons by the likelihood of a mechanism without closed forms, about: each takes several times as long."""


def expected_links_at_each(
    values: FloatArray,
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    epsilons: Sequence[float],
    law: ExponentialLaw,
    stream: int = 0,
    share: float = 1.0,
) -> list[ExpectedLinks]:
    """Expected links of the classes of a block, one for each ε; `stream` and `share` as in `simulation.Block`.

    `values` has shape (n_records, n_attributes), `ranges` (R) the shape (n_classes, n_attributes). Exact for classes that
    have at most one active attribute, or originals that are all equal. Classes are laid out once for all ε, which takes
    longer than comparing does, and all ε share the sampled records and their noise.
    """
    links, is_simple = _exact_links(values, class_ids, ranges=ranges, epsilons=epsilons, law=law)
    simulated = np.flatnonzero(~is_simple[class_ids])
    if not simulated.size:
        return links
    values, class_ids = values[simulated], class_ids[simulated]
    rng = generator(stream)
    sizes = np.bincount(class_ids).astype(np.float64)
    strata = sample_records(len(values), COMPARISONS / (np.dot(sizes, sizes) / len(values)), rng, share=share)
    fair, paper = np.empty((2, len(epsilons), *strata.chosen.shape))
    for part in strata.sampled_classes(values, class_ids, n_classes=len(ranges)):
        guesses = _best_guesses(part, ranges[part.classes], epsilons=epsilons, law=law, rng=rng)
        for i, (certainty, n_nearest) in enumerate(guesses):
            fair[i][part.draws], paper[i][part.draws] = certainty, certainty * n_nearest
    return [
        exact + ExpectedLinks(fair=strata.estimate(fair[i]), paper=strata.estimate(paper[i]))
        for i, exact in enumerate(links)
    ]


def _exact_links(
    values: FloatArray, class_ids: IntArray, *, ranges: FloatArray, epsilons: Sequence[float], law: ExponentialLaw
) -> tuple[list[ExpectedLinks], BoolArray]:
    """Expected links of the classes that have a closed form, one for each ε, and which classes these are."""
    links = [ExpectedLinks() for _ in epsilons]
    is_simple = np.zeros(len(ranges), dtype=np.bool_)
    for records, ids, chosen in runs_of_classes(class_ids, n_classes=len(ranges)):
        active = ranges[chosen] > 0
        low, high = class_extremes(values[records].T, ids, n_classes=len(active))
        differs = np.any(active & (high > low), axis=1)
        is_simple[chosen] = simple = ~differs | (np.count_nonzero(active, axis=1) <= 1)
        if not simple[ids].any():
            continue
        attribute = np.argmax(active, axis=1)
        own, own_ids = records[simple[ids]], ids[simple[ids]]
        column = np.where(differs[own_ids], values[own, attribute[own_ids]], 0.0)
        classes = sort_classes(column, own_ids, n_classes=len(active))
        gaps = link_gaps(classes, ranges=ranges[chosen][np.arange(len(active)), attribute], law=law)
        links = [found + gaps.expected(epsilon) for found, epsilon in zip(links, epsilons, strict=True)]
    return links, is_simple


def _best_guesses(
    part: SampledClasses,
    ranges: FloatArray,
    *,
    epsilons: Sequence[float],
    law: ExponentialLaw,
    rng: np.random.Generator,
) -> Iterator[tuple[FloatArray, IntArray]]:
    """For each ε: the largest posterior of any original, given each sampled record with noise, and how many share it.

    This is the probability that the attacker is right. Whether he is right has the same expectation, because a published
    value might come from any record of the class, but in a large class a right guess is rare and tells little.
    """
    low, _ = class_extremes(part.values, part.class_ids, n_classes=len(ranges))
    lows, widths = by_record(low, part.class_ids), by_record(ranges, part.class_ids)
    classes = lay_out_rings(in_units_of_ranges(part.values, lows, widths), part.class_ids, n_classes=len(ranges))
    noise = law.unit_noise(widths[:, part.chosen].T > 0, rng).T
    for epsilon in epsilons:
        yield _meet_all(classes, classes.point_of[part.chosen], noise / epsilon, epsilon=epsilon)


def _meet_all(classes: Rings, positions: IntArray, noise: FloatArray, *, epsilon: float) -> tuple[FloatArray, IntArray]:
    """The largest posterior of any original of the class, and how many share it, two arrays of shape (n_positions,).

    A record stands at each of `positions`, which are points of the rings, and gets `noise`, (n_attributes, n_positions).

    The distance to the record's own original is subtracted from all: its weight then is 1, and nothing over- or underflows.
    """
    own = np.abs(noise).max(axis=0)
    published = classes.points[:, positions] + noise
    nearest = np.full(len(positions), np.inf)
    n_nearest = np.zeros(len(positions), dtype=np.int64)
    weights = np.zeros(len(positions))

    def compare(rows: IntArray, first: int, width: int) -> BoolArray:
        """Follows the nearest original and adds weights; all rows meet their whole class."""
        far = classes.distances(positions[rows], published[:, rows], first=first, width=width)
        here = far.min(axis=1)
        n_met = classes.n_met(positions[rows], first=first, width=width)
        n_here = sum_over_originals(far == here[:, np.newaxis], n_met).astype(np.int64)
        n_nearest[rows] = np.where(here < nearest[rows], 0, n_nearest[rows]) + np.where(
            here <= nearest[rows], n_here, 0
        )
        nearest[rows] = np.minimum(nearest[rows], here)
        far -= own[rows, np.newaxis]
        far *= -epsilon
        weights[rows] += sum_over_originals(np.exp(far, out=far), n_met)
        return np.ones(len(rows), dtype=np.bool_)

    classes.meet(positions, compare, first=0, width=WIDEST)
    return np.exp(-epsilon * (nearest - own)) / weights, n_nearest
