# SPDX-License-Identifier: Apache-2.0
"""The audit works out again what survives: no honest record is accused, and a falsified one is broken."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from material.audited_releases import arrow, patients, patients_policy
from oracles.noise import SEED

OPENLY = {"role": "insensitive", "accept_leak": "made-up records"}
WEIGHT = {"role": "epsilon-quasi", "precision": 0.5, "range": "class"}


def original(n=900):
    """Patients with a weight, a pressure that goes with it, and a pulse that is text with gaps."""
    rng = np.random.default_rng(SEED)
    columns = patients(n)
    weight = rng.normal(70, 9, n).round(0)
    pulse = [None if i % 9 == 0 else f"{p:.0f}" for i, p in enumerate(60 + 0.2 * weight + rng.normal(0, 3, n))]
    return {
        **columns,
        "weight": weight.tolist(),
        "pressure": (100 + weight + rng.normal(0, 5, n)).tolist(),
        "pulse": pulse,
    }


def policy(**changes):
    attributes = {"weight": WEIGHT, "pressure": OPENLY, "pulse": OPENLY, **changes.pop("attributes", {})}
    return patients_policy(attributes=attributes, **changes)


CASES = {
    "plain": {},
    "confident": {"confidence": 0.9},
    "clipped": {"attributes": {"weight": {**WEIGHT, "range": [60, 75], "domain": [50, 90]}}},
    "suppressed": {"k": 12, "max_suppression": 0.4},
}


def written(folder: Path, suffix: str, changes: dict) -> tuple[pa.Table, ke.Policy, ke.Release, Path]:
    table, own = arrow(original()), policy(**changes)
    release = ke.anonymise(table, own)
    release.write(folder / f"release{suffix}")
    return table, own, release, folder / f"release{suffix}"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_an_honest_record_is_not_accused(changes, suffix, tmp_path):
    """With a linkage or without; what can be worked out again was compared."""
    table, own, release, path = written(tmp_path, suffix, changes)
    for linkage in (release.linkage, None):
        audited = ke.audit(table, path, own, linkage=linkage)
        assert audited.keeps_its_promises, audited.broken
        assert any("survives" in finding.what for finding in audited.findings)


@pytest.mark.parametrize("seed", [90, 115])
def test_a_mean_of_values_that_agree_may_be_rounded(seed, tmp_path):
    """It may not move at all, so that the last digit of a sum, which depends on its order, must not decide who is honest."""
    table = pa.table({"sex": ["f", "m"] * 15, "year": [1960.0] * 30})
    sex = {"role": "k-quasi", "hierarchy": {"type": "suppress"}, "accept_useless": "a test"}
    year = {"role": "epsilon-quasi", "precision": 0.02, "range": {"coarse": 0.1}, "accept_useless": "a test"}
    head = {"k": 3, "epsilon": 3.7, "algorithm": "ola", "max_suppression": 0.05}
    own = ke.Policy.from_dict({**head, "attributes": {"sex": sex, "year": year}})
    release = ke.anonymise(table, own, unsafe_seed=seed)
    assert (
        release.record["survives"]["year"]["mean"]["after"] == 1960
    )  # the seeds were chosen for this, and for the next line
    release.write(tmp_path / "release.csv")
    assert np.mean(release.frame.column("year").to_numpy()) != 1960
    assert not ke.audit(table, tmp_path / "release.csv", own).broken


def lower(figure):
    return figure * 0.98


def other(usable):
    return not usable


TAMPERINGS = {
    "mean": ("weight mean after", lower, False),
    "mean before": ("weight mean before", lower, False),
    "spread": ("weight spread after", lower, False),
    "spread may be used": ("weight spread usable", other, False),
    "quantile": ("weight quantiles 75 after", lower, False),
    "correlation with an ε-quasi": ("weight relations height correlation before", lambda r: r + 0.01, False),
    "slope on a kept column": ("weight relations pressure slope after", lower, False),
    "slope on a kept column survived": ("weight relations pressure slope usable", other, False),
    "slope on text": ("weight relations pulse slope before", lower, False),
    "error of a constant": ("weight error_of_best_constant absolute", lower, False),
    "values that follow the true ones": ("weight correlation inside_classes", lambda r: r + 0.01, True),
    "values that may be used": ("weight correlation usable", other, True),
    "error as drawn": ("weight error realised", lower, True),
    "single values": ("weight error usable", other, False),
    "called a sample": ("weight quantiles measured_on", lambda _: "10 of 900 records", False),
    "an attribute is missing": ("weight", lambda _: None, False),
    "a part is missing": ("weight mean", lambda _: None, False),
    "no relation of that name": ("weight relations", lambda r: {**r, "nothing": r["pressure"]}, False),
    "not a number": ("weight spread before", lambda _: "CANARY", False),
    "a huge number": ("weight mean after", lambda _: 10**400, False),
}


@pytest.mark.parametrize(("where", "tamper", "needs_linkage"), TAMPERINGS.values(), ids=TAMPERINGS)
def test_a_falsified_record_is_broken(where, tamper, needs_linkage, tmp_path):
    """One figure at a time; and nothing that was written there is quoted."""
    table, own, release, path = written(tmp_path, ".csv", {})
    beside = Path(f"{path}.curator.json")
    document = json.loads(beside.read_text())
    *keys, last = where.split()
    holder = reduce(lambda found, key: found[key], keys, document["survives"])
    holder[last] = tamper(holder.get(last))
    beside.write_text(json.dumps(document))
    audited = ke.audit(table, path, own, linkage=release.linkage if needs_linkage else None)
    [broken] = audited.broken
    assert broken.check == "curator"
    assert "survives" in broken.what
    assert "CANARY" not in str(broken)


def test_a_record_without_it_is_not_accused(tmp_path):
    """As those of version 0.1 are."""
    table, own, _, path = written(tmp_path, ".csv", {})
    beside = Path(f"{path}.curator.json")
    document = json.loads(beside.read_text())
    del document["survives"]
    beside.write_text(json.dumps(document))
    assert ke.audit(table, path, own).keeps_its_promises
