# SPDX-License-Identifier: Apache-2.0
"""Records in the order of their classes against a plain sort, and batches of whole classes."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.table.blocks import block_bounds
from kepsilon.table.class_order import batches_of, in_class_order
from kepsilon.table.classes import SUPPRESSED
from kepsilon.table.coded_values import CodedValues


def coded_columns(rng, n, n_values):
    return tuple(CodedValues(distinct=np.arange(size) / 7, codes=rng.integers(0, size, n)) for size in n_values)


@pytest.mark.parametrize(
    "n_values", [(), (50,), (50, 3, 9), (1 << 22, 1 << 22)], ids=["none", "one", "three", "too wide"]
)
@pytest.mark.parametrize("n", [1, 2, 1000, 300_000])
def test_records_stand_by_class_and_value(n, n_values):
    """As a plain sort by class and values puts them, as far as one number has room for these; nobody suppressed is there."""
    rng = np.random.default_rng(n)
    ids = rng.integers(-1, 30, n)
    coded = coded_columns(rng, n, n_values)
    found = in_class_order(ids, coded, n_classes=30)
    assert sorted(found.records.tolist()) == np.flatnonzero(ids != SUPPRESSED).tolist()
    keys = [ids[found.records]] + [own.codes[found.records] for own in coded[: 1 if len(n_values) == 2 else None]]
    together = list(zip(*(key.tolist() for key in keys), strict=True))
    assert together == sorted(together)
    for own, before in zip(found.coded, coded, strict=True):
        assert own.codes.tolist() == before.codes[found.records].tolist()
        assert own.distinct is before.distinct


def test_nobody_in_a_class_is_no_error():
    """All records may be suppressed."""
    found = in_class_order(np.full(5, SUPPRESSED), (), n_classes=3)
    assert found.records.tolist() == []


@pytest.mark.parametrize("largest", [3, 400, 100_000])
def test_batches_are_whole_blocks_and_hold_every_class_once(largest):
    """A batch never cuts a block, because blocks are simulated together."""
    sizes = np.random.default_rng(largest).integers(1, largest, 3000)
    batches = batches_of(sizes, most=1 << 16)
    bounds = set(block_bounds(sizes).tolist())
    assert [own.start for own in batches] == [0, *(own.stop for own in batches[:-1])]
    assert batches[-1].stop == len(sizes)
    assert all(own.start in bounds and own.stop in bounds for own in batches)
    assert len(batches) > 1 or sizes.sum() <= 1 << 16
