# SPDX-License-Identifier: Apache-2.0
"""A policy is read whole, refused whole, and never guessed."""

from __future__ import annotations

import json
import re

import pytest

from kepsilon import Policy, PolicyError, json_schema
from material.people import POLICY

GOOD = {
    "k": 5,
    "epsilon": 2,
    "algorithm": "ola",
    "max_suppression": 0.05,
    "attributes": {
        "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
    },
}


def changed(**changes) -> dict:
    return {**GOOD, **changes}


def height(**changes) -> dict:
    quasi = {**GOOD["attributes"]["height"], **changes}
    return changed(attributes={**GOOD["attributes"], "height": quasi})


def test_a_policy_survives_its_file(tmp_path):
    """What is read is what was written."""
    (tmp_path / "p.toml").write_text(POLICY, encoding="utf-8")
    policy = Policy.from_file(tmp_path / "p.toml")
    assert (policy.k, policy.epsilon, policy.identifiers, policy.kept) == (3, 2.0, ("name",), ("illness",))
    assert Policy.from_dict(policy.model_dump(mode="json", exclude_none=True)) == policy


def test_a_policy_cannot_be_changed():
    """A value checked once stays valid."""
    with pytest.raises(ValueError, match="frozen"):
        Policy.from_dict(GOOD).k = 1


@pytest.mark.parametrize("key", ["k", "epsilon", "algorithm", "max_suppression"])
def test_privacy_parameters_have_no_defaults(key):
    """They decide what is promised."""
    with pytest.raises(PolicyError, match=f"{key}: is required"):
        Policy.from_dict({name: value for name, value in GOOD.items() if name != key})


@pytest.mark.parametrize("key", ["range", "precision"])
def test_an_epsilon_quasi_states_its_range_and_precision(key):
    """Each ε-quasi needs what decides its promise, too."""
    quasi = {name: value for name, value in GOOD["attributes"]["height"].items() if name != key}
    with pytest.raises(PolicyError, match=f"attributes.height.{key}: is required"):
        Policy.from_dict(changed(attributes={"height": quasi}))


@pytest.mark.parametrize(
    ("document", "where"),
    [
        (changed(k=1), "k"),
        (changed(k=2.5), "k"),
        (changed(k=True), "k"),
        (changed(epsilon=0), "epsilon"),
        (changed(epsilon=-1), "epsilon"),
        (changed(epsilon=float("nan")), "epsilon"),
        (changed(epsilon=float("inf")), "epsilon"),
        (changed(epsilon=0.00009), "epsilon"),
        (changed(epsilon=100.1), "epsilon"),
        (changed(max_suppression=-0.01), "max_suppression"),
        (changed(max_suppression=1.01), "max_suppression"),
        (changed(algorithm="arx"), "algorithm"),
        (changed(confidence=0), "confidence"),
        (changed(confidence=1), "confidence"),
        (changed(confidence="0.99"), "confidence"),
        (changed(confidence=0.99, confidence_rule="loose"), "confidence_rule"),
        (changed(confidence_rule="strict"), "confidence_rule does nothing without confidence"),
        (changed(confidence=0.99, attributes={"zip": GOOD["attributes"]["zip"]}), "needs an epsilon-quasi"),
        (changed(max_total_suppression=1.1), "max_total_suppression"),
        (changed(loss="dm"), "loss"),
        (changed(kay=3), "kay"),
        (height(range=[5]), "attributes.height.range"),
        (height(range="record"), "attributes.height.range"),
        (height(range={"coarse": -1}), "attributes.height.range"),
        (height(range={"coarse": 0.25}), "attributes.height"),
        (height(range=[10, 10]), "attributes.height"),
        (height(domain=[5, 1]), "attributes.height"),
        (height(domain=[0.05, 1]), "attributes.height"),
        (height(precision=0), "attributes.height.precision"),
        (height(mechanism="gaussian"), "attributes.height.mechanism"),
        (height(role="quasi"), "attributes.height"),
        (changed(attributes={"a": {"role": "sensitive"}}), "policy"),
        (changed(attributes={"a": {"role": "k-quasi"}}), "attributes.a"),
    ],
)
def test_nonsense_is_refused_with_its_path(document, where):
    """Four things in a message: what, where, what would be right, what to do."""
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict(document)
    assert where in str(caught.value)


def test_all_mistakes_are_reported_at_once():
    """Nobody wants to find them one by one."""
    document = {
        "k": 1,
        "epsilon": 1000,
        "algorithm": "ola",
        "attributes": {
            "a": {"role": "k-quasi"},
            "b": {"role": "who"},
            "c": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [2, 3]}},
        },
    }
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict(document)
    found = "\n".join(problem.where for problem in caught.value.problems)
    for where in ("k", "epsilon", "max_suppression", "attributes.a", "attributes.b", "attributes.c.hierarchy"):
        assert f"policy: {where}" in found


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda number: changed(epsilon=number), "epsilon"),
        (lambda number: changed(max_suppression=number), "max_suppression"),
        (lambda number: changed(max_total_suppression=number), "max_total_suppression"),
        (lambda number: changed(confidence=number), "confidence"),
        (lambda number: height(precision=number), "attributes.height.precision"),
        (lambda number: height(domain=[0, number]), "attributes.height.domain.1"),
        (
            lambda number: changed(
                attributes={"a": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [number]}}}
            ),
            "attributes.a.hierarchy.widths.0",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_that_is_not_finite_is_one_mistake(make, where, number):
    """A number may be whole or not, and it is neither; that is said once, and no list is called empty because of it."""
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict(make(number))
    assert [str(problem) for problem in caught.value.problems] == [f"policy: {where}: should be a finite number."]


def test_confidence_is_off_unless_stated():
    """A promise nobody asked for is not made."""
    policy = Policy.from_dict(GOOD)
    assert (policy.confidence, policy.confidence_rule, policy.max_total_suppression) == (None, "text", None)
    chosen = Policy.from_dict(changed(confidence=0.99, confidence_rule="strict", max_total_suppression=0.1))
    assert (chosen.confidence, chosen.confidence_rule, chosen.max_total_suppression) == (0.99, "strict", 0.1)


def test_a_changed_policy_is_checked_again(tmp_path):
    """Hierarchies from files come along, whatever folder they were read from; nonsense is refused."""
    (tmp_path / "zip.csv").write_text("10115;1*\n10117;1*\n", encoding="utf-8")
    attributes = {**GOOD["attributes"], "zip": {"role": "k-quasi", "hierarchy": {"type": "file", "path": "zip.csv"}}}
    policy = Policy.from_dict(changed(attributes=attributes), folder=tmp_path)
    other = policy.with_changes(k=7, epsilon=0.5, confidence=0.9)
    assert (other.k, other.epsilon, other.confidence) == (7, 0.5, 0.9)
    assert other.files == policy.files
    assert other.with_changes(k=5, epsilon=2, confidence=None) == policy
    with pytest.raises(PolicyError, match="k"):
        policy.with_changes(k=1)
    with pytest.raises(ValueError, match="attributes"):
        policy.with_changes(attributes={})
    strict = policy.with_changes(confidence=0.9, confidence_rule="strict")
    assert strict.with_changes(confidence=None) == policy


def test_attributes_can_be_replaced_and_are_checked_with_the_whole(tmp_path):
    """Hierarchy files of the others are not read again; what contradicts the rest is refused as in any policy."""
    (tmp_path / "zip.csv").write_text("1;*\n2;*\n", encoding="utf-8")
    document = changed(
        attributes={**GOOD["attributes"], "zip": {"role": "k-quasi", "hierarchy": {"type": "file", "path": "zip.csv"}}}
    )
    policy = Policy.from_dict(document, folder=tmp_path)
    (tmp_path / "zip.csv").unlink()
    other = policy.with_attributes(
        {"height": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [10]}}}, epsilon=None
    )
    assert list(other.k_quasis) == ["zip", "height"]
    assert (other.epsilon, other.files) == (None, policy.files)
    assert policy.with_attributes({}) == policy
    with pytest.raises(PolicyError, match="confidence needs an epsilon-quasi"):
        policy.with_attributes({"height": {"role": "identifier"}}, confidence=0.9)


@pytest.mark.parametrize(
    ("share", "n", "most"), [(0.05, 100, 5), (0.05, 119, 5), (0.29, 100, 29), (0, 10, 0), (1, 7, 7)]
)
def test_the_limit_is_counted_in_whole_records(share, n, most):
    """0.29 · 100 is 28.999999999999996 in floating point; the curator wrote 29 of 100."""
    assert Policy.from_dict(changed(max_suppression=share)).most_suppressed(n) == most


def test_the_schema_knows_every_key():
    """Editors complete what the reader accepts."""
    schema = json.dumps(json_schema())
    for key in (*Policy.model_fields, "hierarchy", "precision", "range", "unlisted", "widths", "units", "k-quasi"):
        assert f'"{key}"' in schema


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"importance": 0}, "greater than 0"),
        ({"importance": -1}, "greater than 0"),
        ({"importance": 1001}, "less than or equal to 1000"),
        ({"importance": float("nan")}, "finite number"),
        ({"importance": True}, "should be a number"),
        ({"max_level": -1}, "greater than or equal to 0"),
        ({"max_level": 1.0}, "should be a valid integer"),
        ({"max_level": 3}, "max_level is 3, and the highest level of the hierarchy is 2"),
        ({"hierarchy": {"type": "suppress"}, "max_level": 2}, "the highest level of the hierarchy is 1"),
        ({"hierarchy": {"type": "mask", "length": 5}, "max_level": 6}, "the highest level of the hierarchy is 5"),
        (
            {"hierarchy": {"type": "dates", "units": ["month"]}, "max_level": 3},
            "the highest level of the hierarchy is 2",
        ),
        ({"hierarchy": None, "max_level": 1}, "max_level needs a hierarchy or a step"),
    ],
    ids=str,
)
def test_importance_and_max_level_are_refused_where_they_mean_nothing(settings, why):
    """A weight of 0 would let a column go for nothing, and a level that is not there would limit nothing."""
    zip_code = {"role": "k-quasi", "hierarchy": {"type": "groups", "levels": [{"a": ["1"]}]}, **settings}
    with pytest.raises(PolicyError, match=re.escape(why)):
        Policy.from_dict(changed(algorithm="mondrian", attributes={**GOOD["attributes"], "zip": zip_code}))


def test_importance_and_max_level_have_a_place_in_the_written_policy():
    """Whoever reads the record sees what was asked for."""
    zip_code = {"role": "k-quasi", "hierarchy": {"type": "mask"}, "importance": 2.5, "max_level": 3}
    years = {"role": "k-quasi", "step": 5, "max_level": 40}
    policy = Policy.from_dict(
        changed(algorithm="mondrian", attributes={**GOOD["attributes"], "zip": zip_code, "y": years})
    )
    assert (policy.k_quasis["zip"].importance, policy.k_quasis["zip"].max_level) == (2.5, 3)
    assert (policy.k_quasis["y"].importance, policy.k_quasis["y"].max_level) == (1, 40)
    assert Policy.from_dict(policy.model_dump(mode="json", exclude_none=True)) == policy
