# SPDX-License-Identifier: Apache-2.0
"""Hypothesis without a deadline: a slow machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
