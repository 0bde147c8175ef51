# SPDX-License-Identifier: Apache-2.0
"""Folders that only their owner can look into, locked while their run is alive, and removed by the next run if it was killed.

Locks are taken on the folders themselves, so that no lock file is left lying about.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import FrameType

from kepsilon.errors import EngineError, Problem

try:
    import fcntl
except ImportError:  # Windows: no such locks, so left-overs of a killed run are left for the user to remove
    fcntl = None  # type: ignore[assignment]

SPILL_PREFIX = ".kepsilon-spill-"

PATIENCE = 30.0
"""Seconds to wait for whoever else looks after the folder that is spilt to; removing many left-overs takes a few."""

_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF}
"""How file systems without locks on folders refuse; NFS wants such a file opened for writing, which a folder cannot be."""


class SpillFolder:
    """A private folder for records that do not fit into memory; gone when closed, forgotten, or when the program ends."""

    def __init__(self, parent: Path) -> None:
        with worded(parent):
            require_folder(parent)
            with locked(parent, patience=PATIENCE):
                remove_left_overs(parent, prefix=SPILL_PREFIX)
                self.path = Path(tempfile.mkdtemp(prefix=SPILL_PREFIX, dir=parent))
                held = lock(self.path, wait=False)
        self._remove = weakref.finalize(self, _remove, self.path, held)

    def close(self) -> None:
        self._remove()


def closed() -> EngineError:
    return EngineError(
        Problem(
            where="release",
            what="is closed, and the records that it kept on disk are gone.",
            fix="Write it, or look at it, before it is closed: inside the with block.",
        )
    )


def owner_only(path: str, flags: int) -> int:
    """For `open`: a new file that only its owner may read."""
    return os.open(path, flags, 0o600)


def _remove(folder: Path, held: int | None) -> None:
    with undisturbed():
        _remove_now(folder)
        if held is not None:
            os.close(held)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Signals wait until what is inside is done: somebody who presses Ctrl-C twice must not keep records from being removed.

    Only the main thread can see to that, and only it is interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def wait(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    caught = {
        number for name in names if (number := getattr(signal, name, None)) and callable(signal.getsignal(number))
    }
    before = {number: signal.signal(number, wait) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def _remove_now(folder: Path) -> None:
    """Under another name first: whoever still writes there, such as a worker that was not stopped yet, cannot any more."""
    going = folder.with_name(f"{folder.name}-going")
    with contextlib.suppress(OSError):
        folder.rename(going)
    for own in (folder, going):
        shutil.rmtree(own, ignore_errors=True)


def _nothing(folder: Path) -> None:
    """Nothing to do before a folder goes."""


def remove_left_overs(
    folder: Path, *, prefix: str, known: Collection[str] = (), before: Callable[[Path], None] = _nothing
) -> None:
    """Removes the private folders of runs that were killed; those of runs that are alive are locked."""
    if fcntl is None:
        return
    for path in folder.glob(f"{prefix}*"):
        if path.is_dir() and not path.is_symlink() and _is_ours(path, known):
            with contextlib.suppress(OSError):
                held = lock(path, wait=False)
                if held is None:  # nothing tells whether its run is alive
                    continue
                before(path)
                _remove_now(path)
                os.close(held)


def _is_ours(folder: Path, known: Collection[str]) -> bool:
    """Made by us and by this user: the mode is what `mkdtemp` gives, and everything inside has a number for a name."""
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o777 != 0o700:
        return False
    names = [path.stem.removeprefix("before-") for path in folder.iterdir() if path.name not in known]
    return all(name.isdigit() for name in names)


def require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise EngineError(
            Problem(where=str(folder), what="there is no such folder to write to.", fix="Create it first.")
        )


@contextlib.contextmanager
def worded(path: Path) -> Iterator[None]:
    """Trouble with disk or permissions, worded for the user, who knows of no private folder."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            what, fix = "the disk is full; nothing was released.", "Free some space, or write to another disk."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            what, fix = "cannot be written: permission denied.", "Choose a folder that you may write to."
        else:
            what, fix = f"cannot be written: {os.strerror(error.errno) if error.errno else 'input/output error'}.", ""
        raise EngineError(Problem(where=str(chosen_place(path)), what=what, fix=fix)) from None


def chosen_place(path: Path) -> Path:
    """The folder that somebody chose to have a private folder in, of a path inside it; else the path."""
    return next((own.parent for own in (path, *path.parents) if own.name.startswith(SPILL_PREFIX)), path)


@contextlib.contextmanager
def locked(folder: Path, *, patience: float | None = None) -> Iterator[None]:
    """Waits for the lock, for as many seconds as there is patience; where there are no locks, nobody waits."""
    held = lock(folder, wait=True) if patience is None else _lock_soon(folder, patience)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _lock_soon(folder: Path, patience: float) -> int | None:
    last = time.monotonic() + patience
    while True:
        try:
            return lock(folder, wait=False)
        except BlockingIOError:
            if time.monotonic() >= last:
                raise EngineError(
                    Problem(
                        where=str(folder),
                        what=f"another program has held a lock on this folder for {patience:.0f} seconds.",
                        fix="Try again once it is done, or choose another folder.",
                    )
                ) from None
            time.sleep(0.05)


def lock(folder: Path, *, wait: bool) -> int | None:
    """What to close to give the lock back; None where the system or the file system has no such locks."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        os.close(descriptor)
        if error.errno in _NO_LOCKS:
            return None
        raise
    return descriptor
