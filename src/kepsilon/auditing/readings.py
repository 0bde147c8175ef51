# SPDX-License-Identifier: Apache-2.0
"""Finds the classes of a release in every way in which its labels can be read, the likeliest first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.auditing.classes import NOWHERE, ReconstructedClasses, classes_by_cover, missing_flags
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.labels import label_of_values, levels_of
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.sensitive_values import not_meeting
from kepsilon.auditing.tables import Original, Released, n_persons
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.keys import number

MOST_READINGS = 64
"""How many readings are tried, at most, where labels stand at several levels of their hierarchy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """The ways to read the labels of a release, each with the classes that it gives."""

    tried: tuple[ReconstructedClasses, ...]
    """Those that are looked at, the likeliest first; at least one."""
    n_possible: int
    """How many there are."""


def find_classes(
    original: Original,
    released: Released,
    policy: Policy,
    findings: Findings,
    *,
    linkage: Linkage | None,
    stated: Mapping[str, int] | None = None,
) -> Readings | None:
    """The classes of a release, in every way to read its labels; None, with a finding, if they cannot be understood.

    `stated` are the levels that the files beside a release state; readings at these levels are looked at first.
    """
    if ALGORITHMS[policy.algorithm].has_levels:
        return _by_level(original, released, policy, findings, linkage=linkage, stated=stated or {})
    classes = classes_by_cover(original, released, policy, findings, linkage)
    return None if classes is None else Readings(tried=(classes,), n_possible=1)


def _by_level(
    original: Original,
    released: Released,
    policy: Policy,
    findings: Findings,
    *,
    linkage: Linkage | None,
    stated: Mapping[str, int],
) -> Readings | None:
    """Classes where each attribute has one level for all records, as OLA publishes them.

    Labels that stand at several levels can be read in several ways. Levels that put every value under the same label are
    one way. The first ones are those that the linkage contradicts least, then those of the levels that are stated, then
    those whose classes have about as many originals as records.
    """
    levels, ways = [], []
    for name, domain in original.domains.items():
        texts = released.labels[name][0]
        levels.append(levels_of(domain, texts))
        if not levels[-1]:
            known = {label for level in domain.levels for label in level}
            n_foreign = sum(label not in known for label in texts)
            how = (
                f"{n_foreign:,} labels are none of its hierarchy's" if n_foreign else "its labels are of several levels"
            )
            findings.broken("labels", f"{name} is not at one level of its hierarchy: {how}.")
        different: dict[bytes, list[int]] = {}
        for level in levels[-1]:
            numbers = label_of_values(domain, level, texts)
            different.setdefault(numbers.tobytes(), []).append(level)
        wanted = stated.get(name)
        own = [wanted if wanted in group else group[0] for group in different.values()]
        ways.append(sorted(own, key=lambda level: level != wanted))
    if not all(levels):
        return None
    tried = [
        replace(_at_node(node, original, released, policy, linkage), levels=tuple(levels))
        for node in itertools.islice(itertools.product(*ways), MOST_READINGS)
    ]

    def unlikely(classes: ReconstructedClasses) -> tuple[int, int, int]:
        contradicted = 0
        if linkage is not None:
            contradicted = int(np.count_nonzero(classes.of_original[linkage.original_row] != classes.of_released))
        unstated = sum(
            level != stated.get(name, level) for name, level in zip(original.domains, classes.node or (), strict=True)
        )
        return contradicted, unstated, int(np.abs(classes.n_released - classes.n_originals).sum())

    return Readings(tried=tuple(sorted(tried, key=unlikely)), n_possible=math.prod(map(len, ways)))


def _at_node(
    node: tuple[int, ...], original: Original, released: Released, policy: Policy, linkage: Linkage | None
) -> ReconstructedClasses:
    """Classes of the release and of the originals, both with the labels of this node.

    Where it is not known which records the cap left out, the originals of a class are known if none of them can be one of
    those. With a linkage, and without confident k, the originals of released classes are those that it names.
    """
    stays = np.flatnonzero(original.stays)
    columns, sizes = [], []
    for level, (name, domain) in zip(node, original.domains.items(), strict=True):
        texts, codes = released.labels[name]
        of_value = label_of_values(domain, level, texts)
        columns.append(np.concatenate([codes, of_value[original.codes[name][stays]]]))
        sizes.append(max(len(texts), int(of_value.max(initial=0)) + 1))
    for ours, theirs in zip(
        missing_flags(released.numbers, policy), missing_flags(original.numbers, policy), strict=True
    ):
        columns.append(np.concatenate([ours, theirs[stays]]))
        sizes.append(2)
    n_released = released.n_records
    numbers, n_found = number(columns, sizes=sizes, length=n_released + len(stays))
    own = numbers[n_released:].astype(np.int64)
    in_release = np.bincount(numbers[:n_released], minlength=n_found)
    shown = in_release > 0
    n_covered = np.bincount(own, minlength=n_found)
    is_open = ~original.is_sure[stays]
    are_named = linkage is not None and policy.confidence is None
    belongs = shown[own] & ~(is_open & are_named)
    in_original = np.bincount(own[belongs], minlength=n_found)
    is_doubtful = np.bincount(own[belongs & is_open], minlength=n_found) > 0
    new = np.full(n_found, NOWHERE, dtype=np.int64)
    new[shown] = np.arange(np.count_nonzero(shown))
    of_original = np.full(original.n_records, NOWHERE, dtype=np.int64)
    of_original[stays[belongs]] = new[own[belongs]]
    of_node, n_suppressed, dm_star = None, None, None
    absent = np.zeros(0, dtype=np.int64)
    if original.is_exact:
        of_node = np.full(original.n_records, NOWHERE, dtype=np.int64)
        of_node[stays] = own
        fails = ~shown & _fails(original, policy, of_node, n_covered)
        n_suppressed = int(n_covered[fails].sum())
        absent = n_covered[~shown & ~fails]
        dm_star = int(np.sum(n_covered.astype(object) ** 2)) if len(n_covered) else 0
    return ReconstructedClasses(
        of_released=new[numbers[:n_released]],
        of_original=of_original,
        n_released=in_release[shown],
        n_covered=n_covered[shown],
        n_originals=in_original[shown],
        is_known=(in_original >= in_release)[shown] & ~is_doubtful[shown],
        n_suppressed=n_suppressed,
        absent=absent,
        dm_star=dm_star,
        node=node,
        levels=None,
        of_node=of_node,
        losses=tuple(
            level / max(1, domain.n_levels - 1) for level, domain in zip(node, original.domains.values(), strict=True)
        ),
    )


def _fails(original: Original, policy: Policy, of_node: IntArray, sizes: IntArray) -> BoolArray:
    """Which classes at the levels of the release fail what the policy asks of every class, shape (n_classes,)."""
    fails: BoolArray = sizes < policy.k
    if original.persons is not None:
        fails = fails | (n_persons(of_node, original.persons, n_classes=len(sizes)) < policy.k)
    if policy.diverse:
        fails = fails | not_meeting(original, policy, of_node, n_classes=len(sizes))
    return fails
