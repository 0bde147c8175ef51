# SPDX-License-Identifier: Apache-2.0
"""How much memory and disk this machine has, and refusals of runs that need more.

Inside a container its limit counts. A folder in tmpfs is memory, not disk.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kepsilon.engines.room import bytes_in_words
from kepsilon.errors import EngineError, Problem

_IN_MEMORY = {"tmpfs", "ramfs"}
_CGROUPS = Path("/sys/fs/cgroup")
_MOUNTS = Path("/proc/self/mountinfo")
_MEMORY = Path("/proc/meminfo")


def total_memory() -> int | None:
    """Bytes of memory that this process may use at all; None where the system does not tell."""
    try:
        of_machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    allowed = _number_in(_CGROUPS / "memory.max") or _number_in(_CGROUPS / "memory" / "memory.limit_in_bytes")
    return min(of_machine, allowed or of_machine)


def free_memory() -> int | None:
    """Bytes of memory that this process may still use now; None where the system does not tell."""
    try:
        lines = _MEMORY.read_text(encoding="utf-8").splitlines()
        of_machine = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return None
    allowed, used = _number_in(_CGROUPS / "memory.max"), _number_in(_CGROUPS / "memory.current")
    return of_machine if allowed is None or used is None else min(of_machine, max(0, allowed - used))


def _number_in(file: Path) -> int | None:
    """The number that a file of the system holds; None where the file is missing or holds no number."""
    try:
        return int(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def is_in_memory(folder: Path) -> bool:
    """Whether the files of a folder are held in memory, as those of /tmp are on many systems."""
    try:
        device = folder.stat().st_dev
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    numbers = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts:
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [numbers]:
            return after.split()[:1] != [] and after.split()[0] in _IN_MEMORY
    return False


def refuse_more_memory_than_there_is(memory: int) -> None:
    """Refuses a limit on memory, in bytes, above what the machine has: the system would end the run instead."""
    total = total_memory()
    if total is not None and memory > total:
        raise EngineError(
            Problem(
                where="memory",
                what=f"{bytes_in_words(memory)} are more than this machine has, which is {bytes_in_words(total)}.",
                fix="Give less, and leave some for the system; or no limit, if the table fits into memory.",
            )
        )


def refuse_full_disk(folder: Path, n_bytes: int, *, memory: int) -> None:
    """Refuses a folder without room for `n_bytes`; a folder in memory needs room for `memory` bytes as well."""
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise EngineError(
            Problem(
                where=str(folder),
                what=f"about {bytes_in_words(n_bytes)} are needed to spill to, and {bytes_in_words(free)} are free.",
                fix="Free some space, or spill to another disk.",
            )
        )
    available = free_memory() if is_in_memory(folder) else None
    if available is not None and available < n_bytes + memory:
        raise EngineError(
            Problem(
                where=str(folder),
                what=f"is kept in memory (tmpfs), so that about {bytes_in_words(n_bytes)} spilt there come on top of "
                f"{bytes_in_words(memory)}, and {bytes_in_words(available)} are free.",
                fix="Spill to a folder on a disk: --spill-folder, or spill_folder in Python.",
            )
        )
