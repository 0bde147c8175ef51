# SPDX-License-Identifier: Apache-2.0
"""What local algorithms give as the reason of a refusal: it is the real one."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kepsilon as ke

EACH = pytest.mark.parametrize(("algorithm", "title"), [("mondrian", "Mondrian"), ("local-recoding", "Local recoding")])
N = {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10]}}
ILLNESS = {"role": "sensitive", "accept_leak": "made-up records"}


def refused(table, *, algorithm, attributes, **settings):
    document = {"k": 3, "algorithm": algorithm, "records_are_persons": True, "attributes": attributes, **settings}
    with pytest.raises(ke.UnsatisfiableError) as caught:
        ke.anonymise(pa.table(table), ke.Policy.from_dict(document), unsafe_seed=1)
    return str(caught.value)


@EACH
@pytest.mark.parametrize("limit", [1, 0.5])
def test_where_all_would_be_left_out_it_says_that_nobody_would_be_left(algorithm, title, limit):
    """A limit that allows all of them is no reason to refuse."""
    said = refused(
        {"n": list(range(40))}, algorithm=algorithm, max_suppression=limit, attributes={"n": {**N, "max_level": 0}}
    )
    assert "keeps 40 records in classes below 3, and nobody would be left without the records that fail." in said
    assert f"{title} may leave out" not in said
    assert "allow max_suppression" not in said


@EACH
def test_where_too_many_would_be_left_out_it_says_how_many_may_be(algorithm, title):
    said = refused(
        {"n": [1] * 10 + list(range(10, 40))},
        algorithm=algorithm,
        max_suppression=0.5,
        attributes={"n": {**N, "max_level": 0}},
    )
    assert f"{title} may leave out 20 of 30" in said
    assert "allow max_suppression = 0.75" in said


@EACH
def test_a_limit_without_effect_is_called_so(algorithm, title):
    """Nothing keeps records apart, and the whole table fails; the curator asked for at most a half."""
    table = {"n": list(range(40)), "illness": ["flu"] * 40}
    attributes = {"n": N, "illness": {**ILLNESS, "l_diversity": {"distinct": 2}}}
    said = refused(table, algorithm=algorithm, max_suppression=0.5, attributes=attributes)
    assert f"{title} leaves no record out: max_suppression = 0.5 has no effect" in said
    said = refused(table, algorithm=algorithm, attributes=attributes)
    assert f"{title} leaves no record out." in said
