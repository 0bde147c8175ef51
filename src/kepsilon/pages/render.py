# SPDX-License-Identifier: Apache-2.0
"""Makes the pages, each one self-contained HTML file: it loads nothing, runs no script and holds no record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kepsilon.errors import Problem
from kepsilon.evaluate.pictures import Pictures
from kepsilon.grid.choice import Choice
from kepsilon.grid.grid import Grid
from kepsilon.pages.charts import STYLE
from kepsilon.pages.figures.attributes import attribute_lines
from kepsilon.pages.figures.explored import Explored
from kepsilon.pages.figures.first_screen import marks, sentence
from kepsilon.pages.figures.grid import grid_sections
from kepsilon.pages.figures.grid_front import front_figures
from kepsilon.pages.figures.grid_lead import (
    choices_words,
    grid_headline,
    grid_lead,
    grid_notes,
    grid_tiles,
    limits_words,
)
from kepsilon.pages.figures.grid_table import FRONT, best_headers, best_rows, grid_headers, grid_rows
from kepsilon.pages.figures.officer import not_covered
from kepsilon.pages.figures.overview import detail_sections, left_out_section, made, making, officer_section, promises
from kepsilon.pages.figures.splits import (
    SPLIT_CHOICES,
    split_headers,
    split_headline,
    split_lead,
    split_notes,
    split_rows,
    split_sections,
)
from kepsilon.pages.figures.survival import RULES, survival_table
from kepsilon.pages.figures.visible import all_visible, visible, visible_lines
from kepsilon.pages.figures.warned import warnings
from kepsilon.publish.record import Record
from kepsilon.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


def release_page(
    record: Record, pictures: Pictures | None, *, file_name: str | None = None, problems: Sequence[Problem] = ()
) -> str:
    """The report of a release, for its curator; without `pictures` it has only what the record alone can fill.

    `file_name` is that of the released records, None before they are written; `problems` are the warnings of the run.
    """
    nothing = Pictures(
        k=record.guarantee.k, epsilon=record.guarantee.epsilon or 1.0, values=(), errors=(), class_sizes=()
    )
    known, drawn = all_visible(record), all_visible(pictures or nothing)
    lines = attribute_lines(known, drawn)
    return (
        environment()
        .get_template("release.html")
        .render(
            style=STYLE,
            file_name=visible(file_name or "Release (not written yet)"),
            sentence=sentence(known),
            marks=marks(known),
            warnings=warnings(known, [all_visible(one) for one in problems]),
            attributes=lines,
            lead=known.survival_in_words,
            surviving=survival_table(known),
            rules=RULES,
            promises=visible_lines("\n".join(promises(record))),
            officer=officer_section(known, drawn),
            not_covered=[*not_covered(known)],
            left_out=left_out_section(known),
            details=[*detail_sections(known, drawn)],
            making=making(known),
        )
    )


def explore_page(grid: Grid, choice: Choice) -> str:
    """The page of explore's grid: the chosen cell first, then charts, then a table of every cell."""
    explored = all_visible(Explored(grid=grid, choice=choice))
    best = explored.chosen
    shown = _of_splits(explored) if grid.compares_splits else _of_settings(explored)
    return (
        environment()
        .get_template("explore.html")
        .render(
            style=STYLE,
            made=made(version=__version__, created=datetime.now(UTC).isoformat(timespec="seconds")),
            tiles=[] if best is None else [*grid_tiles(best)],
            has_limits=bool(limits_words(explored)),
            front_words=FRONT,
            **shown,
        )
    )


def _of_settings(explored: Explored) -> dict[str, object]:
    """What the page shows of cells that differ in k, ε or groups, and algorithm."""
    return {
        "choices": choices_words(explored),
        "headline": grid_headline(explored),
        "lead": grid_lead(explored),
        "notes": grid_notes(explored),
        "front": next(front_figures(explored), None),
        "sections": [*grid_sections(explored)],
        "headers": grid_headers(explored),
        "n_words": 1,
        "rows": [*grid_rows(explored)],
        "best_headers": best_headers(explored),
        "best_rows": best_rows(explored),
    }


def _of_splits(explored: Explored) -> dict[str, object]:
    """What the page shows of cells that differ in the roles of numeric quasis."""
    return {
        "choices": SPLIT_CHOICES,
        "front": None,
        "headline": split_headline(explored),
        "lead": split_lead(explored),
        "notes": split_notes(explored),
        "sections": [*split_sections(explored)],
        "headers": split_headers(),
        "n_words": 2,
        "rows": [*split_rows(explored)],
        "best_headers": [],
        "best_rows": [],
    }


def environment() -> Environment:
    """The template engine; it escapes every value, and a misspelt name in a template is an error.

    Jinja is imported here, because only pages need it.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("kepsilon.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
