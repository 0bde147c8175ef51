# SPDX-License-Identifier: Apache-2.0
"""Warnings about averages: classes too small for several groups, and values that an average gives away."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.errors import Problem
from kepsilon.evaluate.outliers import WITHIN
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.predict.group_summary import GroupSummary


def warnings_about_groups(groups: GroupSummary, policy: Policy, *, n_classes: int) -> Iterator[Problem]:
    """What the curator should know of the groups whose averages would be published."""
    if policy.averages is None:
        return
    of = "records" if policy.person is None else "persons"
    if groups.short:
        yield Problem(
            where="averages.group",
            what=f"{groups.short:,} of {n_classes:,} classes have fewer than {groups.asked:,} {of}, so that all their "
            f"records publish one average, which tells nothing beyond the class; the smallest has {groups.smallest:,} "
            f"{of}, and an attacker who knows all quasis finds a record of it among these.",
            fix="A smaller group keeps more, and a larger k makes classes larger.",
        )
    if policy.averages.noise:
        return  # it hides what follows
    for name, n in groups.agreeing.items():
        if n and not policy.averages.spread:
            yield Problem(
                where=f"attributes.{name}",
                what=f"in {n:,} of {groups.count:,} groups all records agree on {shown_name(name)}, so that their average is "
                "everybody's own value: an attacker who knows that a person is in such a group knows it.",
                fix="A larger group takes in other values; noise = true in [averages] hides whether records agree.",
            )
    for name, n in groups.extreme.items():
        if n:
            aside = " The draws of spread are left aside." if policy.averages.spread else ""
            yield Problem(
                where=f"attributes.{name}",
                what=f"in {n:,} of {groups.count:,} groups one record's {shown_name(name)} stands out, and the average gives "
                f"it away within {WITHIN:.0%} to an attacker who knows the other records of the group roughly: each within "
                f"{WITHIN:.0%}, or between which values they lie. Whoever knows them better comes nearer.{aside}",
                fix="A domain, [low, high], that values are clipped to before they are averaged takes extremes away; "
                "noise = true in [averages], with declared ranges, hides them.",
            )
