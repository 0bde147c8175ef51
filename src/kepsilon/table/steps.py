# SPDX-License-Identifier: Apache-2.0
"""The values that may be published of an ε-quasi: multiples of its precision inside a public domain.

Mechanisms round noisy values to them; figures that are worked out beforehand take the rounding into account.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import EpsilonQuasi, fraction
from kepsilon.table.arrays import FloatArray

_ON_STEP = 1e-9
"""An end of an interval this close to a multiple, as a share of the precision, is on it: doubles are rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The values that may be published of an ε-quasi: multiples of the precision, clamped to a public domain."""

    precision: Fraction
    domain: tuple[Fraction, Fraction] | None = None

    @classmethod
    def of(cls, attribute: EpsilonQuasi) -> Steps:
        """The steps of an ε-quasi of a policy."""
        domain = attribute.domain
        return cls(
            precision=fraction(attribute.precision),
            domain=None if domain is None else (fraction(domain[0]), fraction(domain[1])),
        )

    def leading_into(self, opens: FloatArray, closes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where an unrounded value has to lie to be published inside each interval from `opens` to `closes`, ends included.

        Returns the ends of these intervals of unrounded values; all arrays have shape (n_intervals,). An interval without
        a multiple of the precision, or outside the domain, gives an empty one, which may stand inside that of another. An
        interval that holds an end of the domain becomes infinite, because values beyond are clamped to that end.
        """
        step = float(self.precision)
        first, last = np.ceil(opens / step - _ON_STEP), np.floor(closes / step + _ON_STEP)
        at_bottom = at_top = np.zeros(len(opens), dtype=np.bool_)
        if self.domain is not None:
            bottom, top = math.ceil(self.domain[0] / self.precision), math.floor(self.domain[1] / self.precision)
            at_bottom, at_top = (first <= bottom) & (last >= bottom), (last >= top) & (first <= top)
            first, last = np.maximum(first, bottom), np.minimum(last, top)
        last = np.maximum(last, first - 1)
        begin, end = (first - 0.5) * step, (last + 0.5) * step
        return np.where(at_bottom, -np.inf, begin), np.where(at_top, np.inf, end)


def steps_of(policy: Policy) -> tuple[Steps, ...]:
    """The steps of each ε-quasi of a policy."""
    return tuple(Steps.of(attribute) for attribute in policy.epsilon_quasis.values())
