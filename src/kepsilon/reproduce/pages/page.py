# SPDX-License-Identifier: Apache-2.0
"""What a reproduction is looked at with: one self-contained page, and every figure as a drawing and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kepsilon.files.atomic import Staging
from kepsilon.json_values import Json
from kepsilon.pages.charts import STYLE, sheet, standalone
from kepsilon.pages.render import environment
from kepsilon.pages.wording import listed, plural
from kepsilon.reproduce.pages.beyond_figures import beyond_figures, choices, variants
from kepsilon.reproduce.pages.data_tables import data_sets, hierarchies
from kepsilon.reproduce.pages.judged import LOOKS, SIGNS, Claim, Judgement, Score, claims_of, in_short, scores
from kepsilon.reproduce.pages.numbers import tidied
from kepsilon.reproduce.pages.panels import STAND_IN, Said, ShownFigure, csv_text, title_of
from kepsilon.reproduce.pages.paper_figures import paper_figures
from kepsilon.reproduce.pages.run_facts import run_facts, run_times
from kepsilon.reproduce.setting import Measurements

if TYPE_CHECKING:
    from markupsafe import Markup

FIGURES = "figures"
_WHAT = {
    "adult": "Real: UCI's training set, persons under 80. Heights are drawn by age and sex.",
    "florida": "Made up: nobody in it exists. Drawn from census and register figures; heights by age and sex.",
    "michigan": "Made up: nobody in it exists. Drawn from census and register figures; weights by age and sex.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A sentence of the paper, and what was found."""

    said: Said
    judgements: Sequence[Judgement]


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
    """What belongs together on one line: a number and its sign, and the mark of a stand-in."""
    from markupsafe import Markup, escape

    whole = escape(
        tidied(words).replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    )
    return whole.replace(STAND_IN, Markup('<span class="whole">{}</span>').format(STAND_IN))


def page(measurements: Measurements, claims: Json, run: Json) -> str:
    judged = claims_of(claims)
    counted = scores(judged)
    surroundings = environment()
    surroundings.filters["glued"] = glued
    return surroundings.get_template("reproduce.html").render(
        style=STYLE,
        headline=headline(counted),
        stand_ins=any(one.get("is_stand_in") for one in measurements.values()),
        made=_made(claims),
        in_short=in_short(judged),
        data_sets=data_sets(measurements),
        hierarchies=hierarchies(),
        origins=[(title_of(name), words) for name, words in _WHAT.items()],
        figures=[(figure, _compared(figure, judged)) for figure in paper_figures(measurements)],
        beyond=[figure for figure in beyond_figures(measurements) if figure.panels],
        choices=choices(measurements),
        variants=variants(measurements),
        claims=judged,
        columns=[one.title for one in counted],
        matrix=_matrix(judged, counted),
        facts=run_facts(claims, run),
        times=run_times(run),
    )


def headline(counted: Sequence[Score]) -> str:
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


def _compared(figure: ShownFigure, judged: Sequence[Claim]) -> list[Compared]:
    by_id = {claim.id: claim for claim in judged}
    return [
        Compared(
            said=said,
            judgements=[
                one.about(said.only) for claim in said.claims if claim in by_id for one in by_id[claim].judgements
            ],
        )
        for said in figure.says
    ]


def _matrix(judged: Sequence[Claim], counted: Sequence[Score]) -> list[tuple[Claim, list[tuple[str, str]]]]:
    """For every claim a sign and its look under every data set."""
    columns = [one.data_set for one in counted]

    def cell(claim: Claim, data_set: str | None) -> tuple[str, str]:
        if not claim.on(data_set):
            return "", ""
        held = claim.held_on(data_set)
        return SIGNS[held], LOOKS[held]

    return [(claim, [cell(claim, name) for name in columns]) for claim in judged]
