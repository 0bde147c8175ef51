# SPDX-License-Identifier: Apache-2.0
"""Averages of neighbours before they are released: which records are averaged together, and every figure that follows.

Groups depend on the values alone, so that what is predicted here is what is released; only where further requirements
look at equal values, chance decides which of them come together, and the largest risk of one record is that of the worst
chance. An attacker who knows all true values can make the same groups, and then guesses within them: nobody does better,
and risk is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass, Random
from kepsilon.errors import MemoryLimitError, PolicyError, Problem
from kepsilon.evaluate.group_extremes import telling_groups
from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.evaluate.linking.linking_risk import LinkSums
from kepsilon.evaluate.originals.members import Members, members_of
from kepsilon.kanonymise.requirements.protocol import all_met_by_records
from kepsilon.perturb.averages.averages import averages_of, looking_alike, unrounded_averages_of
from kepsilon.perturb.averages.grouping import Groups, group_records
from kepsilon.perturb.averages.merging import GroupsMeet
from kepsilon.perturb.averages.points import TooWideError
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.predict.noise_ranges import clip
from kepsilon.predict.recheck import RequirementsAgain
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.class_members import ClassMembers


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragedBatch:
    """The groups of a batch, with what is averaged."""

    values: FloatArray
    """Clipped where bounds are declared, shape (n_records, n_epsilon_quasis)."""
    originals: FloatArray
    """As they are in the data."""
    clipped: dict[str, int]
    asked: int
    """How many records, or persons, a group was to have at least."""
    precisions: Sequence[Fraction]
    groups: Groups
    persons: IntArray | None
    """Whose record each record is, shape (n_records,); None where every record is a person."""
    exact: FloatArray
    """The average of each group before it is rounded, shape (n_groups, n_epsilon_quasis)."""
    members: Members | None
    """Whose records the records of each group are; None where every record is a person."""
    sets: IntArray
    """The set of every record, shape (n_records,): groups that look alike are one set; otherwise a set is a group."""
    set_members: Members | None
    """Whose records the records of each set are; None where every record is a person."""

    @property
    def sums(self) -> GroupSums:
        """The groups, counted and measured."""
        distances = np.nan_to_num(self.values - self.exact[self.groups.of_record])
        sizes = self.groups.sizes if self.members is None else self.members.n_persons
        telling = [
            telling_groups(
                self.values[:, j],
                self.groups.of_record,
                self.groups.sizes,
                precision=float(precision),
                members=self.members,
            )
            for j, precision in enumerate(self.precisions)
        ]
        return GroupSums(
            n_groups=self.groups.n_groups,
            smallest=int(sizes.min()),
            largest=int(sizes.max()),
            n_values=tuple(np.count_nonzero(~np.isnan(self.values), axis=0).tolist()),
            n_short=int(np.count_nonzero(sizes < self.asked)),
            n_agreeing=tuple(int(np.count_nonzero(own.agreeing)) for own in telling),
            n_extreme=tuple(int(np.count_nonzero(own.extreme)) for own in telling),
            squares=distances.T @ distances,
        )

    @property
    def links(self) -> LinkSums:
        """What whoever knows all true values links: a set is worth one record, or the most that one person has in it."""
        sizes = np.bincount(self.sets)
        if self.set_members is None:
            return LinkSums(fair=float(len(sizes)), paper=float(sizes.sum()), largest=float(1 / sizes.min()))
        members = self.set_members
        shares = members.counts / sizes[members.class_ids]
        is_most = members.counts == members.most[members.class_ids]
        return LinkSums(
            fair=float(members.most.sum()),
            paper=float(members.counts[is_most].sum()),
            largest=float(shares.max()),
            n_over_half=int(members.counts[shares > 0.5].sum()),
            n_over_nine_tenths=int(members.counts[shares > 0.9].sum()),
        )

    @property
    def largest_possible(self) -> float:
        """How sure whoever knows all true values can be of one record, whichever of equal records are in which group.

        Joined groups are no smaller than they were, and none of their persons has a larger share; so where chance decides
        which groups are joined, no release shows more than the groups before that.
        """
        apart = self.groups.before_joining
        if apart is None:
            return self.links.largest
        _, sets = np.unique(np.where(apart < 0, self.sets, apart + len(apart)), return_inverse=True)
        if self.persons is None:
            return float(1 / np.bincount(sets).min())
        members = members_of(self.persons, sets, n_classes=int(sets.max()) + 1)
        return float((members.counts / np.bincount(sets)[members.class_ids]).max())

    def published(self, policy: Policy) -> FloatArray:
        """What every record publishes if nothing is drawn, shaped like `values`."""
        return averages_of(self.groups, _precisions(policy))[self.groups.of_record]


def average_batch(
    batch: Batch | LargeClass, policy: Policy, *, again: RequirementsAgain | None, source: Random | None = None
) -> AveragedBatch:
    """The groups of one batch of whole classes; `source` decides between equal values when a release is made."""
    if not isinstance(batch, Batch):
        raise MemoryLimitError(
            Problem(
                where="",
                what="a class is too large to be held in memory, which averages need. Nothing was released.",
                fix="Give more memory, or coarsen less, so that classes are smaller.",
            )
        )
    if policy.averages is None:
        raise ValueError("the policy asks for no averages")
    values, clipped = clip(batch.values, policy)
    n_classes = batch.classes.stop - batch.classes.start
    try:
        groups = group_records(
            values,
            batch.class_ids,
            n_classes=n_classes,
            group=policy.averages.group,
            precisions=_precisions(policy),
            persons=batch.persons,
            meets=None if again is None else _meets(again, batch.sensitive, batch.persons),
            source=source,
        )
    except TooWideError as error:
        raise _too_wide(policy, error.attribute) from None
    sets = _sets(groups, policy)[groups.of_record]
    members = set_members = None
    if batch.persons is not None:
        members = members_of(batch.persons, groups.of_record, n_classes=groups.n_groups)
        set_members = members_of(batch.persons, sets, n_classes=int(sets.max()) + 1)
    return AveragedBatch(
        values=values,
        originals=batch.values,
        clipped=clipped,
        asked=policy.averages.group,
        precisions=_precisions(policy),
        groups=groups,
        persons=batch.persons,
        exact=unrounded_averages_of(groups, _precisions(policy)),
        members=members,
        sets=sets,
        set_members=set_members,
    )


def _sets(groups: Groups, policy: Policy) -> IntArray:
    """The set of each group: groups of a class that publish the same averages are one set, where nothing is drawn."""
    if policy.averages is not None and (policy.averages.noise or policy.averages.spread):
        numbers: IntArray = np.arange(groups.n_groups)
        return numbers
    return looking_alike(groups, _precisions(policy))


def groups_of_records(
    values: FloatArray,
    class_ids: IntArray,
    policy: Policy,
    *,
    persons: IntArray | None,
    again: RequirementsAgain | None = None,
    sensitive: IntArray | None = None,
) -> IntArray:
    """The set of groups that look alike of each of some records, through all classes; −1 where the class id is negative.

    Groups are joined until they meet `again`, if that is given, with `sensitive` as in `Batch`.
    """
    if policy.averages is None:
        raise ValueError("the policy asks for no averages")
    chosen = np.flatnonzero(class_ids >= 0)
    found = np.full(len(class_ids), -1, dtype=np.int64)
    if chosen.size:
        _, own_ids = np.unique(class_ids[chosen], return_inverse=True)
        own_persons = None if persons is None else persons[chosen]
        own_sensitive = None if sensitive is None else sensitive[chosen]
        groups = group_records(
            clip(values[chosen], policy)[0],
            own_ids,
            n_classes=int(own_ids.max()) + 1,
            group=policy.averages.group,
            precisions=_precisions(policy),
            persons=own_persons,
            meets=None if again is None else _meets(again, own_sensitive, own_persons),
        )
        found[chosen] = _sets(groups, policy)[groups.of_record]
    return found


def _meets(again: RequirementsAgain, sensitive: IntArray | None, persons: IntArray | None) -> GroupsMeet:
    """Which groups of some records meet what is required of the values of sensitive columns; arrays as in `Batch`."""

    def meets(records: IntArray, of_record: IntArray, n_groups: int) -> BoolArray:
        return all_met_by_records(
            again.requirements,
            ClassMembers(
                class_ids=of_record,
                n_classes=n_groups,
                persons=None if persons is None else persons[records],
                sensitive={}
                if sensitive is None
                else {name: sensitive[records, j] for j, name in enumerate(again.diverse)},
            ),
        )

    return meets


def _precisions(policy: Policy) -> list[Fraction]:
    return [fraction(attribute.precision) for attribute in policy.epsilon_quasis.values()]


def _too_wide(policy: Policy, attribute: int) -> PolicyError:
    name, own = list(policy.epsilon_quasis.items())[attribute]
    return PolicyError(
        [
            Problem(
                where=f"attributes.{name}.precision",
                what=f"{written(own.precision)} is too fine: values of a class are so many steps apart that they cannot be "
                "summed without error.",
                fix="State a coarser precision, or a domain that values are clipped to.",
            )
        ]
    )
