# SPDX-License-Identifier: Apache-2.0
"""The page of explore's splits: each numeric quasi as k-quasi or as ε-quasi, with cost and risk side by side."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.grid.cells import Cell
from kepsilon.pages.charts import Bar, Dot, Segment, bar_chart, scatter_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE, ORANGE, VERMILLION
from kepsilon.pages.charts.scatter import SHAPES
from kepsilon.pages.figures.explored import Explored
from kepsilon.pages.figures.figure import Figure, Section, Table
from kepsilon.pages.figures.grid_lead import limits_words, why_words
from kepsilon.pages.figures.grid_table import GridRow
from kepsilon.pages.wording import NOTHING, distortion, give, listed, percent, plural
from kepsilon.policy.guarantee import single_risk_in_words
from kepsilon.predict.prediction import Prediction

SPLIT_CHOICES = "k-quasis and ε-quasis"
"""What the cells of this page differ in."""
PROPOSED = (
    "A numeric attribute in its other role has settings as init would propose them. They were made from the data for this "
    "comparison: edit them before you use such a split, because what is published must not come from the data."
)


def split_headline(explored: Explored) -> str:
    chosen = explored.choice.cell
    if chosen is not None:
        return _capital(chosen.name)
    if not explored.met:
        return "No split can be met"
    return "No split keeps the limits" if limits_words(explored) else "Which attributes should be ε-quasis?"


def split_lead(explored: Explored) -> list[str]:
    """The answer, what was compared, by which limits, and what was chosen."""
    grid = explored.grid
    first = grid.cells[0]
    n = plural(len(grid.cells), "split")
    settings = listed([first.algorithm, f"k = {first.k}", *_settings(explored)])
    lead = [*grid.answer, f"Worked out before anything is drawn: {n}, all with {settings}."]
    limits = limits_words(explored)
    if limits:
        lead.append(f"Limits: {limits}.")
    if explored.choice.cell is not None:
        lead.append("The split above has the least distortion among those that keep the limits.")
    return [*lead, *([why_words(explored.choice.why)] if explored.choice.why else [])]


def split_notes(explored: Explored) -> list[str]:
    """Sentences that say what the figures mean, and whose risk they are."""
    attackers = {own.name: own for cell in reversed(explored.grid.cells) if (own := cell.strongest) is not None}
    notes = [f"Linking by “{name}” is by {attacker.in_words}." for name, attacker in attackers.items()]
    split = explored.grid.cells[0].split
    if split is not None and split.others:
        notes.append(f"k-quasis in every split, because they are no numbers: {listed([*split.others])}.")
    if explored.met and split is not None:
        quasis = [*split.others, *split.k_quasis, *split.epsilon_quasis]
        notes.append(single_risk_in_words(quasis, averaged={own.groups is not None for own in explored.met}))
    if any(own.linking_risk.headline.risk.variance for own in explored.met):
        notes.append(
            "With several ε-quasis figures are simulated. They are given ± 2 standard errors, and keep a limit only with three "
            "to spare."
        )
    return [*notes, PROPOSED]


def split_sections(explored: Explored) -> Iterator[Section]:
    cells = [(cell, cell.prediction) for cell in explored.grid.cells if cell.prediction is not None]
    if not cells:
        return
    figures = [_risks(explored, cells)]
    if any(found.distortion is not None for _, found in cells):
        figures += [_costs(cells), _both(explored, cells)]
    yield Section(title="Risk and cost side by side", figures=figures)


def _risks(explored: Explored, cells: list[tuple[Cell, Prediction]]) -> Figure:
    rows, bars = [], []
    for cell, found in cells:
        risk = found.linking_risk.headline.risk
        bars.append(Bar(_short(cell), [Segment("linked", risk.total, VERMILLION)], percent(risk.total)))
        by = "" if cell.strongest is None else cell.strongest.name
        largest = percent(found.linking_risk.largest_possible_by_matching)
        rows.append([_capital(cell.name), percent(risk.total) + give(risk.standard_error), by, largest])
    return Figure(
        title="Who is linked",
        sentences=[
            "Expected share of the records that the strongest attacker links who needs only the quasi-identifiers.",
            "Names say which attributes are ε-quasis.",
        ],
        drawing=bar_chart(
            bars,
            title="Linking risk by split",
            label="records linked",
            axis_words=axis_percent,
            limit=explored.limit("max_risk"),
        ),
        table=Table(headers=["split", "records linked", "by", "largest single risk"], rows=rows),
    )


def _costs(cells: list[tuple[Cell, Prediction]]) -> Figure:
    """Distortion by split, divided into what generalising and what noise or averaging contribute."""
    rows, bars = [], []
    for cell, found in cells:
        if found.distortion is None:
            rows.append([_capital(cell.name), percent(found.loss.ncp.overall), "undefined", "undefined"])
            continue
        n_grouped, errors = (
            len(found.loss.ncp.by_attribute),
            [own.range_relative or 0.0 for own in found.error.values()],
        )
        by_error = sum(errors) / max(1, n_grouped + len(errors))
        by_loss = max(0.0, found.distortion - by_error)
        error = sum(errors) / len(errors) if errors else None
        segments = [Segment("generalised", by_loss, BLUE), Segment("noise or averages", by_error, ORANGE)]
        bars.append(Bar(_short(cell), segments, distortion(found.distortion)))
        rows.append(
            [
                _capital(cell.name),
                percent(found.loss.ncp.overall) if n_grouped else NOTHING,
                NOTHING if error is None else percent(error),
                distortion(found.distortion),
            ]
        )
    return Figure(
        title="What it costs",
        sentences=[
            "The mean over all quasi-identifiers of detail lost, and of the error of noise or averages in units of the spread.",
        ],
        drawing=bar_chart(bars, title="Distortion by split", label="distortion"),
        table=Table(
            headers=["split", "detail lost, k-quasis", "error of the range, ε-quasis", "distortion"], rows=rows
        ),
    )


def _both(explored: Explored, cells: list[tuple[Cell, Prediction]]) -> Figure:
    """All splits by risk and distortion; the shape of a dot says how many ε-quasis the split has."""
    counts = sorted({len(found.error) for _, found in cells})
    shapes = {n: SHAPES[i % len(SHAPES)] for i, n in enumerate(counts)}
    chosen = explored.choice.cell
    points = [(cell, found, found.distortion) for cell, found in cells if found.distortion is not None]
    dots = [
        Dot(
            cost,
            found.linking_risk.headline.risk.total,
            VERMILLION if cell.split is not None and cell.split.is_own else BLUE,
            shapes[len(found.error)],
            is_front=cell.pareto,
            is_pale=not explored.choice.limits.allow(cell),
            is_chosen=cell == chosen,
        )
        for cell, found, cost in points
    ]
    return Figure(
        title="Both at once",
        sentences=["Down is safer, left is closer to the original. No split beats those along the line."],
        drawing=scatter_chart(
            dots,
            title="Linking risk against distortion, by split",
            x_label="distortion",
            y_label="records linked",
            colours=[("your policy", VERMILLION), ("other splits", BLUE)],
            shapes=[(plural(n, "ε-quasi"), shape) for n, shape in shapes.items()],
            y_words=axis_percent,
            limit=explored.limit("max_risk"),
            chosen_words="chosen" if chosen is not None else "",
        ),
        table=Table(
            headers=["on the line", "distortion", "records linked"],
            rows=[
                [_capital(cell.name), distortion(cost), percent(found.linking_risk.headline.risk.total)]
                for cell, found, cost in points
                if cell.pareto
            ],
        ),
    )


def split_headers() -> list[str]:
    return [
        "numeric k-quasis",
        "ε-quasis",
        "classes",
        "left out",
        "detail lost",
        "largest error",
        "linking risk",
        "by",
        "largest single risk",
        "distortion",
    ]


def split_rows(explored: Explored) -> Iterator[GridRow]:
    for cell in explored.grid.cells:
        if cell.split is None:
            continue
        roles = [", ".join(names) or "none" for names in (cell.split.k_quasis, cell.split.epsilon_quasis)]
        own = ["yours"] if cell.split.is_own else []
        found = cell.prediction
        if found is None:
            yield GridRow(css_class="outside", mark=", ".join([*own, "refused"]), fields=roles, refused=cell.refused)
            continue
        marks = [
            *(["chosen"] if cell == explored.choice.cell else []),
            *(["front"] if cell.pareto else []),
            *(["outside limits"] if not explored.choice.limits.allow(cell) else []),
        ]
        risk, left_out = found.linking_risk.headline.risk, found.suppression
        yield GridRow(
            css_class=" ".join(mark.split()[0] for mark in marks),
            mark=", ".join([*own, *marks]),
            fields=[
                *roles,
                f"{found.classes.count:,}",
                percent(left_out.total) + give(left_out.standard_error),
                percent(found.loss.ncp.overall) if found.loss.ncp.by_attribute else NOTHING,
                percent(found.largest_error) if found.error else NOTHING,
                percent(risk.total) + give(risk.standard_error),
                "" if cell.strongest is None else cell.strongest.name,
                percent(found.linking_risk.largest_possible_by_matching),
                distortion(found.distortion),
            ],
        )


def _short(cell: Cell) -> str:
    """The ε-quasis of a split, which tell it from the others."""
    if cell.split is None:
        return cell.name
    return ", ".join(cell.split.epsilon_quasis) or "none"


def _settings(explored: Explored) -> list[str]:
    """What is done to the ε-quasis of the splits that have any, in words."""
    noisy = [cell for cell in explored.grid.cells if cell.split is not None and cell.split.epsilon_quasis]
    return list(dict.fromkeys(cell.setting for cell in noisy))


def _capital(name: str) -> str:
    """A name at the start of a line; names of columns stay as they are."""
    return f"Y{name[1:]}" if name.startswith("your policy") else name
