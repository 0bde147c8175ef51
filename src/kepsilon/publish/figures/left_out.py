# SPDX-License-Identifier: Apache-2.0
"""Who is released and who was left out, and why."""

from __future__ import annotations

from kepsilon.publish.charts import (
    Part,
    share_bar,
)
from kepsilon.publish.charts.palette import GREEN, GREY, ORANGE, PURPLE, VERMILLION
from kepsilon.publish.figures.figure import Figure, Json, Table
from kepsilon.publish.wording import percent, records, share_of_records

CAUSES = {
    "suppressed_by_k": ("left out to reach k", VERMILLION),
    "suppressed_by_confidence": ("left out to hold k with confidence", ORANGE),
    "suppressed_missing": ("a value that needs noise is missing", PURPLE),
    "suppressed_unlisted": ("a value is not in its hierarchy", GREY),
}
_JOINT = "left out, for more than one cause"


def causes(record: Json) -> list[tuple[str, int, int]]:
    """Why records are not there: words, how many, colour. A cause of 1 to k − 1 records is joined with another, because
    all the others and the total would tell it."""
    k, counts = record["guarantee"]["k"], record["records"]
    found = [(words, int(counts.get(key) or 0), colour) for key, (words, colour) in CAUSES.items()]
    found = sorted((cause for cause in found if cause[1]), key=lambda cause: cause[1])
    while len(found) > 1 and found[0][1] < k:
        found = sorted([(_JOINT, found[0][1] + found[1][1], GREY), *found[2:]], key=lambda cause: cause[1])
    return found[::-1]


def released_words(record: Json) -> str:
    """How many records are released, without telling of 1 to k − 1 that are not."""
    k, counts = record["guarantee"]["k"], record["records"]
    read, released = counts["read"], counts["released"]
    if 0 < read - released < k:
        return f"all but {records(read - released, k)} of {read:,}"
    return f"{released:,} of {read:,}"


def suppression_figure(record: Json) -> Figure:
    k, counts = record["guarantee"]["k"], record["records"]
    found = causes(record)
    shown = [cause for cause in found if cause[1] >= k]
    left_out = counts["read"] - counts["released"]
    sentences = [f"{released_words(record).capitalize()} records are released."]
    limit = (record.get("policy") or {}).get("max_suppression")
    if limit is not None and (record.get("policy") or {}).get("algorithm", "ola") == "ola":
        sentences.append(f"At most {percent(limit)} could be left out to reach k.")
    confident: Json = record.get("confident_k") or {}
    if confident.get("expected") is not None:
        entering = counts["released"] + int(counts.get("suppressed_by_confidence") or 0)
        went = share_of_records(confident.get("realised"), entering, k)
        came = f", {went} went" if confident.get("realised") is not None else ""
        sentences.append(
            f"For k to hold with a confidence of {percent(confident.get('confidence'))} in spite of the values that are "
            f"known, {percent(confident['expected'])} were expected to go{came}."
        )
    parts = [Part("released", counts["released"], GREEN), *(Part(words, n, colour) for words, n, colour in shown)]
    rows = [["read", f"{counts['read']:,}", "100 %"]]
    told = not 0 < left_out < k
    rows.append(
        [
            "released",
            f"{counts['released']:,}" if told else released_words(record),
            percent(counts["released"] / counts["read"]) if told and counts["read"] else "–",
        ]
    )
    rows += [[words, records(n, k), percent(n / counts["read"]) if n >= k else "–"] for words, n, _ in found]
    for key, words in (
        ("total_expected", "left out for k and confidence, expected"),
        ("total_realised", "left out for k and confidence, as drawn"),
    ):
        if confident.get(key) is not None:
            rows.append([words, "–", share_of_records(confident[key], counts["read"], k)])
    return Figure(
        title="Released and left out",
        sentences=sentences,
        drawing=share_bar(parts, title="Records released and left out, by cause", words=percent),
        table=Table(headers=["records", "how many", "share of those read"], rows=rows),
    )
