# SPDX-License-Identifier: Apache-2.0
"""The largest single risk through check, explore and anonymise, and the limit on it: before anything is drawn, exactly."""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.policy.choices import MECHANISMS
from kepsilon.predict import individual_risk
from kepsilon.predict.individual_risk import three_digits, three_digits_up_to
from material.people import OPENLY, policy
from material.toy_mechanism import Toy
from oracles.noise import SEED

HEIGHT = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
POLICY = {
    "k": 4, "epsilon": 3, "algorithm": "ola", "max_suppression": 0,
    "attributes": {"district": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}, "height": HEIGHT},
}  # fmt: skip
N = 240
RUNS = [kepsilon.check, kepsilon.anonymise]


def districts(n=N):
    """Twenty districts of twelve, but one of four; heights and weights."""
    rng = np.random.default_rng(SEED)
    district = np.arange(n) % 20
    district[np.flatnonzero(district == 0)[4:]] = 1
    height = rng.normal(170, 9, n).round(1)
    return pa.table({"district": district.astype(str), "height": height, "weight": (height - 100).round(1)})


def wanted(**changes):
    """The policy of the districts with some keys changed; `weight` says what becomes of the weight."""
    weight = changes.pop("weight", None)
    roles = {"weight": weight or OPENLY, **changes.pop("attributes", {})}
    return policy(POLICY, attributes=roles, **changes)


def by_hand(table, epsilon, *, columns=("height",), clip=None, widths=None):
    """The largest 1/Σ_j exp(−ε‖v_i − v_j‖/R) of any record, class by class and record by record."""
    labels = table["district"].to_pylist()
    values = [table[name].to_pylist() for name in columns]
    if clip is not None:
        values = [[min(max(v, clip[0]), clip[1]) for v in own] for own in values]
    largest = 0.0
    for label in set(labels):
        rows = [i for i, own in enumerate(labels) if own == label]
        ranges = [widths or max(own[i] for i in rows) - min(own[i] for i in rows) for own in values]
        for i in rows:
            total = 0.0
            for j in rows:
                far = max((abs(own[i] - own[j]) / r for own, r in zip(values, ranges, strict=True) if r), default=0.0)
                total += math.exp(-epsilon * far)
            largest = max(largest, 1 / total)
    return largest


CASES = {
    "one ε-quasi": (wanted(), {}),
    "two ε-quasis": (wanted(weight=HEIGHT), {"columns": ("height", "weight")}),
    "clipped": (
        wanted(attributes={"height": {**HEIGHT, "range": [165, 175]}}),
        {"clip": (165, 175), "widths": 10},
    ),
    "no ε-quasi": (wanted(attributes={"height": OPENLY}), {"columns": ()}),
}


@pytest.mark.parametrize(("chosen", "how"), CASES.values(), ids=CASES)
def test_check_and_record_have_the_figures_of_every_pair_of_originals(chosen, how):
    """At ε for one record at a time and at 2ε for a matcher of classes; without an ε-quasi, one in the smallest class."""
    table = districts()
    found, record = (
        kepsilon.check(table, chosen).linking_risk,
        kepsilon.anonymise(table, chosen, unsafe_seed=SEED).record,
    )
    assert found.largest_possible == pytest.approx(by_hand(table, 3, **how), rel=1e-12)
    assert found.largest_possible_by_matching == pytest.approx(by_hand(table, 6, **how), rel=1e-12)
    stated = record.to_json()["linking_risk"]
    assert stated["largest_possible_by_matching"] == found.largest_possible_by_matching
    assert stated["largest"] <= found.largest_possible * (1 + 1e-12)
    assert found.to_json()["largest_possible_by_matching"] == found.largest_possible_by_matching
    if not how.get("columns", True):
        assert found.largest_possible == found.largest_possible_by_matching == 1 / 4


def test_a_class_without_noise_counts_with_one_over_its_size():
    """Four who agree are one in four to both attackers, whatever ε; here that is the largest risk of all."""
    heights = districts()["height"].to_numpy().copy()
    heights[np.array(districts()["district"].to_pylist()) == "0"] = 170.0
    table = districts().set_column(1, "height", pa.array(heights))
    found = kepsilon.check(table, wanted(epsilon=0.01)).linking_risk
    assert found.largest_possible == found.largest_possible_by_matching == 1 / 4
    assert found.largest_possible_by_matching == pytest.approx(by_hand(table, 0.02), rel=1e-12)


def test_explore_has_the_figures_of_check_for_every_epsilon():
    """Some ε are twice another, which is worked out once and must not be taken for the other."""
    grid = kepsilon.explore(districts(), wanted(), k=[4, 12], epsilon=[0.5, 1, 2, 3], algorithm="ola")
    for cell in grid.cells:
        alone = kepsilon.check(districts(), wanted(k=cell.k, epsilon=cell.epsilon, max_suppression=0)).linking_risk
        assert cell.prediction.linking_risk.to_json() == alone.to_json()
        assert cell.to_json()["largest_possible_by_matching"] == alone.largest_possible_by_matching
        assert alone.largest_possible < alone.largest_possible_by_matching


def test_a_mechanism_without_closed_forms_has_the_bound_of_any_indistinguishable_one():
    """1/(1 + (m − 1)·e^(−2ε)) in the smallest class, since both records of an exchange change by e^ε at most."""
    with MECHANISMS.having(Toy()):
        toy = {"role": "epsilon-quasi", "precision": 1, "mechanism": "toy", "range": [140, 210]}
        found = kepsilon.check(districts(), wanted(attributes={"height": toy}, epsilon=1)).linking_risk
    assert found.largest_possible == pytest.approx(1 / (1 + 3 * math.exp(-1)))
    assert found.largest_possible_by_matching == pytest.approx(1 / (1 + 3 * math.exp(-2)))


def refusal(run, table, chosen):
    with pytest.raises(kepsilon.UnsatisfiableError) as caught:
        run(table, chosen)
    return str(caught.value)


def suggested(message):
    return [float(found) for found in re.findall(r"epsilon = ([0-9.]+), (?:the|which)", message)]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("limit", [0.26, 0.4, 0.7])
@pytest.mark.parametrize("weight", [None, HEIGHT], ids=["one", "two"])
def test_a_limit_refuses_before_noise_is_drawn_and_the_suggested_epsilon_passes(run, limit, weight, monkeypatch):
    """The largest ε of three digits: the next one is refused. So does the ε that needs no data, and the suggested limit."""
    table, chosen = districts(), wanted(weight=weight, max_individual_risk=limit)
    with monkeypatch.context() as patch:
        drawn = []
        patch.setattr("kepsilon.perturb.mechanisms.laplace.perturb", lambda *a, **b: drawn.append(1))
        message = refusal(run, table, chosen)
        assert not drawn
    names = "district, height" + ", weight" * (weight is not None)
    assert f"whoever knows {names} of everybody and matches a whole class one to one" in message
    assert f"above max_individual_risk = {limit}. Nothing was released." in message
    best, *always = suggested(message)
    run(table, chosen.with_changes(epsilon=best))
    following = three_digits(three_digits_up_to(best) + 1)
    assert suggested(refusal(run, table, chosen.with_changes(epsilon=following)))[0] == best
    rule = math.log(3 * limit / (1 - limit)) / 2
    assert always == (
        [three_digits(three_digits_up_to(rule))] if three_digits_up_to(rule) < three_digits_up_to(best) else []
    )
    for epsilon in always:
        run(table, chosen.with_changes(epsilon=epsilon))
    (allowed,) = re.findall(r"or max_individual_risk = ([0-9.]+)\.", message)
    run(table, chosen.with_changes(max_individual_risk=float(allowed)))


@pytest.mark.parametrize("run", RUNS)
def test_the_limit_is_on_the_matcher_and_on_the_loneliest_record_of_all(run):
    """Not on the attacker of single records, and not on the class where people hide best: both would let this pass."""
    risk = kepsilon.check(districts(), wanted()).linking_risk
    between = (risk.largest_possible + risk.largest_possible_by_matching) / 2
    assert risk.largest_possible < between < risk.largest_possible_by_matching
    refusal(run, districts(), wanted(max_individual_risk=between))
    run(districts(), wanted(max_individual_risk=risk.largest_possible_by_matching))
    refusal(run, districts(), wanted(max_individual_risk=math.nextafter(risk.largest_possible_by_matching, 0)))


@pytest.mark.parametrize("epsilon", [0.0001, 3])
def test_a_limit_below_one_in_the_smallest_class_asks_for_a_larger_k(epsilon):
    """No ε would do: one in four is more than a fifth. At k = 5 some ε keeps it."""
    message = refusal(kepsilon.check, districts(), wanted(epsilon=epsilon, max_individual_risk=0.2))
    assert "k, which has to be at least 5 for this limit" in message
    assert not suggested(message)
    larger = wanted(k=5, epsilon=3, max_suppression=0.05, max_individual_risk=0.2)
    (best, *_) = suggested(refusal(kepsilon.check, districts(), larger))
    kepsilon.check(districts(), larger.with_changes(epsilon=best))


def test_without_an_epsilon_quasi_only_k_helps():
    """Nobody is told to lower an ε that does nothing."""
    chosen = wanted(attributes={"height": OPENLY}, max_individual_risk=0.1)
    message = refusal(kepsilon.check, districts(), chosen)
    assert "at least 10 for this limit" in message
    assert "epsilon =" not in message
    kepsilon.check(districts(), chosen.with_changes(k=10, max_suppression=0.05))


def test_a_k_that_needs_no_data_keeps_the_limit():
    """Where the table is large enough for it: 1 + e^(2ε)·(1 − P)/P records."""
    chosen = wanted(epsilon=0.5, max_individual_risk=0.3)
    message = refusal(kepsilon.check, districts(), chosen)
    (k,) = re.findall(r"k = ([0-9]+), which keeps it at epsilon = 0.5 whatever the data is", message)
    assert int(k) == math.ceil(1 + math.e * 0.7 / 0.3)
    kepsilon.check(districts(), chosen.with_changes(k=int(k), max_suppression=0.05))


@pytest.mark.parametrize("limit", [1e-300, 1e-9, 0.0041])
def test_a_limit_that_nothing_can_keep_is_refused_with_what_is_possible(limit):
    """Fewer records than the limit needs: neither an ε nor a k is suggested, and nothing overflows."""
    message = refusal(kepsilon.check, districts(), wanted(epsilon=100, max_individual_risk=limit))
    assert re.search(r"What would work, or may: max_individual_risk = [0-9.]+\.$", message)


def test_all_causes_are_reported_at_once():
    """A cap on suppression and a limit on one record, in one refusal with one list of ways each."""
    chosen = wanted(confidence=0.9, max_total_suppression=0.0001, max_individual_risk=0.3)
    with pytest.raises(kepsilon.UnsatisfiableError) as caught:
        kepsilon.check(districts(), chosen)
    first, second = caught.value.problems
    assert "max_total_suppression" in first.what
    assert "max_individual_risk" in second.what


def test_a_refusal_goes_through_the_classes_a_few_times_only(monkeypatch):
    """Forty ε at a time: two passes for one decade of ε, three for any."""
    passes = []
    honest = individual_risk._largest_within

    def counted(limit, first, last, *, risks):
        return honest(limit, first, last, risks=lambda epsilons: passes.append(len(epsilons)) or risks(epsilons))

    monkeypatch.setattr(individual_risk, "_largest_within", counted)
    refusal(kepsilon.check, districts(), wanted(epsilon=100, max_individual_risk=0.2501))
    assert len(passes) <= 3
    assert max(passes) <= 40


def test_names_of_columns_cannot_forge_a_refusal():
    """A line break in a name is written out."""
    table = districts().rename_columns(["district", "height\nkepsilon: all is well", "weight"])
    chosen = policy(
        POLICY,
        attributes={"height": None, "height\nkepsilon: all is well": HEIGHT, "weight": OPENLY},
        max_individual_risk=0.3,
    )
    assert "\nkepsilon" not in refusal(kepsilon.check, table, chosen)


@pytest.mark.parametrize("value", [0.0001, 0.000123, 0.999, 0.9995, 1, 1.005, 9.99, 9.999, 10, 99.95, 100])
def test_decimals_of_three_digits_are_counted_without_a_gap(value):
    """The largest one that is not above a value, its neighbour above, and the way back."""
    number = three_digits_up_to(value)
    assert three_digits(number) <= value < three_digits(number + 1)
    assert three_digits_up_to(three_digits(number)) == number
    assert float(f"{three_digits(number):g}") == three_digits(number)


@pytest.mark.parametrize("limit", [0, -0.1, 1.01, "much", True])
def test_the_limit_is_a_share_above_nothing(limit):
    """Refused with the path of the key."""
    with pytest.raises(kepsilon.PolicyError, match="max_individual_risk"):
        wanted(max_individual_risk=limit)


def test_the_manifest_does_not_tell_the_limit():
    """That a release passed it is a bit about the values; the curator's record has it."""
    release = kepsilon.anonymise(districts(), wanted(max_individual_risk=0.999), unsafe_seed=SEED)
    assert "max_individual_risk" not in str(release.manifest.to_json())
    assert release.record.to_json()["policy"]["max_individual_risk"] == 0.999
    assert "largest_possible" not in str(release.manifest.to_json())
