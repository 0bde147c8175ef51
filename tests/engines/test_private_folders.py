# SPDX-License-Identifier: Apache-2.0
"""Folders for spilt records: locks that are held or do not exist, signals while they are removed, and memory that is none."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import kepsilon
from kepsilon.engines import machine
from kepsilon.files import private_folders
from kepsilon.files.interrupts import undisturbed
from kepsilon.files.private_folders import SPILL_PREFIX, SpillFolder
from material.engine_cases import POLICY, Case, document, plain, random_people
from material.machine import lacking


def spill_folders(folder: Path) -> list[Path]:
    return list(folder.glob(f"{SPILL_PREFIX}*"))


def test_a_lock_that_somebody_holds_is_not_waited_for_forever(tmp_path, monkeypatch):
    """A clear error after some seconds; and none if it is given back in time."""
    monkeypatch.setattr(private_folders, "PATIENCE", 0.3)
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    begun = time.monotonic()
    with pytest.raises(kepsilon.EngineError, match="another program has held a lock on this folder for 0 seconds"):
        SpillFolder(tmp_path)
    assert 0.3 <= time.monotonic() - begun < 5
    assert spill_folders(tmp_path) == []
    monkeypatch.setattr(private_folders, "PATIENCE", 20.0)
    giving_back = threading.Timer(0.2, os.close, [held])
    giving_back.start()
    SpillFolder(tmp_path).close()
    giving_back.join()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EBADF, errno.ENOSYS])
def test_file_systems_without_locks_are_spilt_to(number, tmp_path, monkeypatch):
    """What others left there stays, because nothing tells whether their runs are alive."""
    left = SpillFolder(tmp_path)
    (left.path / "0.c").write_bytes(b"1234")

    def no_locks(*_arguments: object) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    folder = SpillFolder(tmp_path)
    assert folder.path.exists()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.close()
    assert spill_folders(tmp_path) == [left.path]
    case = plain()
    with kepsilon.anonymise(
        case.write(tmp_path), kepsilon.Policy.from_dict(case.policy), memory="200MB", spill_folder=tmp_path
    ) as released:
        released.write(tmp_path / "out.parquet")
    left.close()
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_other_trouble_with_locks_is_worded(tmp_path, monkeypatch):
    """It is not taken for a file system without locks."""

    def broken(*_arguments: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(kepsilon.EngineError, match="cannot be written: Input/output error"):
        SpillFolder(tmp_path)


def test_a_signal_waits_until_the_folder_is_removed(tmp_path, monkeypatch):
    """It is not lost either."""
    folder = SpillFolder(tmp_path)
    (folder.path / "0.c").write_bytes(b"1234")
    remove = shutil.rmtree

    def interrupted(path, **options):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        remove(path, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            folder.close()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert spill_folders(tmp_path) == []


def test_signals_that_are_ignored_stay_so(tmp_path):
    """As under nohup; and other threads remove folders too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with undisturbed():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    folder = SpillFolder(tmp_path)
    elsewhere = threading.Thread(target=folder.close)
    elsewhere.start()
    elsewhere.join()
    assert spill_folders(tmp_path) == []


TWICE = """
import shutil, signal, sys, time
from kepsilon.engines.spilling.classes import SpilledClasses
from kepsilon.engines.on_disk.batches import NoisyBuckets
from kepsilon.cli.main import main

def stop(*_arguments, **_options):
    print("records are on disk", flush=True)
    time.sleep(60)

def slowly(path, **options):
    print("removing", flush=True)
    time.sleep(1)
    remove(path, **options)

NoisyBuckets.store_for = stop
signal.signal(signal.SIGINT, signal.default_int_handler)
remove = shutil.rmtree
sys.argv = ["kepsilon", *sys.argv[1:]]
seen = SpilledClasses.close
def close(self):
    shutil.rmtree = slowly
    seen(self)
SpilledClasses.close = close
main()
"""


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_interrupt_leaves_nothing(second, tmp_path):
    """Somebody who presses Ctrl-C twice wants to be gone, and their records too."""
    source = Case(pa.table(random_people(2_000)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    words = ["anonymise", source, "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.parquet", "--memory", "200MB"]
    run = subprocess.Popen(
        [sys.executable, "-c", TWICE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout.readline() == "records are on disk\n"
    assert len(spill_folders(tmp_path)) == 1
    run.send_signal(signal.SIGINT)
    assert run.stdout.readline() == "removing\n"
    run.send_signal(second)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert err.strip() == "kepsilon: interrupted; nothing was released."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "table"]


FEW_FILES = """
import resource, sys
n = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
from kepsilon.__main__ import main
main()
"""


@pytest.mark.parametrize("n_files", [5, 6, 7])
def test_where_few_files_may_be_open_a_refusal_leaves_nothing(n_files, tmp_path):
    """Neither spilt records nor a half-written release; with fewer than five, Python itself does not start."""
    source = Case(pa.table(random_people(300)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    words = ["anonymise", source, "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.parquet", "--memory", "200MB"]
    program = [sys.executable, "-c", FEW_FILES, str(n_files), *map(str, words)]
    run = subprocess.run(program, capture_output=True, text=True, check=False)
    left = sorted(path.name for path in tmp_path.iterdir() if path.name not in ("policy.toml", "table"))
    if run.returncode == 0:
        assert n_files == 7
        assert left == ["out.parquet", "out.parquet.curator.json", "out.parquet.manifest.json"]
    else:
        assert run.returncode == 2, run.stderr
        assert "Too many open files" in run.stderr
        assert left == []


NO_MORE_FILES = """
import errno, fcntl, resource, sys
from pathlib import Path
from kepsilon.files.private_folders import SpillFolder

def no_locks(*_arguments):
    raise OSError(errno.ENOLCK, "no locks")

place, when, locks = sys.argv[1:]
if locks == "no locks":
    fcntl.flock = no_locks
folder = SpillFolder(Path(place))
(folder.path / "0").mkdir()
for path in (folder.path / "0.c", folder.path / "0" / "0.c"):
    path.write_bytes(b"1234")
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))
opened = []
try:
    while True:
        opened.append(open("/dev/null"))
except OSError:
    pass
if when == "closed":
    folder.close()
if locks == "no locks":
    for file in opened:
        file.close()
"""


@pytest.mark.parametrize(("when", "locks"), [("closed", "locks"), ("at the end", "locks"), ("closed", "no locks")])
def test_a_folder_is_removed_where_no_further_file_can_be_opened(when, locks, tmp_path):
    """Its lock is given up for listing it; without one, it is removed at the end of the run, when others are closed."""
    program = [sys.executable, "-c", NO_MORE_FILES, str(tmp_path), when, locks]
    run = subprocess.run(program, capture_output=True, text=True, check=True)
    assert (run.stderr, list(tmp_path.iterdir())) == ("", [])


def test_a_folder_that_cannot_be_locked_is_removed(tmp_path, monkeypatch):
    """It is made before it is locked; the error is worded as any other of the disk."""
    n_locked = 0

    def broken_later(*_arguments: object) -> None:
        nonlocal n_locked
        n_locked += 1
        if n_locked > 1:  # the first is the lock on the folder around it
            raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", broken_later)
    with pytest.raises(kepsilon.EngineError, match="cannot be written: Input/output error"):
        SpillFolder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_more_memory_than_the_machine_has_is_refused(tmp_path, kepsilon_command, monkeypatch):
    """With what it has; before any work."""
    source = Case(pa.table(random_people(300)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    words = ("anonymise", source, "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.parquet", "--memory")
    outcome = kepsilon_command(*words, "9000TB")
    assert outcome.code == 2
    assert "memory: 9,000 TB are more than this machine has, which is" in outcome.err
    monkeypatch.setattr(machine, "total_memory", lambda: 10**9)
    assert "which is 1.0 GB" in kepsilon_command(*words, "2GB").err
    assert kepsilon_command(*words, "1GB").code == 0


def test_memory_is_what_a_container_may_have(tmp_path, monkeypatch):
    """Where it may have less than the machine does; "max" is no limit."""
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    all_of_it = machine.total_memory()
    assert all_of_it is not None
    assert all_of_it > 10**8
    for text, total in (("max\n", all_of_it), ("300000000\n", min(300_000_000, all_of_it)), (f"{1 << 62}", all_of_it)):
        (tmp_path / "memory.max").write_text(text, encoding="utf-8")
        assert machine.total_memory() == total
    (tmp_path / "memory.max").write_text("300000000\n", encoding="utf-8")
    (tmp_path / "memory.current").write_text("299999000\n", encoding="utf-8")
    assert machine.free_memory() == 1_000


def test_a_folder_in_memory_is_refused_where_it_would_take_too_much(tmp_path, monkeypatch):
    """Spilling to it would take the memory that there is not; a little of it does no harm."""
    device = tmp_path.stat().st_dev
    lines = [
        "22 1 0:999999 / /proc rw - proc proc rw",
        f"30 1 {os.major(device)}:{os.minor(device)} / /tmp rw,nosuid shared:5 - tmpfs tmpfs rw,size=1g",
    ]
    (tmp_path / "mounts").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(machine, "_MOUNTS", tmp_path / "mounts")
    assert machine.is_in_memory(tmp_path)
    monkeypatch.setattr(machine, "free_memory", lambda: 3 * 10**6)
    machine.refuse_full_disk(tmp_path, 10**6, memory=2 * 10**6)
    with pytest.raises(kepsilon.EngineError, match=r"is kept in memory \(tmpfs\), so that about 2.0 MB") as caught:
        machine.refuse_full_disk(tmp_path, 2 * 10**6, memory=2 * 10**6)
    assert "--spill-folder" in str(caught.value)
    (tmp_path / "mounts").write_text(lines[1].replace("tmpfs", "ext4"), encoding="utf-8")
    assert not machine.is_in_memory(tmp_path)
    machine.refuse_full_disk(tmp_path, 2 * 10**6, memory=2 * 10**6)


def test_the_memory_of_this_machine_is_told_apart_from_its_disks():
    """Against what the system says of its own."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or " /dev/shm " not in Path("/proc/self/mountinfo").read_text(encoding="utf-8"):
        lacking("no /dev/shm here")
    assert machine.is_in_memory(shm)
