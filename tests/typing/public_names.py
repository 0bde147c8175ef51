# SPDX-License-Identifier: Apache-2.0
"""What a user's program looks like to mypy: never run, only checked, by test_public_names.py beside it."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import kepsilon


def curator(table: object) -> None:
    """From a policy to an audited release."""
    policy = kepsilon.Policy.from_file("policy.toml")
    assert_type(policy, kepsilon.Policy)
    assert_type(kepsilon.propose_policy(table), str)
    assert_type(kepsilon.propose_with_reasons(table), kepsilon.ProposedPolicy)
    prediction = kepsilon.check(table, policy, memory="2GB")
    assert_type(prediction, kepsilon.Prediction)
    assert_type(prediction.linking_risk.fair, kepsilon.Estimate)
    grid = kepsilon.explore(table, policy, k=[5, 10], epsilon=2, algorithm="ola")
    assert_type(grid.choose(kepsilon.Limits(max_risk=0.1)), kepsilon.Choice)
    assert_type(grid.best(max_error=0.2), kepsilon.Policy)
    with kepsilon.anonymise(table, policy) as release:
        assert_type(release, kepsilon.Release)
        assert_type(release.record, kepsilon.Record)
        assert_type(release.manifest, kepsilon.Manifest)
        written = release.write("release.csv", linkage=Path("linkage.csv"))
        assert_type(written, kepsilon.Written)
        assert_type(written.digest, str)
    found = kepsilon.audit(table, "release.csv", policy)
    assert_type(found, kepsilon.Audit)
    assert_type(kepsilon.manifest("release.csv", policy), kepsilon.Manifest)
    assert_type(kepsilon.estimate_needs(table, policy, memory="2GB"), kepsilon.Needs)


def wrong(table: object, policy: kepsilon.Policy, release: kepsilon.Release) -> None:
    """Every line here is a mistake, and mypy has to say so."""
    kepsilon.anonymise(table)  # EXPECT: call-arg
    kepsilon.anonymise(table, policy, seed=1)  # EXPECT: call-arg
    kepsilon.explore(table, policy, k="5")  # EXPECT: arg-type
    kepsilon.Limits(max_risk="small")  # EXPECT: arg-type
    release.record.guarantee = release.record.guarantee  # EXPECT: misc
    print(kepsilon.check(table, policy).linking_risk.nothing)  # EXPECT: attr-defined
