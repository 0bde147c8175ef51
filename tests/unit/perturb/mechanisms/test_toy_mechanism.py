# SPDX-License-Identifier: Apache-2.0
"""A mechanism in one class, added with one line, goes through everything; its figures are simulated, and are right."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.tally import realise
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.policy import json_schema
from kepsilon.randomness import unsafe_seeded_bytes
from kepsilon.table.steps import Steps
from material.people import policy
from material.toy_mechanism import Toy
from oracles.noise import SEED

POLICY = {
    "k": 5, "epsilon": 4, "algorithm": "ola", "max_suppression": 0,
    "attributes": {"district": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}},
}  # fmt: skip


def twelve_districts(n=400):
    rng = np.random.default_rng(SEED)
    district = rng.integers(0, 12, n)
    height = rng.normal(170 + district, 9, n).round().clip(141, 199)
    return pa.table({"district": district.astype(str), "height": height})


def toy_policy(*, bounds=(140, 200), **changes):
    height = {"role": "epsilon-quasi", "precision": 1, "mechanism": "toy", "range": bounds}
    return policy(POLICY, attributes={"height": height}, **changes)


def test_it_goes_through_everything(tmp_path):
    """Check, explore, anonymise, report and audit ask the mechanism, and nobody else has heard of it."""
    with MECHANISMS.having(Toy()):
        wanted = toy_policy(confidence=0.9)
        found = kepsilon.check(twelve_districts(), wanted)
        assert 0 < found.linking_risk.fair.total < found.linking_risk.largest_possible < 1
        assert found.linking_risk.fair.standard_error > 0
        assert found.error["height"].epsilon_for_uniform_5_percent is None
        grid = kepsilon.explore(twelve_districts(), wanted, k=[5, 20], epsilon=[1, 4])
        assert all(cell.prediction is not None for cell in grid.cells)
        grid.write(tmp_path / "grid.html")
        assert "half the ε" not in (tmp_path / "grid.html").read_text()
        release = kepsilon.anonymise(twelve_districts(), wanted, unsafe_seed=SEED)
        heights = release.frame["height"].to_numpy()
        assert set(heights) <= set(range(140, 201))
        assert "[140, 200] are ε-indistinguishable (ε = 4" in release.record.to_json()["guarantee"]["statement"]
        assert release.record.to_json()["linking_risk"]["largest"] <= found.linking_risk.largest_possible
        release.report(tmp_path / "report.html")
        assert "height" in (tmp_path / "report.html").read_text()
        release.write(tmp_path / "release.csv")
        audited = kepsilon.audit(twelve_districts(), tmp_path / "release.csv", wanted, linkage=release.linkage)
    assert audited.keeps_its_promises, audited.broken
    (said,) = [finding for finding in audited.findings if finding.check == "noise"]
    assert (said.severity, said.what) == ("warning", "not checked: no second statement of this mechanism's law (toy).")


def realised(factor, *, epsilon=4, confidence=None, k=5, n_releases=60):
    """Figures of some releases of the districts, one after the other, by the claimed law; `factor` is that of the draw."""
    table = twelve_districts()
    ids = np.unique(table["district"].to_numpy(), return_inverse=True)[1]
    values = table["height"].to_numpy()[:, np.newaxis]
    low, high = np.full((12, 1), 140.0), np.full((12, 1), 200.0)
    asked = None
    if confidence is not None:
        asked = ConfidentK(k=k, confidence=confidence, rule=ZeroRule.SUPPRESS_ZERO, precisions=(Fraction(1),))
    figures = {"risk": [], "paper": [], "error": [], "suppressed": []}
    for seed in range(n_releases):
        steps = [Steps(precision=Fraction(1))]
        drawn = Toy(factor=factor).draw(
            values, ids, low, high, epsilon=Fraction(epsilon), steps=steps, source=unsafe_seeded_bytes(seed)
        )
        stays, found = realise(
            values, [drawn[:, 0]], ids,
            mechanism=Toy(), low=low, high=high, epsilon=float(epsilon), steps=steps, confident=asked,
        )  # fmt: skip
        figures["risk"].append(found.links.fair / len(values))
        figures["paper"].append(found.links.paper / len(values))
        figures["error"].append(found.errors[0].relative)
        figures["suppressed"].append(1 - stays.mean())
    return figures


def z_of(expected, figures):
    spread = np.std(figures, ddof=1) / math.sqrt(len(figures))
    return (np.mean(figures) - expected.total) / math.hypot(spread, expected.standard_error)


@pytest.mark.parametrize("knows_its_size", [False, True])
@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (0.7, False), (1.3, False)])
def test_simulated_figures_are_those_of_releases(factor, fits, knows_its_size):
    """Risk by both rules and error over 60 releases, |z| < 5; a law of 0.7 or 1.3 times ε is off by more than 10.

    The simulated error is a mean of 100,000 draws, beside 24,000 realised: it adds a quarter to the variance, which 5 covers.
    """
    with MECHANISMS.having(Toy(knows_its_size=knows_its_size)):
        found = kepsilon.check(twelve_districts(), toy_policy())
    came = realised(factor)
    risk = found.linking_risk
    distances = [
        abs(z_of(risk.fair, came["risk"])),
        abs(z_of(risk.paper_ties, came["paper"])),
        abs(z_of(Estimate(total=found.error["height"].expected_relative), came["error"])),
    ]
    assert max(distances) < 5 if fits else min(distances) > 10


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (0.7, False), (1.3, False)])
def test_simulated_suppression_is_that_of_releases(factor, fits):
    """Confident k at 0.75 over 60 releases, |z| < 5; a law of another ε leaves out others, by more than 5."""
    asked = {"confidence": 0.75, "epsilon": 5, "k": 12}
    with MECHANISMS.having(Toy()):
        found = kepsilon.check(
            twelve_districts(), toy_policy(**asked, confidence_rule="suppress_zero")
        ).confident_k.of_entering
    came = realised(factor, **asked)["suppressed"]
    assert 0.01 < found.total < 0.99
    assert bool(abs(z_of(found, came)) < 5) is fits


def test_a_range_that_the_mechanism_cannot_use_is_refused():
    """In words that say which it can."""
    with MECHANISMS.having(Toy()), pytest.raises(kepsilon.PolicyError) as refused:
        toy_policy(bounds="class")
    (problem,) = refused.value.problems
    assert problem.where == "policy: attributes.height"
    assert problem.what == "the mechanism toy needs another range: bounds [low, high]."


def test_one_release_has_one_mechanism():
    """A record is one unit, and its noise is drawn at once."""
    with MECHANISMS.having(Toy()):
        document = toy_policy().model_dump(mode="json", exclude_none=True)
        document["attributes"]["weight"] = {**document["attributes"]["height"], "mechanism": "laplace"}
        with pytest.raises(
            kepsilon.PolicyError, match="one mechanism, because a record is one unit; there are toy and laplace"
        ):
            kepsilon.Policy.from_dict(document)
        document["attributes"]["weight"]["mechanism"] = "toy"
        with pytest.raises(kepsilon.PolicyError, match="at most 1 attributes can be epsilon-quasis"):
            kepsilon.Policy.from_dict(document)


def test_the_schema_lists_the_mechanisms():
    """So that an editor can offer them; one that nobody added is refused."""
    with MECHANISMS.having(Toy()):
        listed = json_schema()["$defs"]["EpsilonQuasi"]["properties"]["mechanism"]
        assert listed["enum"] == ["laplace", "bounded-laplace", "toy"]
    with pytest.raises(kepsilon.PolicyError, match="should be 'laplace' or 'bounded-laplace'"):
        toy_policy()
    assert [own.name for own in MECHANISMS] == ["laplace", "bounded-laplace"]
