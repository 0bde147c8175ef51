# SPDX-License-Identifier: Apache-2.0
"""Blocks of classes: whole classes, of about one length, by their sizes alone; and batches that hold whole blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kepsilon.engines.room import Room
from kepsilon.table import blocks
from kepsilon.table.blocks import block_bounds
from oracles.noise import SEED

LENGTH = 1_000
"""Of a block, where classes have 32,000 records or fewer between them."""

LARGE = 5
"""The only class as large as a block, and larger than what goes together."""


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_SMALLEST", LENGTH)


def sizes_of(seed, *, large=()):
    """60 classes of 3 to 500 records, of which those at the given positions have as many as a block or more."""
    rng = np.random.default_rng([SEED, seed])
    sizes = rng.integers(3, 501, 60)
    sizes[list(large)] = rng.integers(LENGTH, 3 * LENGTH, len(large))
    assert sizes.sum() < 32 * LENGTH
    return sizes


@pytest.mark.parametrize("seed", range(5))
def test_every_class_is_in_one_block(seed):
    """The blocks follow each other from the first class to the last, and none is empty."""
    sizes = sizes_of(seed, large=[0, LARGE, 59])
    bounds = block_bounds(sizes)
    assert (bounds[0], bounds[-1]) == (0, 60)
    assert np.all(np.diff(bounds) > 0)


@pytest.mark.parametrize("seed", range(5))
def test_a_block_of_several_classes_has_less_than_twice_its_length(seed):
    """Nor are there more blocks than the records fill, but for the ones on both sides of a large class."""
    sizes = sizes_of(seed, large=[20, 21, 40])
    several = [sizes[first:last].sum() for first, last in pairwise(block_bounds(sizes)) if last - first > 1]
    assert max(several) < 2 * LENGTH
    assert max(several) > LENGTH / 2
    assert len(block_bounds(sizes)) - 1 <= sizes.sum() / LENGTH + 1 + 2 * 3


@pytest.mark.parametrize("at", [0, 1, 30, 58, 59])
@pytest.mark.parametrize("size", [LENGTH, 5 * LENGTH])
def test_a_class_as_large_as_a_block_is_alone(at, size):
    """Wherever it is, and whatever is beside it."""
    sizes = np.full(60, 100)
    sizes[at] = size
    assert {at, at + 1} <= set(block_bounds(sizes).tolist())
    sizes[at] = LENGTH - 1
    assert not {at, at + 1} <= set(block_bounds(sizes).tolist())


def test_the_length_goes_with_the_number_of_records_within_limits(monkeypatch):
    """About 32 blocks; fewer where they would be too short, more where they would be too long."""
    ones = np.ones(64 * LENGTH, dtype=np.int64)
    assert np.diff(block_bounds(ones)).tolist() == [2 * LENGTH] * 32
    assert np.diff(block_bounds(ones[: 5 * LENGTH])).tolist() == [LENGTH] * 5
    monkeypatch.setattr(blocks, "_LARGEST", LENGTH)
    assert np.diff(block_bounds(ones)).tolist() == [LENGTH] * 64


def limits_for(n_records, **options):
    """Room that leave room for batches of so many records."""
    room = Room(memory=0, n_epsilon_quasis=2)
    room = Room(memory=2 * n_records * room.bytes_per_record, n_epsilon_quasis=2, **options)
    assert room.records_per_batch == n_records
    return room


@pytest.mark.parametrize("n_batches", [1, 4, 100])
@pytest.mark.parametrize("room", [600, 1_400, 2_500, 10_000, 100_000])
@pytest.mark.parametrize("seed", range(5))
def test_batches_are_whole_blocks_where_these_fit(seed, room, n_batches):
    """All classes come in order, a batch of several fits, and only a block that exceeds a batch is cut."""
    sizes = sizes_of(seed, large=[LARGE, 40])
    bounds = block_bounds(sizes)
    batches = limits_for(room, in_blocks=True).batches(sizes, n_batches=n_batches)
    assert [i for own in batches for i in range(own.start, own.stop)] == list(range(60))
    assert all(sizes[own].sum() <= room or own.stop - own.start == 1 for own in batches)
    for cut in {own.stop for own in batches} - set(bounds.tolist()):
        after = int(np.searchsorted(bounds, cut))
        assert sizes[bounds[after - 1] : bounds[after]].sum() > room, "a block that fits was cut"


def test_batches_are_cut_anywhere_where_nothing_is_simulated():
    """As many classes as there is room for, whatever block they are in."""
    sizes = np.full(60, 100)
    assert [own.stop for own in limits_for(700).batches(sizes)] == [7, 14, 21, 28, 35, 42, 49, 56, 60]
    assert [own.stop for own in limits_for(1_900, in_blocks=True).batches(sizes)] == [10, 20, 30, 40, 50, 60]
    assert [own.stop for own in limits_for(2_000, in_blocks=True).batches(sizes)] == [20, 40, 60]
