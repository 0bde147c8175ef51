# SPDX-License-Identifier: Apache-2.0
"""What a mechanism has to offer: drawing, measuring and checking a policy go through these methods alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from kepsilon.randomness import ByteSource
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps


class Mechanism(Protocol):
    """A way to publish the ε-quasis of a record so that any two values of its range are ε-indistinguishable.

    A small frozen value without data, which travels to workers. Everywhere `low` and `high` are the ends of the range of
    a class. An ε-quasi is active where its range is positive. Where the ends agree, all records of the class agree, and
    the value is published as it is; where they are NaN, all its values are missing and stay so. What it promises in words is
    one of the facts that a policy needs (`policy.choices.MechanismFacts`).
    """

    @property
    def exponential(self) -> ExponentialNoise | None:
        """Its law, if it adds noise of density ∝ exp(−max_j|z_j|) in units of R_j/ε: figures then have closed forms.

        None: figures are simulated with `draw` and `log_likelihoods`.
        """

    def coarse_enough(self, low: FloatArray, high: FloatArray, precision: Fraction) -> BoolArray:
        """Whether the precision is coarse enough to hide the grid of drawn values, for every class; shaped like `low`."""

    def draw(
        self,
        values: FloatArray,
        class_ids: IntArray,
        low: FloatArray,
        high: FloatArray,
        *,
        epsilon: Fraction,
        steps: Sequence[Steps],
        source: ByteSource,
    ) -> FloatArray:
        """What is published of the ε-quasis, shaped like `values`: each record is one unit and spends ε once.

        `values` has shape (n_records, n_attributes), `low` and `high` (n_classes, n_attributes).
        """

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
        """ln P(published | original) of pairs, less anything that is the same for all originals of a class.

        Expected figures are taken from it where there is no closed form, so it has to be the law of just what `draw`
        returns, rounding to the steps and clamping to a domain included.

        All have the shape (n_pairs, n_attributes), and the result (n_pairs,); −∞ where an original is ruled out. For two
        originals of one class the difference is at most ε. An attribute that is not active tells nothing. Shapes that are
        broadcast together serve all pairs of one class: (n_records, 1, n_attributes) with (n_originals, n_attributes) and
        ends (1, n_attributes) give (n_records, n_originals), and what depends on one of the two is worked out once.
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
        """E|published − original| by record and ε-quasi, all of one shape; None where it has no closed form.

        `values` get the noise: they are the originals, clipped where bounds are declared. What is published is clamped to
        the domain in `steps`.
        """

    def reach(self, low: FloatArray, high: FloatArray, *, epsilon: float, confidence: float) -> FloatArray:
        """Distances within which drawn values of all ε-quasis together lie of a record's own with this probability.

        By class and ε-quasi, before rounding; all have the shape (n_classes, n_attributes).
        """

    def most_links(self, d: int, *, epsilon: Fraction) -> Fraction:
        """A bound on Σ_x max_v P(x|v), the sum over all x that may be published of a class with d active ε-quasis or fewer.

        It is never more than e^ε, because max_v P(x|v) ≤ e^ε·P(x|v₀) for any original v₀.
        """

    def most_noise(self, d: int, *, epsilon: Fraction) -> Fraction | None:
        """The most that E|x_j − v_j| before rounding can be in units of R_j, with d active ε-quasis; None if not known."""


class ExponentialNoise(Protocol):
    """Noise of density ∝ exp(−max_j|z_j|) over the d active ε-quasis of a record, in units of R_j/ε."""

    def expected_noise(self, ranges: FloatArray, *, epsilon: float) -> FloatArray:
        """E|Z_j| before rounding, by class and ε-quasi; it goes as 1/ε."""

    def within(self, distances: FloatArray) -> FloatArray:
        """P(|Z| ≤ t) where one ε-quasi is active."""

    def below(self, places: FloatArray) -> FloatArray:
        """P(Z ≤ t) where one ε-quasi is active."""

    def exceeding_factor(self, distances: FloatArray, *, d: int) -> FloatArray:
        """e^t·P(|Z_j| > t) for one of d active ε-quasis."""

    def unit_noise(self, active: BoolArray, rng: np.random.Generator) -> FloatArray:
        """Noise for simulations: 0 for what is not active; shaped like `active`, (n_records, n_attributes)."""
