# SPDX-License-Identifier: Apache-2.0
"""Tells pipes, sockets and devices from files, before one is opened: reading or writing them could wait forever."""

from __future__ import annotations

import stat
from pathlib import Path

KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def special_kind(path: Path) -> str | None:
    """What a path is if it is neither an ordinary file nor unknown, such as "a named pipe"; None otherwise."""
    try:
        return KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except (OSError, ValueError):
        return None  # whoever opens it says why it cannot be opened
