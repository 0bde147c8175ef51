# SPDX-License-Identifier: Apache-2.0
"""Mistakes somebody could make in the mechanism, put into the pipeline one by one: the audit must see each of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.evaluate.confident_k import confident_k
from kepsilon.perturb.mechanisms.laplace import perturb
from material.people import policy
from oracles.noise import SEED

N = 6000
POLICY = {
    "k": 5, "epsilon": 2, "algorithm": "ola", "max_suppression": 0, "records_are_persons": True,
    "attributes": {
        "district": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "weight": {"role": "identifier"},
    },
}  # fmt: skip


def thirty_districts():
    """Thirty classes of 200, whose heights spread differently; weight goes with height."""
    rng = np.random.default_rng(SEED)
    district = np.repeat(np.arange(30), N // 30)
    height = (170 + 5 * (district % 7) + rng.normal(0, 3, N) * (1 + district % 3)).round(1)
    weight = (0.5 * height + rng.normal(0, 5, N)).round(1)
    return pa.table({"district": district.astype(str), "height": height, "weight": weight})


def districts_policy(*, several=False, **changes):
    weight = {"weight": POLICY["attributes"]["height"]} if several else None
    return policy(POLICY, attributes=weight, **changes)


def suspected(chosen, check="noise"):
    """Severities of what the audit says of one check, if it says more than "passed"."""
    release = kepsilon.anonymise(thirty_districts(), chosen, unsafe_seed=SEED)
    found = kepsilon.audit(thirty_districts(), release.frame, chosen, linkage=release.linkage)
    return {finding.severity for finding in found.findings if finding.check == check} & {"broken", "warning"}


def in_steps(values):
    return np.round(values, 1)


@pytest.mark.parametrize("several", [False, True])
def test_without_a_mutant_nothing_is_suspected(several):
    """So what the others find is the mutant."""
    assert not suspected(districts_policy(several=several))
    assert not suspected(districts_policy(several=several, epsilon=8, confidence=0.9), check="confident k")


def test_the_dataset_range_instead_of_the_class_range_is_caught(monkeypatch):
    """Too much noise breaks no promise, but it is not the noise that was claimed."""

    def mutant(values, ids, lo, hi, **rest):
        widest_lo, widest_hi = np.full_like(lo, values.min()), np.full_like(hi, values.max())
        return perturb(values, ids, widest_lo, widest_hi, **rest)

    monkeypatch.setattr("kepsilon.perturb.mechanisms.laplace.perturb", mutant)
    assert suspected(districts_policy()) == {"warning"}


def test_noise_shared_across_the_records_of_a_class_is_caught(monkeypatch):
    """Differences between records would be exact."""

    def mutant(values, ids, lo, hi, **rest):
        noisy = perturb(values, ids, lo, hi, **rest)
        _, first = np.unique(ids, return_index=True)
        return in_steps(values + (noisy - values)[first][ids])

    monkeypatch.setattr("kepsilon.perturb.mechanisms.laplace.perturb", mutant)
    assert "broken" in suspected(districts_policy())


def test_independent_epsilon_for_every_attribute_is_caught(monkeypatch):
    """Each attribute alone has the noise of one, so that the record spends ε twice."""

    def mutant(values, ids, lo, hi, *, precisions, domains, **rest):
        columns = [
            perturb(
                values[:, [j]],
                ids,
                lo[:, [j]],
                hi[:, [j]],
                precisions=precisions[j : j + 1],
                domains=domains[j : j + 1],
                **rest,
            )
            for j in range(values.shape[1])
        ]
        return np.column_stack(columns)

    monkeypatch.setattr("kepsilon.perturb.mechanisms.laplace.perturb", mutant)
    assert "broken" in suspected(districts_policy(several=True))


def test_laplace_noise_in_floating_point_is_caught(monkeypatch):
    """What is published then tells by its bits which value it came from; nothing but multiples of the precision may leave."""

    def mutant(values, ids, lo, hi, *, epsilon, **rest):
        noise = np.random.default_rng(SEED).laplace(size=values.shape)
        return values + noise * (hi - lo)[ids] / float(epsilon)

    monkeypatch.setattr("kepsilon.perturb.mechanisms.laplace.perturb", mutant)
    assert suspected(districts_policy(), check="precision") == {"broken"}


def test_clamping_to_the_observed_class_range_is_caught(monkeypatch):
    """The ends of what is published would be the class's extremes."""

    def mutant(values, ids, lo, hi, **rest):
        return np.clip(perturb(values, ids, lo, hi, **rest), lo[ids], hi[ids])

    monkeypatch.setattr("kepsilon.perturb.mechanisms.laplace.perturb", mutant)
    assert "broken" in suspected(districts_policy())


def test_the_interval_around_the_original_value_is_caught(monkeypatch):
    """As the paper's formula prints it: records that noise left alone are kept."""
    honest = confident_k.originals_in_reach

    def mutant(classes, published, *, linking_ranges, precision):
        values = np.empty(len(published))
        values[classes.order] = classes.values[classes.place]
        return honest(classes, values, linking_ranges=linking_ranges, precision=precision)

    monkeypatch.setattr("kepsilon.evaluate.tally.originals_in_reach", mutant)
    assert suspected(districts_policy(epsilon=8, confidence=0.9), check="confident k") == {"broken"}
