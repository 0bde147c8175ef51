# SPDX-License-Identifier: Apache-2.0
"""Releases with `bounded-laplace`: figures that were predicted come true, and every command goes through."""

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
from kepsilon.perturb.mechanisms.bounded_laplace import BOUNDED_LAPLACE
from kepsilon.policy.guarantee import statement
from kepsilon.randomness import unsafe_seeded_bytes
from kepsilon.table.steps import Steps
from material.people import policy
from oracles.noise import SEED

POLICY = {
    "k": 5, "epsilon": 4, "algorithm": "ola", "max_suppression": 0,
    "attributes": {"district": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}},
}  # fmt: skip
BOUNDS = {"height": (140, 200), "weight": (40, 120)}
BOUNDED = {"role": "epsilon-quasi", "precision": 0.5, "mechanism": "bounded-laplace"}


def twelve_districts(n=400):
    rng = np.random.default_rng(SEED)
    district = rng.integers(0, 12, n)
    height = rng.normal(170 + district, 9, n).round().clip(141, 199)
    weight = (height / 2 + rng.normal(0, 9, n)).round().clip(41, 119)
    return pa.table({"district": district.astype(str), "height": height, "weight": weight})


def bounded_policy(names=("height",), *, drop=True, **changes):
    attributes = {name: {**BOUNDED, "range": list(BOUNDS[name])} for name in names}
    if drop and len(names) == 1:
        changes["unlisted_columns"] = "drop"
    return policy(POLICY, attributes=attributes, **changes)


def realised(names, *, factor=1, epsilon=4, confidence=None, k=5, n_releases=60):
    """Figures of some releases of the districts by the claimed law, drawn with this many times ε."""
    table = twelve_districts()
    ids = np.unique(table["district"].to_numpy(), return_inverse=True)[1]
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    values = np.column_stack([table[name].to_numpy() for name in names])[order]
    low, high = (np.tile([float(BOUNDS[name][end]) for name in names], (12, 1)) for end in (0, 1))
    steps = [Steps(precision=Fraction(1, 2))] * len(names)
    asked = None
    if confidence is not None:
        precisions = (Fraction(1, 2),) * len(names)
        asked = ConfidentK(k=k, confidence=confidence, rule=ZeroRule.SUPPRESS_ZERO, precisions=precisions)
    figures = {"risk": [], "error": [], "suppressed": []}
    for seed in range(n_releases):
        drawn = BOUNDED_LAPLACE.draw(
            values, ids, low, high, epsilon=Fraction(epsilon) * Fraction(factor), steps=steps,
            source=unsafe_seeded_bytes(seed),
        )  # fmt: skip
        stays, found = realise(
            values, list(drawn.T), ids,
            mechanism=BOUNDED_LAPLACE, low=low, high=high, epsilon=float(epsilon), steps=steps, confident=asked,
        )  # fmt: skip
        figures["risk"].append(found.links.fair / len(values))
        figures["error"].append(found.errors[0].relative)
        figures["suppressed"].append(1 - stays.mean())
    return figures


def z_of(expected, figures):
    spread = np.std(figures, ddof=1) / math.sqrt(len(figures))
    return (np.mean(figures) - expected.total) / math.hypot(spread, expected.standard_error)


@pytest.mark.parametrize("names", [("height",), ("height", "weight")], ids=["one", "two"])
def test_predicted_error_and_links_are_those_of_releases(names):
    """Over 60 releases |z| < 5; of releases drawn with half of ε, or twice ε, the error is off by more than 10."""
    found = kepsilon.check(twelve_districts(), bounded_policy(names))
    assert "takes the likeliest original of the class" in {own.how for own in found.attackers}
    error = Estimate(total=found.error["height"].expected_relative)
    came = realised(names)
    assert abs(z_of(found.linking_risk.fair, came["risk"])) < 5
    assert abs(z_of(error, came["error"])) < 5
    for factor in ("0.5", "2"):
        assert abs(z_of(error, realised(names, factor=factor)["error"])) > 10


def test_predicted_suppression_is_that_of_releases():
    """Confident k at 0.75 over 60 releases, |z| < 5."""
    asked = {"confidence": 0.75, "epsilon": 8, "k": 20}
    found = kepsilon.check(twelve_districts(), bounded_policy(**asked, confidence_rule="suppress_zero")).confident_k
    came = realised(("height",), **asked)["suppressed"]
    assert 0.01 < found.of_entering.total < 0.99
    assert abs(z_of(found.of_entering, came)) < 5


def test_noise_is_smaller_than_with_laplace_and_so_is_the_risk():
    """At one ε, and the bounds that everybody may see say so too."""
    inside = bounded_policy()
    beyond = policy(
        POLICY,
        attributes={"height": {**BOUNDED, "mechanism": "laplace", "range": list(BOUNDS["height"])}},
        unlisted_columns="drop",
    )
    ours, theirs = (kepsilon.check(twelve_districts(), under) for under in (inside, beyond))
    assert ours.error["height"].expected_relative < theirs.error["height"].expected_relative
    ours, theirs = (kepsilon.anonymise(twelve_districts(), under).manifest.bounds for under in (inside, beyond))
    assert ours.noise["height"] < theirs.noise["height"]
    assert ours.linking_risk < theirs.linking_risk


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"names": ("height", "weight")},
        {"confidence": 0.9},
        {"names": ("height", "weight"), "confidence": 0.9},
        {"epsilon": 0.0001},
        {"epsilon": 100},
        {"max_individual_risk": 0.999},
    ],
    ids=str,
)
def test_it_goes_through_everything(changes, tmp_path):
    """Check, explore, anonymise, report, manifest and audit; nothing leaves the bounds, and nobody is accused."""
    under = bounded_policy(**changes)
    grid = kepsilon.explore(twelve_districts(), under, k=[5, 20], epsilon=[1, 4])
    assert all(cell.prediction is not None or "max_individual_risk" in changes for cell in grid.cells)
    release = kepsilon.anonymise(twelve_districts(), under, unsafe_seed=SEED)
    for name in changes.get("names", ("height",)):
        shown = release.frame[name].to_numpy()
        assert BOUNDS[name][0] <= shown.min()
        assert shown.max() <= BOUNDS[name][1]
    release.report(tmp_path / "report.html")
    release.write(tmp_path / "release.csv")
    for linkage in (release.linkage, None):
        audited = kepsilon.audit(twelve_districts(), tmp_path / "release.csv", under, linkage=linkage)
        assert audited.keeps_its_promises, audited.broken
        said = [finding for finding in audited.findings if finding.check == "noise"]
        assert said
        assert not any("not checked" in finding.what for finding in said)


def test_a_coarse_range_is_what_values_lie_in():
    table = twelve_districts()
    under = policy(
        POLICY, attributes={"height": {**BOUNDED, "range": {"coarse": 10}}}, unlisted_columns="drop", epsilon=0.01
    )
    release = kepsilon.anonymise(table, under, unsafe_seed=SEED)
    own, shown = table.to_pandas(), release.frame.to_pandas()
    for district, heights in shown.groupby("district")["height"]:
        originals = own.loc[own["district"] == district, "height"]
        assert heights.min() >= originals.min() // 10 * 10
        assert heights.max() <= originals.max() // 10 * 10 + 10


@pytest.mark.parametrize(
    "settings",
    [{"epsilon_per": "record"}, {"epsilon_per": "person", "max_records_per_person": 2}, {"epsilon_per": "person"}],
    ids=["record", "shared", "one draw"],
)
def test_persons(settings, tmp_path):
    """ε for a record, shared by a person's records, or covering all of them with one draw."""
    n = 600
    rng = np.random.default_rng(3)
    whom = np.arange(n) // 2
    height = rng.normal(170, 9, n // 2).round().clip(141, 199)[whom]
    table = pa.table({"who": whom.astype(str), "district": rng.integers(0, 6, n).astype(str), "height": height})
    attributes = {"who": {"role": "identifier"}, "height": {**BOUNDED, "range": [140, 200]}}
    under = policy(POLICY, attributes=attributes, person="who", **settings)
    release = kepsilon.anonymise(table, under, unsafe_seed=SEED)
    release.write(tmp_path / "release.csv")
    audited = kepsilon.audit(table, tmp_path / "release.csv", under, linkage=release.linkage)
    assert audited.keeps_its_promises, audited.broken
    if under.draws_once_per_person:
        rows = release.linkage["original_row"].to_numpy()
        shown = {}
        for row, x in zip(rows, release.frame["height"].to_pylist(), strict=True):
            assert shown.setdefault(whom[row], x) == x


def test_the_range_of_a_class_is_refused_with_what_to_write():
    with pytest.raises(kepsilon.PolicyError) as refused:
        policy(POLICY, attributes={"height": {**BOUNDED, "range": "class"}})
    (problem,) = refused.value.problems
    assert problem.what == (
        "the mechanism bounded-laplace needs another range: { coarse = step } or bounds [low, high]."
    )


def test_the_promise_says_where_values_lie_and_what_each_attribute_spends():
    assert "Apart from rounding, what is published lies inside the bounds." in statement(bounded_policy())
    two = statement(bounded_policy(("height", "weight")))
    assert "Each of the 2 epsilon-quasis of a record is drawn by itself and spends 1/2 of ε." in two
    coarse = policy(POLICY, attributes={"height": {**BOUNDED, "range": {"coarse": 10}}})
    assert "so that the values themselves show that range" in statement(coarse)


def test_a_precision_that_is_too_fine_for_a_coarse_range_is_refused_in_words():
    """The data's range, which the policy does not know, is 100 million steps wide: nothing is drawn, not even to predict."""
    table = pa.table({"district": ["a"] * 20, "height": np.linspace(0, 1e8, 20)})
    under = policy(POLICY, attributes={"height": {**BOUNDED, "precision": 1, "range": {"coarse": 10}}})
    with pytest.raises(kepsilon.PolicyError, match="too fine in 1 of 1 classes"):
        kepsilon.check(table, under)
