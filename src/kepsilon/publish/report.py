# SPDX-License-Identifier: Apache-2.0
"""Pages of one self-contained HTML file each: nothing is loaded, nothing runs, no record is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kepsilon.evaluate.pictures import Pictures
from kepsilon.json_values import Json
from kepsilon.publish.charts import STYLE
from kepsilon.publish.figures.changes import treatment
from kepsilon.publish.figures.grid import chosen, grid_sections
from kepsilon.publish.figures.grid_lead import grid_headline, grid_lead, grid_notes, grid_tiles, limits_words
from kepsilon.publish.figures.grid_table import grid_headers, grid_rows
from kepsilon.publish.figures.overview import made, making, sections, tiles, warnings
from kepsilon.publish.figures.visible import all_visible, visible_lines
from kepsilon.publish.record import Record

if TYPE_CHECKING:
    from jinja2 import Environment


def release_page(record: Record, pictures: Pictures | None) -> str:
    """The report of one release, for its curator; without pictures it has the figures that the record alone can fill."""
    nothing = Pictures(k=record.guarantee.k, epsilon=record.guarantee.epsilon, values=(), errors=(), class_sizes=())
    known, drawn = all_visible(record), all_visible(pictures or nothing)
    return (
        environment()
        .get_template("release.html")
        .render(
            style=STYLE,
            made=made(version=known.kepsilon_version, created=known.created, digest=known.digest),
            promises=visible_lines(record.guarantee.statement),
            warnings=[*warnings(known)],
            tiles=[*tiles(known)],
            sections=[*sections(known, drawn)],
            treatment=treatment(known, drawn),
            making=making(known),
        )
    )


def explore_page(grid: Json) -> str:
    """The page of a grid of choices: the chosen one first, then pictures, then every cell."""
    grid = all_visible(grid)
    best = chosen(grid)
    return (
        environment()
        .get_template("explore.html")
        .render(
            style=STYLE,
            made=made(version=grid["kepsilon_version"], created=grid["created"]),
            headline=grid_headline(grid),
            lead=grid_lead(grid),
            notes=grid_notes(grid),
            tiles=[] if best is None else [*grid_tiles(best)],
            sections=[*grid_sections(grid)],
            has_limits=bool(limits_words(grid)),
            headers=grid_headers(grid),
            rows=[*grid_rows(grid)],
        )
    )


def environment() -> Environment:
    """Every value is escaped, and a name that a template misspells is an error. Imported here: only pages need it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("kepsilon.publish"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
