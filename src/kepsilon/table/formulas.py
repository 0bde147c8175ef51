# SPDX-License-Identifier: Apache-2.0
"""How a formula begins in a spreadsheet: patterns that Python, Arrow and Spark read in the same way.

A text is taken for a formula if it begins with =, +, − or @, also in full width, with a tab, a carriage return or a line
feed, or with one of these after blanks or quotes (OWASP, "CSV injection"). A signed number is none, nor a lone sign.
"""

from __future__ import annotations

import re

_BLANKS = "[ \\t\\r\\n\\x0b\\x0c\u00a0\u3000\ufeff]"
_QUOTES = "[\"'`\u2018\u2019\u201c\u201d]"
_SIGNS = "[+\uff0b\uff0d\u2212-]"

BEGINS = f"^([\\t\\r\\n]|({_BLANKS}|{_QUOTES})*([=@\uff1d\uff20]|{_SIGNS}))"
"""Matches every text that begins like a formula, and signed numbers too."""
PLAIN = f"^{_BLANKS}*{_SIGNS}*([0-9.,][0-9., ']*([eE][+-]?[0-9]+)? ?%?)?{_BLANKS}*$"
"""Matches the texts among these that no spreadsheet runs: numbers with a sign, signs alone, and blanks."""

_BEGINS, _PLAIN = re.compile(BEGINS), re.compile(PLAIN)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take the text for a formula."""
    return _BEGINS.match(text) is not None and _PLAIN.match(text) is None
