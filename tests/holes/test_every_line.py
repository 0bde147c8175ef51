# SPDX-License-Identifier: Apache-2.0
"""Every hole and fault that was found in version 0.1 has tests that are named after it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOUND = ["h1", "h2", "h4", "h6", "h7", "h8", "h9", "h10", *(f"f{i}" for i in range(1, 10))]


@pytest.mark.parametrize("line", FOUND)
def test_a_line_has_a_test_that_is_named_after_it(line):
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob(f"test_{line}_*.py")]
    assert any(re.search(rf"^def test_{line}_", text, flags=re.MULTILINE) for text in texts)
