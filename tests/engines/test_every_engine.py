# SPDX-License-Identifier: Apache-2.0
"""Whatever engine moves the records: the same classes and expected figures, whole records, and noise of the same law."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.engines.local.engine import LocalEngine
from material.engine_cases import (
    CASES,
    EVERY,
    OTHERS,
    SEED,
    confident_giant,
    giant_class,
    many_k_quasis,
    plain,
    rare_categories,
    release,
)

REALISED = ("realised", "realised_relative", "realised_range_relative", "realised_paper_ties", "total_realised")
MADE = ("created", "digest", "seconds", "largest", "over_half", "over_nine_tenths", "reidentification", "engine")
DRAWN = {
    "records": ("released", "suppressed_by_confidence"),
    "classes": ("count", "smallest", "largest", "mean"),
    "promise": ("sentence",),
}
"""What depends on the noise where confident k is asked for."""


@pytest.fixture(scope="module", params=list(CASES))
def hard(request, tmp_path_factory):
    """A hard table with a folder of its own; every engine releases it once for all tests that only look."""
    case = CASES[request.param]()
    folder = tmp_path_factory.mktemp("hard")
    return Hard(case.table, case.policy, functools.cache(lambda engine: release(case, engine, folder)))


@dataclass(frozen=True)
class Hard:
    table: pa.Table
    policy: dict[str, Any]
    by: Callable[[str], kepsilon.Release]


def expected_figures(record: dict[str, Any]) -> dict[str, Any]:
    """All of a record that does not depend on how the noise came out."""
    drawn = DRAWN if record["policy"].get("confidence") else {}

    def without(found: Any, leave_out: tuple[str, ...] = ()) -> Any:
        if isinstance(found, list):
            return [without(own) for own in found]
        if not isinstance(found, dict):
            return found
        names = (*REALISED, *MADE, *leave_out)
        return {name: without(value, drawn.get(name, ())) for name, value in found.items() if name not in names}

    kept = without(record)
    for name, survives in kept["survives"].items():  # the others are compared in test_survival_by_engine
        kept["survives"][name] = {key: survives[key] for key in ("error", "error_of_best_constant")}
    for own, attacker in zip(kept["attackers"], record["attackers"], strict=True):
        own["largest"] = attacker["largest"]  # unlike that of the linking risk, it is known before noise is drawn
    if not drawn:
        kept["classes"] = record["classes"]
        kept["reidentification"] = record["reidentification"]
    return kept


def same(one: Any, other: Any, path: str = "") -> None:
    """Whole numbers and words exactly, figures to 1e-12."""
    assert type(one) is type(other), path
    if isinstance(one, dict):
        assert list(one) == list(other), path
        for name in one:
            same(one[name], other[name], f"{path}.{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for i, (own, others) in enumerate(zip(one, other, strict=True)):
            same(own, others, f"{path}.{i}")
    elif isinstance(one, float):
        assert math.isclose(one, other, rel_tol=1e-12, abs_tol=0), path
    else:
        assert one == other, path


@pytest.mark.parametrize("engine", OTHERS)
def test_same_classes_levels_counts_and_expected_figures(hard, engine):
    """Deterministic figures do not depend on how records are moved."""
    here, there = hard.by("in memory"), hard.by(engine)
    same(expected_figures(here.record.to_json()), expected_figures(there.record.to_json()))


@pytest.mark.parametrize("engine", OTHERS)
def test_same_labels_and_schema(hard, engine, tmp_path):
    """Every class shows the same labels on as many records, in the same kinds of columns."""
    tables = {}
    for name in ("in memory", engine):
        hard.by(name).write(tmp_path / f"{name}.parquet")
        tables[name] = parquet.read_table(tmp_path / f"{name}.parquet")
    here, there = tables["in memory"], tables[engine]
    assert there.schema.equals(here.schema, check_metadata=True)
    if "confidence" not in hard.policy:
        k_quasis = [name for name, own in hard.policy["attributes"].items() if own["role"] == "k-quasi"]
        assert labels(here, k_quasis) == labels(there, k_quasis)


def labels(table: pa.Table, names: list[str]) -> dict[tuple[Any, ...], int]:
    counts: dict[tuple[Any, ...], int] = {}
    for shown in zip(*(table.column(name).to_pylist() for name in names), strict=True):
        counts[shown] = counts.get(shown, 0) + 1
    return counts


@pytest.mark.parametrize("engine", EVERY)
def test_records_stay_whole(hard, engine):
    """What is kept of a record is beside its own labels; nobody is there twice, and the canaries are gone."""
    released = hard.by(engine)
    roles = {name: own["role"] for name, own in hard.policy["attributes"].items()}
    kept = [name for name, role in roles.items() if role in ("sensitive", "insensitive")]
    original, table, links = hard.table, released.frame, released.linkage
    rows = links.column("original_row").to_numpy()
    assert links.column("released_row").to_pylist() == list(range(len(table)))
    assert len(np.unique(rows)) == len(rows) == released.record["records"]["released"]
    for name in kept:
        assert original.column(name).take(pa.array(rows)).to_pylist() == table.column(name).to_pylist()
    masked = next(name for name, role in roles.items() if role == "k-quasi")
    values = original.column(masked).take(pa.array(rows)).to_pylist()
    assert all(mask_covers(*pair) for pair in zip(table.column(masked).to_pylist(), values, strict=True))
    assert not any("CANARY" in str(row) for row in table.slice(0, 200).to_pylist())


def mask_covers(label: str | None, value: str | None) -> bool:
    """Whether a masked code may stand for a value; only stars may stand for null."""
    if label is None or value is None:
        return label == value or set(label or "") == {"*"}
    return len(label) == len(value) and all(shown in ("*", own) for shown, own in zip(label, value, strict=True))


@pytest.mark.parametrize("engine", EVERY)
def test_noise_has_the_size_that_was_expected(engine, tmp_path):
    """Mean distance and its square over a class in parts, against the law of the noise: |z| < 5."""
    case = giant_class()
    released = release(case, engine, tmp_path, seed=SEED)
    values = case.table.column("height").to_numpy()
    scale = (values.max() - values.min()) / 2
    rows = released.linkage.column("original_row").to_numpy()
    sizes = np.abs(released.frame.column("height").to_numpy() - values[rows]) / scale
    n = len(sizes)
    assert abs(sizes.mean() - 1) * math.sqrt(n) < 5
    assert abs((sizes**2).mean() - 2) * math.sqrt(n / 20) < 5


@pytest.mark.parametrize("engine", EVERY)
def test_realised_figures_are_those_of_what_was_published(engine, tmp_path):
    """Worked out again from the release and the linkage, record by record."""
    case = confident_giant()
    released = release(case, engine, tmp_path)
    values = case.table.column("height").to_numpy()
    rows = released.linkage.column("original_row").to_numpy()
    published = released.frame.column("height").to_numpy()
    error = released.record["error"]["height"]
    assert math.isclose(
        error["realised_relative"], np.mean(np.abs(published - values[rows]) / values[rows]), rel_tol=1e-9
    )
    distances = np.abs(published[:, np.newaxis] - values)
    own = np.abs(published - values[rows])
    nearest = distances.min(axis=1)
    n_nearest = np.sum(distances <= nearest[:, np.newaxis] + 1e-9, axis=1)
    links = np.where(own <= nearest + 1e-9, 1 / n_nearest, 0).sum()
    assert math.isclose(released.record["linking_risk"]["realised"], links / len(rows), rel_tol=1e-9)


@pytest.mark.parametrize("engine", EVERY)
def test_the_order_tells_nothing(engine, tmp_path):
    """Positions before and after are uncorrelated, also within what was kept together on disk: |z| < 5."""
    released = release(plain(), engine, tmp_path, seed=SEED)
    rows = released.linkage.column("original_row").to_numpy()
    classes = released.linkage.column("class_id").to_numpy()
    now = np.arange(len(rows))
    for before in (rows, classes, np.argsort(np.argsort(classes, kind="stable"))):
        assert abs(np.corrcoef(before, now)[0, 1]) * math.sqrt(len(rows)) < 5
    steps = np.abs(np.diff(rows)) == 1
    assert steps.sum() < 2 + 5 * math.sqrt(2)  # two neighbours in three thousand stay together by chance


@pytest.mark.parametrize("engine", EVERY)
def test_a_release_is_drawn_once(engine, tmp_path):
    """Written twice it is the same, byte by byte."""
    released = release(plain(), engine, tmp_path)
    for name in ("one.parquet", "two.parquet"):
        released.write(tmp_path / name)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


@pytest.mark.parametrize("engine", OTHERS)
def test_pictures_are_the_same_before_noise(engine, tmp_path):
    """Cells may differ with the noise; what they hold together may not."""
    here, there = release(giant_class(), "in memory", tmp_path), release(giant_class(), engine, tmp_path)
    for own in (here, there):
        assert sum(n or 0 for n in own._pictures.values[0].before) > 5_900
    same(here._pictures.class_sizes[0], there._pictures.class_sizes[0])
    same(dict(here._pictures.risk_by_epsilon), dict(there._pictures.risk_by_epsilon))


@pytest.mark.parametrize("engine", OTHERS)
def test_many_k_quasis_are_found_again(engine, tmp_path):
    """A key of twelve columns is ranked on the way, and what is large before that must not wrap around."""
    one, other = (release(many_k_quasis(), own, tmp_path).record for own in ("in memory", engine))
    for figure in ("records", "levels", "classes"):
        assert one[figure] == other[figure]


@pytest.mark.parametrize("engine", EVERY)
def test_dictionaries_that_differ_from_bucket_to_bucket_are_written(engine, tmp_path):
    """An Arrow file has room for one dictionary only."""
    case = rare_categories()
    with release(case, engine, tmp_path) as released:
        for suffix in (".csv", ".arrow", ".parquet"):
            released.write(tmp_path / f"out{suffix}", linkage=tmp_path / "links.parquet", overwrite=True)
        shown = released.frame.column("illness")
    rows = parquet.read_table(tmp_path / "links.parquet").column("original_row")
    was = case.table.column("illness").cast(pa.string()).take(rows).to_pylist()
    for suffix in (".csv", ".arrow", ".parquet"):
        again = LocalEngine().open_source(tmp_path / f"out{suffix}")._source.arrow_table(["illness"])
        assert again.column(0).cast(pa.string()).to_pylist() == was
    assert shown.to_pylist() == was
    assert len({tuple(chunk.dictionary.to_pylist()) for chunk in shown.chunks}) == 1


@pytest.mark.parametrize("engine", EVERY)
def test_every_kind_of_file_is_written(engine, tmp_path):
    """Part after part where records are on disk, with one header."""
    released = release(plain(), engine, tmp_path)
    for suffix in (".csv", ".arrow", ".parquet"):
        released.write(tmp_path / f"out{suffix}", linkage=tmp_path / f"links{suffix}")
        again = LocalEngine().open_source(tmp_path / f"out{suffix}")
        assert again.column_names == ("zip", "sex", "height", "illness", "score")
        read = again._source.arrow_table(again.column_names)
        assert len(read) == released.record["records"]["released"]
        links = LocalEngine().open_source(tmp_path / f"links{suffix}")._source.arrow_table(["original_row"])
        assert len(links) == len(read)


def test_a_class_in_parts_that_keeps_too_few_is_taken_back(tmp_path, monkeypatch):
    """Part of it was kept on disk before that was known; none of it may be released, shown, drawn or linked."""
    case = CASES["giant among others"]()
    case.policy["confidence"] = 0.9
    case.policy["attributes"]["height"]["range"] = "class"

    def nobody_counts(in_reach, *, k, rule):
        return np.zeros(len(in_reach), dtype=bool), np.ones(len(in_reach), dtype=bool)

    monkeypatch.setattr("kepsilon.evaluate.large_class.goes_alone", nobody_counts)
    released = release(case, "spilling", tmp_path)
    giant = {i for i, zip_code in enumerate(case.table.column("zip").to_pylist()) if zip_code == "00031"}
    rows = set(released.linkage.column("original_row").to_pylist())
    records = released.record["records"]
    assert records["released"] == released.frame.num_rows == len(rows) > 500
    assert sum(n for name, n in records.items() if name != "read") == records["read"]
    assert not rows & giant
    assert released.record["classes"]["largest"] < 1_000
    shown = released._pictures.values[0]
    assert sum(n or 0 for n in shown.after) <= records["released"] < sum(n or 0 for n in shown.before)
    released.write(tmp_path / "out.parquet")
    assert "00031" not in parquet.read_table(tmp_path / "out.parquet").column("zip").to_pylist()
