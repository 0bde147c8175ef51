# SPDX-License-Identifier: Apache-2.0
"""The one rule that says which texts are numbers: for k-quasis, ε-quasis, intervals, `init` and the audit alike.

A number is written with the digits 0 to 9, at most one decimal point, and if wanted a sign and an exponent between −399
and 399; blanks around it do not matter. It has at most 300 characters, and a double can hold it.
Everything else is text: `nan`, `inf`, `0x10`, `1_000`, `1e400`, digits of other scripts, and codes such as `3e41592653`,
which Python and Arrow would take for numbers. Such codes must never be worked out, for their digits would fill memory.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from kepsilon.policy.exact_bounds import EXACT

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-3]?[0-9]{1,2})?$"
"""The way a number is written, without blanks around it, as Python and Arrow both understand it."""

LONGEST = 300
"""Most characters of a number, blanks around it not counted."""

_WRITTEN_AS_A_NUMBER = re.compile(NUMBER.removesuffix("$"))


def parse_double(text: str) -> float | None:
    """The double nearest to the number that a text is; None if it is none."""
    trimmed = text.strip()
    if len(trimmed) > LONGEST or _WRITTEN_AS_A_NUMBER.fullmatch(trimmed) is None:
        return None
    number = float(trimmed)
    return number if math.isfinite(number) else None


def parse_number(text: str) -> Fraction | None:
    """The number that a text is, exactly; None if it is none, or so large that doubles do not tell its neighbours apart.

    A k-quasi with such a large number, say one of 20 digits, holds codes.
    """
    number = parse_double(text)
    if number is None or abs(number) >= EXACT:
        return None
    return Fraction(text.strip())
