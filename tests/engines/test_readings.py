# SPDX-License-Identifier: Apache-2.0
"""Codes for missing values and decimal commas: a release is that of a table which somebody cleaned by hand, to the byte."""

from __future__ import annotations

import csv
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from material.engine_cases import ENGINES, EVERY, MEMORY, SEED

N = 1_500
AGES = {"type": "intervals", "widths": [5, 10, 20]}
REGIONS = {"type": "groups", "levels": [{"upper": ["N", "E"], "lower": ["S", "W"]}]}


def made(*, seed: int = SEED) -> tuple[dict[str, Any], dict[str, Any]]:
    """A table as it comes, full of codes and decimal commas, and as somebody would clean it by hand."""
    rng = random.Random(seed)
    raw: dict[str, list[Any]] = {}
    clean: dict[str, list[Any]] = {}

    def add(name: str, value: Any, dirty: list[Any], *, written: Any = None) -> None:
        """One more cell: now and then one of the dirty ones, which all mean missing."""
        is_missing = bool(dirty) and rng.random() < 0.1
        raw.setdefault(name, []).append(rng.choice(dirty) if is_missing else value if written is None else written)
        clean.setdefault(name, []).append(None if is_missing else value)

    for _ in range(N):
        add("zip", f"{rng.randrange(30):05}", ["?", " ? ", "unknown", None, ""])
        add("region", rng.choice("NESW"), ["?", "NA"])
        age = str(rng.randrange(20, 80))
        add("age", age, ["99", " 99", "99,0", "?"])
        add("children", rng.randrange(5), [99, None])
        rate = f"{rng.randrange(40) / 8:.3f}".rstrip("0").rstrip(".")
        add("rate", rate, ["-9,5", "-9,50", "?"], written=rate.replace(".", ","))
        height = f"{rng.gauss(170, 9):.1f}"
        add("height", height, ["?", " ", "999", "999,0", None], written=height.replace(".", ","))
        add("bmi", rng.randrange(160, 320) / 8, [99.5, None])
        add("weight", round(rng.gauss(70, 9)), [999, None])
        add("pulse", round(rng.gauss(70, 9), 1), [999.5, None])
        kept = rng.choice(["?", "99", "1,5", "", "x"])
        raw.setdefault("note", []).append(kept)
        clean.setdefault("note", []).append(kept)
    return raw, clean


TYPES = {
    "children": pa.int16(),
    "bmi": pa.float64(),
    "weight": pa.int64(),
    "pulse": pa.float32(),
}


def table(columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(own, TYPES.get(name, pa.string())) for name, own in columns.items()})


def policy(algorithm: str = "ola", **settings: Any) -> kepsilon.Policy:
    """A policy for the table; without `settings` it is that of the table that was cleaned by hand."""
    noisy = {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 10}, "missing": "class"}
    quasis: dict[str, Any] = {
        "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
        "region": {"role": "k-quasi", "hierarchy": REGIONS},
        "age": {"role": "k-quasi", "hierarchy": AGES, "step": 5},
        "children": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [2]}},
        "rate": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [0.5, 1]}, "step": 0.5},
        "bmi": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10]}},
        "height": noisy,
        "weight": {**noisy, "precision": 1, "missing": "suppress"},
        "pulse": noisy,
        "note": {"role": "sensitive"},
    }
    for name, own in settings.pop("attributes", {}).items():
        quasis[name] = {**quasis[name], **own}
    top = {"k": 5, "epsilon": 2, "algorithm": algorithm, "max_suppression": 0.3}
    return kepsilon.Policy.from_dict({**top, **settings, "attributes": quasis})


def reading(algorithm: str = "ola") -> kepsilon.Policy:
    """The policy for the table as it comes; the list of an attribute stands instead of the list of all."""
    own = {
        "zip": ["?", "unknown"],
        "age": ["99", "?"],
        "children": ["99"],
        "rate": ["-9,5", "?"],
        "height": ["?", "999"],
        "weight": ["999"],
        "pulse": ["999.5"],
        "bmi": ["99.50"],
    }
    attributes = {name: {"missing_values": texts} for name, texts in own.items()}
    return policy(algorithm, decimal=",", missing_values=["?", "NA"], attributes=attributes)


def released(source: Path, chosen: kepsilon.Policy, engine: str, folder: Path, output: str) -> bytes:
    """The bytes of a release with a seed, beside what the curator's record says of records and classes."""
    made_by = ENGINES[engine](folder, 20 * MEMORY)
    release = kepsilon.anonymise(source, chosen, engine=made_by, unsafe_seed=1)
    release.write(folder / output)
    record = release.record.to_json()
    counted = json.dumps([record["records"], record["classes"], record["loss"]], default=str)
    return (folder / output).read_bytes() + counted.encode()


def in_files(folder: Path, columns: dict[str, Any]) -> Path:
    """The table as Parquet files in a folder."""
    folder.mkdir()
    whole = table(columns)
    for i, first in enumerate(range(0, N, 600)):
        parquet.write_table(whole.slice(first, 600), folder / f"part-{i}.parquet")
    return folder


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
@pytest.mark.parametrize("engine", EVERY)
def test_a_release_is_that_of_the_table_cleaned_by_hand(engine, algorithm, tmp_path):
    """Codes in columns of text and of numbers, decimal commas and blanks: every engine reads them as a person would."""
    raw, clean = made()
    by_hand = released(in_files(tmp_path / "clean", clean), policy(algorithm), engine, tmp_path, "clean.parquet")
    by_policy = released(in_files(tmp_path / "raw", raw), reading(algorithm), engine, tmp_path, "raw.parquet")
    assert by_policy == by_hand


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("output", [".csv", ".parquet", ".arrow"])
def test_csv_is_read_like_other_files(delimiter, output, tmp_path):
    """All cells of a CSV file are text: a code is found there in every way to write it, and decimals in quotes or not."""
    raw, clean = made()
    both = []
    for columns, chosen in ((raw, reading()), (clean, policy())):
        document = chosen.model_dump(mode="json", exclude_none=True)
        for name in ("pulse", "bmi"):  # numbers with points, which in a CSV file would be text
            del columns[name], document["attributes"][name]
        source = write_csv(tmp_path / f"{len(both)}.csv", columns, delimiter=delimiter)
        own = kepsilon.Policy.from_dict(document)
        both.append(released(source, own, "in memory", tmp_path, f"{len(both)}-out{output}"))
    assert both[0] == both[1]


def write_csv(path: Path, columns: dict[str, Any], *, delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.mark.parametrize("engine", EVERY)
def test_a_point_is_no_decimal_comma(engine, tmp_path):
    """Whether 1.500 is fifteen hundred or one and a half is not guessed: both quasis refuse it, by count and in words."""
    columns, _ = made()
    columns["height"][7] = columns["rate"][3] = columns["rate"][4] = "1.500"
    source = in_files(tmp_path / "raw", columns)
    with pytest.raises(kepsilon.DataError) as caught:
        kepsilon.check(source, reading(), engine=ENGINES[engine](tmp_path, 20 * MEMORY))
    rate, height = sorted(map(str, caught.value.problems), key=lambda text: "height" in text)
    assert "2 records hold 1 values that are no finite numbers" in rate
    assert 'Because of decimal = "," a number with a decimal point is text.' in rate
    assert "1 records hold text that is not a number" in height
    assert "with a decimal comma" in height
    assert "1.500" not in rate + height


@pytest.mark.parametrize("engine", EVERY)
def test_a_number_with_the_wrong_sign_is_unlisted_where_unlisted_records_leave(engine, tmp_path):
    """Under `unlisted = "suppress"` such records are left out, and counted as unlisted."""
    columns, _ = made()
    columns["rate"] = ["1.500" if i % 50 == 0 else own for i, own in enumerate(columns["rate"])]
    source = in_files(tmp_path / "raw", columns)
    document = reading().model_dump(mode="json", exclude_none=True)
    document["attributes"]["rate"]["unlisted"] = "suppress"
    chosen = kepsilon.Policy.from_dict(document)
    found = kepsilon.check(source, chosen, engine=ENGINES[engine](tmp_path, 20 * MEMORY))
    assert found.to_json()["records"]["suppressed_unlisted"] == N // 50


@pytest.mark.parametrize("engine", EVERY)
def test_show_values_shows_what_is_neither_number_nor_missing(engine, tmp_path):
    """A curator who asks sees the values to list or to correct, and none that is listed already."""
    columns, _ = made()
    columns["height"][:5] = ["1.5", "n/a", "n/a", "?", "999"]
    columns["rate"][:4] = ["1.5", "abc", "?", "-9,50"]
    source = in_files(tmp_path / "raw", columns)
    made_by = ENGINES[engine](tmp_path, 20 * MEMORY)
    assert kepsilon.offending_values(source, reading(), "height", engine=made_by) == [("n/a", 2), ("1.5", 1)]
    assert kepsilon.offending_values(source, reading(), "rate", engine=made_by) == [("1.5", 1), ("abc", 1)]
    assert kepsilon.offending_values(source, reading(), "pulse", engine=made_by) == []


def test_the_list_of_an_attribute_replaces_the_list_of_all(tmp_path):
    """An attribute for which "?" is a value says so with a list of its own, an empty one too."""
    columns = {"sex": ["F", "M", "?", "NA"] * 30, "x": ["1", "2", "?", "NA"] * 30}
    source = write_csv(tmp_path / "people.csv", columns)

    def labels(**sex: Any) -> list[Any]:
        own = {"role": "k-quasi", "hierarchy": {"type": "suppress"}, **sex}
        noisy = {"role": "epsilon-quasi", "precision": 1, "range": "class", "missing": "class"}
        chosen = kepsilon.Policy.from_dict(
            {
                "k": 2, "epsilon": 2, "algorithm": "ola", "max_suppression": 0, "missing_values": ["?", "NA"],
                "attributes": {"sex": own, "x": noisy},
            }
        )  # fmt: skip
        frame = kepsilon.anonymise(source, chosen).frame
        return sorted(set(frame.column("sex").to_pylist()), key=str)

    assert labels() == ["F", "M", None]
    assert labels(missing_values=["NA"]) == ["?", "F", "M", None]
    assert labels(missing_values=[]) == ["?", "F", "M", "NA"]


@pytest.mark.parametrize(
    ("column", "codes", "n_missing"),
    [
        pytest.param(pa.array([99, 99, 1, None] * 5, pa.int8()), ["99.0"], 15, id="whole numbers"),
        pytest.param(pa.array([99.0, 9.9, 1, 1] * 5), ["99"], 5, id="doubles"),
        pytest.param(pa.array([99.9, 9.9, 1, 1] * 5, pa.float32()), ["99.9"], 5, id="floats of 32 bits"),
        pytest.param(
            pa.array([Decimal("0.009")] + [Decimal(1)] * 19, pa.decimal128(9, 4)), ["0.009"], 1, id="decimals"
        ),
        pytest.param(pa.array(["99", "099", "99.0", " 99 "] * 5), ["99"], 20, id="text"),
        pytest.param(pa.array([99, 1] * 10).dictionary_encode(), ["99"], 10, id="categories of numbers"),
        pytest.param(pa.array([np.nan, 1.0] * 10), ["NaN"], 10, id="NaN"),
        pytest.param(pa.array([2**53 + 1, 2**53] * 10), ["9007199254740993"], 20, id="doubles cannot tell them apart"),
    ],
)
def test_a_number_that_means_missing_is_found_however_it_is_stored(column, codes, n_missing):
    """The codebook says 99; the file has 99, 99.0 or "99"."""
    noisy = {"role": "epsilon-quasi", "precision": 0.1, "range": "class", "missing_values": codes}
    top = {"k": 2, "epsilon": 2, "algorithm": "ola", "max_suppression": 0}
    chosen = kepsilon.Policy.from_dict({**top, "attributes": {"x": noisy, "y": {"role": "sensitive"}}})
    filled = pa.table({"x": column, "y": ["y"] * 20})
    more = pa.table({"x": pa.array(["5"] * 4).cast(kind_of(column)), "y": ["y"] * 4})
    whole = pa.concat_tables([filled.cast(more.schema), more])
    assert kepsilon.check(whole, chosen).to_json()["records"]["suppressed_missing"] == n_missing


def kind_of(column: pa.Array) -> pa.DataType:
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type
