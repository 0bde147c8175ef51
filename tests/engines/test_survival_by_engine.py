# SPDX-License-Identifier: Apache-2.0
"""What survives, as every engine measures it, against the `statistics` module on original and release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.evaluate.survival.figures import Survival
from material.engine_cases import EVERY, MEMORY, SEED, Case, document, release
from oracles import survival as oracle

PLAIN = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
OPENLY = {"role": "insensitive", "accept_leak": "made-up records"}


def people(n: int, *, zips: np.ndarray | None = None, person: bool = False) -> dict[str, Any]:
    """Heights and weights that go together, and with a pressure that is kept, as numbers and, with nulls, as text."""
    rng = np.random.default_rng(SEED)
    zips = np.minimum(rng.zipf(1.6, n), 60) if zips is None else zips
    height = np.round(rng.normal(170, 9, n), 1)
    weight = np.round(0.9 * (height - 100) + rng.normal(0, 9, n), 1)
    pressure = np.round(90 + 0.5 * weight + rng.normal(0, 9, n))
    return {
        "name": [f"CANARY-{i // 2 if person else i}" for i in range(n)],
        "zip": [f"{z:05d}" for z in zips.tolist()],
        "sex": np.array(["F", "M"])[rng.integers(0, 2, n)].tolist(),
        "height": height,
        "weight": weight,
        "pressure": pressure,
        "pulse": [None if i % 7 == 0 else f"{p:.0f}" for i, p in enumerate(70 + 0.2 * height + rng.normal(0, 4, n))],
        "illness": [f"illness {i}" for i in rng.integers(0, 12, n)],
    }


def case(
    columns: dict[str, Any], *, memory: int = 8 * MEMORY, height: Any = PLAIN, weight: Any = PLAIN, **top: Any
) -> Case:
    policy = document(height=height, weight=weight, pressure=OPENLY, pulse=OPENLY, illness=OPENLY)
    del policy["attributes"]["score"]
    if weight is None:
        policy["attributes"]["weight"] = OPENLY
    return Case(pa.table(columns), {**policy, **top}, memory=memory)


def missing() -> Case:
    columns = people(1_500)
    columns["weight"] = [None if i % 3 == 0 else w for i, w in enumerate(columns["weight"].tolist())]
    return case(columns, weight={**PLAIN, "missing": "class"})


def constant() -> Case:
    """Every class agrees on height, which has no noise then."""
    columns = people(1_200, zips=np.arange(1_200) % 8)
    columns["height"] = np.array([160.0 + int(z) for z in columns["zip"]])
    columns["sex"] = ["F"] * 1_200
    return case(columns, max_suppression=0)


CASES = {
    "suppressed": case(people(1_500), max_suppression=0.3, loss="dm*"),
    "nobody suppressed": case(people(1_500, zips=np.arange(1_500) % 5), max_suppression=0),
    "missing": missing(),
    "constant classes": constant(),
    "clipped": case(people(1_500), height={**PLAIN, "range": [165, 175]}, weight={**PLAIN, "domain": [40, 100]}),
    "confident": case(people(1_500), confidence=0.9, epsilon=8),
    "persons": case(people(1_500, person=True), person="name", epsilon_per="record"),
    "a class in parts": case(
        {**people(6_000, zips=np.zeros(6_000, dtype=int)), "sex": ["F"] * 6_000},
        weight=None,
        memory=MEMORY,
        max_suppression=0,
    ),
}


def measured(case: Case, engine: str, folder: Path) -> tuple[kepsilon.Release, pa.Table, np.ndarray, np.ndarray]:
    """A release, its table, and for each released record its original row and its class."""
    made = release(case, engine, folder)
    made.write(folder / "out.parquet", linkage=folder / "linkage.parquet")
    linkage = parquet.read_table(folder / "linkage.parquet").sort_by("released_row")
    return (
        made,
        parquet.read_table(folder / "out.parquet"),
        linkage.column("original_row").to_numpy(),
        linkage.column("class_id").to_numpy(),
    )


def numbers(table: pa.Table, rows: np.ndarray | None = None) -> dict[str, list[float | None]]:
    taken = table if rows is None else table.take(pa.array(rows))
    names = [name for name in ("height", "weight", "pressure", "pulse") if name in table.column_names]
    return {name: [None if v is None else float(v) for v in taken.column(name).to_pylist()] for name in names}


def check(found: Survival, expected: dict[str, Any]) -> None:
    """Every figure before and after, where one is None both are."""
    shown = {"mean": found.mean, "spread": found.spread, **found.quantiles.by_percent}
    for other, own in found.relations.items():
        shown |= {f"correlation {other}": own.correlation, f"slope {other}": own.slope}
    assert set(shown) == set(expected)
    for key, (before, after) in expected.items():
        for stated, known in ((shown[key].before, before), (shown[key].after, after)):
            assert stated == (known if known is None else pytest.approx(known, rel=1e-9, abs=1e-9)), key
    assert found.measured_on is None
    assert found.quantiles.measured_on is None


ON_SPARK = ("suppressed", "a class in parts")
"""Two cases tell whether Spark hands over what it should."""


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param(name, *engine.values, marks=engine.marks)
        for name in CASES
        for engine in EVERY
        if engine.values != ("spark",) or name in ON_SPARK
    ],
)
def test_what_survives_is_what_the_statistics_module_finds(name, engine, tmp_path):
    """Before over all counted records, also those left out for k; after over the released ones."""
    own = CASES[name]
    made, released, rows, classes = measured(own, engine, tmp_path)
    names = [n for n in ("height", "weight") if own.policy["attributes"][n]["role"] == "epsilon-quasi"]
    counted = own.table
    before, after = numbers(counted), numbers(released)
    expected = oracle.survival(before, after, names, k=5)
    assert list(made.record.survives) == names
    true = numbers(counted, rows)
    for attribute in names:
        found = made.record.survives[attribute]
        check(found, expected[attribute])
        moved = [abs(a - b) for a, b in zip(true[attribute], after[attribute], strict=True) if a is not None]
        assert found.error.realised == pytest.approx(sum(moved) / len(moved), abs=1e-9)
        inside = oracle.inside_classes(true[attribute], after[attribute], classes)
        assert found.correlation.inside_classes == (inside if inside is None else pytest.approx(inside, abs=1e-9))
        if own.policy.get("confidence") is None:  # otherwise records are gone that the constant is for
            constant = oracle.error_of_best_constant(true[attribute], classes)
            assert found.error_of_best_constant.absolute == pytest.approx(constant, rel=1e-9, abs=1e-12)


def test_records_left_out_show_in_what_was_before(tmp_path):
    """Or a release without the rare would look like the data."""
    own = CASES["suppressed"]
    made, _, rows, _ = measured(own, "in memory", tmp_path)
    assert made.record.records.suppressed_by_k > 20
    only = numbers(own.table, rows)["height"]
    everybody = numbers(own.table)["height"]
    assert sum(only) / len(only) != pytest.approx(sum(everybody) / len(everybody), rel=1e-9)
    assert made.record.survives["height"].mean.before == pytest.approx(sum(everybody) / len(everybody), rel=1e-12)


@pytest.mark.parametrize("engine", ["in memory", "spilling"])
def test_a_sample_says_that_it_is_one(engine, tmp_path, monkeypatch):
    """Quantiles and kept columns come from a sample of large tables; moments of ε-quasis are of all records."""
    monkeypatch.setattr("kepsilon.evaluate.pictures.MOST_SAMPLED", 600)
    own = CASES["nobody suppressed"]
    made, released, _, _ = measured(own, engine, tmp_path)
    found = made.record.survives["height"]
    expected = oracle.survival(numbers(own.table), numbers(released), ["height", "weight"], k=5)["height"]
    assert found.measured_on is None
    assert found.mean.before == pytest.approx(expected["mean"][0], rel=1e-12)
    assert found.relations["weight"].measured_on is None
    for words in (found.quantiles.measured_on, found.relations["pressure"].measured_on):
        assert words == "600 of 1,500 records in classes"
    assert found.quantiles.by_percent["50"].before == pytest.approx(expected["50"][0], abs=1.5)
    assert found.relations["pressure"].slope.before == pytest.approx(expected["slope pressure"][0], abs=0.2)


def test_records_left_out_can_be_a_sample_too(tmp_path, monkeypatch):
    """Each of them then stands for several, and the record says so."""
    monkeypatch.setattr("kepsilon.predict.whole_records.FEWEST_RECORDS", 40)
    monkeypatch.setattr("kepsilon.predict.whole_records.MOST_RECORDS", 40)
    own = CASES["suppressed"]
    made, _, _, _ = measured(own, "in memory", tmp_path)
    found = made.record.survives["height"]
    assert "left out for k" in found.measured_on
    everybody = numbers(own.table)["height"]
    assert found.mean.before == pytest.approx(sum(everybody) / len(everybody), abs=0.5)


def test_nothing_of_it_is_in_the_manifest_or_the_release(tmp_path):
    """It is made from true values, so it is for the curator alone."""
    made, _, _, _ = measured(CASES["suppressed"], "in memory", tmp_path)
    public = (tmp_path / "out.parquet.manifest.json").read_text()
    assert "survives" not in public
    mean = made.record.survives["height"].mean.before
    assert repr(mean)[:10] not in public
    assert "survives" in (tmp_path / "out.parquet.curator.json").read_text()
    assert (tmp_path / "out.parquet.curator.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "wrong", ["published in place of true values", "class means left in", "all records as if they stayed"]
)
def test_mutants_are_caught(wrong, tmp_path, monkeypatch):
    """A measure that is wrong in one of these ways does not agree with the oracle."""
    from kepsilon.evaluate.survival import collected

    honest = collected.survival_sums

    def mutant(values, published, class_ids, stays, *, n_classes):
        if wrong == "published in place of true values":
            values = published
        elif wrong == "class means left in":
            class_ids, n_classes = np.zeros_like(class_ids), 1
        else:
            stays = np.ones_like(stays)
        return honest(values, published, class_ids, stays, n_classes=n_classes)

    monkeypatch.setattr("kepsilon.draw.survival_sums", mutant)
    with pytest.raises(AssertionError):
        test_what_survives_is_what_the_statistics_module_finds("confident", "in memory", tmp_path)
