# SPDX-License-Identifier: Apache-2.0
"""Makes the table of attackers: who could link how many records, by what they know; it accuses nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from kepsilon.auditing.attacks import NEAREST
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.group_figures import SAME_GROUPS
from kepsilon.auditing.known_columns import attack_with_known, worst_column
from kepsilon.auditing.leaks import report_leaks
from kepsilon.auditing.person_figures import most_of_one, most_of_originals, persons_of_released
from kepsilon.auditing.published_groups import (
    PublishedGroups,
    groups_as_classes,
    published_groups,
    publishes_groups,
)
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.auditing.three_attributes import attack_with_three
from kepsilon.auditing.whole_records import LookedAt, look_at_whole_records
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.kept_columns.findings import KeptColumns
from kepsilon.evaluate.linking.attackers import (
    BY_QUASIS,
    REAL,
    WORKING_OUT,
    Attacker,
    known_by_class,
    known_by_class_of_persons,
    known_by_everything,
    known_by_matching,
    known_by_quasis,
    known_by_three,
    known_by_working_out,
    known_with_column,
)
from kepsilon.policy.policy import Policy
from kepsilon.rounding import percent
from kepsilon.special_files import special_kind

BY_RECORD = "; by record, though persons may have several"
"""What is added to how an attacker links, where links to the right person would be more."""

MAKES_GROUPS = "makes the same groups"
"""How whoever knows the quasis begins where averages are published."""

WITHOUT_GROUPS = ", without making the groups"
"""What is added to how an attacker links who works out a kept column, where the audit does not know who was averaged with whom."""

APART, TIMES = 0.05, 1.25
"""A headline of the curator's record is too low if ours exceeds it by so much, and is so many times as large."""


def report_whole_records(case: AuditCase, path: Path | None) -> None:
    """Looks at whole records: reports kept columns that give people away, and sets the table of attackers.

    `path` is the release, where it is a file; the headline of the curator's record beside it is then held against the
    table.
    """
    groups = published_groups(case) if publishes_groups(case.policy) else None
    if groups is not None and case.linkage is not None:
        own, looked = _of_groups(case, groups)
    else:
        own, looked = case, look_at_whole_records(case, only_known=False)
    found = report_leaks(own, looked) if case.policy.kept and looked.rows.size else None
    attackers = tuple(_attackers(case, own, looked, found))
    if case.policy.person is not None:
        attackers = (*_by_class_of_persons(case), *map(_by_record, attackers))
    case.findings.figures = replace(case.findings.figures, attackers=attackers)
    formula = next((own for own in attackers if own.needs_only_quasis and own.column is not None), None)
    if case.policy.draws_once_per_person:
        case.findings.headline = f"{_largest_in_words(attackers)}{case.findings.headline}"
    if formula is not None and formula.risk is not None:
        case.findings.headline += f" W{formula.in_words[1:]}, links {percent(formula.risk.total)}."
        if formula.how.endswith(WITHOUT_GROUPS):
            case.findings.headline += _of_those_who_make_groups(case)
        if path is not None:
            _hold_headline_against(case, formula, formula.risk.total, path)


def _of_those_who_make_groups(case: AuditCase) -> str:
    """Why the figure of whoever works out a kept column can be lower than that of `check`, as the end of a headline."""
    tells = "; with the linkage it would (--linkage)" if publishes_groups(case.policy) else ""
    return (
        " Whoever also makes the groups has fewer records to choose from, and can link more, as `check` and the curator's "
        f"record say: the audit does not know who was averaged with whom{tells}."
    )


def _largest_in_words(attackers: Sequence[Attacker]) -> str:
    """Who links most of those who need only the quasis, as the beginning of a headline; empty where no share is known.

    Where all records of a person carry one draw, that need not be whoever takes the nearest original of a record.
    """
    shares: list[tuple[float, str]] = []
    for own in attackers:
        share = own.risk.total if own.realised is None and own.risk is not None else own.realised
        if own.needs_only_quasis and share is not None:
            shares.append((share, own.in_words))
    if not shares:
        return ""
    share, who = max(shares, key=itemgetter(0))
    return f"W{who[1:]}, links {percent(share)} of the records, most of those who need to know nothing but the quasis. "


def _by_record(own: Attacker) -> Attacker:
    """An attacker with words that say it where links are to records.

    Who makes the same groups names persons, and so does who works out a kept column.
    """
    names_persons = own.name == WORKING_OUT or (own.name == BY_QUASIS and own.how.startswith(MAKES_GROUPS))
    return own if names_persons else replace(own, how=own.how + BY_RECORD)


def _attackers(case: AuditCase, known: AuditCase, looked: LookedAt, found: KeptColumns | None) -> Iterator[Attacker]:
    """Every attacker with what the audit can work out, those who know least first.

    `known` is the case as whoever knows the quasis sees it: where averages show groups, these are its classes.
    """
    policy, figures = case.policy, case.findings.figures
    yield _by_class(case)
    if policy.averages is not None:
        yield from _by_same_groups(case)
    elif why_not_judged(policy) is None:
        by_quasis = _by_quasis(case)
        if by_quasis.figures_in_words:
            yield by_quasis
        if policy.epsilon_quasis and figures.largest_risks is not None and not policy.draws_once_per_person:
            yield known_by_matching(policy, largest=figures.largest_risks.by_matching)
    if found is not None:
        yield from _by_working_out(case, looked, found, makes_groups=known is not case)
    if why_not_judged(policy) is None or known is not case:
        yield from _who_know_more(known, looked)


def _by_class_of_persons(case: AuditCase) -> Iterator[Attacker]:
    """Whoever names in each class the person with most records, where persons are known."""
    released, most, classes = persons_of_released(case), most_of_originals(case), case.classes
    if released is None:
        return
    of_released = most_of_one(*released, n_classes=classes.n_classes)
    is_complete = most is not None and n_taken_out_with_class(case) == 0
    own = known_by_class_of_persons(
        of_released if most is None else most, sizes=classes.n_released if most is None else classes.n_originals
    )
    yield replace(
        own,
        risk=own.risk if is_complete else None,
        largest=None if most is None else own.largest,
        realised=int(of_released.sum()) / case.released.n_records,
    )


def _by_class(case: AuditCase) -> Attacker:
    """Whoever guesses among the records of a class."""
    classes = case.classes
    sizes = classes.n_originals if classes.all_known else classes.n_released
    own = known_by_class(n_classes=classes.n_classes, n_records=int(sizes.sum()), smallest=int(sizes.min()))
    is_complete = classes.all_known and n_taken_out_with_class(case) == 0
    return replace(own, risk=own.risk if is_complete else None, realised=classes.n_classes / case.released.n_records)


def _by_quasis(case: AuditCase) -> Attacker:
    """Whoever takes the nearest original of the class, or guesses where nothing is noisy."""
    figures, classes = case.findings.figures, case.classes
    expected, largest = figures.expected_nearest_neighbour, figures.largest_risks
    realised = None if figures.attacks is None else figures.attacks.realised[NEAREST]
    if not case.policy.epsilon_quasis:
        realised = classes.n_classes / case.released.n_records
        expected = classes.n_classes / int(classes.n_originals.sum()) if classes.all_known else None
    own = known_by_quasis(
        _of_records(case.policy), risk=_estimate(expected), largest=None if largest is None else largest.of_one
    )
    return replace(own, realised=realised)


def _of_groups(case: AuditCase, groups: PublishedGroups) -> tuple[AuditCase, LookedAt]:
    """The case as whoever makes the same groups sees it, and the records of it that are looked at."""
    own = groups_as_classes(case, groups)
    return own, look_at_whole_records(own, only_known=False)


def _by_same_groups(case: AuditCase) -> Iterator[Attacker]:
    """Whoever makes the same groups and guesses within them; nobody where groups do not show."""
    attacks = case.findings.figures.attacks
    if attacks is not None:
        share = attacks.realised[SAME_GROUPS]
        own = known_by_quasis(case.policy, risk=_estimate(share), largest=attacks.largest_posterior)
        yield replace(own, realised=share)


def _by_working_out(case: AuditCase, looked: LookedAt, found: KeptColumns, *, makes_groups: bool) -> Iterator[Attacker]:
    """Whoever works out the kept column through which most records are linked; nobody where that could be chance."""
    real = [own for own in found.columns if own.z >= REAL]
    if real:
        worst = max(real, key=lambda own: own.share_linked)
        own = known_by_working_out(
            case.policy, column=worst.column, risk=Estimate(total=worst.share_linked), largest=worst.largest
        )
        # Nothing is drawn in what this attacker does: unless records were left out, what is expected is what happens.
        realised = worst.share_linked if case.policy.confidence is None else None
        how = own.how + WITHOUT_GROUPS * (case.policy.averages is not None and not makes_groups)
        yield replace(own, how=how, realised=realised, measured_on=_measured_on(looked))


def _who_know_more(case: AuditCase, looked: LookedAt) -> Iterator[Attacker]:
    """Whoever knows one kept column, three attributes of any kind, or everything."""
    policy = case.policy
    if not case.classes.all_known:
        looked = look_at_whole_records(case, only_known=True)
    if not looked.rows.size:
        return
    if looked.is_sample:
        case.findings.note("attackers", f"those who know kept columns were tried on {looked.sample_in_words}.")
    if policy.kept:
        name = worst_column(case, looked)
        links = attack_with_known(case, looked, [name])
        own = known_with_column(_of_records(policy), column=name, risk=_estimate(links.expected), largest=links.largest)
        yield replace(own, realised=links.realised, measured_on=_measured_on(looked))
    three = attack_with_three(case, looked)
    if three is not None:
        mean, worst = known_by_three(
            three.expected,
            n_sampled=len(looked.rows) if looked.is_sample else None,
            are_averages=policy.averages is not None,
        )
        yield replace(mean, realised=three.realised)
        yield replace(worst, realised=three.realised_by_worst)
    links = attack_with_known(case, looked, policy.kept)
    everything = known_by_everything(risk=_estimate(links.expected), largest=links.largest)
    yield replace(everything, realised=links.realised, measured_on=_measured_on(looked))


def _of_records(policy: Policy) -> Policy:
    """The policy as attackers of single records are worded by."""
    return policy.model_copy(update={"person": None})


def _measured_on(looked: LookedAt) -> str | None:
    """Which records a figure was found on, in words; None where on all."""
    return None if looked.sample_in_words is None else f"measured on {looked.sample_in_words}"


def _estimate(share: float | None) -> Estimate | None:
    return None if share is None else Estimate(total=share)


def _hold_headline_against(case: AuditCase, formula: Attacker, share: float, path: Path) -> None:
    """Warns of a curator's record whose headline is far below what this attacker links."""
    stated = _stated_headline(path)
    if stated is not None and share > stated + APART and share > stated * TIMES:
        case.findings.warning(
            "curator",
            f"the headline of the curator's record is too low: {formula.in_words}, links {percent(share)} here.",
        )


def _stated_headline(path: Path) -> float | None:
    """The share that the headline of the curator's record beside a release states; None where there is none."""
    beside = path.with_name(f"{path.name}.curator.json")
    if not beside.exists() or special_kind(beside) is not None:
        return None
    try:
        stated: Any = json.loads(beside.read_text(encoding="utf-8"))["linking_risk"]["headline"]["share"]
        return float(stated)
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None
