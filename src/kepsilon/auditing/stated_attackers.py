# SPDX-License-Identifier: Apache-2.0
"""Holds the attackers and the headline of a curator's record against what can be worked out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.comparison import Between, Comparison, agree, compare_figures
from kepsilon.auditing.known_columns import LinksWithKnown, attack_with_known, expected_share
from kepsilon.auditing.person_figures import most_of_one, most_of_originals, persons_of_released
from kepsilon.auditing.published_groups import (
    groups_as_classes,
    groups_follow_from_values,
    published_groups,
    publishes_groups,
)
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.auditing.whole_records import MOST_RECORDS, LookedAt, look_at_whole_records
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.attackers import (
    EVERYTHING,
    Attacker,
    known_by_class,
    known_by_class_of_persons,
    known_by_everything,
    known_by_matching,
    known_by_quasis,
    known_by_working_out,
    known_with_column,
    quasis_in_words,
)
from kepsilon.json_values import Json
from kepsilon.policy.names import shown_name

KEY = "attackers"
ROUNDING = 1 + 1e-9
"""A share is above another one only if it is by more than this factor."""


def compare_attackers(case: AuditCase, document: Json, known: Json, found: Comparison) -> None:
    """Compares the rows of the table of attackers, and whether the headline is what the rows make it.

    `known` holds the figures of the record that were worked out again. A record of version 0.1 has neither table nor
    headline.
    """
    policy, risk = case.policy, document.get("linking_risk")
    headline = risk.get("headline") if isinstance(risk, Mapping) else None
    rows = document.get(KEY)
    if rows is None and headline is None:
        return
    if not isinstance(rows, Sequence) or not rows or not all(isinstance(row, Mapping) for row in rows):
        found.require(False, KEY)
        return
    if policy.person is not None:
        _compare_by_class_of_persons(case, rows, found)
        _compare_by_quasis_of_persons(case, rows, known, found)
        if headline is not None:
            _compare_headline(headline, rows, found)
        return
    _compare_words(case, rows, found)
    _compare_those_without_kept(case, rows, known, found)
    groups = published_groups(case) if publishes_groups(policy) else None
    if groups is not None and case.original.n_staying <= MOST_RECORDS and groups_follow_from_values(case, groups):
        _compare_those_with_kept(groups_as_classes(case, groups), rows, found)
    elif _all_were_looked_at(case):
        _compare_those_with_kept(case, rows, found)
    if headline is not None:
        _compare_headline(headline, rows, found)


def _compare_words(case: AuditCase, rows: Sequence[Json], found: Comparison) -> None:
    """Compares who each row is about, and who is said to need only the quasis, of whom the headline is one."""
    policy, quasis = case.policy, quasis_in_words(case.policy)
    for i, row in enumerate(rows):
        if row.get("expected") is not None:
            found.require(_is_share(row["expected"]), f"{KEY}.{i}.expected")
        column = row.get("column")
        needs_only_quasis = (
            any(_is_about(row, own) for own in _without_kept(case)) if column is None else row.get("knows") == quasis
        )
        found.require(row.get("needs_only_quasis") is needs_only_quasis, f"{KEY}.{i}.needs_only_quasis")
        if column is None:
            continue
        found.require(column in policy.kept, f"{KEY}.{i}.column")
        own = (
            known_by_working_out(policy, column=str(column), risk=Estimate(), largest=None)
            if needs_only_quasis
            else known_with_column(policy, column=str(column), risk=None, largest=None)
        )
        found.require(_is_about(row, own), f"{KEY}.{i}.how")


def _compare_by_class_of_persons(case: AuditCase, rows: Sequence[Json], found: Comparison) -> None:
    """Compares whoever names in each class the person with most records; what others link to persons is not tried."""
    one = np.ones(1, dtype=np.int64)
    own = known_by_class_of_persons(one, sizes=one)
    place = next((i for i, row in enumerate(rows) if _is_about(row, own)), None)
    if place is None:
        found.require(False, f"{KEY} (one who {own.how} is not there)")
        return
    figures: Json = {}
    released, most = persons_of_released(case), most_of_originals(case)
    n_classes = case.classes.n_classes
    if released is not None:
        figures["realised"] = int(most_of_one(*released, n_classes=n_classes).sum()) / case.released.n_records
    if most is not None and _is_complete(case):
        sizes = case.classes.n_originals
        figures |= {"expected": int(most.sum()) / int(sizes.sum()), "largest": float((most / sizes).max())}
    compare_figures(rows[place], figures, f"{KEY}.{place}", found)


def _compare_by_quasis_of_persons(case: AuditCase, rows: Sequence[Json], known: Json, found: Comparison) -> None:
    """Compares whoever names the likeliest person of the class with the figures that the rest of the record is compared with."""
    own = known_by_quasis(case.policy, risk=None, largest=None)
    place = next((i for i, row in enumerate(rows) if _is_about(row, own)), None)
    if place is None:
        found.require(False, f"{KEY} (one who {own.how} is not there)")
        return
    names = {"realised": "realised", "largest": "largest_possible"}
    risk = known.get("linking_risk", {})
    compare_figures(
        rows[place], {key: risk[name] for key, name in names.items() if name in risk}, f"{KEY}.{place}", found
    )


def _compare_those_without_kept(case: AuditCase, rows: Sequence[Json], known: Json, found: Comparison) -> None:
    """Compares whoever knows the class, or the quasis, with the figures that the rest of the record is compared with."""
    policy, classes = case.policy, case.classes
    by_class: Json = {"realised": classes.n_classes / case.released.n_records}
    if _is_complete(case):
        n = int(classes.n_originals.sum())
        by_class |= {"expected": classes.n_classes / n, "largest": 1 / int(classes.n_originals.min())}
    names = {"expected": "expected", "realised": "realised", "largest": "largest_possible"}
    risk = known.get("linking_risk", {})
    by_quasis = {key: risk[name] for key, name in names.items() if name in risk}
    if not policy.epsilon_quasis:
        by_quasis = by_class
    by_matching = {"largest": risk["largest_possible_by_matching"]} if "largest_possible_by_matching" in risk else {}
    for own, figures in zip(_without_kept(case), (by_class, by_quasis, by_matching), strict=True):
        place = next((i for i, row in enumerate(rows) if _is_about(row, own)), None)
        if place is not None:
            compare_figures(rows[place], figures, f"{KEY}.{place}", found)
        elif own.how != known_by_matching(policy, largest=None).how or (policy.epsilon_quasis and not policy.averages):
            found.require(False, f"{KEY} (one who {own.how} is not there)")


def _without_kept(case: AuditCase) -> tuple[Attacker, Attacker, Attacker]:
    """Whoever knows the class, and whoever knows the quasis and takes the nearest, or matches; without figures."""
    return (
        known_by_class(n_classes=1, n_records=1, smallest=1),
        known_by_quasis(case.policy, risk=None, largest=None),
        known_by_matching(case.policy, largest=None),
    )


def _compare_those_with_kept(case: AuditCase, rows: Sequence[Json], found: Comparison) -> None:
    """Compares whoever knows the quasis and one kept column, or everything; the column has to be the worst one."""
    policy, looked = case.policy, look_at_whole_records(case, only_known=True)
    everything = known_by_everything(risk=None, largest=None)
    for i, row in enumerate(rows):
        column = row.get("column")
        if _is_about(row, everything):
            names: Sequence[str] = policy.kept
        elif column in policy.kept and row.get("knows") not in (quasis_in_words(policy), EVERYTHING):
            names = [str(column)]
            _require_worst(case, looked, row, f"{KEY}.{i}.column", found)
        else:
            continue
        compare_figures(row, _figures(case, attack_with_known(case, looked, names), row), f"{KEY}.{i}", found)


def _figures(case: AuditCase, links: LinksWithKnown, row: Json) -> Json:
    """What is known of a row, as figures or bounds; of what the row leaves open, nothing."""
    figures: Json = {}
    if _is_complete(case):
        figures |= {"expected": links.expected, "largest": links.largest}
    if links.all_attacked and links.realised is not None and row.get("realised") is not None:
        doubt = links.in_doubt
        figures["realised"] = links.realised if doubt is None else Between(doubt.least, doubt.most)
    return {key: figure for key, figure in figures.items() if figure is not None}


def _require_worst(case: AuditCase, looked: LookedAt, row: Json, where: str, found: Comparison) -> None:
    """Requires that no other kept column helps more than the one that is named."""
    stated = row.get("expected")
    if stated is None or not _is_complete(case) or not _is_share(stated):
        return
    shares = [expected_share(case, looked, looked.groups([name])) for name in case.policy.kept]
    found.require(all(own is None or own <= stated * ROUNDING for own in shares), where)


def _compare_headline(headline: Any, rows: Sequence[Json], found: Comparison) -> None:
    """The headline is of the first row with the largest expected share among those who need only the quasis."""
    possible = [row for row in rows if row.get("needs_only_quasis") is True and _is_share(row.get("expected"))]
    if not isinstance(headline, Mapping) or not possible:
        found.require(False, "linking_risk.headline")
        return
    worst = max(possible, key=lambda row: row["expected"])
    found.require(agree(headline.get("share"), worst["expected"]), "linking_risk.headline.share")
    in_words = shown_name(f"whoever knows {worst.get('knows')}, and {worst.get('how')}")
    found.require(headline.get("attacker") == in_words, "linking_risk.headline.attacker")


def _is_about(row: Json, attacker: Attacker) -> bool:
    return row.get("knows") == attacker.knows and row.get("how") == attacker.how


def _is_share(stated: Any) -> TypeGuard[float]:
    """Whether it is a number from 0 to 1, which a forged one need not be."""
    return isinstance(stated, int | float) and not isinstance(stated, bool) and 0 <= stated <= 1


def _is_complete(case: AuditCase) -> bool:
    """Whether all records are known that entered; expected figures are means over these."""
    return case.classes.all_known and n_taken_out_with_class(case) == 0


def _all_were_looked_at(case: AuditCase) -> bool:
    """Whether the record's figures of kept columns must be of all records, and ours are worked out as exactly.

    A release of so few records is looked at as a whole. With several ε-quasis links are simulated.
    """
    return (
        case.original.n_staying <= MOST_RECORDS
        and len(case.policy.epsilon_quasis) <= 1
        and case.classes.all_known
        and why_not_judged(case.policy) is None
    )
