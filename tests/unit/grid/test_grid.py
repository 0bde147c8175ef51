# SPDX-License-Identifier: Apache-2.0
"""The grid: its figures are those of a release of the same cell, its front and its choice those of an oracle."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kepsilon
from kepsilon.engines.local.columns import LocalColumns
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.attackers import Headline
from kepsilon.grid.cells import Cell
from kepsilon.grid.grid import ExploredRecords, Grid
from kepsilon.pages.render import explore_page
from kepsilon.predict.prediction import (
    AttributeLosses,
    ClassSummary,
    ExpectedError,
    ExpectedRisk,
    ExpectedSuppression,
    Losses,
    PredictedRecords,
    Prediction,
)
from kepsilon.rounding import percent
from material.usefulness import NO_VERDICT
from oracles.noise import SEED

DOCUMENT = {
    "k": 5, "epsilon": 2, "algorithm": "ola", "max_suppression": 0.05, "confidence": 0.95,
    "attributes": {
        "name": {"role": "identifier"},
        "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
        "year": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10]}},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "illness": {"role": "sensitive"},
    },
}  # fmt: skip
POLICY = kepsilon.Policy.from_dict(DOCUMENT)
KS, EPSILONS = [3, 5, 20], [0.5, 2, 16]


def people_to_explore(n=2000):
    rng = np.random.default_rng(SEED)
    return pa.table(
        {
            "name": [f"CANARY-{i}" for i in range(n)],
            "zip": [f"{z:03}" for z in rng.integers(0, 40, n)],
            "year": rng.integers(1950, 1990, n).astype(str),
            "height": rng.normal(170, 8, n).round(1),
            "illness": [f"i{i % 7}" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def grid():
    return kepsilon.explore(people_to_explore(), POLICY, k=KS, epsilon=EPSILONS)


def attribute(**changes):
    quasi = {**DOCUMENT["attributes"]["height"], **changes}
    return {**DOCUMENT["attributes"], "height": quasi}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attributes": attribute(range={"coarse": 5})},
        {"attributes": attribute(range=[165, 180])},
        {"confidence_rule": "strict"},
        {"confidence_rule": "suppress_zero", "loss": "precision"},
        {"labels": "ancestor"},
    ],
    ids=["class", "coarse", "declared, clipped", "strict", "zeros out", "regions"],
)
def test_every_cell_says_exactly_what_a_release_would(changes):
    """To the last bit: the expected figures of `anonymise` with the cell's policy."""
    data, policy = people_to_explore(600), kepsilon.Policy.from_dict({**DOCUMENT, **changes})
    grid = kepsilon.explore(data, policy, k=[3, 8], epsilon=[0.5, 2])
    assert [(c.algorithm, c.k, c.epsilon) for c in grid.cells] == [
        (a, k, e) for a in ("ola", "mondrian", "local-recoding") for k in (3, 8) for e in (0.5, 2)
    ]
    for cell in grid.cells:
        record = kepsilon.anonymise(data, policy.with_changes(**grid.changes(cell)), unsafe_seed=1).record
        found, error, risk = cell.to_json(), record["error"]["height"], record["linking_risk"]
        assert found["error"]["height"] == {key: error[key] for key in found["error"]["height"]}
        assert found["headline"] == risk["headline"]
        assert found["linking_risk"] == risk["expected"]
        assert found["linking_risk_paper_ties"] == risk["expected_paper_ties"]
        assert found["loss"] == {name: loss for name, loss in record["loss"]["ncp"].items() if name != "overall"}
        assert (found["precision_loss"], found["dm*"]) == (
            record["loss"]["precision"]["overall"],
            record["loss"]["dm*"],
        )
        assert found["levels"] == record.get("levels")
        assert found["suppressed_by_k"] == record["records"]["suppressed_by_k"] / 600
        assert found["suppression"] == pytest.approx(record["confident_k"]["total_expected"], rel=1e-12)
        losses = [record["loss"]["ncp"][name] for name in ("zip", "year")]
        assert found["distortion"] == pytest.approx((sum(losses) + error["share_of_spread"]) / 3)


def test_exploring_never_releases(monkeypatch):
    """No noise is drawn for a cell that nobody chose."""
    for name in (
        "kepsilon.pipeline.anonymise.anonymise",
        "kepsilon.perturb.mechanisms.laplace.perturb",
        "kepsilon.perturb.sampler.record_noise",
    ):
        monkeypatch.setattr(name, lambda *a, **b: pytest.fail("noise was drawn"))
    assert len(kepsilon.explore(people_to_explore(200), POLICY, k=[3], epsilon=[1]).cells) == 3


def test_the_data_is_counted_once(monkeypatch):
    """And read once, whatever the size of the grid."""
    counts = []
    original = LocalColumns.count
    monkeypatch.setattr(LocalColumns, "count", lambda *a, **b: counts.append(1) or original(*a, **b))
    kepsilon.explore(people_to_explore(200), POLICY, k=KS, epsilon=EPSILONS)
    assert len(counts) == 1


def test_without_lists_the_papers_and_the_policys_own_are_taken():
    """So `explore` alone says something."""
    grid = kepsilon.explore(people_to_explore(400), POLICY.with_changes(k=7, epsilon=3))
    assert {cell.k for cell in grid.cells} == {2, 5, 7, 10, 20, 50, 100}
    assert {cell.epsilon for cell in grid.cells} == {0.05, 0.5, 1, 2, 3, 4, 8, 16}


def test_cells_that_cannot_be_met_are_refused_with_the_reason(grid):
    """The others stay."""
    found = kepsilon.explore(
        people_to_explore(300), POLICY.with_changes(max_suppression=0), k=[3, 301, 1000], epsilon=[1]
    )
    refused = {cell.k: cell.refused for cell in found.cells if cell.prediction is None}
    assert set(refused) == {301, 1000}
    assert all("k = " in reason or "records" in reason for reason in refused.values())
    assert all(cell.prediction is not None for cell in found.cells if cell.k == 3)
    no_hierarchy = {
        **DOCUMENT,
        "algorithm": "mondrian",
        "attributes": {**DOCUMENT["attributes"], "zip": {"role": "k-quasi"}},
    }
    found = kepsilon.explore(people_to_explore(300), kepsilon.Policy.from_dict(no_hierarchy), k=[3], epsilon=[1])
    assert [cell.refused is None for cell in found.cells] == [False, True, True]
    assert "OLA needs a hierarchy" in found.cells[0].refused
    with pytest.raises(kepsilon.PolicyError, match="OLA needs a hierarchy"):
        kepsilon.explore(
            people_to_explore(300), kepsilon.Policy.from_dict(no_hierarchy), k=[3], epsilon=[1], algorithm=["ola"]
        )


@pytest.mark.parametrize(
    ("lists", "where"),
    [
        ({"k": [1]}, "k"),
        ({"k": []}, "k"),
        ({"epsilon": [0]}, "epsilon"),
        ({"epsilon": [float("nan")]}, "epsilon"),
        ({"epsilon": [101]}, "epsilon"),
        ({"algorithm": ["arx"]}, "algorithm"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_nonsense_is_refused_before_the_data_is_read(lists, where):
    """As a policy with that value would be."""
    with pytest.raises(kepsilon.PolicyError, match=where):
        kepsilon.explore("there is no such file.csv", POLICY, **lists)


figure = st.sampled_from([0.0, 0.01, 0.02, 0.03, 0.05])


def made_up_prediction(*, error, risk, suppressed_by_k, suppressed_by_confidence, distortion):
    """What cells are ranked by; everything else is nothing."""
    nothing = AttributeLosses(by_attribute={}, overall=0.0)
    gone = None if suppressed_by_confidence is None else Estimate(total=suppressed_by_confidence)
    return Prediction(
        verdict=NO_VERDICT,
        verdicts={},
        algorithm="ola",
        k=2,
        epsilon=1,
        records=PredictedRecords(
            read=100, suppressed_by_k=round(100 * suppressed_by_k), suppressed_missing=0, suppressed_unlisted=0
        ),
        n_combinations=1,
        classes=ClassSummary(count=1, smallest=1, largest=1, mean=1.0),
        levels=None,
        loss=Losses(dm_star=1, ncp=nothing, entropy_share=nothing, precision=nothing),
        error={
            "h": ExpectedError(
                expected_relative=error,
                range_relative=0.0,
                uniform_equivalent=None,
                epsilon_for_uniform_5_percent=None,
                largest_share=None,
                zeros_left_out=0,
            )
        },
        # Limits and the front go by the headline; without any kept column the risk would be another one.
        linking_risk=ExpectedRisk(
            headline=Headline(risk=risk, attacker="whoever knows h"),
            fair=Estimate(),
            paper_ties=Estimate(),
            largest_possible=1.0,
            largest_possible_by_matching=1.0,
        ),
        attackers=(),
        kept_columns={},
        confident_k=None
        if gone is None
        else ExpectedSuppression(of_entering=gone, of_counted=gone, total_expected=suppressed_by_k + gone.total),
        clipped={},
        constant_classes={},
        small_noise={},
        outliers={},
        distortion=distortion,
    )


@st.composite
def cells(draw):
    """Cells with figures made up, few enough values that ties and dominance are common."""
    found = []
    for i in range(draw(st.integers(1, 12))):
        figures = made_up_prediction(
            error=draw(st.one_of(st.none(), figure)),
            risk=Estimate(total=draw(figure), variance=draw(st.sampled_from([0.0, 0.004**2]))),
            suppressed_by_k=draw(figure),
            suppressed_by_confidence=draw(st.one_of(st.none(), figure)),
            distortion=draw(st.one_of(st.none(), figure)),
        )
        refused = draw(st.sampled_from([None, None, None, "cannot be met."]))
        found.append(
            Cell(algorithm="ola", k=2 + i, epsilon=1, prediction=None if refused else figures, refused=refused)
        )
    return found


def made_up(found):
    return Grid(
        cells=tuple(found),
        policy=POLICY,
        records=ExploredRecords(read=1, missing=0, unlisted=0),
        seconds={},
        page=explore_page,
    )


@given(cells())
def test_the_front_is_what_nothing_beats(found):
    """Against the definition, pair by pair."""

    def point(cell):
        risk = cell.prediction.linking_risk.headline.risk.total
        return cell.prediction.distortion, risk, cell.prediction.suppression.total

    usable = [cell for cell in found if cell.prediction and cell.prediction.distortion is not None]
    for cell in made_up(found).cells:
        beaten = any(
            all(a <= b for a, b in zip(point(other), point(cell), strict=True)) and point(other) != point(cell)
            for other in usable
        ) if cell in usable else True  # fmt: skip
        assert cell.pareto == (not beaten)


@given(cells(), st.one_of(st.none(), figure), st.one_of(st.none(), figure), st.one_of(st.none(), figure))
def test_the_choice_is_the_least_distorted_within_the_limits(found, risk, suppression, error):
    """Simulated figures must keep a limit with three standard errors to spare; undefined ones keep none."""

    def keeps(cell):
        f = cell.prediction
        headline = f.linking_risk.headline.risk
        gone = f.confident_k.of_counted if f.confident_k else None
        largest = f.error["h"].expected_relative
        return (
            (risk is None or headline.total + 3 * np.sqrt(headline.variance) <= risk)
            and (suppression is None or f.suppressed_by_k + (gone.total if gone else 0) <= suppression)
            and (error is None or (largest is not None and largest <= error))
        )

    grid = made_up(found)
    choice = grid.choose(kepsilon.Limits(max_risk=risk, max_suppression=suppression, max_error=error))
    allowed = [c for c in found if c.prediction and c.prediction.distortion is not None and keeps(c)]
    if risk is suppression is error is None:
        assert (choice.cell, choice.why) == (None, None)
        with pytest.raises(kepsilon.PolicyError, match="without a limit"):
            grid.best()
        return
    if not allowed:
        assert choice.cell is None
        assert choice.why
        with pytest.raises(kepsilon.UnsatisfiableError):
            grid.best(max_risk=risk, max_suppression=suppression, max_error=error)
        return
    assert choice.cell.prediction.distortion == min(cell.prediction.distortion for cell in allowed)
    assert choice.cell in allowed
    better = [
        c for c in found
        if c.prediction and c.prediction.distortion is not None and c.prediction.distortion < choice.cell.prediction.distortion
    ]  # fmt: skip
    if better:
        assert "ruled out by max_" in choice.why


def test_of_equal_cells_the_largest_k_of_the_policys_own_algorithm_is_chosen():
    """The same figures with more records in every class promise more, and a policy changes no more than it has to."""
    figures = made_up_prediction(
        error=0.1, risk=Estimate(total=0.1), suppressed_by_k=0, suppressed_by_confidence=None, distortion=0.1
    )
    cells = [
        Cell(algorithm=algorithm, k=k, epsilon=1, prediction=figures, refused=None)
        for algorithm in ("mondrian", POLICY.algorithm, "local-recoding")
        for k in (3, 20, 10)
    ]
    chosen = made_up(cells).choose(kepsilon.Limits(max_risk=0.2)).cell
    assert (chosen.algorithm, chosen.k) == (POLICY.algorithm, 20)


def test_best_is_a_policy_that_keeps_the_limits(grid):
    """Released with it, the expected figures are within them."""
    policy = grid.best(max_risk=0.2, max_suppression=0.05)
    record = kepsilon.anonymise(people_to_explore(), policy, unsafe_seed=1).record
    assert record["linking_risk"]["headline"]["share"] <= 0.2
    assert record["confident_k"]["total_expected"] <= 0.05


def test_why_nothing_qualifies_names_the_limit_and_the_nearest_figure(grid):
    """Either a limit that nothing keeps, or limits that nothing keeps together."""
    lowest = min(cell.prediction.linking_risk.headline.risk.total for cell in grid.cells)
    choice = grid.choose(kepsilon.Limits(max_risk=lowest / 2))
    assert f"max_risk = {lowest / 2:g} is kept by no cell" in choice.why
    assert percent(lowest) in choice.why
    least_error = min(cell.prediction.largest_error for cell in grid.cells)
    choice = grid.choose(kepsilon.Limits(max_risk=lowest, max_error=least_error))
    assert "every limit is kept by some cells, but no cell keeps all" in choice.why


@pytest.mark.parametrize(
    "limits", [{"max_risk": -0.1}, {"max_risk": 1.1}, {"max_suppression": 2}, {"max_error": float("nan")}]
)
def test_a_limit_that_is_no_share_is_refused(limits):
    """5 is not 5 %."""
    with pytest.raises(kepsilon.PolicyError, match=next(iter(limits))):
        kepsilon.Limits(**limits)


def test_a_grid_is_written_as_table_and_json(grid, tmp_path):
    """Every format has all figures, owner-only, never over another file unless asked."""
    choice = grid.choose(kepsilon.Limits(max_suppression=0.05))
    for suffix in ("csv", "json", "html"):
        grid.write(tmp_path / f"g.{suffix}", choice)
        assert (tmp_path / f"g.{suffix}").stat().st_mode & 0o077 == 0
        with pytest.raises(kepsilon.EngineError, match="exists"):
            grid.write(tmp_path / f"g.{suffix}", choice)
    with (tmp_path / "g.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    document = json.loads((tmp_path / "g.json").read_text(encoding="utf-8"))
    assert len(lines) == len(document["cells"]) == len(grid.cells)
    for line, cell in zip(lines, document["cells"], strict=True):
        assert float(line["linking_risk"]) == cell["linking_risk"]
        assert float(line["error.height.expected_relative"]) == cell["error"]["height"]["expected_relative"]
    chosen = document["cells"][document["chosen"]]
    assert (chosen["k"], chosen["epsilon"]) == (choice.cell.k, choice.cell.epsilon)
    assert chosen["within_limits"]
    assert document["limits"]["max_suppression"] == 0.05
    for path in tmp_path.iterdir():
        assert "CANARY" not in path.read_text(encoding="utf-8")
    with pytest.raises(kepsilon.EngineError, match="suffix"):
        grid.write(tmp_path / "g.pdf")


def test_no_range_to_compare_with_is_no_figure():
    """All heights agree, and a coarse range still gives noise: the range-relative error is undefined, and so distortion."""
    data = pa.table({"zip": ["1"] * 50, "height": [170.0] * 50})
    attributes = {
        "zip": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 5}},
    }
    grid = kepsilon.explore(data, kepsilon.Policy.from_dict({**DOCUMENT, "attributes": attributes}), k=[3], epsilon=[1])
    assert all(cell.prediction.distortion is None for cell in grid.cells)
    with pytest.raises(kepsilon.UnsatisfiableError, match="no cell of the grid has a defined distortion"):
        grid.best(max_error=1)


def test_a_notebook_shows_the_front(grid):
    """Figures, never records."""
    assert "CANARY" not in grid._repr_html_()
    assert grid._repr_html_().count("<tr>") == len(grid.pareto) + 1
    assert "cells" in repr(grid)


def test_the_nearest_cell_is_the_one_that_misses_least(grid):
    """By the factor of its worst miss, not by distortion."""
    lowest = min(cell.prediction.linking_risk.headline.risk.total for cell in grid.cells)
    least_error = min(cell.prediction.largest_error for cell in grid.cells)
    limits = kepsilon.Limits(max_risk=lowest, max_error=least_error)
    misses = {
        cell.name: max(
            cell.prediction.linking_risk.headline.risk.total / lowest, cell.prediction.largest_error / least_error
        )
        for cell in grid.cells
    }
    assert f"{min(misses, key=misses.get)} comes nearest" in grid.choose(limits).why


def test_what_binds_is_the_next_better_cell(grid):
    """Not the least distorted of all, which is always the riskiest corner."""
    choice = grid.choose(kepsilon.Limits(max_risk=0.1))
    by_distortion = sorted(grid.cells, key=lambda cell: cell.prediction.distortion)
    assert f"would be {by_distortion[by_distortion.index(choice.cell) - 1].name}; ruled out by max_risk" in choice.why


def test_the_policys_own_cap_is_a_limit_too():
    """A policy that `anonymise` would refuse is not chosen."""
    capped = POLICY.with_changes(max_total_suppression=0.02)
    grid = kepsilon.explore(people_to_explore(600), capped, k=[3, 5], epsilon=[0.5, 2, 16], algorithm="ola")
    choice = grid.choose()
    assert choice.cell.prediction.suppression.total <= 0.02
    assert any("max_total_suppression" in choice.limits.broken_by(cell) for cell in grid.cells)
    kepsilon.anonymise(people_to_explore(600), capped.with_changes(**grid.changes(choice.cell)), unsafe_seed=1)


@pytest.mark.parametrize("stated", ["by the curator", "in the policy", "in both"])
def test_a_limit_on_the_largest_single_risk_is_kept_by_the_choice(stated):
    """On the matcher of classes, the stricter of two limits; what is chosen passes `anonymise`, and others are ruled out."""
    limit = 0.55
    own = {"by the curator": None, "in the policy": limit, "in both": 0.9}[stated]
    asked = {"by the curator": limit, "in the policy": None, "in both": limit}[stated]
    limited = POLICY.with_changes(max_individual_risk=own)
    grid = kepsilon.explore(people_to_explore(600), limited, k=[3, 5], epsilon=[0.1, 0.5, 2, 16], algorithm="ola")
    choice = grid.choose(kepsilon.Limits(max_individual_risk=asked))
    assert choice.limits.max_individual_risk == limit
    keeps = [cell for cell in grid.cells if cell.prediction.linking_risk.largest_possible_by_matching <= limit]
    assert 0 < len(keeps) < len(grid.cells)
    assert choice.cell == min(keeps, key=lambda cell: cell.prediction.distortion)
    assert all(("max_individual_risk" in choice.limits.broken_by(cell)) is (cell not in keeps) for cell in grid.cells)
    assert "ruled out by max_individual_risk (largest single risk" in choice.why
    best = grid.best(max_individual_risk=asked)
    assert (best.k, best.epsilon) == (choice.cell.k, choice.cell.epsilon)
    kepsilon.anonymise(people_to_explore(600), best.with_changes(max_individual_risk=limit), unsafe_seed=1)
    between = [
        cell for cell in grid.cells if cell.prediction.linking_risk.largest_possible <= limit and cell not in keeps
    ]
    assert between, "some cell would pass if the limit were on an attacker of single records"


def test_one_value_needs_no_list_and_an_empty_list_is_refused():
    """k=5 is what people type."""
    grid = kepsilon.explore(people_to_explore(200), POLICY, k=5, epsilon=2, algorithm="ola")
    assert [(cell.k, cell.epsilon, cell.algorithm) for cell in grid.cells] == [(5, 2, "ola")]
    with pytest.raises(kepsilon.PolicyError, match="algorithm: no value"):
        kepsilon.explore(people_to_explore(200), POLICY, algorithm=[])


def test_too_large_a_k_is_refused_for_its_own_reason():
    """Not for missing values that nobody misses."""
    grid = kepsilon.explore(people_to_explore(200), POLICY, k=[3, 201], epsilon=1)
    assert {cell.refused for cell in grid.cells if cell.k == 201} == {
        "k = 201, but only 200 records are there to be released."
    }


def test_without_an_epsilon_quasi_only_one_epsilon_is_looked_at():
    """Nothing depends on it; the risk is that of guessing within the class."""
    attributes = {name: a for name, a in DOCUMENT["attributes"].items() if name != "height"}
    document = {**DOCUMENT, "attributes": attributes, "unlisted_columns": "drop"}
    del document["confidence"]
    grid = kepsilon.explore(people_to_explore(300), kepsilon.Policy.from_dict(document), k=[3, 5])
    assert [cell.k for cell in grid.cells] == [3, 5] * 3
    for cell in grid.cells:
        released = round(300 * (1 - cell.prediction.suppressed_by_k))
        assert cell.prediction.linking_risk.fair.total == pytest.approx(cell.prediction.classes.count / released)


@pytest.mark.parametrize(
    ("settings", "does"),
    [
        ({"epsilon": [2]}, "matches a whole class one to one"),
        ({"epsilon": [2], "group": [10]}, "matches a whole class one to one or, with averages, makes the same groups"),
    ],
    ids=["noise", "averages too"],
)
def test_the_largest_single_risk_is_said_to_be_of_who_it_is_of(settings, does):
    """Records of a group publish one average, so that there is nothing to match; the figure is another attacker's."""
    policy = kepsilon.Policy.from_dict({own: DOCUMENT[own] for own in DOCUMENT if own != "confidence"})
    found = kepsilon.explore(people_to_explore(200), policy, k=[5], **settings)
    said = f"how sure whoever knows zip, year, height of everybody and {does}, without the help of kept columns, can be"
    assert said in found.about_single_risk
    assert said in explore_page(found, found.choose())
