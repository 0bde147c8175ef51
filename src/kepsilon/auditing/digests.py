# SPDX-License-Identifier: Apache-2.0
"""The digest of a release, worked out by the audit for itself."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest_of(path: Path) -> str:
    """SHA-256 of a file; of a folder, SHA-256 of what `sha256sum *` prints inside it."""
    if path.is_dir():
        files = sorted(file.name for file in path.iterdir())
        listed = "".join(f"{digest_of(path / name).removeprefix('sha256:')}  {name}\n" for name in files)
        return "sha256:" + hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
