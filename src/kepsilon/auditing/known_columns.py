# SPDX-License-Identifier: Apache-2.0
"""Attacks the release as somebody who knows the quasis and some kept columns would.

Only originals of the class with the same kept values come into question; they form a group. Each is compared with every
published value of its group. Expected links follow from the gaps between the originals of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.attacked_classes import AttackSums
from kepsilon.auditing.attacks import links_in_doubt, published_numbers
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.findings import LinksInDoubt
from kepsilon.auditing.links_in_groups import GroupedOriginals
from kepsilon.auditing.noise_law import coordinate_beyond
from kepsilon.auditing.residuals import GONE, released_as
from kepsilon.auditing.single_risk import in_ranges, largest_posterior
from kepsilon.auditing.whole_records import LookedAt
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

MOST_PAIRS = 1 << 26
"""Distances computed at most; if there are more, a sample of the records is attacked."""

SEED = 20_090_804
"""Seed of that sample, so that an audit can be repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksWithKnown:
    """What an attacker who knows the quasis and some kept columns links, as shares of the records."""

    expected: float | None
    """None with several ε-quasis, for which the audit has no closed form."""
    realised: float | None
    """None without a linkage."""
    largest: float | None
    """The most that any published value can make an original probable; None where there are too many pairs to compare."""
    in_doubt: LinksInDoubt | None = None
    """Bounds on `realised` where doubles do not decide every link."""
    all_attacked: bool = False
    """Whether every released record was attacked that was looked at."""


def attack_with_known(case: AuditCase, looked: LookedAt, names: Sequence[str]) -> LinksWithKnown:
    """Links of an attacker who knows the quasis and the named kept columns, among the records looked at."""
    groups = looked.groups(names)
    sums, is_all = _attack(case, looked, groups)
    return LinksWithKnown(
        expected=expected_share(case, looked, groups),
        realised=sums.nearest / sums.n_attacked if sums.n_attacked else None,
        largest=_largest(case, looked, groups),
        in_doubt=links_in_doubt(sums) if sums.n_attacked else None,
        all_attacked=is_all,
    )


def worst_column(case: AuditCase, looked: LookedAt) -> str:
    """The kept column that helps most if it is known: by expected links, or with several ε-quasis by how many groups."""
    helps = {}
    for name in case.policy.kept:
        groups = looked.groups([name])
        share = expected_share(case, looked, groups)
        helps[name] = len(np.unique(groups)) if share is None else share
    return max(helps, key=lambda name: helps[name])


def expected_share(case: AuditCase, looked: LookedAt, groups: IntArray) -> float | None:
    """Expected links per record; None with several ε-quasis."""
    if case.noise.values.shape[1] > 1 or not looked.rows.size:
        return None
    if case.noise.values.shape[1] == 0:
        return len(np.unique(groups)) / len(groups)
    return float(chances_of_nearest(case, looked, groups, attribute=0).mean())


def chances_of_nearest(case: AuditCase, looked: LookedAt, groups: IntArray, *, attribute: int) -> FloatArray:
    """The chance of each record that its own value of one ε-quasi is the nearest of its group, a tie of t worth 1/t.

    Noise that stays below half the gap to the next value on its side leaves the own value nearest.
    """
    noise = case.noise
    values = np.nan_to_num(noise.values[looked.rows, attribute])
    order = np.lexsort((values, groups))
    ordered, group = values[order], groups[order]
    is_new_group = np.diff(group, prepend=-1) != 0
    is_new = is_new_group | (np.diff(ordered, prepend=0.0) != 0)
    place = np.cumsum(is_new) - 1
    below = np.where(is_new_group[is_new], np.inf, np.diff(ordered[is_new], prepend=0.0))
    above = np.append(np.where(is_new_group[is_new][1:], np.inf, below[1:]), np.inf)
    class_ids = looked.class_ids[order]
    reach = np.nan_to_num(noise.ranges[class_ids, attribute])
    stays = np.zeros(len(order))
    for gaps in (below[place], above[place]):
        in_reach = np.full(len(gaps), np.inf)  # what has no noise stays where it is
        np.divide(gaps, reach, out=in_reach, where=(reach > 0) & np.isfinite(gaps))
        half = case.epsilon / 2 * in_reach
        stays += _within(half, noise.n_active[class_ids]) / 2
    chances = np.empty(len(order))
    chances[order] = stays / np.bincount(place)[place]
    return chances


def _within(distances: FloatArray, n_active: IntArray) -> FloatArray:
    """P(|Z| ≤ t) of one of the ε-quasis that have noise, in units of R/ε; 1 where t is infinite."""
    found = np.ones(len(distances))
    for d in np.unique(n_active[np.isfinite(distances)]).tolist():
        own = np.isfinite(distances) & (n_active == d)
        found[own] = 1 - 2 * coordinate_beyond(distances[own], d)
    return found


def in_release(case: AuditCase, looked: LookedAt) -> IntArray:
    """Row of each original in the release, or GONE, also where the linkage puts it into another class."""
    rows = released_as(case)[looked.rows]
    is_here: BoolArray = (rows != GONE) & (case.classes.of_released[rows] == looked.class_ids)
    return np.where(is_here, rows, GONE)


def _attack(case: AuditCase, looked: LookedAt, groups: IntArray) -> tuple[AttackSums, bool]:
    """Links of released records to the nearest original of their group, and whether all of them were attacked."""
    sums, rows = AttackSums(), in_release(case, looked)
    sizes = np.bincount(groups, minlength=1)[groups]
    is_attacked = rows != GONE
    # An original that is alone in its group, or one of a group without noise, needs no distances.
    is_plain = is_attacked & ((sizes == 1) | (case.noise.values.shape[1] == 0))
    sums.n_attacked = int(np.count_nonzero(is_plain))
    sums.nearest = float((1 / sizes[is_plain]).sum())
    is_attacked &= ~is_plain
    n_pairs = int(sizes[is_attacked].sum())
    if n_pairs > MOST_PAIRS:
        is_attacked &= np.random.default_rng(SEED).random(len(rows)) < MOST_PAIRS / n_pairs
    attacked = np.flatnonzero(is_attacked)
    originals = GroupedOriginals(case.noise.values[looked.rows], case.noise.ranges[looked.class_ids], groups)
    links, sums.undecided, sums.most_undecided = originals.attack(published_numbers(case)[rows[attacked]], attacked)
    sums.n_attacked += len(attacked)
    sums.nearest += links.fair
    sums.paper_ties += links.paper
    return sums, n_pairs <= MOST_PAIRS


def _members(groups: IntArray) -> Iterator[IntArray]:
    """Positions of the records of each group."""
    order = np.argsort(groups, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _largest(case: AuditCase, looked: LookedAt, groups: IntArray) -> float | None:
    """The largest posterior of any original in its group, over all outputs; None where there are too many pairs."""
    sizes = np.bincount(groups, minlength=1)
    if (sizes == 1).any():
        return 1.0
    if not looked.rows.size or int(np.square(sizes).sum()) > MOST_PAIRS:
        return None
    largest = 0.0
    for members in _members(groups):
        ranges = case.noise.ranges[int(looked.class_ids[members[0]])]
        values = in_ranges(case.noise.values[looked.rows[members]], ranges)
        places, counts = np.unique(values, axis=0, return_counts=True)
        largest = max(largest, largest_posterior(places, counts, epsilon=case.epsilon))
    return largest
