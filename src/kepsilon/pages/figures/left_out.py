# SPDX-License-Identifier: Apache-2.0
"""The figure of the report about released records and those left out, by cause."""

from __future__ import annotations

from kepsilon.pages.charts import Segment, share_bar
from kepsilon.pages.charts.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import NOTHING, percent
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.publish.record import Record


def released_words(record: Record) -> str:
    return f"{record.records.released:,} of {record.records.read:,}"


def suppression_figure(record: Record) -> Figure:
    """Released records and those left out; the chart, but not the table, leaves out segments of 1 to k − 1 records."""
    k, counts = record.guarantee.k, record.records
    causes = [
        ("left out to reach k", counts.suppressed_by_k, VERMILLION),
        ("left out to hold k with confidence", counts.suppressed_by_confidence, ORANGE),
        (
            f"a value that {'needs noise' if record.groups is None else 'is averaged'} is missing",
            counts.suppressed_missing,
            PURPLE,
        ),
        ("a value is not in its hierarchy", counts.suppressed_unlisted, GREY),
        ("the person has more records than one person may have", counts.suppressed_by_cap, BLUE),
    ]
    found = sorted((cause for cause in causes if cause[1]), key=lambda cause: -cause[1])
    are = "record read is" if counts.read == 1 else "records read are"
    sentences = [f"{released_words(record)} {are} released."]
    limit = record.policy.max_suppression
    if limit is not None and ALGORITHMS[record.policy.algorithm].suppresses_freely:
        sentences.append(f"At most {percent(limit)} of {_counted(record)} could be left out to reach k.")
    segments = [
        Segment("released", counts.released, GREEN),
        *(Segment(words, n, colour) for words, n, colour in found if n >= k),
    ]
    rows = [
        [words, f"{n:,}", percent(n / counts.read), "those read"]
        for words, n, _ in (("read", counts.read, 0), ("released", counts.released, 0), *found)
    ]
    confident = record.confident_k
    if confident is not None:
        expected, realised = confident.predicted.of_entering.total, confident.realised
        sentences.append(
            f"For k to hold with a confidence of {percent(confident.confidence)} in spite of the values that are "
            f"known, {percent(expected)} of the records that got noise were expected to go, and {percent(realised)} went."
        )
        rows += [
            [words, NOTHING, percent(share), base]
            for words, share, base in (
                ("left out for confidence, expected", expected, "those that got noise"),
                ("left out for confidence, as drawn", realised, "those that got noise"),
                ("left out for k and confidence, expected", confident.predicted.total_expected, _counted(record)),
                ("left out for k and confidence, as drawn", confident.total_realised, _counted(record)),
            )
        ]
    return Figure(
        title="Released and left out",
        sentences=sentences,
        drawing=share_bar(segments, title="Records released and left out, by cause", total=counts.read, words=percent),
        table=Table(headers=["records", "how many", "share", "of"], rows=rows),
    )


def _counted(record: Record) -> str:
    """The records that shares of suppression refer to, in words: those that were not left out before counting."""
    counts = record.records
    if not counts.left_before:
        return "those read"
    capped = " and within the cap per person" if counts.suppressed_by_cap else ""
    return f"the {counts.counted:,} with no value missing or unlisted{capped}"
