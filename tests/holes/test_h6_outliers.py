# SPDX-License-Identifier: Apache-2.0
"""H6: with `range = "class"` the size of the noise gives an outlier away, whatever ε, and kepsilon says how well."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest

import kepsilon as ke

POLICY = """
k = {k}
epsilon = {epsilon}
algorithm = "ola"
max_suppression = 0
[attributes.town]
role = "k-quasi"
hierarchy = {{ type = "suppress" }}
[attributes.income]
role = "epsilon-quasi"
precision = 10
range = {range}
"""
OUTLIER = 1_000_000


def towns(size: int, n_towns: int, *, with_outliers: bool = True) -> dict[str, np.ndarray]:
    """Ordinary incomes in towns of one size; the first record of each town may be an outlier."""
    rng = np.random.default_rng(size)
    incomes = rng.normal(30_000, 5_000, (n_towns, size)).clip(22_000, 38_000).round(-1)
    incomes[:, 1:3] = 22_000, 38_000
    if with_outliers:
        incomes[:, 0] = OUTLIER
    return {"town": np.repeat(np.arange(n_towns), size), "income": incomes.reshape(-1).astype(np.int64)}


def written(folder, columns, **settings):
    """The towns as a CSV file, and the policy."""
    data, policy = folder / "data.csv", folder / "policy.toml"
    lines = (f"t{town:05},{income}" for town, income in zip(columns["town"], columns["income"], strict=True))
    data.write_text("\n".join(["town,income", *lines]) + "\n", encoding="utf-8")
    policy.write_text(POLICY.format(**{"epsilon": 1, "range": '"class"', **settings}), encoding="utf-8")
    return data, policy


def recovered(folder, columns, size, **settings) -> float:
    """The share of towns whose outlier the attacker works out within 25 %, from one release with a linkage.

    He knows everybody else's income, and which published values are theirs: the mean size of their noise times ε is his
    estimate of the range, and the smallest income, which he knows, is its other end.
    """
    data, policy = written(folder, columns, k=size, **settings)
    release = ke.anonymise(data, ke.Policy.from_file(policy), unsafe_seed=13)
    release.write(folder / "out.csv", linkage=folder / "linkage.csv")
    linkage = np.loadtxt(folder / "linkage.csv", delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.int64)
    published = np.loadtxt(folder / "out.csv", delimiter=",", skiprows=1, usecols=1)
    drawn = np.empty(len(published))
    drawn[linkage[:, 0]] = published[linkage[:, 1]]
    noise = np.abs(drawn - columns["income"]).reshape(-1, size)[:, 1:]
    estimates = 22_000 + ke.Policy.from_file(policy).epsilon * noise.mean(axis=1)
    return float(np.mean(np.abs(estimates - OUTLIER) <= 0.25 * OUTLIER))


@pytest.mark.parametrize(("size", "n_towns", "reviewed"), [(10, 400, 0.57), (100, 200, 0.98), (1_000, 40, 1.0)])
@pytest.mark.parametrize("epsilon", [1, 0.05])
def test_h6_check_says_how_well_an_outlier_is_recovered(tmp_path, kepsilon_command, size, n_towns, reviewed, epsilon):
    """Its figure is what the attacker reaches in drawn releases, and what the review measured, at both ε."""
    columns = towns(size, n_towns)
    share = recovered(tmp_path, columns, size, epsilon=epsilon)
    assert abs(share - reviewed) < 5 * np.sqrt(0.25 / n_towns)
    told = kepsilon_command("check", tmp_path / "data.csv", "-p", tmp_path / "policy.toml", "--json")
    assert told.code == 0, told.err
    assert "outliers" in json.loads(told.out), "nothing is said of outliers"
    found = json.loads(told.out)["outliers"]["income"]
    assert (found["classes"], found["standing_out"], found["recoverable"]) == (n_towns, n_towns, n_towns)
    deviation = np.sqrt(max(found["likeliest"] * (1 - found["likeliest"]), 1 / n_towns) / n_towns)
    assert abs(found["likeliest"] - share) < 5 * deviation


def test_h6_words_name_the_attacker_and_the_figures(tmp_path, kepsilon_command):
    """On the screen, in the curator's record and in the report; not in the manifest."""
    columns = towns(100, 12, with_outliers=False)
    columns["income"][0] = OUTLIER
    data, policy = written(tmp_path, columns, k=100)
    told = kepsilon_command("check", data, "-p", policy)
    words = " ".join(told.out.split())
    assert "in 1 of 12 classes one record's income stands out and can be worked out within 25%" in words
    assert "by an attacker who knows all other records of the class and which published values are theirs" in words
    assert re.search(r"the likeliest: 9[89]\.?\d* %", words)
    assert "whatever epsilon is" in words
    output, report = tmp_path / "out.csv", tmp_path / "report.html"
    assert kepsilon_command("anonymise", data, "-p", policy, "-o", output, "--report", report).code == 0
    record = json.loads((tmp_path / "out.csv.curator.json").read_text(encoding="utf-8"))
    assert record["outliers"]["income"]["recoverable"] == 1
    assert "outliers" not in json.loads((tmp_path / "out.csv.manifest.json").read_text(encoding="utf-8"))
    assert "In 1 class one record's income stands out" in report.read_text(encoding="utf-8").replace("&#39;", "'")


@pytest.mark.parametrize(
    ("range_", "is_said"),
    [('"class"', True), ("{ coarse = 1000 }", True), ("{ coarse = 5000000 }", False), ("[0, 2000000]", False)],
    ids=["class", "small step", "large step", "declared"],
)
def test_h6_a_range_that_hides_the_outlier_is_not_warned_of(tmp_path, kepsilon_command, range_, is_said):
    """A step far coarser than the outlier, or declared bounds, show nothing of it: the mirror of the warning."""
    data, policy = written(tmp_path, towns(100, 3), k=100, range=range_)
    told = kepsilon_command("check", data, "-p", policy)
    assert told.code == 0, told.err
    assert ("stands out and can be worked out" in " ".join(told.out.split())) is is_said


def test_h6_values_that_do_not_stand_out_are_not_counted(tmp_path, kepsilon_command):
    """An attacker who knows a neighbour's value within 25 % needs no noise to tell him."""
    data, policy = written(tmp_path, towns(100, 3, with_outliers=False), k=100)
    told = kepsilon_command("check", data, "-p", policy, "--json")
    assert json.loads(told.out)["outliers"] == {
        "income": {"within": 0.25, "classes": 3, "standing_out": 0, "recoverable": 0, "likeliest": None}
    }


def proposed(folder, columns) -> dict:
    """The attributes that `init` proposes for columns of text."""
    data = folder / "data.csv"
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tomllib.loads(ke.propose_policy(data))["attributes"]


def measures(n: int = 2_000) -> dict[str, list[str]]:
    rng = np.random.default_rng(7)
    return {
        "height": [f"{v:.1f}" for v in rng.normal(171, 9, n)],
        "weight_change": [f"{v:.1f}" for v in rng.normal(0, 4, n)],
        "distance_km": [f"{v:.3f}" for v in rng.lognormal(2, 1, n)],
        "steps_per_day_count": [f"{v:.0f}" for v in rng.lognormal(8, 0.6, n)],
    }


def test_h6_init_proposes_public_ranges_and_domains(tmp_path):
    """Never "class"; a domain that begins at 0 where no value is negative; all of it marked to be edited."""
    attributes = proposed(tmp_path, measures())
    for name, attribute in attributes.items():
        assert attribute["role"] == "epsilon-quasi", name
        assert attribute["range"] != "class"
        if name == "weight_change":
            assert "domain" not in attribute
        else:
            assert attribute["domain"][0] == 0
    text = ke.propose_policy(tmp_path / "data.csv")
    marked = [line for line in text.splitlines() if line.startswith(("range =", "domain ="))]
    assert len(marked) == 7
    assert all("edit me: must not come from the data" in line for line in marked)


def test_h6_what_init_proposes_is_round(tmp_path):
    """1, 2 or 5 times a power of ten: left unedited, it tells no more than roughly how far the values reach."""
    for name, attribute in proposed(tmp_path, measures()).items():
        numbers = [attribute["range"]["coarse"]] if isinstance(attribute["range"], dict) else attribute["range"]
        for number in (*numbers, *attribute.get("domain", ())):
            assert f"{number:e}"[0] in "0125", name
            assert float(f"{number:.0e}") == number, name


def test_h6_the_proposal_of_init_can_be_released(tmp_path, kepsilon_command):
    """With k, epsilon and max_suppression set, and nothing else edited."""
    proposed(tmp_path, measures())
    text = ke.propose_policy(tmp_path / "data.csv")
    for key in ("k", "epsilon", "max_suppression"):
        text = text.replace(f"# {key} = ", f"{key} = ", 1)
    policy = tmp_path / "policy.toml"
    policy.write_text(text, encoding="utf-8")
    told = kepsilon_command("anonymise", tmp_path / "data.csv", "-p", policy, "-o", tmp_path / "out.csv")
    assert told.code == 0, told.err
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    heights = [float(line.split(",")[0]) for line in lines[1:]]
    assert min(heights) >= 0
