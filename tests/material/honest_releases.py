# SPDX-License-Identifier: Apache-2.0
"""Honest releases over every setting of a policy, drawn at random from a seed; the audit must accuse none of them.

It uses public names only. `honest_release(seed, folder)` gives one release, ready to audit, or None where the policy that
was drawn cannot be met by the data that was drawn; a share of these is part of drawing at random.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kepsilon as ke

FORMATS = ("csv", "parquet", "arrow", "arrow frame", "pandas", "polars")
KEPT_TYPES = (
    "text", "number", "whole number", "bool", "timestamp[s]", "timestamp[ns, UTC]", "time32[s]", "date", "date64", "decimal",
    "categories", "bytes", "list", "float32", "all null", "empty text and null",
)  # fmt: skip


@dataclass(frozen=True)
class HonestRelease:
    """An original, a release of it as the package made it, and what was drawn to make it."""

    seed: int
    original: object
    released: object
    linkage: object
    policy: ke.Policy
    settings: dict[str, Any]

    def audits(self) -> tuple[ke.Audit, ke.Audit]:
        """What the audit finds with the linkage, and without."""
        return (
            ke.audit(self.original, self.released, self.policy, linkage=self.linkage),
            ke.audit(self.original, self.released, self.policy),
        )


def honest_release(seed: int, folder: Path) -> HonestRelease | None:
    """The release of a seed, written into `folder` where its format is a file; None where the policy cannot be met."""
    rng = np.random.default_rng(seed)
    document, columns = _draw(rng)
    kind = str(rng.choice(FORMATS))
    try:
        policy = ke.Policy.from_dict(document, folder=folder)
        source = _source(columns, kind, folder, rng)
        release = ke.anonymise(source, policy, unsafe_seed=None if rng.random() < 0.2 else seed)
    except (ke.DataError, ke.PolicyError, ke.UnsatisfiableError):
        return None
    released: object = release.frame
    if kind in ("csv", "parquet", "arrow") or rng.random() < 0.3:
        suffix = kind if kind in ("csv", "parquet", "arrow") else str(rng.choice(["csv", "parquet", "arrow"]))
        released = folder / f"released-{seed}.{suffix}"
        try:
            release.write(released)
        except ke.DataError:  # CSV has no way to write lists or bytes
            released = release.frame
    if rng.random() < 0.15 and isinstance(released, Path):
        released.with_name(f"{released.name}.manifest.json").unlink()
        released.with_name(f"{released.name}.curator.json").unlink()
    settings = {"format": kind, **document}
    return HonestRelease(seed, source, released, release.linkage, policy, settings)


def next_honest_release(first: int, folder: Path, *, step: int, most: int = 12) -> HonestRelease:
    """The first release that there is of the seeds `first`, `first + step`, …: three policies of ten cannot be met."""
    seeds = range(first, first + most * step, step)
    made = next(filter(None, (honest_release(seed, folder) for seed in seeds)), None)
    assert made is not None, f"of {most} policies that were drawn one after the other, none can be met"
    return made


def _draw(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy and the columns that go with it."""
    n = int(rng.choice([30, 80, 200, 500, 1200]))
    attributes: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    if rng.random() < 0.6:
        columns["name"] = [f"CANARY-{i:05}" for i in range(n)]
        attributes["name"] = {"role": "identifier"}
    n_k = int(rng.choice([0, 1, 1, 2, 2, 3]))
    n_epsilon = int(rng.choice([0, 1, 1, 1, 2, 3])) if n_k else int(rng.choice([1, 2]))
    algorithm = str(rng.choice(["ola", "ola", "mondrian", "local-recoding"]))
    for i in range(n_k):
        columns[f"quasi{i}"], attributes[f"quasi{i}"] = _k_quasi(n, algorithm, rng)
    for i in range(n_epsilon):
        columns[f"value{i}"], attributes[f"value{i}"] = _epsilon_quasi(n, rng)
    for i in range(int(rng.choice([0, 1, 1, 2, 3]))):
        columns[f"kept{i}"] = _kept(n, str(rng.choice(KEPT_TYPES)), rng)
        attributes[f"kept{i}"] = {"role": str(rng.choice(["sensitive", "insensitive"]))}
    document = {
        "k": int(rng.choice([2, 3, 5, 10])),
        "epsilon": float(rng.choice([0.0001, 0.05, 0.5, 1, 2, 8, 16, 100])),
        "algorithm": algorithm,
        "max_suppression": float(rng.choice([0, 0.05, 0.2, 0.6])),
        "attributes": attributes,
    }
    if rng.random() < 0.35:
        document["confidence"] = float(rng.choice([0.5, 0.9, 0.99]))
        document["confidence_rule"] = str(rng.choice(["text", "strict", "suppress_zero"]))
    if rng.random() < 0.3:
        document["loss"] = str(rng.choice(["dm*", "precision", "entropy"]))
    more = rng.spawn(1)[0]  # so that what is drawn above stays as it is
    if more.random() < 0.4:
        _add_persons(document, columns, n, more)
    if more.random() < 0.7:
        _add_requirements(document, more)
    names = list(columns)
    rng.shuffle(names)
    return document, {name: columns[name] for name in names}


def _add_persons(document: dict[str, Any], columns: dict[str, Any], n: int, rng: np.random.Generator) -> None:
    """Makes the records those of fewer persons, some of them with very many, and says what ε covers."""
    n_persons = max(1, int(n / rng.choice([1.2, 3, 8])))
    numbers = (rng.random(n) ** float(rng.choice([1, 2, 4])) * n_persons).astype(int)
    naming = str(rng.choice(["text", "blanks", "number", "float"]))
    named: list[Any] = {
        "text": [f"CANARY-{i:05}" for i in numbers],
        "blanks": [f"{' ' * (j % 3)}CANARY-{i:05}{' ' * (j % 2)}" for j, i in enumerate(numbers)],
        "number": (10**6 + numbers).tolist(),
        "float": (numbers / 4).tolist(),
    }[naming]
    unnamed = rng.random(n) < float(rng.choice([0, 0.03]))
    columns["name"] = [None if gone else name for name, gone in zip(named, unnamed, strict=True)]
    document["attributes"]["name"] = {"role": "identifier"}
    document["person"] = "name"
    values = [name for name, own in document["attributes"].items() if own["role"] == "epsilon-quasi"]
    if rng.random() < 0.5:
        document["max_records_per_person"] = int(rng.choice([1, 2, 4]))
    if values:
        document["epsilon_per"] = str(rng.choice(["record", "person"]))
    if document.get("epsilon_per") == "person" and "max_records_per_person" not in document:
        first = {int(person): i for i, person in reversed(list(enumerate(numbers)))}
        for name in values:
            own = columns[name]
            columns[name] = [own[first[int(person)]] for person in numbers]
            present = [value for value in own if value is not None]
            low, high = float(np.floor(min(present))), float(np.ceil(max(present))) + 1
            document["attributes"][name] |= {"range": [low, high], "missing": "suppress"}


def _add_requirements(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Asks something of the values of sensitive columns."""
    for own in document["attributes"].values():
        if own["role"] != "sensitive" or rng.random() < 0.4:
            continue
        asked: list[dict[str, Any]] = [
            {"l_diversity": {"distinct": 2}},
            {"l_diversity": {"entropy": 1.5}},
            {"l_diversity": {"recursive": [2, 2]}},
            {"t_closeness": float(rng.choice([0.3, 0.5, 0.8]))},
            {"l_diversity": {"distinct": 2}, "t_closeness": 0.6},
        ]
        own.update(asked[int(rng.integers(len(asked)))])


def _k_quasi(n: int, algorithm: str, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Values of a k-quasi with some ties, some nulls and some unlisted values, and its hierarchy."""
    attribute: dict[str, Any] = {"role": "k-quasi"}
    kinds = ["mask", "uneven mask", "intervals", "dates", "groups", "suppress", "repeated labels", "bytes"]
    if algorithm != "ola":
        kinds += ["none, text", "none, numbers"]
    kind = str(rng.choice(kinds))
    values: list[Any]
    if kind in ("mask", "uneven mask"):
        codes = rng.integers(0, int(rng.choice([3, 12, 60])), n)
        width = 3 if kind == "mask" else 1
        values = [f"{code * 37 % 1000:0{width}}" for code in codes]
        if kind == "uneven mask":
            values = [value + "7" * int(more) for value, more in zip(values, codes % 3, strict=True)]
        attribute["hierarchy"] = {"type": "mask", "side": str(rng.choice(["right", "left"]))}
        if rng.random() < 0.5:
            attribute["hierarchy"]["length"] = max(map(len, values))
    elif kind == "intervals":
        values = [str(value) for value in rng.integers(1950, int(rng.choice([1953, 1990])), n)]
        attribute["hierarchy"] = {"type": "intervals", "widths": [5, 10, 20][: int(rng.integers(1, 4))]}
    elif kind == "dates":
        values = [str(dt.date(2020, 1, 1) + dt.timedelta(int(day))) for day in rng.integers(0, 500, n)]
        attribute["hierarchy"] = {"type": "dates", "units": ["month", "year"]}
    elif kind in ("groups", "repeated labels"):
        values = [str(value) for value in rng.choice(list("abcdef"), n)]
        levels = [{"ab": ["a", "b"], "cd": ["c", "d"], "ef": ["e", "f"]}, {"abcd": ["ab", "cd"], "ef": ["ef"]}]
        if kind == "repeated labels":  # labels that stand at several levels
            levels = [
                {"a": ["a", "b"], "c": ["c"], "d": ["d", "e"], "f": ["f"]},
                {"a": ["a", "c"], "d": ["d"], "f": ["f"]},
            ]
        attribute["hierarchy"] = {"type": "groups", "levels": levels}
    elif kind == "none, text":
        values = [str(value) for value in rng.choice(["red, dark", "blue", "null", "{x}", "green"], n)]
    elif kind == "none, numbers":
        values = rng.integers(0, 40, n).tolist()
    elif kind == "bytes":
        values = [b"AB", b"CD", b"EF"]
        values = [values[i] for i in rng.integers(0, 3, n)]
        attribute["hierarchy"] = {"type": "suppress"}
    else:
        values = [str(value) for value in rng.choice(["F", "M", "x"], n)]
        attribute["hierarchy"] = {"type": "suppress"}
    if rng.random() < 0.25:
        values = [None if gone else value for value, gone in zip(values, rng.random(n) < 0.1, strict=True)]
    if rng.random() < 0.15 and kind in ("intervals", "dates", "groups"):
        values = ["?" if gone else value for value, gone in zip(values, rng.random(n) < 0.05, strict=True)]
        attribute["unlisted"] = "suppress"
    return values, attribute


def _epsilon_quasi(n: int, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Values of an ε-quasi, spread, tied or constant, with its range, precision and domain."""
    shape = str(rng.choice(["normal", "ties", "constant", "outliers", "negative", "far from 0"]))
    values = {
        "normal": rng.normal(170, 10, n).round(1),
        "ties": rng.integers(160, 165, n).astype(float),
        "constant": np.full(n, 42.0),
        "outliers": np.where(rng.random(n) < 0.02, 1e5, rng.normal(100, 5, n)).round(2),
        "negative": rng.normal(0, 3, n).round(2),
        "far from 0": (1e6 + rng.normal(0, 1, n)).round(1),
    }[shape]
    precision = float(rng.choice([0.1, 0.5, 1, 20]))
    attribute: dict[str, Any] = {"role": "epsilon-quasi", "precision": precision}
    kind = str(rng.choice(["class", "coarse", "declared"]))
    low, high = float(np.floor(values.min())), float(np.ceil(values.max())) + 1
    attribute["range"] = {
        "class": "class", "coarse": {"coarse": precision * 10}, "declared": [low + 1, high - 0.5] if high > low + 2 else [low, high]
    }[kind]  # fmt: skip
    if rng.random() < 0.3:
        unit = precision * 10
        attribute["domain"] = [float(np.floor(low / unit) * unit), float(np.ceil(high / unit) * unit)]
    listed: list[Any] = values.tolist()
    if rng.random() < 0.3:
        listed = [None if gone else value for value, gone in zip(listed, rng.random(n) < 0.15, strict=True)]
        attribute["missing"] = str(rng.choice(["suppress", "class"]))
    return listed, attribute


def _kept(n: int, kind: str, rng: np.random.Generator) -> Any:
    """A kept column as an Arrow array of the type that the kind names, with some nulls."""
    import pyarrow as pa

    at = rng.integers(0, int(rng.choice([2, 20, 10_000])), n).tolist()
    start = dt.datetime(2021, 3, 4)
    made: dict[str, tuple[Any, Any]] = {
        "text": ([f"CANARY {i}" for i in at], pa.string()),
        "number": ([i / 7 for i in at], pa.float64()),
        "whole number": (at, pa.int32()),
        "bool": ([i % 2 == 0 for i in at], pa.bool_()),
        "timestamp[s]": ([start + dt.timedelta(seconds=i) for i in at], pa.timestamp("s")),
        "timestamp[ns, UTC]": ([start + dt.timedelta(seconds=i / 4) for i in at], pa.timestamp("ns", "UTC")),
        "time32[s]": ([dt.time(i % 24, i % 60) for i in at], pa.time32("s")),
        "date": ([start.date() + dt.timedelta(i % 900) for i in at], pa.date32()),
        "date64": ([start.date() + dt.timedelta(i % 900) for i in at], pa.date64()),
        "decimal": (at, pa.decimal128(20, 3)),
        "categories": ([f"CANARY {i}" for i in at], pa.dictionary(pa.int32(), pa.string())),
        "bytes": ([bytes([200, i % 250]) for i in at], pa.binary()),
        "list": ([[f"CANARY {i}", None] for i in at], pa.list_(pa.string())),
        "float32": ([i / 10 for i in at], pa.float32()),
        "all null": ([None] * n, pa.string()),
        "empty text and null": ([("", None, "CANARY")[i % 3] for i in at], pa.string()),
    }
    values, arrow_type = made[kind]
    if rng.random() < 0.3:
        values = [None if gone else value for value, gone in zip(values, rng.random(n) < 0.1, strict=True)]
    return pa.array(values, pa.string()).dictionary_encode() if kind == "categories" else pa.array(values, arrow_type)


def _source(columns: dict[str, Any], kind: str, folder: Path, rng: np.random.Generator) -> object:
    """The original as a file or a frame of this kind; a format that cannot hold a column gets an Arrow frame instead."""
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    table = pa.table({name: pa.array(v) if isinstance(v, list) else v for name, v in columns.items()})
    path = folder / f"original-{rng.integers(1 << 40)}.{kind}"
    if kind == "csv" and not any(pa.types.is_nested(t) or pa.types.is_binary(t) for t in table.schema.types):
        csv.write_csv(pa.table({f.name: c.dictionary_decode() if pa.types.is_dictionary(f.type) else c for f, c in
                                zip(table.schema, [c.combine_chunks() for c in table.columns], strict=True)}), path)  # fmt: skip
        return path
    if kind == "parquet":
        parquet.write_table(table, path)
        return path
    if kind == "arrow":
        feather.write_feather(table, path, compression="uncompressed")
        return path
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table
