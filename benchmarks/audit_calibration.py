# SPDX-License-Identifier: Apache-2.0
"""Counts how often the audit's tests of noise are wrong about honest noise, and writes the table in docs/audit.md anew.

    python benchmarks/audit_calibration.py            # some minutes of one core; the same table on every run
    python benchmarks/audit_calibration.py --quick    # a hundred draws of each, printed only

Noise is drawn here, from its law, into the published values of a few small releases, so that thousands of draws are
cheap. Every test then has the level 0.01. Its bound holds if, of N draws, no more are rejected than a binomial number
with p = 0.01 exceeds with probability 1e-6; more than that in any cell, and the script fails.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from kepsilon.auditing import audit  # noqa: E402 (needs the path above)
from kepsilon.auditing.case import AuditCase  # noqa: E402
from kepsilon.auditing.few_records import check_exact_values  # noqa: E402
from kepsilon.auditing.findings import Findings  # noqa: E402
from kepsilon.auditing.noise import check_linked_noise  # noqa: E402
from kepsilon.auditing.noise_unlinked import check_unlinked_noise  # noqa: E402
from kepsilon.auditing.published_values import check_published_values  # noqa: E402
from kepsilon.engines.arrow.audited import AuditedTable  # noqa: E402
from kepsilon.policy.roles import fraction  # noqa: E402
from material.audited_releases import arrow, patients, patients_policy, released  # noqa: E402
from material.usefulness import useless_is_accepted  # noqa: E402

LEVEL = 0.01
N_DRAWS, QUICK = 2_000, 100
N_RECORDS = 300
WRONG_VERDICT = 1e-6
"""How often a cell of the table fails by chance, at most, if its test is wrong exactly once in a hundred times."""

QUASI = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
SHAPES: dict[str, dict[str, Any]] = {
    "35 classes": {},
    "coarse, with a domain": {
        "epsilon": 8,
        "attributes": {"height": {**QUASI, "precision": 1, "domain": [155, 185]}},
    },
    "two attributes": {"attributes": {"weight": QUASI}},
}
"""What each shape changes in the policy of the made-up patients."""

PAGE = ROOT / "docs" / "audit.md"
BEGIN, END = "<!-- calibration: written by benchmarks/audit_calibration.py -->", "<!-- end of calibration -->"


@dataclass(slots=True)
class EqualLevels:
    """Stands for the audit's division of its chance of a false alarm: every test has the same level."""

    n_tests: Counter[str] = field(default_factory=Counter)

    def level(self, family: str, *, n_tests: int) -> float:
        """The level of each test; counts the tests of the family."""
        self.n_tests[family] = n_tests
        return LEVEL


def opened(shape: dict[str, Any], *, with_linkage: bool) -> AuditCase:
    """A small release under audit, its classes found."""
    original = patients(N_RECORDS)
    if "weight" in shape.get("attributes", {}):
        original["weight"] = np.random.default_rng(7).normal(80, 12, N_RECORDS).round(1).tolist()
    case = released(original, patients_policy(**shape))
    cases = audit._open_cases(  # noqa: SLF001 (the checks alone are wanted, not a whole audit)
        AuditedTable(arrow(case.original)),
        AuditedTable(arrow(case.released), is_release=True),
        case.policy,
        Findings(),
        linkage=arrow(case.linkage) if with_linkage else None,
        on_step=lambda _: None,
    )
    assert cases is not None
    [only] = cases.tried
    return only if with_linkage else replace(only, linkage=None)


def drawn(case: AuditCase, own: np.ndarray, rng: np.random.Generator) -> AuditCase:
    """The case with honest noise drawn anew; `own` is the row of each released record's original."""
    ids = case.classes.of_original[own]
    ranges, n_active = np.nan_to_num(case.noise.ranges[ids]), case.noise.n_active[ids]
    radius = rng.gamma(np.maximum(n_active, 1) + 1.0)
    numbers = {}
    for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
        noise = rng.uniform(-1, 1, len(own)) * radius * ranges[:, j] / case.epsilon
        step = fraction(attribute.precision)
        units = np.rint((case.noise.values[own, j] + noise) / float(step))
        values = units * step.numerator / step.denominator
        if attribute.domain is not None:
            values = np.clip(values, *(float(fraction(bound)) for bound in attribute.domain))
        numbers[name] = values
    return replace(
        case, released=replace(case.released, numbers=numbers), false_alarms=EqualLevels(), findings=Findings()
    )


CHECKS: dict[str, tuple[bool, Callable[[AuditCase], None]]] = {
    "scale, centre, shape, records, patterns": (True, check_linked_noise),
    "exact values": (True, check_exact_values),
    "published values": (True, check_published_values),
    "values by class and kept value": (False, check_unlinked_noise),
}
"""Each check of noise, and whether it has a linkage."""


def rejected(case: AuditCase) -> set[str]:
    """What the tests object to: every finding that is broken or warns, in parts where one finding lists several."""
    found = set()
    for finding in case.findings.found:
        if finding.severity in ("broken", "warning"):
            head, _, faults = finding.what.partition(": ")
            is_list = any(words in head for words in ("not drawn", "not original", "not alike"))
            found |= {f"{head}: {fault}" for fault in faults.split("; ")} if is_list else {finding.what}
    # Figures differ from draw to draw; a test is told by the words.
    return {re.sub(r"[0-9.,]+", "", what) for what in found}


def most_allowed(n: int) -> int:
    """The number of n draws that are rejected with a probability above WRONG_VERDICT, at most, at level LEVEL."""
    beyond, m = 1.0, -1
    while beyond > WRONG_VERDICT:
        m += 1
        beyond -= math.comb(n, m) * LEVEL**m * (1 - LEVEL) ** (n - m)
    return m


def main() -> None:
    """Draws, counts, and writes the table into the page unless asked to be quick."""
    n = QUICK if "--quick" in sys.argv[1:] else N_DRAWS
    allowed, worst, tests = most_allowed(n), Counter[tuple[str, str]](), {}
    for shape, changes in SHAPES.items():
        for what, (with_linkage, check) in CHECKS.items():
            linked = opened(changes, with_linkage=True)
            assert linked.linkage is not None
            own = linked.linkage.original_row
            case = linked if with_linkage else opened(changes, with_linkage=False)
            rng, times = np.random.default_rng(20_090_803), Counter[str]()
            for _ in range(n):
                one = drawn(case, own, rng)
                with np.errstate(all="ignore"):
                    check(one)
                times.update(rejected(one))
            worst[what, shape] = max(times.values(), default=0)
            tests[what, shape] = sum(one.false_alarms.n_tests.values())
            print(f"{shape}, {what}: {tests[what, shape]} tests, most rejected {worst[what, shape]} of {n}", flush=True)
    lines = [f"| tests of | {' | '.join(SHAPES)} |", "|---|" + "---|" * len(SHAPES)]
    for what in CHECKS:
        cells = [f"{worst[what, shape]} ({tests[what, shape]})" for shape in SHAPES]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    if max(worst.values()) > allowed:
        sys.exit(f"a test was wrong {max(worst.values())} times of {n}; {allowed} are allowed")
    if n == N_DRAWS:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN, 1)
        PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    print("\n".join([*lines, f"at most {allowed} of {n} allowed"]))


if __name__ == "__main__":
    with useless_is_accepted():  # what noise does to so few records is not the question here
        main()
