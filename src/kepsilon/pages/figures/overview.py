# SPDX-License-Identifier: Apache-2.0
"""What the report consists of below its first screen: sections in order, folded details, and how it was made."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.pictures import Pictures
from kepsilon.pages.figures.attackers import attackers_figure, kept_columns_figures
from kepsilon.pages.figures.changes import distribution_figure, generalised_figures
from kepsilon.pages.figures.costs import class_size_figures, error_figure, not_given
from kepsilon.pages.figures.figure import Section, Table
from kepsilon.pages.figures.groups import group_figures
from kepsilon.pages.figures.labels import label_figures
from kepsilon.pages.figures.left_out import suppression_figure
from kepsilon.pages.figures.officer import single_risks_figure
from kepsilon.pages.figures.risks import linking_figure, outlier_figures, reidentification_figure
from kepsilon.pages.figures.sensitive import sensitive_figures
from kepsilon.pages.figures.survival import RULES, survival_figures
from kepsilon.pages.wording import exact, listed, percent
from kepsilon.policy.names import shown_name
from kepsilon.publish.record import Record


def officer_section(record: Record, pictures: Pictures) -> Section:
    """Who could link whom, held against the limit, how sure of single records, and what kept columns and classes tell."""
    return Section(
        title="Risk, for the data-protection officer",
        figures=[
            attackers_figure(record),
            single_risks_figure(record, pictures),
            *sensitive_figures(record),
            *kept_columns_figures(record),
        ],
    )


def left_out_section(record: Record) -> Section:
    return Section(title="Who was left out", figures=[suppression_figure(record)])


def detail_sections(record: Record, pictures: Pictures) -> Iterator[Section]:
    """Everything that is folded: one figure after another, for whoever wants to look closer."""
    surviving = [*survival_figures(record)]
    if surviving:
        yield Section(title="Statistics, before and as published", figures=surviving, sentences=[RULES])
    generalised = [*generalised_figures(pictures), *label_figures(pictures)]
    if generalised:
        yield Section(title="What was generalised", figures=generalised)
    averaged = record.groups is not None
    changed = [distribution_figure(one, record.guarantee.k, averaged=averaged) for one in pictures.values]
    if changed:
        yield Section(title="What was averaged" if averaged else "What got noise", figures=changed)
    sizes = [*class_size_figures(record, pictures), *group_figures(record)]
    if sizes:
        yield Section(title="How many look alike", figures=sizes)
    errors = [error_figure(one, record) for one in pictures.errors]
    drawn = {one.name for one in pictures.errors}
    undrawn = [words for name in record.error if name not in drawn for words in not_given(name, record)]
    if errors or undrawn:
        costs = "What averaging costs" if averaged else "What the noise costs"
        yield Section(title=costs, figures=errors, sentences=undrawn)
    risk = [linking_figure(record, pictures), reidentification_figure(record), *outlier_figures(record)]
    yield Section(title="More about risk", figures=risk)


_WAYS = (": ", ", as drawn: ", " is published although it may give people away. ")
"""What follows the name of an attribute at the start of a promise."""


def promises(record: Record) -> list[str]:
    """The lines of the statement; what is promised alike of several attributes is said once, with all their names."""
    shown = [shown_name(name) for name in record.policy.attributes]
    grouped: dict[tuple[str, str], list[str]] = {}
    for line in record.guarantee.statement.split("\n"):
        about = next(((one, way) for one in shown for way in _WAYS if line.startswith(one + way)), ("", ""))
        name, way = about
        grouped.setdefault((way, line.removeprefix(name + way)), []).append(name)
    return [listed(names) + _of_several(way, names) + rest for (way, rest), names in grouped.items()]


def _of_several(way: str, names: list[str]) -> str:
    return way.replace(" is ", " are ").replace(" it ", " they ") if len(names) > 1 else way


def made(*, version: str, created: str, digest: str | None = None) -> str:
    """One line that says by which version and when a page was made."""
    return " · ".join(said for said in (f"kepsilon {version}", created, digest) if said)


def making(record: Record) -> Table:
    """Table of how the release was made."""
    limit = record.policy.max_suppression
    facts = [
        ("made", record.created),
        ("by", f"kepsilon {record.kepsilon_version}"),
        ("engine", record.engine),
        ("algorithm", record.policy.algorithm),
        ("k", exact(record.guarantee.k)),
        ("averages of", None if record.groups is None else f"{exact(record.groups.asked)} or the whole class"),
        ("ε", None if record.guarantee.epsilon is None else exact(record.guarantee.epsilon)),
        ("confidence", record.guarantee.confidence),
        ("most that may be left out", None if limit is None else percent(limit)),
        ("digest of the data file", record.digest),
        ("seconds", f"{sum(record.seconds.values()):.1f}"),
    ]
    return Table(headers=["", ""], rows=[[name, str(value)] for name, value in facts if value is not None], n_words=2)
