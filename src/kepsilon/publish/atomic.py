# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all, and nothing left behind by a run that was killed.

All files of a run are written into a private folder inside the output's own folder, synced, and then moved to their
names, the data file last. The private folder is locked while its run is alive; a folder nobody has locked belongs to
a run that was killed, and the next run removes it. Locks are taken on the folders themselves, so that no lock file is
left lying about.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from kepsilon.errors import EngineError, Problem

try:
    import fcntl
except ImportError:  # Windows: no such locks, so left-overs of a killed run are left for the user to remove
    fcntl = None  # type: ignore[assignment]

PREFIX = ".kepsilon-staging-"


class Staging:
    """One private folder beside each place a run writes to; leaving the block removes them."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(dict.fromkeys(folders))
        self._private: dict[Path, tuple[Path, int | None]] = {}
        self._planned: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        try:
            for folder in self._folders:
                with _worded(folder):
                    require_folder(folder)
                    with _locked(folder):
                        remove_left_overs(folder)
                        private = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
                        self._private[folder] = (private, _lock(private, wait=False))
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        for private, lock in self._private.values():
            shutil.rmtree(private, ignore_errors=True)
            if lock is not None:
                os.close(lock)

    @contextlib.contextmanager
    def new_file(self, final: Path, *, owner_only: bool) -> Iterator[Path]:
        """A path to write what will become `final`. The private folder is closed to others in any case."""
        private, _ = self._private[final.parent]
        temporary = private / f"{len(self._planned)}{final.suffix}"
        with _worded(final):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if owner_only else 0o666))
            yield temporary
            _sync(temporary)
        self._planned.append((temporary, final))

    def publish(self, *, overwrite: bool) -> None:
        """Moves every file to its name, the one begun first (the data) last; after a failure all is as it was."""
        moved: list[tuple[Path, Path | None]] = []
        try:
            for i, (temporary, final) in enumerate(reversed(self._planned)):
                with _worded(final), _locked(final.parent):
                    before = temporary.with_name(f"before-{i}") if overwrite and os.path.lexists(final) else None
                    if before is not None:
                        _keep(final, before)
                    moved.append((final, before))
                    try:
                        _move(temporary, final, overwrite=overwrite)
                    except BaseException:
                        moved.pop()
                        raise
        except BaseException:
            for final, before in reversed(moved):
                if before is None:
                    final.unlink(missing_ok=True)
                else:
                    before.replace(final)
            raise
        for folder in self._folders:
            with contextlib.suppress(OSError):  # some file systems cannot sync a folder
                _sync(folder)


def remove_left_overs(folder: Path) -> None:
    """Removes the private folders of runs that were killed; those of runs that are alive are locked."""
    if fcntl is None:
        return
    for path in folder.glob(f"{PREFIX}*"):
        if path.is_dir() and not path.is_symlink() and _is_ours(path):
            with contextlib.suppress(OSError):
                lock = _lock(path, wait=False)
                shutil.rmtree(path, ignore_errors=True)
                if lock is not None:
                    os.close(lock)


def _is_ours(folder: Path) -> bool:
    """Made by us and by this user: the mode is what `mkdtemp` gives, and everything inside has a number for a name."""
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o777 != 0o700:
        return False
    return all(path.stem.removeprefix("before-").isdigit() for path in folder.iterdir())


def require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise EngineError(
            Problem(where=str(folder), what="there is no such folder to write to.", fix="Create it first.")
        )


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    if path.is_dir():
        raise EngineError(Problem(where=str(path), what="is a folder; a release is a file."))
    if not overwrite and os.path.lexists(path):
        raise EngineError(
            Problem(where=str(path), what="exists already.", fix="Choose another name, or replace it with --overwrite.")
        )


def _keep(path: Path, copy: Path) -> None:
    """A second name for a file, or a copy where the file system has no hard links."""
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, copy, follow_symlinks=False)


def _move(temporary: Path, final: Path, *, overwrite: bool) -> None:
    if overwrite:
        temporary.replace(final)
        return
    try:
        os.link(temporary, final)  # unlike a rename, refuses to replace what appeared in the meantime
    except FileExistsError:
        refuse_existing(final, overwrite=False)
    except OSError:  # file systems without hard links
        refuse_existing(final, overwrite=False)
        temporary.replace(final)


@contextlib.contextmanager
def _worded(path: Path) -> Iterator[None]:
    """Trouble with disk or permissions, worded for the user."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            what, fix = "the disk is full; nothing was released.", "Free some space, or write to another disk."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            what, fix = "cannot be written: permission denied.", "Choose a folder that you may write to."
        else:
            what, fix = f"cannot be written: {os.strerror(error.errno) if error.errno else 'input/output error'}.", ""
        raise EngineError(Problem(where=str(path), what=what, fix=fix)) from None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = _lock(folder, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int | None:
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
