# SPDX-License-Identifier: Apache-2.0
"""Reads the pages of the documentation: their headings, links and examples."""

from __future__ import annotations

import re
from pathlib import Path


def without_code(text: str) -> str:
    return re.sub(r"^(```+|~~~+).*?^\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors_of(text: str) -> list[str]:
    """The anchors of a page's headings, as a code host and the site make them."""
    headings = re.findall(r"^#{1,6} (.+)$", without_code(text), flags=re.MULTILINE)
    found: list[str] = []
    for heading in headings:
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return found


def links_of(text: str) -> list[tuple[str, str]]:
    """Target and anchor of every link within the repository."""
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", without_code(text)))
    return [(own.partition("#")[0], own.partition("#")[2]) for own in targets if "://" not in own]


def examples_of(page: Path, language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
