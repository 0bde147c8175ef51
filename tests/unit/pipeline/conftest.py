# SPDX-License-Identifier: Apache-2.0
"""What tests of whole releases share."""

from __future__ import annotations

import pytest

from kepsilon.pipeline import anonymise as module


@pytest.fixture
def predicted_once(monkeypatch):
    """Releases of one table under one policy are predicted once: a prediction knows nothing of the seed of a release.

    A prediction takes nine tenths of the time of a small release with several ε-quasis, because it is simulated, and about
    half with one.
    """
    predict, found = module.predict, []

    def first_prediction(*arguments, **keywords):
        found or found.append(predict(*arguments, **keywords))
        return found[0]

    monkeypatch.setattr(module, "predict", first_prediction)
