# SPDX-License-Identifier: Apache-2.0
"""Figures of the report about attackers: who could link how many records, and which kept columns help them."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.linking.attackers import (
    ANY_THREE,
    BY_CLASS,
    BY_QUASIS,
    EVERYTHING,
    ONE_COLUMN,
    WORKING_OUT,
    WORST_THREE,
    Attacker,
)
from kepsilon.pages.charts import Bar, Limit, Segment, bar_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE, GREY
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.figures.first_screen import max_risk
from kepsilon.pages.wording import capital, listed, number, percent, plural
from kepsilon.predict.kept_columns import ALARM, NOTE
from kepsilon.publish.record import Record

_MOST_BARS = 10
_MOST_TOLD = 3
"""Kept columns whose sentences are shown; the table has the figures of all."""

_ROWS = {
    BY_CLASS: "guesses in the class",
    BY_QUASIS: "knows the quasis",
    WORKING_OUT: "works out a column",
    ONE_COLUMN: "and a kept column",
    ANY_THREE: "any 3 attributes",
    WORST_THREE: "the worst 3",
    EVERYTHING: "knows everything",
}
"""What stands beside the bars, by the name of an attacker; the table below has who that is in full."""


def attackers_figure(record: Record) -> Figure:
    """Who could link how many records, those who know least first."""
    expected = [own for own in record.attackers if own.risk is not None]
    limit = max_risk(record)
    return Figure(
        title="Who could link how many records",
        sentences=[record.risk_in_words, _which_are_limited(record, limit)],
        drawing=bar_chart(
            [
                Bar(row_name(own), [Segment(*_kind(own, own.risk.total))], percent(own.risk.total))
                for own in expected
                if own.risk is not None
            ],
            title="Share of the records that each attacker is expected to link",
            label="share of the records linked, expected",
            limit=None if limit is None else Limit(limit, f"limit {percent(limit)}"),
            axis_words=axis_percent,
        ),
        table=Table(
            headers=["", "whoever knows", "and", "links, expected", "links, as drawn", "largest risk of one record"],
            rows=[
                [
                    row_name(own),
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


def row_name(attacker: Attacker) -> str:
    """What the attacker knows or does, as short as a row of a chart needs it."""
    return _ROWS.get(attacker.name, attacker.name)


def _kind(attacker: Attacker, share: float) -> tuple[str, float, int]:
    """The name of a segment, its length and its colour: whether the attacker is one of those whom the limit is about."""
    if attacker.needs_only_quasis:
        return "knows only the quasi-identifiers", share, BLUE
    return "knows other columns", share, GREY


def _which_are_limited(record: Record, limit: float | None) -> str:
    others = any(not own.needs_only_quasis and own.risk is not None for own in record.attackers)
    limited = (
        "The headline is the largest share"
        if limit is None
        else f"The limit of {percent(limit)} is on the largest share"
    )
    words = f"{limited} of those who need to know nothing but quasi-identifiers, in the upper rows"
    if not others:
        return f"{words}."
    no_limit = "" if limit is None else ", and no limit holds them"
    return f"{words}; those below (grey) know kept columns, or any three attributes, of a person{no_limit}."


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
    telling = [own for _, own in columns if own.in_words]
    sentences += [f"{capital(words)}." for own in telling[:_MOST_TOLD] for words in own.in_words]
    if len(telling) > _MOST_TOLD:
        sentences.append(f"Something was found of {plural(len(telling) - _MOST_TOLD, 'more column')}: see the numbers.")
    for reason in dict.fromkeys(accepted.values()):
        names = [name for name, own in accepted.items() if own == reason]
        are = "is" if len(names) == 1 else "are"
        sentences.append(f"{listed(names)} {are} published all the same. The curator's reason: {reason}")
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
