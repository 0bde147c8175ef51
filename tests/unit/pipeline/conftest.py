# SPDX-License-Identifier: Apache-2.0
"""What tests of whole releases share."""

from __future__ import annotations

import pytest

from kepsilon.pipeline import anonymise as module


@pytest.fixture
def predicted_once(monkeypatch):
    """Releases of one table under one policy are predicted once: a prediction knows nothing of the seed of a release.

    A prediction takes nine tenths of the time of a small release with several ε-quasis, because it is simulated, and about
    half with one. Half of what is left goes into pictures of a report that these tests do not look at.
    """
    for step in ("predict", "_pictures"):
        monkeypatch.setattr(module, step, first_only(getattr(module, step)))


def first_only(function):
    """The function, which gives its first result again and again."""
    found = []

    def call(*arguments, **keywords):
        found or found.append(function(*arguments, **keywords))
        return found[0]

    return call
