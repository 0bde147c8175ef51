# SPDX-License-Identifier: Apache-2.0
"""Figures of the report about labels: for each generalised attribute, how many released records carry which label."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.pictures import KQuasiPicture, Pictures
from kepsilon.pages.charts import Bar, Segment, bar_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import percent, plural
from kepsilon.table.codes import Label


def label_figures(pictures: Pictures) -> Iterator[Figure]:
    """One figure for each k-quasi whose labels were counted."""
    for quasi in pictures.k_quasis:
        if quasi.labels.n_records:
            yield _labels(quasi, k=pictures.k)


def _labels(quasi: KQuasiPicture, *, k: int) -> Figure:
    labels, n_records = quasi.labels, quasi.labels.n_records
    bars = [
        Bar(_shown(label), [Segment("records", count / n_records, BLUE)], f"{count:,}") for label, count in labels.shown
    ]
    rows = [[_shown(label), f"{count:,}", percent(count / n_records)] for label, count in labels.shown]
    sentences = [f"Labels of {quasi.name} as published, with the released records that carry each: at least {k:,}."]
    if labels.n_more_labels:
        share = labels.n_more_records / n_records
        more = plural(labels.n_more_labels, "more label")
        # A bar for all others would dwarf those that are shown.
        sentences.append(
            f"These are the most frequent; there are {more} for {plural(labels.n_more_records, 'record')}."
        )
        rows.append([more, f"{labels.n_more_records:,}", percent(share)])
    return Figure(
        title=f"Labels of {quasi.name}",
        sentences=sentences,
        drawing=bar_chart(
            bars, title=f"Released records by label of {quasi.name}", label="released records", axis_words=axis_percent
        )
        if bars
        else None,
        table=Table(headers=["label", "released records", "share"], rows=rows),
    )


def _shown(label: Label) -> str:
    """A label in words; null is a value like any other."""
    return "(missing)" if label is None else label or "(empty)"
