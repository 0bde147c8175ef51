# SPDX-License-Identifier: Apache-2.0
"""All figures of a release as sums over classes: each batch of classes is tallied by itself, and tallies are added.

Expected figures are known before any noise is drawn, and are over the records that get noise. Realised figures are over
the records that are released, which are fewer where confident k suppresses some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, originals_in_reach, suppressed_for_confidence
from kepsilon.evaluate.confident_k.persons_in_reach import persons_in_reach, persons_in_reach_of_several
from kepsilon.evaluate.error.relative_error import ErrorSums, realised_errors
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking import several_attributes
from kepsilon.evaluate.linking.class_attacks import attack_by_likelihood, attack_persons, only_attribute
from kepsilon.evaluate.linking.linking_risk import ExpectedLinks, LinkSums, link_sums
from kepsilon.evaluate.linking.reidentification import ClassSizes, class_sizes
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.members import Members, members_of
from kepsilon.evaluate.originals.sorted_classes import runs_of_classes, sort_classes
from kepsilon.evaluate.released_persons import ReleasedPersons, released_persons
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import Steps

StillMeets = Callable[[BoolArray], BoolArray]
"""Which classes meet all further requirements, shape (n_classes,), given which records stay, shape (n_records,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Expected figures of whole classes; those of different classes are added to get figures of all of them."""

    n_records: int
    """Records that get noise."""
    errors: tuple[ErrorSums, ...]
    """One per ε-quasi."""
    links: ExpectedLinks
    largest_possible: float
    """The most that any published value can make a record's own original probable, to an attacker who considers one record."""
    largest_possible_by_matching: float
    """A bound on the same for an attacker who matches a whole class to its originals, one to one."""
    suppressed: Estimate | None
    """Records that confident k is expected to suppress; None where it is not asked for."""

    @property
    def most_suppressed(self) -> float:
        """The suppressed records that a cap is compared with: three standard errors more than expected."""
        return 0.0 if self.suppressed is None else self.suppressed.at_most

    def __add__(self, other: Expected) -> Expected:
        return Expected(
            n_records=self.n_records + other.n_records,
            errors=_sum_errors(self.errors, other.errors),
            links=self.links + other.links,
            largest_possible=max(self.largest_possible, other.largest_possible),
            largest_possible_by_matching=max(self.largest_possible_by_matching, other.largest_possible_by_matching),
            suppressed=None
            if self.suppressed is None or other.suppressed is None
            else self.suppressed + other.suppressed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Realised:
    """Realised figures of whole classes; those of different classes are added to get figures of all of them."""

    sizes: ClassSizes
    errors: tuple[ErrorSums, ...]
    """One per ε-quasi, of released records."""
    links: LinkSums
    """To records; to persons, where it is known whom records are about."""
    persons: ReleasedPersons | None = None
    """The persons of released classes; None where it is not known whom records are about."""

    def __add__(self, other: Realised) -> Realised:
        return Realised(
            sizes=self.sizes + other.sizes,
            errors=_sum_errors(self.errors, other.errors),
            links=self.links + other.links,
            persons=None if self.persons is None or other.persons is None else self.persons + other.persons,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Expected and realised figures of some whole classes."""

    expected: Expected
    realised: Realised

    def __add__(self, other: Tally) -> Tally:
        return Tally(expected=self.expected + other.expected, realised=self.realised + other.realised)


def realise(
    values: FloatArray,
    published: Sequence[FloatArray],
    class_ids: IntArray,
    *,
    mechanism: NoiseLaw,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    steps: Sequence[Steps],
    confident: ConfidentK | None = None,
    originals: FloatArray | None = None,
    persons: IntArray | None = None,
    still_meets: StillMeets | None = None,
    comparisons: float = math.inf,
) -> tuple[BoolArray, Realised]:
    """Which records stay once confident k is applied, and the realised figures of those. Classes must be whole.

    `values` and `originals` have shape (n_records, n_epsilon_quasis), `low` and `high` the shape (n_classes,
    n_epsilon_quasis): the ends of the ranges that set the noise. `published` is one array per ε-quasi, as `steps`.
    `values` is what received noise: clipped values where bounds were declared, since an attacker cannot tell apart records
    that were clipped to one value. `originals` then holds the values before clipping, to which errors are relative.

    `persons` says whom each record is about, shape (n_records,): confident k and links are by persons then, and
    `comparisons` is as for `person_links.person_link_sums`. `still_meets` says, given which records stay after confident
    k, which classes meet everything else that is required; the others go whole, and one pass is enough, because no class
    loses some more of its records.
    """
    ranges = high - low
    reach = None if confident is None else confident.reach(mechanism, low, high, epsilon=epsilon)
    members = None if persons is None else members_of(persons, class_ids, n_classes=len(low))
    if still_meets is not None or (members is not None and members.repeats.any()):
        together = np.column_stack(published) if published else np.zeros((len(class_ids), 0))
        stays = _staying(values, together, class_ids, reach, confident, members)
        if still_meets is not None:
            stays &= still_meets(stays)[class_ids]
        links = attack_persons(
            values,
            together,
            class_ids,
            stays,
            members,
            mechanism=mechanism,
            low=low,
            high=high,
            epsilon=epsilon,
            steps=steps,
            comparisons=comparisons,
        )
    elif mechanism.exponential is None and published:
        together = np.column_stack(published)
        stays = _staying(values, together, class_ids, reach, confident, None)
        links = attack_by_likelihood(
            values, together, class_ids, stays, mechanism=mechanism, low=low, high=high, epsilon=epsilon, steps=steps
        )
    else:
        attack = _attack_several if len(published) > 1 else _attack_one
        stays, links = attack(
            values, published, class_ids, ranges=ranges, epsilon=epsilon, reach=reach, confident=confident
        )
    unclipped = values if originals is None else originals
    all_stay = bool(stays.all())
    errors = tuple(
        realised_errors(unclipped[:, j], published[j])
        if all_stay
        else realised_errors(unclipped[stays, j], published[j][stays])
        for j in range(values.shape[1])
    )
    sizes = np.bincount(class_ids, minlength=len(ranges))
    released = sizes if all_stay else np.bincount(class_ids[stays], minlength=len(ranges))
    return stays, Realised(
        sizes=class_sizes(released, sizes),
        errors=errors,
        links=links,
        persons=None if members is None else released_persons(members, stays),
    )


def _attack_several(
    values: FloatArray,
    published: Sequence[FloatArray],
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    epsilon: float,
    reach: FloatArray | None,
    confident: ConfidentK | None,
) -> tuple[BoolArray, LinkSums]:
    """Which records stay, and links of those, for several ε-quasis with exponential noise."""
    together = np.column_stack(published)
    stays = _staying(values, together, class_ids, reach, confident, None)
    found = several_attributes.nearest_originals(
        values, together, class_ids, ranges=ranges, epsilon=epsilon, stays=stays
    )
    return stays, found.sums()


def _staying(
    values: FloatArray,
    published: FloatArray,
    class_ids: IntArray,
    reach: FloatArray | None,
    confident: ConfidentK | None,
    members: Members | None,
) -> BoolArray:
    """Which records stay for confident k, for any number of ε-quasis."""
    if confident is None or reach is None:
        return np.ones(len(class_ids), dtype=np.bool_)
    if members is None:
        in_reach = several_attributes.originals_in_reach(
            values, published, class_ids, linking_ranges=reach, cap=confident.k, precisions=confident.precisions
        )
    elif values.shape[1] == 1:
        in_reach = persons_in_reach(
            sort_classes(values[:, 0], class_ids, n_classes=len(reach)),
            published[:, 0],
            members,
            linking_ranges=reach[:, 0],
            precision=confident.precisions[0],
        )
    else:
        in_reach = persons_in_reach_of_several(
            values,
            published,
            class_ids,
            members,
            linking_ranges=reach,
            cap=confident.k,
            precisions=confident.precisions,
        )
    return ~suppressed_for_confidence(
        in_reach, class_ids, k=confident.k, n_classes=len(reach), rule=confident.rule, members=members
    )


def _attack_one(
    values: FloatArray,
    published: Sequence[FloatArray],
    class_ids: IntArray,
    *,
    ranges: FloatArray,
    epsilon: float,
    reach: FloatArray | None,
    confident: ConfidentK | None,
) -> tuple[BoolArray, LinkSums]:
    """Which records stay, and links of those, for at most one ε-quasi with exponential noise."""
    n_classes = len(ranges)
    stays = np.ones(len(class_ids), dtype=np.bool_)
    links = LinkSums()
    for records, own_ids, block in runs_of_classes(class_ids, n_classes=n_classes):
        n_own = block.stop - block.start
        own_values, own_published = only_attribute(values, published, records)
        classes = sort_classes(own_values, own_ids, n_classes=n_own)
        staying = None
        if confident is not None and reach is not None:
            in_reach = originals_in_reach(
                classes, own_published, linking_ranges=reach[block, 0], precision=confident.precisions[0]
            )
            staying = ~suppressed_for_confidence(in_reach, own_ids, k=confident.k, n_classes=n_own, rule=confident.rule)
            stays[records] = staying
        links += link_sums(
            classes,
            own_published,
            ranges=ranges[block, 0] if ranges.shape[1] else np.zeros(n_own),
            epsilon=epsilon,
            stays=staying,
            largest_elsewhere=links.largest,
        )
    return stays, links


def _sum_errors(mine: tuple[ErrorSums, ...], theirs: tuple[ErrorSums, ...]) -> tuple[ErrorSums, ...]:
    """Errors added up by ε-quasi."""
    if len(mine) != len(theirs):
        raise ValueError("tallies of different ε-quasis do not add up")
    return tuple(one + other for one, other in zip(mine, theirs, strict=True))
