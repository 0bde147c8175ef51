# SPDX-License-Identifier: Apache-2.0
"""A hundred honest releases, the same every time. `make honest` audits two thousand others."""

from __future__ import annotations

import pytest

from rigs.honest import try_case

N_TESTS, PER_TEST = 5, 20


@pytest.mark.parametrize("part", range(N_TESTS))
def test_no_honest_release_is_accused(part):
    """An audit that cries wolf is not listened to; with linkage and without, nothing is called broken."""
    failures, n_released = {}, 0
    for seed in range(part * PER_TEST, (part + 1) * PER_TEST):
        tried = try_case(seed)
        n_released += tried.ended == "released"
        if tried.failures:
            failures[f"python -m rigs.honest --case {seed}"] = tried.failures
    assert not failures
    assert n_released > 0.8 * PER_TEST, "or these cases would say nothing about releases"
