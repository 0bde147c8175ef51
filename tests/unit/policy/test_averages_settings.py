# SPDX-License-Identifier: Apache-2.0
"""What does not go with averages, and what noise lacks, is refused with what to write; all of it at once."""

from __future__ import annotations

import pytest

import kepsilon as ke
from kepsilon.policy.policy import json_schema

QUASI = {"role": "epsilon-quasi", "precision": 0.1}
DECLARED = {**QUASI, "range": [0, 300]}


def document(**changes):
    """A policy with averages of 20, or as changed; None takes a key out."""
    own = {
        "k": 10,
        "algorithm": "mondrian",
        "max_suppression": 0,
        "averages": {"group": 20},
        "attributes": {"patient": {"role": "identifier"}, "height": QUASI},
    }
    return {key: value for key, value in {**own, **changes}.items() if value is not None}


def problems(**changes) -> list[str]:
    with pytest.raises(ke.PolicyError) as refused:
        ke.Policy.from_dict(document(**changes))
    return [str(problem) for problem in refused.value.problems]


NOISE = {"group": 20, "noise": True}
ATTRIBUTES = {"patient": {"role": "identifier"}, "height": DECLARED}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"averages": {"group": 5}}, "averages.group: should be at least k = 10"),
        ({"averages": {"group": 5}}, "write group = 10 or more"),
        ({"k": 2}, "write k = 3 or more"),
        ({"averages": {"group": 2}}, "averages.group: should be greater than or equal to 3"),
        ({"averages": {}}, "averages.group: is required and has no default"),
        ({"averages": 20}, "averages: should be a table, such as { group = 20 }"),
        ({"averages": {"group": 20, "noize": True}}, "Did you mean noise?"),
        ({"averages": NOISE, "epsilon": 1}, "attributes.height.range: averages.noise needs a declared range"),
        ({"averages": NOISE, "epsilon": 1}, "write range = [low, high]"),
        ({"averages": NOISE, "attributes": ATTRIBUTES}, "epsilon: is required and has no default"),
        ({"averages": {**NOISE, "spread": True}}, "state noise or spread, not both"),
        ({"confidence": 0.9}, "take confidence or averages out"),
        (
            {"attributes": {"height": {**QUASI, "mechanism": "laplace"}}},
            "attributes.height.mechanism: averages have no mechanism; take it out",
        ),
        ({"attributes": {"sex": {"role": "k-quasi"}}}, "give a column of numbers that role, or take averages out"),
        ({"person": "patient", "epsilon_per": "person"}, "epsilon_per is about noise, and none is drawn here; take it out"),
        (
            {"averages": NOISE, "epsilon": 1, "person": "patient", "epsilon_per": "person", "attributes": ATTRIBUTES},
            'epsilon_per = "person" with averages needs max_records_per_person',
        ),
        ({"averages": None}, "epsilon: is required and has no default"),
        ({"averages": None, "epsilon": 1}, "attributes.height.range: is required and has no default"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_averages_is_refused_with_what_to_write(changes, said):
    """Somebody who never read the docs should be able to mend the policy."""
    assert any(said in problem for problem in problems(**changes)), problems(**changes)


def test_all_mistakes_are_said_at_once():
    """Also those that the policy as a whole would be asked for last."""
    found = problems(averages={**NOISE, "spread": True}, confidence=0.9)
    assert len(found) == 4, found
    without_k = problems(k=None, averages=None)
    assert [problem.split(": ")[1] for problem in without_k] == ["k", "epsilon", "attributes.height.range"]
    assert len(problems(k=None, averages=NOISE)) == 2
    assert len(problems(k=None)) == 1
    assert len(problems(k="ten", averages="twenty")) == 2


@pytest.mark.parametrize("averages", [{"group": 20}, {"group": 20, "spread": True}])
def test_averages_without_noise_need_neither_epsilon_nor_range(averages):
    """Nothing is drawn with them; where they are stated, a note says so, and the policy loads."""
    policy = ke.Policy.from_dict(document(averages=averages))
    assert (policy.epsilon, policy.draws_noise, policy.notes) == (None, False, ())
    (note,) = ke.Policy.from_dict(document(averages=averages, epsilon=2, attributes=ATTRIBUTES)).notes
    assert note.where == "epsilon"
    assert "nothing is drawn with it" in note.what
    assert note.fix == "Take it out of the policy."


def test_a_policy_with_averages_survives_its_document():
    """No mechanism is written, because there is none; a policy without averages writes its default."""
    policy = ke.Policy.from_dict(document())
    written = policy.model_dump(mode="json", exclude_none=True)
    assert "mechanism" not in written["attributes"]["height"]
    assert ke.Policy.from_dict(written) == policy
    noise = ke.Policy.from_dict(document(averages=None, epsilon=1, attributes=ATTRIBUTES))
    assert noise.model_dump(mode="json")["attributes"]["height"]["mechanism"] == "laplace"
    assert noise.with_changes(**noise.averaging(20)).averages.group == 20


def test_an_unused_epsilon_is_noted_without_an_epsilon_quasi():
    """A policy of version 0.1 that had to state one works as before."""
    policy = ke.Policy.from_dict(document(averages=None, epsilon=2, attributes={"sex": {"role": "k-quasi"}}))
    assert [note.where for note in policy.notes] == ["epsilon"]
    assert policy.draws_noise is False


def test_editors_know_the_table():
    """`kepsilon schema` describes it, and asks for what has no default."""
    schema = json_schema()
    own = schema["$defs"]["Averages"]
    assert set(own["properties"]) == {"group", "noise", "spread"}
    assert own["required"] == ["group"]
    assert own["properties"]["group"]["minimum"] == 3
    assert "epsilon" not in schema["required"]
    assert "range" not in schema["$defs"]["EpsilonQuasi"]["required"]
