# SPDX-License-Identifier: Apache-2.0
"""A made-up voter list of any length, the same for the same length and seed; nobody in it exists."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

K_QUASIS = ("zip", "gender", "birth_year", "race")
EPSILON_QUASI = "height"
SENSITIVE = ("party", "score")

RECORDS_PER_FILE = 5_000_000
N_ZIPS = 900
LAST_BIRTH_YEAR = 1998
FIRST_BIRTH_YEAR = LAST_BIRTH_YEAR - 79
RACES = ("White", "Hispanic", "Black", "Asian", "Multiple", "Native", "Other")
RACE_SHARES = (0.62, 0.16, 0.14, 0.03, 0.025, 0.005, 0.02)
PARTIES = ("Democrat", "Republican", "None", "Independent", "Libertarian", "Green")
PARTY_SHARES = (0.37, 0.35, 0.25, 0.02, 0.007, 0.003)
HEIGHT_BY_GENDER = {"F": (162.1, 7.1), "M": (175.9, 7.6)}


def voter_list(n_records: int, *, seed: int = 20_17) -> pa.Table:
    """ZIP (text), gender, birth year, race, height in cm to one decimal, party and a score, in random order."""
    return pa.table(voter_columns(n_records, seed=seed))


def write_voters(folder: Path, n_records: int, *, seed: int = 20_17) -> None:
    """A longer list than fits into memory, as Parquet files of a few million records each."""
    zip_shares = _zip_shares(np.random.default_rng(seed))
    for i, first in enumerate(range(0, n_records, RECORDS_PER_FILE)):
        n_here = min(RECORDS_PER_FILE, n_records - first)
        voters = pa.table(voter_columns(n_here, seed=seed + i, zip_shares=zip_shares))
        parquet.write_table(as_plain_text(voters), folder / f"part-{i:03d}.parquet", row_group_size=1 << 20)


def as_plain_text(voters: pa.Table) -> pa.Table:
    """Text as text, not as dictionaries."""
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in voters.schema]
    return voters.cast(pa.schema(zip(voters.column_names, kinds, strict=True)))


def voter_columns(n_records: int, *, seed: int = 20_17, zip_shares: np.ndarray | None = None) -> dict[str, pa.Array]:
    """The voters as Arrow arrays by name; text is dictionary-coded as a Parquet reader would hand it over."""
    rng = np.random.default_rng(seed)
    genders = tuple(HEIGHT_BY_GENDER)
    gender = (rng.random(n_records, dtype=np.float32) < 0.46).astype(np.int8)
    means, deviations = (np.array(column, dtype=np.float32) for column in zip(*HEIGHT_BY_GENDER.values(), strict=True))
    height = rng.standard_normal(n_records, dtype=np.float32) * deviations[gender] + means[gender]
    score = rng.gamma(2.0, 15.0, n_records).round(1)
    return {
        "zip": _text(_draw(rng, _zip_shares(rng) if zip_shares is None else zip_shares, n_records), _zips()),
        "gender": _text(gender, genders),
        "birth_year": pa.array(_draw(rng, _age_shares(), n_records).astype(np.int16) + np.int16(FIRST_BIRTH_YEAR)),
        "race": _text(_draw(rng, RACE_SHARES, n_records), RACES),
        "height": pa.array(np.round(height.astype(np.float64), 1)),
        "party": _text(_draw(rng, PARTY_SHARES, n_records), PARTIES),
        "score": pa.array(score),
    }


def k_quasi_labels(name: str, values: tuple[str, ...]) -> Mapping[int, tuple[str, ...]]:
    """Labels by level: the paper's hierarchies, 6 × 2 × 5 × 2 = 120 nodes."""
    if name == "zip":
        return {level: tuple(value[: 5 - level] + "*" * level for value in values) for level in range(6)}
    if name == "birth_year":
        years = [int(value) for value in values]
        intervals = {
            level: tuple(f"[{year // width * width}, {year // width * width + width})" for year in years)
            for level, width in ((1, 2), (2, 4), (3, 8))
        }
        return {0: values, **intervals, 4: ("*",) * len(values)}
    return {0: values, 1: ("*",) * len(values)}


def _zips() -> tuple[str, ...]:
    """900 codes between 32003 and 34997, in runs as post offices number them."""
    rng = np.random.default_rng(5)
    return tuple(f"{code:05d}" for code in np.sort(rng.choice(np.arange(32003, 34998), N_ZIPS, replace=False)))


def _zip_shares(rng: np.random.Generator) -> np.ndarray:
    """Populations of ZIP areas run over three orders of magnitude, with most people in the middle."""
    people = rng.gamma(1.1, 19_000.0, N_ZIPS) + 20
    return people / people.sum()


def _age_shares() -> np.ndarray:
    """Even up to 60, then falling to a few per ten thousand at 97."""
    age = LAST_BIRTH_YEAR + 18 - np.arange(FIRST_BIRTH_YEAR, LAST_BIRTH_YEAR + 1)
    shares = np.exp(-((np.clip(age - 60, 0, None) / 18.0) ** 2))
    return shares / shares.sum()


def _draw(rng: np.random.Generator, shares: np.ndarray | tuple[float, ...], n_records: int) -> np.ndarray:
    """Indices with the given shares; a table of 65,536 equally likely cells is many times faster than a search."""
    cells = np.floor(np.cumsum(np.asarray(shares)) / np.sum(shares) * 65_536 + 0.5).astype(np.int64)
    index_of_cell = np.searchsorted(cells, np.arange(65_536), side="right").astype(np.int16)
    return index_of_cell[rng.integers(0, 65_536, n_records, dtype=np.uint16)]


def _text(indices: np.ndarray, values: tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int16)), pa.array(list(values)))
