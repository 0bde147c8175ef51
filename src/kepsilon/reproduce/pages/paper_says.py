# SPDX-License-Identifier: Apache-2.0
"""The texts of page.toml: titles, what the paper says beside a figure, and what was seen there where no claim decides."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kepsilon.json_values import Json
from kepsilon.pages.wording import listed, percent
from kepsilon.reproduce.pages.wording import data_set_title, panel_title
from kepsilon.reproduce.scope import ALGORITHM_NAMES

PAGE_TEXTS: Json = tomllib.loads(Path(__file__).with_name("page.toml").read_text(encoding="utf-8"))
FIGURES: dict[str, Json] = {text["id"]: text for text in PAGE_TEXTS["figures"]}
"""The texts of every figure by its id."""
NOT_MEASURED = "Not measured in this run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A sentence of the paper in our words, the claims that decide it, and what was seen where none does."""

    words: str
    claims: Sequence[int]
    seen: str
    only: str
    """The algorithm that the sentence is about, where claims speak of both."""


def said_beside(figure: str, measured: Sequence[Json]) -> list[Said]:
    """The paper's sentences about a figure that shows these measurements."""
    return [
        Said(
            words=text["words"],
            claims=text.get("claims", ()),
            seen=_SEEN[text["seen"]](measured) if "seen" in text else "",
            only=text.get("only", ""),
        )
        for text in FIGURES[figure].get("says", ())
    ]


def filled(text: str, words: Mapping[str, str]) -> str:
    """A text of page.toml with sentences that figures share, and with the figure's own words, for names in braces."""
    return text.format(**PAGE_TEXTS["shared"], **words).format(**words)


def _by_algorithm(measured: Sequence[Json], words: Callable[[Json], str]) -> str:
    """One part per algorithm, such as "OLA: so much on Adult, so much on Florida"."""
    lines: dict[str, list[str]] = {}
    for ours in measured:
        lines.setdefault(ALGORITHM_NAMES[ours["algorithm"]], []).append(f"{words(ours)} on {data_set_title(ours)}")
    return "; ".join(f"{name}: {', '.join(found)}" for name, found in lines.items()) + "." if lines else NOT_MEASURED


def _epsilon_as_uniform(measured: Sequence[Json]) -> str:
    return _by_algorithm(measured, lambda ours: f"ε = {ours['epsilon_as_uniform']:.3g}")


def _lattices(measured: Sequence[Json]) -> str:
    known = [ours for ours in measured if ours.get("lattice_with") and ours.get("lattice_without")]
    return _by_algorithm(known, lambda ours: f"{ours['lattice_with']:,} nodes against {ours['lattice_without']:,}")


def _same_error(measured: Sequence[Json]) -> str:
    """From which ε on noise errs no more than Mondrian's cutting does: the half of the sentence that no claim decides."""
    found = []
    for ours in measured:
        if ours["algorithm"] != "mondrian":
            continue
        by_k = {one["k"]: one["epsilon_same_error"] for one in ours["ks"] if one.get("epsilon_same_error")}
        if by_k:
            least, most = min(by_k, key=lambda k: by_k[k]), max(by_k, key=lambda k: by_k[k])
            found.append(
                f"{data_set_title(ours)}: ε = {by_k[least]:.3g} (k = {least}) to {by_k[most]:.3g} (k = {most})"
            )
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
    """Whether the error is less at a larger k."""
    found = _at_one(measured, data_set)
    if found is None or not {before, at} <= found[1].keys():
        return NOT_MEASURED
    ours, errors, gone = found
    figures = (
        f"error at ε = 1: {percent(errors[before])} at k = {before} ({percent(gone[before])} left out), "
        f"{percent(errors[at])} at k = {at} ({percent(gone[at])})"
    )
    seen = "a drop here too" if errors[at] < errors[before] else "no drop here"
    return f"{panel_title(ours)}: {seen}, {figures}."


def _peak(measured: Sequence[Json], data_set: str, ks: Sequence[int]) -> str:
    """A peak in the middle of three k, and whether the one that leaves out less is the one that errs more."""
    found = _at_one(measured, data_set)
    if found is None or not set(ks) <= found[1].keys():
        return NOT_MEASURED
    ours, errors, gone = found
    _, middle, after = ks
    figures = listed([f"{percent(errors[k])} at k = {k} ({percent(gone[k])} left out)" for k in ks])
    if errors[middle] <= max(errors[k] for k in ks if k != middle):
        return f"{panel_title(ours)}: no peak at k = {middle} here, error at ε = 1: {figures}."
    words = f"{panel_title(ours)}: a peak at k = {middle}, error at ε = 1: {figures}"
    if gone[after] < gone[middle]:
        words += f"; but k = {after} leaves out less still, and errs less, so that this is not why"
    highest = max(errors, key=lambda k: errors[k])
    if highest != middle:
        words += f". The highest is at k = {highest}: {percent(errors[highest])}"
    return f"{words}; see claim 3."


_SEEN: dict[str, Callable[[Sequence[Json]], str]] = {
    "same_error": _same_error,
    "epsilon_as_uniform": _epsilon_as_uniform,
    "drop_on_adult": lambda measured: _drop(measured, "adult", 50, 100),
    "peak_on_florida": lambda measured: _peak(measured, "florida", (2, 5, 10)),
    "lattices": _lattices,
}
