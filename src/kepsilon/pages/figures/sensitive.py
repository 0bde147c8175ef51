# SPDX-License-Identifier: Apache-2.0
"""The figure of the report about sensitive columns: how far classes agree on a value."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.pages.charts import Bar, Segment, bar_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE, GREY
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import capital, percent, plural
from kepsilon.publish.record import Record

_SHORTEST_AXIS = 0.05
_MOST_BARS = 3
"""Columns that are drawn and told in a sentence; the table has all of them."""


def sensitive_figures(record: Record) -> Iterator[Figure]:
    """How many records are in classes that agree on a sensitive value, the worst column first."""
    if not record.homogeneity:
        return
    columns = sorted(record.homogeneity.items(), key=lambda pair: -pair[1].one_value)
    one, many = ("class", "classes") if record.groups is None else ("group", "groups")
    explained = (
        f"Whoever knows the {one} of a person, and nothing else, knows a sensitive value too where all records of the {one} "
        f"agree on it. A value that most records hold fills some {many} by chance alone, so what chance would do stands "
        "below each figure."
    )
    sentences = [explained]
    told = columns[:_MOST_BARS]
    sentences += [f"{capital(own.in_words(name, of=one))}." for name, own in told]
    if len(columns) > len(told):
        sentences.append(f"Classes agree less on {plural(len(columns) - len(told), 'more column')}: see the numbers.")
    sentences += [f"{name}: {own.measured_on}." for name, own in columns if own.measured_on is not None][:1]
    yield Figure(
        title=f"What {many} tell of sensitive values",
        sentences=sentences,
        drawing=bar_chart(
            [
                bar
                for name, own in columns[:_MOST_BARS]
                for bar in (
                    Bar(name, [Segment("in this release", own.one_value, BLUE)], percent(own.one_value)),
                    Bar(
                        "by chance",
                        [Segment("by chance", own.one_value_by_chance, GREY)],
                        percent(own.one_value_by_chance),
                    ),
                )
            ],
            one_name=True,
            holds=_SHORTEST_AXIS,
            title=f"Share of the records in {many} that agree on one value",
            label=f"records in {many} of one value",
            axis_words=axis_percent,
        ),
        table=Table(
            headers=["column", "one value", "by chance", "nine tenths one value", "by chance"],
            rows=[
                [
                    name,
                    percent(own.one_value),
                    percent(own.one_value_by_chance),
                    percent(own.nearly_one_value),
                    percent(own.nearly_one_value_by_chance),
                ]
                for name, own in columns
            ],
        ),
    )
