# SPDX-License-Identifier: Apache-2.0
"""Data sets of the paper cut short, and one made of a few people whose figures can be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from kepsilon.reproduce.data import data_sets
from kepsilon.reproduce.scope import Scope

SHORT = Scope(ks=(2, 20), epsilons=(1, 8), confidences=(0.99,), runs=4, seed=7)
FIXED_SEED = 1994


def first_records(data, n):
    """A data set with its first records only."""
    return replace(data, columns={name: column[:n].copy() for name, column in data.columns.items()})


def short_michigan(n=3000):
    return first_records(data_sets.michigan(seed=FIXED_SEED), n)


def of_people(gender, height, *, precision=0.1, max_suppression=0):
    """People known by gender and height alone."""
    return data_sets.DataSet(
        name="adult",
        title="People",
        is_stand_in=True,
        columns={"gender": np.array(gender), "height": np.array(height, dtype=np.float64)},
        policy={
            "max_suppression": max_suppression,
            "loss": "dm*",
            "attributes": {
                "gender": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
                "height": {"role": "epsilon-quasi", "precision": precision, "range": "class"},
            },
        },
        extra={"type": "intervals", "widths": [1, 2, 4, 8, 16, 32]},
        note="made up",
    )


def assert_plain(found):
    """Nothing but what JSON has, so that a measurement read back is the measurement."""
    if isinstance(found, dict):
        assert all(type(key) is str for key in found)
        for value in found.values():
            assert_plain(value)
    elif isinstance(found, list):
        for value in found:
            assert_plain(value)
    else:
        assert type(found) in (str, int, float, bool, type(None))
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def class_members(values, class_ids):
    """Values by class, in plain Python."""
    members = {}
    for value, class_id in zip(values.tolist(), class_ids.tolist(), strict=True):
        members.setdefault(class_id, []).append(value)
    return members
