# SPDX-License-Identifier: Apache-2.0
"""What the paper varies, and how much of it one reproduction measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from kepsilon.json_values import Json

KS = (2, 5, 10, 20, 50, 100)
EPSILONS = (0.05, 0.5, 1, 2, 4, 8, 16)
CONFIDENCES = (0.7, 0.9, 0.99, 0.999, 0.9999, 0.99999)
ALGORITHM_NAMES = {"ola": "OLA", "mondrian": "Mondrian"}
ALGORITHMS = tuple(ALGORITHM_NAMES)
DATA_SETS = ("adult", "florida", "michigan")

SHOWN_CONFIDENCE = 0.99
"""The confidence that the paper draws; the others go into tables."""
SHOWN_K = 20
"""The k of a figure that has room for one: that of the paper's own example."""
SMALL_EPSILON = 1
"""The largest ε that counts as small; the paper does not say which does."""
SEED = 1
"""Draws the stand-ins and the noise; not chosen for what came out."""

Measurements = Mapping[str, Json]
"""What was measured, by experiment, data set and algorithm, as in `releases-adult-ola`."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The cells to measure, and how often each is run."""

    ks: tuple[int, ...] = KS
    epsilons: tuple[float, ...] = EPSILONS
    confidences: tuple[float, ...] = CONFIDENCES
    runs: int = 30
    seed: int = SEED
    is_quick: bool = False

    def ends_if_quick(self, values: Sequence[T]) -> Sequence[T]:
        """All values, or in a quick run the first and the last: for what takes long and shows little more in between."""
        return (values[0], values[-1]) if self.is_quick else values

    def to_json(self) -> Mapping[str, Any]:
        return asdict(self)


def quick_scope() -> Scope:
    """The scope of a quick run: enough cells to see that everything works, too few to judge all claims by."""
    return Scope(ks=(2, 5, 20, 100), epsilons=(0.05, 1, 8, 16), confidences=(0.7, 0.99, 0.99999), runs=3, is_quick=True)
