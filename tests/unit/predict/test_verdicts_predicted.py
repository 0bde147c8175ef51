# SPDX-License-Identifier: Apache-2.0
"""Verdicts on attributes are those of the model, at every boundary, and a useless attribute is refused."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import kepsilon as ke
from material.encounters import encounters
from oracles import verdicts as slow

HEIGHT = {"role": "epsilon-quasi", "precision": 0.01, "range": "class"}
TOWN = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}


def policy(*, height=HEIGHT, town=TOWN, attributes=(), **changes):
    document = {
        "k": 4,
        "epsilon": 2.5,
        "algorithm": "ola",
        "max_suppression": 0,
        "attributes": {"town": town, "height": height, **dict(attributes)},
    }
    return ke.Policy.from_dict({**document, **changes})


def towns(heights=(0.0, 0.0, 10.0, 10.0), names="ab"):
    """The same heights in every town: their median is off by 5, and so is that of all."""
    return pa.table({"town": [name for name in names for _ in heights], "height": [*heights] * len(names)})


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [(1, "useless"), (2.5, "useless"), (2.51, "coarser"), (19.9, "coarser"), (20, "coarser"), (20.1, "kept")],
)
def test_an_error_of_exactly_08_of_a_constant_is_useless_and_of_a_tenth_of_the_spread_is_coarser(epsilon, verdict):
    """Ranges of 10 give errors of 10/ε; a constant per class is off by 5, which is the spread too."""
    own = ke.check(towns(), policy(epsilon=epsilon)).verdicts["height"]
    assert own.verdict == verdict
    assert own.share == pytest.approx(10 / epsilon / 5)
    assert own.role == "epsilon-quasi"
    assert "a constant per class would be off by 5" in own.reason


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.5, 4, 9, 60, 100])
def test_verdicts_on_noise_are_those_of_the_slow_way(seed, epsilon):
    draw = random.Random(seed)
    town = [draw.choice("abcd") for _ in range(200)]
    heights = [round(draw.gauss(170 + 5 * "abcd".index(own), 8), 1) for own in town]
    own = ke.check(pa.table({"town": town, "height": heights}), policy(epsilon=epsilon)).verdicts["height"]
    error = slow.error_of_laplace(heights, town, epsilon=epsilon)
    share = error / slow.spread(heights)
    assert own.share == pytest.approx(share, rel=2e-3)
    assert own.verdict == slow.of_values(error, slow.error_of_constant(heights, town), share)


def pairs(n_values, of, per_value=2):
    """Towns in groups of `of` beside a height that is the same everywhere, and their hierarchy."""
    values = [f"t{i:02}" for i in range(n_values)]
    groups = {f"g{i}": values[i : i + of] for i in range(0, n_values, of)}
    table = pa.table({"town": values * per_value, "height": [1.0] * n_values * per_value})
    return table, {"role": "k-quasi", "hierarchy": {"type": "groups", "levels": [groups]}}, groups


@pytest.mark.parametrize(
    ("n_values", "of", "k", "verdict"),
    [
        pytest.param(21, 3, 4, "coarser", id="exactly a tenth"),
        pytest.param(24, 3, 4, "kept", id="below a tenth"),
        pytest.param(20, 4, 4, "coarser", id="above a tenth"),
        pytest.param(20, 4, 9, "useless", id="one label"),
        pytest.param(20, 4, 2, "kept", id="as it is"),
    ],
)
def test_labels_that_leave_a_tenth_open_are_coarser_and_one_label_is_useless(n_values, of, k, verdict):
    table, town, groups = pairs(n_values, of)
    release = ke.anonymise(table, policy(town=town, k=k))
    own, labels = release.record.verdicts["town"], release.frame["town"].to_pylist()
    covered = {"*": n_values, **{name: len(values) for name, values in groups.items()}}
    covered |= dict.fromkeys(table["town"].to_pylist(), 1)
    assert own.verdict == verdict == slow.of_labels(labels, table["town"].to_pylist(), covered)
    assert own.role == "k-quasi"


def test_a_column_of_one_value_has_lost_nothing():
    """Neither as a label nor as a number; nor has one whose values are all missing."""
    found = ke.check(towns((5.0,) * 4, "a"), policy()).verdicts
    assert [own.verdict for own in found.values()] == ["kept", "kept"]
    empty = pa.table({"town": ["a"] * 4, "height": pa.array([None] * 4, pa.float64())})
    own = ke.check(empty, policy(height={**HEIGHT, "missing": "class"})).verdicts["height"]
    assert (own.verdict, own.reason, own.share) == ("kept", "no record holds a value", None)


def test_a_single_value_that_is_changed_is_useless():
    """With a declared range it gets noise, and any constant would be better."""
    own = ke.check(towns((5.0,) * 4), policy(height={**HEIGHT, "range": [0, 100]})).verdicts["height"]
    assert own.verdict == "useless"


@pytest.mark.parametrize("group", [4, 8, 20, 60])
def test_verdicts_on_averages_are_those_of_what_is_published(group):
    """Averages without noise are known before they are published, so that their error is that of the release."""
    draw = random.Random(group)
    town = [draw.choice("ab") for _ in range(240)]
    heights = [round(draw.gauss(170, 8), 2) for _ in town]
    table = pa.table({"town": town, "height": heights})
    height = {"role": "epsilon-quasi", "precision": 0.01}
    release = ke.anonymise(table, policy(height=height, epsilon=None, averages={"group": group}))
    rows = release.linkage.to_pydict()
    before = [heights[row] for row in rows["original_row"]]
    after = release.frame["height"].to_pylist()
    error = sum(abs(a - b) for a, b in zip(before, after, strict=True)) / len(after)
    share = error / slow.spread(heights)
    own = release.record.verdicts["height"]
    assert own.share == pytest.approx(share, rel=2e-3)
    assert own.verdict == slow.of_values(error, slow.error_of_constant(heights, town), share)


@pytest.mark.parametrize("epsilon", [1, 8, 100])
def test_persons_have_verdicts_on_their_records(epsilon):
    """Noise is drawn for records here, with ε for each of them; classes are read off the linkage."""
    case = encounters()
    own = ke.Policy.from_dict(case.policy | {"epsilon": epsilon})
    release = ke.anonymise(case.table, own, unsafe_seed=1)
    rows = release.linkage.to_pydict()
    heights = [case.table["height"][row].as_py() for row in rows["original_row"]]
    error = slow.error_of_laplace(heights, rows["class_id"], epsilon=epsilon)
    share = error / slow.spread(heights)
    found = release.record.verdicts["height"]
    assert found.share == pytest.approx(share, rel=2e-3)
    assert found.verdict == slow.of_values(error, slow.error_of_constant(heights, rows["class_id"]), share)


@pytest.mark.usefixtures("refuses_useless")
def test_a_useless_attribute_is_refused_and_what_is_proposed_works():
    """The ε that the refusal names is enough, and the next smaller one of three digits is not."""
    with pytest.raises(ke.UnsatisfiableError) as refused:
        ke.anonymise(towns(), policy())
    words = str(refused.value)
    assert "height would be useless: off by 4" in words
    assert "epsilon = 2.51 or more" in words
    ke.anonymise(towns(), policy(epsilon=2.51))


@pytest.mark.usefixtures("refuses_useless")
def test_a_reason_lets_a_useless_attribute_out_and_stands_in_the_manifest():
    accepted = policy(height={**HEIGHT, "accept_useless": "only its mean is used"})
    release = ke.anonymise(towns(), accepted)
    assert release.record.verdicts["height"].accepted == "only its mean is used"
    assert release.record.verdict.usefulness.state == "useless"
    assert release.manifest.to_json()["accepted_useless"] == {"height": "only its mean is used"}


def test_the_headline_is_held_against_max_risk():
    """Within the limit, above it, and without one; the manifest does not say which limit was passed."""
    share = ke.check(towns(), policy()).linking_risk.headline.risk.total
    assert ke.check(towns(), policy()).verdict.risk.state == "no limit"
    assert ke.check(towns(), policy(max_risk=share)).verdict.risk.state == "within"
    with pytest.raises(ke.UnsatisfiableError, match="above max_risk"):
        ke.check(towns(), policy(max_risk=share - 1e-9))
    manifest = ke.anonymise(towns(), policy(max_risk=0.987)).manifest.to_text()
    for word in ("max_risk", "0.987", "verdict", "coarser", '"share"'):
        assert word not in manifest
