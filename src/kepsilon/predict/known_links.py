# SPDX-License-Identifier: Apache-2.0
"""What attackers who know kept columns link in a release, found batch by batch while the noise is drawn.

Only then an engine has, in one place, the true values of a record, its kept columns and what is published of it. The classes
are those that were looked at for what is expected of these attackers, so that both figures are about the same records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass
from kepsilon.evaluate.linking.attackers import EVERYTHING, ONE_COLUMN, WORKING_OUT, Attacker
from kepsilon.evaluate.linking.known_columns import KnownLinks, NoisyClasses, links_with_known
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.policy import Policy
from kepsilon.predict.whole_records import WholeLook
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAttacks:
    """Attackers who know kept columns, and the classes that they are tried on."""

    classes: IntArray
    """Ids in the partition, rising."""
    names: tuple[str, ...]
    """Names of the attackers."""
    columns: tuple[tuple[str, ...], ...]
    """The kept columns that each attacker knows."""


def known_attacks(attackers: Iterable[Attacker], look: WholeLook | None) -> KnownAttacks | None:
    """The attackers to try while noise is drawn; None where nobody knows kept columns, or too few records were looked at.

    Where only some records of a class were looked at, so were only some candidates: figures of the whole class would be
    about other records than what is expected.
    """
    if look is None or look.is_thinned:
        return None
    known = {
        own.name: tuple(look.kept) if own.name == EVERYTHING else (own.column,)
        for own in attackers
        if own.name == EVERYTHING or (own.name == ONE_COLUMN and own.column is not None)
    }
    columns = tuple(tuple(name for name in own if name is not None) for own in known.values())
    return KnownAttacks(classes=look.classes, names=tuple(known), columns=columns) if known else None


def realised_attackers(
    attackers: Iterable[Attacker], attacks: KnownAttacks | None, found: KnownLinks | None, policy: Policy
) -> Iterator[Attacker]:
    """Attackers with what they link in the release as drawn, where that was found out."""
    shares = {}
    if attacks is not None and found is not None and found.n_released:
        shares = dict(zip(attacks.names, (found.links / found.n_released).tolist(), strict=True))
    for own in attackers:
        if own.name in shares:
            yield replace(own, realised=shares[own.name])
        elif own.name == WORKING_OUT and policy.confidence is None:
            # Nothing is drawn in what this attacker does, so what is expected is what happens.
            yield replace(own, realised=None if own.risk is None else own.risk.total)
        else:
            yield own


class TriedRecords:
    """Collects the records of one batch that attackers are tried on; they come in the order of the batch."""

    def __init__(self, attacks: KnownAttacks) -> None:
        self._attacks = attacks
        self._n_passed = 0
        self._parts: list[_Part] = []

    def add(
        self,
        part: Batch,
        values: FloatArray,
        published: FloatArray,
        stays: BoolArray,
        *,
        groups: IntArray | None = None,
    ) -> None:
        """Adds a batch, or the next part of a large class; `values` are as they got noise.

        `groups` are the groups whose averages are published: their records look alike, so that averages tell nothing more.
        """
        is_tried = np.zeros(part.classes.stop - part.classes.start, dtype=np.bool_)
        begin, end = np.searchsorted(self._attacks.classes, [part.classes.start, part.classes.stop])
        is_tried[self._attacks.classes[begin:end] - part.classes.start] = True
        chosen = np.flatnonzero(is_tried[part.class_ids])
        own = slice(None) if groups is None else slice(0, 0)
        self._parts.append(
            _Part(
                places=chosen + self._n_passed,
                class_ids=(part.class_ids if groups is None else groups)[chosen],
                values=values[chosen, own],
                published=published[chosen, own],
                stays=stays[chosen],
                persons=None if part.persons is None else part.persons[chosen],
            )
        )
        self._n_passed += len(part.class_ids)

    def links(
        self, batch: Batch | LargeClass, low: FloatArray, high: FloatArray, policy: Policy, *, is_released: bool = True
    ) -> KnownLinks | None:
        """What each attacker links of these records; None where there are none.

        `low` and `high` are the ends of the ranges of the classes of the batch, or have no column where averages are
        published. `is_released` is False for a large class that is taken back.
        """
        tried = _Part.joined(self._parts)
        kept_at, stays = batch.kept_at, tried.stays & is_released
        if kept_at is None or not stays.any():
            return None
        ids, class_ids = np.unique(tried.class_ids, return_inverse=True)
        n_attributes = tried.values.shape[1]
        classes = NoisyClasses(
            class_ids=class_ids,
            values=tried.values,
            low=low[ids] if n_attributes else np.zeros((len(ids), 0)),
            high=high[ids] if n_attributes else np.zeros((len(ids), 0)),
            mechanism=mechanism_of(policy),
            steps=steps_of(policy)[:n_attributes],
            is_sample=True,
            persons=tried.persons,
        )
        names = list(dict.fromkeys(name for own in self._attacks.columns for name in own))
        kept = kept_at(tried.places, names) if names else {}
        epsilon = float(policy.record_epsilon)
        links = [
            links_with_known(classes, [kept[name].codes for name in own], tried.published, stays, epsilon=epsilon)
            for own in self._attacks.columns
        ]
        return KnownLinks(links=np.array(links), n_released=int(np.count_nonzero(stays)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Some of the records; every array has one entry or row for each."""

    places: IntArray
    """Positions in the batch."""
    class_ids: IntArray
    """Classes, counted from the first one of the batch, or groups."""
    values: FloatArray
    published: FloatArray
    stays: BoolArray
    persons: IntArray | None

    @classmethod
    def joined(cls, parts: Sequence[_Part]) -> _Part:
        if len(parts) == 1:
            return parts[0]
        persons = [own.persons for own in parts if own.persons is not None]
        return cls(
            places=np.concatenate([own.places for own in parts]),
            class_ids=np.concatenate([own.class_ids for own in parts]),
            values=np.concatenate([own.values for own in parts]),
            published=np.concatenate([own.published for own in parts]),
            stays=np.concatenate([own.stays for own in parts]),
            persons=np.concatenate(persons) if len(persons) == len(parts) else None,
        )
