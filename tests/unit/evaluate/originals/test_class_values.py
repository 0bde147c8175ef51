# SPDX-License-Identifier: Apache-2.0
"""Values by class: coded and counted they are those that sorting finds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.originals import class_values
from kepsilon.evaluate.originals.class_values import count_values
from kepsilon.evaluate.originals.sorted_classes import sort_classes
from kepsilon.table import coded_values
from kepsilon.table.coded_values import code_values
from material.noisy_classes import noisy_classes

PRECISIONS = [Fraction(1, 10), Fraction(1), Fraction(1, 3), Fraction(5, 2)]


@given(noisy_classes(), st.sampled_from(PRECISIONS), st.sampled_from([0, 8]))
def test_counting_finds_what_sorting_finds(noisy, precision, slots):
    """Whether values are multiples of the precision or not, and whether slots or sorted keys are counted."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (class_values, coded_values):
            patch.setattr(module, "SLOTS_PER_RECORD", slots)
        coded = code_values(noisy.values, precision=precision)
        counted = count_values(coded, noisy.class_ids, n_classes=noisy.n_classes)
    classes = sort_classes(noisy.values, noisy.class_ids, n_classes=noisy.n_classes)
    for field in ("values", "class_ids", "counts", "starts"):
        assert getattr(counted, field).tolist() == getattr(classes, field).tolist()


@given(st.lists(st.one_of(st.integers(-50, 50).map(lambda i: i / 10), st.floats(-5, 5)), max_size=30))
def test_coded_values_are_the_values(values):
    """To the last bit: a value that is nearly a multiple of the precision is not moved onto it."""
    values = np.array(values, dtype=np.float64)
    coded = code_values(values, precision=Fraction(1, 10))
    assert coded.distinct[coded.codes].tolist() == values.tolist()
    assert coded.distinct.tolist() == sorted(Counter(values.tolist()))


def test_missing_values_are_all_alike():
    """A class has all its values missing or none."""
    coded = code_values(np.array([np.nan, np.nan, 3.0]), precision=Fraction(1))
    counted = count_values(coded, np.array([0, 0, 1]), n_classes=2)
    assert counted.counts.tolist() == [2, 1]


@pytest.mark.parametrize("ids", [[0, 1], [0, 1, 5], [0, 1, -1]], ids=["too few", "no such class", "suppressed"])
def test_records_in_no_class_are_refused(ids):
    """They would be counted in somebody else's."""
    coded = code_values(np.arange(3.0), precision=Fraction(1))
    with pytest.raises(ValueError, match="class"):
        count_values(coded, np.array(ids), n_classes=2)
