# SPDX-License-Identifier: Apache-2.0
"""Writes files that appear whole or not at all, and removes what a killed run left behind.

All files of a run are written into a private folder inside the output's own folder, synced, and then moved to their
names, the data file last. The private folder is locked while its run is alive; a folder without a lock belongs to a run
that was killed, and the next run removes it. Locks are taken on the folders themselves, so that there are no lock files.

The move of the data file is the point of no return. An interrupt before it takes everything back. One that comes after
it waits until all is done and tidied up, and then finds a release that is out. Only a kill that no program can hold
(SIGKILL, a power cut) can come between two moves; the next run that writes to the folder then takes them back, so that
the earlier release is whole again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from kepsilon.errors import EngineError, Problem
from kepsilon.files.digests import digest
from kepsilon.files.interrupts import HeldInterrupts
from kepsilon.files.private_folders import (
    SPILL_PREFIX,
    lock,
    locked,
    remove_left_overs,
    remove_private,
    require_folder,
    worded,
)
from kepsilon.special_files import special_kind

PREFIX = ".kepsilon-staging-"
JOURNAL = "journal.json"


class Staging:
    """A context manager that makes a private folder in each folder a run writes to, and removes them at its end.

    Interrupts are held from its begin to its end, and let through while files are written.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(dict.fromkeys(folders))
        self._private: dict[Path, tuple[Path, int | None]] = {}
        self._planned: list[tuple[Path, Path]] = []
        self._interrupts = HeldInterrupts()

    def __enter__(self) -> Self:
        self._interrupts.start()
        try:
            for folder in self._folders:
                with worded(folder):
                    require_folder(folder)
                    with locked(folder, pause=self._pause):
                        remove_left_overs(folder, prefix=PREFIX, known={JOURNAL}, before=_take_back_unfinished)
                        remove_left_overs(folder, prefix=SPILL_PREFIX)
                        private = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
                        self._private[folder] = (private, None)
                        self._private[folder] = (private, lock(private))
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        try:
            for private, held in self._private.values():
                remove_private(private, held)
        finally:
            self._interrupts.end()

    @contextlib.contextmanager
    def new_file(self, final: Path, *, owner_only: bool) -> Iterator[Path]:
        """A path to write the file to that will become `final`, which only its owner may read if `owner_only`.

        Until then it is in a private folder, so nobody else can read it in any case.
        """
        private, _ = self._private[final.parent]
        temporary = private / f"{len(self._planned)}{final.suffix}"
        with worded(final), self._interrupts.let_through():
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if owner_only else 0o666))
            yield temporary
            _sync(temporary)
        self._planned.append((temporary, final))

    @contextlib.contextmanager
    def new_folder(self, final: Path) -> Iterator[Path]:
        """A folder to write files into, which will become `final`."""
        private, _ = self._private[final.parent]
        temporary = private / str(len(self._planned))
        with worded(final), self._interrupts.let_through():
            temporary.mkdir()
            yield temporary
            for file in temporary.iterdir():
                _sync(file)
            _sync_folder(temporary)
        self._planned.append((temporary, final))

    def publish(self, *, overwrite: bool, content: str | None = None) -> None:
        """Moves every file to its name, the one begun first (the data) last; a failure takes back all moves.

        The moves are first written to a journal, so that the next run can take back the moves of a run that was killed.
        `content` is the digest of the data, if it was worked out before. When this returns, the files are out, and no
        interrupt can come before the end of the block.
        """
        with worded(self._planned[0][1]), self._all_locked():
            with self._interrupts.let_through():  # a large file takes long to read, and a copy of one to write
                steps = [
                    self._step(temporary, final, overwrite=overwrite) for temporary, final in reversed(self._planned)
                ]
                data = steps[-1]
                content = content or digest(data.temporary)
                for folder, (private, _) in self._private.items():
                    _write_journal(
                        private, [s for s in steps if s.final.parent == folder], data=data.final, content=content
                    )
                    _sync_folder(private)
            done: list[Step] = []
            try:
                for step in steps:
                    if step is data:
                        self._sync_folders()  # after a power cut too, the data is there only if the others are
                    self._interrupts.deliver()
                    with worded(step.final):
                        _move(step.temporary, step.final, overwrite=overwrite)
                    done.append(step)
            except BaseException:
                for step in reversed(done):
                    step.take_back()
                raise
        self._sync_folders()

    def _pause(self, seconds: float) -> None:
        with self._interrupts.let_through():
            time.sleep(seconds)

    @contextlib.contextmanager
    def _all_locked(self) -> Iterator[None]:
        """Locks all folders, always in the same order, so that two runs cannot wait for each other."""
        with contextlib.ExitStack() as stack:
            for folder in sorted({folder.resolve() for folder in self._folders}):
                stack.enter_context(locked(folder, pause=self._pause))
            yield

    def _sync_folders(self) -> None:
        for folder in self._folders:
            _sync_folder(folder)

    def _step(self, temporary: Path, final: Path, *, overwrite: bool) -> Step:
        before = None
        if overwrite and os.path.lexists(final):
            before = temporary.with_name(f"before-{temporary.stem}")
            _back_up(final, before)
        return Step(temporary=temporary, final=final, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The move of one file to its name, and a copy of the file that had that name before."""

    temporary: Path
    final: Path
    before: Path | None

    def take_back(self) -> None:
        """Undoes the move."""
        if self.before is None and self.final.is_dir():
            shutil.rmtree(self.final)
        elif self.before is None:
            self.final.unlink(missing_ok=True)
        elif os.path.lexists(self.before):
            self.before.replace(self.final)


def _write_journal(private: Path, steps: Iterable[Step], *, data: Path, content: str) -> None:
    written = {
        "data": str(data.resolve()),
        "digest": content,
        "steps": [[str(s.final.resolve()), None if s.before is None else s.before.name] for s in steps],
    }
    journal = private / JOURNAL
    journal.write_text(json.dumps(written), encoding="utf-8")
    _sync(journal)


def _take_back_unfinished(private: Path) -> None:
    """Undoes the moves of a run that was killed while publishing, unless the data file had its name already."""
    journal = private / JOURNAL
    if not journal.exists():
        return
    try:
        content = json.loads(journal.read_text(encoding="utf-8"))
    except ValueError:  # killed while the journal was written, so nothing had been moved
        return
    data = Path(content["data"])
    if data.exists() and digest(data) == content["digest"]:
        return
    for i, (final, before) in enumerate(content["steps"]):
        step = Step(temporary=private / str(i), final=Path(final), before=None if before is None else private / before)
        if step.final != data:
            step.take_back()


def refuse_nameless(path: Path) -> None:
    """Refuses an output that names no file: nothing at all, the folder itself, or what no file can be called."""
    if path.name in ("", ".."):
        raise EngineError(
            Problem(where=str(path), what="is a folder, and names no file.", fix="Give the file a name of its own.")
        )
    refuse_unnameable(path)


def refuse_unnameable(path: Path) -> None:
    """Refuses a path that no file can have; Python raises a ValueError wherever the system is asked about one."""
    if "\0" in str(path):
        raise EngineError(
            Problem(where=str(path).replace("\0", "\\0"), what="holds a character that no name can have.")
        )


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Refuses an output that is a folder, or that exists already without `overwrite`."""
    if path.is_dir():
        raise EngineError(
            Problem(where=str(path), what="is a folder, and a folder is never replaced.", fix="Choose another name.")
        )
    kind = special_kind(path)
    if path.parent.resolve() == Path("/dev"):
        kind = "in a folder of devices"  # such as /dev/stdout, which may lead to a file without a place of its own
    if kind is not None:
        raise EngineError(
            Problem(where=str(path), what=f"is {kind}, not a file.", fix="A release is written to a new file.")
        )
    if not overwrite and os.path.lexists(path):
        raise EngineError(
            Problem(where=str(path), what="exists already.", fix="Choose another name, or replace it with --overwrite.")
        )


def _back_up(path: Path, copy: Path) -> None:
    """Gives a file a second name, or makes a copy where the file system has no hard links."""
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, copy, follow_symlinks=False)


def _move(temporary: Path, final: Path, *, overwrite: bool) -> None:
    """Moves a file to its name; without `overwrite` refused where the name is taken."""
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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        _sync(folder)
