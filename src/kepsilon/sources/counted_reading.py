# SPDX-License-Identifier: Apache-2.0
"""Tells how much of a file is read while Arrow reads it from its beginning to its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from kepsilon.stopwatch import OnCount, listener

SECONDS_BETWEEN = 0.2


@contextmanager
def counted_reading(path: Path) -> Iterator[Path | pa.NativeFile]:
    """The path itself where nobody listens, and otherwise the open file, with a thread that tells how far it is read.

    Arrow reads in threads of its own. A file object of Python would be told of every block, but reading through it took a
    quarter longer.
    """
    told = listener()
    if told is None:
        yield path
        return
    done = threading.Event()
    errors: list[BaseException] = []
    with pa.OSFile(str(path)) as file:
        watcher = threading.Thread(target=_watch, args=(file, path.stat().st_size, told, done, errors), daemon=True)
        watcher.start()
        try:
            yield file
        finally:
            done.set()
            watcher.join()
    if errors:
        raise errors[0]


def _watch(file: pa.NativeFile, size: int, told: OnCount, done: threading.Event, errors: list[BaseException]) -> None:
    """Tells at intervals how many bytes are read, until that is `done` or telling fails."""
    try:
        while not done.wait(SECONDS_BETWEEN):
            try:
                n_read = file.tell()
            except ValueError:  # Arrow has read all of it, and closed it
                return
            told(n_read, size, "bytes")
    except BaseException as error:  # noqa: BLE001 (raised again by the thread that reads)
        errors.append(error)
