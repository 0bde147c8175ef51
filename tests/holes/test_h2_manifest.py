# SPDX-License-Identifier: Apache-2.0
"""The public manifest tells nothing about anybody's value that the released table does not tell (REVIEW H2)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke

Columns = dict[str, list[Any]]

NOT_ABOUT_DATA = ("created", "kepsilon_version")


def public(release: ke.Release) -> str:
    """All that the manifest says, but for when and by which version it was made."""
    found = json.loads(json.dumps({key: release.manifest[key] for key in release.manifest}, default=dict))
    return json.dumps({key: own for key, own in found.items() if key not in NOT_ABOUT_DATA})


def policy(range_: Any = "class", *, epsilon: float = 1, **changes: Any) -> ke.Policy:
    """One class by default; `attributes` are added to the ε-quasi `v`."""
    attributes = changes.pop("attributes", {})
    settings = {"k": 2, "epsilon": epsilon, "algorithm": "ola", "max_suppression": 0.2, **changes}
    quasi = {"role": "epsilon-quasi", "precision": 0.5, "range": range_}
    return ke.Policy.from_dict({**settings, "attributes": {"v": quasi, **attributes}})


def released(columns: Columns, chosen: ke.Policy, seed: int = 1) -> ke.Release:
    return ke.anonymise(
        pa.table({name: pa.array(values) for name, values in columns.items()}), chosen, unsafe_seed=seed
    )


def test_h2_one_class_of_ten_at_epsilon_one_hundredth():
    """Who knows the nine others learns nothing about the tenth: e^0.01 is promised, and 0.1's manifest told 73.5 from 100."""
    others = [20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    manifests = {public(released({"v": [*others, target]}, policy(epsilon=0.01))) for target in (73.5, 100.0)}
    assert len(manifests) == 1


def test_h2_random_tables_of_fifty_records_exclude_no_candidate():
    """Whatever the last record's value, an attacker who knows the 49 others finds the manifest that he was given."""
    rng = np.random.default_rng(13)
    n_excluding = 0
    for _ in range(12):
        known = rng.normal(170, 10, 49).round(1)
        candidates = np.linspace(known.min(), known.max(), 9).round(1).tolist()
        found = {public(released({"v": [*known.tolist(), own]}, policy())) for own in candidates}
        n_excluding += len(found) > 1
    assert n_excluding == 0


@pytest.mark.parametrize("target", [0.5, -0.5])
def test_h2_no_key_is_there_or_not_because_of_a_value(target):
    """In 0.1 a value next to 0 took the mean error out of the manifest, which told that somebody has it."""
    others = [-50.0, 150.0, *np.linspace(60, 150, 97).round(1).tolist()]
    with_target, without = (released({"v": [*others, own]}, policy(epsilon=0.5)).manifest for own in (target, 60.0))
    assert _keys(with_target) == _keys(without)


def _keys(found: Any) -> Any:
    return {key: _keys(found[key]) for key in found} if hasattr(found, "keys") else None


# Noise at the smallest ε is far larger than any value, and the domain has two steps: so what is published is the sign of
# the noise, and with one seed two tables that differ in a value release the same table.

TWO_STEPS = {"role": "epsilon-quasi", "precision": 1, "domain": [0, 1]}
PLACE = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
ZIP = {"role": "k-quasi", "hierarchy": {"type": "mask", "length": 3}}

POLICIES = [
    {
        "algorithm": algorithm,
        "confidence": confidence,
        "attributes": {
            "place": PLACE,
            "zip": ZIP,
            "v": {**TWO_STEPS, "range": range_, "missing": missing},
            **({"w": {**TWO_STEPS, "range": other}} if other else {}),
            "illness": {"role": "sensitive"},
        },
    }
    for i, (range_, other, confidence, missing) in enumerate(
        itertools.product(
            ("class", {"coarse": 5}, [0, 400]), (None, "class", [0, 300]), (None, 0.9), ("suppress", "class")
        )
    )
    # In turn: any four of the five settings come in all their combinations, in half as many policies as there are.
    for algorithm in [("ola", "mondrian")[(i + i // 2 + i // 4) % 2]]
]

POLICIES += [{**own, "algorithm": "local-recoding"} for own in POLICIES[::5]]


def two_step_policy(settings: dict[str, Any], **changes: Any) -> ke.Policy:
    stated = {key: own for key, own in settings.items() if own is not None}
    return ke.Policy.from_dict({"k": 5, "epsilon": 0.0001, "max_suppression": 0.2, **stated, **changes})


def people(settings: dict[str, Any], *, n: int = 60, seed: int = 3) -> Columns:
    rng = np.random.default_rng(seed)
    columns: Columns = {
        "place": [f"place-{i % 2}" for i in range(n)],
        "zip": [f"1{i % 3}{i % 2}" for i in range(n)],
        "v": rng.integers(120, 200, n).astype(float).tolist(),
        "w": rng.integers(40, 120, n).astype(float).tolist(),
        "illness": [f"illness-{i % 7}" for i in range(n)],
    }
    return {name: own for name, own in columns.items() if name in settings["attributes"]}


def written(columns: Columns, chosen: ke.Policy, path: Any) -> tuple[bytes, str]:
    """The bytes of the released file, and its manifest with the digest of them."""
    release = released(columns, chosen)
    for earlier in path.parent.glob(f"{path.name}*"):
        earlier.unlink()
    release.write(path)
    return path.read_bytes(), public(release)


def test_h2_one_value_changed_and_the_same_table_released_gives_the_same_manifest(tmp_path):
    """Over policies: the promise is about one record's ε-value, and the manifest must not break it beside the release."""
    told = []
    for settings in POLICIES:
        chosen, columns = two_step_policy(settings), people(settings)
        # Records of a class are drawn in the order of their values, which stays when the largest becomes larger.
        columns["v"][0] = 205.0
        table, manifest = written(columns, chosen, tmp_path / "a.csv")
        for other in (260.0, 390.0):
            changed = {**columns, "v": [other, *columns["v"][1:]]}
            same_table, other_manifest = written(changed, chosen, tmp_path / "a.csv")
            assert same_table == table, "the two data sets have to release one table"
            told += [settings] * (other_manifest != manifest)
    assert not told, f"{len(told)} manifests tell more than the release"


@pytest.mark.parametrize("what", ["missing", "too rare", "unlisted"])
def test_h2_records_that_are_not_in_the_release_are_not_in_the_manifest(what, tmp_path):
    """Who knows all others must not see whether one more record was there and left out."""
    settings = {
        "algorithm": "ola",
        "attributes": {
            "place": {
                "role": "k-quasi",
                "unlisted": "suppress",
                "hierarchy": {"type": "groups", "levels": [{"somewhere": ["place-0", "place-1", "place-2"]}]},
            },
            "v": {**TWO_STEPS, "range": "class"},
            "illness": {"role": "sensitive"},
        },
    }
    left_out = {
        "missing": {"place": "place-0", "v": None, "illness": "x"},
        "too rare": {"place": "place-2", "v": 150.0, "illness": "x"},
        "unlisted": {"place": "place-3", "v": 150.0, "illness": "x"},
    }[what]
    columns = people(settings)
    chosen = two_step_policy(settings, loss="precision")
    table, manifest = written(columns, chosen, tmp_path / "a.csv")
    with_more = {name: [*own, left_out[name]] for name, own in columns.items()}
    same_table, other_manifest = written(with_more, chosen, tmp_path / "a.csv")
    assert same_table == table, "the two data sets have to release one table"
    assert other_manifest == manifest


def test_h2_a_limit_on_exact_values_is_not_in_the_public_policy():
    """That a release passed such a limit is a bit about everybody's values."""
    columns = people({"attributes": {"v": None}})
    chosen = policy(epsilon=2, confidence=0.9, max_total_suppression=0.9, max_individual_risk=1, attributes={})
    public = released({"v": columns["v"]}, chosen).manifest["policy"]
    assert not {"max_total_suppression", "max_individual_risk"} & public.keys()


def test_h2_the_time_is_told_to_the_day():
    """When a run began and ended is nobody's business, and no engine is named."""
    manifest = released({"v": [1.0, 2.0, 3.0, 4.0]}, policy()).manifest
    assert len(manifest["created"]) == len("2026-11-16")
    assert "engine" not in manifest


def test_h2_the_bound_says_that_it_is_for_classes_of_which_confident_k_left_nobody_out():
    """Sixty sparse classes leave as a whole. Before that 6.8 % of the records were linked, and the bound says 0.15 %."""
    rng = np.random.default_rng(0)
    columns: Columns = {"town": ["A"] * 1_000, "v": rng.uniform(0, 100, 1_000).round().tolist()}
    for i in range(60):
        columns["town"] += [f"b{i}"] * 5
        columns["v"] += [0.0, 0.5, 50.0, 99.0, 100.0]
    town = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    release = released(columns, policy(k=5, confidence=0.3, max_suppression=0, attributes={"town": town}))
    assert release.manifest["classes"]["count"] == 1
    bounds = release.manifest["bounds"]
    assert release.record["linking_risk"]["expected"] > 10 * bounds["linking_risk"]
    assert bounds["attacker"].endswith("; for noise as drawn, if confident k had left nobody out of these classes")
