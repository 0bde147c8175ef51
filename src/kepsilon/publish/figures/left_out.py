# SPDX-License-Identifier: Apache-2.0
"""Who is released and who was left out, and why."""

from __future__ import annotations

from kepsilon.policy.choices import ALGORITHMS
from kepsilon.publish.charts import (
    Part,
    share_bar,
)
from kepsilon.publish.charts.palette import GREEN, GREY, ORANGE, PURPLE, VERMILLION
from kepsilon.publish.figures.figure import Figure, Json, Table
from kepsilon.publish.wording import NOTHING, percent

CAUSES = {
    "suppressed_by_k": ("left out to reach k", VERMILLION),
    "suppressed_by_confidence": ("left out to hold k with confidence", ORANGE),
    "suppressed_missing": ("a value that needs noise is missing", PURPLE),
    "suppressed_unlisted": ("a value is not in its hierarchy", GREY),
}


def released_words(record: Json) -> str:
    return f"{record['records']['released']:,} of {record['records']['read']:,}"


def suppression_figure(record: Json) -> Figure:
    """Counts are exact, as in the record; only the drawing has no segment of 1 to k − 1 records."""
    k, counts = record["guarantee"]["k"], record["records"]
    read = counts["read"]
    found = [(words, int(counts.get(key) or 0), colour) for key, (words, colour) in CAUSES.items()]
    found = sorted((cause for cause in found if cause[1]), key=lambda cause: -cause[1])
    are = "record read is" if read == 1 else "records read are"
    sentences = [f"{released_words(record)} {are} released."]
    policy = record.get("policy") or {}
    if policy.get("max_suppression") is not None and _may_suppress(policy):
        sentences.append(
            f"At most {percent(policy['max_suppression'])} of {_counted(record)} could be left out to reach k."
        )
    confident: Json = record.get("confident_k") or {}
    if confident.get("expected") is not None:
        went = f", and {percent(confident['realised'])} went" if confident.get("realised") is not None else ""
        sentences.append(
            f"For k to hold with a confidence of {percent(confident.get('confidence'))} in spite of the values that are "
            f"known, {percent(confident['expected'])} of the records that got noise were expected to go{went}."
        )
    parts = [
        Part("released", counts["released"], GREEN),
        *(Part(words, n, colour) for words, n, colour in found if n >= k),
    ]
    rows = [
        [words, f"{n:,}", percent(n / read) if read else NOTHING, "those read"]
        for words, n, _ in (("read", read, 0), ("released", counts["released"], 0), *found)
    ]
    rows += [
        [words, NOTHING, percent(confident[key]), base]
        for key, words, base in (
            ("expected", "left out for confidence, expected", "those that got noise"),
            ("realised", "left out for confidence, as drawn", "those that got noise"),
            ("total_expected", "left out for k and confidence, expected", _counted(record)),
            ("total_realised", "left out for k and confidence, as drawn", _counted(record)),
        )
        if confident.get(key) is not None
    ]
    return Figure(
        title="Released and left out",
        sentences=sentences,
        drawing=share_bar(parts, title="Records released and left out, by cause", total=read, words=percent),
        table=Table(headers=["records", "how many", "share", "of"], rows=rows),
    )


def _may_suppress(policy: Json) -> bool:
    return "algorithm" not in policy or ALGORITHMS[policy["algorithm"]].may_suppress


def _counted(record: Json) -> str:
    """What suppression is held against: missing and unlisted values leave before anything is counted."""
    counts = record["records"]
    n_before = int(counts.get("suppressed_missing") or 0) + int(counts.get("suppressed_unlisted") or 0)
    if not n_before:
        return "those read"
    return f"the {counts['read'] - n_before:,} with no value missing or unlisted"
