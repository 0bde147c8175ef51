# SPDX-License-Identifier: Apache-2.0
"""What a data-protection officer reads of risk: how sure an attacker is of single records, and what is not covered."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.pictures import Pictures
from kepsilon.pages.charts import Bar, Segment, bar_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE, ORANGE, VERMILLION
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.figures.first_screen import surest_attackers
from kepsilon.pages.wording import listed, percent
from kepsilon.publish.record import Record
from kepsilon.rounding import percent_at_most


def single_risks_figure(record: Record, pictures: Pictures) -> Figure:
    """Released records by how sure an attacker is of them, given what was published."""
    risk = record.linking_risk
    is_drawn = bool(record.policy.attributes_with_role("epsilon-quasi"))
    known, drawn = (
        ("the quasi-identifiers of everybody", ", as the values were drawn") if is_drawn else ("the class", "")
    )
    bins = _by_class_size(record, pictures) or [
        ("up to 50 %", max(0.0, 1 - risk.over_half), BLUE),
        ("50 to 90 %", max(0.0, risk.over_half - risk.over_nine_tenths), ORANGE),
        ("over 90 %", risk.over_nine_tenths, VERMILLION),
    ]
    sentences = [
        (
            f"How sure whoever knows {known}, and uses no kept column, is of the right person, record by record{drawn}. "
            f"The surest case: {percent(risk.largest)}."
        )
    ]
    bounds = [f"{percent_at_most(share)} for whoever {how}" for share, how in surest_attackers(record)]
    if bounds:
        always = "Whatever is drawn, it" if is_drawn else "It"
        sentences.append(f"{always} is at most {', and at most '.join(bounds)}.")
    return Figure(
        title="Single risks",
        sentences=sentences,
        drawing=bar_chart(
            [Bar(name, [Segment("records", share, colour)], percent(share)) for name, share, colour in bins],
            title="Share of the released records by how sure an attacker is of them",
            label="released records",
            axis_words=axis_percent,
            one_name=True,
        ),
        table=Table(
            headers=["sure of the right person", "share of the released records"],
            rows=[[name, percent(share)] for name, share, _ in bins],
        ),
    )


def _by_class_size(record: Record, pictures: Pictures) -> list[tuple[str, float, int]]:
    """Shares of the records by single risk where nothing but the class tells records apart: one over its size.

    Empty where values are drawn or averaged, and where a person has several records.
    """
    if record.policy.attributes_with_role("epsilon-quasi") or record.persons is not None:
        return []
    n_records = sum(own.n_records for own in pictures.class_sizes)
    return [
        (
            f"{percent(1 / own.largest)} to {percent(1 / own.smallest)}",
            own.n_records / n_records,
            BLUE,
        )
        for own in reversed(pictures.class_sizes)
    ]


def not_covered(record: Record) -> Iterator[str]:
    """The attackers and holes that stay, in words."""
    kept = [*record.policy.attributes_with_role("sensitive"), *record.policy.attributes_with_role("insensitive")]
    if kept:
        yield (
            f"Whoever knows {listed(kept) if len(kept) <= 4 else f'{len(kept):,} kept columns'} of a person as well: kept "
            "columns are published as they are, and the grey rows above say how much more is linked then."
        )
    if record.homogeneity:
        of = "class" if record.groups is None else "group"
        yield (
            f"What a {of} tells without any link: whoever knows the {of} of a person knows a sensitive value where all agree."
        )
    if any(how == "class" or how.startswith("coarse") for how in record.guarantee.ranges.values()):
        names = [name for name, how in record.guarantee.ranges.items() if how == "class" or how.startswith("coarse")]
        yield (
            f"A value of {listed(names)} that stands out: the size of the noise shows the range of a class, whatever ε is, to "
            "whoever knows the others of the class."
        )
    if record.groups is not None and record.guarantee.epsilon is None:
        yield "The last value of a group: whoever knows the rest of a group works it out from the average."
    if record.persons is None:
        yield "Persons with several records: the policy names no person, so that k counts records."
    yield (
        "Other releases of the same people, by anybody: what they tell adds up, and fresh draws of the same records average "
        "the noise away."
        if record.guarantee.epsilon is not None
        else "Other releases of the same people, by anybody: what they tell adds up."
    )
    yield "Attackers who know something about the people here that no column holds."
