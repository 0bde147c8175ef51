# SPDX-License-Identifier: Apache-2.0
"""Trouble while records are on disk: one clear message, no release, and nothing of the records left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.engines.on_disk.needs import Foreseen
from kepsilon.engines.room import Room, parse_bytes
from kepsilon.engines.spilling.columns import SpilledColumns
from kepsilon.engines.spilling.engine import SpillingEngine
from kepsilon.files.private_folders import SPILL_PREFIX, SpillFolder
from material.engine_cases import MEMORY, POLICY, SEED, Case, document, plain, random_people, release

N = 40_000


@pytest.fixture
def large(tmp_path):
    """A folder of Parquet and its policy, to be released into the same place."""
    Case(pa.table(random_people(N)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def arguments(folder: Path, *extra: object) -> list[str]:
    words = ["anonymise", folder / "table", "-p", folder / "policy.toml", "-o", folder / "out.parquet"]
    return [str(word) for word in [*words, "--memory", "200MB", *extra]]


def only_inputs(folder: Path) -> bool:
    return sorted(path.name for path in folder.iterdir()) == ["policy.toml", "table"]


def spill_folders(folder: Path) -> list[Path]:
    return list(folder.glob(f"{SPILL_PREFIX}*"))


def test_the_command_releases_a_folder_under_a_memory_limit(large, kepsilon_command):
    """And leaves the release, its manifest and its record, and nothing else."""
    outcome = kepsilon_command(*arguments(large))
    assert outcome.code == 0, outcome.err
    names = sorted(path.name for path in large.iterdir() if path.name not in ("policy.toml", "table"))
    assert names == ["out.parquet", "out.parquet.curator.json", "out.parquet.manifest.json"]
    assert len(parquet.read_table(large / "out.parquet")) > 0.7 * N


def test_disk_full_while_spilling(large):
    """A limit on file size stands in for a full disk; the operating system refuses the write for real."""
    outcome = subprocess.run(
        [sys.executable, "-m", "kepsilon", *arguments(large)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert outcome.returncode == 2, outcome.stderr
    assert f"{large}: the disk is full; nothing was released" in outcome.stderr
    assert only_inputs(large)


def test_too_little_disk_is_said_before_any_work(large, kepsilon_command, monkeypatch):
    """Both figures are in the message."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    monkeypatch.setattr(SpilledColumns, "_count_all", lambda _: pytest.fail("work has begun"))
    outcome = kepsilon_command(*arguments(large))
    assert outcome.code == 2
    assert "MB are needed to spill to, and 1 B are free" in outcome.err
    assert only_inputs(large)


def test_a_folder_that_cannot_be_written_to_is_said_before_any_work():
    """As a plain user, for root may write anywhere."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        Case(pa.table(random_people(50)), document()).write(folder)
        (folder / "locked").mkdir(mode=0o555)
        program = (
            "import os, kepsilon, kepsilon.pipeline.anonymise, kepsilon.engines.spilling.engine\n"
            "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
            "try:\n"
            f"    kepsilon.anonymise({str(folder / 'table')!r}, None, memory='1GB', spill_folder={str(folder / 'locked')!r})\n"
            "except kepsilon.EngineError as error:\n"
            "    print(error)"
        )
        outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/")
        assert "locked: cannot be written: permission denied" in outcome.stdout


def add_records(file: Path) -> None:
    parquet.write_table(pa.concat_tables([parquet.read_table(file)] * 2), file)


def change_a_type(file: Path) -> None:
    table = parquet.read_table(file)
    i = table.schema.get_field_index("score")
    parquet.write_table(table.set_column(i, "score", table.column(i).cast(pa.float64())), file)


def take_away(file: Path) -> None:
    file.unlink()


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def change_values(file: Path) -> None:
    """As many records, of the same size and time: only counting again tells."""
    status = file.stat()
    table = parquet.read_table(file)
    i = table.schema.get_field_index("zip")
    zips = table.column(i).to_pylist()
    zips[:20] = [zips[0]] * 20
    parquet.write_table(table.set_column(i, "zip", pa.array(zips)), file)
    with file.open("ab") as opened:
        opened.truncate(file.stat().st_size)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", [add_records, change_a_type, take_away, cut_short, change_values])
def test_input_changed_between_the_two_readings_is_refused(change, tmp_path, monkeypatch):
    """By count, schema, size and time of every file, and at last by the classes that the records make."""
    case = plain()
    file = case.write(tmp_path) / "part-1.parquet"
    second = SpilledColumns.classes

    def changed_meanwhile(self, recoding):
        change(file)
        return second(self, recoding)

    monkeypatch.setattr(SpilledColumns, "classes", changed_meanwhile)
    if change is change_values:
        monkeypatch.setattr("kepsilon.sources.parquet_files.ParquetFiles._refuse_changed", lambda *_: None)
    with pytest.raises(kepsilon.EngineError, match="was changed while it was being read") as caught:
        release(case, "spilling", tmp_path)
    assert "CANARY" not in str(caught.value)
    assert spill_folders(tmp_path) == []


def test_out_of_memory_on_one_batch(large, kepsilon_command, monkeypatch):
    """In words, no release, nothing left."""

    def too_much(*_arguments: object, **_options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("kepsilon.draw.realise", too_much)
    outcome = kepsilon_command(*arguments(large))
    assert outcome.code == 2
    assert outcome.err.startswith("kepsilon: out of memory; nothing was released.\n")
    assert only_inputs(large)


STOPPED = """
import os, signal, sys, time
from kepsilon.engines.on_disk.batches import NoisyBuckets
from kepsilon.cli.main import main

def stop(*_arguments, **_options):
    print("records are on disk", flush=True)
    time.sleep(60)

NoisyBuckets.store_for = stop
# Whoever runs the tests in the background may have asked for signals to be ignored, which a child inherits.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["kepsilon", *sys.argv[1:]]
main()
"""


def stopped(folder: Path) -> subprocess.Popen[str]:
    """A run that waits while its records are on disk."""
    run = subprocess.Popen(
        [sys.executable, "-c", STOPPED, *arguments(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout.readline() == "records are on disk\n"
    return run


def test_killed_while_spilling_the_next_start_tidies_up(large, kepsilon_command):
    """While it is alive its folder is private and left alone; once it is dead, any start in that place removes it."""
    run = stopped(large)
    (folder,) = spill_folders(large)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    SpillFolder(large).close()
    assert folder.exists(), "its run is alive"
    run.kill()
    run.communicate()
    assert folder.exists()
    assert kepsilon_command(*arguments(large)).code == 0
    assert spill_folders(large) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["Ctrl-C", "kill", "hang up"])
def test_an_interrupt_leaves_nothing(large, sent):
    """One line, no traceback, nothing left."""
    run = stopped(large)
    run.send_signal(sent)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert err.strip() == "kepsilon: interrupted; nothing was released."
    assert only_inputs(large)


def test_no_identifier_is_ever_spilt(tmp_path, monkeypatch):
    """Not even for the owner's eyes: they are not read."""
    from kepsilon.engines.spilling.classes import SpilledClasses

    seen = []
    merge = SpilledClasses.merge

    def look(self, *arguments, **options):
        files = [path for path in self._folder.path.iterdir() if path.is_file()]
        seen.extend(path.read_bytes() for path in files)
        return merge(self, *arguments, **options)

    monkeypatch.setattr(SpilledClasses, "merge", look)
    release(plain(), "spilling", tmp_path)
    assert len(seen) > 10
    assert not any(b"CANARY" in content for content in seen)


def test_the_folder_goes_with_the_release(tmp_path):
    """When it is closed, or when nobody holds it any more."""
    with release(plain(), "spilling", tmp_path):
        assert len(spill_folders(tmp_path)) == 1
    assert spill_folders(tmp_path) == []
    forgotten = release(plain(), "spilling", tmp_path)
    assert len(spill_folders(tmp_path)) == 1
    del forgotten
    gc.collect()
    assert spill_folders(tmp_path) == []


def test_a_large_class_with_too_many_values_is_refused(tmp_path):
    """Its distinct values have to fit, and the message says so without any of them."""
    columns = random_people(6_000, zips=np.zeros(6_000, dtype=int))
    columns["height"] = np.random.default_rng(SEED).normal(170, 9, 6_000)
    with pytest.raises(kepsilon.EngineError, match='distinct values of "height"'):
        release(Case(pa.table(columns), document(sex={"role": "sensitive"})), "spilling", tmp_path)
    assert spill_folders(tmp_path) == []


def test_a_large_class_with_several_epsilon_quasis_is_refused_with_what_it_needs(tmp_path):
    """Before records are spilt or noise is drawn."""
    columns = random_people(6_000, zips=np.zeros(6_000, dtype=int))
    policy = document(score={"role": "epsilon-quasi", "precision": 1, "range": "class"})
    with pytest.raises(kepsilon.EngineError, match="No noise was drawn") as caught:
        release(Case(pa.table(columns), policy), "spilling", tmp_path)
    assert "GB of memory" in str(caught.value)


def test_too_many_combinations_are_refused_with_what_to_coarsen(tmp_path):
    """The attribute with the most values is named first, and by how much to coarsen."""
    columns = random_people(62 * 58, zips=np.arange(62 * 58) % 62)
    columns["score"] = np.arange(62 * 58) // 62
    policy = document(sex={"role": "sensitive"}, score={"role": "k-quasi", "hierarchy": {"type": "suppress"}})
    with pytest.raises(kepsilon.EngineError, match=r"at least 3,596 combinations") as caught:
        release(Case(pa.table(columns), policy), "spilling", tmp_path)
    assert 'most values before anything else: "zip" (62 values), "score" (58 values)' in str(caught.value)
    assert "4.6 times fewer" in str(caught.value)


def test_too_many_values_of_a_k_quasi_are_refused_while_they_are_read(tmp_path, monkeypatch):
    """In the first parts already, with the name of the column and none of its values, if no sample told before."""
    case = Case(pa.table(random_people(4_000, zips=np.arange(4_000))), document())
    monkeypatch.setattr(Foreseen, "refuse", lambda *_: None)
    learned = []
    learn = SpilledColumns._learn
    monkeypatch.setattr(SpilledColumns, "_learn", lambda *a: learned.append(len(a[1])) or learn(*a))
    with pytest.raises(kepsilon.EngineError, match=r'too many distinct values, "zip" at least \d{3}, ') as caught:
        release(case, "spilling", tmp_path)
    assert sum(learned) < 400
    assert "room for 125." in str(caught.value)
    assert "0000" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("2 GB", 2 * 10**9),
        ("2gb", 2 * 10**9),
        (" 2g ", 2 * 10**9),
        ("1.5 GiB", 1610612736),
        ("500m", 500 * 10**6),
        (2 * 10**9, 2 * 10**9),
        ("2000000000", 2 * 10**9),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    """Decimal and binary units, with or without the B."""
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["much", "-2GB", "2PB", "", "100MB", "5", 0, "0", "0GB", -1, "1e9", "nan", "inf", "2GB2"]
)
def test_sizes_that_make_no_sense_are_refused(text):
    """Also those that leave no room for a single record."""
    with pytest.raises(kepsilon.EngineError, match="memory: "):
        parse_bytes(text)


def test_only_parquet_can_be_read_in_parts(tmp_path):
    """Text and tables in memory are refused with what to do."""
    (tmp_path / "a.csv").write_text("a\n1\n", encoding="utf-8")
    engine = SpillingEngine(memory=MEMORY, folder=tmp_path)
    for source in (tmp_path / "a.csv", pa.table({"a": [1]})):
        with pytest.raises(kepsilon.EngineError, match="only Parquet"):
            engine.open_source(source)


def test_batches_hold_whole_classes_and_no_more_than_fits():
    """Every class is in one batch; a batch of several classes fits."""
    room = Room(memory=MEMORY, n_epsilon_quasis=1)
    sizes = np.random.default_rng(SEED).integers(5, 600, 200)
    batches = room.batches(sizes)
    assert [i for own in batches for i in range(own.start, own.stop)] == list(range(200))
    assert all(sizes[own].sum() <= room.records_per_batch or own.stop - own.start == 1 for own in batches)


def test_a_private_folder_goes_although_somebody_writes_there(tmp_path):
    """A worker of a cluster may not have been stopped yet; nothing that it writes may stay."""
    for _ in range(20):
        spill = SpillFolder(tmp_path)
        inside = spill.path / "1"
        inside.mkdir()
        has_begun = threading.Event()

        def write(inside=inside, has_begun=has_begun):
            with contextlib.suppress(FileNotFoundError):
                for i in range(20_000):
                    (inside / str(i)).touch()
                    has_begun.set()

        writer = threading.Thread(target=write)
        writer.start()
        has_begun.wait()
        spill.close()
        writer.join()
        assert list(tmp_path.iterdir()) == []
