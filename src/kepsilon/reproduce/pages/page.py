# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a reproduction: one self-contained page, and every figure as a drawing and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kepsilon.files.atomic import Staging
from kepsilon.json_values import Json
from kepsilon.pages.charts import STYLE, sheet, standalone
from kepsilon.pages.render import environment
from kepsilon.pages.wording import listed, plural
from kepsilon.reproduce.pages import judged as marks
from kepsilon.reproduce.pages.beyond_figures import beyond_figures, choices, variants
from kepsilon.reproduce.pages.judged import JudgedClaim, Judgement, Score
from kepsilon.reproduce.pages.page_tables import data_sets, hierarchies, run_facts, run_times
from kepsilon.reproduce.pages.panels import ShownFigure, csv_text
from kepsilon.reproduce.pages.paper_figures import paper_figures
from kepsilon.reproduce.pages.paper_says import PAGE_TEXTS, Said
from kepsilon.reproduce.pages.wording import STAND_IN, tidied, title_of
from kepsilon.reproduce.scope import Measurements

if TYPE_CHECKING:
    from markupsafe import Markup

FIGURES = "figures"


def write_pages(folder: Path, measurements: Measurements, claims: Json, run: Json) -> None:
    """Writes index.html, and figures/<id>.svg and .csv, into a folder that exists; files of the same names are replaced.

    The page appears last, so that a page never stands beside figures older than itself.
    """
    figures = [*paper_figures(measurements), *beyond_figures(measurements)]
    drawn = folder / FIGURES
    drawn.mkdir(exist_ok=True)
    with Staging([folder, drawn]) as staging:
        files = {folder / "index.html": page(measurements, claims, run)}
        files |= {drawn / name: text for name, text in figure_files(figures)}
        for path, text in files.items():
            with staging.new_file(path, owner_only=False) as temporary:
                temporary.write_text(text, encoding="utf-8")
        staging.publish(overwrite=True)
    for name in {f"{figure.id}.{kind}" for figure in figures for kind in ("svg", "csv")}:
        if drawn / name not in files:  # of an earlier run, and the page does not speak of it
            (drawn / name).unlink(missing_ok=True)


def figure_files(figures: Sequence[ShownFigure]) -> Iterator[tuple[str, str]]:
    """The names and contents of every figure's files; a figure that was not measured has none."""
    for figure in figures:
        charts = [(panel.title, panel.drawing) for panel in figure.panels if panel.drawing is not None]
        if charts:
            title = f"{figure.reference}: {figure.title}"
            note = " ".join(figure.reading)
            yield f"{figure.id}.svg", standalone(sheet(charts, title=title, columns=figure.columns, note=note))
            yield f"{figure.id}.csv", csv_text(figure.rows)


def glued(words: str) -> Markup:
    """The words with no line break between a number and its sign, nor in the mark of a stand-in."""
    from markupsafe import Markup, escape

    whole = escape(
        tidied(words).replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    )
    return whole.replace(STAND_IN, Markup('<span class="whole">{}</span>').format(STAND_IN))


def page(measurements: Measurements, claims: Json, run: Json) -> str:
    """The whole page as HTML; `claims` and `run` are what claims.json and run.json hold."""
    judged = marks.claims_of(claims)
    counted = marks.scores(judged)
    surroundings = environment()
    surroundings.filters |= {
        "glued": glued,
        "mark": marks.MARKS.__getitem__,
        "sign": marks.SIGNS.__getitem__,
        "css_class": marks.CSS_CLASSES.__getitem__,
    }
    return surroundings.get_template("reproduce.html").render(
        style=STYLE,
        headline=headline(counted),
        stand_ins=any(one.get("is_stand_in") for one in measurements.values()),
        made=_made(claims),
        in_short=marks.in_short(judged),
        data_sets=data_sets(measurements),
        hierarchies=hierarchies(),
        origins=[(title_of(name), text["origin"]) for name, text in PAGE_TEXTS["data_sets"].items()],
        figures=[(figure, _compared(figure, judged)) for figure in paper_figures(measurements)],
        beyond=[figure for figure in beyond_figures(measurements) if figure.panels],
        choices=choices(measurements),
        variants=variants(measurements),
        claims=judged,
        scores=counted,
        facts=run_facts(claims, run),
        times=run_times(run),
    )


def headline(counted: Sequence[Score]) -> str:
    """How many claims held on each data set, in one sentence."""
    own = [one for one in counted if one.data_set is not None]
    if not own:
        return "No claim was judged"
    first, *others = (f"{one.n_held} of {one.n_judged} on {one.title}" for one in own)
    return f"Of the paper's claims {listed([first.replace(' on ', ' held on ', 1), *others])}"


def _made(claims: Json) -> str:
    setting: Mapping[str, Any] = claims.get("setting") or {}
    said = [f"kepsilon {claims['kepsilon_version']}"] if claims.get("kepsilon_version") else []
    said += [str(claims["created"])[:10]] if claims.get("created") else []
    said += [plural(setting["runs"], "run") + " per cell"] if setting.get("runs") else []
    said += ["quick: fewer cells, too few to judge every claim by"] if setting.get("is_quick") else []
    return "; ".join(said)


def _compared(figure: ShownFigure, judged: Sequence[JudgedClaim]) -> list[tuple[Said, list[Judgement]]]:
    """Every sentence of the paper beside a figure, with the judgements that decide it."""
    by_id = {claim.id: claim.judgements for claim in judged}
    return [
        (said, [one.about(said.only) for claim in said.claims for one in by_id.get(claim, ())]) for said in figure.says
    ]
