# SPDX-License-Identifier: Apache-2.0
"""How far published values follow the true ones inside classes, once the mean of each class is subtracted from both.

A class shows its mean anyway; this is what the published values tell beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from kepsilon.evaluate.survival.moments import PairMoments
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_PART = 1 << 20
"""Records at a time, so that arrays stay small; not fewer, because each time there is a sum for every class."""

_Present = tuple[IntArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideSums:
    """Sums over records of squares and products about the means of their classes, by ε-quasi; those of classes are added."""

    true: FloatArray
    """Shape (n_epsilon_quasis,), as the others."""
    published: FloatArray
    product: FloatArray

    @classmethod
    def none(cls, n_attributes: int) -> InsideSums:
        """The sums of no classes."""
        return cls(true=np.zeros(n_attributes), published=np.zeros(n_attributes), product=np.zeros(n_attributes))

    @classmethod
    def of_one_class(cls, moments: PairMoments) -> InsideSums:
        """The sums of one class from the moments of its true and published values."""
        return cls(
            true=np.diagonal(moments.square_x),
            published=np.diagonal(moments.square_y),
            product=np.diagonal(moments.product),
        )

    def __add__(self, other: InsideSums) -> InsideSums:
        return InsideSums(
            true=self.true + other.true,
            published=self.published + other.published,
            product=self.product + other.product,
        )

    def correlation(self, j: int) -> float | None:
        """The correlation of published with true values inside classes; None where either does not vary there."""
        true, published, product = float(self.true[j]), float(self.published[j]), float(self.product[j])
        of_both = math.sqrt(true) * math.sqrt(published) if true > 0 and published > 0 else 0.0
        if not 0 < of_both < math.inf or not math.isfinite(product):
            return None
        return max(-1.0, min(1.0, product / of_both))


def inside_sums(
    values: FloatArray, published: FloatArray, class_ids: IntArray, stays: BoolArray, *, n_classes: int
) -> InsideSums:
    """The sums of whole classes, of the records that stay; `values` and `published` have a column for each ε-quasi."""
    found = InsideSums.none(values.shape[1])
    is_in_order = bool(np.all(class_ids[1:] >= class_ids[:-1]) and stays.all())
    for j in range(values.shape[1]):
        with np.errstate(over="ignore", invalid="ignore"):  # a figure that is no number is not shown
            if is_in_order and not np.isnan(values[:, j]).any():
                parts = _in_order(values[:, j], published[:, j], class_ids)
            else:
                pairs = partial(_present, values[:, j], published[:, j], class_ids, stays)
                parts = _scattered(pairs, n_classes=n_classes)
            for one, other in parts:
                # Not `np.dot`: its threads keep a core busy while they wait for one another.
                found.true[j] += np.einsum("i,i->", one, one)
                found.published[j] += np.einsum("i,i->", other, other)
                found.product[j] += np.einsum("i,i->", one, other)
    return found


_Distances = tuple[FloatArray, FloatArray]
"""Distances of some records from the mean of their class, of true and of published values."""


def _in_order(true: FloatArray, drawn: FloatArray, class_ids: IntArray) -> Iterator[_Distances]:
    """The distances of all records, whose classes stand side by side, a few whole classes at a time."""
    firsts = np.flatnonzero(np.diff(class_ids, prepend=-1))
    ends = np.append(firsts[1:], len(class_ids))
    done = 0
    while done < len(firsts):
        until = max(done + 1, int(np.searchsorted(ends, firsts[done] + _PART, side="right")))
        own = slice(int(firsts[done]), int(ends[until - 1]))
        starts, sizes = firsts[done:until] - own.start, ends[done:until] - firsts[done:until]
        place = np.repeat(np.arange(until - done), sizes)
        yield _from_means(true[own], starts, sizes, place), _from_means(drawn[own], starts, sizes, place)
        done = until


def _from_means(values: FloatArray, starts: IntArray, sizes: IntArray, place: IntArray) -> FloatArray:
    """Distances from the means of classes; from a value of the class first, so that they are 0 where values agree."""
    distances = values - values[starts][place]
    distances -= (np.add.reduceat(distances, starts) / sizes)[place]
    return distances


def _scattered(pairs: Callable[[], Iterator[_Present]], *, n_classes: int) -> Iterator[_Distances]:
    """The distances of the records that stay and hold a value, whatever their order."""
    near, means = _class_means(pairs, n_classes=n_classes)
    for ids, true, drawn in pairs():
        yield true - near[0, ids] - means[0, ids], drawn - near[1, ids] - means[1, ids]


def _class_means(pairs: Callable[[], Iterator[_Present]], *, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """A value of each class, and how far the mean of the class is above it: of true and of published values.

    Both have shape (2, n_classes). Sums of distances from a value of the class are small numbers, and 0 in a class whose
    values agree, however a mean is rounded.
    """
    near, sums = np.zeros((2, 2, n_classes))
    n = np.zeros(n_classes, dtype=np.int64)
    for ids, true, drawn in pairs():
        near[0, ids], near[1, ids] = true, drawn
    for ids, true, drawn in pairs():
        n += np.bincount(ids, minlength=n_classes)
        sums[0] += np.bincount(ids, weights=true - near[0, ids], minlength=n_classes)
        sums[1] += np.bincount(ids, weights=drawn - near[1, ids], minlength=n_classes)
    return near, sums / np.maximum(n, 1)


def _present(true: FloatArray, drawn: FloatArray, class_ids: IntArray, stays: BoolArray) -> Iterator[_Present]:
    """Class, true and published value of the records that stay and hold a value, some of them at a time."""
    for first in range(0, len(stays), _PART):
        rows = slice(first, first + _PART)
        chosen = stays[rows] & ~np.isnan(true[rows])
        if chosen.all():
            yield class_ids[rows], true[rows], drawn[rows]
        else:
            yield class_ids[rows][chosen], true[rows][chosen], drawn[rows][chosen]
