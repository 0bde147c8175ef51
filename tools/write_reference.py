# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of docs/ that follow from the code: python tools/write_reference.py (or make docs-reference)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference import api, commands, errors, guarantee, json_keys, policy_keys

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "api.md": api.page,
    "commands.md": commands.page,
    "policy-keys.md": policy_keys.page,
    "record-keys.md": json_keys.record_page,
    "manifest-keys.md": json_keys.manifest_page,
    "errors.md": errors.page,
    "../explanation/guarantee.md": guarantee.page,
}
"""By file, the function that makes its text."""


def stale() -> list[str]:
    """The pages that are not what the code says now."""
    return [name for name, page in PAGES.items() if not _is(FOLDER / name, page())]


def _is(file: Path, text: str) -> bool:
    return file.exists() and file.read_text(encoding="utf-8") == text


def main() -> int:
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
    print(f"written in docs/reference: {', '.join(PAGES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
