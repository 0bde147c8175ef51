# SPDX-License-Identifier: Apache-2.0
"""Long texts, of which fewer records are looked at together; and where what does not fit goes."""

from __future__ import annotations

import signal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.cli import main
from kepsilon.engines.arrow import moving
from kepsilon.engines.on_disk.batches import NoisyBuckets
from kepsilon.engines.room import Room, bytes_in_words
from kepsilon.files.atomic import Staging
from kepsilon.files.private_folders import SPILL_PREFIX
from kepsilon.sources.parquet_files import ParquetFiles
from material.engine_cases import EVERY, MEMORY, POLICY, SEED, Case, document, random_people, release
from material.people import OPENLY


def with_letters(n: int, length: int) -> Case:
    """A letter of `length` characters in every record, no two alike."""
    columns = random_people(n)
    columns["illness"] = [f"{i:0{length}d}" for i in range(n)]
    return Case(pa.table(columns), document(illness=OPENLY))


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()], ids=str)
def test_text_is_taken_in_pieces_that_arrow_can_hold(kind, monkeypatch):
    """Whatever the order, with nulls, and with a value that is longer than a piece."""
    monkeypatch.setattr(moving, "_MOST_TEXT", 100)
    texts = [None if i % 9 == 0 else "x" * (i % 17) for i in range(300)] + ["y" * 250]
    column = pa.chunked_array([texts[:100], texts[100:]], type=pa.string()).cast(kind)
    rows = np.random.default_rng(SEED).permutation(301)[:280]
    found = moving.taker(column, codes_text=False)(rows)
    assert found.type == kind
    assert found.num_chunks > 10
    assert found.to_pylist() == [column[int(row)].as_py() for row in rows]


@pytest.mark.parametrize("engine", EVERY)
def test_pieces_of_text_are_released(engine, tmp_path, monkeypatch):
    """Every record keeps its own letter."""
    monkeypatch.setattr(moving, "_MOST_TEXT", 5_000)
    case = with_letters(1_500, 300)
    with release(case, engine, tmp_path) as released:
        released.write(tmp_path / "out.parquet", linkage=tmp_path / "links.parquet")
    rows = parquet.read_table(tmp_path / "links.parquet").column("original_row")
    found = parquet.read_table(tmp_path / "out.parquet").column("illness")
    assert found.to_pylist() == case.table.column("illness").take(rows).to_pylist()


def test_the_width_of_a_text_is_that_in_the_files(tmp_path):
    """Long texts count as long, a column inside another counts with it, and a short name is not a longer one."""
    nested = pa.array([{"b": "y" * 50, "c": i} for i in range(1_500)])
    table = with_letters(1_500, 300).table.append_column("a", nested).append_column("aa", pa.array(range(1_500)))
    source = Case(table, document()).write(tmp_path)
    files = ParquetFiles(source)
    assert 300 <= files.width("illness") <= 620
    assert files.width("a") >= 4
    assert files.width("a") + files.width("aa") < 40


def test_fewer_wide_records_are_looked_at_together():
    """In parts and in buckets, and never more than Arrow can hold."""
    narrow, wide = (Room(memory=10**9, n_epsilon_quasis=1, record_width=width) for width in (30, 30_000))
    assert narrow.records_per_part == 10**9 // 2048
    assert wide.records_per_part * 30_000 <= 10**9 / 8
    assert wide.n_noisy_buckets(10**6) * wide.memory >= 4 * 10**6 * 3 * 30_000
    huge = Room(memory=10**12, n_epsilon_quasis=1, record_width=30_000)
    assert huge.records_per_part * 30_000 <= 1 << 30
    assert 10**6 / huge.n_noisy_buckets(10**6) * 30_000 <= 1 << 30
    assert Room(memory=MEMORY, n_epsilon_quasis=1, record_width=10**9).records_per_part == 1


@pytest.mark.parametrize("n_buckets", [1, 2, 1 << 16, 1 << 17])
def test_every_noisy_bucket_can_be_drawn(n_buckets):
    """Also where 16 bits are too few to name one: of a bucket per record, e⁻¹ of them stay empty."""
    rng = np.random.default_rng(SEED)
    noisy = object.__new__(NoisyBuckets)
    noisy.buckets = range(n_buckets)
    drawn = noisy._drawn_places(n_buckets, rng)
    assert len(drawn) == n_buckets
    assert drawn.max() < n_buckets
    if n_buckets > 2:
        empty = n_buckets - len(np.unique(drawn))
        share = np.exp(-1)
        assert abs(empty - n_buckets * share) < 5 * np.sqrt(n_buckets * (share - 2 * share**2))


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(1, "1 B"), (1_940_000, "1.9 MB"), (47 * 10**6, "47 MB"), (2 * 10**12, "2.0 TB")]
)
def test_sizes_are_said_with_two_digits(n_bytes, words):
    """Small ones too."""
    assert bytes_in_words(n_bytes) == words


def test_the_command_spills_where_it_is_told_to(tmp_path, kepsilon_command, monkeypatch):
    """Not beside the output; and without a limit nothing is spilt."""
    source = Case(pa.table(random_people(500)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "spill").mkdir()
    seen = []
    before = kepsilon.anonymise
    monkeypatch.setattr("kepsilon.anonymise", lambda *a, **o: seen.append(o["spill_folder"]) or before(*a, **o))
    words = ("anonymise", source, "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.parquet")
    outcome = kepsilon_command(*words, "--memory", "300MB", "--spill-folder", tmp_path / "spill")
    assert outcome.code == 0, outcome.err
    assert seen == [tmp_path / "spill"]
    assert list((tmp_path / "spill").iterdir()) == []
    outcome = kepsilon_command(*words, "--overwrite", "--spill-folder", tmp_path / "spill")
    assert outcome.code == 2
    assert "--spill-folder goes with --memory" in outcome.err


def test_any_run_removes_what_a_killed_one_had_spilt_there(tmp_path):
    """Also one that spills nothing; a folder that is not ours stays."""
    left, other = tmp_path / f"{SPILL_PREFIX}left", tmp_path / f"{SPILL_PREFIX}other"
    for folder, name in ((left, "0.c"), (other, "precious")):
        folder.mkdir(mode=0o700)
        (folder / name).write_bytes(b"")
    with Staging([tmp_path]):
        pass
    assert not left.exists()
    assert other.exists()


@pytest.mark.parametrize(("before", "is_handled"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_closed_terminal_interrupts_unless_that_was_ignored(before, is_handled, monkeypatch):
    """Under nohup the run goes on."""
    handled = {}
    monkeypatch.setattr(signal, "signal", handled.__setitem__)
    monkeypatch.setattr(signal, "getsignal", lambda _: before)
    monkeypatch.setattr(main, "run", lambda _, **_options: 0)
    with pytest.raises(SystemExit):
        main.main()
    assert (signal.SIGHUP in handled) is is_handled
