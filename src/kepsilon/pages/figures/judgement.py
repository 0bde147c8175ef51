# SPDX-License-Identifier: Apache-2.0
"""The verdicts on attributes as the page shows them, from the record."""

from __future__ import annotations

from dataclasses import dataclass

from kepsilon.publish.record import Record
from kepsilon.rounding import number, percent

USELESS, COARSER, KEPT = "useless", "coarser", "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict on one attribute, with its reason."""

    verdict: str
    reason: str
    accepted: str | None = None


def judged(record: Record, name: str) -> Judged:
    """The verdict on one quasi."""
    loss = record.loss.ncp.by_attribute.get(name)
    own = record.survives.get(name)
    if loss is not None:
        verdict = USELESS if loss >= 1 else COARSER if loss >= 0.1 else KEPT
        return Judged(verdict=verdict, reason=f"labels leave {percent(loss)} of what occurs open")
    if own is None or own.error.expected is None or own.error_of_best_constant.absolute is None:
        return Judged(verdict=KEPT, reason="published as it is")
    error, constant = own.error.expected, own.error_of_best_constant.absolute
    verdict = USELESS if error >= 0.8 * constant else COARSER if error >= 0.1 * (own.spread.before or 0) else KEPT
    return Judged(
        verdict=verdict, reason=f"off by {number(error)} on average; a constant per class by {number(constant)}"
    )
