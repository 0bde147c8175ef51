# SPDX-License-Identifier: Apache-2.0
"""Errors that a worker process sends home are those it raised."""

from __future__ import annotations

import pickle

import pytest

from kepsilon import AnonymisationError, DataError, EngineError, PolicyError, Problem, UnsatisfiableError

PROBLEMS = (Problem(where="k", what="is too large.", fix="Choose a smaller one."), Problem(where="", what="no."))


@pytest.mark.parametrize("kind", [AnonymisationError, DataError, EngineError, PolicyError, UnsatisfiableError])
def test_an_error_is_the_same_after_its_journey(kind):
    """Kind, problems and words."""
    error = kind(PROBLEMS)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.problems == PROBLEMS
    assert str(again) == str(error)
