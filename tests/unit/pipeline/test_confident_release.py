# SPDX-License-Identifier: Apache-2.0
"""Confident k in a release: who is gone, what the record and the manifest say of it, and when it is refused."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.rounding import percent, percent_above
from material.people import OPENLY, policy
from oracles import attacks
from oracles.noise import SEED

N, K, EPSILON, CONFIDENCE = 600, 5, 8, 0.9
RULES = ["text", "strict", "suppress_zero"]
HEIGHT = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
POLICY = {
    "k": K, "epsilon": EPSILON, "algorithm": "ola", "max_suppression": 0.05, "confidence": CONFIDENCE,
    "attributes": {
        "person": OPENLY,
        "district": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "height": HEIGHT,
    },
}  # fmt: skip
ALONE = {"person": None, "district": None}
"""Leaves height as the only attribute."""


def six_districts():
    """Heights in six classes of about 100, and two rare districts that OLA leaves out."""
    rng = np.random.default_rng(SEED)
    district = np.concatenate([rng.integers(0, 6, N - 3), [6, 6, 7]])
    return pa.table(
        {
            "person": [f"p{i}" for i in range(N)],
            "district": [f"d{i}" for i in district],
            "height": rng.normal(170, 8, N).round(1),
        }
    )


def confident(**changes):
    return policy(POLICY, **changes)


@pytest.mark.parametrize("rule", RULES)
def test_who_stays_is_who_the_oracle_keeps(rule):
    """Everybody's noise is not known from outside, but nobody who stays may stand out, and every class has k."""
    data = six_districts()
    release = kepsilon.anonymise(data, confident(confidence_rule=rule), unsafe_seed=SEED)
    frame = release.frame
    heights = dict(zip(data["person"].to_pylist(), data["height"].to_pylist(), strict=True))
    districts = dict(zip(data["person"].to_pylist(), data["district"].to_pylist(), strict=True))
    members, reach = {}, {}
    for person, district in districts.items():
        members.setdefault(district, []).append(attacks.exact(heights[person]))
    for district, own in members.items():
        own.sort()
        reach[district] = attacks.exact(-np.log(1 - CONFIDENCE) * float(own[-1] - own[0]) / EPSILON + 0.05)
    sizes = {}
    for person, label, published in zip(*(frame[c].to_pylist() for c in ("person", "district", "height")), strict=True):
        assert label == districts[person]
        sizes[label] = sizes.get(label, 0) + 1
        moved, own = attacks.exact(published), members[label]
        n = bisect_right(own, moved + reach[label]) - bisect_left(own, moved - reach[label])
        assert n >= K or (n == 0 and rule != "suppress_zero")
    assert min(sizes.values()) >= K
    records = release.record["records"]
    assert records["released"] == frame.num_rows < 597
    assert records["suppressed_by_k"] == 3
    assert records["suppressed_by_confidence"] == 597 - frame.num_rows
    figures = release.record["confident_k"]
    assert figures["realised"] == pytest.approx((597 - frame.num_rows) / 597)
    assert figures["total_realised"] == pytest.approx((600 - frame.num_rows) / 600)
    assert figures["total_expected"] == pytest.approx((3 + 597 * figures["expected"]) / 600)
    # A binomial with the expected share has this variance or more, since most records go on their own.
    assert abs(figures["realised"] - figures["expected"]) < 5 * np.sqrt(figures["expected"] / 597)


def test_expectation_equals_the_mean_of_many_releases(predicted_once):
    """|z| < 5 against 200 releases with fresh seeds, with the spread seen among them."""
    data, chosen = six_districts(), confident(epsilon=16)
    releases = [kepsilon.anonymise(data, chosen, unsafe_seed=i).record["confident_k"] for i in range(200)]
    realised = np.array([figures["realised"] for figures in releases])
    assert releases[0]["expected"] == kepsilon.check(data, chosen).confident_k.of_entering.total
    z = (realised.mean() - releases[0]["expected"]) / (realised.std(ddof=1) / np.sqrt(len(realised)))
    assert abs(z) < 5


def test_a_class_that_confidence_removes_leaves_no_label_behind(tmp_path):
    """Neither in the table nor in the bytes of the file."""
    rng = np.random.default_rng(SEED)
    data = pa.table(
        {
            "district": ["crowd"] * 300 + ["GONE-DISTRICT"] * 5,
            "height": np.concatenate([rng.normal(170, 8, 300), [100.0, 120.0, 140.0, 160.0, 190.0]]).round(1),
        }
    )
    chosen = confident(epsilon=100, attributes={"person": None})
    release = kepsilon.anonymise(data, chosen, unsafe_seed=SEED)
    assert set(release.frame["district"].to_pylist()) == {"crowd"}
    assert release.record["classes"]["count"] == 1
    for suffix in ("parquet", "arrow", "csv"):
        release.write(tmp_path / f"out.{suffix}")
        assert b"GONE-DISTRICT" not in (tmp_path / f"out.{suffix}").read_bytes()
    linkage = release.linkage
    assert set(linkage["class_id"].to_pylist()) == {0}


def outlying_heights():
    """The six districts, but one height is missing, one is far above all others, and a taller one is in a rare district."""
    heights = six_districts()["height"].to_numpy().copy()
    heights[0], heights[1], heights[N - 1] = np.nan, 260.0, 300.0
    return six_districts().set_column(2, "height", pa.array(heights, from_pandas=True))


def test_figures_say_which_records_they_are_of():
    """By an oracle: links per record read, and errors in the range of the records that got noise, not of the released."""
    data = outlying_heights()
    release = kepsilon.anonymise(data, confident(), unsafe_seed=SEED)
    person, district, height = (data[name].to_pylist() for name in ("person", "district", "height"))
    entering = [i for i in range(N) if height[i] is not None and district[i] not in ("d6", "d7")]
    records = release.record["records"]
    assert (records["read"], records["suppressed_missing"], records["suppressed_by_k"]) == (N, 1, 3)
    assert 0 < records["suppressed_by_confidence"] == len(entering) - records["released"]

    values, ids = [height[i] for i in entering], [district[i] for i in entering]
    members = {label: [v for v, own in zip(values, ids, strict=True) if own == label] for label in set(ids)}
    scales = {label: (max(own) - min(own)) / EPSILON for label, own in members.items()}
    fair, _ = attacks.expected_links(values, ids, scales=scales)
    published = dict(zip(*(release.frame[name].to_pylist() for name in ("person", "height")), strict=True))
    centres = [published.get(person[i]) for i in entering]
    links = [attacks.link(values, centres, ids, i)[0] for i, x in enumerate(centres) if x is not None]
    risk = release.record["linking_risk"]
    assert risk["expected"] == pytest.approx(sum(fair.values()) / len(entering))
    assert risk["per_original"]["expected"] == pytest.approx(sum(fair.values()) / N)
    assert risk["realised"] == pytest.approx(sum(links) / len(published))
    assert risk["per_original"]["realised"] == pytest.approx(sum(links) / N)

    moved = [abs(x - v) for v, x in zip(values, centres, strict=True) if x is not None]
    width = max(values) - min(values)
    released = [v for v, x in zip(values, centres, strict=True) if x is not None]
    assert max(released) < max(values) == 260 < np.nanmax(np.array(height, dtype=float)), "three ranges that differ"
    assert release.record["error"]["height"]["realised_range_relative"] == pytest.approx(np.mean(moved) / width)


def test_a_cap_on_all_suppression_refuses_before_noise_is_drawn(monkeypatch):
    """On the expected figure, with the figures and an ε that would do; just above it passes."""
    expected = kepsilon.anonymise(six_districts(), confident(), unsafe_seed=1).record["confident_k"]["total_expected"]
    release = kepsilon.anonymise(six_districts(), confident(max_total_suppression=expected * 1.0001), unsafe_seed=2)
    assert release.record["confident_k"]["total_expected"] == expected
    drawn = []
    monkeypatch.setattr("kepsilon.perturb.mechanisms.laplace.perturb", lambda *a, **b: drawn.append(1))
    with pytest.raises(kepsilon.UnsatisfiableError) as caught:
        kepsilon.anonymise(six_districts(), confident(max_total_suppression=0.01), unsafe_seed=3)
    assert not drawn
    message = str(caught.value)
    assert f"{percent_above(expected, 0.01)} together" in message
    assert "0.5 %" in message
    suggested = float(message.split("epsilon = ")[1].split(";", maxsplit=1)[0])
    monkeypatch.undo()
    assert kepsilon.anonymise(six_districts(), confident(max_total_suppression=0.01, epsilon=suggested), unsafe_seed=4)


def two_measures():
    """The six districts with a second ε-quasi, so that what goes for confidence is simulated; and their policy."""
    data = six_districts().append_column("weight", pa.array(np.random.default_rng(SEED).normal(70, 12, N).round(1)))
    return data, confident(attributes={"weight": HEIGHT})


@pytest.mark.parametrize("run", [kepsilon.check, kepsilon.anonymise])
def test_what_is_simulated_has_to_stay_below_the_cap_for_certain(run, monkeypatch):
    """Three standard errors above the figure that is expected: a cap between the two refuses."""
    monkeypatch.setattr("kepsilon.evaluate.confident_k.simulated_suppression._SIMULATED", 20_000)
    data, chosen = two_measures()
    found = kepsilon.check(data, chosen).confident_k
    expected, certain = found.total_expected, found.total_expected + 3 * found.of_counted.standard_error
    assert expected < 0.99 * certain
    limit = (expected + certain) / 2
    with pytest.raises(kepsilon.UnsatisfiableError, match="with three standard errors of what was simulated") as caught:
        run(data, chosen.with_changes(max_total_suppression=limit))
    assert f"{percent(expected)} together ({percent_above(certain, limit)} with three standard errors" in str(
        caught.value
    )
    assert run(data, chosen.with_changes(max_total_suppression=certain * 1.0001))


def test_an_epsilon_is_only_suggested_if_it_keeps_the_cap_for_certain(monkeypatch):
    """Half of ε is expected to keep it, though not by three standard errors: a quarter is what would work."""
    monkeypatch.setattr("kepsilon.evaluate.confident_k.simulated_suppression._SIMULATED", 20_000)
    data, chosen = two_measures()
    half, quarter = (kepsilon.check(data, chosen.with_changes(epsilon=EPSILON / n)).confident_k for n in (2, 4))
    cap = half.total_expected + 1.5 * half.of_counted.standard_error
    assert quarter.total_expected + 3 * quarter.of_counted.standard_error < cap
    with pytest.raises(kepsilon.UnsatisfiableError, match=f"epsilon = {EPSILON / 4:g}; or a higher confidence"):
        kepsilon.check(data, chosen.with_changes(max_total_suppression=cap))
    assert kepsilon.check(data, chosen.with_changes(max_total_suppression=cap, epsilon=EPSILON / 4))


def test_the_cap_holds_without_confidence_too():
    """Then it is OLA's share alone."""
    with pytest.raises(kepsilon.UnsatisfiableError, match=r"leaves out 0.5 % of the records read, above"):
        kepsilon.anonymise(six_districts(), confident(max_total_suppression=0.004).with_changes(confidence=None))


def test_a_release_without_anybody_is_refused():
    """Five records far apart, hardly moved: none could be that of another."""
    data = pa.table({"person": list("abcde"), "district": ["d"] * 5, "height": [1.0, 40.0, 90.0, 160.0, 300.0]})
    with pytest.raises(kepsilon.UnsatisfiableError, match="leaves out every record"):
        kepsilon.anonymise(data, confident(epsilon=100, max_suppression=0), unsafe_seed=SEED)


def test_the_manifest_has_what_anybody_can_count():
    """Released records and classes can be counted in the release; what was left out cannot."""
    release = kepsilon.anonymise(six_districts(), confident(), unsafe_seed=SEED)
    manifest = release.manifest
    assert release.record["records"]["suppressed_by_confidence"] > 0
    assert manifest["guarantee"]["confidence"] == CONFIDENCE
    assert "if confident k had left nobody out" in manifest["bounds"]["attacker"]
    labels = release.frame["district"].to_pylist()
    assert manifest["records"]["released"] == len(labels)
    assert manifest["classes"]["count"] == len(set(labels))
    assert manifest["classes"]["smallest"] == min(labels.count(label) for label in set(labels))


def test_declared_bounds_promise_less_with_confidence():
    """Who is left out depends on other people's true values."""
    attributes = {"height": {**HEIGHT, "range": [120, 220]}}
    alone = kepsilon.anonymise(
        six_districts(), confident(attributes=attributes).with_changes(confidence=None), unsafe_seed=1
    )
    both = kepsilon.anonymise(six_districts(), confident(attributes=attributes), unsafe_seed=1)
    assert "a local promise for each record" in alone.record["guarantee"]["statement"]
    assert "a local promise for each record" not in both.record["guarantee"]["statement"]
    assert "height, as drawn: given the partition" in both.record["guarantee"]["statement"]
    assert "may tell something about them" in both.record["guarantee"]["statement"]
    assert "Confident k" in both.record["guarantee"]["statement"]


COARSE = [i for i in range(11) for _ in range(2)]
"""A range of ten steps of the precision: rounding moves values as much as noise does."""


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("epsilon", "domain"), [(16, None), (40, None), (4, [0, 10]), (8, [3, 8])], ids=["16", "40", "clamped", "cut off"]
)
def test_rounding_and_clamping_are_part_of_the_expectation(epsilon, domain, rule, predicted_once):
    """|z| < 5 against 200 releases; unrounded noise would be far off."""
    quasi = {"role": "epsilon-quasi", "precision": 1, "range": "class", **({"domain": domain} if domain else {})}
    chosen = confident(epsilon=epsilon, confidence_rule=rule, attributes={**ALONE, "height": quasi}, max_suppression=0)
    data, expected, realised = pa.table({"height": COARSE}), set(), []
    for seed in range(200):
        try:
            figures = kepsilon.anonymise(data, chosen, unsafe_seed=seed).record["confident_k"]
        except kepsilon.UnsatisfiableError:  # nobody is left
            realised.append(1.0)
            continue
        expected.add(figures["expected"])
        realised.append(figures["realised"])
    if not expected:
        assert set(realised) == {1.0}
        return
    assert expected == {kepsilon.check(data, chosen).confident_k.of_entering.total}
    spread = max(np.std(realised, ddof=1), 0.01) / np.sqrt(len(realised))
    assert abs(np.mean(realised) - expected.pop()) < 5 * spread


def test_a_class_without_noise_loses_nobody_to_clamping():
    """Its records share one value; where it is clamped to says nothing about them."""
    data = pa.table({"person": list("abcdefghij"), "district": ["d"] * 10, "height": [300.0] * 10})
    attributes = {"height": {**HEIGHT, "domain": [0, 250]}}
    for rule in RULES:
        release = kepsilon.anonymise(data, confident(attributes=attributes, confidence_rule=rule, max_suppression=0))
        assert release.record["confident_k"]["expected"] == release.record["confident_k"]["realised"] == 0
        assert release.frame["height"].to_pylist() == [250.0] * 10


@pytest.mark.parametrize("base", [0, 10**12, 1_700_000_000_000_000])
def test_confident_k_holds_among_large_numbers(base):
    """Time stamps in microseconds: a double's rounding must not reach the next original."""
    data = pa.table({"height": [float(base + 2 * i) for i in range(20)]})
    quasi = {"role": "epsilon-quasi", "precision": 1, "range": "class"}
    with pytest.raises(kepsilon.UnsatisfiableError, match="leaves out every record"):
        kepsilon.anonymise(
            data, confident(k=3, epsilon=100, attributes={**ALONE, "height": quasi}, max_suppression=0), unsafe_seed=1
        )


def test_only_missing_values_left_have_a_picture_too(tmp_path):
    """Everybody with a value goes, the class of missing values stays."""
    data = pa.table(
        {
            "person": list("abcdefghijkl"),
            "district": ["d"] * 6 + ["e"] * 6,
            "height": [None] * 6 + [0, 10, 20, 30, 40, 50],
        }
    )
    attributes = {"height": {**HEIGHT, "missing": "class"}}
    chosen = confident(attributes=attributes, k=6, epsilon=100, confidence=0.5, max_suppression=0)
    release = kepsilon.anonymise(data, chosen, unsafe_seed=1)
    assert release.frame["height"].to_pylist() == [None] * 6
    release.report(tmp_path / "r.html")
