# SPDX-License-Identifier: Apache-2.0
"""Seconds per step, and who wants to know what begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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
    def step(self, name: str) -> Iterator[None]:
        self.on_step(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 4)
