# SPDX-License-Identifier: Apache-2.0
"""What a machine may lack: tests that need it skip with the reason, and in CI they fail."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
"""The project's folder."""


def lacking(reason: str) -> None:
    pytest.fail(f"CI has to have it: {reason}") if os.environ.get("CI") == "true" else pytest.skip(reason)


def require_java() -> None:
    if not shutil.which("java"):
        lacking("Java is not here, and Spark needs it")
