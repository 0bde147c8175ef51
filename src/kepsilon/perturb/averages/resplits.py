# SPDX-License-Identifier: Apache-2.0
"""Moves points between neighbouring groups until they are nearer to their averages: sizes stay, distances never grow.

Two groups are put together, their points sorted along the line between the two averages, and cut at the first one's size
again. No other division of the two into these sizes has nearer points to averages that lie where these did, so the sum of
squared distances never rises.
"""

from __future__ import annotations

import numpy as np

from kepsilon.perturb.averages.segments import sort_within, starts_of
from kepsilon.table.arrays import FloatArray, IntArray

ROUNDS = 8
_CELL_BITS = 10
"""A class is divided into 2 to this power cells along each axis, to see which groups are neighbours."""


def split_again(
    points: FloatArray, order: IntArray, sizes: IntArray, class_ids: IntArray, *, rounds: int = ROUNDS
) -> tuple[IntArray, IntArray, IntArray]:
    """Order of the points, sizes of groups and class of each group, after some rounds.

    `points` has shape (n_attributes, n_points). `order` lists the points group by group, `sizes` are those of the groups,
    and `class_ids` says the class of each. Groups that are not of one class are never put together.
    """
    points = points.take(order, axis=1)
    for number in range(rounds):
        centres = np.add.reduceat(points, starts_of(sizes), axis=1) / sizes
        ranking = np.lexsort((_along_curve(_turned(centres, number), class_ids), class_ids))
        moved, sizes = _in_new_order(sizes, ranking)
        points, order = points.take(moved, axis=1), order.take(moved)
        class_ids, centres = class_ids[ranking], centres[:, ranking]
        _resplit_pairs(points, order, sizes, centres, _pairs(class_ids, offset=number % 2))
    return order, sizes, class_ids


def _pairs(class_ids: IntArray, *, offset: int) -> IntArray:
    """The first of each two groups that are neighbours in a class: the 1st and 2nd, the 3rd and 4th, and so on after `offset`."""
    is_first = np.append(True, class_ids[1:] != class_ids[:-1])
    positions = np.arange(len(class_ids))
    rank = positions - np.maximum.accumulate(np.where(is_first, positions, 0))
    has_next = np.append(~is_first[1:], False)
    return np.flatnonzero(has_next & (rank >= offset) & ((rank - offset) % 2 == 0))


def _in_new_order(sizes: IntArray, ranking: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of all points with their groups in another order, and the sizes in that order."""
    starts, new_sizes = starts_of(sizes)[ranking], sizes[ranking]
    moved: IntArray = np.repeat(starts - starts_of(new_sizes), new_sizes)
    moved += np.arange(len(moved))
    return moved, new_sizes


def _resplit_pairs(points: FloatArray, order: IntArray, sizes: IntArray, centres: FloatArray, firsts: IntArray) -> None:
    """Puts each group of `firsts` and the one behind it together, and cuts them again, in place."""
    if not firsts.size:
        return
    is_paired = np.zeros(len(sizes), dtype=np.bool_)
    is_paired[firsts] = is_paired[firsts + 1] = True
    chosen = slice(None) if is_paired.all() else np.flatnonzero(np.repeat(is_paired, sizes))
    together = sizes[firsts] + sizes[firsts + 1]
    own = points[:, chosen]
    along = np.zeros(own.shape[1])
    for values, own_centres in zip(own, centres, strict=True):
        first, second = own_centres[firsts], own_centres[firsts + 1]
        along += (values - np.repeat((first + second) / 2, together)) * np.repeat(second - first, together)
    moved = sort_within(along, together)
    points[:, chosen] = own.take(moved, axis=1)
    order[chosen] = order[chosen].take(moved)


def _turned(centres: FloatArray, number: int) -> FloatArray:
    """The averages seen from another side in every round, so that other groups are neighbours."""
    turned = centres.copy()
    angle = 0.6 * (number + 1)
    for i in range(len(centres) - 1):
        x, y = turned[i].copy(), turned[i + 1].copy()
        turned[i] = np.cos(angle) * x - np.sin(angle) * y
        turned[i + 1] = np.sin(angle) * x + np.cos(angle) * y
    return turned


def _along_curve(centres: FloatArray, class_ids: IntArray) -> IntArray:
    """Place of each average on a Hilbert curve through the cells of its class: near on the curve is near in space."""
    bits = max(1, min(_CELL_BITS, 62 // len(centres)))
    starts = np.flatnonzero(np.append(True, class_ids[1:] != class_ids[:-1]))
    counts = np.diff(starts, append=len(class_ids))
    low = np.repeat(np.minimum.reduceat(centres, starts, axis=1), counts, axis=1)
    widths = np.repeat(np.maximum.reduceat(centres, starts, axis=1), counts, axis=1) - low
    places = np.zeros(centres.shape)
    np.divide(centres - low, widths, out=places, where=widths > 0)
    return hilbert_places(np.minimum(places * (1 << bits), (1 << bits) - 1).astype(np.int64), bits=bits)


def hilbert_places(cells: IntArray, *, bits: int) -> IntArray:
    """Places of cells on the Hilbert curve, from shape (d, n) to (n,), by Skilling's method (2004).

    Coordinates have so many `bits`. Cells whose places differ by one share a side.
    """
    axes = cells.copy()
    for level in range(bits - 1, 0, -1):
        below = (1 << level) - 1
        for j in range(len(axes)):
            is_set = (axes[j] >> level & 1).astype(np.bool_)
            swapped = np.where(is_set, 0, (axes[0] ^ axes[j]) & below)
            axes[0] ^= np.where(is_set, below, swapped)
            axes[j] ^= swapped if j else 0
    for j in range(1, len(axes)):
        axes[j] ^= axes[j - 1]
    flip = np.zeros_like(axes[0])
    for level in range(bits - 1, 0, -1):
        flip ^= np.where(axes[-1] >> level & 1, (1 << level) - 1, 0)
    axes ^= flip
    places: IntArray = np.zeros_like(axes[0])
    for level in range(bits - 1, -1, -1):
        for axis in axes:
            places = (places << 1) | (axis >> level & 1)
    return places
