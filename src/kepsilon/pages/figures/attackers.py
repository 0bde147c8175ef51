# SPDX-License-Identifier: Apache-2.0
"""Figures of the report about attackers: who could link how many records, and which kept columns help them."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.pages.charts import Bar, Limit, Segment, bar_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.figures.first_screen import max_risk
from kepsilon.pages.wording import number, percent, plural
from kepsilon.predict.kept_columns import ALARM, NOTE
from kepsilon.publish.record import Record

_MOST_BARS = 10


def attackers_figure(record: Record) -> Figure:
    """Who could link how many records, those who know least first."""
    expected = [own for own in record.attackers if own.risk is not None]
    limit = max_risk(record)
    return Figure(
        title="Who could link how many records",
        sentences=[
            record.risk_in_words,
            (
                "Those in the upper rows need to know nothing but the quasi-identifiers; those below know kept columns of "
                "everybody too."
            ),
        ],
        drawing=bar_chart(
            [
                Bar(own.name, [Segment("expected", own.risk.total, BLUE)], percent(own.risk.total))
                for own in expected
                if own.risk is not None
            ],
            title="Share of the records that each attacker is expected to link",
            label="records linked, expected",
            limit=None if limit is None else Limit(limit, f"limit {percent(limit)}"),
            axis_words=axis_percent,
        ),
        table=Table(
            headers=["", "whoever knows", "and", "links, expected", "links, as drawn", "largest risk of one record"],
            rows=[
                [
                    own.name,
                    own.knows,
                    own.how,
                    percent(None if own.risk is None else own.risk.total),
                    percent(own.realised),
                    percent(own.largest),
                ]
                for own in record.attackers
            ],
            n_words=3,
        ),
    )


def kept_columns_figures(record: Record) -> Iterator[Figure]:
    """What each kept column tells about the quasis, the worst first."""
    if not record.kept_columns:
        return
    columns = sorted(record.kept_columns.items(), key=lambda pair: -pair[1].share_linked)
    alarms = [name for name, own in columns if own.verdict == ALARM]
    notes = [name for name, own in columns if own.verdict == NOTE]
    accepted = {name: own["accept_leak"] for name, own in record.policy.attributes.items() if own.get("accept_leak")}
    gives = "gives" if len(alarms) == 1 else "give"
    others = "no other" if alarms else "none"
    sentences = [
        f"Kept columns are published as they are. Of {plural(len(columns), 'kept column')}, "
        + (
            f"{len(alarms):,} {gives} people away to an attacker, which the policy accepts; "
            if alarms
            else "none was found to give people away; "
        )
        + (f"{len(notes):,} may help somebody who knows more." if notes else f"{others} was noted.")
        + " Looked for was what whoever knows the quasi-identifiers could work out from a column, and what it tells whoever sees "
        "the release. Whoever knows such a column of a person links more: see above."
    ]
    sentences += [f"{words[:1].upper()}{words[1:]}." for name, own in columns for words in own.in_words]
    sentences += [
        f"{name} is published all the same. The curator's reason: {reason}" for name, reason in accepted.items()
    ]
    yield Figure(
        title="What kept columns give away",
        sentences=sentences,
        drawing=bar_chart(
            [
                Bar(name, [Segment("linked", own.share_linked, BLUE)], percent(own.share_linked))
                for name, own in columns[:_MOST_BARS]
            ],
            title="Share of the records linked by whoever works out a kept column from the quasis",
            label="records linked through the column",
            axis_words=axis_percent,
        ),
        table=Table(
            headers=[
                "column",
                "verdict",
                "links per class (1 by chance)",
                "records linked",
                "told of a k-quasi",
                "unique",
            ],
            rows=[
                [
                    name,
                    own.verdict,
                    number(own.links_per_class),
                    percent(own.share_linked),
                    percent(max(0.0, own.bits)),
                    percent(own.unique),
                ]
                for name, own in columns
            ],
            n_words=2,
        ),
    )
