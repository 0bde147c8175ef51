# SPDX-License-Identifier: Apache-2.0
"""Marks that every value of a record carries, so that a value can be recognised wherever it should not be."""

from __future__ import annotations

import random
import re

LETTERS = "BCDFGHJKLMNPRSTVW"
START = "QZ"
LENGTH = 9
"""So long that a compressed file, which puts pieces of tokens side by side, does not make another one of them."""
FOUND = re.compile(f"{START}[{LETTERS}]{{{LENGTH}}}", re.IGNORECASE)

DIGITS = re.compile(r"(?=(7391[0-9]{6}))")
"""Whole numbers of ten digits that begin so are values too; searched for with overlaps."""


def token(rng: random.Random) -> str:
    """A text that occurs nowhere but in values: no word, column name or digest holds it."""
    return START + "".join(rng.choices(LETTERS, k=LENGTH))


def number(rng: random.Random, *, within: int = 0, of: int = 1) -> int:
    """A whole number of ten digits that is recognised too; one of a part of them, if they are divided into parts."""
    size = 1_000_000 // of
    return 7_391_000_000 + within * size + rng.randrange(size)


def tokens_in(content: str | bytes) -> frozenset[str]:
    """All tokens in some text, or in some bytes whatever they are."""
    text = content.decode("latin-1") if isinstance(content, bytes) else content
    return frozenset(found.upper() for found in FOUND.findall(text))


def numbers_in(text: str) -> frozenset[str]:
    """All recognisable numbers in some text."""
    return frozenset(DIGITS.findall(text))
