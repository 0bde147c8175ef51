# SPDX-License-Identifier: Apache-2.0
"""What a machine may lack: tests that need it skip with the reason, and in CI they fail."""

from __future__ import annotations

import os
import shutil

import pytest


def require_java() -> None:
    if shutil.which("java"):
        return
    if os.environ.get("CI") == "true":
        pytest.fail("CI needs Java for Spark; .ci/run installs it")
    pytest.skip("Java is not here, and Spark needs it")
