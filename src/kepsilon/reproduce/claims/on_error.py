# SPDX-License-Identifier: Apache-2.0
"""Claims about how far published values are off: 1 to 3, and 12."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kepsilon.pages.wording import listed
from kepsilon.reproduce.claims.claim import BOUNDS, TIMES, Explain, Found, Judge, Reason, Verdict, percent
from kepsilon.reproduce.claims.measured import Measured, MeasuredCell
from kepsilon.reproduce.scope import ALGORITHM_NAMES, ALGORITHMS


def _small_error(measured: Measured) -> Verdict:
    worst = max((c for c in measured.cells() if c.epsilon >= BOUNDS.from_epsilon), key=lambda cell: cell.error)
    return Verdict(
        held=worst.error < BOUNDS.most_error,
        measured=f"the largest is {percent(worst.error)} ({worst})",
        figure=worst.error,
    )


def _why_not_small(measured: Measured) -> Reason:
    measure, epsilon = _measure(measured), BOUNDS.from_epsilon
    reasons = [one for algorithm in ALGORITHMS for one in measured.of("reasons", algorithm)["ks"]]
    own, other = (max(one[key] for one in reasons) for key in ("error", "error_other_measure"))
    instead = "heights" if measure == "weight" else "weights"
    is_attribute = other / epsilon < BOUNDS.most_error
    return Reason(
        why="Noise is in proportion to the range of a class, and the error to that range over the value. Where it is most, "
        f"{measure}s of one class spread over {percent(own)} of their value on average; the {instead} of the same people, drawn "
        f"for them in the same classes, over {percent(other)}. With {instead} the largest error at ε = {epsilon} would be "
        f"{percent(other / epsilon)}: "
        + (
            "it is the attribute, not the partition."
            if is_attribute
            else "above the bound too, so it is the partition."
        ),
        experiment=[
            (f"largest error at ε = {epsilon}, {measure}", own / epsilon),
            (f"largest error at ε = {epsilon}, {instead} of the same people", other / epsilon),
        ],
    )


def _inverse(measured: Measured) -> Verdict:
    slopes = [_slope(curve) for curve in measured.curves()]
    worst = max(slopes, key=lambda slope: abs(slope + 1))
    return Verdict(
        held=abs(worst + 1) <= BOUNDS.most_off_slope,
        measured=f"slopes of log error against log ε, from the means of the runs, lie between {min(slopes):.4f} and "
        f"{max(slopes):.4f} over {len(slopes)} curves",
        figure=worst,
    )


def _slope(curve: list[MeasuredCell]) -> float:
    log_epsilon = np.log([cell.epsilon for cell in curve])
    log_error = np.log([cell.error_of_runs for cell in curve])
    return float(np.polyfit(log_epsilon, log_error, 1)[0])


def _why_not_inverse(measured: Measured) -> Reason:
    products = [[cell.error * cell.epsilon for cell in curve] for curve in measured.curves()]
    return Reason(
        why="The noise is in proportion to 1/ε exactly: error times ε is the same for every ε in the closed form. What is "
        "published is rounded, which is no part of that and weighs most where noise is least.",
        experiment=[
            ("largest relative change of error · ε in the closed form", max(max(p) / min(p) - 1 for p in products))
        ],
    )


def _grows(measured: Measured) -> Verdict:
    falls = {name: _falls(measured, name) for name in ALGORITHMS}
    growth = {name: _growth(measured, name) for name in ALGORITHMS}
    found = [f"it falls from k = {a} to k = {b} with {ALGORITHM_NAMES[name]}" for name in falls for a, b in falls[name]]
    found += [f"{ALGORITHM_NAMES[name]} grows by a factor of {growth[name]:.2f} from end to end" for name in growth]
    parts = {f"more with larger k, {ALGORITHM_NAMES[name]}": not falls[name] for name in ALGORITHMS}
    parts["most with Mondrian"] = growth["mondrian"] > growth["ola"]
    return Verdict.of_parts(parts, measured="; ".join(found), figure=growth["mondrian"] / growth["ola"])


def _falls(measured: Measured, algorithm: str) -> list[tuple[int, int]]:
    """Pairs of neighbouring k of which the larger has less error; at every ε, because error is in proportion to 1/ε."""
    errors = {k: one["error"] for k, one in measured.by_k("reasons", algorithm).items()}
    return [(a, b) for a, b in pairwise(errors) if errors[b] < errors[a]]


def _growth(measured: Measured, algorithm: str, key: str = "error") -> float:
    """The error at the largest k over that at the smallest."""
    errors = [one[key] for one in measured.by_k("reasons", algorithm).values()]
    return float(errors[-1] / errors[0])


def _why_it_falls(measured: Measured, algorithm: str) -> Reason:
    by_k, name = measured.by_k("reasons", algorithm), ALGORITHM_NAMES[algorithm]
    mixed = [str(k) for k, one in by_k.items() if one["mixed"] > 0.5]
    split = {k: one["error_by_sex"] for k, one in by_k.items()}
    grows = all(b >= a * (1 - 1e-3) for a, b in pairwise(split.values()))
    trend = ", and grow or stay the same to a thousandth" if grows else ""
    by_sex = f"With the same classes divided by sex the error at ε = 1 would be {', '.join(map(percent, split.values()))}{trend}."
    if not mixed:
        why = (
            f"{name}'s classes at a larger k are not those at a smaller one put together, so that ranges may be narrower. "
            f"{by_sex}"
        )
    else:
        why = (
            f"{name} publishes no gender at k = {listed(mixed)}, so that classes hold men and women, whose "
            f"{_measure(measured)}s differ, and their ranges are wide. {by_sex}"
        )
        if grows:
            why += " (The paper puts its own jumps down to how many records OLA suppressed; here gender is enough.)"
    experiment: list[Found] = [(f"error at ε = 1, k = {k}, classes divided by sex", split[k]) for k in split]
    return Reason(why=why, experiment=experiment)


def _why_not_growing(measured: Measured) -> Reason:
    reasons = [_why_it_falls(measured, name) for name in ALGORITHMS if _falls(measured, name)]
    sentences = [reason.why for reason in reasons]
    experiment = [found for reason in reasons for found in reason.experiment]
    if _growth(measured, "mondrian") <= _growth(measured, "ola"):
        sizes = {name: [one["mean_class"] for one in measured.by_k("reasons", name).values()] for name in ALGORITHMS}
        shuffled = {name: _growth(measured, name, "error_shuffled") for name in ALGORITHMS}
        sentences.append(
            "The larger a class, the wider its range; nothing else is at work: with values shuffled among the people of one "
            f"sex the error grows by {shuffled['ola']:.2f} with OLA and {shuffled['mondrian']:.2f} with Mondrian, as it does "
            f"with the true ones. From the smallest k to the largest, OLA's mean class grows from {sizes['ola'][0]:.0f} to "
            f"{sizes['ola'][-1]:.0f} records, Mondrian's from {sizes['mondrian'][0]:.0f} to {sizes['mondrian'][-1]:.0f}."
        )
        growth = {name: _growth(measured, name, "mean_class") for name in ALGORITHMS}
        for what, by_name in (("error, values shuffled", shuffled), ("mean class", growth)):
            experiment += [(f"growth of the {what}, {ALGORITHM_NAMES[n]}", by_name[n], TIMES) for n in ALGORITHMS]
    return Reason(why=" ".join(sentences), experiment=experiment)


def _whole_is_worse(measured: Measured) -> Verdict:
    ratios = {}
    for algorithm in ALGORITHMS:
        for k, one in measured.by_k("releases", algorithm).items():
            cell = one["cells"][0]
            ratios[algorithm, k] = one["whole_error"] / (cell["error"]["expected"] * cell["epsilon"])
    (algorithm, k), least = min(ratios.items(), key=lambda item: item[1])
    excess = max(one["largest_excess_runs"] for name in ALGORITHMS for one in measured.of("distributions", name)["ks"])
    parts = {"more error on average": least > 1, "at no size of error more records within it, in the runs": excess < 0}
    return Verdict.of_parts(
        parts,
        measured=f"at least {least:.2f} times the error ({ALGORITHM_NAMES[algorithm]}, k = {k}), at most "
        f"{max(ratios.values()):.2f} times; the share of records within any error is lower by {-100 * excess:.2f} points or more",
        figure=least,
    )


def _why_not_worse(_: Measured) -> Reason:
    return Reason(
        why="A class's range cannot exceed that of the data set, so the errors are equal at best: every class that matters "
        "spans the whole range."
    )


def _measure(measured: Measured) -> str:
    """The ε-quasi: height or weight."""
    return str(measured.of("dimensions", "ola")["extra"])


CLAIMS: dict[int, tuple[Judge, Explain]] = {
    1: (_small_error, _why_not_small),
    2: (_inverse, _why_not_inverse),
    3: (_grows, _why_not_growing),
    12: (_whole_is_worse, _why_not_worse),
}
