# SPDX-License-Identifier: Apache-2.0
"""Measures how often the audit notices each tampering, and writes the table in docs/audit.md anew.

    python benchmarks/audit_power.py            # a few minutes on an idle machine; the same table on every run
    python benchmarks/audit_power.py --quick    # two runs of each, printed only

Releases are seeded, and tamperings are those of tests/material/tamperings.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from material.audited_releases import patients, patients_policy, released  # noqa: E402 (needs the path above)
from material.tamperings import TAMPERINGS  # noqa: E402

RUNS = {300: 20, 3_000: 8, 30_000: 2}
"""Releases of each number of records that are tampered with."""
QUICK = {300: 2, 3_000: 2}
PAGE = ROOT / "docs" / "audit.md"
BEGIN, END = "<!-- powers: written by benchmarks/audit_power.py -->", "<!-- end of powers -->"


def measured(runs: dict[int, int]) -> dict[str, list[str]]:
    """For each tampering, the share of runs noticed: with the linkage by number of records, then without."""
    cells: dict[str, dict[tuple[bool, int], str]] = {name: {} for name, t in TAMPERINGS.items() if t.in_table}
    for n, n_runs in runs.items():
        cases = [released(patients(n, seed=100 + run), patients_policy(), seed=run) for run in range(n_runs)]
        for name, by_setting in cells.items():
            changed = [TAMPERINGS[name].change(case) for case in cases]
            for with_linkage in (True, False):
                audits = [case.audit(with_linkage=with_linkage) for case in changed]
                noticed = sum(any(f.check == TAMPERINGS[name].check for f in audit.broken) for audit in audits)
                by_setting[with_linkage, n] = f"{noticed / n_runs:.0%}".replace("%", " %")
            print(f"{n:,} records, {name}: {by_setting[True, n]} with, {by_setting[False, n]} without", flush=True)
    return {
        name: [by_setting[with_linkage, n] for with_linkage in (True, False) for n in runs]
        for name, by_setting in cells.items()
    }


def table(powers: dict[str, list[str]], runs: dict[int, int]) -> str:
    """The table in Markdown."""
    heads = [f"{n:,}{way}" for way in (" with", " without") for n in runs]
    lines = [f"| what was done | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in powers.items())])


def main() -> None:
    """Measures, and writes the table into the page unless asked to be quick."""
    runs = QUICK if "--quick" in sys.argv[1:] else RUNS
    made = table(measured(runs), runs)
    if runs is QUICK:
        print(made)
        return
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN, 1)
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
