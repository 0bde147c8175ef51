# SPDX-License-Identifier: Apache-2.0
"""The page's tables of data sets and hierarchies, with what stands in for the paper's, and of the run itself."""

from __future__ import annotations

from collections.abc import Sequence

from kepsilon.json_values import Json
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING, number
from kepsilon.reproduce.claims.claim import CLAIM_TEXTS
from kepsilon.reproduce.data.data_sets import AS_K_QUASI, BIRTH_YEAR, GENDER, MARITAL, RACE, ZIP
from kepsilon.reproduce.pages.paper_says import PAGE_TEXTS
from kepsilon.reproduce.pages.wording import EPSILON_QUASIS, attribute_name, title_of
from kepsilon.reproduce.scope import DATA_SETS, Measurements

_HIERARCHIES: dict[str, tuple[Json, str, Sequence[str]]] = {
    "ZIP code": (ZIP, "", ("florida", "michigan")),
    "gender": (GENDER, "", DATA_SETS),
    "birth year": (BIRTH_YEAR, "years", DATA_SETS),
    "race": (RACE, "", ("adult", "florida")),
    "marital status": (MARITAL, "", ("adult",)),
}


def data_sets(measurements: Measurements) -> Table:
    rows = []
    for name in DATA_SETS:
        ours = next((one for task, one in measurements.items() if task.startswith(f"releases-{name}-")), None)
        k_quasis = [attribute_name(quasi) for quasi in ours["ks"][0]["loss"]] if ours and ours["ks"] else []
        rows.append(
            [
                title_of(name),
                ", ".join(k_quasis) or NOTHING,
                EPSILON_QUASIS[name],
                PAGE_TEXTS["data_sets"][name]["identifiers"],
                PAGE_TEXTS["data_sets"][name]["made_up"],
                f"{CLAIM_TEXTS['records'][name]:,}",
                f"{ours['n_counted']:,}" if ours else "not measured",
            ]
        )
    headers = ["data set", "k-quasis", "ε-quasi", "direct identifiers, removed", "made up"]
    return Table(headers=[*headers, "records, paper", "records, here"], rows=rows, n_words=5)


def hierarchies() -> Table:
    """The paper's Table I, and the one that the paper does not show."""
    rows = [
        [
            name,
            *_steps(role["hierarchy"], unit),
            "all" if where == DATA_SETS else ", ".join(map(title_of, where)),
            "the paper's",
        ]
        for name, (role, unit, where) in _HIERARCHIES.items()
    ]
    rows.append(
        ["height, weight as one more k-quasi", *_steps(AS_K_QUASI, "cm or kg"), "all", "ours; the paper's is not shown"]
    )
    return Table(headers=["attribute", "levels, finest first", "how many", "data sets", "whose"], rows=rows, n_words=5)


def _steps(hierarchy: Json, unit: str) -> tuple[str, str]:
    """What each level publishes, and how many there are."""
    if hierarchy["type"] == "mask":
        length = hierarchy["length"]
        steps = ["all digits", *(f"first {length - i}" for i in range(1, length)), "nothing"]
    elif hierarchy["type"] == "intervals":
        steps = ["as it is", *(f"{width} {unit}" for width in hierarchy["widths"]), "nothing"]
    elif hierarchy["type"] == "groups":
        steps = ["as it is", *(" or ".join(level) for level in hierarchy["levels"]), "nothing"]
    else:
        steps = ["as it is", hierarchy.get("label") or "nothing"]
    return "; ".join(steps), str(len(steps))


def run_facts(claims: Json, run: Json) -> list[tuple[str, str]]:
    """One line each: what was run, with what, and how long it took."""
    about: Json = run.get("about") or {}
    seconds: Json = run.get("seconds") or {}
    minutes, rest = divmod(round(run.get("wall_seconds") or 0), 60)
    facts = {
        "created": run.get("created") or claims.get("created"),
        "wall time": (f"{minutes} min {rest} s" if minutes else f"{rest} s") if run.get("wall_seconds") else None,
        "n_workers": run.get("n_workers"),
        **(claims.get("setting") or about.get("setting") or {}),
        **{key: value for key, value in about.items() if key != "setting"},
        **(run.get("versions") or {}),
        "seconds of all tasks together": f"{sum(seconds.values()):,.0f}" if seconds else None,
    }
    names = {key: PAGE_TEXTS["run"].get(key, key.replace("_", " ")) for key in facts}
    return [(names[key], _words(value)) for key, value in facts.items() if value is not None]


def run_times(run: Json) -> Table | None:
    """Seconds by task, the longest first."""
    seconds: Json = run.get("seconds") or {}
    ordered = sorted(seconds.items(), key=lambda one: -one[1])
    rows = [[name, number(took)] for name, took in ordered]
    return Table(headers=["task", "seconds"], rows=rows) if rows else None


def _words(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_words(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
