# SPDX-License-Identifier: Apache-2.0
"""The rigs draw every setting that the policy has; one that is added later and not drawn fails here, by its name."""

from __future__ import annotations

import tomllib
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

import kepsilon
from rigs import settings
from rigs.cases import draw_case
from rigs.columns import Column
from rigs.policies import HOW, toml
from rigs.settings import all_keys, all_settings, settings_of
from rigs.tables import as_frame

SEEDS = range(400)


@pytest.fixture(scope="module")
def documents():
    """Policies of many cases."""
    return [draw_case(seed).document for seed in SEEDS]


def test_every_key_of_the_policy_has_a_way_to_be_drawn():
    """A key that is not drawn is a promise that no rig ever tries."""
    lacking = sorted(all_keys() - HOW.keys())
    assert not lacking, f"add to HOW in tests/rigs/policies.py how to draw: {', '.join(lacking)}"


def test_no_way_to_draw_is_for_a_key_that_is_gone():
    """A line that draws nothing would look like cover."""
    gone = sorted(HOW.keys() - all_keys())
    assert not gone, f"take out of HOW in tests/rigs/policies.py: {', '.join(gone)}"


def test_every_value_and_shape_is_drawn(documents):
    """Each value of a closed set, and each shape of a value; rare ones are a handful in these seeds."""
    drawn = Counter(name for document in documents for name in settings_of(document))
    lacking = sorted(all_settings() - drawn.keys())
    assert not lacking, f"never drawn in {len(SEEDS)} cases: {', '.join(lacking)}"


def test_a_new_setting_is_noticed(monkeypatch):
    """A key, a value and a shape that the schema gets are named at once: the tests above would fail with them."""
    import copy

    before = all_settings()  # remembered before the schema grows, whichever test comes first
    grown = copy.deepcopy(kepsilon.json_schema())
    grown["properties"]["household"] = {"type": "string"}
    grown["properties"]["loss"]["enum"].append("gain")
    grown["$defs"]["KQuasi"]["properties"]["weight"] = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    grown["$defs"]["EpsilonQuasi"]["properties"]["kind"] = {"enum": ["number", "date"]}
    monkeypatch.setattr(settings, "schema", lambda: grown)
    now = {name for name in settings._walk(grown, "") if not name.startswith(settings.ONLY_OF_SENSITIVE)}
    assert now - before == {
        "household",
        "loss = gain",
        "attributes.k-quasi.weight",
        "attributes.epsilon-quasi.kind",
        "attributes.epsilon-quasi.kind = number",
        "attributes.epsilon-quasi.kind = date",
    }


def test_a_case_is_drawn_again_from_its_seed():
    """A failure is reported by its seed alone."""
    for seed in (3, 14, 159):
        once, again = draw_case(seed), draw_case(seed)
        assert once.document == again.document
        assert repr([column.values for column in once.columns]) == repr([column.values for column in again.columns])


def test_policies_are_written_as_they_were_drawn(documents):
    """The text of a policy file says what the document says, whatever the names of columns."""
    for document in documents[:100]:
        assert tomllib.loads(toml(document)) == document


def test_a_type_that_a_library_panics_at_becomes_text():
    """Polars has no decimals of 256 bits and panics, which is no Exception and would end the whole run."""
    column = Column(name="x", role="sensitive", holds="anything", array=pa.array([Decimal(10**40)], pa.decimal256(50)))
    as_frame([column], "polars")
    assert column.values == [str(10**40)]
