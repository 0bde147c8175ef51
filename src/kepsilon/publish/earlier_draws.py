# SPDX-License-Identifier: Apache-2.0
"""Finds a release that another one would replace: its noise was drawn before, and may already be with somebody."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kepsilon.publish.outputs import curator_path, manifest_path

_DRAWN = (
    "an earlier release is there, and is replaced by a new draw. If anybody has the earlier one, they can average the noise "
    "of both: two draws of the same records hide less than one. Give away one release only."
)
_NOT_DRAWN = (
    "an earlier release is there, and is replaced. If anybody has the earlier one, they can lay both side by side: two "
    "different releases of the same records hide less than one. Give away one release only."
)


def earlier_draw(output: Path, *, digest: str | None = None, is_drawn: bool = True) -> str | None:
    """What to say of a release that writing to this path would replace, because it may already be with somebody.

    None where there is none, or where its data file has this digest, so that it is the same draw. `is_drawn` says whether
    anything is drawn in the new release (`Policy.is_drawn`): only then noise can be averaged.
    """
    if not any(os.path.lexists(path) for path in (output, manifest_path(output), curator_path(output))):
        return None
    if digest is not None and _digest_at(output) == digest:
        return None
    return f"{output}: {_DRAWN if is_drawn else _NOT_DRAWN}"


def _digest_at(output: Path) -> object:
    """The digest that the manifest beside a release states; None where there is no such manifest."""
    try:
        return json.loads(manifest_path(output).read_text(encoding="utf-8"))["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
