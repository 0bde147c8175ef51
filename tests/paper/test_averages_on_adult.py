# SPDX-License-Identifier: Apache-2.0
"""Averages lose less than noise at equal linking risk: Adult with heights, OLA, dm*, k = 20, as the documentation says.

The attacker knows every true value of the quasi-identifiers and uses no other column.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.reproduce.data.data_sets import adult

AT_EQUAL_RISK = {0.01: (1.27, 98), 0.02: (4.74, 46), 0.04: (12.3, 24)}
"""By linking risk: the largest ε of three digits, and the smallest group, that keep it (benchmarks/averages.py)."""


@pytest.mark.shared_data
@pytest.mark.parametrize("risk", AT_EQUAL_RISK)
def test_averages_have_at_most_0_55_of_the_error_of_noise(adult_path, risk):
    data = adult(adult_path.parent, seed=1)
    table = pa.table({name: pa.array(np.asarray(column)) for name, column in data.columns.items()})
    document = {**data.policy, "k": 20, "algorithm": "ola", "loss": "dm*"}
    epsilon, group = AT_EQUAL_RISK[risk]
    noise = ke.check(table, ke.Policy.from_dict({**document, "epsilon": epsilon}))
    averages = ke.check(table, ke.Policy.from_dict({**document, "averages": {"group": group}}))
    assert 0.98 * risk < noise.linking_risk.fair.total <= risk
    assert averages.linking_risk.fair.total <= risk
    assert averages.error["height"].expected_relative <= 0.55 * noise.error["height"].expected_relative
