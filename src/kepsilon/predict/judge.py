# SPDX-License-Identifier: Apache-2.0
"""Comes to the verdicts of one prediction: on every quasi, and on the release as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kepsilon.count import Counted
from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.evaluate.survival.figures import ForeseenSurvival
from kepsilon.policy.policy import Policy
from kepsilon.predict.prediction import ExpectedRisk, Losses, Persons
from kepsilon.predict.verdicts import (
    AttributeVerdict,
    ReleaseVerdict,
    promise_of,
    risk_of,
    usefulness_of,
    verdict_on_labels,
    verdict_on_values,
)
from kepsilon.table.classes import Recoding


def verdicts_on(
    recoding: Recoding,
    counted: Counted,
    policy: Policy,
    *,
    loss: Losses,
    survives: Mapping[str, ForeseenSurvival],
    shares: Sequence[float | None],
) -> dict[str, AttributeVerdict]:
    """The verdict on every quasi, in the order of the policy; `shares` are the errors over the spread, by ε-quasi."""
    accepted = policy.accepted_useless
    leaves_out = int(recoding.sizes.sum()) < counted.n_staying
    found = {
        domain.name: verdict_on_labels(
            ncp=loss.ncp.by_attribute[domain.name],
            n_labels=len(labels.labels),
            n_values=domain.n_values,
            leaves_out=leaves_out,
            accepted=accepted.get(domain.name),
        )
        for domain, labels in zip(counted.table.domains, recoding.attributes, strict=False)
    }
    for (name, own), share in zip(survives.items(), shares, strict=True):
        found[name] = verdict_on_values(
            error=own.error.expected,
            of_constant=own.error_of_best_constant.absolute,
            share=share,
            accepted=accepted.get(name),
        )
    return {name: found[name] for name in policy.attributes if name in found}


def verdict_on_release(
    policy: Policy,
    recoding: Recoding,
    groups: GroupSums | None,
    persons: Persons | None,
    risk: ExpectedRisk,
    verdicts: Mapping[str, AttributeVerdict],
) -> ReleaseVerdict:
    """The verdict on a release of these classes; `groups` are those that are averaged, `verdicts` those on the quasis."""
    fewest = int(recoding.sizes.min()) if persons is None else persons.fewest_in_a_class
    return ReleaseVerdict(
        promise=promise_of(policy, fewest=fewest, smallest_group=None if groups is None else groups.smallest),
        risk=risk_of(risk.headline, largest=risk.largest_possible_by_matching, policy=policy),
        usefulness=usefulness_of(verdicts),
    )
