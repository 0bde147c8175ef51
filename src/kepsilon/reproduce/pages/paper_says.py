# SPDX-License-Identifier: Apache-2.0
"""What the paper says about each of its figures and tables, sentence by sentence, in our words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kepsilon.json_values import Json
from kepsilon.pages.wording import listed, percent
from kepsilon.reproduce.pages.panels import Said, shown_title, title_of
from kepsilon.reproduce.setting import ALGORITHM_NAMES

SUPPRESSED_BY_OLA = {
    "adult": {2: 0.0167, 5: 0.0242, 10: 0.0371, 20: 0.0147, 50: 0.0176, 100: 0.0480},
    "florida": {2: 0.0477, 5: 0.0391, 10: 0.0415, 20: 0.0418, 50: 0.0347, 100: 0.0348},
    "michigan": {2: 0.0483, 5: 0.0188, 10: 0.0373, 20: 0.0396, 50: 0.0153, 100: 0.0134},
}
"""Paper Table IV."""
NOT_MEASURED = "Not measured in this run."
RECORDS = {"adult": 32_440, "florida": 134_791, "michigan": 72_825}
"""Paper Table III."""


def dimensions(measured: Sequence[Json]) -> list[Said]:
    cut = [ours for ours in measured if ours["algorithm"] == "mondrian"]
    return [
        Said(
            words="With OLA, making height a k-quasi too costs the other quasis much of their detail: on Adult at k = 20 "
            "their loss doubles from 0.4 to 0.8. For larger k their loss stays, and height itself loses more than 0.8.",
            claims=[14],
        ),
        Said(
            words="With Mondrian, keeping height or weight out lowers the loss of the other quasis by 4 to 10 % of "
            "itself, at the same error of height or weight, or less.",
            claims=[15],
            seen=_same_error(cut),
        ),
    ]


def distributions(measured: Sequence[Json]) -> list[Said]:
    return [
        Said(
            words="Noise for the whole data set gives consistently larger errors than noise for each class.",
            claims=[12],
        ),
        Said(
            words="Noise by class can have the mean error of uniform noise of ± 5 %.",
            seen=_by_algorithm(measured, lambda ours: f"ε = {ours['epsilon_as_uniform']:.3g}"),
        ),
    ]


def uniform_noise() -> list[Said]:
    return [
        Said(
            words="Uniform noise has an end: some published values lead straight back to their originals, so values are not "
            "indistinguishable.",
            claims=[13],
        ),
    ]


def suppression_by_ola() -> list[Said]:
    return [Said(words="With at most 5 % allowed, OLA leaves out these shares of the three data sets.", claims=[17])]


def error_by_k(measured: Sequence[Json]) -> list[Said]:
    return [
        Said(words="The error falls as k falls, most of all with Mondrian.", claims=[3]),
        Said(words="With ε of 8 and 16 the error is below 5 % throughout.", claims=[1]),
        Said(
            words="Adult with OLA: the error drops at k = 100, which the paper puts down to OLA leaving out more there.",
            seen=_drop(measured, "adult", 50, 100),
        ),
        Said(
            words="Florida with OLA: a peak at k = 5, which the paper puts down to OLA leaving out less there.",
            seen=_peak(measured, "florida", (2, 5, 10)),
        ),
    ]


def error_by_epsilon() -> list[Said]:
    return [
        Said(words="The error goes as 1/ε, whatever k.", claims=[2]),
        Said(words="It is below 5 % for every ε of 8 or more.", claims=[1]),
    ]


def risk_by_epsilon() -> list[Said]:
    return [
        Said(words="Risk rises with ε and falls with k, on every data set and with both algorithms.", claims=[4]),
        Said(words="Below 5 % is attainable in every set-up; for small k, ε may have to be tuned.", claims=[5]),
        Said(words="Large k stays below or close to 5 %, even at large ε.", claims=[6]),
        Said(words="Risk can exceed 1/k, because the attacker also uses the attribute with noise.", claims=[8]),
        Said(words="Florida and Michigan at k = 2 and 5 are above 10 %, off the paper's plot.", claims=[7]),
        Said(words="The guarantees are at least as strong as those of either model alone.", claims=[20]),
    ]


def confident_k() -> list[Said]:
    return [
        Said(words="Greater confidence asks for fewer suppressions.", claims=[11]),
        Said(words="For small ε fewer than 2 % go at 99 %, on every data set, whatever k.", claims=[9]),
        Said(words="For small ε, that and what OLA left out stay within 5 % together in most cases.", claims=[10]),
        Said(words="With Mondrian, larger ε too can be used within 5 %.", claims=[19]),
        Said(words="Mondrian's smaller classes cost more suppressions than OLA's.", claims=[18]),
    ]


def times_of_mondrian() -> list[Said]:
    return [
        Said(
            words="With Mondrian, (k,ε)-anonymity takes longer in every experiment, because noise is one more pass.",
            claims=[16],
            only=ALGORITHM_NAMES["mondrian"],
        ),
    ]


def times_of_ola(measured: Sequence[Json]) -> list[Said]:
    known = [ours for ours in measured if ours.get("lattice_with") and ours.get("lattice_without")]
    return [
        Said(
            words="With OLA, (k,ε)-anonymity is 14 to 32 times faster, and Adult behaves alike.",
            claims=[16],
            only="OLA",
        ),
        Said(words="The lattice is 8 times smaller without the extra quasi.", seen=_by_algorithm(known, _lattices)),
    ]


def _by_algorithm(measured: Sequence[Json], words: Callable[[Json], str]) -> str:
    """OLA: so much on Adult, so much on Florida."""
    lines: dict[str, list[str]] = {}
    for ours in measured:
        of = title_of(ours["data_set"], ours.get("title"), is_stand_in=ours.get("is_stand_in"))
        lines.setdefault(ALGORITHM_NAMES[ours["algorithm"]], []).append(f"{words(ours)} on {of}")
    return "; ".join(f"{name}: {', '.join(found)}" for name, found in lines.items()) + "." if lines else NOT_MEASURED


def _lattices(ours: Json) -> str:
    return f"{ours['lattice_with']:,} nodes against {ours['lattice_without']:,}"


def _same_error(measured: Sequence[Json]) -> str:
    """The other half of the sentence: from which ε on noise errs no more than Mondrian's cutting does."""
    found = []
    for ours in measured:
        by_k = {one["k"]: one["epsilon_same_error"] for one in ours["ks"] if one.get("epsilon_same_error")}
        if by_k:
            least, most = min(by_k, key=lambda k: by_k[k]), max(by_k, key=lambda k: by_k[k])
            of = title_of(ours["data_set"], ours.get("title"), is_stand_in=ours.get("is_stand_in"))
            found.append(f"{of}: ε = {by_k[least]:.3g} (k = {least}) to {by_k[most]:.3g} (k = {most})")
    if not found:
        return NOT_MEASURED
    return (
        "The same error of height or weight, or less: noise errs no more than cutting does only from an ε on that depends on "
        f"k. {'; '.join(found)}. At every smaller ε noise errs more."
    )


def _at_one(measured: Sequence[Json], data_set: str) -> tuple[Json, dict[int, float], dict[int, float]] | None:
    """OLA's errors at ε = 1 and what it left out, by k."""
    ours = next((one for one in measured if (one["data_set"], one["algorithm"]) == (data_set, "ola")), None)
    if ours is None:
        return None
    errors = {
        one["k"]: cell["error"]["expected"] for one in ours["ks"] for cell in one["cells"] if cell["epsilon"] == 1
    }
    return ours, errors, {one["k"]: one["suppressed_by_k"] for one in ours["ks"]}


def _drop(measured: Sequence[Json], data_set: str, before: int, at: int) -> str:
    found = _at_one(measured, data_set)
    if found is None or not {before, at} <= found[1].keys():
        return NOT_MEASURED
    ours, errors, gone = found
    figures = (
        f"error at ε = 1: {percent(errors[before])} at k = {before} ({percent(gone[before])} left out), "
        f"{percent(errors[at])} at k = {at} ({percent(gone[at])})"
    )
    seen = "a drop here too" if errors[at] < errors[before] else "no drop here"
    return f"{shown_title(ours)}: {seen}, {figures}."


def _peak(measured: Sequence[Json], data_set: str, ks: Sequence[int]) -> str:
    """A peak in the middle of three k, and whether the one that leaves out less is the one that errs more."""
    found = _at_one(measured, data_set)
    if found is None or not set(ks) <= found[1].keys():
        return NOT_MEASURED
    ours, errors, gone = found
    _, middle, after = ks
    figures = listed([f"{percent(errors[k])} at k = {k} ({percent(gone[k])} left out)" for k in ks])
    if errors[middle] <= max(errors[k] for k in ks if k != middle):
        return f"{shown_title(ours)}: no peak at k = {middle} here, error at ε = 1: {figures}."
    words = f"{shown_title(ours)}: a peak at k = {middle}, error at ε = 1: {figures}"
    if gone[after] < gone[middle]:
        words += f"; but k = {after} leaves out less still, and errs less, so that this is not why"
    highest = max(errors, key=lambda k: errors[k])
    if highest != middle:
        words += f". The highest is at k = {highest}: {percent(errors[highest])}"
    return f"{words}; see claim 3."
