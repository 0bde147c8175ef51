# SPDX-License-Identifier: Apache-2.0
"""Tables that engines find hard, with policies, and how every engine releases one."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.engines.local.engine import LocalEngine
from kepsilon.engines.spark.engine import SparkEngine
from kepsilon.engines.spark.session import open_session
from kepsilon.engines.spilling.engine import SpillingEngine
from material.people import OPENLY
from material.spark_cluster import prepare_for_session

SEED = 20160712
MEMORY = 200_000
"""So little that a few hundred records make a batch, and a few thousand a class that is too large for one."""

POLICY = """
k = 5
epsilon = 2
algorithm = "ola"
max_suppression = 0.2
[attributes.name]
role = "identifier"
[attributes.zip]
role = "k-quasi"
hierarchy = { type = "mask" }
[attributes.sex]
role = "k-quasi"
hierarchy = { type = "suppress" }
[attributes.height]
role = "epsilon-quasi"
precision = 0.1
range = "class"
accept_useless = "made-up people, and some tests run in a process of their own"
[attributes.illness]
role = "sensitive"
[attributes.score]
role = "insensitive"
"""


@functools.cache
def spark_session() -> Any:
    """One for all tests of a process: starting it takes seconds."""
    prepare_for_session()
    return open_session("local[2]")


ENGINES = {
    "in memory": lambda folder, memory: LocalEngine(),
    "spilling": lambda folder, memory: SpillingEngine(memory=memory, folder=folder),
    "spark": lambda folder, memory: SparkEngine(session=spark_session(), memory=memory, staging=folder),
}

EVERY = [pytest.param(name, marks=pytest.mark.spark if name == "spark" else ()) for name in ENGINES]
OTHERS = EVERY[1:]
"""All but the one in memory, to be compared with it."""


@dataclass(frozen=True)
class Case:
    """A table in pieces, and the policy it is released under."""

    table: pa.Table
    policy: dict[str, Any]
    n_files: int = 3
    cuts: tuple[int, ...] = field(default=())
    """Where the files begin, if not evenly."""
    memory: int = MEMORY

    def write(self, folder: Path) -> Path:
        source = folder / "table"
        source.mkdir()
        cuts = [*(self.cuts or np.arange(1, self.n_files) * len(self.table) // self.n_files), len(self.table)]
        first = 0
        for i, last in enumerate(cuts):
            parquet.write_table(self.table.slice(first, last - first), source / f"part-{i}.parquet")
            first = last
        return source


def document(**attributes: dict[str, Any]) -> dict[str, Any]:
    """The policy with some attributes changed."""
    policy = tomllib.loads(POLICY)
    policy["attributes"] |= attributes
    return policy


def random_people(n: int, *, zips: np.ndarray | None = None, seed: int = SEED) -> dict[str, Any]:
    """Columns of people drawn at random; every name is a canary that must never be seen again."""
    rng = np.random.default_rng(seed)
    zips = rng.integers(0, 40, n) if zips is None else zips
    return {
        "name": [f"CANARY-{i}" for i in range(n)],
        "zip": [f"{z:05d}" for z in zips.tolist()],
        "sex": np.array(["F", "M"])[rng.integers(0, 2, n)].tolist(),
        "height": np.round(rng.normal(170, 9, n), 1),
        "illness": [f"illness {i}" for i in rng.integers(0, 12, n)],
        "score": rng.integers(0, 10_000, n),
    }


def plain() -> Case:
    return Case(pa.table(random_people(3_000)), document())


def nulls() -> Case:
    """In a k-quasi, in an ε-quasi, and in what is kept."""
    columns = random_people(3_000)
    for name, step in (("zip", 7), ("height", 11), ("illness", 5)):
        columns[name] = [None if i % step == 0 else value for i, value in enumerate(columns[name])]
    return Case(pa.table(columns), document())


def missing_in_class() -> Case:
    """A missing height is part of the class."""
    columns = random_people(3_000)
    columns["height"] = [None if i % 4 == 0 else value for i, value in enumerate(columns["height"].tolist())]
    height = {"role": "epsilon-quasi", "precision": 0.1, "range": "class", "missing": "class"}
    return Case(pa.table(columns), document(height=height))


def empty_partitions() -> Case:
    """Files without a single record: the first, two in the middle, and the last."""
    return Case(pa.table(random_people(2_000)), document(), cuts=(0, 900, 900, 900, 2_000))


def giant_class() -> Case:
    """All in one class, which is many times larger than a batch."""
    columns = random_people(6_000, zips=np.zeros(6_000, dtype=int))
    columns["sex"] = ["F"] * 6_000
    return Case(pa.table(columns), document())


def giant_among_others() -> Case:
    """One class of several batches between smaller ones, and values that are declared, clipped and missing."""
    zips = np.concatenate([np.arange(600) % 30, np.full(4_000, 31), 32 + np.arange(600) % 30])
    columns = random_people(5_200, zips=np.random.default_rng(SEED).permutation(zips))
    columns["height"] = [None if i % 50 == 0 else value for i, value in enumerate(columns["height"].tolist())]
    height = {"role": "epsilon-quasi", "precision": 0.5, "range": [155, 180], "missing": "suppress"}
    return Case(pa.table(columns), document(height=height))


def tiny_classes() -> Case:
    """Three thousand classes of four."""
    columns = random_people(12_000, zips=np.repeat(np.arange(3_000), 4))
    columns["sex"] = ["F"] * 12_000
    return Case(pa.table(columns), {**document(), "k": 2, "max_suppression": 0}, memory=25 * MEMORY)


def skewed_keys() -> Case:
    """Most in a few classes, many classes with a few."""
    zips = np.minimum(np.random.default_rng(SEED).zipf(1.6, 5_000), 300)
    return Case(pa.table(random_people(5_000, zips=zips)), {**document(), "max_suppression": 0.3}, memory=2 * MEMORY)


ODD_NAMES = {
    "zip": "post code",
    "sex": "a.sex",
    "height": 'the "height"',
    "illness": "a",
    "score": "größe 'ß'; DROP TABLE",
}


def odd_names() -> Case:
    """Spaces, dots, quotes and other letters; and one name that another begins with."""
    renamed = {ODD_NAMES.get(name, name): values for name, values in random_people(2_000).items()}
    policy = document()
    policy["attributes"] = {ODD_NAMES.get(name, name): own for name, own in policy["attributes"].items()}
    return Case(pa.table(renamed), policy)


def no_epsilon_quasi() -> Case:
    return Case(pa.table(random_people(6_000)), document(height={"role": "sensitive"}))


def whole_numbers() -> Case:
    """Integers stay integers where the precision is whole."""
    columns = random_people(3_000)
    columns["height"] = np.rint(columns["height"]).astype(np.int16)
    height = {"role": "epsilon-quasi", "precision": 1, "range": {"coarse": 5}}
    return Case(pa.table(columns), document(height=height))


def confident() -> Case:
    return Case(pa.table(random_people(4_000)), {**document(), "epsilon": 8, "confidence": 0.9})


def confident_giant() -> Case:
    """A class in parts some records of which have to go, because the values have gaps."""
    columns = random_people(6_000, zips=np.zeros(6_000, dtype=int))
    columns["sex"] = ["F"] * 6_000
    columns["height"][:3] = [60.0, 250.0, 300.0]
    policy = {**document(), "epsilon": 16, "confidence": 0.9, "confidence_rule": "suppress_zero"}
    return Case(pa.table(columns), policy)


def mondrian() -> Case:
    return Case(pa.table(random_people(4_000)), {**document(), "algorithm": "mondrian"})


def local_recoding() -> Case:
    return Case(pa.table(random_people(2_000)), {**document(), "algorithm": "local-recoding"})


def unlisted() -> Case:
    """Records whose value the hierarchy lacks leave before counting."""
    sexes = {"type": "groups", "levels": [{"Person": ["F"]}]}
    return Case(
        pa.table(random_people(3_000)), document(sex={"role": "k-quasi", "hierarchy": sexes, "unlisted": "suppress"})
    )


def coded_columns() -> Case:
    """Dictionaries in the file, one of them ordered, and types that need care."""
    columns = random_people(3_000)
    columns["zip"] = pa.array(columns["zip"]).dictionary_encode()
    positions = pa.array((np.arange(3_000) * 7 % 3).astype(np.int8))
    columns["illness"] = pa.DictionaryArray.from_arrays(positions, pa.array(["mild", "bad", "worst"]), ordered=True)
    columns["score"] = pa.array([{"a": [i, i + 1]} for i in range(3_000)])
    return Case(pa.table(columns), document(score=OPENLY))


def many_k_quasis() -> Case:
    """Twelve of forty values: all slots together are more than fit an integer. The seed makes zip the same as the first."""
    rng = np.random.default_rng(SEED)
    columns = random_people(3_000) | {f"q{i}": [f"{v:02d}" for v in rng.integers(0, 40, 3_000)] for i in range(12)}
    of_k = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
    policy = document(zip=OPENLY, sex=OPENLY, **{f"q{i}": of_k for i in range(12)})
    return Case(pa.table(columns), policy, memory=200_000_000)


def rare_categories() -> Case:
    """Dictionaries of a few hundred values, so that no two buckets hold the same."""
    columns = random_people(3_000)
    rare = [f"illness {i // 5 * (i % 7 == 0)}" for i in range(3_000)]
    columns["illness"] = pa.array(rare).dictionary_encode()
    return Case(pa.table(columns), document())


CASES: dict[str, Callable[[], Case]] = {
    make.__name__.replace("_", " "): make
    for make in (
        plain,
        nulls,
        missing_in_class,
        empty_partitions,
        giant_class,
        giant_among_others,
        tiny_classes,
        skewed_keys,
        odd_names,
        no_epsilon_quasi,
        whole_numbers,
        confident,
        confident_giant,
        mondrian,
        local_recoding,
        unlisted,
        coded_columns,
    )
}


def pairs(on_spark: Sequence[str]) -> list[Any]:
    """All cases with the engine that spills, and some with Spark: a release there takes seconds.

    `test_every_engine` releases every case on Spark, and compares what was expected of it. So other tests need only those
    cases in which they ask Spark for something else.
    """
    return [pytest.param(name, "spilling", id=f"{name}-spilling") for name in CASES] + [
        pytest.param(name, "spark", id=f"{name}-spark", marks=pytest.mark.spark) for name in on_spark
    ]


def release(case: Case, engine: str, folder: Path, *, seed: int | None = None) -> kepsilon.Release:
    source = folder / "table"
    if not source.exists():
        case.write(folder)
    return kepsilon.anonymise(
        source, kepsilon.Policy.from_dict(case.policy), engine=ENGINES[engine](folder, case.memory), unsafe_seed=seed
    )
