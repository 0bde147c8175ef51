# SPDX-License-Identifier: Apache-2.0
"""`max_level` beside a hierarchy and a step: labels on the step never reach beyond a node, or the policy is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from kepsilon import Policy, anonymise
from kepsilon.auditing.labels import LabelReader, LabelRules, _regions, _widest
from kepsilon.errors import PolicyError, UnsatisfiableError
from kepsilon.table.codes import code_domain

INTERVALS = {"type": "intervals", "widths": [5, 20]}


def policy(*, algorithm="mondrian", labels="siblings", hierarchy=INTERVALS, step=1, max_level=1):
    n = {"role": "k-quasi", "hierarchy": hierarchy, "step": step, "max_level": max_level}
    return Policy.from_dict(
        {
            "k": 2,
            "algorithm": algorithm,
            "labels": labels,
            "max_suppression": 0.9,
            "records_are_persons": True,
            "attributes": {"n": n},
        }
    )


@pytest.mark.parametrize("algorithm", ["mondrian", "local-recoding"])
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"step": 10}, "intervals on a step of 10 would reach beyond max_level = 1, intervals of 5 from 0"),
        ({"step": 2}, "choose a step that divides"),
        ({"step": 5, "hierarchy": {**INTERVALS, "origin": 3}}, "intervals of 5 from 3"),
        ({"labels": "ancestor"}, 'with labels = "ancestor", intervals of 1, 2, 4, … steps from 0'),
        ({"labels": "ancestor", "step": 5, "max_level": 2, "hierarchy": {**INTERVALS, "origin": 5}}, "of 20 from 5"),
        ({"max_level": 0}, "max_level = 0 keeps the values themselves"),
        ({"hierarchy": {"type": "groups", "levels": [{"few": ["1", "9"], "more": ["5"]}]}}, "keeps apart"),
    ],
    ids=str,
)
def test_a_step_that_does_not_fit_is_refused(algorithm, settings, why):
    with pytest.raises(PolicyError, match=r"attributes\.n\.max_level") as caught:
        policy(algorithm=algorithm, **settings)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "ola", "step": 10},
        {"step": 10, "max_level": 3},
        {"labels": "ancestor", "max_level": 3},
        {"hierarchy": {"type": "groups", "levels": [{"few": ["1", "9"], "more": ["5"]}]}, "max_level": 2},
        {"hierarchy": {"type": "suppress"}, "max_level": 1},
    ],
    ids=str,
)
def test_the_top_level_and_ola_know_no_such_limit(settings):
    assert policy(**settings).k == 2


def bounds(label):
    low, high = label[1:-1].split(", ")
    return Fraction(low), Fraction(high)


@pytest.mark.parametrize("algorithm", ["mondrian", "local-recoding"])
@pytest.mark.parametrize("labels", ["siblings", "ancestor"])
@pytest.mark.parametrize("step", [1, 2.5, 4, 5, 10])
@pytest.mark.parametrize("widths", [[5, 20], [4, 40]])
@pytest.mark.parametrize("origin", [0, 3, 20])
@pytest.mark.parametrize("max_level", [1, 2])
def test_no_label_reaches_beyond_the_level(algorithm, labels, step, widths, origin, max_level):
    """Every policy that is not refused; few numbers, so that labels are as wide as they may be."""
    hierarchy = {"type": "intervals", "widths": widths, "origin": origin}
    try:
        own = policy(algorithm=algorithm, labels=labels, hierarchy=hierarchy, step=step, max_level=max_level)
    except PolicyError:
        return
    if max_level > len(widths):
        return
    numbers = [-21, -20, -17, -1, 0, 1, 4, 5, 7, 9, 15, 19, 20, 39, 40, 41, 58, 59]
    try:
        release = anonymise(pa.table({"n": numbers}), own)
    except UnsatisfiableError:
        return
    width = widths[max_level - 1]
    for label in release.frame["n"].to_pylist():
        low, high = bounds(label)
        assert math.floor((low - origin) / width) == math.ceil((high - origin) / width) - 1


@pytest.mark.parametrize(("label", "is_fine"), [("[5, 10)", True), ("[5, 7)", True), ("[0, 10)", False), ("*", False)])
def test_the_audit_notices_labels_beyond_the_level_whatever_occurs(label, is_fine):
    """Nothing below 5 occurs, and still [0, 10) says less than max_level allows."""
    attribute = policy().k_quasis["n"]
    values = ["5", "6", "9", "12"]
    columns = [values, ["[5, 10)"] * 3 + ["[10, 15)"], ["[0, 20)"] * 4, ["*"] * 4]
    domain, _ = code_domain("n", columns)
    rules = LabelRules(
        shows_regions=False,
        step=Fraction(1),
        k=2,
        counts=np.full(4, 2),
        regions=_regions(domain, attribute),
        widest=_widest(attribute),
    )
    reading = LabelReader(domain, rules).read(label)
    assert (reading.too_much is None) == is_fine
