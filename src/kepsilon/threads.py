# SPDX-License-Identifier: Apache-2.0
"""Runs pieces of work on the cores of this machine, several at a time; NumPy and Arrow compute without Python's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Piece = TypeVar("Piece")
Found = TypeVar("Found")

_MOST = 4
"""Threads at the most: each takes memory of its own, and more of them wait for one another."""


_PIECE = 1 << 17
"""Numbers of an array that one piece of work is about: enough to be worth handing over, few enough for a processor's cache."""


def n_threads() -> int:
    """How many pieces of work run at a time."""
    can_tell = hasattr(os, "sched_getaffinity")  # not on every system; it knows of limits that `cpu_count` does not
    n_cores = len(os.sched_getaffinity(0)) if can_tell else os.cpu_count() or 1
    return min(_MOST, n_cores)


def each_of(pieces: Sequence[Piece], work: Callable[[Piece], Found]) -> Iterator[Found]:
    """What `work` finds in every piece, in the order of the pieces. A single piece is worked on where it is.

    Work runs ahead of whoever takes what was found, but by a few pieces only, so that what was found takes little memory.
    What goes wrong in a piece is raised here; pieces that were not begun are not worked on any more.
    """
    if len(pieces) <= 1 or n_threads() == 1:
        yield from map(work, pieces)
        return
    with ThreadPoolExecutor(n_threads()) as threads:
        ahead: deque[Future[Found]] = deque()
        try:
            for piece in pieces:
                ahead.append(threads.submit(work, piece))
                if len(ahead) > n_threads():
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for own in ahead:
                own.cancel()


def in_pieces(n: int, work: Callable[[slice], None]) -> None:
    """Lets `work` fill arrays of n numbers, some neighbouring ones at a time."""
    pieces = [slice(first, min(first + _PIECE, n)) for first in range(0, n, _PIECE)]
    for _ in each_of(pieces, work):
        pass


@contextmanager
def begun(work: Callable[[], Found], *, at_once: bool) -> Iterator[Callable[[], Found]]:
    """Gives a function that returns what `work` finds; with `at_once`, that runs beside whatever the block does first."""
    if not at_once or n_threads() == 1:
        yield work
        return
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(work).result
