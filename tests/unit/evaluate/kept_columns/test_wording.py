# SPDX-License-Identifier: Apache-2.0
"""What a kept column tells, in words: a column that links fewer records than are linked without it is not said to help."""

from __future__ import annotations

import pytest

from kepsilon.evaluate.kept_columns.findings import KeptColumn, KeptColumns
from kepsilon.evaluate.kept_columns.wording import what_it_tells


def said(share: float, *, without: float | None) -> str:
    """The sentence about a column through which a share of the records is linked."""
    own = KeptColumn(
        column="bmi",
        verdict="note",
        alarms=(),
        notes=("links",),
        links_per_class=1.3,
        z=9.0,
        share_linked=share,
        largest=1.0,
        by="formula",
        of=None,
        bits=0.0,
        bits_of=None,
        told=0.0,
        told_of=None,
        unique=0.0,
        joined=0.0,
        is_date=False,
        is_free_text=False,
        is_serial=False,
        identifiers_inside=0.0,
    )
    found = KeptColumns(n_records=1_000, n_classes=100, columns=(own,), pairs=())
    (sentence,) = what_it_tells(own, found, quasis="weight and height", without=without)
    return sentence


@pytest.mark.parametrize(
    ("share", "without", "end"),
    [
        pytest.param(0.96, 0.099, "links 96 % of the records through it (9.9 % without it)", id="more"),
        pytest.param(
            0.027, 0.051, "links 2.7 % of the records through it alone, no more than the 5.1 % without it", id="fewer"
        ),
        pytest.param(
            0.0511,
            0.0509,
            "links 5.1 % of the records through it alone, as many as without it",
            id="alike when rounded",
        ),
        pytest.param(0.05, 0.05, "links 5 % of the records through it alone, as many as without it", id="alike"),
        pytest.param(
            0.0, 0.05, "links 0 % of the records through it alone, no more than the 5 % without it", id="none"
        ),
        pytest.param(0.3, None, "links 30 % of the records through it", id="not known"),
    ],
)
def test_a_share_is_said_beside_the_share_without_the_column(share, without, end):
    """“2.7 % through it (5.1 % without it)” would read as if the column helped whoever uses it."""
    begin = "whoever knows weight and height works out what bmi must be, and "
    assert said(share, without=without) == begin + end
