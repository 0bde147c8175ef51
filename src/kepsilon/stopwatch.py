# SPDX-License-Identifier: Apache-2.0
"""Measures the seconds that each step of a run takes, and reports when a step begins and how much of it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

OnCount = Callable[[int, int, str], None]
"""Is told how many are done, of how many, and what they are, such as "classes"."""

_LISTENER: ContextVar[OnCount | None] = ContextVar("listener", default=None)
"""Whom to tell how much of the current step is done; None where nobody listens."""


def ignore_step(step: str) -> None:
    """An `on_step` that does nothing."""


class OfClasses(Protocol):
    """What was found in a batch of classes."""

    @property
    def classes(self) -> slice:
        """The classes of the batch."""


Batch = TypeVar("Batch", bound=OfClasses)


def listener() -> OnCount | None:
    """Whom to tell how much of the current step is done; None where nobody listens.

    It is the `on_count` of the function that a caller gave as `on_step`, if that has one. Code that is run by other threads
    or processes has to be handed it.
    """
    return _LISTENER.get()


def tell(done: int, of: int, what: str) -> None:
    """Says that `done` of so many are done in the current step, to whoever listens."""
    told = _LISTENER.get()
    if told is not None:
        told(done, of, what)


def each_counted(batches: Iterable[Batch], *, n_classes: int) -> Iterator[Batch]:
    """The batches; after each of them it is told how many classes are done."""
    done = 0
    for batch in batches:
        yield batch
        done += batch.classes.stop - batch.classes.start
        tell(done, n_classes, "classes")


@dataclass(slots=True)
class Stopwatch:
    """The seconds that each step took so far; `on_step` is called when a step begins.

    If `on_step` has an attribute `on_count`, that is called with what `tell` is told during a step.
    """

    on_step: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, *, shown: str | None = None, part: tuple[int, int, str] | None = None) -> Iterator[None]:
        """Measures the block as one step; the seconds of steps of one name add up. `on_step` gets `shown`, or the name.

        Where the block is one of many alike, `part` says how many of them are done, of how many, and what they are, such as
        (3, 84, "cells"). What is counted inside it is not told then. An `on_step` that cannot be told numbers is told them
        in words, "cells 3 of 84".
        """
        on_count: OnCount | None = getattr(self.on_step, "on_count", None)
        if part is None or on_count is not None:
            self.on_step(shown or name)
        else:
            done, of, what = part
            self.on_step(f"{what} {done:,} of {of:,}")
        if part is not None and on_count is not None:
            on_count(*part)
        start = time.perf_counter()
        outer = _LISTENER.set(None if part is not None else on_count or _LISTENER.get())
        try:
            yield
        finally:
            _LISTENER.reset(outer)
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
