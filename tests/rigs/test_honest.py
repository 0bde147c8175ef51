# SPDX-License-Identifier: Apache-2.0
"""A hundred honest releases, the same every time. `make honest` audits two thousand others."""

from __future__ import annotations

import pytest

from rigs.honest import try_case

N_TESTS, PER_TEST = 5, 20
MOST_CASES = 40
"""Cases in which so many releases have to be found; those that are refused do not count."""


@pytest.mark.parametrize("part", range(N_TESTS))
def test_no_honest_release_is_accused(part):
    """An audit that cries wolf is not listened to; with linkage and without, nothing is called broken."""
    failures, n_released = {}, 0
    seeds = iter(range(part * MOST_CASES, (part + 1) * MOST_CASES))
    while n_released < PER_TEST:
        seed = next(seeds, None)
        assert seed is not None, "too many cases are refused: about three in four should end in a release"
        tried = try_case(seed)
        n_released += tried.ended == "released"
        if tried.failures:
            failures[f"python -m rigs.honest --case {seed}"] = tried.failures
    assert not failures
