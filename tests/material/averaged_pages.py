# SPDX-License-Identifier: Apache-2.0
"""Records and grids of made-up averages, for the tests of pages."""

from __future__ import annotations

from dataclasses import replace

from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import Limits
from kepsilon.predict.group_summary import GroupSummary
from kepsilon.publish.policy_document import PolicyDocument
from material.made_up_results import made_up_grid, made_up_pictures, made_up_prediction, made_up_record

GROUPS = (5, 10, 20, 50)


def made_up_groups(*, names=("height",), asked=20, **figures):
    made_up = {
        "asked": asked,
        "count": 90,
        "smallest": 10,
        "largest": 39,
        "short": 4,
        "agreeing": dict.fromkeys(names, 0),
        "extreme": dict.fromkeys(names, 0),
        "within": dict.fromkeys(names, 2.25),
    }
    return GroupSummary(**{**made_up, **figures})


def averaged_record(*, names=("height",), noise=False, spread=False, **changes):
    """The made-up record as a release of averages has it: no ε and no ranges unless there is noise, and no confidence."""
    record = made_up_record(names=names)
    averages = {"group": 20, "noise": noise, "spread": spread}
    document = {**record.policy.to_json(), "averages": averages}
    if not noise:
        del document["epsilon"]
    guarantee = replace(
        record.guarantee,
        statement="Every combination occurs at least 10 times.",
        confidence=None,
        epsilon=8.0 if noise else None,
        ranges=dict.fromkeys(names, "declared [0, 300]") if noise else {},
    )
    settings = {
        "policy": PolicyDocument(document=document),
        "guarantee": guarantee,
        "confident_k": None,
        "groups": made_up_groups(names=names),
        "small_noise": {},
        "outliers": {},
    }
    return replace(record, **{**settings, **changes})


def averaged_pictures(*, names=("height",)):
    """Pictures without expected curves: averages are as they came out."""
    pictures = made_up_pictures(names=names)
    curves = tuple(replace(own, per_class=None, whole_dataset=None, uniform=None) for own in pictures.errors)
    return replace(pictures, errors=curves, risk_by_epsilon=())


def averaged_grid(*, names=("height",), with_noise=True, epsilons=(None,), groups=GROUPS, ks=(5, 10, 20)):
    """The made-up grid with averages beside noise, or averages alone, and the choice from it."""
    grid, choice = made_up_grid(names=names, confidence=None, ks=ks)
    cells = [cell for cell in grid.cells if with_noise]
    for algorithm in grid.algorithms:
        for k in ks:
            for group in (own for own in groups if own >= k):
                for epsilon in epsilons:
                    error = 0.02 * group**0.5 * (1 if epsilon is None else 1 + 0.2 / epsilon)
                    prediction = made_up_prediction(
                        algorithm=algorithm,
                        k=k,
                        epsilon=epsilon,
                        loss=0.03 * k**0.5,
                        error=dict.fromkeys(names, error),
                        risk=1 / (1.4 * group),
                        groups=made_up_groups(names=names, asked=group, smallest=k),
                    )
                    cells.append(Cell(algorithm=algorithm, k=k, epsilon=epsilon, group=group, prediction=prediction))
    found = replace(grid, cells=tuple(cells))
    return found, replace(found.choose(Limits(max_risk=0.05, max_suppression=0.05)), why=choice.why)
