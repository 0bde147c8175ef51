# SPDX-License-Identifier: Apache-2.0
"""Columns that show which records are one person's: against going through the persons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.evaluate.kept_columns import joining
from kepsilon.evaluate.kept_columns.joining import joined_share, own_share
from material.whole_columns import whole_column

records = st.lists(st.tuples(st.integers(0, 6), st.one_of(st.none(), st.integers(0, 8))), max_size=30)


@given(records)
def test_persons_are_joined_by_a_value_that_is_theirs_alone(listed):
    persons, column = np.array([own for own, _ in listed], dtype=np.int64), whole_column([value for _, value in listed])
    values = {own: [value for person, value in listed if person == own and value is not None] for own, _ in listed}
    several = [own for own, held in values.items() if len(held) > 1]
    others = {own: {value for person, value in listed if person != own} for own in values}
    joined = [own for own in several if len(set(values[own])) == 1 and values[own][0] not in others[own]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "FEWEST_JOINED", 1)
        assert joined_share(column, persons) == pytest.approx(len(joined) / max(len(several), 1))
    n_own = sum(value is not None and value not in others[own] for own, value in listed)
    assert own_share(column, persons) == pytest.approx(n_own / max(len(listed), 1))


@pytest.mark.parametrize(("n_persons", "share"), [(19, 0.0), (20, 1.0)])
def test_a_few_persons_may_differ_by_chance(n_persons, share):
    persons = np.repeat(np.arange(n_persons), 3)
    assert joined_share(whole_column(persons.tolist()), persons) == share
    assert joined_share(whole_column(persons.tolist()), None) == 0.0
