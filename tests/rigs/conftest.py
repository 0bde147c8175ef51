# SPDX-License-Identifier: Apache-2.0
"""The rigs run the package as users have it: a useless attribute is refused unless the policy accepts it."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _as_users_have_it(refuses_useless):
    """Useless attributes are refused."""
