# SPDX-License-Identifier: Apache-2.0
"""Frequency tables of the benchmarks' made-up data: voters, and a survey of many questions."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from kepsilon.table.frequency import FrequencyTable

_FOLDER = str(Path(__file__).resolve().parents[2] / "benchmarks")


def survey(n_records: int, *, n_questions: int = 30) -> FrequencyTable:
    """Categorical questions whose answers depend on a few opinions."""
    found: FrequencyTable = _module("surveys").survey(n_records, n_questions=n_questions)
    return found


def voters(n_records: int) -> FrequencyTable:
    """ZIP code, gender, birth year on a step of 1, and race."""
    found: FrequencyTable = _module("search").code_and_count(_module("voters").voter_columns(n_records))
    return found


def _module(name: str):
    if _FOLDER not in sys.path:
        sys.path.append(_FOLDER)
    return import_module(name)
