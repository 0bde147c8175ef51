# SPDX-License-Identifier: Apache-2.0
"""Looks at the records of each person in all classes together: which classes they are in, and whether ε-quasis are constant.

Asked for where all records of a person get one draw. Whether an ε-quasi is constant within every person is measured, and
never assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from kepsilon.engines.protocol import Batch, LargeClass, Preview
from kepsilon.errors import DataError, Problem
from kepsilon.evaluate.linking.joined_records import (
    JoinedLinks,
    Signatures,
    expected_joined_links,
    realised_joined_share,
    signatures_of,
)
from kepsilon.evaluate.originals.members import members_of
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.predict.noise_ranges import clip, declared_ends
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.steps import steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLook:
    """The persons of all classes."""

    persons: IntArray
    """The number of every person, rising, shape (n_persons,)."""
    values: FloatArray
    """What gets noise, clipped to declared bounds, of one record of every person, shape (n_persons, n_epsilon_quasis)."""
    varying: Mapping[str, int]
    """Persons whose records differ in it, by ε-quasi."""
    signatures: Signatures

    @property
    def n_persons(self) -> int:
        return len(self.persons)

    def refuse_varying(self) -> None:
        """DataError if an ε-quasi differs between the records of a person, so that no single draw can serve them all."""
        problems = [
            Problem(
                where="",
                what=f'epsilon_per = "person" draws once for each person, but {shown_name(name)} differs between the records '
                f"of {n:,} of {self.n_persons:,} persons.",
                fix="Make it constant in the input, or state max_records_per_person, so that a person's records share "
                "epsilon.",
            )
            for name, n in self.varying.items()
            if n
        ]
        if problems:
            raise DataError(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PersonsOfBatch:
    """The persons of one batch, one entry for each pair of a person and a class; small enough to return from a worker."""

    persons: IntArray
    class_ids: IntArray
    counts: IntArray
    low: FloatArray
    """Smallest values of each pair's records, (n_pairs, n_epsilon_quasis); −∞ where some are missing."""
    high: FloatArray
    """Largest values, shaped like `low`; −∞ where all are missing."""


def look_at_persons(classes: Preview, policy: Policy) -> PersonLook:
    """The persons of all classes, found in one pass over the records."""
    found = list(classes.each(partial(_look_at_batch, policy=policy)))
    persons, class_ids, counts = (
        np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(own, name) for own in found)])
        for name in ("persons", "class_ids", "counts")
    )
    d = len(policy.epsilon_quasis)
    low, high = (np.concatenate([np.zeros((0, d)), *(getattr(own, name) for own in found)]) for name in ("low", "high"))
    distinct, first, numbers = np.unique(persons, return_index=True, return_inverse=True)
    smallest, largest = np.full((len(distinct), d), np.inf), np.full((len(distinct), d), -np.inf)
    np.minimum.at(smallest, numbers, low)
    np.maximum.at(largest, numbers, high)
    varies: BoolArray = smallest != largest
    return PersonLook(
        persons=distinct,
        values=np.where(np.isneginf(low[first]), np.nan, low[first]),
        varying={name: int(np.count_nonzero(varies[:, j])) for j, name in enumerate(policy.epsilon_quasis)},
        signatures=signatures_of(numbers, class_ids, counts),
    )


def _look_at_batch(batch: Batch | LargeClass, *, policy: Policy) -> _PersonsOfBatch:
    """The persons of one batch, or of a large class, which is read in parts; a pair may then come several times."""
    if isinstance(batch, Batch):
        return _look_at_part(batch, policy)
    parts = [_look_at_part(part, policy) for part in batch.parts()]
    together = _PersonsOfBatch(
        **{
            name: np.concatenate([getattr(own, name) for own in parts])
            for name in ("persons", "class_ids", "counts", "low", "high")
        }
    )
    order = np.argsort(together.persons, kind="stable")
    firsts = np.flatnonzero(np.diff(together.persons[order], prepend=together.persons[order][:1] - 1) != 0)
    return _PersonsOfBatch(
        persons=together.persons[order][firsts],
        class_ids=together.class_ids[order][firsts],
        counts=np.add.reduceat(together.counts[order], firsts),
        low=np.minimum.reduceat(together.low[order], firsts, axis=0),
        high=np.maximum.reduceat(together.high[order], firsts, axis=0),
    )


def _look_at_part(part: Batch, policy: Policy) -> _PersonsOfBatch:
    """The persons of some records."""
    if part.persons is None:
        raise ValueError("the records do not say whom they are about")
    members = members_of(part.persons, part.class_ids, n_classes=part.classes.stop - part.classes.start)
    values, _ = clip(part.values, policy)
    values = np.where(np.isnan(values), -np.inf, values)
    order = np.argsort(members.of_record, kind="stable")
    firsts = np.cumsum(members.counts) - members.counts
    return _PersonsOfBatch(
        persons=part.persons[order][firsts].astype(np.int64),
        class_ids=members.class_ids.astype(np.int64) + part.classes.start,
        counts=members.counts,
        low=np.minimum.reduceat(values[order], firsts, axis=0) if len(order) else values,
        high=np.maximum.reduceat(values[order], firsts, axis=0) if len(order) else values,
    )


def joined_links_of(look: PersonLook, policy: Policy, epsilons: list[float]) -> list[JoinedLinks]:
    """What whoever joins records with equal noisy values gains at each ε of a draw."""
    low, high = declared_ends(policy)
    return expected_joined_links(
        look.signatures,
        look.values,
        low=low,
        high=high,
        epsilons=epsilons,
        mechanism=mechanism_of(policy),
        steps=steps_of(policy),
    )


def realised_joined(look: PersonLook, published: FloatArray, policy: Policy) -> float:
    """The share of records that whoever joins equal noisy values links, if all are released.

    `published` is what was drawn for every person, shape (n_persons, n_epsilon_quasis).
    """
    low, high = declared_ends(policy)
    return realised_joined_share(
        look.signatures,
        look.values,
        published,
        low=low,
        high=high,
        epsilon=float(policy.record_epsilon),
        mechanism=mechanism_of(policy),
        steps=steps_of(policy),
    )
