# SPDX-License-Identifier: Apache-2.0
"""Measures how often the audit notices each tampering, and writes the tables in docs/audit.md anew.

    python benchmarks/audit_power.py             # half an hour on an idle machine; the same tables on every run
    python benchmarks/audit_power.py --missing   # only tamperings that the tables have no line of yet
    python benchmarks/audit_power.py --averages  # only the table of averages
    python benchmarks/audit_power.py --quick     # two runs of each, printed only

Releases are seeded, and tamperings are those of tests/material/tamperings.py, averaged_releases.py and person_tamperings.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from material.averaged_releases import TAMPERINGS as OF_AVERAGES  # noqa: E402 (needs the path above)
from material.averaged_releases import sound_averages  # noqa: E402
from material.person_tamperings import TAMPERINGS as OF_PERSONS  # noqa: E402
from material.person_tamperings import sound_release as sound_persons  # noqa: E402
from material.tamperings import TAMPERINGS, sound_release  # noqa: E402
from material.usefulness import useless_is_accepted  # noqa: E402

RUNS = {300: 20, 3_000: 8, 30_000: 2}
"""Releases of each number of records that are tampered with."""
QUICK = {300: 2, 3_000: 2}
PAGE = ROOT / "docs" / "audit.md"


@dataclass(frozen=True)
class Measured:
    """Tamperings whose powers are one table of the page."""

    begin: str
    end: str
    tamperings: Mapping[str, Any]
    release: Callable[..., Any]
    """Makes the release that is tampered with."""


TABLES = {
    "records": Measured(
        "<!-- powers: written by benchmarks/audit_power.py -->",
        "<!-- end of powers -->",
        TAMPERINGS,
        sound_release,
    ),
    "averages": Measured(
        "<!-- powers of averages: written by benchmarks/audit_power.py -->",
        "<!-- end of powers of averages -->",
        OF_AVERAGES,
        sound_averages,
    ),
    "persons": Measured(
        "<!-- powers of persons: written by benchmarks/audit_power.py -->",
        "<!-- end of powers of persons -->",
        OF_PERSONS,
        lambda setting, algorithm, n, *, data_seed, seed: sound_persons(setting, algorithm, n, seed=data_seed + seed),
    ),
}


def measured(runs: dict[int, int], of: Measured, names: list[str]) -> dict[str, list[str]]:
    """For each tampering, the share of runs noticed: with the linkage by number of records, then without."""
    cells: dict[str, dict[tuple[bool, int], str]] = {name: {} for name in names}
    for n, n_runs in runs.items():
        cases: dict[tuple[str, str], list[Any]] = {}
        for name, by_setting in cells.items():
            own = of.tamperings[name]
            of_which = (own.setting, getattr(own, "algorithms", ("ola",))[0])
            if of_which not in cases:
                cases[of_which] = [of.release(*of_which, n, data_seed=100 + run, seed=run) for run in range(n_runs)]
            changed = []
            for case in cases[of_which]:
                try:
                    changed.append(own.change(case))
                except (StopIteration, ValueError, AssertionError):  # nothing to tamper with in this way
                    continue
            for with_linkage in (True, False):
                audits = [case.audit(with_linkage=with_linkage) for case in changed]
                severity = getattr(own, "severity", "broken")
                noticed = sum(any(f.check == own.check for f in audit.of(severity)) for audit in audits)
                share = f"{noticed / len(changed):.0%}".replace("%", " %") if changed else "–"
                by_setting[with_linkage, n] = share
            print(f"{n:,} records, {name}: {by_setting[True, n]} with, {by_setting[False, n]} without", flush=True)
    return {
        name: [by_setting[with_linkage, n] for with_linkage in (True, False) for n in runs]
        for name, by_setting in cells.items()
    }


def parts_of_page(of: Measured) -> tuple[str, str, str]:
    """What stands before the table, the table, and what stands after it."""
    before, rest = PAGE.read_text(encoding="utf-8").split(of.begin, 1)
    made, after = rest.split(of.end, 1)
    return before, made, after


def stated(lines: str) -> dict[str, list[str]]:
    """The cells of a table in Markdown by what stands before them."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.strip().splitlines()]
    return {row[0]: row[1:] for row in rows[2:]}


def table(powers: dict[str, list[str]], runs: dict[int, int]) -> str:
    """The table in Markdown."""
    heads = [f"{n:,}{way}" for way in (" with", " without") for n in runs]
    lines = [f"| what was done | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in powers.items())])


def main() -> None:
    """Measures, and writes the tables into the page unless asked to be quick."""
    runs = QUICK if "--quick" in sys.argv[1:] else RUNS
    for name, of in TABLES.items():
        if "--averages" in sys.argv[1:] and name != "averages":
            continue
        known = stated(parts_of_page(of)[1]) if "--missing" in sys.argv[1:] else {}
        with useless_is_accepted():  # what noise does to so few records is not the question here
            powers = known | measured(runs, of, [name for name in of.tamperings if name not in known])
        made = table({name: powers[name] for name in of.tamperings}, runs)
        if runs is QUICK:
            print(made)
            continue
        before, _, after = parts_of_page(of)
        PAGE.write_text(f"{before}{of.begin}\n{made}\n{of.end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
