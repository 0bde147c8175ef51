# SPDX-License-Identifier: Apache-2.0
"""The paper's grid: runs beside closed forms, and confident k beside the kernels of a release."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.confident_k.confident_k import ConfidentK, originals_in_reach, suppressed_for_confidence
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.perturb.mechanisms.laplace import LAPLACE, perturb
from kepsilon.policy.roles import fraction
from kepsilon.reproduce.data.data_sets import DataSet, michigan
from kepsilon.reproduce.experiments import releases as module
from kepsilon.reproduce.experiments.counted_data import count_data, noise_source
from kepsilon.reproduce.experiments.releases import releases
from kepsilon.reproduce.scope import Scope

EPSILONS = (0.5, 8)
CONFIDENCES = (0.7, 0.99)


@pytest.fixture(scope="module")
def some_voters() -> DataSet:
    """The first of Michigan's stand-in: small, and with every attribute."""
    whole = michigan(seed=1)
    return DataSet(
        name=whole.name,
        title=whole.title,
        is_stand_in=True,
        columns={name: column[:3000].copy() for name, column in whole.columns.items()},
        policy=whole.policy,
        extra=whole.extra,
        note=whole.note,
    )


@pytest.fixture(scope="module")
def counted(some_voters):
    return count_data(some_voters)


@pytest.fixture(scope="module", params=["ola", "mondrian"])
def measured(request, counted):
    setting = Scope(ks=(5, 20), epsilons=EPSILONS, confidences=CONFIDENCES, runs=200)
    return releases(counted, request.param, setting)


def cells(measured):
    return [(one, cell) for one in measured["ks"] for cell in one["cells"]]


def test_means_of_the_runs_are_the_closed_forms(measured):
    """Error and linking risk within five standard errors; their distributions are close to normal over 200 runs."""
    for one, cell in cells(measured):
        for name in ("error", "risk", "risk_paper_ties"):
            found = cell[name]
            standard_error = found["deviation"] / np.sqrt(measured["runs"])
            # Rounding to one decimal is no part of the closed form: less than half a step of about 80 kilograms. It also makes
            # some values lie half-way between two originals, which the paper counts as links to both.
            slack = {"error": 0.05 / 60, "risk": 0.005 * found["expected"]}.get(name, 0.015 * found["expected"])
            assert abs(found["mean"] - found["expected"]) < 5 * standard_error + slack, (
                one["k"],
                cell["epsilon"],
                name,
            )


def test_suppression_is_the_closed_form(measured):
    """Whole classes go now and then, so that single runs lie far apart: all cells together, by their own deviations."""
    off, variance = 0.0, 0.0
    for _, cell in cells(measured):
        for found in cell["suppressed"].values():
            off += found["mean"] - found["expected"]
            variance += found["deviation"] ** 2 / measured["runs"]
    assert abs(off) < 5 * np.sqrt(variance)


def test_those_of_small_classes_are_among_those_who_go(measured):
    """And no more than there are."""
    for _, cell in cells(measured):
        for found in cell["suppressed"].values():
            assert 0 <= found["in_small_classes"] <= found["mean"] + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_run_suppresses_whom_the_release_would(counted, epsilon):
    """Given the same noise, the same number of records as by the kernels that make a release."""
    policy = counted.policy(algorithm="mondrian", k=5, epsilon=epsilon, confidence=0.99)
    partition = counted.partitions("mondrian", [5])[5]
    classes = module._ReleasedClasses.of(counted.noisy_classes(partition, policy), k=5)
    ranges = classes.noisy.ranges
    run = classes.run(epsilon, CONFIDENCES, noise_source(Scope(), "one run"))
    (attribute,) = policy.epsilon_quasis.values()
    published = perturb(
        ranges.values,
        ranges.class_ids,
        ranges.low,
        ranges.high,
        epsilon=policy.exact_epsilon,
        precisions=[fraction(attribute.precision)],
        domains=[None],
        source=noise_source(Scope(), "one run"),
    )[:, 0]
    n_classes = len(ranges.low)
    by_class = sort_classes(ranges.values[:, 0], ranges.class_ids, n_classes=n_classes)
    for i, confidence in enumerate(CONFIDENCES):
        asked = ConfidentK.asked_by(policy.with_changes(confidence=confidence))
        in_reach = originals_in_reach(
            by_class,
            published,
            linking_ranges=asked.reach(LAPLACE, ranges.low, ranges.high, epsilon=float(epsilon))[:, 0],
            precision=fraction(attribute.precision),
        )
        gone = suppressed_for_confidence(in_reach, ranges.class_ids, k=5, n_classes=n_classes, rule=asked.rule)
        assert run.gone[i] == gone.sum()


def test_a_cell_is_the_same_whatever_else_is_measured(counted):
    """Each has random bytes of its own, so that tasks may be cut and resumed anyhow."""
    setting = Scope(ks=(5, 20), epsilons=EPSILONS, confidences=CONFIDENCES, runs=2)
    alone = Scope(ks=(20,), epsilons=EPSILONS[1:], confidences=CONFIDENCES, runs=2)
    assert (
        releases(counted, "ola", setting)["ks"][1]["cells"][1] == releases(counted, "ola", alone)["ks"][0]["cells"][0]
    )
