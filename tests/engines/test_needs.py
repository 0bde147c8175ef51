# SPDX-License-Identifier: Apache-2.0
"""What a table takes, told before work starts: from a sample, near the truth, and refused only where it was seen."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.engines.on_disk import needs as needs_module
from kepsilon.engines.on_disk.needs import Foreseen, needs_of
from kepsilon.engines.room import Room
from kepsilon.engines.spilling.columns import SpilledColumns
from kepsilon.engines.spilling.engine import SpillingEngine
from kepsilon.files.private_folders import SPILL_PREFIX
from kepsilon.sources import parquet_files
from kepsilon.sources.parquet_files import ParquetFiles
from kepsilon.table.coarsening import SampledCombinations
from material.engine_cases import POLICY, SEED, Case, document, random_people
from material.people import OPENLY


def estimate(source: Path, policy: dict, *, memory: str | int = "200MB") -> kepsilon.Needs:
    return kepsilon.estimate_needs(source, kepsilon.Policy.from_dict(policy), memory=memory, spill_folder=source.parent)


def distinct(table: pa.Table, names: list[str]) -> int:
    return len(set(zip(*(table.column(name).to_pylist() for name in names), strict=True)))


def test_a_small_table_is_known_exactly(tmp_path):
    """All of it is the sample; nulls are values."""
    columns = random_people(3_000)
    columns["zip"] = [None if i % 7 == 0 else zip_code for i, zip_code in enumerate(columns["zip"])]
    case = Case(pa.table(columns), document())
    needs = estimate(case.write(tmp_path), case.policy)
    assert needs.n_sampled == needs.n_records == 3_000
    for name in ("zip", "sex"):
        assert needs.values[name].about == distinct(case.table, [name])
    n_combinations = distinct(case.table, ["zip", "sex"])
    assert needs.combinations.about == n_combinations
    assert str(needs).startswith(f"3,000 records, {n_combinations} combinations of k-quasis; needs about 200 MB of")


@pytest.mark.parametrize("layout", [{"row_group_size": 1_000}, {"row_group_size": 40_000}], ids=["short", "long"])
def test_a_large_table_is_estimated_from_a_part_of_it(layout, tmp_path, monkeypatch):
    """Fewer records are read than there are; a fifteenth of them tells within the factor that is promised."""
    monkeypatch.setattr(needs_module, "_SAMPLED", 8_000)
    monkeypatch.setattr(needs_module, "_SEEN", 30_000)
    columns = random_people(120_000, zips=np.minimum(np.random.default_rng(SEED).zipf(1.4, 120_000), 5_000))
    table = pa.table(columns)
    source = tmp_path / "table"
    source.mkdir()
    for i in range(3):
        parquet.write_table(table.slice(i * 40_000, 40_000), source / f"{i}.parquet", **layout)
    n_read = []
    learn = needs_module.GrowingCodes.learn
    monkeypatch.setattr(
        needs_module.GrowingCodes, "learn", lambda self, column: n_read.append(len(column)) or learn(self, column)
    )
    needs = estimate(source, document())
    assert sum(n_read) == 2 * needs.n_sampled
    assert abs(needs.n_sampled - 8_000) < 5 * np.sqrt(8_000)
    truth = distinct(table, ["zip", "sex"])
    assert needs.combinations.seen < needs.combinations.low
    assert needs.combinations.seen <= truth
    assert truth / np.sqrt(15) < needs.combinations.low <= needs.combinations.high < truth * np.sqrt(15)
    assert needs.combinations.high <= 2 * needs.values["zip"].high
    assert estimate(source, document()) == needs, "the same table gives the same estimate"


def test_places_are_spread_over_all_files(tmp_path):
    """Long files are looked at more often; empty ones never."""
    for i, n in enumerate((10, 0, 6_000, 90_000)):
        parquet.write_table(pa.table({"a": np.arange(n)}), tmp_path / f"{i}.parquet", row_group_size=300)
    places = ParquetFiles(tmp_path).places()
    assert len(places) == parquet_files._MOST_PLACES
    n_of_file = [sum(place.file.name == f"{i}.parquet" for place in places) for i in range(4)]
    assert n_of_file[:2] == [0, 0]
    assert 3 <= n_of_file[2] <= 5
    assert len({(place.file, place.group) for place in places}) == len(places)


def test_what_the_sample_shows_is_refused_before_all_is_read(tmp_path, monkeypatch):
    """Values first, with the level of the hierarchy that is enough and none of the values."""
    case = Case(pa.table(random_people(4_000, zips=np.arange(4_000))), document(), memory=1_000_000)
    monkeypatch.setattr(SpilledColumns, "_count_all", lambda _: pytest.fail("work has begun"))
    with pytest.raises(kepsilon.EngineError, match=r'"zip" at least 4,000, and the memory has room for 625') as caught:
        refused(case, tmp_path)
    assert 'Enough, in the input: "zip" to level 1 (its last character masked): about 1/10 of the values' in str(
        caught.value
    )
    assert "0000" not in str(caught.value).replace(str(tmp_path), "")


def refused(case: Case, folder: Path) -> kepsilon.Release:
    source = folder / "table" if (folder / "table").exists() else case.write(folder)
    policy = kepsilon.Policy.from_dict(case.policy)
    return kepsilon.anonymise(source, policy, engine=SpillingEngine(memory=case.memory, folder=folder))


def days(n: int) -> list[str]:
    first = np.datetime64("2001-01-01")
    return [str(first + i) for i in range(n)]


def many_combinations(n_days: int = 730, n_zips: int = 60) -> Case:
    """Every day of two years in each of sixty places."""
    n = n_days * n_zips
    columns = random_people(n, zips=np.arange(n) % n_zips) | {"born": np.repeat(days(n_days), n_zips).tolist()}
    born = {"role": "k-quasi", "hierarchy": {"type": "dates", "units": ["month", "year"]}}
    order = pa.array(np.random.default_rng(SEED).permutation(n))
    return Case(pa.table(columns).take(order), document(sex={"role": "sensitive"}, born=born), memory=1_400_000)


def test_the_refusal_says_which_level_is_enough(tmp_path, monkeypatch):
    """A date to its month leaves 24 of 730; room is for an eighth, which one masked digit of the place does not make."""
    monkeypatch.setattr(SpilledColumns, "_count_all", lambda _: pytest.fail("work has begun"))
    with pytest.raises(kepsilon.EngineError, match=r"at least 43,800 combinations, .* room for 5,468") as caught:
        refused(many_combinations(), tmp_path)
    words = str(caught.value)
    assert "There are about 44,000 combinations in all, which take about 200 MB of memory." in words
    assert (
        'Any one of these is enough, in the input:\n  - "zip" to level 1 (its last character masked): about 1/10'
        in words
    )
    assert '"born" to level 1 (month): about 1/30 of the combinations are left' in words
    assert "give more memory, at least" in words


def test_what_is_only_extrapolated_is_counted(tmp_path, monkeypatch):
    """4,000 records in the sample show no more than 4,000 combinations. That there are eight times the room is said, not refused."""
    monkeypatch.setattr(needs_module, "_SAMPLED", 4_000)
    case = many_combinations()
    needs = foreseen(case, tmp_path).needs
    assert needs.combinations.seen < 5_468 < needs.combinations.low
    assert not needs.fits
    with pytest.raises(kepsilon.EngineError, match=r"at least 43,800 combinations, .* room for 5,468"):
        refused(case, tmp_path)


def foreseen(case: Case, folder: Path, **options: object) -> Foreseen:
    files = ParquetFiles(folder / "table" if (folder / "table").exists() else case.write(folder))
    roles = kepsilon.classify.classify(files.column_names, kepsilon.Policy.from_dict(case.policy), source="")
    return Foreseen(files, roles, memory=case.memory, linkage=True, **options)


def test_a_table_that_only_begins_with_many_values_is_released(tmp_path, monkeypatch):
    """The first third of its only row group is all different, the rest is alike; the sample comes from that third."""
    monkeypatch.setattr(needs_module, "_SAMPLED", 4_000)
    monkeypatch.setattr(needs_module, "_SEEN", 10_000)
    zips = np.minimum(np.arange(30_000), 10_000)
    policy = {**document(sex={"role": "sensitive"}), "max_suppression": 0.5}
    case = Case(pa.table(random_people(30_000, zips=zips)), policy, n_files=1, memory=17_000_000)
    needs = foreseen(case, tmp_path).needs
    assert needs.values["zip"].low > 2 * 10_001, "the estimate is far above the truth, and twice the room"
    assert not needs.fits
    assert ", which may be more than there is room for, and " in str(needs)
    assert refused(case, tmp_path).record["records"]["released"] >= 20_000


@pytest.mark.parametrize(("zips", "born", "memory", "fits"), [
    (2_000, 1, 3_202_000, True), (2_000, 1, 3_201_000, False),  # room for values
    (60, 60, 921_600, True), (60, 60, 921_000, False),  # room for combinations
])  # fmt: skip
def test_whether_it_fits_is_told_of_values_and_of_combinations(zips, born, memory, fits):
    """By hand: 1,600 bytes of memory for each value, 256 for each combination of two k-quasis."""
    n = zips * born
    sample = SampledCombinations(
        values={"zip": [str(i) for i in range(zips)], "born": [str(i) for i in range(born)]},
        codes={"zip": np.repeat(np.arange(zips), born), "born": np.tile(np.arange(born), zips)},
        counts=np.ones(n, dtype=np.int64),
        n_records=n,
    )
    needs = needs_of(sample, Room(memory=memory, n_epsilon_quasis=1), disk=0)
    assert needs.fits is fits
    assert ("room for" in str(needs)) is not fits


def test_the_disk_of_an_engine_that_gives_all_batches_noise_at_once(tmp_path):
    """By hand, without kept columns: 12 bytes twice; a position in the input once and for one bucket of eleven, or twice."""
    columns = random_people(1_000)
    table = pa.table({name: columns[name] for name in ("zip", "height")})
    policy = document()
    policy["attributes"] = {name: policy["attributes"][name] for name in table.column_names}
    case = Case(table, policy, memory=100 * 2 * 240)  # a batch of 100
    assert foreseen(case, tmp_path).needs.disk == 24_000 + 8_000 + 8_000 // 11
    assert foreseen(case, tmp_path, at_once=True).needs.disk == 24_000 + 2 * 8_000


def with_free_disk(n_bytes: int, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=n_bytes))


def test_whatever_only_looks_at_records_needs_less_disk_than_a_release(tmp_path, monkeypatch):
    """By hand: 4 bytes for a combination and 8 for the ε-quasi of each record, once, and nothing of what is kept."""
    source, policy = (
        Case(pa.table(random_people(3_000)), document()).write(tmp_path),
        kepsilon.Policy.from_dict(document()),
    )
    options = {"memory": "200MB", "spill_folder": tmp_path}
    looked_at = 3_000 * (4 + 8)
    assert kepsilon.estimate_needs(source, policy, **options).disk > 2 * looked_at
    with_free_disk(looked_at, monkeypatch)
    assert kepsilon.check(source, policy, **options).records.read == 3_000
    assert kepsilon.explore(source, policy, k=5, epsilon=2, **options).cells[0].prediction is not None
    for run in (kepsilon.anonymise, kepsilon.estimate_needs):
        with pytest.raises(kepsilon.EngineError, match=r"are needed to spill to, and 36 KB are free"):
            run(source, policy, **options)
    with_free_disk(looked_at - 1, monkeypatch)
    with pytest.raises(kepsilon.EngineError, match=r"about 36 KB are needed to spill to"):
        kepsilon.check(source, policy, **options)
    with pytest.raises(kepsilon.EngineError, match=r"about 36 KB are needed to spill to"):
        kepsilon.explore(source, policy, k=5, epsilon=2, **options)


def test_too_many_combinations_are_refused_while_they_are_counted(tmp_path, monkeypatch):
    """Where the sample shows too few: it may come from sorted files."""
    case = many_combinations()
    seen = case.table.slice(0, 50)
    monkeypatch.setattr(ParquetFiles, "sample", lambda _self, columns, **_options: iter([seen.select(columns)]))
    with pytest.raises(kepsilon.EngineError, match="combinations, and the memory has room for 5,468"):
        refused(case, tmp_path)


def test_without_k_quasis_there_is_one_combination(tmp_path):
    """Nothing is sampled for it."""
    kept = {"role": "insensitive"}
    case = Case(pa.table(random_people(500)), document(zip=kept, sex=kept))
    needs = estimate(case.write(tmp_path), case.policy)
    assert needs.combinations.about <= 1
    assert needs.disk > 500 * 20


def test_a_table_without_records_takes_nothing(tmp_path):
    """It is refused as `anonymise` refuses it."""
    case = Case(pa.table(random_people(10)).slice(0, 0), document(), n_files=2)
    with pytest.raises(kepsilon.DataError, match="has columns, but no records"):
        estimate(case.write(tmp_path), case.policy)


def spilt_at_most(folder: Path, stop: threading.Event, found: list[int]) -> None:
    while not stop.is_set():
        sizes = []
        # A file may go before it is asked for its size, and a folder before it is listed.
        with contextlib.suppress(FileNotFoundError):
            for file in folder.glob(f"{SPILL_PREFIX}*/*"):
                with contextlib.suppress(FileNotFoundError):
                    sizes.append(file.stat().st_size)
        found.append(sum(sizes))
        time.sleep(0.005)


def texts(n_different: int, length: int, n: int) -> pa.Array:
    rng = np.random.default_rng(SEED)
    return pa.array([f"{i:0{length}d}" for i in rng.integers(0, n_different, n).tolist()])


N = 200_000
KEPT = {
    "few short": lambda: texts(20, 10, N).dictionary_encode(),
    "many long": lambda: texts(20_000, 60, N).dictionary_encode(),
    "nearly all different": lambda: texts(10**9, 30, N).dictionary_encode(),
    "text that a file holds as a dictionary": lambda: texts(5_000, 80, N),
    "text": lambda: texts(10**9, 30, N),
    "lists": lambda: pa.array([[i, i] for i in range(N)]),
}


@pytest.mark.parametrize("kind", KEPT)
def test_the_disk_that_is_spilt_to_is_estimated_within_a_factor(kind, tmp_path):
    """Of one and a half, whatever is kept: dictionaries go with every part of every bucket."""
    rng = np.random.default_rng(SEED)
    columns = {
        "zip": [f"{z:03d}" for z in rng.integers(0, 900, N).tolist()],
        "height": np.round(rng.normal(170, 9, N), 1),
        "illness": KEPT[kind](),
    }
    source = tmp_path / "table.parquet"
    parquet.write_table(pa.table(columns), source, row_group_size=50_000)
    policy = document()
    policy["attributes"] = {name: policy["attributes"][name] for name in columns} | {"illness": OPENLY}
    engine = SpillingEngine(memory=50_000_000, folder=tmp_path)
    opened = engine.open_source(source)
    roles = kepsilon.classify.classify(opened.column_names, kepsilon.Policy.from_dict(policy), source="")
    expected = opened.needs(roles).disk
    stop, found = threading.Event(), [0]
    watcher = threading.Thread(target=spilt_at_most, args=(tmp_path, stop, found))
    watcher.start()
    try:
        with kepsilon.anonymise(source, kepsilon.Policy.from_dict(policy), engine=engine) as released:
            released.write(tmp_path / "out.parquet")
    finally:
        stop.set()
        watcher.join()
    assert max(found) / 1.5 < expected < 1.5 * max(found)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_command_says_what_it_takes_where_there_is_a_terminal(is_terminal, tmp_path, kepsilon_command, monkeypatch):
    """One line on stderr, before the work; silent in a pipeline."""
    rare = {"score": np.arange(3_000) % 90}  # so that no value occurs once, which would be noted
    source = Case(pa.table(random_people(3_000) | rare), document()).write(tmp_path)
    accepted = next(line for line in POLICY.splitlines(keepends=True) if line.startswith("accept_useless"))
    worth_having = POLICY.replace("epsilon = 2\n", "epsilon = 50\n").replace(accepted, "")  # nothing to be noted
    (tmp_path / "policy.toml").write_text(worth_having, encoding="utf-8")
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    words = ("anonymise", source, "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.parquet")
    outcome = kepsilon_command(*words, "--memory", "200MB")
    assert outcome.code == 0, outcome.err
    said = "3,000 records, 80 combinations of k-quasis; needs about 200 MB of memory and "
    assert outcome.err.startswith(said) is is_terminal
    assert is_terminal or not outcome.err
    assert said not in kepsilon_command(*words, "--overwrite").err
