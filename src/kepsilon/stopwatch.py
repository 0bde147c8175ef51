# SPDX-License-Identifier: Apache-2.0
"""Measures the seconds that each step of a run takes, and reports when a step begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


def ignore_step(step: str) -> None:
    """An `on_step` that does nothing."""


@dataclass(slots=True)
class Stopwatch:
    """The seconds that each step took so far; `on_step` is called when a step begins."""

    on_step: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, *, shown: str | None = None) -> Iterator[None]:
        """Measures the block as one step; the seconds of steps of one name add up. `on_step` gets `shown`, or the name."""
        self.on_step(shown or name)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 4)

    def divide(self, name: str, shares: Mapping[str, float], seconds: float) -> None:
        """Moves `seconds` of a step to the steps inside it, in proportion to `shares`.

        `shares` are the seconds of the inner steps as measured where they ran, such as on workers.
        """
        total = sum(shares.values())
        if not total:
            return
        self.seconds[name] -= seconds
        for inner, own in shares.items():
            self.seconds[inner] = round(self.seconds.get(inner, 0.0) + seconds * own / total, 4)
