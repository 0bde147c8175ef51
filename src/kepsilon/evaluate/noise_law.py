# SPDX-License-Identifier: Apache-2.0
"""What figures need to know of a mechanism: protocols, because `evaluate` imports no mechanism and is handed one.

Figures have closed forms where a mechanism adds exponential noise. Otherwise they are simulated with its own draws, and
the attacker picks the original that the mechanism's own likelihood favours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from kepsilon.evaluate.simulation import SimulatedBytes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps


class NoiseLaw(Protocol):
    """The law of published values. `low` and `high` are the ends of ranges; an ε-quasi is active where they differ."""

    @property
    def exponential(self) -> ExponentialLaw | None:
        """The law of the noise, where that is exponential; None where figures have to be simulated."""

    def coarse_enough(self, low: FloatArray, high: FloatArray, precision: Fraction) -> BoolArray:
        """Whether the mechanism can draw for these ranges in steps of the precision; shaped like `low`."""

    def draw(
        self,
        values: FloatArray,
        class_ids: IntArray,
        low: FloatArray,
        high: FloatArray,
        *,
        epsilon: Fraction,
        steps: Sequence[Steps],
        source: SimulatedBytes,
    ) -> FloatArray:
        """Published values, shaped like `values`, (n_records, n_attributes); ends are (n_classes, n_attributes)."""

    def log_likelihoods(
        self,
        published: FloatArray,
        originals: FloatArray,
        low: FloatArray,
        high: FloatArray,
        *,
        epsilon: float,
        steps: Sequence[Steps],
    ) -> FloatArray:
        """ln P(published | original) of pairs, from shape (n_pairs, n_attributes) to (n_pairs,); −∞ where it is impossible.

        Arguments may be broadcast together, so that all pairs of a class cost little: see `weigh_originals`.
        """

    def expected_distances(
        self,
        values: FloatArray,
        originals: FloatArray,
        low: FloatArray,
        high: FloatArray,
        *,
        epsilon: float,
        steps: Sequence[Steps],
    ) -> FloatArray | None:
        """E|published − original| by record and ε-quasi; None where it has to be simulated."""

    def reach(self, low: FloatArray, high: FloatArray, *, epsilon: float, confidence: float) -> FloatArray:
        """Distances within which drawn values lie of the true ones with this probability, (n_classes, n_attributes)."""


class ExponentialLaw(Protocol):
    """Noise of density ∝ exp(−max_j|z_j|) over the d active ε-quasis of a record, in units of R_j/ε.

    The likelihood of an original then is exp(−distance), distance being the largest of ε|x_j − v_j|/R_j.
    """

    def expected_noise(self, ranges: FloatArray, *, epsilon: float) -> FloatArray:
        """E|Z_j| before rounding, shaped like `ranges`, (n_classes, n_attributes); it goes as 1/ε."""

    def within(self, distances: FloatArray) -> FloatArray:
        """P(|Z| ≤ t) where one ε-quasi is active."""

    def below(self, places: FloatArray) -> FloatArray:
        """P(Z ≤ t) where one ε-quasi is active."""

    def exceeding_factor(self, distances: FloatArray, *, d: int) -> FloatArray:
        """e^t·P(|Z_j| > t) for one of d active ε-quasis."""

    def unit_noise(self, active: BoolArray, rng: np.random.Generator) -> FloatArray:
        """Noise of the active ε-quasis of each record, 0 in the others; shaped like `active`, (n_records, n_attributes)."""
