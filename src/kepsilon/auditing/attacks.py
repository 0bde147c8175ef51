# SPDX-License-Identifier: Apache-2.0
"""Attacks the release as somebody who holds every original would, and gives the risk figures that other tools report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kepsilon.auditing.attacked_classes import (
    Attacked,
    AttackSums,
    attack_classes,
    attack_small,
    distances_to_originals,
    is_complete,
    small_class,
)
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import ReconstructedClasses
from kepsilon.auditing.expected_links import expected_links, largest_expected_share
from kepsilon.auditing.few_records import check_links
from kepsilon.auditing.findings import AttackFigures, LinksInDoubt, StrongestAttack, counted
from kepsilon.auditing.group_figures import attack_groups
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.nearest_links import (
    Links,
    binary_error_of_distances,
    nearest_links,
)
from kepsilon.auditing.person_figures import reidentification_of_persons
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.evaluate.linking.reidentification import ChanceOfFinding, Reidentification
from kepsilon.evaluate.linking.small_classes import MOST
from kepsilon.rounding import percent
from kepsilon.table.arrays import FloatArray, IntArray

MOST_PAIRS = 1 << 28
"""Distances computed at most; if there are more, a sample of the records of each class is attacked."""

MOST_TOGETHER = 1 << 19
"""Originals of classes with one ε-quasi that are worked on together, about."""

SEED = 20_090_802
"""Seed of the sample, so that an audit can be repeated."""

NEAREST = "nearest neighbour"
"""The attacker whose links the curator's record states."""


def check_attacks(case: AuditCase) -> None:
    """Attacks the release, where a linkage tells which links are right; sets the figures of risk and the headline."""
    policy, classes, findings = case.policy, case.classes, case.findings
    why = why_not_judged(policy)
    expected = _expected_share(case) if why is None else None
    findings.figures = replace(
        findings.figures,
        reidentification=_reidentification(classes) if policy.person is None else reidentification_of_persons(case),
        one_over_k=1 / policy.k,
        expected_nearest_neighbour=expected,
    )
    average = f"{percent(classes.n_classes / case.released.n_records)} on average"
    if policy.averages is not None:
        findings.headline = attack_groups(case)
        return
    if why is not None:
        findings.warning("attacks", why)
        findings.headline = (
            f"Whoever knows the k-quasis alone places a record among its class: {average} (1/k = {percent(1 / policy.k)}). "
            "What the noisy values add was not checked."
        )
    elif not policy.epsilon_quasis:
        findings.headline = (
            f"Without an epsilon-quasi, a record is one of its class: {average}, "
            f"{percent(1 / int(classes.n_released.min()))} at worst (1/k = {percent(1 / policy.k)})."
        )
    elif case.linkage is None:
        findings.note("attacks", "without a linkage no attack can be scored; expected figures stand instead.")
        findings.headline = _headline_without_attack(case, expected)
    else:
        findings.headline = _attack_and_sum_up(case, case.linkage, expected)
    if policy.person is not None:
        findings.headline += " Links to the right person, who may have several records, can be more."


def _headline_without_attack(case: AuditCase, expected: float | None) -> str:
    """The headline of an audit without a linkage; `expected` is the share of records that would be linked, if known."""
    if any(finding.severity == "broken" and finding.check == "noise" for finding in case.findings.found):
        return (
            "The noise is not what was claimed, so that nothing limits what an attacker links; no linkage, so no attack "
            "was scored."
        )
    if expected is not None:
        return (
            f"A nearest-neighbour attacker would link {percent(expected)} of the released records, if the noise is as claimed "
            f"(1/k = {percent(1 / case.policy.k)})."
        )
    return (
        "No linkage, so no attack was scored; if the noise is as claimed, an attacker of single records would link at "
        f"most {percent(largest_expected_share(case))} on average (1/k = {percent(1 / case.policy.k)})."
    )


def _attack_and_sum_up(case: AuditCase, linkage: Linkage, expected: float | None) -> str:
    """Runs the attacks, adds what they achieved to the findings, and returns the headline."""
    policy, classes, findings, n_released = case.policy, case.classes, case.findings, case.released.n_records
    sums = _attack(case, linkage)
    if not sums.n_attacked:
        findings.note("attacks", "no class has originals that are known, so no attack was carried out.")
        return "No attack could be carried out: the originals of no class are known."
    if (
        expected is not None
        and policy.confidence is None
        and sums.n_attacked == n_released == classes.n_originals.sum()
    ):
        check_links(case, realised=sums.nearest, expected=expected * n_released)
    shares = {NEAREST: sums.nearest / sums.n_attacked}
    if sums.n_small:
        rest = sums.nearest - sums.nearest_in_small
        in_small = f"in classes of at most {MOST}"
        if len(policy.epsilon_quasis) == 1:
            shares[f"rank assignment {in_small}, nearest neighbour elsewhere"] = (
                rest + sums.rank_in_small
            ) / sums.n_attacked
        shares[f"exact Bayes {in_small}, nearest neighbour elsewhere"] = (rest + sums.bayes_in_small) / sums.n_attacked
    strongest = max(shares, key=lambda name: shares[name])
    attacks = AttackFigures(
        records_attacked=sums.n_attacked,
        realised=shares,
        strongest=StrongestAttack(attacker=strongest, share=shares[strongest]),
        realised_paper_ties=sums.paper_ties / sums.n_attacked,
        largest_posterior=sums.largest,
        largest_by_matching=sums.largest_by_matching if sums.n_small else None,
        over_half=sums.n_over_half / sums.n_attacked,
        over_nine_tenths=sums.n_over_nine_tenths / sums.n_attacked,
        in_doubt=links_in_doubt(sums),
    )
    findings.figures = replace(findings.figures, attacks=attacks)
    if sums.n_attacked < n_released:
        findings.note(
            "attacks", f"{sums.n_attacked:,} of {n_released:,} records were attacked: a sample, or the classes known."
        )
    findings.note(
        "attacks",
        f"{counted(sums.n_over_half, 'record has its', 'records have their')} own original more probable than not, "
        f"{sums.n_over_nine_tenths:,} more "
        f"than 90 % ({sums.n_attacked:,} attacked).",
    )
    of = "the released records" if sums.n_attacked == n_released else f"the {sums.n_attacked:,} records attacked"
    beside = f"1/k = {percent(1 / policy.k)}" + (f", expected {percent(expected)}" if expected is not None else "")
    return f"The strongest attacker ({strongest}) links {percent(shares[strongest])} of {of} ({beside})."


def links_in_doubt(sums: AttackSums) -> LinksInDoubt | None:
    """The least and the most that links come to where doubles do not decide them all; None where they do."""
    most = sums.most_undecided
    if not most.paper:
        return None
    decided = Links(sums.nearest - sums.undecided.fair, sums.paper_ties - sums.undecided.paper)
    return LinksInDoubt(
        least=decided.fair / sums.n_attacked,
        most=(decided.fair + most.fair) / sums.n_attacked,
        least_paper_ties=decided.paper / sums.n_attacked,
        most_paper_ties=(decided.paper + most.paper) / sums.n_attacked,
    )


def _reidentification(classes: ReconstructedClasses) -> Reidentification:
    """The risk figures that ARX reports, for attackers who know the k-quasis alone.

    The prosecutor knows that the person is in the release; the journalist and the marketer do not.
    """
    sizes, n = classes.n_released, int(classes.n_released.sum())
    is_known = classes.all_known
    return Reidentification(
        prosecutor=_chance(sizes, sizes),
        journalist=_chance(sizes, classes.n_originals) if is_known else None,
        marketer=float((sizes / classes.n_originals).sum()) / n if is_known else None,
    )


def _chance(sizes: IntArray, hidden_among: IntArray) -> ChanceOfFinding:
    """Chance of finding a record that is one of `hidden_among`; both arrays have shape (n_classes,)."""
    n, smallest = int(sizes.sum()), int(hidden_among.min())
    return ChanceOfFinding(
        highest=1 / smallest,
        average=float((sizes / hidden_among).sum()) / n,
        share_at_highest=int(sizes[hidden_among == smallest].sum()) / n,
    )


def _expected_share(case: AuditCase) -> float | None:
    """Exact expected links of a nearest-neighbour attacker per record; None unless there is one ε-quasi and all is known."""
    if len(case.policy.epsilon_quasis) != 1 or not case.classes.all_known:
        return None
    links, _ = expected_links(case)
    return links / int(case.classes.n_originals.sum())


def _attack(case: AuditCase, linkage: Linkage) -> AttackSums:
    """Attacks every class whose originals are known; the linkage tells which links are right."""
    classes, noise, epsilon = case.classes, case.noise, case.epsilon
    sums = AttackSums()
    published = published_numbers(case)
    pairs = int((classes.n_released.astype(np.float64) * classes.n_originals)[classes.is_known].sum())
    rng = np.random.default_rng(SEED)
    waiting: list[Attacked] = []
    n_waiting = 0
    for c, records, originals in classes.members():
        own = linkage.original_row[records]
        place = np.searchsorted(originals, own)
        is_here = originals[np.minimum(place, len(originals) - 1)] == own
        here, place = records[is_here], place[is_here]  # other checks report a record in a wrong class
        if pairs > MOST_PAIRS and len(here) > 100:
            most = max(100, int(MOST_PAIRS * len(here) / pairs))
            chosen = np.sort(rng.permutation(len(here))[:most])
            here, place = here[chosen], place[chosen]
        if not here.size:
            continue
        waiting.append(Attacked(class_id=c, published=published[here], originals=originals, place=place))
        n_waiting += len(originals)
        if n_waiting > MOST_TOGETHER:
            attack_classes(sums, case, waiting)
            waiting, n_waiting = [], 0
        is_whole = len(here) == int(classes.n_released[c])
        if (
            len(originals) <= MOST
            and is_whole
            and is_complete(published[here], noise.values[originals], noise.ranges[c])
        ):
            distances = distances_to_originals(published[here], noise.values[originals], noise.ranges[c])
            sums.n_small += len(place)
            slack = binary_error_of_distances(published[here], noise.values[originals], noise.ranges[c])
            sums.nearest_in_small += float(nearest_links(distances, place, slack=slack)[0].sum())
            sums.small.append(small_class(published[here], noise.values[originals], noise.ranges[c], place))
    if waiting:
        attack_classes(sums, case, waiting)
    attack_small(sums, epsilon=epsilon)
    return sums


def published_numbers(case: AuditCase) -> FloatArray:
    """Published values of all ε-quasis, shape (n_released, n_epsilon_quasis)."""
    columns = [case.released.numbers[name] for name in case.policy.epsilon_quasis]
    return np.column_stack(columns) if columns else np.zeros((case.released.n_records, 0))
