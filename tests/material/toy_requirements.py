# SPDX-License-Identifier: Apache-2.0
"""Requirements made up for tests, by the records and the combinations of a class; flags may lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.kanonymise.requirements.protocol import class_sums


@dataclass(frozen=True)
class Toy:
    """A class meets it if `judge` says so of its records and its distinct combinations, as numbers or as arrays."""

    judge: Callable
    is_monotone_under_suppression: bool
    holds_for_unions: bool
    name: str = "toy"
    claim: str = "a toy"
    unmet: str = "classes that break a toy"
    remedy: str = "take the toy away"

    def met_by(self, table, class_of, *, n_classes):
        n_combinations = class_sums(np.ones(table.n_combinations), class_of, n_classes=n_classes)
        return self.judge(class_sums(table.counts, class_of, n_classes=n_classes), n_combinations)

    def meets(self, members: Sequence[tuple]) -> bool:
        """For oracles: the records of one class."""
        return bool(self.judge(len(members), len(set(members))))


def several_combinations(n: int = 2) -> Toy:
    """More combinations never hurt."""
    return Toy(lambda _, n_combinations: n_combinations >= n, True, True)


def even() -> Toy:
    """Two even classes are even together; an even one and an odd one are not."""
    return Toy(lambda n_records, _: n_records % 2 == 0, False, True)


def at_most(n: int) -> Toy:
    """Even two classes that meet it may break it together."""
    return Toy(lambda n_records, _: n_records <= n, False, False)
