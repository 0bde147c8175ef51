# SPDX-License-Identifier: Apache-2.0
"""The report's table of attributes: role, a small picture of before and after, error in units, verdict and reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kepsilon.evaluate.pictures import KQuasiPicture, Pictures, ValuePicture
from kepsilon.pages.charts import Drawing, small_distributions, small_labels
from kepsilon.pages.figures.changes import generalised_words, protected_words
from kepsilon.pages.wording import NOTHING, counted_by_value, exact, percent, plural
from kepsilon.predict.kept_columns import ALARM
from kepsilon.predict.verdicts import COARSER, KEPT, USELESS
from kepsilon.publish.record import Record
from kepsilon.rounding import number

DROPPED, UNKNOWN = "dropped", "unknown"
SIGNS = {USELESS: "✗", COARSER: "≈", KEPT: "✓", DROPPED: "–", UNKNOWN: "?"}
"""What stands beside each verdict, so that it is not told by colour alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeLine:
    """One line of the table."""

    name: str
    role: str
    became: str
    """What was done to it."""
    picture: Drawing | None
    picture_words: str
    """What the picture counts, in words; empty for distributions."""
    error: str
    verdict: str
    reason: str

    @property
    def sign(self) -> str:
        return SIGNS[self.verdict]


def attribute_lines(record: Record, pictures: Pictures) -> list[AttributeLine]:
    """A line for every attribute of the policy, in its order."""
    values = {one.name: one for one in pictures.values}
    labels = {one.name: one for one in pictures.k_quasis}
    return [
        _line(name, attribute, record, values.get(name), labels.get(name))
        for name, attribute in record.policy.attributes.items()
    ]


def _line(
    name: str,
    attribute: Mapping[str, Any],
    record: Record,
    value: ValuePicture | None,
    quasi: KQuasiPicture | None,
) -> AttributeLine:
    role = str(attribute["role"])
    verdict, reason = _verdict(record, name, role)
    picture, words, error = None, "", NOTHING
    if role == "k-quasi":
        became = generalised_words(quasi, (record.levels or {}).get(name))
        if quasi is not None:
            picture, words = _of_labels(quasi)
    elif role == "epsilon-quasi":
        became = f"{protected_words(record, name)}, in steps of {exact(attribute['precision'])}{_clipped(record, name)}"
        error = _error(record, name)
        if value is not None and value.edges:
            title = f"{name} before and as published"
            picture = small_distributions(value.edges, value.before, value.after, title=title)
    else:
        became = "dropped" if role == "identifier" else "published as it is"
    return AttributeLine(
        name=name,
        role=role,
        became=became,
        picture=picture,
        picture_words=words,
        error=error,
        verdict=verdict,
        reason=reason,
    )


def _verdict(record: Record, name: str, role: str) -> tuple[str, str]:
    """The verdict and its reason; identifiers are dropped, and other columns that are no quasis are published as they are."""
    if role == "identifier":
        return DROPPED, "not published"
    if role not in {"k-quasi", "epsilon-quasi"}:
        leak = record.kept_columns.get(name)
        reason = record.policy.attributes[name].get("accept_leak")
        if leak is None or leak.verdict != ALARM or not reason:
            return KEPT, "published as it is"
        return KEPT, f"published as it is, although it gives people away, which the policy accepts: {reason}"
    own = record.verdicts.get(name)
    if own is None:
        return UNKNOWN, "no verdict was recorded"
    accepted = f". Published all the same: {own.accepted}" if own.verdict == USELESS and own.accepted else ""
    return own.verdict, f"{own.reason}{accepted}"


def _of_labels(quasi: KQuasiPicture) -> tuple[Drawing | None, str]:
    """The small picture of a k-quasi, and the same in words; labels of local algorithms overlap, so values are not counted."""
    n_records = quasi.labels.n_records
    shares = [count / n_records for _, count in quasi.labels.shown] if n_records else []
    n_before = None if quasi.level is None else quasi.n_values_before
    after = plural(quasi.n_labels_after, "label" if quasi.level is not None else "different label")
    words = after if n_before is None else f"{plural(n_before, 'value')} → {after}"
    title = f"Labels of {quasi.name} by the records that carry them: {words}"
    return (small_labels(n_before, shares, title=title) if shares else None), words


def _clipped(record: Record, name: str) -> str:
    """Words for values outside declared bounds; empty where there are none."""
    if not record.clipped.get(name):
        return ""
    clipped_words = counted_by_value(record.clipped[name], record.guarantee.k)
    what = "value outside the bounds was" if clipped_words == "1" else "values outside the bounds were"
    return f"; {clipped_words} {what} clipped first"


def _error(record: Record, name: str) -> str:
    """The error of single values in the attribute's own units."""
    own = record.survives.get(name)
    if own is not None and own.error.expected is not None:
        return f"± {number(own.error.expected)}"
    relative = record.error[name].predicted.expected_relative if name in record.error else None
    return NOTHING if relative is None else f"± {percent(relative)} of the value"
