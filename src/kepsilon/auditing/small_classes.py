# SPDX-License-Identifier: Apache-2.0
"""The strongest attackers on small classes: the best assignment of all records at once, and Bayes' rule over all of them.

Written for an audit: plain, and apart from the figures that the release itself reports.
"""

from __future__ import annotations

import numpy as np

from kepsilon.table.arrays import FloatArray

LARGEST = 8
"""Assignments of more records than this are too many to weigh one by one."""


def rank_links(values: FloatArray, published: FloatArray) -> FloatArray:
    """Chance of each record to be matched with its own original, if both sides are put in order; shape (n_records,).

    `values` are the class's originals, of which the first belong to the records in their order. In order is the most
    probable assignment for one ε-quasi. Equal values share their places evenly.
    """
    n = len(published)
    if n != len(values):
        return np.zeros(n)
    links = np.empty(n)
    for i in range(n):
        first, last = int((values < values[i]).sum()), int((values <= values[i]).sum())
        own_first, own_last = int((published < published[i]).sum()), int((published <= published[i]).sum())
        common = max(0, min(last, own_last) - max(first, own_first))
        links[i] = common / (own_last - own_first) / (last - first)
    return links


def bayes_posteriors(distances: FloatArray, *, epsilon: float) -> FloatArray:
    """Probability that record i is original j given all that the class published, shape (n_batch, n_records, n_originals).

    `distances` is in units of the class's range, shaped alike, for classes of one size. Sums over all assignments are
    made subset by subset: forwards over the records before i, backwards over those after it.
    """
    n_batch, n_records, n_originals = distances.shape
    # Adding a constant to a record's row changes every assignment alike, so the nearest original is given weight 1.
    weights = np.exp(-epsilon * (distances - distances.min(axis=2, keepdims=True)))
    n_subsets = 1 << n_originals
    sizes = np.array([subset.bit_count() for subset in range(n_subsets)])
    forward = np.zeros((n_subsets, n_batch))
    forward[0] = 1.0
    for i in range(n_records):
        for subset in np.flatnonzero(sizes == i).tolist():
            for j in range(n_originals):
                if not subset >> j & 1:
                    forward[subset | 1 << j] += forward[subset] * weights[:, i, j]
    backward = np.zeros((n_subsets, n_batch))
    backward[sizes == n_records] = 1.0
    posterior = np.zeros_like(distances)
    for i in reversed(range(n_records)):
        for subset in np.flatnonzero(sizes == i).tolist():
            for j in range(n_originals):
                if not subset >> j & 1:
                    through = weights[:, i, j] * backward[subset | 1 << j]
                    backward[subset] += through
                    posterior[:, i, j] += forward[subset] * through
    total = backward[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: FloatArray = posterior / total[:, np.newaxis, np.newaxis]
    return shares
