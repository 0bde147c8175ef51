# SPDX-License-Identifier: Apache-2.0
"""Local algorithms search for several k at a time, of tables that leave room for it."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from kepsilon import threads
from kepsilon.kanonymise.algorithms import local_search
from kepsilon.kanonymise.algorithms.find_classes import for_every_k
from kepsilon.policy.policy import Policy
from strategies import Attribute, Sample

KS = [2, 3, 4, 5, 6]
POLICY = Policy.from_dict(
    {
        "k": 2,
        "algorithm": "mondrian",
        "attributes": {"c": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}},
    }
)


def table_of(n_values):
    labels = {str(i): [str(i), "*"] for i in range(n_values)}
    return Sample(
        attributes=[Attribute(name="c", labels=labels)], records=[(value,) for value in labels for _ in range(3)]
    ).table


@pytest.mark.parametrize(("most", "together"), [(1 << 18, 3), (20, 2), (19, 1)], ids=["small", "larger", "large"])
def test_searches_of_large_tables_wait_for_one_another(monkeypatch, most, together):
    """Each takes memory for every combination, and --memory promises how much that is at the most."""
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    monkeypatch.setattr(local_search, "MOST_TOGETHER", most)
    lock, running, most_running = threading.Lock(), [], []
    answer = local_search._answer

    def watched(table, request, k, *more):
        with lock:
            running.append(k)
            most_running.append(len(running))
        time.sleep(0.02)
        found = answer(table, request, k, *more)
        with lock:
            running.remove(k)
        return found

    monkeypatch.setattr(local_search, "_answer", watched)
    table = table_of(10)
    found = for_every_k(table, POLICY, ks=KS)
    assert list(found) == KS
    assert max(most_running) == together
    for k in KS:
        monkeypatch.setattr(threads, "n_threads", lambda: 1)
        alone = for_every_k(table, POLICY, ks=[k])[k]
        np.testing.assert_array_equal(found[k].recoding.class_of, alone.recoding.class_of)
