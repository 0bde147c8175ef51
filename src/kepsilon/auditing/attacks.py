# SPDX-License-Identifier: Apache-2.0
"""Attacks the release as somebody who holds every original would, and gives the risk figures that other tools report.

Another attacker would be added beside `_attack_records`, which takes the distances of one class and adds up the links and
posteriors of its records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import ReconstructedClasses
from kepsilon.auditing.expected_links import expected_links, largest_expected_share
from kepsilon.auditing.few_records import check_links
from kepsilon.auditing.findings import AttackFigures, LinksInDoubt, StrongestAttack, counted
from kepsilon.auditing.group_figures import attack_groups
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.nearest_links import (
    INDISTINCT,
    Links,
    binary_error_of_distances,
    n_with_own_value,
    nearest_links,
)
from kepsilon.auditing.one_attribute import OrderedClasses
from kepsilon.auditing.person_figures import reidentification_of_persons
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.evaluate.linking.reidentification import ChanceOfFinding, Reidentification
from kepsilon.evaluate.linking.small_classes import MOST, attack_small_classes
from kepsilon.rounding import percent
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

MOST_PAIRS = 1 << 28
"""Distances computed at most; if there are more, a sample of the records of each class is attacked."""

TIE = 1e-9
"""Posteriors that differ by less than this are equal."""

MOST_TOGETHER = 1 << 19
"""Originals of classes with one ε-quasi that are worked on together, about."""

SEED = 20_090_802
"""Seed of the sample, so that an audit can be repeated."""

NEAREST = "nearest neighbour"
"""The attacker whose links the curator's record states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SmallClass:
    """A class of at most MOST originals, for attackers who link all records of a class together."""

    ranges: FloatArray
    """Range of each ε-quasi, shape (n_epsilon_quasis,)."""
    values: FloatArray
    """Original values, shape (n_originals, n_epsilon_quasis)."""
    published: FloatArray
    """Published values, original by original; of no meaning for an original that was not released."""
    stays: BoolArray
    """Whether each original was released, shape (n_originals,)."""


@dataclass(slots=True)
class AttackSums:
    """What the attackers achieved, added up over classes."""

    n_attacked: int = 0
    nearest: float = 0.0
    """Right links of the nearest-neighbour attacker, a tie of t worth 1/t."""
    paper_ties: float = 0.0
    """Right links of the nearest-neighbour attacker, every tie worth 1, as in the paper."""
    undecided: Links = field(default_factory=Links)
    """What records count for in the two sums above whose links doubles cannot decide."""
    most_undecided: Links = field(default_factory=Links)
    """What these records count for at most; at least it is nothing."""
    n_over_half: int = 0
    """Records whose own original has a posterior above 1/2."""
    n_over_nine_tenths: int = 0
    largest: float = 0.0
    """Largest posterior of a record's own original."""
    n_small: int = 0
    """Records in small classes; the three sums below are links in these."""
    nearest_in_small: float = 0.0
    rank_in_small: float = 0.0
    bayes_in_small: float = 0.0
    largest_by_matching: float = 0.0
    """Largest posterior of a record's own original in small classes, all assignments considered."""
    small: list[_SmallClass] = field(default_factory=list)


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
    waiting: list[_Attacked] = []
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
        waiting.append(_Attacked(class_id=c, published=published[here], originals=originals, place=place))
        n_waiting += len(originals)
        if n_waiting > MOST_TOGETHER:
            _attack_classes(sums, case, waiting)
            waiting, n_waiting = [], 0
        is_whole = len(here) == int(classes.n_released[c])
        if (
            len(originals) <= MOST
            and is_whole
            and _is_complete(published[here], noise.values[originals], noise.ranges[c])
        ):
            distances = _distances(published[here], noise.values[originals], noise.ranges[c])
            sums.n_small += len(place)
            slack = binary_error_of_distances(published[here], noise.values[originals], noise.ranges[c])
            sums.nearest_in_small += float(nearest_links(distances, place, slack=slack)[0].sum())
            sums.small.append(_small_class(published[here], noise.values[originals], noise.ranges[c], place))
    if waiting:
        _attack_classes(sums, case, waiting)
    _attack_small(sums, epsilon=epsilon)
    return sums


def published_numbers(case: AuditCase) -> FloatArray:
    """Published values of all ε-quasis, shape (n_released, n_epsilon_quasis)."""
    columns = [case.released.numbers[name] for name in case.policy.epsilon_quasis]
    return np.column_stack(columns) if columns else np.zeros((case.released.n_records, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attacked:
    """Some records of a class that are attacked, and all its originals."""

    class_id: int
    published: FloatArray
    """Shape (n_records, n_epsilon_quasis)."""
    originals: IntArray
    """Rows of the input."""
    place: IntArray
    """Where the own original of each record stands among them."""


def _attack_classes(sums: AttackSums, case: AuditCase, attacked: Sequence[_Attacked]) -> None:
    """Adds up the attacks on some classes: from sorted values where these decide, otherwise from all pairs."""
    if case.noise.values.shape[1] != 1:
        for own in attacked:
            _attack_among(sums, case, own)
        return
    sizes = np.array([len(own.originals) for own in attacked])
    ids = np.repeat(np.arange(len(attacked)), sizes)
    values = case.noise.values[np.concatenate([own.originals for own in attacked]), 0]
    published = np.concatenate([own.published[:, 0] for own in attacked])
    n_records = [len(own.place) for own in attacked]
    place = np.concatenate([own.place for own in attacked]) + np.repeat(np.cumsum(sizes) - sizes, n_records)
    reach = case.noise.ranges[[own.class_id for own in attacked], 0]
    ordered = OrderedClasses.of(values, ids)
    slack = ordered.binary_errors(published, place, reach=reach)
    can = ordered.can_be_ordered(published, place, reach=reach, slack=slack)
    for i in np.flatnonzero(~can).tolist():
        _attack_among(sums, case, attacked[i])
    chosen = np.flatnonzero(np.repeat(can, n_records))
    if chosen.size:
        published, place = published[chosen], place[chosen]
        fair, paper = ordered.links(published, place, reach=reach, slack=slack[chosen])
        sums.n_attacked += len(place)
        sums.nearest += float(fair.sum())
        sums.paper_ties += float(paper.sum())
        _count_probable(sums, ordered.posteriors(published, place, reach=reach, epsilon=case.epsilon))


def _attack_among(sums: AttackSums, case: AuditCase, attacked: _Attacked) -> None:
    """Adds up the attacks on the records of a class, from the distances of all pairs of records and originals."""
    values, ranges = case.noise.values[attacked.originals], case.noise.ranges[attacked.class_id]
    published, place = attacked.published, attacked.place
    at_once = max(1, (1 << 22) // len(values))
    for start in range(0, len(place), at_once):
        part = slice(start, start + at_once)
        distances = _distances(published[part], values, ranges)
        slack = binary_error_of_distances(published[part], values, ranges)
        _attack_records(sums, distances, place[part], slack=slack, epsilon=case.epsilon)
        if len(ranges) == 1 and ranges[0] > 0:
            nearest = INDISTINCT * slack * ranges[0]
            alike = n_with_own_value(values[:, 0], place[part], nearest=nearest)
            _add_undecided(sums, distances, place[part], slack=slack, n_alike=alike)


def _is_complete(published: FloatArray, values: FloatArray, ranges: FloatArray) -> bool:
    """Whether no value of an ε-quasi with noise is missing; a tampered release may lack some."""
    active = ranges > 0
    return not (np.isnan(published[:, active]).any() or np.isnan(values[:, active]).any())


def _small_class(published: FloatArray, values: FloatArray, ranges: FloatArray, place: IntArray) -> _SmallClass:
    """A small class with published values beside their originals; record i is that of original `place[i]`."""
    beside, stays = values.copy(), np.zeros(len(values), dtype=np.bool_)
    beside[place], stays[place] = published, True
    return _SmallClass(ranges=ranges, values=values, published=beside, stays=stays)


def _distances(published: FloatArray, values: FloatArray, ranges: FloatArray) -> FloatArray:
    """Distance of each published record from each original of the class, shape (n_published, n_originals).

    It is the largest distance over the ε-quasis, each in units of the range of the class. An ε-quasi without noise is
    left out, because it has one value throughout the class.
    """
    farthest = np.zeros((len(published), len(values)))
    for j in range(published.shape[1]):
        if ranges[j] > 0:
            distance = np.abs(published[:, j, np.newaxis] - values[:, j]) / ranges[j]
            np.fmax(farthest, distance, out=farthest)  # skips missing values, which tell nothing
    return farthest


def _attack_records(
    sums: AttackSums, distances: FloatArray, own: IntArray, *, slack: FloatArray, epsilon: float
) -> None:
    """Adds up the attacks on single records of a class: links to the nearest original, and posteriors of their own.

    `distances` has shape (n_records, n_originals); `own` is the column of each record's own original.
    """
    fair, paper = nearest_links(distances, own, slack=slack)
    sums.n_attacked += len(own)
    sums.nearest += float(fair.sum())
    sums.paper_ties += float(paper.sum())
    weights = np.exp(-epsilon * (distances - distances.min(axis=1, keepdims=True)))
    _count_probable(sums, weights[np.arange(len(own)), own] / weights.sum(axis=1))


def _add_undecided(
    sums: AttackSums, distances: FloatArray, own: IntArray, *, slack: FloatArray, n_alike: IntArray
) -> None:
    """Adds up the records whose links doubles cannot decide, as they were counted and as they count at most."""
    undecided = np.flatnonzero(n_alike > 0)
    if undecided.size:
        fair, paper = nearest_links(distances[undecided], own[undecided], slack=slack[undecided])
        sums.undecided += Links(float(fair.sum()), float(paper.sum()))
        sums.most_undecided += Links(float((1 / n_alike[undecided]).sum()), float(len(undecided)))


def _count_probable(sums: AttackSums, posterior: FloatArray) -> None:
    """Adds up how many records have an own original that is probable to the attacker."""
    sums.n_over_half += int(np.count_nonzero(posterior > 0.5 * (1 + TIE)))
    sums.n_over_nine_tenths += int(np.count_nonzero(posterior > 0.9 * (1 + TIE)))
    sums.largest = max(sums.largest, float(posterior.max(initial=0.0)))


def _attack_small(sums: AttackSums, *, epsilon: float) -> None:
    """Runs the attackers who link all records of a class together, on all small classes at once."""
    if not sums.small:
        return
    found = attack_small_classes(
        np.concatenate([small.values for small in sums.small]),
        np.concatenate([small.published for small in sums.small]),
        np.repeat(np.arange(len(sums.small)), [len(small.values) for small in sums.small]),
        ranges=np.stack([small.ranges for small in sums.small]),
        epsilon=epsilon,
        stays=np.concatenate([small.stays for small in sums.small]),
    )
    sums.rank_in_small = float(found.rank.sum())
    sums.bayes_in_small = float(found.bayes.sum())
    sums.largest_by_matching = float(found.own_posterior.max(initial=0.0))
    sums.small.clear()
