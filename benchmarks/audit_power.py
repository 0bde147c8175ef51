# SPDX-License-Identifier: Apache-2.0
"""Measures how often the audit notices each tampering, and writes the table in docs/audit.md anew.

    python benchmarks/audit_power.py            # ten minutes on an idle machine; the same table on every run
    python benchmarks/audit_power.py --missing  # only tamperings that the table has no line of yet
    python benchmarks/audit_power.py --quick    # two runs of each, printed only

Releases are seeded, and tamperings are those of tests/material/tamperings.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from material.tamperings import TAMPERINGS, sound_release  # noqa: E402 (needs the path above)

RUNS = {300: 20, 3_000: 8, 30_000: 2}
"""Releases of each number of records that are tampered with."""
QUICK = {300: 2, 3_000: 2}
PAGE = ROOT / "docs" / "audit.md"
BEGIN, END = "<!-- powers: written by benchmarks/audit_power.py -->", "<!-- end of powers -->"


def measured(runs: dict[int, int], names: list[str]) -> dict[str, list[str]]:
    """For each tampering, the share of runs noticed: with the linkage by number of records, then without."""
    cells: dict[str, dict[tuple[bool, int], str]] = {name: {} for name in names}
    for n, n_runs in runs.items():
        settings = {TAMPERINGS[name].setting for name in cells}
        cases = {
            setting: [sound_release(setting, "ola", n, data_seed=100 + run, seed=run) for run in range(n_runs)]
            for setting in sorted(settings)
        }
        for name, by_setting in cells.items():
            changed = [TAMPERINGS[name].change(case) for case in cases[TAMPERINGS[name].setting]]
            for with_linkage in (True, False):
                audits = [case.audit(with_linkage=with_linkage) for case in changed]
                noticed = sum(any(f.check == TAMPERINGS[name].check for f in audit.broken) for audit in audits)
                by_setting[with_linkage, n] = f"{noticed / n_runs:.0%}".replace("%", " %")
            print(f"{n:,} records, {name}: {by_setting[True, n]} with, {by_setting[False, n]} without", flush=True)
    return {
        name: [by_setting[with_linkage, n] for with_linkage in (True, False) for n in runs]
        for name, by_setting in cells.items()
    }


def parts_of_page() -> tuple[str, str, str]:
    """What stands before the table, the table, and what stands after it."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN, 1)
    made, after = rest.split(END, 1)
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
    """Measures, and writes the table into the page unless asked to be quick."""
    runs = QUICK if "--quick" in sys.argv[1:] else RUNS
    names = [name for name, tampering in TAMPERINGS.items() if tampering.in_table]
    known = stated(parts_of_page()[1]) if "--missing" in sys.argv[1:] else {}
    powers = known | measured(runs, [name for name in names if name not in known])
    made = table({name: powers[name] for name in names}, runs)
    if runs is QUICK:
        print(made)
        return
    before, _, after = parts_of_page()
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
