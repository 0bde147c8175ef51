# SPDX-License-Identifier: Apache-2.0
"""The tally: any split by class adds up to the whole."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate import sorted_classes
from kepsilon.evaluate.linking_risk import link_sums
from kepsilon.evaluate.sorted_classes import blocks_of_classes, sort_classes
from kepsilon.evaluate.tally import Tally, tally_classes
from noisy_classes import noisy_classes
from oracles.noise import SEED


def tally(noisy, chosen=slice(None)):
    return tally_classes(
        noisy.values[chosen, np.newaxis], [noisy.published[chosen]], noisy.class_ids[chosen], **noisy.variable
    )


def same(one, two):
    assert (one.n_released, one.n_classes) == (two.n_released, two.n_classes)
    np.testing.assert_allclose(astuple(one.links), astuple(two.links), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(astuple(one.errors[0]), astuple(two.errors[0]), rtol=1e-12, atol=1e-12)


@given(noisy_classes(), st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_any_split_by_class_adds_up(noisy, part_of_class):
    """One machine or many: the same figures, also where a part holds nothing."""
    part = np.array(part_of_class)[noisy.class_ids]
    same(tally(noisy, part == 0) + tally(noisy, part == 1) + tally(noisy, part == 2), tally(noisy))


@given(noisy_classes())
def test_blocks_are_whole_classes_and_add_up(noisy):
    """Blocks are for speed alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_classes, "_BLOCK", 4)
        blocks = list(blocks_of_classes(noisy.class_ids, n_classes=noisy.n_classes))
        found = tally(noisy)
    assert sorted(i for records, _, _ in blocks for i in records) == list(range(len(noisy.values)))
    for records, own_ids, block in blocks:
        inside = (noisy.class_ids >= block.start) & (noisy.class_ids < block.stop)
        assert sorted(records) == np.flatnonzero(inside).tolist()
        assert (own_ids + block.start).tolist() == noisy.class_ids[records].tolist()
    whole = sort_classes(noisy.values, noisy.class_ids, n_classes=noisy.n_classes)
    sums = link_sums(whole, noisy.published, ranges=noisy.ranges, epsilon=noisy.epsilon)
    np.testing.assert_allclose(astuple(found.links), astuple(sums), rtol=1e-12)


def test_more_classes_than_sixteen_bits_are_grouped():
    """Class ids are sorted by digits; the second digit matters too."""
    ids = np.random.default_rng(SEED).integers(0, 150_000, 200_000)
    blocks = list(blocks_of_classes(ids, n_classes=150_000))
    order = np.concatenate([records for records, _, _ in blocks])
    assert len(blocks) > 1
    assert np.array_equal(ids[order], np.sort(ids))


def test_shares_are_of_released_or_of_original_records():
    """Records that were left out cannot be linked, so the share of originals is smaller."""
    values = np.array([[1.0], [2.0], [4.0], [4.0]])
    found = tally_classes(
        values, [values[:, 0]], np.array([0, 0, 1, 1]),
        expected_noise=np.array([[0.5], [0.0]]), ranges=np.array([[1.0], [0.0]]), epsilon=2.0,
    )  # fmt: skip
    shares = found.linking_shares()
    assert shares.realised == 3 / 4
    assert shares.realised_paper_ties == 1.0
    assert shares.expected == pytest.approx((1 + (1 - math.exp(-1)) + 1) / 4)
    assert found.linking_shares(n_records=8).expected == pytest.approx(shares.expected / 2)
    with pytest.raises(ValueError, match="no record"):
        found.linking_shares(n_records=0)


def test_several_attributes_have_errors_and_no_links():
    """The closed form is for one ε-quasi; nothing is claimed for more."""
    values = np.array([[1.0, 0.0], [2.0, 5.0]])
    found = tally_classes(
        values,
        list(values.T + 1),
        np.array([0, 0]),
        expected_noise=np.ones((1, 2)),
        ranges=np.ones((1, 2)),
        epsilon=1.0,
    )
    assert found.links is None
    assert found.linking_shares() is None
    assert [sums.n_zeros for sums in found.errors] == [0, 1]
    assert (found + found).links is None
    with pytest.raises(ValueError, match="do not add up"):
        found + Tally(n_released=0, n_classes=0, errors=(), links=None)


def test_errors_are_relative_to_what_values_were_before_clipping():
    """Clipping costs too, and what is realised shows it."""
    clipped, originals = np.array([[10.0], [20.0]]), np.array([[10.0], [40.0]])
    found = tally_classes(
        clipped, [clipped[:, 0]], np.array([0, 0]),
        expected_noise=np.ones((1, 1)), ranges=np.full((1, 1), 10.0), epsilon=10.0, originals=originals,
    )  # fmt: skip
    assert found.errors[0].realised_relative == pytest.approx(0.25)
    assert found.errors[0].expected_relative == pytest.approx((1 / 10 + 1 / 40) / 2)
