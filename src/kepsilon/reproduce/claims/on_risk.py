# SPDX-License-Identifier: Apache-2.0
"""Claims about who is linked: 4 to 8, and 20."""

from __future__ import annotations

from itertools import pairwise

from kepsilon.reproduce.claims.claim import BOUNDS, CLASSES, RECORDS, Explain, Found, Judge, Reason, Verdict, percent
from kepsilon.reproduce.claims.measured import Measured, MeasuredCell
from kepsilon.reproduce.scope import ALGORITHM_NAMES, ALGORITHMS


def _monotone(measured: Measured) -> Verdict:
    to_next_epsilon = [pair for curve in measured.curves() for pair in pairwise(curve)]
    to_next_k = [pair for column in measured.columns() for pair in pairwise(column)]
    wrong = [b for a, b in to_next_epsilon if b.risk <= a.risk] + [b for a, b in to_next_k if b.risk >= a.risk]
    n_steps = len(to_next_epsilon) + len(to_next_k)
    return Verdict(
        held=not wrong,
        measured=f"{len(wrong)} of {n_steps} steps go the other way" + (f", the first at {wrong[0]}" if wrong else ""),
        figure=len(wrong) / n_steps,
    )


def _why_not_monotone(measured: Measured) -> Reason:
    return Reason(
        why="Risk is links per class over records per class. It rises with ε for any classes; with k it falls where larger k "
        "means fewer classes, which OLA does not promise: it minimises the sum of squared class sizes.",
        experiment=[
            (f"classes with {ALGORITHM_NAMES[name]}, k = {k}", one["n_classes"], CLASSES)
            for name in ALGORITHMS
            for k, one in measured.by_k("releases", name).items()
        ],
    )


def _attainable(measured: Measured) -> Verdict:
    moderate = [c for c in measured.cells() if c.k <= BOUNDS.moderate_k and c.epsilon >= BOUNDS.moderate_epsilon]
    least = [min((c for c in moderate if c.algorithm == name), key=lambda cell: cell.risk) for name in ALGORITHMS]
    worst, never = max(cell.risk for cell in least), _never_low(measured)
    words = [f"{percent(cell.risk)} at {cell}" for cell in least]
    if never:
        words.append(f"at no ε with {'; '.join(f'{ALGORITHM_NAMES[cell.algorithm]}, k = {cell.k}' for cell in never)}")
    parts = {"at moderate k and ε": worst < BOUNDS.low_risk, "at small k too, with ε tuned": not never}
    return Verdict.of_parts(parts, measured="; ".join(words), figure=worst)


def _never_low(measured: Measured) -> list[MeasuredCell]:
    """The first cell of every algorithm and k whose risk is low at no ε."""
    return [curve[0] for curve in measured.curves() if min(cell.risk for cell in curve) >= BOUNDS.low_risk]


def _why_not_attainable(measured: Measured) -> Reason:
    means = {
        (ALGORITHM_NAMES[c.algorithm], c.k): measured.by_k("reasons", c.algorithm)[c.k]["mean_class"]
        for c in _never_low(measured)
    }
    found = [
        f"{name} at k = {k} makes classes of {mean:.1f} records, so that it is {percent(1 / mean)} at least"
        for (name, k), mean in means.items()
    ]
    return Reason(
        why="However much noise there is, one record of a class is linked by chance, so that the risk is never below one over "
        f"the mean class. {'; '.join(found)}. No ε helps there; a larger k does.",
        experiment=[(f"records per class, {name}, k = {k}", mean, RECORDS) for (name, k), mean in means.items()],
    )


def _close_for_large_k(measured: Measured) -> Verdict:
    cells = [c for c in measured.cells() if c.k >= BOUNDS.large_k and c.epsilon >= BOUNDS.large_epsilon]
    worst, ties = max(cells, key=lambda cell: cell.risk), max(cell.risk_paper_ties for cell in cells)
    return Verdict(
        held=worst.risk <= BOUNDS.close_to_low,
        measured=f"the largest is {percent(worst.risk)} ({worst}); with every tie a link, as the paper counts, {percent(ties)}",
        figure=worst.risk,
    )


def _why_not_close(measured: Measured) -> Reason:
    between = measured.of("reasons", "mondrian")["between_large_ks"]
    (epsilon,) = between[0]["risk"]
    risks = {one["k"]: one["risk"][epsilon] for one in between}
    enough = next((k for k, risk in risks.items() if risk < BOUNDS.low_risk), None)
    per_class = [one["risk"][epsilon] * one["mean_class"] for one in between]
    return Reason(
        why=f"At ε = {epsilon} a class yields {min(per_class):.1f} to {max(per_class):.1f} links on average, whatever k (at "
        f"most 1 + ε/2 = {1 + float(epsilon) / 2:g} for any data), so that the risk is settled by how many classes there are. "
        f"Mondrian cuts until classes are close to k: at k = {between[0]['k']} they hold {between[0]['mean_class']:.0f} records on "
        f"average, and the risk is {percent(risks[between[0]['k']])}. "
        + (f"It is below 5 % from k = {enough} on." if enough else "No k up to 100 is enough."),
        experiment=[(f"linking risk, Mondrian, k = {k}, ε = {epsilon}", risk) for k, risk in risks.items()],
    )


def _small_k_exceeds(measured: Measured) -> Verdict:
    cells = [c for c in measured.cells() if c.k <= BOUNDS.small_k]
    least = min(cells, key=lambda cell: cell.risk)
    n_over = sum(cell.risk > BOUNDS.excessive_risk for cell in cells)
    return Verdict(
        held=least.risk > BOUNDS.excessive_risk,
        measured=f"{n_over} of {len(cells)} cells exceed 10 %; the least risk is {percent(least.risk)} ({least})",
        figure=least.risk,
    )


def _why_small_k_is_less(measured: Measured) -> Reason:
    other_loss = {one["k"]: one["risk"] for one in measured.of("reasons", "ola")["precision_as_loss"]}
    found: list[str] = []
    experiment: list[Found] = []
    for curve in measured.curves():
        start, name = curve[0], ALGORITHM_NAMES[curve[0].algorithm]
        if start.k > BOUNDS.small_k or start.risk > BOUNDS.excessive_risk:
            continue
        passes = next((cell.epsilon for cell in curve if cell.risk > BOUNDS.excessive_risk), None)
        classes = measured.by_k("reasons", start.algorithm)[start.k]["mean_class"]
        found.append(
            f"{name} at k = {start.k} makes classes of {classes:.1f} records on average, so that the risk starts at "
            f"{percent(start.risk)}; it {f'passes 10 % at ε = {passes:g}' if passes else 'never passes 10 %'}"
        )
        experiment.append((f"linking risk with every tie a link, {start}", start.risk_paper_ties))
        if start.algorithm == "ola":
            epsilon = f"{start.epsilon:g}"
            experiment.append((f"linking risk with precision as OLA's loss, {start}", other_loss[start.k][epsilon]))
    return Reason(
        why="For small ε the risk is the number of classes over the number of records, so that it exceeds 10 % for every ε "
        f"only where classes hold fewer than ten records on average. {'; '.join(found)}. What counting every tie as a "
        "link, as the paper does, and another loss for OLA make of it is given below. Not every ε is in every figure of the "
        "paper, by its own words.",
        experiment=experiment,
    )


def _exceeds_one_in_k(measured: Measured) -> Verdict:
    worst = max(measured.cells(), key=lambda cell: cell.risk * cell.k)
    n_over = sum(cell.risk > 1 / cell.k for cell in measured.cells())
    return Verdict(
        held=worst.risk > 1 / worst.k,
        measured=f"{n_over} of {len([*measured.cells()])} cells exceed 1/k; the most by a factor of "
        f"{worst.risk * worst.k:.2f} ({worst}: {percent(worst.risk)} against {percent(1 / worst.k)})",
        figure=worst.risk * worst.k,
    )


def _why_not_above(_: Measured) -> Reason:
    return Reason(
        why="Links per class are 1 + ε/2 at most, so that the risk stays below 1/k where classes are that much larger than k."
    )


def _as_strong(measured: Measured) -> Verdict:
    worst = max(measured.cells(), key=lambda cell: cell.risk * cell.k)
    moved = _range_lost(measured, "largest")
    parts = {
        "no more links than 1/k, as k-anonymity promises": worst.risk <= 1 / worst.k,
        "no record sets the noise of others, as differential privacy promises": moved == 0,
    }
    return Verdict.of_parts(
        parts,
        measured=f"{worst.risk * worst.k:.2f} times the risk 1/k of k-anonymity ({worst}); one record holds up to "
        f"{percent(moved)} of the range that sets the noise of its class",
        figure=worst.risk * worst.k,
    )


def _range_lost(measured: Measured, which: str) -> float:
    """The share of a class's range that goes with its largest record, at the k and algorithm where it is most."""
    lost = [one["range_lost_with_extreme"][which] for name in ALGORITHMS for one in measured.of("reasons", name)["ks"]]
    return float(max(lost))


def _why_not_as_strong(measured: Measured) -> Reason:
    median, largest = _range_lost(measured, "median"), _range_lost(measured, "largest")
    return Reason(
        why="Against k-anonymity: a published value with noise tells more than none, so records are linked more often than "
        "one in k (claim 8 is the paper's own word for it). Against differential privacy: the range that sets the noise is "
        f"the class's own, so one record changes it. Without its largest record a class loses up to {percent(largest)} of its "
        f"range ({percent(median)} in the median class, at the k where that is most), and the noise shrinks with it, so that the "
        "ratio of likelihoods with and without that record has no bound. What is promised is less, and still of "
        "use: within its class, for an attacker who knows the class and its range, any two values are ε-indistinguishable.",
        experiment=[
            ("largest share of a class's range that goes with its largest record", largest),
            ("the same in the median class, at the k where it is most", median),
        ],
    )


CLAIMS: dict[int, tuple[Judge, Explain]] = {
    4: (_monotone, _why_not_monotone),
    5: (_attainable, _why_not_attainable),
    6: (_close_for_large_k, _why_not_close),
    7: (_small_k_exceeds, _why_small_k_is_less),
    8: (_exceeds_one_in_k, _why_not_above),
    20: (_as_strong, _why_not_as_strong),
}
