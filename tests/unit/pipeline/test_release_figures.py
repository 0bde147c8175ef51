# SPDX-License-Identifier: Apache-2.0
"""The figures of a release: the curator's record has them all, the public manifest those that anybody can count."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from material.people import OPENLY, POLICY, people, policy, write_csv
from oracles import attacks

SECOND = """
[attributes.weight]
role = "epsilon-quasi"
precision = 0.5
range = { coarse = 5 }
"""


@pytest.fixture
def release_of(tmp_path):
    def release(policy=POLICY, seed=1, records=None):
        write_csv(tmp_path / "people.csv", records or people())
        (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
        chosen = kepsilon.Policy.from_file(tmp_path / "policy.toml")
        return kepsilon.anonymise(tmp_path / "people.csv", chosen, unsafe_seed=seed)

    return release


def linked(release, tmp_path, records, column="height"):
    """Originals, published values and classes, found again by the illness, which is unique, and by the labels."""
    release.write(tmp_path / "out.csv", overwrite=True)
    height = {record["illness"]: float(record[column]) for record in records}
    classes = {}
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    ids = [classes.setdefault((line["zip"], line["year"], line["sex"]), len(classes)) for line in lines]
    return (
        np.array([height[line["illness"]] for line in lines]),
        np.array([float(line[column]) for line in lines]),
        np.array(ids),
    )


def test_the_record_holds_what_an_oracle_finds_in_the_release(release_of, tmp_path):
    """From the file alone, by way of a column that gives every record away."""
    release = release_of()
    values, published, ids = linked(release, tmp_path, people())
    scales = [np.ptp(values[ids == c]) / 2 for c in range(ids.max() + 1)]
    error, risk = release.record["error"]["height"], release.record["linking_risk"]
    n = len(values)
    expected, zeros = attacks.mean_relative_error(values, [scales[c] for c in ids])
    realised, _ = attacks.mean_relative_error(values, published - values)
    assert error["expected_relative"] == pytest.approx(expected)
    assert error["realised_relative"] == pytest.approx(realised)
    assert error["zeros_left_out"] == zeros == 0
    assert error["range_relative"] == pytest.approx(np.mean([scales[c] for c in ids]) / np.ptp(values))
    fair, paper = attacks.expected_links(values, ids, scales=scales)
    links = np.array([attacks.link(values, published, ids, i) for i in range(n)])
    sure = np.array([attacks.posterior(values, published, ids, i, scale=scales[c]) for i, c in enumerate(ids)])
    assert risk["expected"] == pytest.approx(sum(fair.values()) / n)
    assert risk["expected_paper_ties"] == pytest.approx(sum(paper.values()) / n)
    assert (risk["realised"], risk["realised_paper_ties"]) == pytest.approx(tuple(links.sum(axis=0) / n))
    assert risk["largest"] == pytest.approx(sure.max())
    assert risk["over_half"] == (sure > 0.5).mean()
    assert risk["over_nine_tenths"] == (sure > 0.9).mean()
    assert risk["per_original"]["expected"] == pytest.approx(risk["expected"] * n / len(people()))
    assert risk["per_original"]["realised"] == pytest.approx(risk["realised"] * n / len(people()))


def test_the_manifest_is_the_same_whatever_the_noise(release_of):
    """So nothing in it depends on which record became which."""
    one, two = release_of(seed=1), release_of(seed=2)
    assert one.record["linking_risk"]["realised"] != two.record["linking_risk"]["realised"]
    first, second = ({k: v for k, v in r.manifest.items() if k not in ("created", "digest")} for r in (one, two))
    assert json.dumps(first) == json.dumps(second)


def test_the_manifest_holds_no_figure_of_the_values(release_of):
    """A figure of the values, however rounded, lets whoever knows every value but one exclude values of that one."""
    manifest = release_of().manifest
    assert list(manifest) == [
        "kepsilon_version", "created", "policy", "guarantee", "seeded", "digest", "records", "classes", "levels", "bounds",
        "accepted_leaks", "accepted_useless",
    ]  # fmt: skip
    assert list(manifest["records"]) == ["released"]
    assert list(manifest["classes"]) == ["count", "smallest", "largest", "mean"]
    assert list(manifest["bounds"]) == ["linking_risk", "attacker", "noise"]


def test_errors_count_how_far_values_were_clipped(release_of, tmp_path):
    """Values beyond the bounds lose much more than the noise, which is small here, and that is known before any draw."""
    policy = POLICY.replace('range = "class"', "range = [160, 170]").replace("epsilon = 2", "epsilon = 100")
    release = release_of(policy)
    values, published, _ = linked(release, tmp_path, people())
    error = release.record["error"]["height"]
    assert release.record["clipped"]["height"] > 0
    assert error["realised_relative"] == pytest.approx(np.mean(np.abs(published - values) / values))
    assert error["realised_relative"] > 2 * np.mean(0.1 / values)
    moved = np.abs(values - values.clip(160, 170))
    assert error["expected_relative"] == pytest.approx(np.mean((moved + 0.1 * np.exp(-moved / 0.1)) / values))
    assert error["epsilon_for_uniform_5_percent"] is None, "the error does not go as 1/ε"


def test_missing_values_and_constant_classes_are_measured(release_of):
    """A class of missing values has no error and links one record by chance."""
    records = [{**record, "height": "" if record["sex"] == "M" else "170.0"} for record in people()]
    policy = POLICY.replace('range = "class"', 'range = "class"\nmissing = "class"')
    record = release_of(policy, records=records).record
    assert record["error"]["height"]["expected_relative"] == 0.0
    assert record["error"]["height"]["range_relative"] is None
    assert record["linking_risk"]["expected"] == pytest.approx(
        record["classes"]["count"] / record["records"]["released"]
    )
    assert record["linking_risk"]["realised_paper_ties"] == 1.0


@pytest.mark.parametrize("range_", [[0, 100_000], {"coarse": 5}], ids=["declared", "coarse"])
def test_the_noise_of_a_public_width_is_told_and_no_error_relative_to_values(range_):
    """1,000 values of which one is 0.37: from a mean of R/|v| and a public R, anybody could solve for it."""
    values = [20_000.0 + 70 * i for i in range(999)] + [0.37]
    document = {
        "k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": 0,
        "attributes": {"v": {"role": "epsilon-quasi", "precision": 0.01, "range": range_}},
    }  # fmt: skip
    release = kepsilon.anonymise(pa.table({"v": values}), kepsilon.Policy.from_dict(document))
    assert release.record["error"]["v"]["expected_relative"] > 1
    assert release.manifest["bounds"]["noise"] == ({"v": 100_000.0} if isinstance(range_, list) else {})


def test_an_error_that_is_no_number_is_no_figure():
    """A value next to nothing: the sum overflows, and the figure is left out instead of written as infinity."""
    document = {
        "k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": 0,
        "attributes": {"v": {"role": "epsilon-quasi", "precision": 1, "range": "class"}},
    }  # fmt: skip
    release = kepsilon.anonymise(pa.table({"v": [5e-324, 10.0, 20.0, 30.0]}), kepsilon.Policy.from_dict(document))
    assert release.record["error"]["v"]["expected_relative"] is None


def two_heights(n=400):
    """Two ε-quasis that go together, in classes by sex."""
    rng = np.random.default_rng(3)
    first = rng.normal(170, 8, n).round(1)
    return pa.table(
        {"sex": ["F", "M"] * (n // 2), "a": first, "b": (first + rng.normal(0, 2, n)).round(1), "row": np.arange(n)}
    )


TWO = {
    "k": 3, "epsilon": 8, "algorithm": "ola", "max_suppression": 0,
    "attributes": {
        "sex": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "a": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "b": {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 5}},
        "row": OPENLY,
    },
}  # fmt: skip


def test_several_attributes_are_linked_in_the_mechanisms_own_norm():
    """The largest distance in units of each range; found again record by record through a column that gives them away."""
    data = two_heights()
    release = kepsilon.anonymise(data, kepsilon.Policy.from_dict(TWO), unsafe_seed=1)
    originals = np.column_stack([data["a"], data["b"]])
    sex = np.array(data["sex"].to_pylist())
    fair = 0.0
    for label in "FM":
        own = np.flatnonzero(sex == label)
        low, high = originals[own].min(axis=0), originals[own].max(axis=0)
        widths = np.array([high[0] - low[0], 5 * (np.floor(high[1] / 5) + 1) - 5 * np.floor(low[1] / 5)])
        for line in (line for line in release.frame.to_pylist() if line["sex"] == label):
            far = np.max(np.abs([line["a"], line["b"]] - originals[own]) / widths, axis=1)
            nearest = own[far <= far.min() + 1e-9]
            fair += (line["row"] in nearest) / len(nearest)
    risk = release.record["linking_risk"]
    assert risk["realised"] == pytest.approx(fair / len(sex))
    assert risk["standard_error"] > 0


@pytest.mark.parametrize("left_out", [[], ["b"]], ids=["several ε-quasis", "one"])
def test_a_prediction_does_not_depend_on_the_seed(left_out):
    """So that one prediction can stand for those of many releases, see `predicted_once`."""
    chosen = policy(TWO, epsilon=16, confidence=0.9, attributes=dict.fromkeys(left_out))
    data = two_heights(200).drop_columns(left_out)
    records = [kepsilon.anonymise(data, chosen, unsafe_seed=seed).record for seed in (1, 2, 3)]
    for figure in ("linking_risk", "confident_k"):
        assert len({own[figure]["realised"] for own in records}) > 1
        for key in ("expected", "expected_paper_ties", "expected_standard_error", "standard_error"):
            assert len({own[figure].get(key) for own in records}) == 1


def is_the_mean_of(realised, expected, standard_error):
    """|z| < 5 with the spread among the releases and the stated error of the simulation."""
    spread = np.hypot(np.std(realised, ddof=1) / np.sqrt(len(realised)), standard_error)
    return abs(np.mean(realised) - expected) < 5 * spread


@pytest.mark.parametrize("rule", ["text", "strict", "suppress_zero"])
def test_suppression_expected_of_several_attributes_is_the_mean_of_many_releases(rule, monkeypatch, predicted_once):
    """Class rule included, 60 releases; a short simulation states a larger error."""
    monkeypatch.setattr("kepsilon.evaluate.confident_k.simulated_suppression._SIMULATED", 20_000)
    policy = kepsilon.Policy.from_dict({**TWO, "epsilon": 16, "confidence": 0.9, "confidence_rule": rule})
    found = [kepsilon.anonymise(two_heights(200), policy, unsafe_seed=s).record["confident_k"] for s in range(60)]
    realised = [figures["realised"] for figures in found]
    assert is_the_mean_of(realised, found[0]["expected"], found[0]["expected_standard_error"])


def test_risk_expected_of_several_attributes_is_the_mean_of_many_releases(predicted_once):
    """Published to three decimals, so that rounding makes no ties that the closed form does not know."""
    document = {
        **TWO,
        "attributes": {n: {**a, "precision": 0.001} if "precision" in a else a for n, a in TWO["attributes"].items()},
    }
    policy = kepsilon.Policy.from_dict(document)
    found = [kepsilon.anonymise(two_heights(200), policy, unsafe_seed=s).record["linking_risk"] for s in range(60)]
    for realised, expected, error in (
        ("realised", "expected", "standard_error"),
        ("realised_paper_ties", "expected_paper_ties", "standard_error_paper_ties"),
    ):
        assert is_the_mean_of([figures[realised] for figures in found], found[0][expected], found[0][error])


def test_a_mean_over_fewer_than_k_records_is_not_given():
    """400 values of which all but one are 0: the mean relative error is that one's, and gives its value away."""
    document = {
        "k": 2, "epsilon": 4, "algorithm": "ola", "max_suppression": 0,
        "attributes": {"v": {"role": "epsilon-quasi", "precision": 1, "range": "class"}},
    }  # fmt: skip
    policy = kepsilon.Policy.from_dict(document)
    for values, is_given in (([0.0] * 399 + [7.0], False), ([0.0] * 398 + [7.0, 8.0], True)):
        release = kepsilon.anonymise(pa.table({"v": values}), policy)
        assert (release.record["error"]["v"]["expected_relative"] is not None) is is_given
        assert (release.record["error"]["v"]["realised_relative"] is not None) is is_given


@pytest.mark.parametrize("value", [0.3, 60.0])
def test_the_record_says_how_far_one_value_dominates_the_mean_error(value):
    """99 values and one next to 0: the mean of E|Z|/|v| is then mostly about that one."""
    values = [-50.0, 150.0, *np.linspace(60, 150, 97).round(1), value]
    document = {
        "k": 2, "epsilon": 0.5, "algorithm": "ola", "max_suppression": 0,
        "attributes": {"v": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}},
    }  # fmt: skip
    release = kepsilon.anonymise(pa.table({"v": values}), kepsilon.Policy.from_dict(document))
    share = release.record["error"]["v"]["largest_share"]
    assert share == pytest.approx(max(1 / abs(v) for v in values) / sum(1 / abs(v) for v in values))


def test_no_figure_is_infinite(tmp_path):
    """JSON has no word for it."""
    document = {
        "k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": 0,
        "attributes": {"v": {"role": "epsilon-quasi", "precision": 1, "range": "class"}},
    }  # fmt: skip
    release = kepsilon.anonymise(pa.table({"v": [5e-308, 1.0]}), kepsilon.Policy.from_dict(document))
    release.write(tmp_path / "out.csv")
    assert release.record["error"]["v"]["epsilon_for_uniform_5_percent"] is None
