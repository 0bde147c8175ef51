# SPDX-License-Identifier: Apache-2.0
"""What became of the attributes: levels of the generalised ones, distributions of those with noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kepsilon.publish.charts import (
    Ladder,
    histogram_pair,
    level_ladders,
)
from kepsilon.publish.charts.axes import plain
from kepsilon.publish.figures.figure import Figure, Json, Table
from kepsilon.publish.wording import exact, percent, records


def generalised_figures(pictures: Json) -> Iterator[Figure]:
    quasis: Sequence[Json] = pictures.get("k_quasis") or ()
    if not quasis:
        return
    ladders, rows = [], []
    for quasi in quasis:
        level, n_levels, loss = quasi.get("level"), quasi["n_levels"], quasi.get("loss")
        became = f"{quasi['n_values_before']:,} → {quasi['n_labels_after']:,}"
        words = f"{became} labels" if level is not None else f"{became} labels, {percent(loss)} lost"
        ladders.append(Ladder(quasi["name"], n_levels, level, loss, words))
        rows.append(
            [
                quasi["name"],
                "–" if level is None else f"{level} of {n_levels - 1}",
                f"{quasi['n_values_before']:,}",
                f"{quasi['n_labels_after']:,}",
                percent(loss),
            ]
        )
    has_levels = any(quasi.get("level") is not None for quasi in quasis)
    how = (
        "Each of them was replaced by a coarser label for the whole column. The filled dot is the level that was chosen: "
        "far left is the exact value, far right one label for everybody."
        if has_levels
        else "Each of them was replaced by a coarser label, finer where many records are alike and coarser where they are "
        "few. The bar is the share of detail lost: full is one label for everybody."
    )
    yield Figure(
        title="Generalised attributes",
        sentences=[how],
        drawing=level_ladders(
            ladders, title="Levels of the generalised attributes" if has_levels else "Detail lost by attribute"
        ),
        table=Table(headers=["attribute", "level", "values before", "labels after", "detail lost"], rows=rows),
    )


def distribution_figure(picture: Json, k: int) -> Figure:
    name, edges = picture["name"], picture["edges"]
    cells = zip(_cell_names(edges), picture["before"], picture["after"], strict=True)
    rows = [[cell, *(f"fewer than {k}" if n is None else f"{n:,}" for n in pair)] for cell, *pair in cells]
    drawing = None
    if len(edges) > 1:
        drawing = histogram_pair(
            edges,
            picture["before"],
            picture["after"],
            title=f"Distribution of {name} before and as published",
            x_label=name,
        )
    return Figure(
        title=name,
        sentences=[
            (
                f"How {name} is spread before noise (line) and as published (filled): the closer the two, the less a statistic "
                f"of it changes. Cells of fewer than {k} records are not drawn; ‹ and › hold everything beyond."
            )
        ],
        drawing=drawing,
        table=Table(headers=[name, "records before", "records published"], rows=rows),
    )


def _cell_names(edges: Sequence[float]) -> list[str]:
    if not edges:
        return ["all"]
    inner = [f"{plain(a)} to under {plain(b)}" for a, b in pairwise(edges)]
    return [f"under {plain(edges[0])}", *inner, f"{plain(edges[-1])} and more"]


def treatment(record: Json, pictures: Json) -> Table:
    """What became of every attribute."""
    guarantee = record["guarantee"]
    levels = {quasi["name"]: quasi for quasi in pictures.get("k_quasis") or ()}
    clipped = record.get("clipped") or {}
    rows = []
    for name, attribute in ((record.get("policy") or {}).get("attributes") or {}).items():
        role = attribute.get("role")
        if role is None:
            continue
        if role == "identifier":
            words = "dropped"
        elif role == "k-quasi":
            quasi = levels.get(name)
            level = (record.get("levels") or {}).get(name)
            words = "generalised" + (f" to level {level}" if level is not None else "")
            words += f" of {quasi['n_levels'] - 1}" if quasi and level is not None else ""
        elif role == "epsilon-quasi":
            range_words = (guarantee.get("ranges") or {}).get(name, "class")
            steps = exact(attribute.get("precision"))
            words = f"noise, ε = {exact(guarantee['epsilon'])}, range: {range_words}, in steps of {steps}"
            if clipped.get(name):
                words += f"; {records(clipped[name], guarantee['k'])} values outside the bounds were clipped first"
        else:
            words = "kept as it is"
        rows.append([name, role, words])
    return Table(headers=["attribute", "role", "what became of it"], rows=rows, n_words=3)
