# SPDX-License-Identifier: Apache-2.0
"""The error of the best constant per class: of publishing the median of its class for every record, without any noise.

Published values whose error is not smaller tell no more about a record than its class does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kepsilon.evaluate.error.relative_error import ErrorSums, errors_of, errors_of_counts
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.coded_values import CodedValues


def errors_of_medians(
    values: FloatArray,
    class_ids: IntArray,
    *,
    n_classes: int,
    coded: Sequence[CodedValues] | None = None,
    counted: Sequence[ClassValues | None] | None = None,
) -> tuple[ErrorSums, ...]:
    """The error of the median of each class, by ε-quasi; classes must be whole.

    `values` has shape (n_records, n_epsilon_quasis), NaN where missing. `coded` are the values coded, where they are: then
    class and value are sorted as one number, which takes a third of the time. `counted` are the values counted by class,
    where they are: then nothing is sorted.
    """
    found = []
    for j in range(values.shape[1]):
        classes = None if counted is None else counted[j]
        if classes is not None:
            found.append(errors_of_counted_medians(classes))
            continue
        own = None if coded is None else coded[j]
        found.append(errors_of(*_sorted_with_distances(values[:, j], class_ids, n_classes=n_classes, coded=own)))
    return tuple(found)


def errors_of_counted_medians(classes: ClassValues) -> ErrorSums:
    """The error of the median of each class, from the distinct values of every class and how many records hold each."""
    passed = np.cumsum(classes.counts)
    sizes = classes.sizes
    middles = np.searchsorted(passed, np.cumsum(sizes) - sizes + (sizes + 1) // 2)
    medians = classes.values[np.minimum(middles, max(len(passed) - 1, 0))] if len(passed) else np.zeros(len(sizes))
    return errors_of_counts(
        classes.values, classes.counts, distances=np.abs(classes.values - medians[classes.class_ids])
    )


def errors_of_median(values: FloatArray, counts: IntArray) -> ErrorSums:
    """The error of the median of one class, known by its distinct values in rising order and how many records hold each."""
    present = ~np.isnan(values)
    values, counts = values[present], counts[present]
    if not values.size:
        return ErrorSums()
    passed = np.cumsum(counts)
    median = values[np.searchsorted(passed, (passed[-1] + 1) // 2)]
    return errors_of_counts(values, counts, distances=np.abs(values - median))


def _sorted_with_distances(
    values: FloatArray, class_ids: IntArray, *, n_classes: int, coded: CodedValues | None
) -> tuple[FloatArray, FloatArray]:
    """The values that are there, sorted by class and value, and the distance of each from the median of its class."""
    present = ~np.isnan(values)
    all_present = bool(present.all())
    ids = class_ids if all_present else class_ids[present]
    if coded is not None and n_classes * len(coded.distinct) < 1 << 63:
        keys = ids.astype(np.int64) * len(coded.distinct) + (coded.codes if all_present else coded.codes[present])
        keys.sort()
        ids, codes = np.divmod(keys, len(coded.distinct))
        ordered = coded.distinct[codes]
    else:
        own = values if all_present else values[present]
        order = np.lexsort((own, ids))
        ids, ordered = ids[order], own[order]
    sizes = np.bincount(ids, minlength=n_classes)
    middles = np.cumsum(sizes) - sizes + np.maximum(sizes - 1, 0) // 2
    medians = ordered[np.minimum(middles, max(len(ordered) - 1, 0))] if ordered.size else np.zeros(n_classes)
    return ordered, np.abs(ordered - medians[ids])
