# SPDX-License-Identifier: Apache-2.0
"""Heights, normal, and weights, log-normal, by age and sex."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kepsilon.reproduce.data import stand_in_figures as figures
from kepsilon.reproduce.data.draws import Draws, FloatArray, IntArray

BySex = Mapping[str, tuple[tuple[float, float], ...]]


def heights(draws: Draws, age: IntArray, is_female: NDArray[np.bool_]) -> FloatArray:
    """Centimetres, with one decimal."""
    return np.round(_normal(draws, "height", figures.HEIGHT_CM, age, is_female), 1)


def weights(draws: Draws, age: IntArray, is_female: NDArray[np.bool_]) -> FloatArray:
    """Kilograms, with one decimal."""
    kilograms: FloatArray = np.exp(_normal(draws, "weight", figures.LN_WEIGHT_KG, age, is_female))
    return np.round(kilograms, 1)


def _normal(draws: Draws, purpose: str, by_sex: BySex, age: IntArray, is_female: NDArray[np.bool_]) -> FloatArray:
    band = np.maximum(np.searchsorted(figures.BODY_AGES, age, side="right") - 1, 0)
    women, men = np.array(by_sex["F"]), np.array(by_sex["M"])
    mean, deviation = np.where(is_female[:, None], women[band], men[band]).T
    drawn: FloatArray = mean + deviation * draws.normal(purpose, len(age))
    return drawn
