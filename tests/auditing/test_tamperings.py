# SPDX-License-Identifier: Apache-2.0
"""Every tampering of the table is called broken by the check that is there for it, and no finding shows a value."""

from __future__ import annotations

import re
from functools import cache

import pytest

from material.averaged_releases import TAMPERINGS as OF_AVERAGES
from material.machine import ROOT
from material.person_tamperings import TAMPERINGS as OF_PERSONS
from material.tamperings import TAMPERINGS, Tampering, sound_release

sound = cache(sound_release)
"""A release that nobody tampered with, made once for all tests that need it."""


def runs() -> list[pytest.ParameterSet]:
    """Every tampering with every algorithm that it goes with, with a linkage and, where that is enough, without."""
    return [
        pytest.param(
            tampering, algorithm, with_linkage, id=f"{name}, {algorithm}, {'with' if with_linkage else 'without'}"
        )
        for name, tampering in TAMPERINGS.items()
        for algorithm in tampering.algorithms
        for with_linkage in (True, False)
        if with_linkage or tampering.n_without is not None
    ]


@pytest.mark.parametrize(("tampering", "algorithm", "with_linkage"), runs())
def test_tampering_is_noticed(tampering: Tampering, algorithm: str, with_linkage: bool):
    """The check meant for each tampering calls it broken, from as many records as the table says."""
    case = sound(tampering.setting, algorithm, tampering.n if with_linkage else tampering.n_without)
    audit = tampering.change(case).audit(with_linkage=with_linkage)
    shown = "\n".join([*map(str, audit.findings), str(audit.to_json()), audit.headline])
    assert "CANARY" not in shown
    assert tampering.check in {finding.check for finding in audit.broken}, shown


def sound_ones() -> list[tuple[str, str, int]]:
    """Every release that is tampered with."""
    return sorted(
        {
            (tampering.setting, algorithm, n)
            for tampering in TAMPERINGS.values()
            for algorithm in tampering.algorithms
            for n in (tampering.n, tampering.n_without or tampering.n)
        }
    )


@pytest.mark.parametrize(("setting", "algorithm", "n"), sound_ones())
def test_what_was_not_tampered_with_is_not_broken(setting: str, algorithm: str, n: int):
    """Each tampering is noticed because of what was done, not because of the release it was done to."""
    for with_linkage in (True, False):
        audit = sound(setting, algorithm, n).audit(with_linkage=with_linkage)
        assert not audit.broken, audit.findings


@pytest.mark.parametrize("name", [*TAMPERINGS, *OF_AVERAGES, *OF_PERSONS])
def test_docs_say_how_often_every_tampering_is_noticed(name: str):
    """In 300, 3,000 and 30,000 records, with and without a linkage; `benchmarks/audit_power.py --missing` measures a new one."""
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    assert len(lines) == 1
    assert len(re.findall(r" (?:\d+ %|–) \|", lines[0])) == 6
