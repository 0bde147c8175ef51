# SPDX-License-Identifier: Apache-2.0
"""Cells that begin like formulas are counted alike on every engine, inside lists and structures too."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kepsilon
from material.engine_cases import ENGINES, EVERY

POLICY = {
    "k": 2,
    "epsilon": 1,
    "algorithm": "ola",
    "max_suppression": 0,
    "attributes": {
        "q": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "plain": {"role": "sensitive"},
        "listed": {"role": "sensitive"},
        "number": {"role": "sensitive"},
    },
}


@pytest.mark.parametrize("engine", EVERY)
def test_every_engine_counts_the_same_formulas(engine, tmp_path):
    """The function is one; what differs is where it runs."""
    n = 40
    table = pa.table(
        {
            "q": ["a", "=b"] * (n // 2),
            "plain": ["=1+1", "-5", "\uff0bx", None] * (n // 4),
            "listed": [["=1", "@x"], ["plain"], None, []] * (n // 4),
            "number": [-1.5, 2.0] * (n // 2),
        }
    )
    pq.write_table(table, tmp_path / "d.parquet")
    policy = kepsilon.Policy.from_dict(POLICY)
    found = kepsilon.check(tmp_path / "d.parquet", policy, engine=ENGINES[engine](tmp_path, 200_000_000))
    told = [str(warning) for warning in found.warnings if "formula" in warning.what]
    assert len(told) == 3
    assert any('"plain": 20 cells' in one for one in told)
    assert any('"listed": 20 cells' in one for one in told)
    assert any('"q": 1 of its labels' in one for one in told)
