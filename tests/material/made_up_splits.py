# SPDX-License-Identifier: Apache-2.0
"""Splits by formula, for tests of pages: more ε-quasis cost less detail and link more records; one split is refused."""

from __future__ import annotations

from itertools import combinations

from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import Limits
from kepsilon.grid.grid import ExploredRecords, Grid
from kepsilon.grid.splits import Split
from kepsilon.pages.render import explore_page
from kepsilon.policy.policy import Policy
from material.made_up_results import N_MISSING, N_READ, made_up_prediction


def made_up_splits(names=("height", "weight"), *, limits=None):
    """A grid of all splits of some attributes, k-quasis in the policy itself, and the choice by limits."""
    cells = []
    for n in range(len(names) + 1):
        for noisy in combinations(names, n):
            split = Split(
                k_quasis=tuple(name for name in names if name not in noisy),
                epsilon_quasis=noisy,
                switched={name: {"role": "epsilon-quasi", "precision": 1, "range": {"coarse": 5}} for name in noisy},
                others=("place",),
            )
            setting = {"algorithm": "mondrian", "k": 5, "epsilon": 1 if noisy else None}
            prediction = made_up_prediction(
                **setting, loss=0.3 / (1 + n), error=dict.fromkeys(noisy, 0.1), risk=0.02 * (1 + n)
            )
            cells.append(Cell(**setting, prediction=prediction, split=split))
    last = cells[-1]
    cells[-1] = Cell(
        algorithm="mondrian", k=5, epsilon=1, prediction=None, split=last.split, refused="it cannot <b>be</b>."
    )
    policy = Policy.from_dict(
        {
            "k": 5,
            "epsilon": 1,
            "algorithm": "mondrian",
            "max_suppression": 0,
            "attributes": {name: {"role": "k-quasi", "step": 5} for name in ("place", *names)},
        }
    )
    records = ExploredRecords(read=N_READ, missing=N_MISSING, unlisted=0)
    grid = Grid(cells=tuple(cells), policy=policy, records=records, seconds={}, page=explore_page)
    return grid, grid.choose(limits or Limits(max_risk=0.5))
