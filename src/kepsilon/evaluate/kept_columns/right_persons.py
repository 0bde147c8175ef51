# SPDX-License-Identifier: Apache-2.0
"""How often an attacker who compares a kept column with what he expects finds a record of the right person.

To link any record of a person is as right as to link the very one. Where t candidates fit equally well, of which s are of
the right person, the record counts s/t. A person's records are not independent, so that what is compared with chance is a
person's mean over its records: chance finds one person in a class, however many records each person has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.kept_columns.class_order import ClassOrder
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

_WIDTH = 1 << 36
"""Numbers on the grid of links, and their distances, are smaller than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RightPersons:
    """What one attacker finds through one kept column."""

    records: float
    """Records for which he finds the right person."""
    links_by_chance: float
    """Very records that chance would link: one in a class, if every record shows a value."""
    persons: float
    """The same share of each person's records in a class, added up over persons and classes."""
    by_chance: float
    """What chance would give for `persons`: one in a class, if everybody shows a value."""
    n_persons: int
    """Persons in classes, each counted in every class that it has records in."""
    n_shown: int
    """Those of them that show a value."""
    largest: float
    """The largest chance that the right person is found for one record."""


def nearest_persons(
    shown: IntArray,
    known: IntArray,
    *,
    is_shown: BoolArray,
    ranking: IntArray,
    classes: ClassOrder,
    by_person: ClassOrder,
) -> RightPersons:
    """What is found by taking the original of the class whose `known` number is nearest; arguments as `nearest_links`."""
    at, ids = classes.sorted_as(ranking), classes.ids
    keys = ids * _WIDTH + known[at]
    begins = np.ones(len(at), dtype=np.bool_)
    begins[1:] = keys[1:] != keys[:-1]
    run: IntArray = np.cumsum(begins) - 1
    places = keys[begins]
    run_sizes = np.bincount(run)
    pairs, n_of_pair = np.unique(run * by_person.n_classes + by_person.keys[at], return_counts=True)
    seen = np.flatnonzero(is_shown[classes.records])
    own, person = ids[seen] * _WIDTH + shown[classes.records[seen]], by_person.ids[seen]
    above = np.searchsorted(places, own)
    sides = [np.clip(above + step, 0, len(places) - 1) for step in (-1, 0)]
    # A number of another class is farther than any of the own one.
    distances = [np.abs(places[side] - own) for side in sides]
    nearest = np.minimum(*distances)
    fit, right = np.zeros(len(seen)), np.zeros(len(seen))
    for side, distance, is_new in zip(sides, distances, (True, sides[0] != sides[1]), strict=True):
        is_nearest = (distance == nearest) & is_new
        wanted = side * by_person.n_classes + person
        found = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        fit += np.where(is_nearest, run_sizes[side], 0)
        right += np.where(is_nearest & (pairs[found] == wanted), n_of_pair[found], 0)
    return right_persons(right / fit, seen, classes, by_person)


def right_persons(shares: FloatArray, seen: IntArray, classes: ClassOrder, by_person: ClassOrder) -> RightPersons:
    """What is found, from the share of the candidates of each record that is of the right person.

    `seen` holds the positions in the order of classes of the records that show a value; `shares` belong to these.
    """
    n_seen = np.bincount(by_person.ids[seen], minlength=by_person.n_classes)
    sums = np.bincount(by_person.ids[seen], weights=shares, minlength=by_person.n_classes)
    is_seen = n_seen > 0
    owner = classes.ids[by_person.starts]
    # Chance takes a record, or, where a person's are alike, a person. Where everybody shows a value both give one in a class.
    n_persons = np.bincount(owner)

    def by_chance(weights: FloatArray) -> float:
        by_record = np.bincount(owner, weights=weights * by_person.sizes) / classes.sizes
        by_lot = np.bincount(owner, weights=weights) / n_persons
        return float(np.maximum(by_record, by_lot).sum())

    return RightPersons(
        records=float(sums.sum()),
        links_by_chance=by_chance(n_seen / by_person.sizes),
        persons=float((sums[is_seen] / n_seen[is_seen]).sum()),
        by_chance=by_chance(is_seen.astype(np.float64)),
        n_persons=by_person.n_classes,
        n_shown=int(np.count_nonzero(is_seen)),
        largest=float(shares.max(initial=0.0)),
    )
