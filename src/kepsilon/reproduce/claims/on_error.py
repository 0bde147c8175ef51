# SPDX-License-Identifier: Apache-2.0
"""Claims about how far published values are off: 1 to 3, and 12."""

from __future__ import annotations

import itertools

import numpy as np

from kepsilon.reproduce.claims.claim import TIMES, Claim, Found, Reason, Verdict, percent
from kepsilon.reproduce.claims.measured import Cell, Measured
from kepsilon.reproduce.setting import ALGORITHM_NAMES, ALGORITHMS

MOST_ERROR, FROM_EPSILON = 0.05, 8
MOST_OFF_SLOPE = 0.02


def _small_error(measured: Measured) -> Verdict:
    worst = max((c for c in measured.cells() if c.epsilon >= FROM_EPSILON), key=lambda cell: cell.error)
    return Verdict(
        held=worst.error < MOST_ERROR,
        measured=f"the largest is {percent(worst.error)} ({worst})",
        figure=worst.error,
    )


def _why_not_small(measured: Measured) -> Reason:
    measure = _measure(measured)
    own = max(one["error"] for one in _reasons(measured))
    other = max(one["error_other_measure"] for one in _reasons(measured))
    instead = "heights" if measure == "weight" else "weights"
    is_attribute = other / FROM_EPSILON < MOST_ERROR
    return Reason(
        why="Noise is in proportion to the range of a class, and the error to that range over the value. Where it is most, "
        f"{measure}s of one class spread over {percent(own)} of their value on average; the {instead} of the same people, drawn "
        f"for them in the same classes, over {percent(other)}. With {instead} the largest error at ε = {FROM_EPSILON} would be "
        f"{percent(other / FROM_EPSILON)}: "
        + (
            "it is the attribute, not the partition."
            if is_attribute
            else "above the bound too, so it is the partition."
        ),
        experiment=[
            (f"largest error at ε = {FROM_EPSILON}, {measure}", own / FROM_EPSILON),
            (f"largest error at ε = {FROM_EPSILON}, {instead} of the same people", other / FROM_EPSILON),
        ],
    )


def _inverse(measured: Measured) -> Verdict:
    slopes = [_slope(curve) for curve in measured.curves()]
    worst = max(slopes, key=lambda slope: abs(slope + 1))
    return Verdict(
        held=abs(worst + 1) <= MOST_OFF_SLOPE,
        measured=f"slopes of log error against log ε, from the means of the runs, lie between {min(slopes):.4f} and "
        f"{max(slopes):.4f} over {len(slopes)} curves",
        figure=worst,
    )


def _slope(curve: list[Cell]) -> float:
    log_epsilon = np.log([cell.epsilon for cell in curve])
    log_error = np.log([cell.figures["error"]["mean"] for cell in curve])
    return float(np.polyfit(log_epsilon, log_error, 1)[0])


def _why_not_inverse(measured: Measured) -> Reason:
    products = [[cell.error * cell.epsilon for cell in curve] for curve in measured.curves()]
    largest = max(max(one) / min(one) - 1 for one in products)
    return Reason(
        why="The noise is in proportion to 1/ε exactly: error times ε is the same for every ε in the closed form. What is "
        "published is rounded, which is no part of that and weighs most where noise is least.",
        experiment=[("largest relative change of error · ε in the closed form", largest)],
    )


def _grows(measured: Measured) -> Verdict:
    falls = _falls(measured)
    growth = {algorithm: _growth(measured, algorithm) for algorithm in ALGORITHMS}
    found = [f"it falls from {one} to {other} with {ALGORITHM_NAMES[name]}" for name, one, other in falls]
    found += [
        f"{ALGORITHM_NAMES[name]} grows by a factor of {factor:.2f} from end to end" for name, factor in growth.items()
    ]
    parts = [
        (f"more with larger k, {ALGORITHM_NAMES[name]}", all(one[0] != name for one in falls)) for name in ALGORITHMS
    ]
    parts.append(("most with Mondrian", growth["mondrian"] > growth["ola"]))
    return Verdict(
        held=all(held for _, held in parts),
        measured="; ".join(found),
        figure=growth["mondrian"] / growth["ola"],
        parts=parts,
    )


def _falls(measured: Measured) -> list[tuple[str, str, str]]:
    """Where a larger k has less error; the same at every ε, because error is in proportion to 1/ε."""
    found = []
    for algorithm in ALGORITHMS:
        errors = {k: one["error"] for k, one in measured.by_k("reasons", algorithm).items()}
        ks = [*errors]
        found += [(algorithm, f"k = {a}", f"k = {b}") for a, b in itertools.pairwise(ks) if errors[b] < errors[a]]
    return found


def _growth(measured: Measured, algorithm: str, key: str = "error") -> float:
    errors = [one[key] for one in measured.by_k("reasons", algorithm).values()]
    return float(errors[-1] / errors[0])


def _why_it_falls(measured: Measured, algorithm: str) -> Reason:
    by_k = measured.by_k("reasons", algorithm)
    mixed = [k for k, one in by_k.items() if one["mixed"] > 0.5]
    split = {k: one["error_by_sex"] for k, one in by_k.items()}
    grows = all(b >= a * (1 - 1e-3) for a, b in itertools.pairwise(split.values()))
    trend = ", and grow or stay the same to a thousandth" if grows else ""
    by_sex = f"With the same classes divided by sex the error at ε = 1 would be {', '.join(map(percent, split.values()))}{trend}."
    why = (
        f"{ALGORITHM_NAMES[algorithm]} publishes no gender at {_ks(mixed)}, so that classes hold men and women, whose "
        f"{_measure(measured)}s differ, and their ranges are wide. {by_sex}"
        + (
            " (The paper puts its own jumps down to how many records OLA suppressed; here gender is enough.)"
            if grows
            else ""
        )
        if mixed
        else f"{ALGORITHM_NAMES[algorithm]}'s classes at a larger k are not those at a smaller one put together, so that ranges "
        f"may be narrower. {by_sex}"
    )
    return Reason(
        why=why, experiment=[(f"error at ε = 1, k = {k}, classes divided by sex", error) for k, error in split.items()]
    )


def _why_not_growing(measured: Measured) -> Reason:
    reasons = [_why_it_falls(measured, name) for name in dict.fromkeys(name for name, _, _ in _falls(measured))]
    sentences: list[str] = [reason.why for reason in reasons]
    experiment: list[Found] = [found for reason in reasons for found in reason.experiment]
    if _growth(measured, "mondrian") <= _growth(measured, "ola"):
        sizes = {name: [one["mean_class"] for one in measured.by_k("reasons", name).values()] for name in ALGORITHMS}
        shuffled = {name: _growth(measured, name, "error_shuffled") for name in ALGORITHMS}
        sentences.append(
            "The larger a class, the wider its range; nothing else is at work: with values shuffled among the people of one "
            f"sex the error grows by {shuffled['ola']:.2f} with OLA and {shuffled['mondrian']:.2f} with Mondrian, as it does "
            f"with the true ones. From the smallest k to the largest, OLA's mean class grows from {sizes['ola'][0]:.0f} to "
            f"{sizes['ola'][-1]:.0f} records, Mondrian's from {sizes['mondrian'][0]:.0f} to {sizes['mondrian'][-1]:.0f}."
        )
        experiment += [
            (f"growth of the error, values shuffled, {ALGORITHM_NAMES[n]}", shuffled[n], TIMES) for n in ALGORITHMS
        ]
        experiment += [
            (f"growth of the mean class, {ALGORITHM_NAMES[n]}", sizes[n][-1] / sizes[n][0], TIMES) for n in ALGORITHMS
        ]
    return Reason(why=" ".join(sentences), experiment=experiment)


def _ks(ks: list[int]) -> str:
    return "k = " + (
        " and ".join([", ".join(map(str, ks[:-1])), str(ks[-1])]) if len(ks) > 1 else ", ".join(map(str, ks))
    )


def _whole_is_worse(measured: Measured) -> Verdict:
    ratios = {}
    for algorithm in ALGORITHMS:
        for one in measured.of("releases", algorithm)["ks"]:
            cell = one["cells"][0]
            ratios[algorithm, one["k"]] = one["whole_error"] / (cell["error"]["expected"] * cell["epsilon"])
    (algorithm, k), least = min(ratios.items(), key=lambda item: item[1])
    excess = max(one["largest_excess_runs"] for name in ALGORITHMS for one in measured.of("distributions", name)["ks"])
    parts = [
        ("more error on average", least > 1),
        ("at no size of error more records within it, in the runs", excess < 0),
    ]
    return Verdict(
        held=all(held for _, held in parts),
        measured=f"at least {least:.2f} times the error ({ALGORITHM_NAMES[algorithm]}, k = {k}), at most "
        f"{max(ratios.values()):.2f} times; the share of records within any error is lower by {-100 * excess:.2f} points or more",
        figure=least,
        parts=parts,
    )


def _why_not_worse(_: Measured) -> Reason:
    return Reason(
        why="A class's range cannot exceed that of the data set, so the errors are equal at best: every class that matters "
        "spans the whole range."
    )


def _measure(measured: Measured) -> str:
    return str(measured.of("dimensions", "ola")["extra"])


def _reasons(measured: Measured) -> list[dict[str, float]]:
    return [one for algorithm in ALGORITHMS for one in measured.of("reasons", algorithm)["ks"]]


CLAIMS = [
    Claim(
        number=1,
        section="VII-A",
        sentence="At ε of 8 and more the average relative error is below 5 % everywhere.",
        bound=f"error < {percent(MOST_ERROR)} for every ε ≥ {FROM_EPSILON}, k and algorithm",
        judge=_small_error,
        explain=_why_not_small,
    ),
    Claim(
        number=2,
        section="VII-A",
        sentence="The error is in inverse proportion to ε, whatever k.",
        bound=f"slope of log error against log ε within {MOST_OFF_SLOPE} of −1 on every curve of the runs' means",
        judge=_inverse,
        explain=_why_not_inverse,
    ),
    Claim(
        number=3,
        section="VII-A",
        sentence="The error grows with k, and most with Mondrian.",
        bound="more error at every next k, both algorithms; a larger factor from end to end with Mondrian than with OLA",
        judge=_grows,
        explain=_why_not_growing,
    ),
    Claim(
        number=12,
        section="III-B",
        sentence="Noise for the range of the whole data set costs consistently more than noise for the range of each class.",
        bound="more expected error, and fewer records within any size of error over the runs, at every k, both algorithms",
        judge=_whole_is_worse,
        explain=_why_not_worse,
    ),
]
