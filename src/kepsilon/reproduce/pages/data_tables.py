# SPDX-License-Identifier: Apache-2.0
"""The paper's tables of data sets and of hierarchies, with what stands in for them and what is made up."""

from __future__ import annotations

from kepsilon.json_values import Json
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import NOTHING
from kepsilon.reproduce.data.data_sets import AS_K_QUASI, BIRTH_YEAR, GENDER, MARITAL, RACE, ZIP
from kepsilon.reproduce.pages.panels import EPSILON_QUASIS, attribute_name, title_of
from kepsilon.reproduce.pages.paper_says import RECORDS
from kepsilon.reproduce.setting import DATA_SETS, Measurements

IDENTIFIERS = {
    "adult": "patient number, name, e-mail",
    "florida": "name, surname, address, e-mail, telephone",
    "michigan": "name, surname, address",
}
MADE_UP = {
    "adult": "height and the direct identifiers; all else is UCI's",
    "florida": "everything",
    "michigan": "everything",
}
_HIERARCHIES: dict[str, tuple[Json, str, str]] = {
    "ZIP code": (ZIP, "", "Florida, Michigan"),
    "gender": (GENDER, "", "all"),
    "birth year": (BIRTH_YEAR, "years", "all"),
    "race": (RACE, "", "Adult, Florida"),
    "marital status": (MARITAL, "", "Adult"),
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
                IDENTIFIERS[name],
                MADE_UP[name],
                f"{RECORDS[name]:,}",
                f"{ours['n_counted']:,}" if ours else "not measured",
            ]
        )
    headers = ["data set", "k-quasis", "ε-quasi", "direct identifiers, removed", "made up"]
    return Table(headers=[*headers, "records, paper", "records, here"], rows=rows, n_words=5)


def hierarchies() -> Table:
    """The paper's Table I, and the one that the paper does not show."""
    rows = [
        [name, *_steps(role["hierarchy"], unit), _on(where), "the paper's"]
        for name, (role, unit, where) in _HIERARCHIES.items()
    ]
    rows.append(
        ["height, weight as one more k-quasi", *_steps(AS_K_QUASI, "cm or kg"), "all", "ours; the paper's is not shown"]
    )
    return Table(headers=["attribute", "levels, finest first", "how many", "data sets", "whose"], rows=rows, n_words=5)


def _on(where: str) -> str:
    names = {"Adult": "adult", "Florida": "florida", "Michigan": "michigan"}
    return ", ".join(title_of(names[name]) if name in names else name for name in where.split(", "))


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
