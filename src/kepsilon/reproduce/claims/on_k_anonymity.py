# SPDX-License-Identifier: Apache-2.0
"""Claims about the alternatives: uniform noise (13), one k-quasi more (14, 15), and how long that takes (16)."""

from __future__ import annotations

from kepsilon.reproduce.claims.claim import LOSS, TIMES, Claim, Reason, Verdict, percent
from kepsilon.reproduce.claims.measured import Measured
from kepsilon.reproduce.setting import ALGORITHM_NAMES, ALGORITHMS, SHOWN_K, Json

DOUBLED = (1.6, 2.4)
"""About double."""
EXCESSIVE_LOSS = 0.8
GAIN = (0.04, 0.1)
LEAST_SPEEDUP = 14


def _finite_support(measured: Measured) -> Verdict:
    found = {name: measured.of("uniform", name) for name in ALGORITHMS}
    uniform = min(one["uniform_noise"]["ruled_out"] for one in found.values())
    classes = max(one["class_noise"]["ruled_out"] for one in found.values())
    return Verdict(
        held=uniform > 0 and classes == 0,
        measured="a published value rules out for certain "
        + _by_algorithm({name: percent(one["uniform_noise"]["ruled_out"]) for name, one in found.items()})
        + f" of the other originals of its class, and noise per class of the same mean error {percent(classes)}; "
        + _by_algorithm({name: percent(one["disjoint_pairs"]) for name, one in found.items()})
        + " of all pairs can never be confused",
        figure=uniform,
    )


def _by_algorithm(words: dict[str, str]) -> str:
    return ", ".join(f"{word} ({ALGORITHM_NAMES[name]})" for name, word in words.items())


def _why_support_hides(measured: Measured) -> Reason:
    pairs = {ALGORITHM_NAMES[name]: measured.of("uniform", name)["disjoint_pairs"] for name in ALGORITHMS}
    return Reason(
        why="The values of a class are so close together that ±5 % of any of them covers all others.",
        experiment=[(f"pairs that can never be confused, {name}", share) for name, share in pairs.items()],
    )


def _one_quasi_more(measured: Measured) -> Verdict:
    by_k = measured.by_k("dimensions", "ola")
    shown, larger = by_k[SHOWN_K], {k: one for k, one in by_k.items() if k > SHOWN_K}
    least_extra = min(one["extra_loss"] for one in larger.values())
    return Verdict(
        held=_about_doubles(shown) and least_extra > EXCESSIVE_LOSS,
        measured=f"at k = {SHOWN_K} the loss of the original quasis goes from {shown['loss_without']:.2f} to "
        f"{shown['loss_with']:.2f}; above it {measured.of('dimensions', 'ola')['extra']} loses "
        + ", ".join(f"{one['extra_loss']:.2f} (k = {k})" for k, one in larger.items()),
        figure=shown["loss_with"] / shown["loss_without"] if shown["loss_without"] else None,
    )


def _about_doubles(one: Json) -> bool:
    return bool(DOUBLED[0] * one["loss_without"] <= one["loss_with"] <= DOUBLED[1] * one["loss_without"])


def _why_other_losses(measured: Measured) -> Reason:
    found = measured.of("dimensions", "ola")
    extra = found["extra"]
    (coarser,) = measured.of("reasons", "ola")["coarser_extra"]
    whole = {one["k"]: one for one in coarser["ks"]}
    shown = measured.by_k("dimensions", "ola")[SHOWN_K]
    as_paper = {"loss_without": shown["loss_without"], "loss_with": whole[SHOWN_K]["loss_with"]}
    unit = "centimetres" if extra == "height" else "kilograms"
    held_on = [one["k"] for one in found["ks"] if one["extra_loss"] < 0.5]
    given_up = [one["k"] for one in found["ks"] if one["extra_loss"] > EXCESSIVE_LOSS]
    return Reason(
        why=f"DM* counts squared class sizes, and hundreds of distinct values of {extra} cut classes up better than the other "
        f"quasis do. So OLA {_either(extra, held_on, given_up)}; which of the two is left to the data. The paper shows "
        f"neither its hierarchy nor its decimals. With {extra}s in whole {unit} instead of tenths the loss at k = {SHOWN_K} "
        f"goes from {shown['loss_without']:.2f} to {whole[SHOWN_K]['loss_with']:.2f}"
        + (", which is about double" if _about_doubles(as_paper) else "")
        + "; what the extra attribute itself loses depends on what OLA minimises (given for precision and entropy).",
        experiment=[
            *(
                (f"loss of the original quasis, {extra}s in whole {unit}, k = {k}", one["loss_with"], LOSS)
                for k, one in whole.items()
            ),
            *((f"loss of {extra} in whole {unit}, k = {k}", one["extra_loss"], LOSS) for k, one in whole.items()),
            *(
                (f"loss of {extra} with {loss} as OLA's loss, k = {one['k']}", one["extra_loss"], LOSS)
                for loss, several in found["by_loss"].items()
                for one in several
                if one["k"] >= SHOWN_K
            ),
        ],
    )


def _either(extra: str, held_on: list[int], given_up: list[int]) -> str:
    ways = []
    if held_on:
        ways.append(f"keeps most of {extra} at k = {', '.join(map(str, held_on))} and pays with the others")
    if given_up:
        ways.append(
            f"gives {extra} up altogether at k = {', '.join(map(str, given_up))} and leaves the others as they were"
        )
    return ", or ".join(ways)


def _mondrian_gains(measured: Measured) -> Verdict:
    gains = {k: one["relative_gain"] or 0.0 for k, one in measured.by_k("dimensions", "mondrian").items()}
    return Verdict(
        held=all(GAIN[0] <= gain <= GAIN[1] for gain in gains.values()),
        measured="gains of " + ", ".join(f"{percent(gain)} (k = {k})" for k, gain in gains.items()),
        figure=min(gains.values()),
    )


def _why_other_gains(measured: Measured) -> Reason:
    extra = measured.of("dimensions", "mondrian")["extra"]
    coarser = measured.of("reasons", "mondrian")["coarser_extra"]
    unit = "cm" if extra == "height" else "kg"
    ranges = {one["step"]: [k["relative_gain"] for k in one["ks"] if k["relative_gain"] is not None] for one in coarser}
    steps = "; ".join(f"{percent(min(g))} to {percent(max(g))} in steps of {s} {unit}" for s, g in ranges.items())
    return Reason(
        why=f"Every cut that Mondrian spends on {extra} is missing elsewhere, so that the gain depends on how often it is cut. "
        f"With one decimal it can always be cut; the coarser it is, the less there is to gain: {steps}. The paper's 4 to 10 % "
        "are those of a Mondrian that cuts it seldom; it does not say by which rule. That (k,ε) loses less is borne out at "
        "every k, by more than the paper says.",
        experiment=[
            (f"gain, {extra} in steps of {one['step']} {unit}, k = {k['k']}", k["relative_gain"])
            for one in coarser
            for k in one["ks"]
        ],
    )


def _faster(measured: Measured) -> Verdict:
    ratios = {name: [one["ratio"] for one in measured.of("times", name)["ks"]] for name in ALGORITHMS}
    lattice = measured.of("times", "ola")
    return Verdict(
        held=min(ratios["ola"]) >= LEAST_SPEEDUP and max(ratios["mondrian"]) < 1,
        measured=f"OLA: {min(ratios['ola']):.1f} to {max(ratios['ola']):.1f} times as long with the extra quasi (lattices of "
        f"{lattice['lattice_with']} and {lattice['lattice_without']} nodes); Mondrian: {min(ratios['mondrian']):.1f} to "
        f"{max(ratios['mondrian']):.1f} times",
        figure=min(ratios["ola"]),
    )


def _why_other_ratios(measured: Measured) -> Reason:
    ola, mondrian = (measured.of("times", name) for name in ("ola", "mondrian"))
    search = [one["search_ratio"] for one in ola["ks"]]
    regrouping = ola["regrouping"]
    swept = [one["ratio"] for one in regrouping["ks"]]
    by_record = [one["ratio"] for one in mondrian["by_record"]]
    return Reason(
        why=f"Here records are counted once, and the search never looks at them again: it alone takes {min(search):.1f} to "
        f"{max(search):.1f} times as long with the extra quasi, and counting is part of both times. The obvious way, which "
        f"groups all records anew at every node, takes {regrouping['sweep_ratio']:.1f} times as long for the whole lattice: "
        f"eight times the nodes, each {regrouping['node_seconds_with'] / regrouping['node_seconds_without']:.1f} times as slow. "
        f"For the nodes that OLA cannot tag without counting it would be {min(swept):.1f} to {max(swept):.1f} times. The "
        "paper's 14 to 32 are not reached that way either; it does not say what a node costs in its implementation. "
        f"Mondrian's half is the other way round: with the extra attribute there are {mondrian['combinations_with']:,} distinct "
        f"combinations to cut instead of {mondrian['combinations_without']:,}, which costs more than drawing noise. Cutting "
        f"records instead of combinations, the ratio is {min(by_record):.1f} to {max(by_record):.1f}, so that noise decides.",
        experiment=[
            *((f"search alone, OLA, k = {one['k']}", one["search_ratio"], TIMES) for one in ola["ks"]),
            ("grouping all records at every node of the lattice", regrouping["sweep_ratio"], TIMES),
            *(
                (f"the same for the nodes OLA looks at, k = {one['k']}", one["ratio"], TIMES)
                for one in regrouping["ks"]
            ),
            *((f"Mondrian cutting records, k = {one['k']}", one["ratio"], TIMES) for one in mondrian["by_record"]),
        ],
    )


CLAIMS = [
    Claim(
        number=13,
        section="III-C",
        sentence="Uniform noise of ±5 % has finite support, and does not make values indistinguishable.",
        bound=f"at k = {SHOWN_K} some originals are ruled out for certain, and none by noise per class of the same mean error",
        judge=_finite_support,
        explain=_why_support_hides,
    ),
    Claim(
        number=14,
        section="III-A",
        sentence="With the extra quasi OLA's loss on the original ones about doubles at k = 20 (Adult: from 0.4 to 0.8), and "
        "above k = 20 the extra attribute itself loses more than 0.8.",
        bound=f"{DOUBLED[0]} to {DOUBLED[1]} times the loss at k = {SHOWN_K}; extra loss > {EXCESSIVE_LOSS} at every k > {SHOWN_K}",
        judge=_one_quasi_more,
        explain=_why_other_losses,
    ),
    Claim(
        number=15,
        section="III-A",
        sentence="Without the extra quasi Mondrian loses 4 to 10 % less on the original ones.",
        bound="a relative gain of 4 to 10 % at every k",
        judge=_mondrian_gains,
        explain=_why_other_gains,
    ),
    Claim(
        number=16,
        section="VII-D",
        sentence="(k,ε)-anonymity is 14 to 32 times faster than k-anonymity with the extra quasi with OLA, and slower with "
        "Mondrian.",
        bound=f"OLA: at least {LEAST_SPEEDUP} times as long with the extra quasi at every k; Mondrian: less time at every k",
        judge=_faster,
        explain=_why_other_ratios,
    ),
]
