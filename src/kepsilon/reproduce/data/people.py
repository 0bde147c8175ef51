# SPDX-License-Identifier: Apache-2.0
"""People who do not exist: identifiers, so that there is something to remove, and heights and weights by age and sex."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kepsilon.reproduce.data import stand_in_figures as figures
from kepsilon.reproduce.data.draws import Draws, FloatArray, IntArray, TextArray

WOMEN = (
    ("Ada", "Bri", "Cela", "Dori", "Eve", "Flo", "Gwe", "Hele", "Ine", "Jose", "Kari", "Lore", "Mira", "Nora", "Olivi"),
    ("bel", "dette", "lia", "line", "mara", "nna", "rina", "sta", "thea", "vina"),
)
MEN = (
    ("Alde", "Bero", "Cory", "Davo", "Edwi", "Fabi", "Garo", "Huber", "Ivo", "Jero", "Kono", "Lamo", "Mari", "Nico"),
    ("bald", "dan", "frid", "lan", "mund", "nard", "rick", "ston", "tius", "vin"),
)
SURNAMES = (
    ("Alder", "Birch", "Cedar", "Dusk", "Ember", "Frost", "Glen", "Hazel", "Iron", "Juniper", "Kestrel", "Linden",
     "Mallow", "North", "Orchard", "Pebble", "Quarry", "Raven", "Spruce", "Thistle"),
    ("bank", "bourne", "combe", "croft", "den", "fold", "garth", "holt", "hurst", "ling", "mere", "more", "shaw",
     "stead", "thorpe", "wick"),
)  # fmt: skip
STREETS = ("Avenue", "Circle", "Court", "Drive", "Lane", "Road", "Street", "Way")


def names(draws: Draws, is_female: NDArray[np.bool_]) -> TextArray:
    n = len(is_female)
    women, men = draws.one_of("her name", _joined(WOMEN), n), draws.one_of("his name", _joined(MEN), n)
    return np.where(is_female, women, men)


def surnames(draws: Draws, n: int) -> TextArray:
    return draws.one_of("surname", _joined(SURNAMES), n)


def addresses(draws: Draws, n: int) -> TextArray:
    """Addresses: a house number and a street."""
    streets = [f" {name} {kind}" for name in _joined(SURNAMES).tolist() for kind in STREETS]
    return np.strings.add(_digits(1 + draws.below("house", n, 9_999)), draws.one_of("street", np.array(streets), n))


def e_mails(draws: Draws, name: TextArray) -> TextArray:
    """E-mail addresses at a domain that is set aside for examples, where no mail arrives."""
    numbered = np.strings.add(np.strings.add(name, "."), _digits(draws.below("e-mail", len(name), 1_000_000)))
    return np.strings.add(numbered, "@example.org")


def telephone_numbers(draws: Draws, n: int) -> TextArray:
    """Telephone numbers from 555-0100 to 555-0199, which are set aside for fiction, behind an area code."""
    numbers = np.array([f" 555-01{ending:02d}" for ending in range(100)])
    return np.strings.add(_digits(200 + draws.below("area", n, 800)), draws.one_of("telephone", numbers, n))


def patient_ids(draws: Draws, n: int) -> TextArray:
    """Patient numbers, each once, in random order."""
    return np.strings.add("P", np.strings.zfill(_digits(draws.order("patient", n)), 7))


def _joined(parts: tuple[tuple[str, ...], tuple[str, ...]]) -> TextArray:
    return np.array([head + tail for head in parts[0] for tail in parts[1]])


def _digits(numbers: IntArray) -> TextArray:
    """The numbers as text of no more characters than the longest needs."""
    return numbers.astype(f"<U{len(str(numbers.max(initial=0)))}")


def heights(draws: Draws, age: IntArray, is_female: NDArray[np.bool_]) -> FloatArray:
    """Heights in centimetres with one decimal, normal by age and sex."""
    return np.round(_normal(draws, "height", figures.HEIGHT_CM, age, is_female), 1)


def weights(draws: Draws, age: IntArray, is_female: NDArray[np.bool_]) -> FloatArray:
    """Weights in kilograms with one decimal, log-normal by age and sex."""
    kilograms: FloatArray = np.exp(_normal(draws, "weight", figures.LN_WEIGHT_KG, age, is_female))
    return np.round(kilograms, 1)


def _normal(
    draws: Draws,
    purpose: str,
    by_sex: Mapping[str, tuple[tuple[float, float], ...]],
    age: IntArray,
    is_female: NDArray[np.bool_],
) -> FloatArray:
    band = np.maximum(np.searchsorted(figures.BODY_AGES, age, side="right") - 1, 0)
    women, men = np.array(by_sex["F"]), np.array(by_sex["M"])
    mean, deviation = np.where(is_female[:, None], women[band], men[band]).T
    drawn: FloatArray = mean + deviation * draws.normal(purpose, len(age))
    return drawn
