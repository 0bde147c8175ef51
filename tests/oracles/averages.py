# SPDX-License-Identifier: Apache-2.0
"""Slow and obvious: MDAV, exact averages in fractions, and a judge of groups and of what they publish."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np


def mdav(points: np.ndarray, group: int) -> np.ndarray:
    """Maximum distance to average vector (Domingo-Ferrer and Mateo-Sanz): the group of every point of one class."""
    left = list(range(len(points)))
    of_point = np.empty(len(points), dtype=np.int64)
    n_groups = 0

    def take(centre):
        nonlocal left, n_groups
        left.sort(key=lambda i: float(((points[i] - centre) ** 2).sum()))
        of_point[left[:group]] = n_groups
        left, n_groups = left[group:], n_groups + 1

    def farthest_from(place):
        return points[max(left, key=lambda i: float(((points[i] - place) ** 2).sum()))]

    while len(left) >= 3 * group:
        one = farthest_from(points[left].mean(axis=0))
        take(one)
        take(farthest_from(one))
    if len(left) >= 2 * group:
        take(farthest_from(points[left].mean(axis=0)))
    of_point[left] = n_groups
    return of_point


def squared_distances(points: np.ndarray, of_point: np.ndarray) -> float:
    """The sum of squared distances of all points from the average of their group."""
    return sum(
        float(((points[own] - points[own].mean(axis=0)) ** 2).sum())
        for own in (np.flatnonzero(of_point == g) for g in np.unique(of_point))
    )


def rounded_average(values: list[float], precision: Fraction) -> float:
    """The average of decimals, exact, rounded to the precision once; halves to the even unit."""
    exact = sum((Fraction(str(value)) for value in values), Fraction(0)) / len(values)
    return float(round(exact / precision) * precision)


def faults_of_groups(of_record, class_ids, *, group, persons=None) -> list[str]:
    """What is wrong with a grouping, in words; empty where nothing is."""
    found = []
    members = defaultdict(list)
    for i, g in enumerate(of_record):
        members[int(g)].append(i)
    whom = class_ids if persons is None else persons
    in_class = defaultdict(set)
    for i, c in enumerate(class_ids):
        in_class[int(c)].add(i if persons is None else int(whom[i]))
    groups_of_person = defaultdict(set)
    n_groups = defaultdict(int)
    for g, own in members.items():
        classes = {int(class_ids[i]) for i in own}
        if len(classes) > 1:
            found.append("a group is in two classes")
        size = len(own if persons is None else {int(whom[i]) for i in own})
        if size < min(group, *(len(in_class[c]) for c in classes)):
            found.append("a group is too small")
        for c in classes:
            n_groups[c] += 1
        if persons is not None:
            for i in own:
                groups_of_person[int(class_ids[i]), int(whom[i])].add(g)
    if any(len(own) > 1 for own in groups_of_person.values()):
        found.append("a person is in two groups of a class")
    if any(n_groups[c] < max(1, len(in_class[c]) // group) for c in in_class):
        found.append("a class has fewer groups than it could")
    return found
