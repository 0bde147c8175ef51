# SPDX-License-Identifier: Apache-2.0
"""The most that any published value can make the person probable whom a record is about, known before noise is drawn.

The attacker considers one record at a time, and knows the quasis of everybody's records. Let a person have m of the n
originals of a class, and let x be published. No original j of somebody else is less likely than the person's original i by
more than a factor e^(−ε·d_ij), with d_ij ≤ 1 their distance in units of R. Averaged over i, the likelihood of j is at least
Σ_i L_i·e^(−ε·d_ij)/m; added up over all j it is at least Σ_i L_i times S/m, with S the smallest Σ_j e^(−ε·d_ij) over the
person's originals i. So the posterior of the person is at most 1/(1 + S/m), and that is reached where all of the person's
originals are equal and published as they are. Whatever the values are, S ≥ (n − m)·e^(−ε), which gives
1/(1 + (n − m)/m·e^(−ε)); and m/n where nothing in a class has noise.

An attacker who matches all records of a class to its originals at once, one to one, is bounded by the same figure at 2ε:
exchanging i for j in a matching changes the likelihoods of two records, so that j is at least e^(−2ε·d_ij) times as probable
as i to be the original of a record, and the rest follows as above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kepsilon.evaluate.linking.linking_risk import largest_posteriors
from kepsilon.evaluate.originals.class_values import ClassValues, count_values
from kepsilon.evaluate.originals.members import Members
from kepsilon.table.arrays import BoolArray, FloatArray
from kepsilon.table.coded_values import CodedValues


def largest_by_counts(members: Members, is_active: BoolArray, *, epsilon: float) -> float:
    """The bound whatever the values are, over all persons and classes: 1/(1 + (n − m)/m·e^(−ε)).

    `is_active`, shape (n_classes,), says which classes have noise.
    """
    least = np.where(is_active, math.exp(-epsilon), 1.0)[members.class_ids]
    others = members.sizes[members.class_ids] / members.counts - 1
    return float(np.max(1 / (1 + others * least), initial=0.0))


def largest_of_persons(
    coded: CodedValues, members: Members, classes: ClassValues, *, ranges: FloatArray, epsilons: Sequence[float]
) -> list[float]:
    """The bound for one ε-quasi with exponential noise, from the values, for each ε.

    `coded` holds the values of the records, `classes` the distinct values of every class, and `ranges` (R) has shape
    (n_classes,).
    """
    own = count_values(coded, members.of_record, n_classes=len(members.class_ids))
    class_ids = members.class_ids[own.class_ids]
    place = classes.n_distinct_up_to(own.values, class_ids, include_equal=False)
    n_others = (members.sizes[members.class_ids] - members.counts)[own.class_ids]
    found = []
    for epsilon in epsilons:
        of_all = 1 / largest_posteriors(classes, ranges=ranges, epsilon=epsilon)[place]
        of_own = 1 / largest_posteriors(own, ranges=ranges[members.class_ids], epsilon=epsilon)
        # The difference of both is lost in rounding where it is small; it is never below what it is for values far apart.
        of_others = np.maximum(of_all - of_own, n_others * math.exp(-epsilon))
        least = np.minimum.reduceat(of_others, own.starts[:-1]) if len(of_others) else of_others
        found.append(float(np.max(1 / (1 + least / members.counts), initial=0.0)))
    return found
