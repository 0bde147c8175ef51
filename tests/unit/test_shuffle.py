# SPDX-License-Identifier: Apache-2.0
"""The order of a release is uniform over all orders, ties among keys included."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from kepsilon.randomness import shuffled_positions


def seeded(seed: int):
    return np.random.Generator(np.random.Philox(seed)).bytes


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000, 70_000])
def test_every_position_comes_once(n):
    """A record may neither vanish nor come twice."""
    assert sorted(shuffled_positions(n, random_bytes=seeded(n))) == list(range(n))


@pytest.mark.parametrize("tie_bits", [0, 62, 64], ids=["full keys", "four distinct keys", "all keys equal"])
def test_all_orders_are_equally_likely(tie_bits):
    """χ² over the 24 orders of four records; also where keys tie, so that the position must not decide.

    24,000 seeded draws, α = 1e-9. A generator that clears key bits until nearly all tie is fresh after the first call.
    """
    bytes_ = seeded(5)
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(24_000):
        calls = 0

        def random_bytes(n: int) -> bytes:
            nonlocal calls
            calls += 1
            raw = np.frombuffer(bytes_(n), dtype="<u8")
            if calls == 1 and tie_bits:
                raw = (
                    (raw >> np.uint64(tie_bits % 64)) << np.uint64(tie_bits % 64)
                    if tie_bits < 64
                    else raw * np.uint64(0)
                )
            return raw.tobytes()

        counts[tuple(shuffled_positions(4, random_bytes=random_bytes).tolist())] += 1
    observed = [counts[order] for order in permutations(range(4))]
    assert stats.chisquare(observed).pvalue > 1e-9
    assert min(observed) > 0
