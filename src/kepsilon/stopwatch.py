# SPDX-License-Identifier: Apache-2.0
"""Seconds per step, and who wants to know what begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


def ignore_step(step: str) -> None:
    """Shows nothing."""


@dataclass(slots=True)
class Stopwatch:
    """Seconds per step, telling `on_step` what begins."""

    on_step: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, *, shown: str | None = None) -> Iterator[None]:
        """One step; the seconds of steps of the same name add up, whatever is shown of them."""
        self.on_step(shown or name)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 4)

    def divide(self, name: str, shares: Mapping[str, float], seconds: float) -> None:
        """Divides seconds of a step among the steps inside it, as their own seconds say, wherever they were spent."""
        total = sum(shares.values())
        if not total:
            return
        self.seconds[name] -= seconds
        for inner, own in shares.items():
            self.seconds[inner] = round(self.seconds.get(inner, 0.0) + seconds * own / total, 4)
