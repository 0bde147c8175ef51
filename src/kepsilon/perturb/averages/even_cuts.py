# SPDX-License-Identifier: Apache-2.0
"""Cuts classes into groups of near neighbours: in sorted blocks for one ε-quasi, by a tree of even cuts for several.

A class of m points is to have B = ⌊m/g⌋ groups. A stretch of points that is to have several is sorted along the direction
in which it spreads most and cut at rank ⌊m·⌊B/2⌋/B⌋, so that no group has fewer than g points; all stretches of all
classes are cut at once. What the cuts are depends on the points alone: equal points may end up on both sides, and which
of them does is decided by the order they came in, which is random when a release is made.
"""

from __future__ import annotations

import numpy as np

from kepsilon.perturb.averages.segments import sort_within, starts_of
from kepsilon.table.arrays import FloatArray, IntArray


def n_groups_of(sizes: IntArray, *, group: int) -> IntArray:
    """How many groups classes of these sizes have: as many as have at least `group` points each, and at least one."""
    n_groups: IntArray = np.maximum(1, sizes // group)
    return n_groups


def sorted_blocks(sizes: IntArray, n_groups: IntArray) -> IntArray:
    """The sizes of the groups of each class, one after another, when its sorted points are cut at ⌊m·b/B⌋, b = 1 … B − 1.

    They depend on the number of points alone, not on the points: the promise of noise on sorted blocks needs that.
    """
    class_ids = np.repeat(np.arange(len(sizes)), n_groups)
    number = np.arange(len(class_ids)) - np.repeat(starts_of(n_groups), n_groups)
    m, b = sizes[class_ids], n_groups[class_ids]
    blocks: IntArray = m * (number + 1) // b - m * number // b
    return blocks


def cut_evenly(points: FloatArray, sizes: IntArray, n_groups: IntArray) -> tuple[IntArray, IntArray]:
    """The points in an order in which those of a group follow one another, and the sizes of the groups.

    `points` has shape (n_attributes, n_points), those of a class following one another; `sizes` and `n_groups` are those of
    the classes. Groups come in the order of their classes, neighbours in the tree beside each other.
    """
    order = np.arange(points.shape[1])
    points = points.copy()
    sizes, n_groups = sizes.copy(), n_groups.copy()
    while True:
        is_cut = n_groups >= 2
        if not is_cut.any():
            return order, sizes
        chosen = slice(None) if is_cut.all() else np.flatnonzero(np.repeat(is_cut, sizes))
        own, own_sizes = points[:, chosen], sizes[is_cut]
        # Points are moved with their stretch, so that those of a short one are read from the cache.
        moved = sort_within(_along_widest(own, own_sizes), own_sizes)
        points[:, chosen] = own.take(moved, axis=1)
        order[chosen] = order[chosen].take(moved)
        left = np.where(is_cut, n_groups // 2, n_groups)
        left_size = np.where(is_cut, sizes * left // n_groups, sizes)
        at = np.repeat(np.arange(len(sizes)), 1 + is_cut)
        is_right = np.append(False, at[1:] == at[:-1])
        sizes = np.where(is_right, (sizes - left_size)[at], left_size[at])
        n_groups = np.where(is_right, (n_groups - left)[at], left[at])


def _along_widest(points: FloatArray, sizes: IntArray) -> FloatArray:
    """Each point's place along the direction in which its stretch spreads most, shape (n_points,), 0 at the mean."""
    starts = starts_of(sizes)
    means = np.add.reduceat(points, starts, axis=1) / sizes
    columns = [own - np.repeat(mean, sizes) for own, mean in zip(points, means, strict=True)]
    if len(columns) == 1:
        only: FloatArray = columns[0]
        return only
    directions = _widest_of_two(columns, starts) if len(columns) == 2 else _widest_of_several(columns, starts)
    along = np.zeros(points.shape[1])
    for own, part in zip(columns, directions.T, strict=True):
        along += own * np.repeat(part, sizes)
    return along


def _widest_of_two(columns: list[FloatArray], starts: IntArray) -> FloatArray:
    """The principal directions of stretches in two dimensions, in closed form, shape (n_stretches, 2)."""
    x, y = columns
    xx, xy, yy = (np.add.reduceat(one * other, starts) for one, other in ((x, x), (x, y), (y, y)))
    angles = np.arctan2(2 * xy, xx - yy) / 2
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _widest_of_several(columns: list[FloatArray], starts: IntArray) -> FloatArray:
    """The principal directions of stretches, shape (n_stretches, n_attributes), the largest part of each being positive."""
    d = len(columns)
    products = np.empty((len(starts), d, d))
    for i in range(d):
        for j in range(i, d):
            products[:, i, j] = products[:, j, i] = np.add.reduceat(columns[i] * columns[j], starts)
    directions: FloatArray = np.linalg.eigh(products)[1][:, :, -1]
    largest = np.abs(directions).argmax(axis=1)
    signs = np.where(directions[np.arange(len(directions)), largest] < 0, -1.0, 1.0)
    return directions * signs[:, np.newaxis]
