# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself is fixed when it is made: no edit by a user reaches what is published."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from types import NoneType

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.json_values import FrozenMapping, JsonValue
from material.people import OPENLY, policy

POLICY = {
    "k": 3, "epsilon": 4, "algorithm": "ola", "max_suppression": 0.1, "confidence": 0.9,
    "attributes": {
        "place": {"role": "k-quasi", "hierarchy": {"type": "groups", "levels": [{"x": ["a", "b"], "y": ["c", "d"]}]}},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "illness": OPENLY,
    },
}  # fmt: skip


def people_of_places():
    n = 120
    return {
        "place": ["abcd"[i % 4] for i in range(n)],
        "height": [150 + (i * 37 % 400) / 10 for i in range(n)],
        "illness": [f"illness {i}" for i in range(n)],
    }


@pytest.fixture(params=["OLA", "Mondrian"])
def chosen(request):
    return policy(POLICY, algorithm=request.param.lower())


def parts_of(value, path="it"):
    """Everything that can be reached from a value by its public names, by keys and by positions."""
    yield path, value
    if dataclasses.is_dataclass(value):
        for part in dataclasses.fields(value):
            yield from parts_of(getattr(value, part.name), f"{path}.{part.name}")
    elif isinstance(value, Mapping):
        for key, own in value.items():
            yield from parts_of(own, f"{path}[{key!r}]")
    elif isinstance(value, tuple):
        for i, own in enumerate(value):
            yield from parts_of(own, f"{path}[{i}]")


def edit(value):
    """Every way to change a value that its kind could offer."""
    if dataclasses.is_dataclass(value):
        for part in dataclasses.fields(value):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(value, part.name, "edited")
            with pytest.raises(dataclasses.FrozenInstanceError):
                delattr(value, part.name)
        with pytest.raises((AttributeError, TypeError)):  # there is no room for more
            value.edited = 1
    if isinstance(value, Mapping | tuple):
        for key in [*value, "edited"] if isinstance(value, Mapping) else range(len(value)):
            with pytest.raises(TypeError):
                value[key] = "edited"
            with pytest.raises(TypeError):
                del value[key]
        assert not {"update", "pop", "clear", "setdefault", "append", "sort"} & {*dir(value)}


def edit_json(found):
    """Overwrites everything in a JSON object."""
    for key, own in [*found.items()]:
        if isinstance(own, dict):
            edit_json(own)
        found[key] = "edited"
    found["more"] = "edited"


def texts(release):
    return json.dumps(release.record.to_json()), json.dumps(release.manifest.to_json())


def test_everything_in_record_and_manifest_refuses_to_be_edited(chosen, tmp_path):
    """Each part is frozen: values, mappings and sequences, whichever way they are reached."""
    release = kepsilon.anonymise(pa.table(people_of_places()), chosen, unsafe_seed=1)
    written = release.write(tmp_path / "out.csv")
    before = texts(release)
    for whole in (release.record, release.manifest, written):
        for path, part in parts_of(whole):
            leaf = isinstance(part, str | int | float | bool | NoneType) or hasattr(part, "suffix")
            assert leaf or isinstance(part, FrozenMapping | tuple) or dataclasses.is_dataclass(part), path
            edit(part)
    for name in ("record", "manifest", "frame"):
        with pytest.raises(AttributeError):
            setattr(release, name, {})
    assert texts(release) == before


def test_edited_json_is_a_copy(chosen, tmp_path):
    """What `to_json` and keys give may be edited; what is written stays."""
    release = kepsilon.anonymise(pa.table(people_of_places()), chosen, unsafe_seed=1)
    before = texts(release)
    for whole in (release.record, release.manifest):
        edit_json(whole.to_json())
        for key in whole:
            if isinstance(whole[key], dict):
                edit_json(whole[key])
    assert texts(release) == before
    written = release.write(tmp_path / "out.csv")
    assert json.loads((tmp_path / "out.csv.manifest.json").read_text(encoding="utf-8")) == written.manifest.to_json()
    assert json.loads((tmp_path / "out.csv.curator.json").read_text(encoding="utf-8")) == written.record.to_json()
    assert {**written.record.to_json(), "digest": None} == json.loads(before[0])


def test_a_policy_edited_afterwards_changes_nothing():
    """Its own dictionaries are the user's; the release has kept what they said."""
    edited = policy(POLICY)
    release = kepsilon.anonymise(pa.table(people_of_places()), edited, unsafe_seed=1)
    before = texts(release)
    edited.attributes["place"].hierarchy.levels[0]["x"] = ("edited",)
    edited.attributes.clear()
    assert texts(release) == before


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_an_edited_frame_is_a_copy(kind, tmp_path):
    """Overwriting what `frame` gave back does not reach the file."""
    data = pd.DataFrame(people_of_places()) if kind == "pandas" else pl.DataFrame(people_of_places())
    release = kepsilon.anonymise(data, policy(POLICY), unsafe_seed=1)
    wanted = release.write(tmp_path / "out.csv").digest
    frame = release.frame
    if kind == "pandas":
        frame.loc[:, "height"] = 0.0
        frame.loc[:, "illness"] = "edited"
    else:
        frame[0, "height"] = 0.0
        frame[0, "illness"] = "edited"
    assert release.write(tmp_path / "out.csv", overwrite=True).digest == wanted


def test_written_is_what_is_on_disk(tmp_path):
    """With its digest, which the release knows from then on; before there is none."""
    release = kepsilon.anonymise(pa.table(people_of_places()), policy(POLICY), unsafe_seed=1)
    assert release.record.digest is release.manifest["digest"] is None
    first = release.write(tmp_path / "a.csv", linkage=tmp_path / "links.csv", report=tmp_path / "r.html")
    assert [path.name for path in (first.path, first.manifest_path, first.record_path)] == [
        "a.csv",
        "a.csv.manifest.json",
        "a.csv.curator.json",
    ]
    assert (first.linkage_path, first.report_path) == (tmp_path / "links.csv", tmp_path / "r.html")
    assert first.digest == first.record.digest == first.manifest.digest == release.record["digest"]
    assert first.digest in (tmp_path / "r.html").read_text(encoding="utf-8")
    second = release.write(tmp_path / "b.parquet")
    assert (second.linkage_path, second.report_path) == (None, None)
    assert second.digest == release.manifest.digest != first.digest == first.record["digest"]


def test_a_release_that_was_not_written_has_no_digest(tmp_path):
    """A write that fails says nothing about the file that is not there."""
    release = kepsilon.anonymise(pa.table(people_of_places()), policy(POLICY), unsafe_seed=1)
    (tmp_path / "out.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(kepsilon.EngineError, match="exists"):
        release.write(tmp_path / "out.csv")
    assert release.record.digest is None


def test_keys_and_names_tell_alike(tmp_path):
    """`record["records"]["read"]`, as in JSON, and `record.records.read`."""
    release = kepsilon.anonymise(pa.table(people_of_places()), policy(POLICY), unsafe_seed=1)
    record, manifest = release.record, release.manifest
    assert record["records"]["read"] == record.records.read == 120
    assert manifest["guarantee"]["statement"] == manifest.guarantee.statement
    assert record["policy"]["attributes"]["height"]["precision"] == record.policy.attributes["height"]["precision"]
    risk = record.linking_risk
    assert record["linking_risk"]["expected"] == risk.predicted.fair.total
    assert list(record["linking_risk"]) == [
        "headline", "expected", "expected_paper_ties", "standard_error", "standard_error_paper_ties", "largest_possible",
        "largest_possible_by_matching",
        "realised", "realised_paper_ties", "largest", "over_half", "over_nine_tenths", "per_original",
    ]  # fmt: skip
    assert {*record} == {*record.to_json()}
    assert "path" not in json.dumps(manifest["policy"])
    assert "levels" in record["policy"]["attributes"]["place"]["hierarchy"]
    assert "levels" not in manifest["policy"]["attributes"]["place"]["hierarchy"]


def test_other_results_are_frozen_too(chosen, tmp_path):
    """Predictions, cells of a grid, and what an audit found."""
    data = pa.table(people_of_places())
    release = kepsilon.anonymise(data, chosen, unsafe_seed=1)
    written = release.write(tmp_path / "out.parquet", linkage=tmp_path / "links.csv")
    audit = kepsilon.audit(data, written.path, chosen, linkage=written.linkage_path)
    cell = kepsilon.explore(data, chosen, k=[3], epsilon=[4]).cells[0]
    for whole in (kepsilon.check(data, chosen), cell, audit):
        assert isinstance(whole, JsonValue)
        for _, part in parts_of(whole):
            assert not isinstance(part, dict | list | set)
            edit(part)
        json.dumps(whole.to_json())
