# SPDX-License-Identifier: Apache-2.0
"""The digest by which a manifest identifies its data."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, SHA-256 of the list that `sha256sum *` prints inside it."""
    if not path.is_dir():
        return _of_file(path)
    lines = [f"{_of_file(file)}  {file.name}\n" for file in sorted(path.iterdir())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
