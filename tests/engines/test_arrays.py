# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays become the Arrow table that they describe."""

from __future__ import annotations

import numpy as np

from kepsilon.engines.arrow.tables import table_from


def test_text_and_numbers_come_back_as_they_were():
    """Leading zeros, letters beyond ASCII and an order of columns that is not alphabetical."""
    columns = {
        "zip": np.array(["01234", "é", ""]),
        "year": np.array([1994, -1, 0]),
        "height": np.array([170.1, 0.0, -3.5]),
    }
    assert table_from(columns).to_pydict() == {name: column.tolist() for name, column in columns.items()}


def test_a_part_of_an_array_is_its_own_column():
    """A view with a step has no buffer of its own."""
    every_other = np.arange(10)[::2]
    assert table_from({"n": every_other}).to_pydict() == {"n": [0, 2, 4, 6, 8]}
