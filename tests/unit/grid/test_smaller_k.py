# SPDX-License-Identifier: Apache-2.0
"""Explore says in one sentence where a smaller k loses more than a larger one."""

from __future__ import annotations

from dataclasses import replace

from kepsilon.grid.cells import Cell
from kepsilon.grid.grid import Grid
from material.made_up_results import made_up_grid


def with_losses(losses):
    """A grid whose cells lose so much, by algorithm and k."""
    grid, _ = made_up_grid()
    example = next(cell.prediction for cell in grid.cells if cell.prediction is not None)
    cells = []
    for (algorithm, k), lost in losses.items():
        ncp = replace(example.loss.ncp, overall=lost)
        prediction = replace(example, loss=replace(example.loss, ncp=ncp))
        cells.append(Cell(algorithm=algorithm, k=k, epsilon=1, prediction=prediction))
    return Grid(cells=tuple(cells), policy=grid.policy, records=grid.records, seconds={}, page=grid.page)


def test_nothing_is_said_where_a_smaller_k_loses_no_more():
    """Equal to three digits, as they are shown, is no more."""
    assert with_losses({("mondrian", 3): 0.1004, ("mondrian", 5): 0.1, ("ola", 3): 0.5}).about_smaller_k == ""


def test_a_smaller_k_that_loses_more_is_named_with_both_losses():
    """Within one algorithm only, whatever the order of the cells."""
    found = with_losses(
        {("local-recoding", 10): 0.2, ("local-recoding", 5): 0.25, ("ola", 3): 0.5, ("mondrian", 3): 0.6}
    )
    assert found.about_smaller_k == (
        "A smaller k need not lose less, because no search tries all classes: local-recoding loses 0.250 with k = 5 and "
        "0.200 with k = 10."
    )
