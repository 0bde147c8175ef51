# SPDX-License-Identifier: Apache-2.0
"""What coarsening would leave, against counting the coarsened labels by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.policy.hierarchies import DatesHierarchy, IntervalsHierarchy, MaskHierarchy, SuppressHierarchy
from kepsilon.policy.roles import KQuasi
from kepsilon.table.coarsening import (
    SampledCombinations,
    coarsening_in_words,
    coarsenings_of_combinations,
    coarsenings_of_values,
)

DAYS = [f"2024-{month:02d}-{day:02d}" for month in (1, 2, 3, 4) for day in range(1, 29)]
ZIPS = [f"{z:03d}" for z in range(100, 140)]


def k_quasi(hierarchy: object) -> KQuasi:
    return KQuasi(role="k-quasi", hierarchy=hierarchy)


ATTRIBUTES = {
    "born": k_quasi(DatesHierarchy(type="dates", units=("month", "year"))),
    "zip": k_quasi(MaskHierarchy(type="mask")),
    "sex": k_quasi(SuppressHierarchy(type="suppress")),
}


@pytest.fixture
def everybody() -> SampledCombinations:
    """Every day with every ZIP and sex, once."""
    grid = np.meshgrid(np.arange(len(DAYS)), np.arange(len(ZIPS)), np.arange(2), indexing="ij")
    codes = dict(zip(ATTRIBUTES, (axis.ravel() for axis in grid), strict=True))
    n = len(codes["born"])
    return SampledCombinations(
        values={"born": DAYS, "zip": ZIPS, "sex": ["F", None]}, codes=codes, counts=np.ones(n, int), n_records=n
    )


def test_the_finest_level_that_is_enough_alone(everybody):
    """112 days are 4 months, 40 codes are 4 once their last character is masked; the sexes never leave few enough."""
    found, is_enough = coarsenings_of_combinations(everybody, ATTRIBUTES, share=0.11)
    assert is_enough
    assert [(dict(own.levels), own.left) for own in found] == [({"born": 1}, 4 / 112), ({"zip": 1}, 4 / 40)]
    words = [coarsening_in_words(own, ATTRIBUTES, of="combinations") for own in found]
    assert words == [
        '"born" to level 1 (month): about 1/28 of the combinations are left',
        '"zip" to level 1 (its last character masked): about 1/10 of the combinations are left',
    ]


def test_several_together_where_one_is_not_enough(everybody):
    """Months and masked codes leave a 28th of a tenth."""
    found, is_enough = coarsenings_of_combinations(everybody, ATTRIBUTES, share=1 / 200)
    assert is_enough
    assert [(dict(own.levels), own.left) for own in found] == [({"born": 1, "zip": 1}, 1 / 280)]


def test_what_cannot_be_enough_is_said(everybody):
    """One label for all is no level to coarsen to."""
    found, is_enough = coarsenings_of_combinations(everybody, ATTRIBUTES, share=1e-6)
    assert not is_enough
    assert dict(found[0].levels) == {"born": 1, "zip": 1}
    assert coarsenings_of_combinations(everybody, {"sex": ATTRIBUTES["sex"]}, share=0.1) == ([], False)
    assert coarsenings_of_combinations(everybody, {"sex": k_quasi(None)}, share=0.1) == ([], False)


def test_values_of_one_attribute(everybody):
    """A share of its values, not of the combinations."""
    (found,) = coarsenings_of_values(everybody, ATTRIBUTES, "born", share=0.1)
    assert (dict(found.levels), found.left) == ({"born": 1}, 4 / 112)
    assert coarsenings_of_values(everybody, ATTRIBUTES, "sex", share=0.4) == []


def test_null_and_unlisted_values_stay_as_they_are():
    """They are no part of any interval."""
    sample = SampledCombinations(
        values={"age": ["1", None, "3", "many"]}, codes={"age": np.arange(4)}, counts=np.ones(4, int), n_records=4
    )
    age = {"age": k_quasi(IntervalsHierarchy(type="intervals", widths=(2, 4)))}
    (found,) = coarsenings_of_values(sample, age, "age", share=1.0)
    assert (dict(found.levels), found.left) == ({"age": 1}, 1.0)
    (found,), is_enough = coarsenings_of_combinations(sample, age, share=1.0)
    assert is_enough
    assert (
        coarsening_in_words(found, age, of="values")
        == '"age" to level 1 (intervals of 2): about 1/1.0 of the values are left'
    )
