# SPDX-License-Identifier: Apache-2.0
"""F9: the expected error honours `domain`, and limits on suppression count everything that leaves."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import kepsilon as ke

INCOMES = """
k = 20
epsilon = {epsilon}
algorithm = "ola"
max_suppression = 0.1
[attributes.region]
role = "k-quasi"
hierarchy = {{ type = "suppress" }}
[attributes.income]
role = "epsilon-quasi"
precision = 10
range = {range}
domain = [0, 60000]
"""


def incomes(n: int = 20_000) -> dict[str, list[str]]:
    """Skewed incomes in a hundred regions: noise often leads out of the domain."""
    rng = np.random.default_rng(13)
    values = np.clip(rng.lognormal(9.5, 0.7, n), 1_000, 58_000).round(-1)
    return {"region": [f"r{i % 100:02}" for i in range(n)], "income": [f"{value:.0f}" for value in values]}


def written(tmp_path, columns, text):
    """The columns as a CSV file, and the policy beside it."""
    data, policy = tmp_path / "data.csv", tmp_path / "policy.toml"
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    policy.write_text(text, encoding="utf-8")
    return data, policy


@pytest.mark.parametrize("range_", ['"class"', "{ coarse = 5000 }", "[0, 50000]"], ids=["class", "coarse", "declared"])
@pytest.mark.parametrize("epsilon", [0.5, 2, 8])
def test_f9_the_expected_error_is_that_of_values_clamped_to_the_domain(tmp_path, range_, epsilon):
    """20,000 records: the mean drawn error is within five standard errors of the expected one.

    A term is at most about 60, so that the standard error of the mean is estimated from the drawn errors themselves.
    """
    data, policy = written(tmp_path, incomes(), INCOMES.format(range=range_, epsilon=epsilon))
    release = ke.anonymise(data, ke.Policy.from_file(policy), unsafe_seed=1)
    release.write(tmp_path / "out.csv", linkage=tmp_path / "linkage.csv")
    true = np.array([float(value) for value in incomes()["income"]])
    rows = np.loadtxt(tmp_path / "linkage.csv", delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.int64)
    drawn = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1, usecols=1)
    errors = np.abs(drawn[rows[:, 1]] - true[rows[:, 0]]) / true[rows[:, 0]]
    error = release.record["error"]["income"]
    assert error["realised_relative"] == pytest.approx(errors.mean())
    assert abs(error["expected_relative"] - errors.mean()) < 5 * errors.std() / np.sqrt(len(errors))


def test_f9_explore_expects_the_error_that_a_release_has(tmp_path, kepsilon_command):
    """The grid's error is the one that is drawn, for every ε."""
    data, policy = written(tmp_path, incomes(4_000), INCOMES.format(range='"class"', epsilon=1))
    told = kepsilon_command("explore", data, "-p", policy, "--k", "20", "--epsilon", "0.5,4", "--json")
    assert told.code == 0
    cells = {(cell["algorithm"], cell["epsilon"]): cell for cell in json.loads(told.out)["cells"]}
    for epsilon in (0.5, 4):
        policy.write_text(INCOMES.format(range='"class"', epsilon=epsilon), encoding="utf-8")
        record = ke.anonymise(data, ke.Policy.from_file(policy), unsafe_seed=2).record
        cell = cells["ola", epsilon]
        assert cell["error"]["income"]["expected_relative"] == pytest.approx(
            record["error"]["income"]["realised_relative"], rel=0.1
        )


TWO = """
k = 10
epsilon = 4
algorithm = "ola"
max_suppression = 0
[attributes.region]
role = "k-quasi"
hierarchy = { type = "suppress" }
[attributes.height]
role = "epsilon-quasi"
precision = 0.1
range = "class"
domain = [140, 200]
[attributes.days]
role = "epsilon-quasi"
precision = 1
range = [0, 40]
domain = [0, 60]
"""


def test_f9_the_expected_error_of_several_attributes_honours_their_domains(tmp_path):
    """Two attributes have noise of another shape; some originals are clipped, and some lie outside the domain."""
    rng = np.random.default_rng(5)
    n = 20_000
    values = {"height": rng.normal(172, 14, n).round(1), "days": rng.geometric(0.08, n).astype(float)}
    columns = {"region": [f"r{i % 40:02}" for i in range(n)]}
    data, policy = written(tmp_path, columns | {name: [f"{v:g}" for v in own] for name, own in values.items()}, TWO)
    error = ke.anonymise(data, ke.Policy.from_file(policy), unsafe_seed=3).record["error"]
    for name in values:
        assert error[name]["expected_relative"] == pytest.approx(error[name]["realised_relative"], rel=0.03)


WITH_GAPS = """
k = 3
epsilon = 2
algorithm = "mondrian"
max_suppression = 0
{more}
[attributes.sex]
role = "k-quasi"
hierarchy = {{ type = "groups", levels = [ {{ "any" = ["F", "M"] }} ] }}
unlisted = "suppress"
[attributes.height]
role = "epsilon-quasi"
precision = 1
range = "class"
"""
N_GAPS, N_READ = 355 + 40, 1000


def with_gaps() -> dict[str, list[str]]:
    """A thousand records, of which 355 lack their height and 40 others have an unlisted sex."""
    heights = ["" if i < 355 else str(150 + i % 40) for i in range(N_READ)]
    return {"sex": ["X" if i >= 960 else "FM"[i % 2] for i in range(N_READ)], "height": heights}


def test_f9_max_suppression_counts_missing_and_unlisted_records(tmp_path, kepsilon_command):
    """39.5 % go: no cell keeps a limit of 39 %, and each keeps one of 40 %."""
    data, policy = written(tmp_path, with_gaps(), WITH_GAPS.format(more=""))
    few = (
        "explore",
        data,
        "-p",
        policy,
        "--k",
        "3,5",
        "--epsilon",
        "1",
        "--algorithm",
        "mondrian",
        "--max-suppression",
    )
    assert kepsilon_command(*few, "0.39").code == 3
    assert kepsilon_command(*few, "0.4").code == 0


@pytest.mark.parametrize("suffix", [".csv", ".json", ".html"])
def test_f9_a_grid_says_how_many_are_left_out_altogether(tmp_path, kepsilon_command, suffix):
    """On the screen, in the table, in JSON and on the page: "0 % left out" where 39.5 % go must be impossible."""
    data, policy = written(tmp_path, with_gaps(), WITH_GAPS.format(more=""))
    output = tmp_path / f"grid{suffix}"
    told = kepsilon_command("explore", data, "-p", policy, "--k", "3", "--epsilon", "1", "-o", output)
    assert told.code == 0
    assert "39.5 %" in " ".join(told.out.split())
    text = output.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    if suffix == ".html":
        assert "39.5 %" in text
        return
    cells = json.loads(text)["cells"] if suffix == ".json" else list(csv.DictReader(text.splitlines()))
    for cell in cells:
        if not cell["refused"]:
            assert float(cell["suppression"]) == pytest.approx(N_GAPS / N_READ)
            parts = ("suppressed_missing", "suppressed_unlisted", "suppressed_by_k")
            assert sum(float(cell[name]) for name in parts) == pytest.approx(N_GAPS / N_READ)


def test_f9_max_total_suppression_counts_missing_and_unlisted_records(tmp_path, kepsilon_command):
    """The policy's own cap: refused before any noise is drawn, with each cause."""
    for cap, code in ((0.39, 3), (0.4, 0)):
        data, policy = written(tmp_path, with_gaps(), WITH_GAPS.format(more=f"max_total_suppression = {cap}"))
        for command in (("check", data), ("anonymise", data, "-o", tmp_path / f"out{cap}.csv")):
            told = kepsilon_command(*command, "-p", policy)
            assert told.code == code, told.err
            if code:
                for figure in ("35.5 %", "4 %", "39.5 %"):
                    assert figure in told.err
                assert not (tmp_path / f"out{cap}.csv").exists()


def test_f9_confidence_and_missing_values_together_reach_the_cap(tmp_path, kepsilon_command):
    """Neither alone is above the cap; the share of confidence is one of the records read."""
    more = "confidence = 0.9\nmax_total_suppression = {cap}"
    data, policy = written(
        tmp_path,
        with_gaps(),
        WITH_GAPS.format(more=more.format(cap=1)).replace("k = 3", "k = 100").replace("epsilon = 2", "epsilon = 8"),
    )
    told = kepsilon_command("check", data, "-p", policy, "--json")
    assert told.code == 0, told.err
    entering = N_READ - N_GAPS
    share = json.loads(told.out)["confident_k"]["expected"] * entering / N_READ
    assert 0.02 < share < 0.4
    for cap, code in ((0.395 + share - 0.005, 3), (0.395 + share + 0.005, 0)):
        policy.write_text(
            WITH_GAPS.format(more=more.format(cap=cap))
            .replace("k = 3", "k = 100")
            .replace("epsilon = 2", "epsilon = 8"),
            encoding="utf-8",
        )
        assert kepsilon_command("check", data, "-p", policy).code == code


def test_f9_a_share_exactly_at_the_cap_is_not_above_it(tmp_path, kepsilon_command):
    """One of ten records lacks a value and two are unlisted; as doubles, 0.1 + 0.2 is more than 0.3."""
    columns = {"sex": ["F"] * 8 + ["X"] * 2, "height": ["", *(str(150 + i) for i in range(9))]}
    text = WITH_GAPS.format(more="max_total_suppression = 0.3")
    data, policy = written(tmp_path, columns, text)
    assert kepsilon_command("check", data, "-p", policy).code == 0
    limited = ("explore", data, "-p", policy, "--k", "3", "--epsilon", "1", "--max-suppression", "0.3")
    assert kepsilon_command(*limited).code == 0
