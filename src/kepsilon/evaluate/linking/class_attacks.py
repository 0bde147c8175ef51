# SPDX-License-Identifier: Apache-2.0
"""Realised links of the records that stay, whatever the mechanism and the number of ε-quasis, to records or to persons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepsilon.evaluate.linking import several_attributes
from kepsilon.evaluate.linking.likelihood_links import Originals, weigh_originals
from kepsilon.evaluate.linking.linking_risk import LinkSums, link_sums
from kepsilon.evaluate.linking.person_links import person_link_sums
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.members import Members
from kepsilon.evaluate.originals.rings import lay_out_rings
from kepsilon.evaluate.originals.sorted_classes import runs_of_classes, sort_classes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps


def attack_classes(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    stays: BoolArray,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
) -> LinkSums:
    """Links of the records that stay, with originals of the same class as candidates; arguments as for `tally.realise`.

    A class may also be a part of one, such as its records with one kept value; the ends are those of the whole class then.
    `published` has the shape of `values`.
    """
    if mechanism.exponential is None and values.shape[1]:
        return attack_by_likelihood(
            values, published, class_ids, stays, mechanism=mechanism, low=low, high=high, epsilon=epsilon, steps=steps
        )
    if values.shape[1] > 1:
        return several_attributes.nearest_originals(
            values, published, class_ids, ranges=high - low, epsilon=epsilon, stays=stays
        ).sums()
    links, ranges, columns = LinkSums(), high - low, [published[:, j] for j in range(published.shape[1])]
    for records, own_ids, block in runs_of_classes(class_ids, n_classes=len(low)):
        n_own = block.stop - block.start
        own_values, own_published = only_attribute(values, columns, records)
        links += link_sums(
            sort_classes(own_values, own_ids, n_classes=n_own),
            own_published,
            ranges=ranges[block, 0] if ranges.shape[1] else np.zeros(n_own),
            epsilon=epsilon,
            stays=stays[records],
        )
    return links


def attack_persons(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    stays: BoolArray,
    members: Members | None,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
    comparisons: float,
) -> LinkSums:
    """Links of the records that stay, to persons where somebody has two records in a class, and to records elsewhere."""
    is_repeated = np.zeros(len(class_ids), dtype=np.bool_) if members is None else members.repeats[class_ids]
    single, repeated = np.flatnonzero(~is_repeated), np.flatnonzero(is_repeated)
    links = attack_classes(
        values[single],
        published[single],
        class_ids[single],
        stays[single],
        mechanism=mechanism,
        low=low,
        high=high,
        epsilon=epsilon,
        steps=steps,
    )
    if members is None or not repeated.size:
        return links
    return links + person_link_sums(
        values[repeated],
        published[repeated],
        class_ids[repeated],
        stays[repeated],
        members.of(repeated, class_ids[repeated], n_classes=len(low)),
        mechanism=mechanism,
        low=low,
        high=high,
        epsilon=epsilon,
        steps=steps,
        comparisons=comparisons,
    )


def attack_by_likelihood(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    stays: BoolArray,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
) -> LinkSums:
    """Links of the records that stay, by the mechanism's own likelihood, a few whole classes at a time."""
    links = LinkSums()
    for records, own_ids, block in runs_of_classes(class_ids, n_classes=len(low)):
        released = np.flatnonzero(stays[records])
        if not released.size:
            continue
        classes = lay_out_rings(np.nan_to_num(values[records].T), own_ids, n_classes=block.stop - block.start)
        links += weigh_originals(
            Originals.of_several(classes, low[block], high[block]),
            published[records[released]],
            own_ids[released],
            classes.point_of[released],
            mechanism=mechanism,
            epsilon=epsilon,
            steps=steps,
        ).sums()
    return links


def only_attribute(
    values: FloatArray, published: Sequence[FloatArray], records: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Values of the only ε-quasi, true and published; without one all are 0, since records of a class look alike."""
    if not published:
        return np.zeros(len(records)), np.zeros(len(records))
    return values[records, 0], published[0][records]
