# SPDX-License-Identifier: Apache-2.0
"""Asks the policy's algorithm for classes, and checks afterwards that every class meets every requirement."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np

from kepsilon.errors import AnonymisationError
from kepsilon.kanonymise.algorithms.protocol import Algorithm, KAnonymised, Request
from kepsilon.kanonymise.requirements import requirements_of
from kepsilon.kanonymise.requirements.protocol import class_sums
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.frequency import FrequencyTable


def k_anonymise(table: FrequencyTable, policy: Policy) -> KAnonymised:
    """Classes as the policy asks for them; AnonymisationError says why there are none."""
    result = for_every_k(table, policy, ks=[policy.k])[policy.k]
    if isinstance(result, AnonymisationError):
        raise result
    return result


def for_every_k(
    table: FrequencyTable, policy: Policy, *, ks: Sequence[int]
) -> dict[int, KAnonymised | AnonymisationError]:
    """By k: classes as the policy asks for them but with this k, or why there are none; OLA searches once for all k."""
    algorithm = cast("Algorithm", ALGORITHMS[policy.algorithm])
    request = Request(policy=policy, requirements={k: requirements_of(policy, k=k) for k in ks})
    found = algorithm.find(table, request)
    results: dict[int, KAnonymised | AnonymisationError] = {}
    for k in ks:
        result = found[k]
        if not isinstance(result, AnonymisationError):
            _refuse_broken(result.recoding, algorithm, table, request, k)
            result = dataclasses.replace(result, recoding=_of_k_quasis(result.recoding, policy))
        results[k] = result
    return results


def _refuse_broken(recoding: Recoding, algorithm: Algorithm, table: FrequencyTable, request: Request, k: int) -> None:
    """Raises RuntimeError if a class fails a requirement, or more records are left out than allowed.

    No algorithm is trusted, because a broken class must not be released.
    """
    n_classes = recoding.n_classes
    if not np.array_equal(recoding.sizes, class_sums(table.counts, recoding.class_of, n_classes=n_classes)):
        raise _bug(f"{algorithm.title} says that classes have more or fewer records than they have")
    for requirement in request.requirements[k]:
        if not requirement.met_by(table, recoding.class_of, n_classes=n_classes).all():
            raise _bug(f"{algorithm.title} made a class that fails “{requirement.name}”")
    n_suppressed = int(table.counts[recoding.class_of == SUPPRESSED].sum())
    if n_suppressed > request.policy.most_suppressed(table.n_records):
        raise _bug(f"{algorithm.title} left out more records than it may")
    if (recoding.levels is not None) != algorithm.has_levels:
        raise _bug(f"{algorithm.title} has levels though it says it has none, or the other way round")


def _bug(what: str) -> RuntimeError:
    return RuntimeError(f"{what}; this is a bug, and nothing may be released")


def _of_k_quasis(recoding: Recoding, policy: Policy) -> Recoding:
    """The recoding of the k-quasis alone, without the attributes that say which ε-quasis are missing.

    Those attributes shape the classes, but nothing is published for them.
    """
    n = len(policy.k_quasis)
    levels = None if recoding.levels is None else recoding.levels[:n]
    return dataclasses.replace(recoding, attributes=recoding.attributes[:n], levels=levels)
