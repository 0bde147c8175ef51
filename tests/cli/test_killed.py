# SPDX-License-Identifier: Apache-2.0
"""Killed at any moment, the output path holds the old file or the whole new one, and the next run tidies up."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kepsilon.files.atomic import PREFIX, Staging
from material.people import people, write_csv
from material.usefulness import accept_in_file

KILL_AT_CALL = """
import os, signal, sys
import kepsilon.engines.local.engine, kepsilon.pipeline.anonymise, kepsilon.policy.document, pyarrow.csv, pyarrow.parquet
from kepsilon.cli.main import run

folder, overwrite = sys.argv[1], sys.argv[2] == "overwrite"
arguments = ["anonymise", f"{folder}/people.csv", "-p", f"{folder}/policy.toml", "-o", f"{folder}/out.csv"]
arguments += ["--linkage", f"{folder}/links.csv"] + ["--overwrite"] * overwrite
calls = number = 0

def deadly(function):
    def call(*args, **options):
        global calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*args, **options)
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call

for name in ("mkdir", "fsync", "link", "replace", "unlink", "rmdir"):
    setattr(os, name, deadly(getattr(os, name)))
print("ready", flush=True)
for line in sys.stdin:  # a fork for each death, because imports take longer than a release
    number = int(line)
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr
        os._exit(run(arguments))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def whole(path: Path) -> bool:
    """The data file is the one its manifest vouches for."""
    manifest = json.loads(path.with_name(path.name + ".manifest.json").read_text(encoding="utf-8"))
    return manifest["digest"] == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def case(case):
    """The policy accepts what is useless: these tests run kepsilon in processes of their own."""
    accept_in_file(case / "policy.toml")
    return case


def left_overs(folder: Path) -> list[Path]:
    return list(folder.glob(f"{PREFIX}*"))


@pytest.mark.parametrize("mode", ["new", "overwrite"])
def test_killed_before_or_after_any_file_operation(case, kepsilon_command, mode):
    """Every call that touches the file system is a place to die, on both sides of the call."""
    output = case / "out.csv"
    files = [output, case / "links.csv", case / "out.csv.manifest.json", case / "out.csv.curator.json"]
    old = b"an older release"
    deaths = finished = 0
    runs = subprocess.Popen(
        [sys.executable, "-c", KILL_AT_CALL, str(case), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
    )
    assert runs.stdout.readline() == "ready\n"
    for number in range(1, 100):
        for path in files:
            path.unlink(missing_ok=True)
            if mode == "overwrite":
                path.write_bytes(old)
        runs.stdin.write(f"{number}\n")
        died = int(runs.stdout.readline())
        content = output.read_bytes() if output.exists() else None
        is_old = content == (old if mode == "overwrite" else None)
        assert is_old or whole(output)
        with Staging([case]):  # what the next run does first: takes back what was begun, or finds it finished
            pass
        assert left_overs(case) == []
        now = [path.read_bytes() if path.exists() else None for path in files]
        if is_old:
            assert now == [content] * 4, "data, manifest, record and linkage go together"
        else:
            assert whole(output)
            assert None not in now
            assert old not in now
        if died == 0:
            finished += 1
            assert whole(output)
            break
        assert died == -signal.SIGKILL
        deaths += 1
    runs.communicate()
    assert deaths > 10
    assert finished == 1
    outcome = kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "next.csv")
    assert outcome.code == 0
    assert left_overs(case) == []


def test_killed_at_many_moments(case, kepsilon_command):
    """Killed by the clock, where the time goes into reading, searching and writing instead of file operations."""
    write_csv(case / "people.csv", people(3_000))
    command = [sys.executable, "-m", "kepsilon", "anonymise", case / "people.csv", "-p", case / "policy.toml"]
    start = time.monotonic()
    subprocess.run([*command, "-o", case / "whole.csv"], check=True, capture_output=True)
    duration = time.monotonic() - start
    for i in range(8):
        output = case / f"out-{i}.csv"
        process = subprocess.Popen([*command, "-o", output], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(duration * (0.5 + i / 14))
        process.kill()
        process.wait()
        assert not output.exists() or whole(output)
    assert kepsilon_command(*command[3:], "-o", case / "next.csv").code == 0
    assert left_overs(case) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
def test_an_interrupt_cleans_up_and_exits_130(case, sent):
    """One line, no traceback, nothing left."""
    program = (
        "import os, signal, sys, time, kepsilon.pipeline.anonymise\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where tests run in the background
        "from kepsilon.cli import main\n"
        "from kepsilon.publish import release\n"
        "def slow(path):\n"
        "    print('writing', flush=True); time.sleep(60)\n"
        "release.digest = slow\n"
        f"sys.argv = ['kepsilon', 'anonymise', {str(case / 'people.csv')!r}, '-p', {str(case / 'policy.toml')!r},\n"
        f"            '-o', {str(case / 'out.csv')!r}]\n"
        "main.main()"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], text=True, **pipes) as process:
        assert process.stdout.readline() == "writing\n"
        assert len(left_overs(case)) == 1
        process.send_signal(sent)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.strip() == "kepsilon: interrupted; nothing was released."
    assert sorted(path.name for path in case.iterdir()) == ["people.csv", "policy.toml"]


def test_a_run_that_is_alive_is_never_touched(tmp_path):
    """Its private folder is locked; a second run in the same folder leaves it alone."""
    with Staging([tmp_path]) as first:
        with first.new_file(tmp_path / "a.csv", owner_only=False) as temporary:
            temporary.write_text("a", encoding="utf-8")
        with Staging([tmp_path]) as second, second.new_file(tmp_path / "b.csv", owner_only=True) as temporary:
            temporary.write_text("b", encoding="utf-8")
        assert len(left_overs(tmp_path)) == 1
        first.publish(overwrite=False)
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "a"
    assert left_overs(tmp_path) == []


def test_what_is_staged_is_private(tmp_path):
    """Others cannot look while a release is being made."""
    with Staging([tmp_path]) as staging, staging.new_file(tmp_path / "a.csv", owner_only=False) as temporary:
        assert os.stat(temporary.parent).st_mode & 0o777 == 0o700


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path):
    """Two runs, one name: the second is refused at the last moment, and leaves nothing."""
    from kepsilon import EngineError

    with Staging([tmp_path]) as staging:
        for name in ("a.csv", "a.csv.manifest.json"):
            with staging.new_file(tmp_path / name, owner_only=False) as temporary:
                temporary.write_text("mine", encoding="utf-8")
        (tmp_path / "a.csv").write_text("theirs", encoding="utf-8")
        with pytest.raises(EngineError, match="exists already"):
            staging.publish(overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "theirs"


def test_a_refused_run_leaves_the_other_release_whole(case, kepsilon_command):
    """Another run has finished under the same name meanwhile: none of its four files is touched."""
    import kepsilon

    policy = kepsilon.Policy.from_file(case / "policy.toml")
    late = kepsilon.anonymise(case / "people.csv", policy)
    kepsilon.anonymise(case / "people.csv", policy).write(case / "out.csv", linkage=case / "links.csv")
    before = {path: path.read_bytes() for path in case.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kepsilon.publish.release.check_outputs", lambda *_a, **_o: None)
        with pytest.raises(kepsilon.EngineError, match="exists already"):
            late.write(case / "out.csv", linkage=case / "links.csv")
    assert {path: path.read_bytes() for path in case.iterdir()} == before


def test_a_failed_overwrite_leaves_the_old_release_whole(case, monkeypatch):
    """The last move fails; manifest, record and linkage of the old release are put back."""
    import kepsilon
    from kepsilon.files import atomic

    policy = kepsilon.Policy.from_file(case / "policy.toml")
    kepsilon.anonymise(case / "people.csv", policy).write(case / "out.csv", linkage=case / "links.csv")
    before = {path: path.read_bytes() for path in case.iterdir()}
    move = atomic._move

    def failing(temporary: Path, final: Path, *, overwrite: bool) -> None:
        if final.name == "out.csv":
            raise OSError(28, "No space left on device")
        move(temporary, final, overwrite=overwrite)

    monkeypatch.setattr(atomic, "_move", failing)
    again = kepsilon.anonymise(case / "people.csv", policy)
    with pytest.warns(UserWarning, match="earlier"), pytest.raises(kepsilon.EngineError, match="disk is full"):
        again.write(case / "out.csv", linkage=case / "links.csv", overwrite=True)
    assert {path: path.read_bytes() for path in case.iterdir()} == before


def test_a_manifest_in_the_way_is_refused(case, kepsilon_command):
    """A curator's record whose release was moved away is precious too."""
    (case / "out.csv.curator.json").write_text("{}", encoding="utf-8")
    outcome = kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    assert outcome.code == 2
    assert "out.csv.curator.json: exists already" in outcome.err


def test_only_our_own_left_overs_are_removed(tmp_path):
    """A folder of somebody else's with a similar name stays."""
    for name, mode in ((".kepsilon-notes", 0o700), (PREFIX + "mine", 0o755)):
        (tmp_path / name).mkdir(mode=mode)
        (tmp_path / name / "1.txt").write_text("mine", encoding="utf-8")
    (tmp_path / (PREFIX + "other")).mkdir(mode=0o700)
    (tmp_path / (PREFIX + "other") / "notes.txt").write_text("mine", encoding="utf-8")
    dead = tmp_path / (PREFIX + "dead")
    dead.mkdir(mode=0o700)
    (dead / "0.csv").write_text("raw", encoding="utf-8")
    with Staging([tmp_path]):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".kepsilon-notes", PREFIX + "mine", PREFIX + "other"]


def test_two_runs_at_once_do_not_mix_their_files(tmp_path):
    """Same name, both with --overwrite: data, manifest and record are of one run, whichever was last."""

    def publish(content: str) -> None:
        with Staging([tmp_path]) as staging:
            for name in ("a.csv", "a.csv.manifest.json", "a.csv.curator.json"):
                with staging.new_file(tmp_path / name, owner_only=False) as temporary:
                    temporary.write_text(content, encoding="utf-8")
            staging.publish(overwrite=True)

    for round_ in range(30):
        threads = [threading.Thread(target=publish, args=(f"{round_} {i}",)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}) == 1
