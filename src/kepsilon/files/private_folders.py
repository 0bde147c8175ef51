# SPDX-License-Identifier: Apache-2.0
"""Folders that only their owner can read, locked while their run is alive, and removed by the next run if it was killed.

Locks are taken on the folders themselves, so that there are no lock files.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import math
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from kepsilon.errors import EngineError, Problem
from kepsilon.files.interrupts import undisturbed

try:
    import fcntl
except ImportError:  # Windows has no such locks: the user has to remove what a killed run left behind
    fcntl = None  # type: ignore[assignment]

SPILL_PREFIX = ".kepsilon-spill-"

PATIENCE = 30.0
"""Seconds to wait for another run's lock on the folder; removing the left-overs of many runs takes a few seconds."""

_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF}
"""Errors of file systems without locks on folders; NFS locks only what is open for writing, which a folder cannot be."""


class SpillFolder:
    """A private folder for records on disk; removed when closed, when no longer referenced, or when the program ends."""

    def __init__(self, parent: Path) -> None:
        with worded(parent):
            require_folder(parent)
            with locked(parent, patience=PATIENCE):
                remove_left_overs(parent, prefix=SPILL_PREFIX)
                with undisturbed():  # no folder without somebody who removes it
                    self.path = Path(tempfile.mkdtemp(prefix=SPILL_PREFIX, dir=parent))
                    try:
                        held = lock(self.path)
                    except OSError:
                        remove_private(self.path, None)
                        raise
                    self._remove = weakref.finalize(self, _remove, self.path, held)

    def close(self) -> None:
        with undisturbed():  # once begun, a removal is not begun again
            self._remove()


def closed() -> EngineError:
    """The error for a release that is used after its records on disk were removed."""
    return EngineError(
        Problem(
            where="release",
            what="is closed, and the records that it kept on disk are gone.",
            fix="Write it, or look at it, before it is closed: inside the with block.",
        )
    )


def owner_only(path: str, flags: int) -> int:
    """An opener for `open`: a new file is one that only its owner may read."""
    return os.open(path, flags, 0o600)


def remove_private(folder: Path, held: int | None) -> None:
    """Removes a private folder, and then its lock.

    Where no further file may be open, the descriptor of the lock is the one with which the folder is listed. Without a lock
    it is removed at the end of the run, when others are closed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if held is not None:
        os.close(held)
    if folder.exists():
        _remove_slowly(folder)
    if folder.exists():
        atexit.register(_remove_slowly, folder)


def _remove_slowly(folder: Path) -> None:
    """Removes a folder with a single descriptor; `shutil.rmtree` needs two for each depth."""
    for inside, folders, files in os.walk(folder, topdown=False):  # lists one folder at a time
        for own in (*(Path(inside, name) for name in (*files, *folders)), Path(inside)):
            with contextlib.suppress(OSError):
                own.rmdir() if own.is_dir() and not own.is_symlink() else own.unlink()


def _remove(folder: Path, held: int | None) -> None:
    """Renames the folder and removes it: a worker that was not stopped yet can no longer write to the old name."""
    with undisturbed():
        going = folder.with_name(f"{folder.name}-going")
        with contextlib.suppress(OSError):
            folder.rename(going)
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
        remove_private(going, held)


def _nothing(folder: Path) -> None:
    """Does nothing before a folder is removed."""


def remove_left_overs(
    folder: Path, *, prefix: str, known: Collection[str] = (), before: Callable[[Path], None] = _nothing
) -> None:
    """Removes the private folders of runs that were killed; runs that are alive hold a lock on theirs.

    `known` are names of files that such a folder may hold, `before` is called on a folder before it is removed.
    """
    if fcntl is None:
        return
    for path in folder.glob(f"{prefix}*"):
        if path.is_dir() and not path.is_symlink() and _is_ours(path, known):
            with contextlib.suppress(OSError):
                held = lock(path)
                if held is None:  # without locks, nothing tells whether its run is alive
                    continue
                before(path)
                _remove(path, held)


def _is_ours(folder: Path, known: Collection[str]) -> bool:
    """Whether kepsilon made a folder for this user: its mode is that of `mkdtemp`, and all names inside are numbers."""
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o777 != 0o700:
        return False
    names = [path.stem.removeprefix("before-") for path in folder.iterdir() if path.name not in known]
    return all(name.isdigit() for name in names)


def require_folder(folder: Path) -> None:
    """Refuses a folder that does not exist."""
    if not folder.is_dir():
        raise EngineError(
            Problem(where=str(folder), what="there is no such folder to write to.", fix="Create it first.")
        )


@contextlib.contextmanager
def worded(path: Path) -> Iterator[None]:
    """Turns errors of disk and permissions into an EngineError, which names the folder that the user chose."""
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
    """The folder that the user chose, of a path in a private folder inside it; any other path itself."""
    return next((own.parent for own in (path, *path.parents) if own.name.startswith(SPILL_PREFIX)), path)


@contextlib.contextmanager
def locked(folder: Path, *, patience: float = math.inf, pause: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Holds the lock on a folder while the block runs; waits for it, at most `patience` seconds, by calling `pause`.

    Where the system has no locks, it does not wait.
    """
    last = time.monotonic() + patience
    while True:
        try:
            held = lock(folder)
            break
        except BlockingIOError:
            if time.monotonic() >= last:
                raise EngineError(
                    Problem(
                        where=str(folder),
                        what=f"another program has held a lock on this folder for {patience:.0f} seconds.",
                        fix="Try again once it is done, or choose another folder.",
                    )
                ) from None
            pause(0.05)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def lock(folder: Path) -> int | None:
    """Locks a folder; the descriptor to close to unlock it, or None where the file system has no such locks.

    BlockingIOError where another program has locked it.
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in _NO_LOCKS:
            return None
        raise
    return descriptor
