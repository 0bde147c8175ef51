# SPDX-License-Identifier: Apache-2.0
"""Tests that the noise was drawn anew for every record, and tells nothing but itself, where a linkage is given.

Under the claim the residuals of `residuals` are independent and uniform, whatever else is known about the records. So
nothing that was fixed before noise was drawn (class, row, place in the class, kept values) can go with their direction
or their size, no two can agree more closely than chance has it, and no part of the records can have smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.claimed_law import lattice_share
from kepsilon.auditing.grouped import mean_ranks, numbered_groups
from kepsilon.auditing.noise_law import whole_units
from kepsilon.auditing.order import correlation_probability, sorting_ranks
from kepsilon.auditing.pattern_bounds import (
    copied_probability,
    follows_probability,
    repeated_probability,
    shared_probability,
    special_probability,
    thinner_probabilities,
    thinner_probability,
    ties_probability,
)
from kepsilon.auditing.residuals import Residuals, released_as
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.threads import each_of

N_BLOCKS = (4, 16, 64)
"""Numbers of stretches that the rows of the input are divided into."""

Suspicions = dict[str, float]
"""Bound on the probability, under the claim, of what was found, by what it would mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Direction and size of the noise of some originals, both uniform on −1 to 1, NaN where it was not released."""

    rows: IntArray
    direction: FloatArray
    size: FloatArray

    @property
    def both(self) -> Mapping[str, FloatArray]:
        """The two by their names in messages."""
        return {"direction": self.direction, "size": self.size}


def check_patterns(case: AuditCase, by_name: Mapping[str, Residuals]) -> None:
    """Tests the noise on each ε-quasi for every pattern at once, and adds one finding for each ε-quasi."""
    found = {name: _suspicions(case, residuals) for name, residuals in by_name.items()}
    n_tests = sum(map(len, found.values()))
    if not n_tests:
        return
    if case.policy.confidence is not None:
        # Whether classes were taken out decides which records and which tests there are; each way has half the chance.
        n_tests *= 2
    level = case.false_alarms.level("patterns", n_tests=n_tests)
    for name, suspicions in found.items():
        faults = [what for what, probability in suspicions.items() if probability < level]
        case.findings.require(
            not faults,
            "noise",
            right=f"{name}: {len(suspicions)} ways in which noise could be shared, repeated, thinner for some or tell "
            "something else, and none shows.",
            wrong=f"the noise on {name} is not drawn anew, and alike, for every record: {'; '.join(faults)}.",
        )


def _suspicions(case: AuditCase, residuals: Residuals) -> Suspicions:
    """Every test of one ε-quasi. Which tests are made depends on the originals and the policy, not on the noise."""
    in_classes = _observed(residuals.rows, residuals.uniform)
    blank = np.full(len(residuals.elsewhere), np.nan)
    everybody = _observed(
        np.concatenate([residuals.rows, residuals.elsewhere]), np.concatenate([residuals.uniform, blank])
    )
    return {
        **_within_classes(case, residuals, in_classes),
        **_across_classes(case, residuals, everybody, in_classes),
        **_against_columns(case, everybody),
        **_against_order(case, in_classes),
    }


def _observed(rows: IntArray, uniform: FloatArray) -> Observed:
    direction = 2 * uniform - 1
    return Observed(rows=rows, direction=direction, size=2 * np.abs(direction) - 1)


def _within_classes(case: AuditCase, residuals: Residuals, observed: Observed) -> Suspicions:
    """Noise shared by records of a class, in pairs of opposite sign, or smaller in some classes."""
    # Classes that are not in the release were taken out by their noise; they have at least k records each.
    n_absent = residuals.n_elsewhere // case.policy.k
    # But not k draws, where records of a person share one.
    ids, k = residuals.class_ids, 2 if case.policy.draws_once_per_person else case.policy.k
    direction, size = observed.direction, observed.size
    return {
        "records of a class share it": shared_probability(direction, ids, n_absent=n_absent, least=k),
        "records of a class have opposite noise": shared_probability(
            direction, ids, n_absent=n_absent, least=k, opposite=True
        ),
        "records of a class share its size": shared_probability(size, ids, n_absent=n_absent, least=k),
        "it is the same for some records of a class": ties_probability(
            size, ids, lattice=lattice_share(case), n_elsewhere=residuals.n_elsewhere
        ),
        "it is smaller in some classes": thinner_probability(size, ids, lattice=lattice_share(case), n_absent=n_absent),
    }


def _across_classes(case: AuditCase, residuals: Residuals, everybody: Observed, in_classes: Observed) -> Suspicions:
    """Noise that comes again in other classes, or follows the place in the class, or is smaller for some records."""
    n_elsewhere, lattice = residuals.n_elsewhere, lattice_share(case)
    suspicions = {
        "the same values of it come again and again": repeated_probability(residuals.uniform, n_elsewhere=n_elsewhere),
        "it is the same for records of different classes": ties_probability(
            in_classes.size, np.zeros(len(in_classes.rows), dtype=np.int64), lattice=lattice, n_elsewhere=n_elsewhere
        ),
        "it is smaller for some of the records": thinner_probability(
            everybody.size, np.zeros(len(everybody.rows), dtype=np.int64), lattice=lattice
        ),
    }
    orders = {"by row": residuals.rows.astype(np.float64)}
    for name, values in case.original.numbers.items():
        orders[f"by {name}"] = values[residuals.rows]
    # The places of absent classes are not known, and each of them may be in any group.
    for how, values in orders.items():
        place = places_in_groups(np.nan_to_num(values), residuals.class_ids)
        for what, own in in_classes.both.items():
            if not residuals.n_elsewhere:
                suspicions[f"the same place in the class ({how}) has the same {what}"] = shared_probability(own, place)
                suspicions[f"two classes have the same {what}, place by place ({how})"] = copied_probability(
                    own, residuals.class_ids, place
                )
            relative = _relative_places(place, residuals.class_ids)
            suspicions[f"its {what} follows the place in the class ({how})"] = follows_probability(
                own, relative, n_elsewhere=n_elsewhere
            )
    return suspicions


def _against_columns(case: AuditCase, everybody: Observed) -> Suspicions:
    """Noise that goes with the row of the input, or with a value of the record that is published or generalised.

    Ranks are those among all originals, so that they do not depend on who was taken out.
    """
    rows, n_originals = everybody.rows, case.original.n_records
    ordered: dict[str, FloatArray] = {"the row of the input": np.arange(n_originals, dtype=np.float64)}
    for name, values in case.original.numbers.items():
        ordered[name] = np.nan_to_num(values)
    groups: dict[str, IntArray] = {"whether the row of the input is even": rows % 2, **last_digits(case, rows)}
    for n_blocks in N_BLOCKS:
        groups[f"the part of the input, of {n_blocks}"] = rows * n_blocks // max(1, n_originals)
    for name in (*case.policy.kept, *case.original.domains):
        texts, codes = case.original.table.texts(name)
        groups[name] = codes[rows]
        ordered[f"the order of {name}"] = sorting_ranks(texts)[codes]
    tests: list[Callable[[], Suspicions]] = [
        *(partial(_following, everybody, name, values) for name, values in ordered.items()),
        *(partial(_depending, everybody, name, ids) for name, ids in groups.items()),
        partial(_thinner_by_group, everybody, groups, lattice=lattice_share(case)),
    ]
    return dict(pair for found in each_of(tests, _calmly) for pair in found.items())


def _calmly(test: Callable[[], Suspicions]) -> Suspicions:
    """What a test finds; NumPy need not warn of what a tampered release does to a sum, in whatever thread."""
    with np.errstate(all="ignore"):
        return test()


def _following(everybody: Observed, name: str, values: FloatArray) -> Suspicions:
    """Noise that goes with the rank of a value among all originals."""
    weights = _centred_ranks(values)[everybody.rows]
    return {f"its {what} follows {name}": follows_probability(own, weights) for what, own in everybody.both.items()}


def _depending(everybody: Observed, name: str, ids: IntArray) -> Suspicions:
    """Noise that goes with the group that an original is in."""
    suspicions: Suspicions = {}
    for what, own in everybody.both.items():
        suspicions[f"its {what} depends on {name}"] = shared_probability(own, ids)
        suspicions[f"its {what} is special for one value of {name}"] = special_probability(own, ids)
    return suspicions


def _thinner_by_group(everybody: Observed, groups: Mapping[str, IntArray], *, lattice: float) -> Suspicions:
    """Noise that is smaller in some of the groups."""
    thinner = thinner_probabilities(everybody.size, groups, lattice=lattice)
    return {f"it is smaller for some values of {name}": found for name, found in thinner.items()}


def last_digits(case: AuditCase, rows: IntArray) -> Mapping[str, IntArray]:
    """The last digit, in units of the precision, of each ε-quasi of the originals in `rows`."""
    digits = {}
    for name, attribute in case.policy.epsilon_quasis.items():
        units = whole_units(np.nan_to_num(case.original.numbers[name][rows]), fraction(attribute.precision))
        digits[f"the last digit of {name} in the input"] = np.mod(units, 10).astype(np.int64)
    return digits


def _against_order(case: AuditCase, observed: Observed) -> Suspicions:
    """Noise that goes with the place in the release; the release is in random order, whichever records are in it."""
    released = ~np.isnan(observed.direction)
    places = released_as(case)[observed.rows[released]].astype(np.float64)
    return {
        f"its {what} follows the row of the release": correlation_probability(own[released], places)
        for what, own in observed.both.items()
    }


def places_in_groups(values: FloatArray, ids: IntArray) -> IntArray:
    """Place of each value among those of its group, from 0; equal values stand as they do in `values`."""
    order = np.lexsort((values, ids))
    is_first = np.diff(ids[order], prepend=-1) != 0
    position = np.arange(len(ids))
    places = np.empty(len(ids), dtype=np.int64)
    places[order] = position - np.maximum.accumulate(np.where(is_first, position, 0))
    return places


def _relative_places(places: IntArray, ids: IntArray) -> FloatArray:
    """Places in groups as numbers from −1 for the first to 1 for the last; 0 where a group has one member."""
    ids, sizes = numbered_groups(ids)
    last = np.maximum(1, sizes[ids] - 1)
    return np.where(sizes[ids] > 1, 2 * places / last - 1, 0.0)


def _centred_ranks(values: FloatArray) -> FloatArray:
    """Ranks as numbers from −1 to 1 with mean 0; equal values share the mean of their ranks."""
    ranks = mean_ranks(values)
    centred: FloatArray = (ranks - ranks.mean()) / max(1.0, len(values) / 2)
    return centred
