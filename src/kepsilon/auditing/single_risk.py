# SPDX-License-Identifier: Apache-2.0
"""Works out, from the originals alone, how sure an attacker who knows all quasi-identifiers can be of any one record.

The published value of a record makes its own original v_i most probable if it is v_i itself: 1/Σ_j exp(−ε‖v_i − v_j‖/R) over
the originals v_j of its class. Whoever matches all records of a class to its originals at once, one to one, is bounded by the
same at 2ε: if the originals of two records are exchanged, both likelihoods fall by a factor of exp(−ε‖v_i − v_j‖/R) at most.
Here every original is compared with every other of its class.

Where a person may have several records, it is the person who is found out. If m of the originals are the person's, and S is
the smallest sum of exp(−ε‖v_i − v_j‖/R) over the originals j of others, of any of the person's originals i, the posterior of
the person is 1/(1 + S/m) at most.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.findings import LargestRisks
from kepsilon.auditing.group_figures import set_largest_risk_of_groups
from kepsilon.auditing.one_attribute import OrderedClasses
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.policy.guarantee import matcher_in_words
from kepsilon.policy.names import shown_name
from kepsilon.policy.roles import written
from kepsilon.table.arrays import FloatArray, IntArray

MOST_PAIRS = 1 << 27
"""Distinct originals compared with each other, at most; if there are more, the figures are not worked out."""

AT_ONCE = 1 << 22
"""Pairs compared at a time."""

ROUNDING = 1 + 1e-9
"""A figure is above another one only if it is by more than this factor."""


def check_single_risk(case: AuditCase) -> None:
    """Sets the largest risks among the figures, and holds them against the policy's limit on one record."""
    policy, findings = case.policy, case.findings
    if policy.averages is not None:
        set_largest_risk_of_groups(case)
        return
    if why_not_judged(policy) is not None:
        return
    if not case.classes.is_known.any():
        return
    found = largest_risks(case)
    if found is None:
        findings.note(
            "risk", "there are too many pairs of originals to work out how sure an attacker can be of one record."
        )
        return
    findings.figures = replace(findings.figures, largest_risks=found)
    limit = policy.max_individual_risk
    if found.by_matching is None:
        findings.note(
            "risk",
            "how sure an attacker can be who joins records with equal noisy values was not worked out"
            + (", nor held against max_individual_risk." if limit is not None else "."),
        )
    elif limit is not None:
        who = matcher_in_words(
            map(shown_name, [*policy.k_quasis, *policy.epsilon_quasis]), noisy=bool(policy.epsilon_quasis)
        )
        findings.require(
            found.by_matching <= limit * ROUNDING,
            "risk",
            right=f"{who} can be no surer of any one record than max_individual_risk = {written(limit)} allows.",
            wrong=f"{who} can be surer of some record than max_individual_risk = {written(limit)} allows.",
        )


def largest_risks(case: AuditCase) -> LargestRisks | None:
    """The largest risks over all classes whose originals are known; None where there are too many pairs to compare."""
    classes, noise, epsilon = case.classes, case.noise, case.epsilon
    distinct, of_persons, persons = [], [], case.original.persons
    alone: list[FloatArray] = []
    n_pairs = 0
    for c, _, originals in classes.members():
        values = in_ranges(noise.values[originals], noise.ranges[c])
        if persons is not None and len(np.unique(persons[originals])) < len(originals):
            n_pairs += len(originals) ** 2
            of_persons.append((values, persons[originals]))
            if n_pairs > MOST_PAIRS:
                return None
            continue
        if values.shape[1] == 1 and not np.isnan(values).any():
            alone.append(values[:, 0])
            continue
        places, counts = np.unique(values, axis=0, return_counts=True)
        n_pairs += len(places) ** 2
        if n_pairs > MOST_PAIRS:
            return None
        distinct.append((places, counts))
    ids = np.repeat(np.arange(len(alone)), [len(own) for own in alone])
    ordered = OrderedClasses.of(np.concatenate(alone), ids) if alone else None
    of_one, by_matching = (
        max(
            0.0 if ordered is None else ordered.largest_posterior(epsilon=own, reach=np.ones(len(alone))),
            *(largest_posterior(places, counts, epsilon=own) for places, counts in distinct),
            *(largest_posterior_of_persons(values, of_whom, epsilon=own) for values, of_whom in of_persons),
            0.0,
        )
        for own in (epsilon, 2 * epsilon)
    )
    return LargestRisks(of_one=of_one, by_matching=None if case.policy.draws_once_per_person else by_matching)


def in_ranges(values: FloatArray, ranges: FloatArray) -> FloatArray:
    """Values of the ε-quasis that have noise, in units of the range of the class; a single 0 each where none has."""
    active = ranges > 0
    if not active.any():
        return np.zeros((len(values), 1))
    own = values[:, active]
    scaled: FloatArray = (own - own.min(axis=0)) / ranges[
        active
    ]  # so that a small range among large values is not rounded away
    return scaled


def largest_posterior(places: FloatArray, counts: IntArray, *, epsilon: float) -> float:
    """The largest posterior of one class, from its distinct originals and how many records hold each."""
    if places.shape[1] == 1 and not np.isnan(places).any():
        ids = np.zeros(len(places), dtype=np.int64)
        ordered = OrderedClasses(values=places[:, 0], class_ids=ids, counts=counts, of_original=ids)
        return ordered.largest_posterior(epsilon=epsilon, reach=np.ones(1))
    largest = 0.0
    at_once = max(1, AT_ONCE // len(places))
    for start in range(0, len(places), at_once):
        part = places[start : start + at_once]
        farthest = np.zeros((len(part), len(places)))
        for j in range(places.shape[1]):
            np.fmax(farthest, np.abs(part[:, j, np.newaxis] - places[:, j]), out=farthest)
        sums = (counts * np.exp(-epsilon * farthest)).sum(axis=1)
        largest = max(largest, float(1 / sums.min()))
    return largest


def largest_posterior_of_persons(values: FloatArray, persons: IntArray, *, epsilon: float) -> float:
    """The largest posterior of a person of one class, from the values and the person of each original."""
    order = np.argsort(persons, kind="stable")
    values = values[order]
    _, of_whom, counts = np.unique(persons[order], return_inverse=True, return_counts=True)
    least = np.full(len(counts), np.inf)
    at_once = max(1, AT_ONCE // len(values))
    for start in range(0, len(values), at_once):
        part = values[start : start + at_once]
        farthest = np.zeros((len(part), len(values)))
        for j in range(values.shape[1]):
            np.fmax(farthest, np.abs(part[:, j, np.newaxis] - values[:, j]), out=farthest)
        weights = np.exp(-epsilon * farthest)
        own = of_whom[start : start + at_once]
        weights[own[:, np.newaxis] == of_whom] = 0.0
        np.minimum.at(least, own, weights.sum(axis=1))
    return float((1 / (1 + least / counts)).max())
