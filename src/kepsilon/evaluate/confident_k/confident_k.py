# SPDX-License-Identifier: Apache-2.0
"""Which records are suppressed so that k holds at confidence c: those that noise left too few originals to hide among.

Paper §V-C. Let ℓ_i be the number of originals of its class within r_c of the published value of record i; it is counted
here for one ε-quasi, in `linking.several_attributes` for several. Records with 0 < ℓ_i < k are suppressed, and then every
class of which fewer than k records are left. Where a person may have several records, all three count persons
(`persons_in_reach`). Departure D9: ℓ_i counts the originals around the published value, which is what the text
means; the formula prints the original value, around which there is always at least the record itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.members import Members
from kepsilon.evaluate.originals.sorted_classes import ROUNDING, SortedClasses
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.coded_values import without_missing
from kepsilon.table.steps import Steps


class ZeroRule(Enum):
    """What becomes of a record with ℓ_i = 0, which noise has moved away from every original of its class."""

    TEXT = "text"
    """It stays, and counts among the k records of its class: the paper's text."""
    STRICT = "strict"
    """It stays, but its class must have k records without it: the paper's formula."""
    SUPPRESS_ZERO = "suppress_zero"
    """It goes: for large ε such records are linked far more often than others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentK:
    """The curator's request for confident k, and how values are published."""

    k: int
    confidence: float
    rule: ZeroRule
    precisions: tuple[Fraction, ...]
    """One for each ε-quasi."""
    domains: tuple[tuple[Fraction, Fraction] | None, ...] = ()
    """Public bounds that published values are clamped to, by ε-quasi; empty if there are none at all."""

    @classmethod
    def asked_by(cls, policy: Policy) -> ConfidentK | None:
        """The request in a policy; None if it states no confidence."""
        if policy.confidence is None:
            return None
        return cls(
            k=policy.k,
            confidence=policy.confidence,
            rule=ZeroRule(policy.confidence_rule),
            precisions=tuple(fraction(attribute.precision) for attribute in policy.epsilon_quasis.values()),
            domains=tuple(
                None if a.domain is None else (fraction(a.domain[0]), fraction(a.domain[1]))
                for a in policy.epsilon_quasis.values()
            ),
        )

    def reach(self, mechanism: NoiseLaw, low: FloatArray, high: FloatArray, *, epsilon: float) -> FloatArray:
        """r_c: published values lie within this distance of a record's own with probability c; shaped like `low`.

        Paper Eq. (9). Half a unit of the precision is added to the reach of what is drawn because rounding moves values
        too: without it 0.99 can be 0.93. Where there is no noise the reach is infinite: a value that all records of the
        class share tells nothing.
        """
        half_units = np.array([float(precision / 2) for precision in self.precisions])
        drawn = mechanism.reach(low, high, epsilon=epsilon, confidence=self.confidence)
        return np.where(high - low > 0, drawn + half_units, np.inf)

    @property
    def steps(self) -> Steps:
        """How values of the only ε-quasi are rounded and clamped."""
        domain = self.domains[0] if self.domains else None
        return Steps(precision=self.precisions[0], domain=domain)


def originals_in_reach(
    classes: SortedClasses, published: FloatArray, *, linking_ranges: FloatArray, precision: Fraction | None = None
) -> IntArray:
    """ℓ_i of every record: how many originals of its class lie within r_c of its published value, ends included.

    `published` and the result are in the order of the records, shape (n_records,); `linking_ranges` is r_c per class, shape
    (n_classes,). The ends are given the width of a double's rounding, so that
    an original that lies on one in decimals is not lost in binary; but no more than a part of the precision, which that
    width exceeds among large numbers.
    """
    below, upto = values_in_reach(classes, published, linking_ranges=linking_ranges, precision=precision)
    n_before = np.concatenate([[0], np.cumsum(classes.counts)])
    in_reach = np.empty(len(below), dtype=np.int64)
    in_reach[classes.order] = n_before[upto] - n_before[below]
    return in_reach


def values_in_reach(
    classes: SortedClasses, published: FloatArray, *, linking_ranges: FloatArray, precision: Fraction | None
) -> tuple[IntArray, IntArray]:
    """The first distinct value in reach of each record, and the first beyond, as positions in `classes.values`.

    Both in the sorted order of the classes, shape (n_records,); other arguments as for `originals_in_reach`.
    """
    ids = classes.class_ids[classes.place]
    centre = without_missing(published)[classes.order]
    reach = without_missing(linking_ranges)[ids]
    slack = ROUNDING * (np.abs(centre) + np.where(np.isinf(reach), 0.0, reach))
    reach = reach + (slack if precision is None else np.minimum(slack, float(precision / 4)))
    upto = classes.n_distinct_up_to(centre + reach, ids, include_equal=True)
    below = classes.n_distinct_up_to(centre - reach, ids, include_equal=False)
    return below, upto


def suppressed_for_confidence(
    in_reach: IntArray,
    class_ids: IntArray,
    *,
    k: int,
    n_classes: int,
    rule: ZeroRule = ZeroRule.TEXT,
    members: Members | None = None,
) -> BoolArray:
    """Which records are suppressed, given every ℓ_i: those with 0 < ℓ_i < k, then whole classes left with fewer than k.

    `in_reach` (ℓ_i), `class_ids` and the result have shape (n_records,). One pass: ℓ_i is not counted again in a class that
    lost records, because the attacker still holds their originals. With `members`, ℓ_i counts persons, and a class goes if
    fewer than k persons are left in it.
    """
    goes, counts_as_gone = goes_alone(in_reach, k=k, rule=rule)
    n_left: IntArray
    if members is None:
        n_left = np.bincount(class_ids[~counts_as_gone], minlength=n_classes)
    else:
        n_left = members.n_persons_among(~counts_as_gone)
    suppressed: BoolArray = goes | (n_left < k)[class_ids]
    return suppressed


def goes_alone(in_reach: IntArray, *, k: int, rule: ZeroRule) -> tuple[BoolArray, BoolArray]:
    """Which records are suppressed whatever becomes of their class, and which do not count among the k that it needs."""
    too_few = in_reach < k
    goes = too_few if rule is ZeroRule.SUPPRESS_ZERO else too_few & (in_reach != 0)
    return goes, goes if rule is ZeroRule.TEXT else too_few
