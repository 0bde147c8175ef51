# SPDX-License-Identifier: Apache-2.0
"""Where the project and the shared data are, and what a machine may lack."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
"""The project's folder."""
SHARED_DATA = Path(os.environ.get("KEPSILON_DATA") or ROOT.parent / "shared" / "data")
"""Adult and the tables that the stand-ins were fitted to."""


def lacking(reason: str) -> None:
    """Skips the test with the reason; in CI, where nothing may be skipped, fails it."""
    pytest.fail(f"CI has to have it: {reason}") if os.environ.get("CI") == "true" else pytest.skip(reason)


def require_java() -> None:
    if not shutil.which("java"):
        lacking("Java is not here, and Spark needs it")
