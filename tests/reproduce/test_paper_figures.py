# SPDX-License-Identifier: Apache-2.0
"""The figures of a reproduction: every panel that was measured, named for what it is, and files with the same numbers."""

from __future__ import annotations

import csv
import io
import re

import pytest

from kepsilon.publish.charts import standalone
from kepsilon.reproduce.pages.beyond_figures import beyond_figures, choices
from kepsilon.reproduce.pages.page import figure_files
from kepsilon.reproduce.pages.panels import csv_text, title_of
from kepsilon.reproduce.pages.paper_figures import paper_figures
from kepsilon.reproduce.pages.paper_says import SUPPRESSED_BY_OLA
from made_up_measurements import ALGORITHMS, KS, TITLES, made_up_measurements
from page_checks import check_drawing

ORDER = [
    "dimensions",
    "error-distributions",
    "uniform-noise",
    "suppression-by-ola",
    "error-by-k",
    "error-by-epsilon",
    "risk-by-epsilon",
    "confident-k",
    "times-mondrian",
    "times-ola",
]
BEYOND = ["additions-error", "additions-risk", "additions-confident-k"]
ONE_ALGORITHM = {"suppression-by-ola", "times-mondrian", "times-ola"}


@pytest.fixture(scope="module")
def measurements():
    return made_up_measurements()


@pytest.fixture(scope="module")
def figures(measurements):
    return {figure.id: figure for figure in (*paper_figures(measurements), *beyond_figures(measurements))}


def rows_of(figures, name):
    files = dict(figure_files(figures.values()))
    return list(csv.DictReader(io.StringIO(files[f"{name}.csv"])))


def row_with(rows, **wanted):
    (found,) = [row for row in rows if all(row[key] == str(value) for key, value in wanted.items())]
    return found


def test_figures_come_in_the_papers_order(measurements):
    assert [figure.id for figure in paper_figures(measurements)] == ORDER
    assert [figure.id for figure in beyond_figures(measurements)] == BEYOND


def test_every_figure_has_a_drawing_and_a_table_as_files(figures):
    files = dict(figure_files(figures.values()))
    assert set(files) == {f"{name}.{kind}" for name in figures for kind in ("svg", "csv")}
    for name, text in files.items():
        if name.endswith("svg"):
            check_drawing(re.sub(" xmlns=.*?>", ">", text, count=1))
            assert text.startswith('<svg class="chart"')
            assert 'xmlns="http://www.w3.org/2000/svg"' in text


def test_a_figure_has_one_panel_for_every_data_set_and_algorithm(figures):
    for name, figure in figures.items():
        assert len(figure.panels) == (3 if name in ONE_ALGORITHM else 6)
        assert len({panel.title for panel in figure.panels}) == len(figure.panels)
        assert figure.missing == []


def test_a_stand_in_is_marked_in_every_panel_and_every_row(figures):
    """Whoever sees one panel alone must not take it for the paper's data."""
    for name, figure in figures.items():
        for panel in figure.panels:
            is_made_up = "Florida" in panel.title or "Michigan" in panel.title
            assert ("(stand-in)" in panel.title) is is_made_up
            assert ("(stand-in)" in panel.drawing) is is_made_up
            assert panel.title in panel.drawing
        assert {(row["data_set"], row["stand_in"]) for row in rows_of(figures, name)} == {
            ("adult", "False"),
            ("florida", "True"),
            ("michigan", "True"),
        }


def test_a_title_without_the_mark_gets_it():
    assert title_of("florida") == "Florida (stand-in)"
    assert title_of("florida", "Florida (stand-in)") == "Florida (stand-in)"
    assert title_of("elsewhere", "Elsewhere", is_stand_in=True) == "Elsewhere (stand-in)"
    assert title_of("adult") == "Adult"


def test_panels_that_were_not_measured_are_named():
    partial = {
        name: one
        for name, one in made_up_measurements().items()
        if not name.endswith(("florida-ola", "michigan-mondrian"))
    }
    for figure in (*paper_figures(partial), *beyond_figures(partial)):
        titles = {panel.title for panel in figure.panels}
        absent = {"Florida (stand-in), OLA", "Michigan (stand-in), Mondrian"}
        assert not titles & absent
        of_one = {"times-ola": "OLA", "suppression-by-ola": "OLA", "times-mondrian": "Mondrian"}.get(figure.id, "")
        assert set(figure.missing) == {title for title in absent if title.endswith(of_one)}


def test_nothing_measured_gives_figures_without_panels_and_no_files():
    figures = [*paper_figures({}), *beyond_figures({})]
    assert all(not figure.panels and figure.missing for figure in figures)
    assert list(figure_files(figures)) == []


@pytest.mark.parametrize(
    ("name", "quantity"), [("error-by-k", "error"), ("error-by-epsilon", "error"), ("risk-by-epsilon", "risk")]
)
def test_files_over_the_grid_hold_what_was_measured(measurements, figures, name, quantity):
    rows = rows_of(figures, name)
    assert len(rows) == 6 * 6 * 7
    for data_set in TITLES:
        for algorithm in ALGORITHMS:
            for one in measurements[f"releases-{data_set}-{algorithm}"]["ks"]:
                for cell in one["cells"]:
                    row = row_with(rows, data_set=data_set, algorithm=algorithm, k=one["k"], epsilon=cell["epsilon"])
                    found = {key: float(row[key]) for key in ("expected", "mean", "deviation")}
                    assert found == cell[quantity]


def test_the_file_of_confident_k_holds_every_confidence(measurements, figures):
    rows = rows_of(figures, "confident-k")
    assert len(rows) == 6 * 6 * 7 * 6
    cell = measurements["releases-michigan-ola"]["ks"][2]["cells"][3]
    for confidence, spread in cell["suppressed"].items():
        row = row_with(
            rows, data_set="michigan", algorithm="ola", k=10, epsilon=cell["epsilon"], confidence=float(confidence)
        )
        assert float(row["expected"]) == spread["expected"]
        assert float(row["deviation"]) == spread["deviation"]


def test_the_table_of_confident_k_begins_with_the_confidence_that_is_drawn(figures):
    table = figures["confident-k"].panels[0].table
    confidences = list(dict.fromkeys(row[0] for row in table.rows))
    assert confidences == ["99 %", "70 %", "90 %", "99.9 %", "99.99 %", "99.999 %"]
    assert len(table.rows) == 6 * 6


def test_other_files_hold_what_was_measured(measurements, figures):
    row = row_with(rows_of(figures, "dimensions"), data_set="adult", algorithm="ola", k=20)
    assert float(row["loss_with"]) == measurements["dimensions-adult-ola"]["ks"][3]["loss_with"]
    cell = measurements["distributions-florida-mondrian"]["cells"][0]
    rows = [
        row
        for row in rows_of(figures, "error-distributions")
        if (row["data_set"], row["algorithm"], row["epsilon"]) == ("florida", "mondrian", str(cell["epsilon"]))
    ]
    assert [float(row["whole_data"]) for row in rows] == cell["whole_data"]
    assert [float(row["per_class_runs"]) for row in rows] == cell["per_class_runs"]
    row = row_with(rows_of(figures, "times-ola"), data_set="adult", k=5)
    assert float(row["ratio"]) == measurements["times-adult-ola"]["ks"][1]["ratio"]
    found = measurements["additions-adult-ola"]["variants"][3]["cells"][2]
    for name, error in found["error"].items():
        row = row_with(
            rows_of(figures, "additions-risk"),
            data_set="adult",
            algorithm="ola",
            variant="several",
            epsilon=found["epsilon"],
            attribute=name,
        )
        assert (float(row["error"]), float(row["risk"])) == (error, found["risk"])


def test_the_papers_suppression_stands_beside_ours(measurements, figures):
    for row in rows_of(figures, "suppression-by-ola"):
        assert float(row["papers_suppressed_by_k"]) == SUPPRESSED_BY_OLA[row["data_set"]][int(row["k"])]
    table = figures["suppression-by-ola"].panels[0].table
    assert [row[1] for row in table.rows] == ["1.67 %", "2.42 %", "3.71 %", "1.47 %", "1.76 %", "4.80 %"]


def test_panels_of_a_figure_have_the_same_axis(figures):
    """Small multiples are there to be compared."""
    for name in ("error-by-k", "error-by-epsilon", "risk-by-epsilon", "confident-k", "additions-risk"):
        ticks = {tuple(re.findall(r'class="e">([^<]+)<', panel.drawing)) for panel in figures[name].panels}
        assert len(ticks) == 1


def test_a_k_has_the_same_colour_in_every_figure(figures):
    for name in ("error-by-epsilon", "risk-by-epsilon"):
        for panel in figures[name].panels:
            found = dict(re.findall(r'class="f(\d+) strong">k = (\d+)<', panel.drawing))
            assert {int(k): int(colour) for colour, k in found.items()} == {2: 2, 5: 5, 10: 3, 20: 1, 50: 4, 100: 7}


def test_no_epsilon_has_the_colour_of_a_k(figures):
    of_k, of_epsilon = (
        set(re.findall(rf'class="f(\d+) strong">{sign} = ', figures[name].panels[0].drawing))
        for sign, name in (("k", "risk-by-epsilon"), ("ε", "error-by-k"))
    )
    assert len(of_epsilon) == 7
    assert not of_k & of_epsilon


def test_olas_own_suppression_is_a_grey_line(figures):
    for panel in figures["confident-k"].panels:
        assert ('class="f7 strong">OLA itself<' in panel.drawing) is panel.title.endswith("OLA")


def test_risks_above_one_in_k_are_marked(measurements, figures):
    for panel, algorithm in zip(figures["risk-by-epsilon"].panels[::3], ALGORITHMS, strict=True):
        for row, one in zip(panel.table.rows, measurements[f"releases-adult-{algorithm}"]["ks"], strict=True):
            for words, cell in zip(row[2:], one["cells"], strict=True):
                assert words.endswith("▲") is (cell["risk"]["expected"] > 1 / one["k"])


def test_one_run_alone_has_no_whiskers_and_is_drawn_all_the_same():
    found = made_up_measurements()
    for one in found["releases-adult-ola"]["ks"]:
        for cell in one["cells"]:
            cell["error"]["deviation"] = float("nan")
    (figure,) = [one for one in paper_figures(found) if one.id == "error-by-k"]
    assert "nan" not in figure.panels[0].drawing
    assert "nan" not in str(figure.panels[0].table)
    assert "nan" not in csv_text(figure.rows)


def test_every_claim_is_decided_by_a_line_of_some_figure(measurements):
    found = {claim for figure in paper_figures(measurements) for claim in figure.claims}
    assert found == set(range(1, 21))


def test_a_file_leaves_empty_what_is_not_known():
    assert csv_text([{"a": 1, "b": None}, {"a": 2, "c": "x,y"}]) == 'a,b,c\n1,,\n2,,"x,y"\n'


def test_a_choice_that_cannot_be_had_says_so(measurements):
    found = {one.title: one for one in choices(measurements)}
    assert list(found) == list(TITLES.values())
    assert found["Adult"].answer == "OLA, k = 20, ε = 8"
    assert found["Michigan (stand-in)"].answer == "None of the grid"
    assert [row[0] for row in found["Adult"].table.rows] == ["OLA", "Mondrian"]


def test_a_drawing_alone_says_what_it_shows(figures):
    for panel in figures["error-by-k"].panels:
        whole = standalone(panel.drawing)
        assert "mean relative error of" in whole
        assert ">k</text>" in whole
        assert all(f">{k}</text>" in whole for k in KS)
