# SPDX-License-Identifier: Apache-2.0
"""Figures that follow from the groups whose averages are published: risks, and what the curator's record says of groups.

Whoever knows every true value can make the same groups, and then places each record within its group. Where two groups of a
class publish the same averages, only bounds of these figures are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.comparison import Between, Comparison
from kepsilon.auditing.findings import AttackFigures, LargestRisks, StrongestAttack
from kepsilon.auditing.published_groups import (
    PublishedGroups,
    groups_follow_from_values,
    largest_binary_error,
    published_groups,
    publishes_groups,
    step_of,
)
from kepsilon.json_values import Json
from kepsilon.policy.names import shown_name
from kepsilon.policy.roles import written
from kepsilon.rounding import percent
from kepsilon.table.arrays import FloatArray, IntArray

SAME_GROUPS = "making the same groups"
"""The attacker of averages: knows every true value, makes the groups, and guesses within each."""

ROUNDING = 1 + 1e-9
"""A share is above another one only if it is by more than this factor."""


def set_largest_risk_of_groups(case: AuditCase) -> None:
    """Sets how sure whoever makes the same groups can be of one record, and holds it against the policy's limit."""
    if not publishes_groups(case.policy) or (case.policy.person is not None and case.linkage is None):
        case.findings.note(
            "risk", "the groups do not show, so how sure an attacker can be of one record was not worked out."
        )
        return
    largest = float(_shares(case, published_groups(case)).max())
    case.findings.figures = replace(
        case.findings.figures, largest_risks=LargestRisks(of_one=largest, by_matching=largest)
    )
    limit = case.policy.max_individual_risk
    if limit is not None:
        quasis = ", ".join(map(shown_name, [*case.policy.k_quasis, *case.policy.epsilon_quasis]))
        who = f"whoever knows every true value of {quasis}, and makes the same groups,"
        case.findings.require(
            largest <= limit * ROUNDING,
            "risk",
            right=f"{who} can be no surer of any one record than max_individual_risk = {written(limit)} allows.",
            wrong=f"{who} can be surer of some record than max_individual_risk = {written(limit)} allows.",
        )


def _shares(case: AuditCase, groups: PublishedGroups) -> FloatArray:
    """The largest share of the records of each set that is one person's; one record's where every record is a person."""
    most: IntArray | int = 1
    if groups.are_persons:
        most = _most_of_a_person(case, groups)
    shares: FloatArray = most / groups.n_records
    return shares


def _of_persons(case: AuditCase, groups: PublishedGroups) -> tuple[IntArray, IntArray]:
    """Set and number of records of every person in every set; needs a linkage and persons."""
    if case.linkage is None or case.original.persons is None:
        raise ValueError("persons are not known")
    pairs = np.stack([groups.of_released, case.original.persons[case.linkage.original_row]])
    pairs, counts = np.unique(pairs, axis=1, return_counts=True)
    return pairs[0], counts


def _most_of_a_person(case: AuditCase, groups: PublishedGroups) -> IntArray:
    """The most records that one person has in each set, shape (n_sets,)."""
    sets, counts = _of_persons(case, groups)
    most = np.zeros(groups.n_sets, dtype=np.int64)
    np.maximum.at(most, sets, counts)
    return most


def attack_groups(case: AuditCase) -> str:
    """Sets what whoever makes the same groups links in the release, and gives the headline."""
    beside = f"1/k = {percent(1 / case.policy.k)}"
    average = f"{percent(case.classes.n_classes / case.released.n_records)} on average"
    if not publishes_groups(case.policy) or (case.policy.person is not None and case.linkage is None):
        case.findings.note("attacks", "who was averaged with whom does not show, so that no attack was scored.")
        return (
            f"Whoever knows the k-quasis alone places a record among its class: {average} ({beside}). What averages add to "
            "that, for whoever makes the same groups, was not scored."
        )
    groups = published_groups(case)
    n, shares = case.released.n_records, _shares(case, groups)
    links = float((shares * groups.n_records).sum())
    sets, counts = _of_persons(case, groups) if groups.are_persons else (groups.of_released, np.ones(n, dtype=np.int64))
    own = counts / groups.n_records[sets]
    is_most = counts >= (shares * groups.n_records)[sets] - 0.5
    case.findings.figures = replace(
        case.findings.figures,
        attacks=AttackFigures(
            records_attacked=n,
            realised={SAME_GROUPS: links / n},
            strongest=StrongestAttack(attacker=SAME_GROUPS, share=links / n),
            realised_paper_ties=float(counts[is_most].sum()) / n,
            largest_posterior=float(shares.max()),
            largest_by_matching=None,
            over_half=float(counts[own > 0.5].sum()) / n,
            over_nine_tenths=float(counts[own > 0.9].sum()) / n,
        ),
    )
    names = "names the right person for" if groups.are_persons else "places"
    return (
        f"Whoever knows every true value of the quasi-identifiers, and makes the same groups, {names} {percent(links / n)} of the "
        f"released records, {percent(float(shares.max()))} of a group at worst ({beside})."
    )


def figures_of_groups(case: AuditCase) -> Json:
    """What the curator's record says of groups, of errors and of links within groups, as far as it shows in the release."""
    known: Json = {"error": _errors(case), "clipped": case.noise.n_clipped}
    known["constant_classes"] = {
        name: int(np.count_nonzero(case.noise.ranges[:, j] == 0)) for j, name in enumerate(case.policy.epsilon_quasis)
    }
    averages = case.policy.averages
    if averages is None:
        return known
    known["groups"] = {"asked": averages.group}
    if not publishes_groups(case.policy) or (case.policy.person is not None and case.linkage is None):
        return known
    groups = published_groups(case)
    known["groups"] |= _counts(groups)
    if case.linkage is not None:
        known["groups"]["within"] = {
            name: _within(case, groups, j) for j, name in enumerate(case.policy.epsilon_quasis)
        }
    known["linking_risk"] = _links(case, groups)
    return known


def _counts(groups: PublishedGroups) -> Json:
    """How many groups there are, and how large they are, at least and at most."""
    n, most = groups.n_members, groups.most_groups
    smallest_part = np.where(most > 1, groups.asked, n)
    largest_part = np.where(most > 1, -(-n // most), n)
    return {
        "count": Between(groups.n_sets, int(most.sum())),
        "smallest": Between(int(smallest_part.min()), int(n.min())),
        "largest": Between(int(largest_part.max()), int(n.max())),
    }


def _within(case: AuditCase, groups: PublishedGroups, j: int) -> Between:
    """W of one ε-quasi, at least and at most; needs a linkage.

    Groups that publish the same without noise have averages half a unit from what is published, so that squares around them
    are smaller by a quarter of a squared unit for each record at most; with noise nothing is known of them.
    """
    if case.linkage is None:
        raise ValueError("the originals of groups are not known")
    values = case.noise.values[case.linkage.original_row, j]
    is_there = ~np.isnan(values)
    n, step = int(np.count_nonzero(is_there)), step_of(case, j)
    if not n:
        return Between(0.0, 0.0)
    of_record, own = groups.of_released[is_there], values[is_there] - float(values[is_there].mean())
    counts = np.maximum(1, np.bincount(of_record, minlength=groups.n_sets))
    means = np.bincount(of_record, weights=own, minlength=groups.n_sets) / counts
    squares = np.bincount(of_record, weights=(own - means[of_record]) ** 2, minlength=groups.n_sets)
    least = squares.copy()
    is_open = ~groups.is_one_group
    least[is_open] = np.maximum(0.0, squares - counts * step**2 / 4)[is_open] if not case.policy.draws_noise else 0.0
    most_off = step * float(largest_binary_error(case, j).max())
    w_least, w_most = float(least.sum()) / n, float(squares.sum()) / n
    off = 2 * math.sqrt(w_most) * most_off + most_off**2
    return Between(max(0.0, w_least * (1 - 1e-9) - off), w_most * (1 + 1e-9) + off)


def _links(case: AuditCase, groups: PublishedGroups) -> Json:
    """Links within groups, expected and realised, which are the same thing unless chance decides who is with whom."""
    n, all_single = case.released.n_records, bool(groups.is_one_group.all())
    per_original = n / case.original.n_records
    known: Json = {}
    fair: float | Between
    if groups.are_persons:
        most = _most_of_a_person(case, groups)
        fair = Between(int(most.sum()) / n, int((most * groups.most_groups).sum()) / n)
    else:
        fair = Between(groups.n_sets / n, int(groups.most_groups.sum()) / n)
        smallest = _counts(groups)["smallest"]
        known |= {"realised_paper_ties": 1.0, "over_half": 0.0, "over_nine_tenths": 0.0}
        known["largest"] = Between(1 / smallest.most, 1 / smallest.least)
    attacks = case.findings.figures.attacks
    if groups.are_persons and all_single and attacks is not None:
        known |= {
            "realised_paper_ties": attacks.realised_paper_ties,
            "largest": attacks.largest_posterior,
            "over_half": attacks.over_half,
            "over_nine_tenths": attacks.over_nine_tenths,
        }
    known |= {"realised": fair, "per_original": {"realised": fair * per_original}}
    if not case.policy.diverse:
        # Requirements on sensitive values join groups, and which ones they join can depend on chance.
        names = {"realised": "expected", "realised_paper_ties": "expected_paper_ties", "largest": "largest_possible"}
        known |= {expected: known[name] for name, expected in names.items() if name in known}
        if "largest" in known:
            known["largest_possible_by_matching"] = known["largest"]
        known["per_original"]["expected"] = fair * per_original
    return known


def _errors(case: AuditCase) -> Json:
    """Errors of the published averages; realised ones need a linkage, and are the expected ones where nothing is drawn."""
    errors: Json = {}
    is_exact = False
    if case.linkage is not None and publishes_groups(case.policy) and not case.policy.draws_noise:
        is_exact = groups_follow_from_values(case, published_groups(case))
    for name in case.policy.epsilon_quasis:
        rows = case.classes.known_originals if case.linkage is None else case.linkage.original_row
        own = case.original.numbers[name][rows]
        present = ~np.isnan(own)
        figures: Json = {"zeros_left_out": int(np.count_nonzero(own[present] == 0))}
        if case.linkage is not None:
            moved = np.abs(case.released.numbers[name] - own)
            is_counted = present & (own != 0)
            width = float(own[present].max() - own[present].min()) if present.any() else 0.0
            # A moved distance may be off by a rounding error of the values themselves.
            with np.errstate(over="ignore"):
                figures["realised_relative"] = _mean(moved[is_counted] / np.abs(own[is_counted]))
            figures["realised_range_relative"] = _mean(moved[present] / width) if width > 0 else None
            if is_exact:
                figures["expected_relative"] = figures["realised_relative"]
                figures["range_relative"] = figures["realised_range_relative"]
        errors[name] = figures
    return errors


def _mean(values: FloatArray) -> float | None:
    """The mean; None where there is no value or the mean is not finite."""
    mean = float(np.mean(values)) if values.size else math.nan
    return mean if math.isfinite(mean) else None


def compare_form_of_groups(case: AuditCase, document: Json, found: Comparison) -> None:
    """Requires figures of groups where averages are published, and none where they are not."""
    stated = document.get("groups")
    if case.policy.averages is None:
        found.require(stated is None, "groups")
        return
    keys = {"asked", "count", "smallest", "largest", "within"}
    within = stated.get("within") if isinstance(stated, Mapping) and keys <= set(stated) else None
    found.require(isinstance(within, Mapping) and set(within) == set(case.policy.epsilon_quasis), "groups")
