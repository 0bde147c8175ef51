# SPDX-License-Identifier: Apache-2.0
"""Runs pieces of work on the cores of this machine, several at a time; NumPy and Arrow compute without Python's lock.

Meanwhile NumPy's linear algebra starts no threads of its own: those wait for one another with their cores busy, which takes
several times as long as one thread where there is other work for these cores.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Found = TypeVar("Found")

_MOST = 4
"""Threads at the most for one list of pieces: each takes memory of its own, and more of them wait for one another. Work on a
piece may begin threads of its own."""


_PIECE = 1 << 17
"""Numbers of an array that one piece of work is about: enough to be worth handing over, few enough for a processor's cache."""


def n_threads() -> int:
    """How many pieces of work run at a time."""
    can_tell = hasattr(os, "sched_getaffinity")  # not on every system; it knows of limits that `cpu_count` does not
    n_cores = len(os.sched_getaffinity(0)) if can_tell else os.cpu_count() or 1
    return min(_MOST, n_cores)


def each_of(
    pieces: Sequence[Piece], work: Callable[[Piece], Found], *, sizes: Sequence[int] | None = None, most: int = 0
) -> Iterator[Found]:
    """What `work` finds in every piece, in the order of the pieces. A single piece is worked on where it is.

    Work runs ahead of whoever takes what was found, but by a few pieces only, so that what was found takes little memory.
    Where `sizes` of the pieces are given, those worked on at a time have no more than `most` together; one that is larger
    is worked on alone. What goes wrong in a piece is raised here, once those that were begun are done, or have noticed that
    nobody waits for them any more (`go_on`); pieces that were not begun are not worked on any more.
    """
    go_on()
    if len(pieces) <= 1 or n_threads() == 1:
        yield from map(work, pieces)
        return
    given_up = threading.Event()
    work = _unless(given_up, work)
    with _WITHOUT_BLAS_THREADS, ThreadPoolExecutor(n_threads()) as threads:
        ahead: deque[tuple[Future[Found], int]] = deque()
        try:
            for i, piece in enumerate(pieces):
                size = 0 if sizes is None else sizes[i]
                while ahead and (len(ahead) > n_threads() or sum(own for _, own in ahead) + size > most > 0):
                    yield ahead.popleft()[0].result()
                ahead.append((threads.submit(work, piece), size))
            while ahead:
                yield ahead.popleft()[0].result()
        finally:
            given_up.set()
            for own, _ in ahead:
                own.cancel()


class GivenUpError(Exception):
    """Nobody waits for this piece of work any more; nobody gets to see this either."""


def go_on() -> None:
    """Raises GivenUpError in a piece of work that nobody waits for any more, as after an interrupt.

    `each_of` asks when it begins. A loop that takes long and has no pieces inside asks at every turn.
    """
    if any(given_up.is_set() for given_up in getattr(_OWN, "given_up", ())):
        raise GivenUpError


_OWN = threading.local()
"""Of a thread that works on pieces: `given_up`, set where nobody waits for them, nor for the piece that they are part of."""


def _unless(given_up: threading.Event, work: Callable[[Piece], Found]) -> Callable[[Piece], Found]:
    """The work for another thread, which is told so when it is given up, or the piece that it is part of."""
    asked = (*getattr(_OWN, "given_up", ()), given_up)

    def own(piece: Piece) -> Found:
        _OWN.given_up = asked
        return work(piece)

    return own


class Turns:
    """Lets pieces of work that run at the same time do something one after the other, in the order of their numbers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = 0

    def wait_for(self, number: int) -> None:
        """Waits until all pieces before this one are done."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == number)

    @contextmanager
    def ending(self, number: int) -> Iterator[None]:
        """The piece is done at the end of the block, also where it fails; those before it are done then too."""
        try:
            yield
        finally:
            self.wait_for(number)
            with self._changed:
                self._next += 1
                self._changed.notify_all()


def in_pieces(n: int, work: Callable[[slice], None]) -> None:
    """Lets `work` fill arrays of n numbers, some neighbouring ones at a time."""
    pieces = [slice(first, min(first + _PIECE, n)) for first in range(0, n, _PIECE)]
    for _ in each_of(pieces, work):
        pass


@contextmanager
def begun(work: Callable[[], Found], *, at_once: bool) -> Iterator[Callable[[], Found]]:
    """Gives a function that returns what `work` finds; with `at_once`, that runs beside whatever the block does first.

    The block ends when the work is done; where it raises, also when the work has noticed that (`go_on`).
    """
    if not at_once or n_threads() == 1:
        yield work
        return
    given_up = threading.Event()
    with _WITHOUT_BLAS_THREADS, ThreadPoolExecutor(1) as thread:
        try:
            yield thread.submit(_unless(given_up, lambda _: work()), None).result
        except BaseException:
            given_up.set()
            raise


class _WithoutBlasThreads:
    """While anybody is inside, NumPy's linear algebra uses the thread that asks for it; then as many as before."""

    def __init__(self) -> None:
        # Python closes a generator that nobody takes from any more between any two lines, also in a thread that holds this.
        self._lock = threading.RLock()
        self._n_inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._limits = _blas().limit(limits=1, user_api="blas")
            self._n_inside += 1  # last, so that nobody is counted as inside who did not come in

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._limits.restore_original_limits()


@functools.cache
def _blas() -> Any:
    """What sets the number of threads of the libraries that are loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_WITHOUT_BLAS_THREADS = _WithoutBlasThreads()
