# SPDX-License-Identifier: Apache-2.0
"""Attacks the release as somebody who knows any three attributes of everybody, and nothing else, would.

Who shows the same labels and kept values comes into question, in whatever class; of an ε-quasi that is known the nearest
value decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.attacks import published_numbers
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.known_columns import chances_of_nearest, in_release
from kepsilon.auditing.nearest_links import BINARY_ERROR
from kepsilon.auditing.residuals import GONE
from kepsilon.auditing.whole_records import LookedAt
from kepsilon.evaluate.linking.known_columns import SubsetAttacks, chosen_subsets
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.keys import number


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksByThree:
    """What whoever knows three attributes links: expected, and in the release, each over the sets that were tried."""

    expected: SubsetAttacks
    realised: float | None
    """Mean over the sets; None without a linkage."""
    realised_by_worst: float | None
    """By the set of which most links are expected; None without a linkage."""


def attack_with_three(case: AuditCase, looked: LookedAt) -> LinksByThree | None:
    """Links of whoever knows three attributes, among the records looked at; None where there is nothing to know."""
    exact = {**_labels(case, looked), **_averages(case, looked), **{n: own.codes for n, own in looked.kept.items()}}
    noisy = {} if case.policy.averages else {name: j for j, name in enumerate(case.policy.epsilon_quasis)}
    subsets, n_possible = chosen_subsets(list(exact), list(noisy))
    if not subsets or not looked.rows.size:
        return None
    rows, published = in_release(case, looked), published_numbers(case)
    is_released = rows != GONE
    shares: list[float] = []
    links: list[float | None] = []
    largest: list[float] = []
    for subset in subsets:
        columns = [exact[name] + 1 for name in subset if name in exact]
        attribute = next((noisy[name] for name in subset if name in noisy), None)
        if attribute is not None:  # that a value is missing is known too
            columns.append(np.isnan(case.noise.values[looked.rows, attribute]).astype(np.int64))
        sizes = [int(own.max(initial=0)) + 1 for own in columns]
        alike = number(columns, sizes=sizes, length=len(looked.rows))[0].astype(np.int64)
        if attribute is None:
            chances = linked = 1 / np.bincount(alike)[alike]
            largest.append(float(chances.max()))
        else:
            chances = chances_of_nearest(case, looked, alike, attribute=attribute)
            values = case.noise.values[looked.rows, attribute]
            shown = np.where(np.isnan(values), 0.0, published[rows, attribute])
            linked = _linked(np.nan_to_num(values), shown, alike)
        shares.append(float(chances.mean()))
        links.append(float(linked[is_released].mean()) if is_released.any() else None)
    worst = int(np.argmax(shares))
    scored = [own for own in links if own is not None]
    return LinksByThree(
        expected=SubsetAttacks(
            n_tried=len(subsets),
            n_possible=n_possible,
            mean=float(np.mean(shares)),
            worst=shares[worst],
            worst_names=subsets[worst],
            largest=max(largest, default=None),
        ),
        realised=float(np.mean(scored)) if scored else None,
        realised_by_worst=links[worst],
    )


def _labels(case: AuditCase, looked: LookedAt) -> dict[str, IntArray]:
    """For each k-quasi the number of the label that the class of each record shows."""
    example = np.zeros(case.classes.n_classes, dtype=np.int64)
    example[case.classes.of_released] = np.arange(case.released.n_records)
    return {name: case.released.labels[name][1][example[looked.class_ids]] for name in case.policy.k_quasis}


def _averages(case: AuditCase, looked: LookedAt) -> dict[str, IntArray]:
    """For each ε-quasi the number of the average that each record publishes, where classes are groups; otherwise empty."""
    if case.policy.averages is None:
        return {}
    example = np.zeros(case.classes.n_classes, dtype=np.int64)
    example[case.classes.of_released] = np.arange(case.released.n_records)
    return {
        name: np.unique(np.nan_to_num(values), return_inverse=True)[1].reshape(-1)[example[looked.class_ids]]
        for name, values in case.released.numbers.items()
    }


def _linked(values: FloatArray, published: FloatArray, groups: IntArray) -> FloatArray:
    """Link of each record to the nearest value of its group, a tie of t worth 1/t; of no meaning where it is not released.

    A published value is put between the values of its group: only the two beside it can be nearest.
    """
    order = np.lexsort((values, groups))
    is_new = (np.diff(groups[order], prepend=-1) != 0) | (np.diff(values[order], prepend=0.0) != 0)
    at, of_group = values[order][is_new], groups[order][is_new]
    place_in_order = np.cumsum(is_new) - 1
    counts = np.bincount(place_in_order)
    own = np.empty(len(order), dtype=np.int64)
    own[order] = place_in_order
    # Values and what is published in one order, values first where they are equal.
    is_published = np.repeat([False, True], [len(at), len(published)])
    together = np.lexsort((is_published, np.append(at, published), np.append(of_group, groups)))
    last_value = np.maximum.accumulate(np.where(is_published[together], -1, together))
    below = np.empty(len(together), dtype=np.int64)
    below[together] = last_value
    beside = [below[len(at) :], below[len(at) :] + 1]
    distances = []
    for place in beside:
        found = np.clip(place, 0, len(at) - 1)
        is_there = (place >= 0) & (place < len(at)) & (of_group[found] == groups)
        distances.append(np.where(is_there, np.abs(at[found] - published), np.inf))
    nearest = np.minimum(*distances) + BINARY_ERROR * (np.abs(published) + np.abs(values))
    n_nearest = np.zeros(len(values))
    is_link = np.zeros(len(values), dtype=np.bool_)
    for place, distance in zip(beside, distances, strict=True):
        is_nearest = distance <= nearest
        n_nearest += np.where(is_nearest, counts[np.clip(place, 0, len(at) - 1)], 0)
        is_link |= is_nearest & (place == own)
    linked: FloatArray = np.where(is_link, 1 / np.maximum(n_nearest, 1), 0.0)
    return linked
