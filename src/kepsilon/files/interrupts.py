# SPDX-License-Identifier: Apache-2.0
"""Holds signals back while files are moved or removed, so that no run stops half-way through either."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


def interrupts() -> list[signal.Signals]:
    """The signals that ask a program to end, as far as this system has them."""
    return [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


class HeldInterrupts:
    """Holds interrupts back from `start` to `end`, except where the code between lets them through.

    A signal's handler may raise anywhere between two instructions: also inside the clean-up, and between a move and the
    note that it was made. While signals are held, a handler runs only where `let_through` or `deliver` says so. At most
    one signal is passed on: what comes while the program is stopping already does not disturb that either.

    Signals are handled in the main thread, so that elsewhere there is nothing to hold.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._waiting: list[int] = []
        self._are_let_through = False
        self._is_delivering = False
        self._was_raised = False

    def start(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in interrupts():
                handler = signal.getsignal(number)
                # None: a handler that Python cannot put back. Ignored signals stay ignored, as nohup wants it.
                if handler is not None and handler is not signal.SIG_IGN:
                    self._handlers[number] = handler
                    signal.signal(number, self._on_signal)
        except BaseException:
            self._restore()
            raise

    def end(self) -> None:
        """Puts the handlers back, and passes on a signal that came meanwhile."""
        try:
            self._restore()
        except BaseException:  # one that came right now; the handlers behind it are not put back yet
            self._restore()
            raise
        if self._waiting and not self._was_raised:
            signal.raise_signal(self._waiting[0])

    @contextlib.contextmanager
    def let_through(self) -> Iterator[None]:
        """Lets signals through while the block runs, for work that takes long; one that waits comes first."""
        self._are_let_through = not self._was_raised
        try:
            self.deliver()
            yield
        finally:
            self._are_let_through = False

    def deliver(self) -> None:
        """Passes on a signal that waits: for a moment at which nothing is half done."""
        if self._waiting and not self._was_raised:
            self._pass_on(self._waiting.pop(0), None)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._is_delivering or self._are_let_through:
            self._pass_on(number, frame)
        else:
            self._waiting.append(number)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        handler: Callable[[int, FrameType | None], Any] | signal.Handlers = self._handlers[number]
        let_through, self._are_let_through = self._are_let_through, False
        if not callable(handler):
            # The system would end the program on the spot, with our files left behind. It does so after the clean-up.
            self._waiting.insert(0, number)
            raise KeyboardInterrupt
        self._is_delivering = True  # a handler may call that of another signal
        try:
            handler(number, frame)
        except BaseException:
            self._was_raised = True
            raise
        finally:
            self._is_delivering = False
        self._are_let_through = let_through

    def _restore(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Delays signals until the block is done, so that pressing Ctrl-C twice does not leave records on disk."""
    held = HeldInterrupts()
    held.start()
    try:
        yield
    finally:
        held.end()
