# SPDX-License-Identifier: Apache-2.0
"""Links of an attacker who joins released records with equal noisy values, where all records of a person get one draw.

Joined records show all classes that the person is in, and how many records in each: the person's signature. So the
attacker, who knows the quasis of all records of everybody, looks among the persons with just these classes, and takes the
one whose value is likeliest. All of them have equally many records, so every right link is worth that many records. Some
persons may have equal noisy values by chance, and confident k may leave out records of a person; both make the attacker's
task harder, so the figures are at most what the attacker gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.expectations import Expectations, expect
from kepsilon.evaluate.linking.class_attacks import attack_classes
from kepsilon.evaluate.noise_law import NoiseLaw
from kepsilon.evaluate.originals.members import members_of
from kepsilon.evaluate.simulation import Blocks
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.blocks import block_bounds
from kepsilon.table.coded_values import code_values
from kepsilon.table.steps import Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """Which classes the records of each person are in, and how many are in each; persons are numbered from 0."""

    of_person: IntArray
    """Persons have the same number if they have as many records as each other in every class, shape (n_persons,)."""
    n_records: IntArray
    """Records of each person, shape (n_persons,)."""

    @property
    def n_signatures(self) -> int:
        return int(self.of_person.max(initial=-1)) + 1


def signatures_of(persons: IntArray, class_ids: IntArray, counts: IntArray) -> Signatures:
    """The signatures of persons numbered 0 … n − 1, from how many records each has in which class.

    Each entry is a person, a class and the records of the person there, all of shape (n_entries,); no pair of person and
    class comes twice, and every person comes at least once.
    """
    n_persons = int(persons.max(initial=-1)) + 1
    order = np.lexsort((class_ids, persons))
    pairs = np.column_stack([class_ids, counts])[order]
    _, codes = np.unique(pairs, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    lengths = np.bincount(persons, minlength=n_persons)
    starts = np.cumsum(lengths) - lengths
    of_person = np.empty(n_persons, dtype=np.int64)
    n_before = 0
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        own = np.flatnonzero(lengths == length)
        rows = codes[starts[own, np.newaxis] + np.arange(length)]
        distinct, numbers = np.unique(rows, axis=0, return_inverse=True)
        of_person[own] = n_before + numbers.reshape(-1)
        n_before += len(distinct)
    n_records = np.bincount(persons, weights=counts, minlength=n_persons).astype(np.int64)
    return Signatures(of_person=of_person, n_records=n_records)


def signatures_of_records(persons: IntArray, class_ids: IntArray) -> tuple[IntArray, Signatures]:
    """The distinct persons of some records, rising, and their signatures; the records have to be all there are."""
    distinct, numbers = np.unique(persons, return_inverse=True)
    members = members_of(numbers, class_ids, n_classes=int(class_ids.max(initial=-1)) + 1)
    person = np.empty(len(members.class_ids), dtype=np.int64)
    person[members.of_record] = numbers
    return distinct, signatures_of(person, members.class_ids, members.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedLinks:
    """What the attacker gains who joins records with equal noisy values."""

    share: Estimate
    """Expected share of the records that are linked to the right person, at most."""
    largest: float
    """The most that any published value can make the right person probable, to whoever looks at one person at a time.

    In a signature of n persons it is 1/(1 + (n − 1)·e^(−ε)) at most, whatever their values are.
    """
    largest_by_matching: float
    """A bound on the same for whoever matches all persons of a signature to their joined records, one to one."""


def expected_joined_links(
    signatures: Signatures,
    values: FloatArray,
    *,
    low: FloatArray,
    high: FloatArray,
    epsilons: Sequence[float],
    mechanism: NoiseLaw,
    steps: Sequence[Steps],
) -> list[JoinedLinks]:
    """What the attacker gains, for each ε.

    `values` are those of every person, which get noise, shape (n_persons, n_attributes); `low` and `high` are the ends of
    the declared ranges, shape (n_attributes,). A signature is treated as a class, and a person as a record of it.
    """
    shares = [Estimate() for _ in epsilons]
    largest, by_matching = np.zeros((2, len(epsilons)))
    n_all = int(signatures.n_records.sum())
    # Persons with equally many records together, so that what their links are worth multiplies a sum.
    numbers, n_persons = np.unique(signatures.n_records, return_counts=True)
    n_before = np.cumsum(n_persons) - n_persons
    for n_own, first in zip(numbers.tolist(), n_before.tolist(), strict=True):
        figures = _as_classes(
            signatures, values, n_own, low=low, high=high, mechanism=mechanism, steps=steps, n_before=first
        ).figures
        for i, links in enumerate(figures.links(epsilons)):
            shares[i] += links.fair.per(n_all / n_own)
        np.maximum(largest, figures.largest(epsilons), out=largest)
        np.maximum(by_matching, figures.largest([2 * epsilon for epsilon in epsilons]), out=by_matching)
    return [
        JoinedLinks(share=share, largest=one, largest_by_matching=other)
        for share, one, other in zip(shares, largest.tolist(), by_matching.tolist(), strict=True)
    ]


def realised_joined_share(
    signatures: Signatures,
    values: FloatArray,
    published: FloatArray,
    *,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    mechanism: NoiseLaw,
    steps: Sequence[Steps],
) -> float:
    """The share of the records that the attacker links in what was drawn, if all records are released.

    `published` is what was drawn for every person, shaped like `values`; other arguments as for `expected_joined_links`.
    """
    n_linked = 0.0
    for n_own in np.unique(signatures.n_records).tolist():
        chosen, ids, n_signatures = _with_records(signatures, values, n_own)
        links = attack_classes(
            values[chosen],
            published[chosen],
            ids,
            np.ones(len(chosen), dtype=np.bool_),
            mechanism=mechanism,
            low=np.tile(low, (n_signatures, 1)),
            high=np.tile(high, (n_signatures, 1)),
            epsilon=epsilon,
            steps=steps,
        )
        n_linked += n_own * links.fair
    return n_linked / int(signatures.n_records.sum())


def _with_records(signatures: Signatures, values: FloatArray, n_own: int) -> tuple[IntArray, IntArray, int]:
    """The persons with `n_own` records in the order of their signatures, the signature of each from 0 on, and how many.

    Persons of one signature are sorted by values, so that simulated figures do not depend on what persons are called.
    """
    chosen = np.flatnonzero(signatures.n_records == n_own)
    chosen = chosen[np.lexsort((*values[chosen].T[::-1], signatures.of_person[chosen]))]
    numbers, ids = np.unique(signatures.of_person[chosen], return_inverse=True)
    return chosen, ids, len(numbers)


def _as_classes(
    signatures: Signatures,
    values: FloatArray,
    n_own: int,
    *,
    low: FloatArray,
    high: FloatArray,
    mechanism: NoiseLaw,
    steps: Sequence[Steps],
    n_before: int,
) -> Expectations:
    """The expected figures of the signatures of persons with `n_own` records, as classes of one record for each person.

    `n_before` is how many persons were looked at before: it keeps the random numbers of simulations apart.
    """
    chosen, ids, n_signatures = _with_records(signatures, values, n_own)
    own = values[chosen]
    coded = [code_values(own[:, 0], precision=steps[0].precision)] if own.shape[1] == 1 else []
    return expect(
        own,
        coded,
        ids,
        mechanism=mechanism,
        low=np.tile(low, (n_signatures, 1)),
        high=np.tile(high, (n_signatures, 1)),
        steps=steps,
        blocks=Blocks(bounds=block_bounds(np.bincount(ids)), n_records=len(values), first_class=n_before),
    )
