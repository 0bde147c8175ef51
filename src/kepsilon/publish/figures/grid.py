# SPDX-License-Identifier: Apache-2.0
"""The figures of the explore page: what every choice of k, ε and algorithm would cost, and what risk it would leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kepsilon.perturb.mechanisms import mechanism_named
from kepsilon.publish.charts import (
    Bar,
    Dot,
    Limit,
    Mark,
    Part,
    Series,
    bar_chart,
    line_chart,
    looks_of,
    scatter_chart,
)
from kepsilon.publish.charts.axes import percent as axis_percent
from kepsilon.publish.charts.palette import N_COLOURS, ORANGE, VERMILLION
from kepsilon.publish.charts.scatter import SHAPES
from kepsilon.publish.figures.figure import Figure, Json, Section, Table
from kepsilon.publish.wording import NOTHING, distortion, exact, percent


def met(grid: Json) -> list[Json]:
    """The cells that can be had."""
    return [cell for cell in grid["cells"] if not cell.get("refused")]


def chosen(grid: Json) -> Json | None:
    index = grid.get("chosen")
    return None if index is None else grid["cells"][index]


def epsilon_quasis(grid: Json) -> list[str]:
    return list(dict.fromkeys(name for cell in met(grid) for name in cell.get("error") or {}))


def has_closed_forms(grid: Json) -> bool:
    """Whether the mechanism has noise whose size goes as 1/ε, so that figures are known without drawing any."""
    attributes = (grid.get("policy") or {}).get("attributes") or {}
    names = {own.get("mechanism", "laplace") for own in attributes.values() if own.get("role") == "epsilon-quasi"}
    return all(mechanism_named(name).exponential is not None for name in names)


def chosen_words(cell: Json) -> str:
    return f"k = {exact(cell['k'])}, ε = {exact(cell['epsilon'])}, {cell['algorithm']}"


def grid_sections(grid: Json) -> Iterator[Section]:
    algorithms = grid["algorithms"]
    risks = [_risk(grid, algorithm) for algorithm in algorithms]
    errors = [_error(grid, algorithm, name) for name in epsilon_quasis(grid) for algorithm in algorithms]
    for title, figures in (("Risk", risks), ("Error", errors)):
        if drawn := [figure for figure in figures if figure is not None]:
            yield Section(title=title, figures=drawn)
    left_out = [_suppression(grid, name) for name in algorithms if any(cell["algorithm"] == name for cell in met(grid))]
    if left_out:
        yield Section(title="Records left out", figures=left_out)
    front = [*_pareto(grid)]
    if front:
        yield Section(title="Risk against distortion", figures=front)


def _of(grid: Json, algorithm: str, k: int) -> list[Json]:
    cells = [cell for cell in met(grid) if cell["algorithm"] == algorithm and cell["k"] == k]
    return sorted(cells, key=lambda cell: cell["epsilon"])


def _limit(grid: Json, *keys: str) -> Limit | None:
    """The tightest of them."""
    values = [value for key in keys if (value := (grid.get("limits") or {}).get(key)) is not None]
    return Limit(min(values), f"limit {percent(min(values))}") if values else None


def _risk(grid: Json, algorithm: str) -> Figure | None:
    return _against_epsilon(
        grid,
        algorithm,
        lambda cell: cell.get("linking_risk"),
        title="Linking risk",
        sentence="How many records an attacker who knows every true value links to the right person, on average. "
        + (
            "Less noise (a larger ε) and smaller classes (a smaller k) mean more links."
            if epsilon_quasis(grid)
            else "Smaller classes (a smaller k) mean more links; ε has no effect, because no attribute gets noise."
        ),
        y_label="records linked",
        limit=_limit(grid, "max_risk"),
    )


def _error(grid: Json, algorithm: str, name: str) -> Figure | None:
    return _against_epsilon(
        grid,
        algorithm,
        lambda cell: ((cell.get("error") or {}).get(name) or {}).get("expected_relative"),
        title=f"Error of {name}",
        sentence=f"How far {name} is off on average, of its value"
        + (": half the ε is twice the error." if has_closed_forms(grid) else "."),
        y_label="mean relative error",
        limit=_limit(grid, "max_error"),
    )


def _against_epsilon(
    grid: Json,
    algorithm: str,
    value: Callable[[Json], float | None],
    *,
    title: str,
    sentence: str,
    y_label: str,
    limit: Limit | None,
) -> Figure | None:
    """One line per k, on an axis that every algorithm's chart has; None where there is nothing to draw."""
    curves = {k: {cell["epsilon"]: value(cell) for cell in _of(grid, algorithm, k)} for k in grid["k"]}
    looks = looks_of(grid["k"])
    series = [Series(f"k = {k}", [*curve.items()], looks[k], has_dots=True) for k, curve in curves.items() if curve]
    everywhere = [y for cell in met(grid) if (y := value(cell)) is not None]
    if not any(y for curve in curves.values() for y in curve.values()):
        return None
    cell, epsilons = chosen(grid), sorted(grid["epsilon"])
    marked = value(cell) if cell and cell["algorithm"] == algorithm else None
    return Figure(
        title=f"{title}, {algorithm}",
        sentences=[sentence],
        drawing=line_chart(
            series,
            title=f"{title} against ε, {algorithm}",
            x_label="ε (smaller hides more)",
            y_label=y_label,
            y_words=axis_percent,
            x_log=len(epsilons) > 1,
            y_log=_is_wide(everywhere),
            x_ticks=epsilons,
            x_reach=(epsilons[0], epsilons[-1]) if len(epsilons) > 1 else None,
            y_holds=everywhere,
            limit=limit,
            mark=Mark(cell["epsilon"], marked, "chosen") if cell and marked is not None else None,
            height=250,
        ),
        table=Table(
            headers=["k", *(f"ε = {exact(epsilon)}" for epsilon in epsilons)],
            rows=[[exact(k), *(percent(curve.get(epsilon)) for epsilon in epsilons)] for k, curve in curves.items()],
            n_words=0,
        ),
    )


def _suppression(grid: Json, algorithm: str) -> Figure:
    """By k at one ε: the chosen one, or else the largest, at which confidence costs most."""
    cell = chosen(grid)
    epsilon = cell["epsilon"] if cell else max(grid["epsilon"])
    bars, rows = [], []
    for k in grid["k"]:
        found = next((c for c in _of(grid, algorithm, k) if c["epsilon"] == epsilon), None)
        if found is None:
            rows.append([exact(k), "refused", NOTHING, NOTHING])
            continue
        by_k, by_confidence = found.get("suppressed_by_k") or 0.0, found.get("suppressed_by_confidence")
        counted = (grid.get("records") or {}).get("counted") or 0
        # A segment of 1 to k − 1 records is not drawn; expected suppression is nobody's.
        parts = [Part("to reach k", 0.0 if 0 < by_k * counted < k - 0.5 else by_k, VERMILLION)]
        if by_confidence is not None:
            parts.append(Part("to hold k with confidence", by_confidence, ORANGE))
        bars.append(Bar(f"k = {k}", parts, percent(found.get("suppression"))))
        rows.append([exact(k), percent(by_k), percent(by_confidence), percent(found.get("suppression"))])
    confidence = (
        f" and, for k to hold with a confidence of {percent(grid['confidence'])}, for the noise"
        if grid.get("confidence")
        else ""
    )
    return Figure(
        title=f"Left out, {algorithm}, ε = {exact(epsilon)}",
        sentences=[f"The share of the counted records that cannot be released: for k{confidence}."],
        drawing=bar_chart(
            bars,
            title=f"Records left out by k, {algorithm}",
            label="records left out",
            axis_words=axis_percent,
            limit=_limit(grid, "max_suppression", "max_total_suppression"),
        )
        if bars
        else None,
        table=Table(headers=["k", "to reach k", "with confidence", "together"], rows=rows, n_words=0),
    )


def _pareto(grid: Json) -> Iterator[Figure]:
    cells = [cell for cell in met(grid) if cell.get("linking_risk") is not None and cell.get("distortion") is not None]
    if not cells:
        return
    shape_of = {algorithm: SHAPES[i % len(SHAPES)] for i, algorithm in enumerate(grid["algorithms"])}
    best = chosen(grid)
    front = _unbeaten(cells)
    has_limits = _limit(grid, *(grid.get("limits") or {})) is not None
    colours = _colours(grid["k"])
    dots = [
        Dot(
            cell["distortion"],
            cell["linking_risk"],
            next(colour for ks, colour in colours if cell["k"] in ks),
            shape_of[cell["algorithm"]],
            is_front=cell in front,
            is_pale=not cell.get("within_limits", True),
            is_chosen=cell is best,
        )
        for cell in cells
    ]
    yield Figure(
        title="Every choice, one dot",
        sentences=[
            (
                "Down is safer, left is closer to the original. Distortion is the mean over attributes of the detail lost and "
                "the error as a share of the range. Along the line nothing has less of both"
                + ("; pale dots are outside the limits." if has_limits else ".")
            )
        ],
        drawing=scatter_chart(
            dots,
            title="Linking risk against distortion",
            x_label="distortion",
            y_label="records linked",
            colours=[(f"k = {ks[0]}" + (f" to {ks[-1]}" if len(ks) > 1 else ""), colour) for ks, colour in colours],
            shapes=[*shape_of.items()],
            y_words=axis_percent,
            x_log=_is_wide([dot.x for dot in dots]),
            y_log=_is_wide([dot.y for dot in dots]),
            limit=_limit(grid, "max_risk"),
            chosen_words=f"chosen: {chosen_words(best)}" if best else "",
        ),
        table=Table(
            headers=["nothing has less of both", "distortion", "linking risk"],
            rows=[
                [chosen_words(cell), distortion(cell["distortion"]), percent(cell["linking_risk"])] for cell in front
            ],
        ),
    )


def _unbeaten(cells: Sequence[Json]) -> list[Json]:
    """Cells than which none has less risk at no more distortion: the front as far as a plane shows it."""
    front: list[Json] = []
    for cell in sorted(cells, key=lambda cell: (cell["distortion"], cell["linking_risk"])):
        if not front or cell["linking_risk"] < front[-1]["linking_risk"]:
            front.append(cell)
    return front


def _colours(ks: Sequence[int]) -> list[tuple[Sequence[int], int]]:
    """A colour for every k, or for neighbours together where there are more than colours."""
    if len(ks) <= N_COLOURS:
        return [([k], look.colour) for k, look in looks_of(ks).items()]
    together = -(-len(ks) // N_COLOURS)
    ordered = sorted(ks)
    return [(ordered[i : i + together], 1 + i // together) for i in range(0, len(ks), together)]


def _is_wide(numbers: Sequence[float]) -> bool:
    return min(numbers) > 0 and max(numbers) / min(numbers) > 20
