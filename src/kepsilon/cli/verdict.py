# SPDX-License-Identifier: Apache-2.0
"""The verdict at the end of `check` and `anonymise`: on every quasi, and in three marks on the release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kepsilon
from kepsilon.cli.screen import show_heading, show_table

if TYPE_CHECKING:  # commands load slow modules only when they need them
    Found = kepsilon.Prediction | kepsilon.Record


def show_verdict(found: Found) -> None:
    """Prints what is left of every quasi, then the three marks on the release: the values of the record, word for word."""
    show_heading("What is left of each attribute")
    rows = []
    for name, own in found.verdicts.items():
        accepted = "" if own.accepted is None else f"; accepted in the policy: {own.accepted}"
        rows.append([name, own.role, own.verdict, f"{own.reason}{accepted}"])
    show_table(["attribute", "role", "verdict", "why"], rows)
    show_heading("Verdict")
    marks = {
        "promise": found.verdict.promise,
        "risk": found.verdict.risk,
        "usefulness": found.verdict.usefulness,
    }
    show_table(["about", "verdict", "why"], [[about, mark.state, mark.sentence] for about, mark in marks.items()])
