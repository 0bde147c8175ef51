# SPDX-License-Identifier: Apache-2.0
"""Checks whom records are about: k persons in every class, the cap on a person's records, and what was asked of values."""

from __future__ import annotations

import json

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import ReconstructedClasses, releases_all
from kepsilon.auditing.findings import Findings, counted
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.published_groups import published_groups, publishes_groups
from kepsilon.auditing.sensitive_values import (
    ValuesInClasses,
    distances,
    lacks_diversity,
    margin_of,
    may_be_ordered,
    read_sensitive,
    reference_of,
    sensitive_columns,
)
from kepsilon.auditing.tables import NOBODY, Original, n_persons, without_capped
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.table.arrays import IntArray


def settled(original: Original, policy: Policy, linkage: Linkage | None) -> Original:
    """The original with what a linkage tells about the records that the cap left out.

    Where confident k took records out too, nothing tells the one from the other: what is not released is left open, since
    otherwise the noise would decide which records are looked at.
    """
    most, persons = policy.max_records_per_person, original.persons
    if original.is_exact or linkage is None or policy.confidence is not None or most is None or persons is None:
        return original
    is_linked = np.zeros(original.n_records, dtype=np.bool_)
    is_linked[linkage.original_row] = True
    is_linked &= original.stays
    if releases_all(policy):
        gone = original.stays & ~is_linked & ~original.is_sure
        if int(np.count_nonzero(gone)) != original.n_still_capped:
            return original  # too many or too few are released, which the counts show
        return without_capped(original, policy, gone, is_linked)
    n_linked = np.bincount(persons[is_linked], minlength=int(persons.max(initial=0)) + 1)
    is_full = original.stays & (n_linked[persons] == most)
    return without_capped(original, policy, is_full & ~is_linked & ~original.is_sure, is_linked)


def check_persons(case: AuditCase) -> None:
    """Counts the persons of every class, and the records of every person, as far as these are known."""
    original, policy, findings, linkage = case.original, case.policy, case.findings, case.linkage
    if original.persons is None:
        return
    if linkage is None:
        fewest = persons_covered(original, case.classes, enough=policy.k)
        n_small = int(np.count_nonzero(fewest < policy.k))
        findings.require(
            n_small == 0,
            "persons",
            right=f"the labels of every class cover originals of at least k = {policy.k} persons.",
            wrong=f"{counted(n_small, 'class has labels that cover', 'classes have labels that cover')} originals of "
            f"fewer than k = {policy.k} persons.",
        )
        is_whole = original.is_exact and policy.confidence is None and case.classes.all_known
        if not is_whole:
            findings.warning(
                "persons",
                "without a linkage the persons of a class were not counted record by record"
                + (", nor the records of a person." if policy.max_records_per_person is not None else "."),
            )
        return
    own = original.persons[linkage.original_row]
    n_nobody = int(np.count_nonzero(own == NOBODY))
    if n_nobody:
        findings.broken(
            "persons",
            f"{counted(n_nobody, 'record is', 'records are')} released that do not say whom they are about.",
        )
    by_class = n_persons(case.classes.of_released, own, n_classes=case.classes.n_classes)
    n_small = int(np.count_nonzero(by_class < policy.k))
    findings.require(
        n_small == 0,
        "k persons",
        right=f"every class has records of at least {int(by_class.min()):,} persons (k = {policy.k}).",
        wrong=f"{counted(n_small, 'class has', 'classes have')} records of fewer than k = {policy.k} persons.",
    )


def check_cap(case: AuditCase) -> None:
    """With a linkage, counts the released records of every person against the cap."""
    most, persons, linkage = case.policy.max_records_per_person, case.original.persons, case.linkage
    if most is None or persons is None or linkage is None:
        return
    own = persons[linkage.original_row]
    n_of_person = np.bincount(own[own != NOBODY], minlength=1)
    n_beyond = int(np.count_nonzero(n_of_person > most))
    case.findings.require(
        n_beyond == 0,
        "cap",
        right=f"no person has more than {most:,} released records.",
        wrong=f"{counted(n_beyond, 'person has', 'persons have')} more than {most:,} released records.",
    )


def check_sensitive_values(case: AuditCase) -> None:
    """Holds the values of sensitive columns in every released class against what the policy asks of them.

    Records of a class that publish other averages can be told apart, so that groups have to meet it too.
    """
    original, findings = case.original, case.findings
    ids, n_classes = case.classes.of_released, case.classes.n_classes
    if publishes_groups(case.policy):
        groups = published_groups(case)
        ids, n_classes = groups.of_released, groups.n_sets
    for name, asked in sensitive_columns(case.policy):
        shown = shown_name(name)
        column = read_sensitive(original, case.released, name)
        found = ValuesInClasses.of(ids, column.of_released, n_classes=n_classes)
        if asked.l_diversity is not None:
            n_lacking = int(np.count_nonzero(lacks_diversity(found, asked.l_diversity)))
            findings.require(
                n_lacking == 0,
                "l-diversity",
                right=f"the values of {shown} are as varied in every class as the policy asks.",
                wrong=f"{counted(n_lacking, 'class has', 'classes have')} values of {shown} less varied than the policy "
                "asks.",
            )
        if asked.t_closeness is None:
            continue
        if may_be_ordered(original, column):
            findings.warning(
                "t-closeness",
                f"not tried for {shown}: which records the cap left out decides whether all its values are numbers.",
            )
            continue
        limit = fraction(asked.t_closeness)
        far = distances(found, reference_of(original, column), is_ordered=column.is_ordered)
        margin = fraction(margin_of(original, column))
        n_beyond = sum(own > limit for own in far)
        n_far = sum(own > limit + margin for own in far)
        findings.require(
            n_far == 0,
            "t-closeness",
            right=f"the values of {shown} are in every class at most {written(asked.t_closeness)} away from those of all "
            "counted records" + (f", as far as that is known: {n_beyond:,} could be further." if n_beyond else "."),
            wrong=f"{counted(n_far, 'class has', 'classes have')} values of {shown} further than "
            f"{written(asked.t_closeness)} away from those of all counted records.",
        )
        if n_beyond > n_far:
            findings.warning(
                "t-closeness",
                f"{counted(n_beyond - n_far, 'class', 'classes')} could not be judged by {shown}: the reference is of the "
                "records that the cap left in, and it is not known which ones these are.",
            )


def check_repeated_codes(original: Original, policy: Policy, findings: Findings) -> None:
    """Warns where an identifier of codes repeats, and the policy does not say what a person is: k counts records then.

    Values with a blank inside, as names have, may be those of different persons.
    """
    if policy.person is not None or policy.records_are_persons:
        return
    for name in policy.identifiers:
        if name not in original.table.column_names:
            continue
        texts, codes = original.table.texts(name)
        is_value = np.array([bool(text and text.strip()) for text in texts], dtype=np.bool_)
        has_blank = np.array([len((text or "").split()) > 1 for text in texts], dtype=np.bool_)
        n_of_text = np.bincount(codes, minlength=len(texts))
        n_records = int(n_of_text[is_value].sum())
        is_there = is_value & (n_of_text > 0)
        n_distinct = len({(text or "").strip() for text, found in zip(texts, is_there.tolist(), strict=True) if found})
        if n_distinct < n_records and 2 * int(n_of_text[is_value & has_blank].sum()) < n_records:
            quoted = json.dumps(shown_name(name), ensure_ascii=False)
            findings.warning(
                "persons",
                f"{n_records:,} records hold {n_distinct:,} different values of {shown_name(name)}, so that k counts records "
                f"and not persons: a class of k records may be one person's. State person = {quoted} in the policy, or "
                "records_are_persons = true.",
            )


def persons_covered(original: Original, classes: ReconstructedClasses, *, enough: int) -> IntArray:
    """Distinct persons of the originals that each class can have, shape (n_classes,); at most about `enough`.

    These are its own originals where they are known, and otherwise all that its labels cover.
    """
    persons = original.persons
    if persons is None:
        return np.full(classes.n_classes, enough, dtype=np.int64)
    known = n_persons(classes.of_original, persons, n_classes=classes.n_classes)
    if classes.cover is None:
        return known
    cover = classes.cover
    pairs = np.unique(np.stack([cover.combination_of, persons[cover.stays]]), axis=1)
    starts = np.searchsorted(pairs[0], np.arange(int(pairs[0].max(initial=-1)) + 2)).tolist()
    found = known.copy()
    for c in np.flatnonzero(~classes.is_known).tolist():
        combinations = cover.combinations[c]
        seen: set[int] = set()
        for combination in combinations.tolist():
            seen.update(pairs[1, starts[combination] : starts[combination + 1]].tolist())
            if len(seen) >= enough:
                break
        found[c] = len(seen)
    return found
