# SPDX-License-Identifier: Apache-2.0
"""Attacks carried out on the release by somebody who holds every original, and the risk figures other tools give.

The seam to other attackers is `attack_class`: distances of one class in, links and posteriors of its records out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from kepsilon.auditing.classes import Classes
from kepsilon.auditing.confident import members_of_classes
from kepsilon.auditing.few_records import check_links
from kepsilon.auditing.findings import AttackFigures, Findings, StrongestAttack, counted
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise_law import ClaimedNoise
from kepsilon.auditing.stated_laws import unstated
from kepsilon.auditing.tables import Released
from kepsilon.evaluate.linking.reidentification import ChanceOfFinding, Reidentification
from kepsilon.evaluate.linking.small_classes import MOST, attack_small_classes
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

MOST_PAIRS = 1 << 28
"""Distances worked out at most; past that each class is attacked on a sample of its records."""

SAME = 1e-9
"""Distances that differ by less, relative to the range, are a tie; so are posteriors."""

SEED = 20_090_802

NEAREST = "nearest neighbour"
"""The attacker whose links are those of the curator's record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SmallClass:
    """A class of few originals, for attackers who look at all its records at once."""

    ranges: FloatArray
    values: FloatArray
    """Shape (n_originals, n_epsilon_quasis)."""
    published: FloatArray
    """Shaped alike; of no meaning where the record was not released."""
    stays: BoolArray


@dataclass(slots=True)
class AttackSums:
    """What the attackers achieved, added up over classes."""

    n_attacked: int = 0
    nearest: float = 0.0
    paper_ties: float = 0.0
    n_over_half: int = 0
    n_over_nine_tenths: int = 0
    largest: float = 0.0
    n_small: int = 0
    nearest_in_small: float = 0.0
    rank_in_small: float = 0.0
    bayes_in_small: float = 0.0
    small: list[_SmallClass] = field(default_factory=list)


def check_attacks(
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    policy: Policy,
    findings: Findings,
    *,
    linkage: Linkage | None,
    alpha: float,
) -> str:
    """Attacks, scored if the linkage is there; returns the headline."""
    if (why := unstated(policy)) is not None:
        findings.warning("attacks", why)
        findings.figures = replace(findings.figures, reidentification=risk_figures(classes), one_over_k=1 / policy.k)
        return (
            "Whoever knows the k-quasis alone places a record among its class: "
            f"{classes.n_classes / released.n_records:.2%} on average (1/k = {1 / policy.k:.2%}). What the noisy values add "
            "was not checked."
        )
    expected = expected_share(classes, noise, policy)
    findings.figures = replace(
        findings.figures,
        reidentification=risk_figures(classes),
        one_over_k=1 / policy.k,
        expected_nearest_neighbour=expected,
    )
    n_released = released.n_records
    if not policy.epsilon_quasis:
        headline = (
            f"Without an epsilon-quasi, a record is one of its class: {classes.n_classes / n_released:.2%} on average"
        )
        return headline + f", {1 / int(classes.released.min()):.2%} at worst (1/k = {1 / policy.k:.2%})."
    beside = f"1/k = {1 / policy.k:.2%}" + (f", expected {expected:.2%}" if expected is not None else "")
    if linkage is None:
        findings.note("attacks", "without a linkage no attack can be scored; expected figures stand instead.")
        if any(finding.severity == "broken" and finding.check == "noise" for finding in findings.found):
            return (
                "The noise is not what was claimed, so that nothing limits what an attacker links; no linkage, so no attack "
                "was scored."
            )
        if expected is not None:
            return (
                f"A nearest-neighbour attacker would link {expected:.2%} of the released records, if the noise is as claimed "
                f"(1/k = {1 / policy.k:.2%})."
            )
        return (
            "No linkage, so no attack was scored; if the noise is as claimed, an attacker of single records would link at "
            f"most {_bound(classes, policy):.2%} on average ({beside})."
        )
    sums = _attack(released, classes, noise, policy, linkage)
    if not sums.n_attacked:
        findings.note("attacks", "no class has originals that are known, so no attack was carried out.")
        return "No attack could be carried out: the originals of no class are known."
    if expected is not None and policy.confidence is None and sums.n_attacked == n_released == classes.originals.sum():
        check_links(sums.nearest, expected * n_released, n_released, findings, alpha=alpha)
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
        over_half=sums.n_over_half / sums.n_attacked,
        over_nine_tenths=sums.n_over_nine_tenths / sums.n_attacked,
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
    return f"The strongest attacker ({strongest}) links {shares[strongest]:.2%} of {of} ({beside})."


def risk_figures(classes: Classes) -> Reidentification:
    """What ARX reports on the k-quasis alone: an attacker who knows that somebody is in the release, or who does not."""
    sizes, n = classes.released, int(classes.released.sum())
    is_known = classes.all_known
    return Reidentification(
        prosecutor=_chance(sizes, sizes),
        journalist=_chance(sizes, classes.originals) if is_known else None,
        marketer=float((sizes / classes.originals).sum()) / n if is_known else None,
    )


def _chance(sizes: IntArray, hidden_among: IntArray) -> ChanceOfFinding:
    """One in as many as the class hides its records among; how many records have the highest such risk."""
    n, smallest = int(sizes.sum()), int(hidden_among.min())
    return ChanceOfFinding(
        highest=1 / smallest,
        average=float((sizes / hidden_among).sum()) / n,
        share_at_highest=int(sizes[hidden_among == smallest].sum()) / n,
    )


def expected_share(classes: Classes, noise: ClaimedNoise, policy: Policy) -> float | None:
    """Expected links of a nearest-neighbour attacker per record, exactly, for one ε-quasi and all classes known."""
    if len(policy.epsilon_quasis) != 1 or not classes.all_known:
        return None
    links, _ = expected_links(classes, noise, policy)
    return links / int(classes.originals.sum())


def expected_links(classes: Classes, noise: ClaimedNoise, policy: Policy) -> tuple[float, float]:
    """Summed over classes, a tie of t worth 1/t, and by the paper's rule."""
    links = paper = 0.0
    epsilon = float(policy.exact_epsilon)
    for c, _, originals in members_of_classes(classes):
        values, counts = np.unique(np.nan_to_num(noise.values[originals, 0]), return_counts=True)
        gaps = np.diff(values)
        reach = noise.ranges[c, 0]
        within = -np.expm1(-epsilon * gaps / (2 * reach)) if reach > 0 else np.zeros(len(gaps))
        stays = (np.append(within, 1.0) + np.append(1.0, within)) / 2
        links += float(stays.sum())
        paper += float((stays * counts).sum())
    return links, paper


def _bound(classes: Classes, policy: Policy) -> float:
    """Links per record that an attacker of single records does not exceed on average: Σ_{j≤d} (ε/2)^j/j! per class."""
    epsilon, d = float(policy.exact_epsilon), len(policy.epsilon_quasis)
    per_class = math.fsum((epsilon / 2) ** j / math.factorial(j) for j in range(d + 1))
    return min(1.0, per_class * classes.n_classes / int(classes.released.sum()))


def _attack(released: Released, classes: Classes, noise: ClaimedNoise, policy: Policy, linkage: Linkage) -> AttackSums:
    epsilon = float(policy.exact_epsilon)
    sums = AttackSums()
    published = np.column_stack([released.numbers[name] for name in policy.epsilon_quasis])
    pairs = int((classes.released.astype(np.float64) * classes.originals)[classes.is_known].sum())
    rng = np.random.default_rng(SEED)
    for c, records, originals in members_of_classes(classes):
        own = linkage.original_row[records]
        place = np.searchsorted(originals, own)
        is_here = originals[np.minimum(place, len(originals) - 1)] == own
        here, place = records[is_here], place[is_here]  # a record that is not of its class is found elsewhere
        if pairs > MOST_PAIRS and len(here) > 100:
            most = max(100, int(MOST_PAIRS * len(here) / pairs))
            chosen = np.sort(rng.permutation(len(here))[:most])
            here, place = here[chosen], place[chosen]
        if not here.size:
            continue
        at_once = max(1, (1 << 22) // len(originals))
        for start in range(0, len(here), at_once):
            part = slice(start, start + at_once)
            distances = _distances(published[here[part]], noise.values[originals], noise.ranges[c])
            attack_class(sums, distances, place[part], epsilon=epsilon)
        is_whole = len(here) == int(classes.released[c])
        if (
            len(originals) <= MOST
            and is_whole
            and _is_complete(published[here], noise.values[originals], noise.ranges[c])
        ):
            distances = _distances(published[here], noise.values[originals], noise.ranges[c])
            sums.n_small += len(place)
            sums.nearest_in_small += float(_links(distances, place)[0].sum())
            sums.small.append(_small_class(published[here], noise.values[originals], noise.ranges[c], place))
    _attack_small(sums, epsilon=epsilon)
    return sums


def _is_complete(published: FloatArray, values: FloatArray, ranges: FloatArray) -> bool:
    """Whether no value is missing where there should be one; a tampered release may lack some."""
    active = np.nan_to_num(ranges) > 0
    return not (np.isnan(published[:, active]).any() or np.isnan(values[:, active]).any())


def _small_class(published: FloatArray, values: FloatArray, ranges: FloatArray, place: IntArray) -> _SmallClass:
    beside, stays = values.copy(), np.zeros(len(values), dtype=np.bool_)
    beside[place], stays[place] = published, True
    return _SmallClass(ranges=ranges, values=values, published=beside, stays=stays)


def _distances(published: FloatArray, values: FloatArray, ranges: FloatArray) -> FloatArray:
    """Largest distance over the ε-quasis, each in units of the class's range; what has no range tells nothing."""
    farthest = np.zeros((len(published), len(values)))
    for j in range(published.shape[1]):
        if np.nan_to_num(ranges[j]) > 0:
            distance = np.abs(published[:, j, np.newaxis] - values[:, j]) / ranges[j]
            np.fmax(farthest, distance, out=farthest)  # a value that is missing tells nothing either
    return farthest


def attack_class(sums: AttackSums, distances: FloatArray, own: IntArray, *, epsilon: float) -> None:
    """Each record on its own: the nearest original, and how probable its own is among all of the class."""
    fair, paper = _links(distances, own)
    sums.n_attacked += len(own)
    sums.nearest += float(fair.sum())
    sums.paper_ties += float(paper.sum())
    weights = np.exp(-epsilon * (distances - distances.min(axis=1, keepdims=True)))
    _count_sure(sums, weights[np.arange(len(own)), own] / weights.sum(axis=1))


def _links(distances: FloatArray, own: IntArray) -> tuple[FloatArray, BoolArray]:
    """Of every record, a tie of t worth 1/t, and whether its own original is among the nearest."""
    nearest = distances.min(axis=1, keepdims=True)
    is_nearest: BoolArray = distances <= nearest + SAME * (1 + nearest)
    is_link: BoolArray = is_nearest[np.arange(len(own)), own]
    return is_link / is_nearest.sum(axis=1), is_link


def _count_sure(sums: AttackSums, posterior: FloatArray) -> None:
    sums.n_over_half += int(np.count_nonzero(posterior > 0.5 * (1 + SAME)))
    sums.n_over_nine_tenths += int(np.count_nonzero(posterior > 0.9 * (1 + SAME)))
    sums.largest = max(sums.largest, float(posterior.max(initial=0.0)))


def _attack_small(sums: AttackSums, *, epsilon: float) -> None:
    """All small classes at once."""
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
    sums.small.clear()
