# SPDX-License-Identifier: Apache-2.0
"""Claims about who is left out: 9 to 11 and 17 to 19."""

from __future__ import annotations

from itertools import pairwise

from kepsilon.reproduce.claims.claim import BOUNDS, RECORDS, SUPPRESSED_BY_OLA, Explain, Judge, Reason, Verdict, percent
from kepsilon.reproduce.claims.measured import Measured, MeasuredCell
from kepsilon.reproduce.scope import ALGORITHM_NAMES, ALGORITHMS, SHOWN_CONFIDENCE, SMALL_EPSILON

AS_PRINTED = 0.00005
"""Half of the last digit of a per cent with two decimals."""


def _few_for_small_epsilon(measured: Measured) -> Verdict:
    worst = max((c for c in measured.cells() if c.epsilon <= SMALL_EPSILON), key=lambda cell: cell.suppressed)
    return Verdict(
        held=worst.suppressed < BOUNDS.few,
        measured=f"at most {percent(worst.suppressed)} ({worst})",
        figure=worst.suppressed,
    )


def _within_budget(measured: Measured) -> Verdict:
    cells = [c for c in measured.cells("ola") if c.epsilon <= SMALL_EPSILON]
    within = [c for c in cells if c.total_suppressed <= BOUNDS.budget]
    return Verdict(
        held=len(within) > len(cells) / 2,
        measured=f"{len(within)} of {len(cells)} cells are within 5 %; the largest total is "
        f"{percent(max(c.total_suppressed for c in cells))}",
        figure=len(within) / len(cells),
    )


def _fewer_with_confidence(measured: Measured) -> Verdict:
    steps = [(cell, a, b) for cell in measured.cells() for a, b in pairwise(cell.suppressed_by_confidence.values())]
    wrong = [cell for cell, a, b in steps if b > a]
    return Verdict(
        held=not wrong,
        measured=f"{len(wrong)} of {len(steps)} steps to a higher confidence suppress more"
        + (f", the first at {wrong[0]}" if wrong else ""),
        figure=len(wrong) / len(steps),
    )


def _the_table(measured: Measured) -> Verdict:
    own = {k: 100 * share for k, share in measured.suppressed_by_ola.items()}
    off = {k: abs(round(own[k], 2) - SUPPRESSED_BY_OLA[measured.name][k]) for k in own}
    worst = max(off, key=lambda k: off[k])
    return Verdict(
        held=off[worst] < AS_PRINTED,
        measured=f"{', '.join(f'{one:.2f}' for one in own.values())} % for k = {', '.join(map(str, own))}"
        + (f"; the furthest off is k = {worst}, by {off[worst]:.2f} points" if off[worst] >= AS_PRINTED else ""),
        figure=off[worst] / 100,
    )


def _why_another_table(measured: Measured) -> Reason:
    found, own, n = measured.of("reasons", "ola"), measured.suppressed_by_ola, measured.about["n_counted"]
    paper = {k: percentage / 100 for k, percentage in SUPPRESSED_BY_OLA[measured.name].items()}
    if not measured.about["is_stand_in"]:
        return Reason(
            why=f"The file has {n:,} records of persons under 80, and not the paper's, so that other nodes pass.",
            experiment=[("records", n, RECORDS)],
        )
    drawn = {k: [own[k], *(one["suppressed_by_k"][str(k)] for one in found["other_seeds"])] for k in own}
    rows = {1.0: own} | {one["share"]: {k: one["suppressed_by_k"][str(k)] for k in own} for one in found["thinned"]}
    off = {share: sum(abs(row[k] - paper[k]) for k in row) / len(row) for share, row in rows.items()}
    best = min(off, key=lambda share: off[share])
    inside = [k for k, shares in drawn.items() if min(shares) <= paper[k] <= max(shares)]
    spread = max(max(shares) - min(shares) for shares in drawn.values())
    thinning = (
        f"comes nearest to the paper's row when thinned to {best:.0%} of its records ({100 * off[best]:.2f} points off on "
        f"average, the whole {100 * off[1.0]:.2f}), so that the paper's voters are spread more thinly"
        if best < 1
        else f"is nearer to the paper's row as a whole ({100 * off[1.0]:.2f} points off on average) than thinned to any share "
        "tried, so that no one density makes that row"
    )
    return Reason(
        why="These are other people: the paper's list names real voters and is not used. Chance explains little: over "
        f"{1 + len(found['other_seeds'])} draws of the stand-in a figure of the row changes by {100 * spread:.2f} points at most; "
        f"the paper's lies within what was drawn at {'k = ' + ', '.join(map(str, inside)) if inside else 'no k'}. Density "
        f"decides which node passes: the same stand-in {thinning}.",
        experiment=[
            *(
                (f"suppressed by OLA, k = {k}, least and most of {len(shares)} draws", [min(shares), max(shares)])
                for k, shares in drawn.items()
            ),
            *((f"mean distance from the paper's row, {share:.0%} of the records", one) for share, one in off.items()),
        ],
    )


def _mondrian_suppresses_more(measured: Measured) -> Verdict:
    ola = {(c.k, c.epsilon): c for c in measured.cells("ola")}
    pairs = [(ola[c.k, c.epsilon], c) for c in measured.cells("mondrian")]
    fewer = [other for one, other in pairs if round(other.suppressed, 4) < round(one.suppressed, 4)]
    n_more = sum(round(other.suppressed, 4) > round(one.suppressed, 4) for one, other in pairs)
    return Verdict(
        held=not fewer and n_more > len(pairs) / 2,
        measured=f"more in {n_more} of {len(pairs)} cells, the same in {len(pairs) - n_more - len(fewer)}, fewer in "
        f"{len(fewer)}, as printed with two decimals",
        figure=n_more / len(pairs),
    )


def _mondrian_takes_larger_epsilon(measured: Measured) -> Verdict:
    largest = {name: _largest_epsilons(measured, name) for name in ALGORITHMS}
    ola, mondrian = largest["ola"], largest["mondrian"]
    parts = {
        f"some ε above {SMALL_EPSILON} stays within 5 % at every k": min(mondrian.values()) > SMALL_EPSILON,
        "at no k a smaller ε than with OLA": all(epsilon >= ola[k] for k, epsilon in mondrian.items()),
    }
    found = "; ".join(f"{k}: {epsilon:g} (OLA {ola[k]:g})" for k, epsilon in mondrian.items())
    return Verdict.of_parts(parts, measured=f"the largest ε within 5 %, for k = {found}", figure=min(mondrian.values()))


def _largest_epsilons(measured: Measured, algorithm: str) -> dict[int, float]:
    """The largest ε within the budget by k, 0 where none is; what OLA itself suppresses counts."""
    return {
        curve[0].k: max((cell.epsilon for cell in curve if cell.total_suppressed <= BOUNDS.budget), default=0)
        for curve in measured.curves(algorithm)
    }


def _why_small_classes_lose(measured: Measured) -> Reason:
    """Suppression by size of class, where Mondrian suppresses most within the paper's ε."""
    worst = max(measured.cells("mondrian"), key=lambda cell: cell.suppressed)
    cells = {c.algorithm: c for c in measured.cells() if (c.k, c.epsilon) == (worst.k, worst.epsilon)}
    below = {name: measured.by_k("reasons", name)[worst.k]["below_2k"] for name in ALGORITHMS}
    gone = {name: cell.by_confidence[SHOWN_CONFIDENCE] for name, cell in cells.items()}
    small = {name: _rate(one["in_small_classes"], below[name]) for name, one in gone.items()}
    large = {name: _rate(one["mean"] - one["in_small_classes"], 1 - below[name]) for name, one in gone.items()}
    where = f"k = {worst.k}, ε = {worst.epsilon:g}"
    return Reason(
        why="A record goes if noise leaves it fewer than k originals in reach, which is likely in a class of little more than k. "
        f"At {where}, of the records in classes below 2k go {percent(small['ola'])} with OLA and {percent(small['mondrian'])} with "
        f"Mondrian; of those in larger classes {percent(large['ola'])} and {percent(large['mondrian'])}. In classes below 2k are "
        f"{percent(below['ola'])} of OLA's records and {percent(below['mondrian'])} of Mondrian's, which cuts until it cannot. The "
        "paper says as much of classes close to k in size; it speaks for larger ε with OLA, not with Mondrian.",
        experiment=[
            finding
            for name in cells
            for finding in (
                (f"suppressed, {ALGORITHM_NAMES[name]}, {where}", gone[name]["mean"]),
                (f"of those in classes below 2k, {ALGORITHM_NAMES[name]}, {where}", small[name]),
                (f"of those in larger classes, {ALGORITHM_NAMES[name]}, {where}", large[name]),
                (f"records in classes below 2k, {ALGORITHM_NAMES[name]}, k = {worst.k}", below[name]),
            )
        ],
    )


def _why_over_budget(measured: Measured) -> Reason:
    return Reason(
        why="OLA uses up most of the 5 % by itself wherever a node just passes, and leaves little for confident k.",
        experiment=[(f"suppressed by OLA, k = {k}", share) for k, share in measured.suppressed_by_ola.items()],
    )


def _why_more_with_confidence(measured: Measured) -> Reason:
    return Reason(
        why="A record with no original within reach stays, by the paper's text. A wider reach takes in a first few originals, "
        "and then it goes: where noise throws many records far out, a higher confidence may suppress more.",
        experiment=[
            (f"suppressed at {confidence:g}, {cell}", share)
            for cell in [cell for cell in measured.cells() if _rises_with_confidence(cell)][:3]
            for confidence, share in cell.suppressed_by_confidence.items()
        ],
    )


def _rises_with_confidence(cell: MeasuredCell) -> bool:
    return any(b > a for a, b in pairwise(cell.suppressed_by_confidence.values()))


def _rate(gone: float, of: float) -> float:
    """The share `gone` of the share `of`; 0 where there are no such records."""
    return gone / of if of else 0.0


CLAIMS: dict[int, tuple[Judge, Explain]] = {
    9: (_few_for_small_epsilon, _why_small_classes_lose),
    10: (_within_budget, _why_over_budget),
    11: (_fewer_with_confidence, _why_more_with_confidence),
    17: (_the_table, _why_another_table),
    18: (_mondrian_suppresses_more, _why_small_classes_lose),
    19: (_mondrian_takes_larger_epsilon, _why_small_classes_lose),
}
