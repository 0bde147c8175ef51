# SPDX-License-Identifier: Apache-2.0
"""How far published values follow the true ones inside classes, once the mean of each class is subtracted from both.

A class shows its mean anyway; this is what the published values tell beyond it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.survival.moments import PairMoments
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray


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
    all_stay = bool(stays.all())
    ids = class_ids if all_stay else class_ids[stays]
    for j in range(values.shape[1]):
        true, drawn = (own[:, j] if all_stay else own[stays, j] for own in (values, published))
        present = ~np.isnan(true)
        own_ids = ids
        if not present.all():
            true, drawn, own_ids = true[present], drawn[present], ids[present]
        with np.errstate(over="ignore", invalid="ignore"):  # a figure that is no number is not shown
            true, drawn = (_about_class_means(own, own_ids, n_classes=n_classes) for own in (true, drawn))
            found.true[j], found.published[j] = np.dot(true, true), np.dot(drawn, drawn)
            found.product[j] = np.dot(true, drawn)
    return found


def _about_class_means(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> FloatArray:
    """Distances from the mean of the class. A class whose values agree has none, however its mean is rounded."""
    if not values.size:
        return values
    first = np.zeros(n_classes)
    first[class_ids] = values  # any value of the class will do, so that means are small numbers
    distances = values - first[class_ids]
    n = np.maximum(np.bincount(class_ids, minlength=n_classes), 1)
    means = np.bincount(class_ids, weights=distances, minlength=n_classes) / n
    centred: FloatArray = distances - means[class_ids]
    return centred
