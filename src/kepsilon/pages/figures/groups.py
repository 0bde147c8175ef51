# SPDX-License-Identifier: Apache-2.0
"""What the report says about groups whose averages are published: how many share one, and which averages tell a value."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.outliers import WITHIN
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import NOTHING, exact, number, percent, plural
from kepsilon.predict.group_summary import GroupSummary
from kepsilon.publish.record import Record


def group_warnings(record: Record, groups: GroupSummary) -> Iterator[str]:
    """Warnings about averages that tell a value; noise on the averages hides all of this."""
    if record.guarantee.epsilon is not None:
        return
    for name, n in groups.agreeing.items():
        if n and not record.policy.spreads:
            yield (
                f"In {plural(n, 'group')} all records agree on {name}, so that their average is everybody's own value, which "
                "whoever knows that a person is in such a group knows. A larger group would take in other values."
            )
    for name, n in groups.extreme.items():
        if n:
            aside = " The draws around the averages are left aside here." if record.policy.spreads else ""
            yield (
                f"In {plural(n, 'group')} one record's {name} stands out, and the average gives it away within "
                f"{percent(WITHIN)} to an attacker who knows the other records of the group roughly: each within "
                f"{percent(WITHIN)}, or between which values they lie.{aside} A domain that values are clipped to, or noise "
                "on the averages, would cure this."
            )


def group_figures(record: Record) -> Iterator[Figure]:
    """The groups whose averages are published: how many, of how many records, and how far these are from the averages."""
    groups = record.groups
    if groups is None:
        return
    of = "records" if record.persons is None else "persons"
    looks = "get a draw of their own around one average" if record.policy.spreads else "publish one average"
    sentences = [
        (
            f"The {of} of a group {looks}. An attacker who knows every quasi-identifier of everybody can make the same groups, "
            f"and then has to guess within one: there are {plural(groups.count, 'group')}, each of at least "
            f"{groups.smallest:,} {of}."
        )
    ]
    if groups.short:
        sentences.append(
            f"{plural(groups.short, 'class has', 'classes have')} fewer than {exact(groups.asked)} {of} and "
            f"{'is' if groups.short == 1 else 'are'} one group: the averages tell nothing there beyond the class."
        )
    sentences.append(
        "The mean of every class is as in the data (noise and rounding aside), and values are less spread by what is below. "
        "These figures are for you only: in a class of one group, the mean and the spread give two unknown values away to "
        "whoever knows the others."
    )
    rows = [
        ["groups", f"{groups.count:,}"],
        [f"smallest group, {of}", f"{groups.smallest:,}"],
        [f"largest group, {of}", f"{groups.largest:,}"],
        [f"classes of fewer than {exact(groups.asked)} {of}", f"{groups.short:,}"],
    ]
    for name, within in groups.within.items():
        rows += [
            [f"{name}: typical distance from the average (root of the mean square)", number(within**0.5) or NOTHING],
            [f"{name}: groups whose records all agree", f"{groups.agreeing[name]:,}"],
            [f"{name}: groups with a value that the average gives away", f"{groups.extreme[name]:,}"],
        ]
    yield Figure(title="Groups", sentences=sentences, drawing=None, table=Table(headers=["figure", ""], rows=rows))
