# SPDX-License-Identifier: Apache-2.0
"""Splits of the numeric quasis into k-quasis and ε-quasis: each is a policy of its own, with the figures that `check` finds."""

from __future__ import annotations

import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kepsilon as ke
from kepsilon.engines.spark.engine import SparkEngine
from kepsilon.pipeline.splits import MOST_COMBINED
from material.engine_cases import spark_session
from material.people import POLICY, people

NUMERIC = ("year", "height")


def policy(**changes):
    document = tomllib.loads(POLICY)
    attributes = {**document["attributes"], **changes.pop("attributes", {})}
    stated = {key: own for key, own in {**document, **changes}.items() if own is not None}
    return ke.Policy.from_dict({**stated, "attributes": {name: own for name, own in attributes.items() if own}})


@pytest.fixture(scope="module")
def records():
    return pa.Table.from_pylist(people(240))


@pytest.fixture(scope="module")
def grid(records):
    return ke.explore(records, policy(), split=True)


def test_every_numeric_quasi_has_both_roles_once_each_way(grid):
    """Two numeric quasis have four splits; the policy's own comes first, and no other attribute changes."""
    assert [cell.split.name for cell in grid.cells] == [
        "your policy's own split",
        "year as ε-quasi",
        "height as k-quasi",
        "year as ε-quasi and height as k-quasi",
    ]
    assert {cell.split.epsilon_quasis for cell in grid.cells} == {(), ("year",), ("height",), ("year", "height")}
    for cell in grid.cells:
        assert set(cell.split.k_quasis) | set(cell.split.epsilon_quasis) == set(NUMERIC)
        assert cell.split.others == ("zip", "sex")
        assert cell.split.policy.kept == ("illness",)
        assert set(cell.split.policy.k_quasis) == {"zip", "sex", *cell.split.k_quasis}


def test_the_figures_of_a_split_are_those_that_check_finds(grid, records):
    """The same prediction by the same path: a curator who takes a split over gets what was shown."""
    for cell in grid.cells:
        found = ke.check(records, cell.split.policy)
        assert cell.prediction.distortion == found.distortion
        assert cell.prediction.linking_risk == found.linking_risk
        assert cell.prediction.loss == found.loss
        assert cell.prediction.suppression == found.suppression
        assert cell.strongest.in_words == found.linking_risk.headline.attacker


def test_the_best_split_is_a_policy(grid):
    """`best` gives the policy of the least distorted split within the limits, and changes nothing else."""
    best = grid.best(max_risk=1)
    least = min(grid.cells, key=lambda cell: cell.prediction.distortion)
    assert best == least.split.policy
    assert grid.changes(least).get("attributes", {}).keys() == least.split.switched.keys()


@pytest.mark.parametrize("algorithm", ke.json_schema()["properties"]["algorithm"]["enum"])
def test_every_algorithm_can_be_asked(records, algorithm):
    """A switched attribute has intervals and a step, so that no algorithm lacks anything."""
    found = ke.explore(records, policy(), split=True, algorithm=algorithm, k=5, epsilon=[1])
    assert {(cell.algorithm, cell.k) for cell in found.cells} == {(algorithm, 5)}
    assert [cell.refused for cell in found.cells if cell.refused] == []
    assert {cell.epsilon for cell in found.cells} == {1, None}


def test_what_is_about_noise_goes_with_the_last_epsilon_quasi(records):
    """Confidence without noise is refused in a policy; so a split without any noise does not have it."""
    found = ke.explore(records, policy(confidence=0.9), split=True)
    without = next(cell for cell in found.cells if not cell.split.epsilon_quasis)
    assert without.refused is None
    assert without.split.policy.confidence is None
    assert without.split.policy.epsilon is None
    assert all(cell.split.policy.confidence == 0.9 for cell in found.cells if cell.split.epsilon_quasis)


def test_averages_are_compared_where_the_policy_or_the_caller_asks_for_them(records):
    """With averages a new ε-quasi is averaged with the others, and a split without any has none."""
    found = ke.explore(records, policy(), split=True, group=[5])
    assert [cell.refused for cell in found.cells if cell.refused] == []
    assert {cell.group for cell in found.cells if cell.split.epsilon_quasis} == {5}
    assert {cell.group for cell in found.cells if not cell.split.epsilon_quasis} == {None}
    stated = ke.explore(records, policy(averages={"group": 5}, epsilon=None), split=True)
    assert [own.prediction.distortion for own in stated.cells] == [own.prediction.distortion for own in found.cells]


def test_noise_on_averages_gets_declared_ranges(records):
    """Noise on averages needs bounds; a new ε-quasi gets round ones that reach beyond the data."""
    own = {"role": "epsilon-quasi", "precision": 0.1, "range": [100, 250]}
    asked = policy(averages={"group": 5, "noise": True}, attributes={"height": own})
    found = ke.explore(records, asked, split=True)
    assert [cell.refused for cell in found.cells if cell.refused] == []
    new = found.cells[1].split.policy.epsilon_quasis["year"]
    assert new.range == (0, 5000)


def test_a_policy_without_noise_needs_epsilon_from_somewhere(records):
    """ε has no default: it decides what is promised."""
    quiet = policy(epsilon=None, attributes={"height": {"role": "k-quasi", "step": 10}}, algorithm="mondrian")
    with pytest.raises(ke.PolicyError, match="neither the policy nor the caller states epsilon"):
        ke.explore(records, quiet, split=True)
    found = ke.explore(records, quiet, split=True, epsilon=2)
    assert found.cells[0].epsilon is None
    assert {cell.epsilon for cell in found.cells[1:]} == {2}
    assert found.cells[0].split.policy.epsilon is None


def test_more_numeric_quasis_change_one_at_a_time():
    """2^5 splits would be read one after the other; the curator is told that only six are."""
    n = MOST_COMBINED + 1
    names = [f"n{j}" for j in range(n)]
    table = pa.table({name: [(i * (7 + j)) % 50 for i in range(60)] for j, name in enumerate(names)})
    asked = ke.Policy.from_dict(
        {
            "k": 5,
            "epsilon": 8,
            "algorithm": "mondrian",
            "max_suppression": 0,
            "attributes": {name: {"role": "k-quasi", "step": 10} for name in names},
        }
    )
    found = ke.explore(table, asked, split=True)
    assert [len(cell.split.switched) for cell in found.cells] == [0, *[1] * n]
    assert any("only those are compared that change one attribute" in note.what for note in found.warnings)


def test_missing_values_stay_in_the_comparison():
    """A k-quasi keeps records that lack it; as an ε-quasi it would leave them out, unless they are classes of their own."""
    table = pa.table({"age": [None if i % 6 == 0 else 20 + i % 50 for i in range(120)], "sex": ["f", "m"] * 60})
    document = {"k": 5, "epsilon": 2, "algorithm": "mondrian", "max_suppression": 0}
    attributes = {"age": {"role": "k-quasi", "step": 10}, "sex": {"role": "k-quasi"}}
    found = ke.explore(table, ke.Policy.from_dict({**document, "attributes": attributes}), split=True)
    assert found.cells[1].split.switched["age"]["missing"] == "class"
    assert [cell.prediction.suppression.total for cell in found.cells] == [0, 0]


def test_what_both_roles_have_is_taken_over():
    """Texts that mean missing mean it in the other role too."""
    table = pa.table({"age": ["99" if i % 6 == 0 else str(20 + i % 50) for i in range(120)], "sex": ["f", "m"] * 60})
    document = {"k": 5, "epsilon": 2, "algorithm": "mondrian", "max_suppression": 0}
    age = {"role": "epsilon-quasi", "precision": 1, "range": "class", "missing_values": ["99"]}
    attributes = {"age": age, "sex": {"role": "k-quasi"}}
    found = ke.explore(table, ke.Policy.from_dict({**document, "attributes": attributes}), split=True)
    assert found.cells[1].split.switched["age"]["missing_values"] == ["99"]
    assert found.cells[1].prediction.records.suppressed_missing == 0
    assert found.cells[0].prediction.records.suppressed_missing == 20


def test_an_attribute_with_one_number_keeps_its_role(records):
    """No range of noise, and no interval, can be proposed for a constant; the curator is told."""
    one = records.append_column("one", pa.array([7] * len(records)))
    found = ke.explore(
        one, policy(attributes={"one": {"role": "k-quasi", "step": 1}}, algorithm="mondrian"), split=True
    )
    assert all("one" in cell.split.k_quasis for cell in found.cells)
    assert any(note.where == "attributes.one" for note in found.warnings)


def test_a_refused_split_says_why_and_the_others_stay(records):
    """Texts that a k-quasi leaves out are no numbers for noise; that split cannot be had, and the others stay."""
    years = pa.array(["unknown", *records.column("year").to_pylist()[1:]])
    table = records.set_column(records.column_names.index("year"), "year", years)
    year = {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10]}, "unlisted": "suppress"}
    found = ke.explore(table, policy(attributes={"year": year}), split=True)
    refused = {cell.split.epsilon_quasis: cell.refused for cell in found.cells if cell.refused}
    assert refused.keys() == {("year",), ("year", "height")}
    assert all("number" in why and "unknown" not in why for why in refused.values())


def test_persons_are_counted_in_every_split():
    """k counts persons in every split, and ε covers what the policy says that it covers."""
    table = pa.table(
        {
            "who": [f"p{i // 2}" for i in range(240)],
            "age": [20 + (i // 2 * 7) % 60 for i in range(240)],
            "weight": [50 + (i * 13) % 60 for i in range(240)],
        }
    )
    document = {
        "k": 5,
        "epsilon": 4,
        "algorithm": "mondrian",
        "max_suppression": 0,
        "person": "who",
        "epsilon_per": "record",
    }
    attributes = {
        "who": {"role": "identifier"},
        "age": {"role": "k-quasi", "step": 10},
        "weight": {"role": "epsilon-quasi", "precision": 1, "range": {"coarse": 20}},
    }
    found = ke.explore(table, ke.Policy.from_dict({**document, "attributes": attributes}), split=True)
    assert [cell.refused for cell in found.cells if cell.refused] == []
    assert all(cell.prediction.persons.fewest_in_a_class >= 5 for cell in found.cells)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": [3, 5]}, "splits are compared at one k, and 2 were given"),
        ({"epsilon": [1, 2]}, "splits are compared at one epsilon"),
        ({"algorithm": ["ola", "mondrian"]}, "splits are compared at one algorithm"),
        ({"group": [5, 10]}, "splits are compared at one group"),
        ({"k": []}, "no value is given"),
        ({"group": 5, "epsilon": 2}, "cannot be given together"),
        ({"group": 5.5}, "should be a whole number"),
    ],
)
def test_what_does_not_fit_is_refused(records, given, words):
    """Splits are compared side by side at one setting; nothing that was asked for is silently left aside."""
    with pytest.raises(ke.PolicyError, match=words):
        ke.explore(records, policy(), split=True, **given)


def test_without_numbers_there_is_nothing_to_split():
    """The refusal says what a numeric quasi is."""
    table = pa.table({"sex": ["f", "m"] * 20})
    asked = ke.Policy.from_dict(
        {
            "k": 2,
            "epsilon": 1,
            "algorithm": "mondrian",
            "max_suppression": 0,
            "attributes": {"sex": {"role": "k-quasi"}},
        }
    )
    with pytest.raises(ke.PolicyError, match="no quasi is numeric"):
        ke.explore(table, asked, split=True)


def test_errors_of_the_policys_own_split_are_raised(records):
    """As `check` would: a file that does not fit the policy is not compared with itself."""
    broken = policy(attributes={"zip": {"role": "k-quasi", "hierarchy": {"type": "groups", "levels": [{"a": ["b"]}]}}})
    with pytest.raises(ke.DataError, match="does not list"):
        ke.explore(records, broken, split=True)


@pytest.mark.parametrize("engine", ["spilling", pytest.param("spark", marks=pytest.mark.spark)])
def test_every_engine_compares_the_same_splits(tmp_path, records, grid, engine):
    """Settings are proposed from distinct numbers, which every engine can tell, and figures are predicted by one path."""
    pq.write_table(records, tmp_path / "people.parquet")
    how = {"memory": "200MB"}
    if engine == "spark":
        how = {"engine": SparkEngine(session=spark_session(), memory=200_000_000, staging=tmp_path)}
    found = ke.explore(tmp_path / "people.parquet", policy(), split=True, **how)
    assert [cell.split for cell in found.cells] == [cell.split for cell in grid.cells]
    for one, other in zip(found.cells, grid.cells, strict=True):
        assert one.prediction.distortion == pytest.approx(other.prediction.distortion, rel=1e-12)
        assert one.prediction.linking_risk.headline.risk.total == pytest.approx(
            other.prediction.linking_risk.headline.risk.total, rel=1e-12
        )
