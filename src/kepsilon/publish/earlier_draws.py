# SPDX-License-Identifier: Apache-2.0
"""Finds a release that another one would replace: its noise was drawn before, and may already be with somebody."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kepsilon.publish.outputs import curator_path, manifest_path

EARLIER_DRAW = (
    "an earlier release is there, and is replaced by a new draw. If anybody has the earlier one, they can average the noise "
    "of both: two draws of the same records hide less than one. Give away one release only"
)


def replaces_earlier_draw(output: Path, *, digest: str | None = None) -> bool:
    """Whether a release is at this path already, other than the one whose data file has this digest."""
    if not any(os.path.lexists(path) for path in (output, manifest_path(output), curator_path(output))):
        return False
    if digest is None:
        return True
    try:
        return bool(json.loads(manifest_path(output).read_text(encoding="utf-8"))["digest"] != digest)
    except (OSError, ValueError, KeyError, TypeError):
        return True
