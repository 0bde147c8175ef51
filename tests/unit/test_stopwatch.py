# SPDX-License-Identifier: Apache-2.0
"""Seconds per step, also where several machines worked at the same time."""

from __future__ import annotations

import pytest

from kepsilon.stopwatch import Stopwatch, ignore_step


def test_seconds_are_divided_as_workers_spent_them():
    """Two workers for ten seconds, who spent 12 on one step and 4 on the other: 7.5 and 2.5 passed here."""
    clock = Stopwatch(ignore_step, {"read": 1.0, "perturb": 10.0})
    clock.divide("perturb", {"perturb": 12.0, "measure": 4.0}, 10.0)
    assert clock.seconds == {"read": 1.0, "perturb": pytest.approx(7.5), "measure": pytest.approx(2.5)}


def test_nothing_to_divide_leaves_seconds_as_they_are():
    """No batch, no seconds of workers."""
    clock = Stopwatch(ignore_step, {"perturb": 2.0})
    clock.divide("perturb", {}, 2.0)
    assert clock.seconds == {"perturb": 2.0}
