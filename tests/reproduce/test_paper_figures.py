# SPDX-License-Identifier: Apache-2.0
"""The figures of a reproduction: every panel that was measured, named for what it is, and files with the same numbers."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise

import pytest

from kepsilon.pages.charts import standalone
from kepsilon.reproduce.pages.beyond_figures import beyond_figures, choices
from kepsilon.reproduce.pages.page import figure_files
from kepsilon.reproduce.pages.panels import csv_text
from kepsilon.reproduce.pages.paper_figures import paper_figures
from kepsilon.reproduce.pages.release_figures import PAPERS_SHARES
from kepsilon.reproduce.pages.wording import title_of
from material.machine import ROOT
from material.measurements import ALGORITHMS, KS, TITLES, made_up_measurements
from material.page_checks import check_drawing

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
    """A reader with the paper beside the page finds each figure where it is expected."""
    assert [figure.id for figure in paper_figures(measurements)] == ORDER
    assert [figure.id for figure in beyond_figures(measurements)] == BEYOND


def test_every_figure_has_a_drawing_and_a_table_as_files(figures):
    """What is drawn can be used elsewhere, and what it was drawn from can be checked."""
    files = dict(figure_files(figures.values()))
    assert set(files) == {f"{name}.{kind}" for name in figures for kind in ("svg", "csv")}
    for name, text in files.items():
        if name.endswith("svg"):
            check_drawing(re.sub(" xmlns=.*?>", ">", text, count=1))
            assert text.startswith('<svg class="chart"')
            assert 'xmlns="http://www.w3.org/2000/svg"' in text


def test_a_figure_has_one_panel_for_every_data_set_and_algorithm(figures):
    """As in the paper: nothing that was measured is left out of a figure."""
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
        assert {(row["data_set"], row["is_stand_in"]) for row in rows_of(figures, name)} == {
            ("adult", "false"),
            ("florida", "true"),
            ("michigan", "true"),
        }


def test_a_title_without_the_mark_gets_it():
    """A stand-in is called one even where a measurement forgot to say so."""
    assert title_of("florida") == "Florida (stand-in)"
    assert title_of("florida", "Florida (stand-in)") == "Florida (stand-in)"
    assert title_of("elsewhere", "Elsewhere", is_stand_in=True) == "Elsewhere (stand-in)"
    assert title_of("adult") == "Adult"


def test_panels_that_were_not_measured_are_named():
    """A gap in a figure is told, not passed over."""
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
    """An empty run makes a page that says so instead of an error."""
    figures = [*paper_figures({}), *beyond_figures({})]
    assert all(not figure.panels and figure.missing for figure in figures)
    assert list(figure_files(figures)) == []


@pytest.mark.parametrize(
    ("name", "quantity"), [("error-by-k", "error"), ("error-by-epsilon", "error"), ("risk-by-epsilon", "risk")]
)
def test_files_over_the_grid_hold_what_was_measured(measurements, figures, name, quantity):
    """Every number of the file is that of the measurement, to the last digit."""
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
    """The drawing shows one confidence; the file has all of them."""
    rows = rows_of(figures, "confident-k")
    assert len(rows) == 6 * 6 * 7 * 6
    cell = measurements["releases-michigan-ola"]["ks"][2]["cells"][3]
    for confidence, spread in cell["suppressed"].items():
        row = row_with(
            rows, data_set="michigan", algorithm="ola", k=10, epsilon=cell["epsilon"], confidence=float(confidence)
        )
        assert float(row["expected"]) == spread["expected"]
        assert float(row["deviation"]) == spread["deviation"]


def test_every_confidence_has_a_table_of_its_own(measurements, figures):
    """The one that is drawn first; with OLA also what goes in all, which is what the paper's 5 % are for."""
    for panel, algorithm in zip(figures["confident-k"].panels[::3], ALGORITHMS, strict=True):
        names = [name for name, _ in panel.more]
        others = [f"confidence {words} %" for words in ("70", "90", "99.9", "99.99", "99.999")]
        together = "confidence 99 %, together with what OLA left out"
        assert names == ([together, *others] if algorithm == "ola" else others)
        for table in (panel.table, *(table for _, table in panel.more)):
            assert [row[0] for row in table.rows] == [str(k) for k in KS]
            assert len(table.headers) == len(table.rows[0])


def test_ola_and_confident_k_are_added_up(measurements, figures):
    """Claim 10 is about the sum, so that the table has to show it."""
    (_, table), *_ = figures["confident-k"].panels[0].more
    for row, one in zip(table.rows, measurements["releases-adult-ola"]["ks"], strict=True):
        for words, cell in zip(row[2:], one["cells"], strict=True):
            total = 100 * (one["suppressed_by_k"] + cell["suppressed"]["0.99"]["expected"])
            assert float(words) == pytest.approx(total, abs=0.006)


def test_figures_of_one_column_have_as_many_decimals(figures):
    """Numbers below each other can be compared only then."""
    for name in ("error-by-k", "risk-by-epsilon", "confident-k", "dimensions"):
        for panel in figures[name].panels:
            for column in zip(*panel.table.rows, strict=True):
                numbers = [found for words in column for found in re.findall(r"^[\d,]+\.?\d*(?= |$)", words)]
                assert len({len(number.partition(".")[2]) for number in numbers}) <= 1, column


def test_no_two_files_are_the_same_and_no_column_is_empty(figures):
    """A copied file or an empty column would be a figure wired to the wrong measurement."""
    files = [text for name, text in figure_files(figures.values()) if name.endswith("csv")]
    assert len(set(files)) == len(files)
    for text in files:
        rows = list(csv.DictReader(io.StringIO(text)))
        for column in rows[0]:
            assert any(row[column] for row in rows), column


def test_every_column_is_explained(figures):
    """A file that needs its author to be read is no record."""
    page = (ROOT / "docs" / "reference" / "figure-files.md").read_text(encoding="utf-8")
    explained = re.findall(r"`([a-z_0-9-]+)(…?)`", page)
    for name in figures:
        assert (name, "") in explained
        for column in rows_of(figures, name)[0]:
            assert any(column == words or (more and column.startswith(words)) for words, more in explained), column


@pytest.mark.parametrize(("name", "axis"), [("error-by-k", "k"), ("error-by-epsilon", "epsilon"), ("confident-k", "k")])
def test_a_file_is_in_the_order_of_its_figures_axis(figures, name, axis):
    """A plot of the file by its order draws the lines of the figure."""
    along = [float(row[axis]) for row in rows_of(figures, name)]
    assert along[0] < next(value for value in along if value != along[0])
    changes = sum(a != b for a, b in pairwise(along))
    other = "epsilon" if axis == "k" else "k"
    across = [float(row[other]) for row in rows_of(figures, name)]
    assert changes > sum(a != b for a, b in pairwise(across))


def test_other_files_hold_what_was_measured(measurements, figures):
    """Samples of the files that are not over the grid, each against its measurement."""
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
    assert (row["lattice_with"], row["lattice_without"]) == ("480", "60")
    assert float(row["search_only_ratio"]) == pytest.approx(0.4 / 0.02)
    found = measurements["additions-adult-ola"]["variants"][3]["cells"][2]
    wanted = {"data_set": "adult", "algorithm": "ola", "variant": "several", "epsilon": found["epsilon"]}
    for name, error in found["error"].items():
        row = row_with(rows_of(figures, "additions-error"), **wanted, attribute=name)
        assert float(row["expected"]) == error
    row = row_with(rows_of(figures, "additions-risk"), **wanted)
    assert (float(row["expected"]), float(row["standard_error"])) == (found["risk"], found["risk_standard_error"])


def test_of_several_attributes_the_data_sets_own_is_drawn(measurements, figures):
    """The other one errs more by far, and would be taken for the same attribute as in the lines beside it."""
    drawn = re.search(r"several</text>", figures["additions-error"].panels[0].drawing)
    assert drawn
    table = figures["additions-error"].panels[0].table
    assert [row[0] for row in table.rows] == ["class", "coarse", "declared", "several, height", "several, other"]


def test_running_times_are_ratios_with_a_line_where_both_are_as_fast(figures):
    """Without the line at 1 nobody sees which of the two is slower."""
    for name in ("times-ola", "times-mondrian"):
        for panel in figures[name].panels:
            assert "1 ×: as fast" in panel.drawing
            assert "times as long, log" in panel.drawing
            headers = " ".join(panel.table.headers)
            for word in ("counting", "search", "noise", "k-anonymity, extra included"):
                assert word in headers
            assert ("nodes of 480" in headers) is (name == "times-ola")


def test_the_other_half_of_the_sentence_on_mondrian_is_answered(figures):
    """The paper's sentence has two halves, and the second is about ε."""
    _, mondrian = figures["dimensions"].says
    assert "Adult: ε = 8 (k = 2)" in mondrian.seen
    assert "OLA" not in mondrian.seen


def errors_at_one(measurements, data_set, **by_k):
    """Changes OLA's errors at ε = 1 and what it left out, by k."""
    for one in measurements[f"releases-{data_set}-ola"]["ks"]:
        if f"k{one['k']}" in by_k:
            error, one["suppressed_by_k"] = by_k[f"k{one['k']}"]
            next(cell for cell in one["cells"] if cell["epsilon"] == 1)["error"]["expected"] = error
    (figure,) = [one for one in paper_figures(measurements) if one.id == "error-by-k"]
    return {said.words[:7]: said.seen for said in figure.says if said.seen}


def test_a_drop_is_said_to_be_one_only_where_it_is():
    """Words about a drop follow the numbers, not the paper."""
    falls = errors_at_one(made_up_measurements(), "adult", k50=(0.25, 0.02), k100=(0.24, 0.05))
    rises = errors_at_one(made_up_measurements(), "adult", k50=(0.247, 0.02), k100=(0.248, 0.05))
    assert "a drop here too" in falls["Adult w"]
    assert "no drop here, error at ε = 1: 24.7" in rises["Adult w"]


def test_a_peak_comes_with_what_speaks_against_the_papers_reason():
    """Where the paper explains a peak by suppression, our figures say whether that can be."""
    peak = {"k2": (0.1, 0.05), "k5": (0.2, 0.04), "k10": (0.15, 0.02)}
    words = errors_at_one(made_up_measurements(), "florida", **peak)["Florida"]
    assert "a peak at k = 5" in words
    assert "k = 10 leaves out less still, and errs less" in words
    assert "see claim 3" in words
    words = errors_at_one(made_up_measurements(), "florida", **peak | {"k20": (0.3, 0.02)})["Florida"]
    assert "The highest is at k = 20" in words
    words = errors_at_one(made_up_measurements(), "florida", **peak | {"k10": (0.25, 0.05)})["Florida"]
    assert "no peak at k = 5 here" in words


def test_what_speaks_for_uniform_noise_is_said_too(measurements, figures):
    """The page is no advocate: it tells where uniform noise has the lower risk."""
    text = " ".join(figures["uniform-noise"].reading)
    assert "in 0 of 6 panels" in text
    assert "from 10 runs of its own." in text
    found = made_up_measurements()
    for name, one in found.items():
        if name.startswith("uniform"):
            one["class_noise"]["risk"] = 0.06
    (figure,) = [one for one in paper_figures(found) if one.id == "uniform-noise"]
    assert (
        "links more records under noise by class than under uniform noise everywhere: from 6\N{NO-BREAK SPACE}% against"
        in " ".join(figure.reading)
    )


def test_files_say_how_to_read_them(figures):
    """A drawing in a talk has no page around it to explain it."""
    files = dict(figure_files(figures.values()))
    for name, text in files.items():
        if name.endswith("svg"):
            assert "var(" not in text
            assert figures[name.removesuffix(".svg")].title in re.sub("<title>.*?</title>", "", text)
    assert "Lines are closed forms" in files["error-by-k.svg"]
    assert "whiskers" in files["risk-by-epsilon.svg"]


def test_the_papers_suppression_stands_beside_ours(measurements, figures):
    """So that claim 17 can be judged from the table alone."""
    for row in rows_of(figures, "suppression-by-ola"):
        assert float(row["papers_suppressed_by_k"]) == PAPERS_SHARES[row["data_set"]][int(row["k"])]
    table = figures["suppression-by-ola"].panels[0].table
    assert [row[1] for row in table.rows] == ["1.67 %", "2.42 %", "3.71 %", "1.47 %", "1.76 %", "4.80 %"]


def test_panels_of_a_figure_have_the_same_axis(figures):
    """Small multiples are there to be compared."""
    for name in ("error-by-k", "error-by-epsilon", "risk-by-epsilon", "confident-k", "additions-risk"):
        ticks = {tuple(re.findall(r'class="e">([^<]+)<', panel.drawing)) for panel in figures[name].panels}
        assert len(ticks) == 1


def test_a_k_has_the_same_colour_in_every_figure(figures):
    """A reader learns the colours once."""
    for name in ("error-by-epsilon", "risk-by-epsilon"):
        for panel in figures[name].panels:
            found = dict(re.findall(r'class="strong t(\d+)">k = (\d+)<', panel.drawing))
            assert {int(k): int(colour) for colour, k in found.items()} == {2: 2, 5: 5, 10: 3, 20: 1, 50: 4, 100: 7}


def test_no_epsilon_has_the_colour_of_a_k(figures):
    """A line of ε must not be taken for one of k in the next figure."""
    of_k, of_epsilon = (
        set(re.findall(rf'class="strong t(\d+)">{sign} = ', figures[name].panels[0].drawing))
        for sign, name in (("k", "risk-by-epsilon"), ("ε", "error-by-k"))
    )
    assert len(of_epsilon) == 7
    assert not of_k & of_epsilon


def test_olas_own_suppression_has_a_line_that_is_no_ks_and_no_epsilons(figures):
    """It is a third kind of thing, and only OLA has it."""
    for panel in figures["confident-k"].panels:
        found = re.search(r'class="strong t(\d+)">OLA itself<', panel.drawing)
        assert (found is not None) is panel.title.endswith("OLA")
        assert found is None or int(found.group(1)) > 15


def test_risks_above_one_in_k_are_marked(measurements, figures):
    """Claim 8 is about these cells, and colour alone would not tell them."""
    for panel, algorithm in zip(figures["risk-by-epsilon"].panels[::3], ALGORITHMS, strict=True):
        for row, one in zip(panel.table.rows, measurements[f"releases-adult-{algorithm}"]["ks"], strict=True):
            for words, cell in zip(row[2:], one["cells"], strict=True):
                assert words.endswith("▲") is (cell["risk"]["expected"] > 1 / one["k"])


def test_one_run_alone_has_no_whiskers_and_is_drawn_all_the_same():
    """One run has no spread, which is no number and must not be written as one."""
    found = made_up_measurements()
    for one in found["releases-adult-ola"]["ks"]:
        for cell in one["cells"]:
            cell["error"]["deviation"] = float("nan")
    (figure,) = [one for one in paper_figures(found) if one.id == "error-by-k"]
    assert "nan" not in figure.panels[0].drawing
    assert "nan" not in str(figure.panels[0].table)
    assert "nan" not in csv_text(figure.rows)


def test_every_claim_is_decided_by_a_line_of_some_figure(measurements):
    """A claim that no figure leads to could be judged by nothing."""
    found = {claim for figure in paper_figures(measurements) for said in figure.says for claim in said.claims}
    assert found == set(range(1, 21))


def test_a_file_leaves_empty_what_is_not_known():
    """Neither None nor nan, which programs read as text; a column that is empty throughout is left out."""
    assert csv_text([{"a": 1, "b": None}, {"a": 2, "c": "x,y"}]) == 'a,c\n1,\n2,"x,y"\n'


def test_a_choice_that_cannot_be_had_says_so(measurements):
    """Where no cell keeps the limits, the answer is that there is none."""
    found = {one.title: one for one in choices(measurements)}
    assert list(found) == list(TITLES.values())
    assert found["Adult"].answer == "OLA, k = 20, ε = 8"
    assert found["Michigan (stand-in)"].answer == "None of the grid"
    assert [row[0] for row in found["Adult"].table.rows] == ["OLA", "Mondrian"]


def test_a_drawing_alone_says_what_it_shows(figures):
    """Axes and their units are inside the drawing, not beside it."""
    for panel in figures["error-by-k"].panels:
        whole = standalone(panel.drawing)
        assert "mean relative error of" in whole
        assert ">k, log scale</text>" in whole
        assert all(f">{k}</text>" in whole for k in KS)
