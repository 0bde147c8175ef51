# SPDX-License-Identifier: Apache-2.0
"""Trouble with files, disks, screens and usage gets one clear message and the right exit code, and leaves nothing behind."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import kepsilon
from kepsilon.cli.surroundings import NoPandas, leave_pandas_out
from material.people import people, write_csv
from material.refusals import change_policy, refused


@pytest.fixture
def case(case):
    """The made-up people with an ε that leaves their height useful: commands that run by themselves refuse it otherwise."""
    policy = case / "policy.toml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("epsilon = 2", "epsilon = 16"), encoding="utf-8")
    return case


def test_missing_file(case, kepsilon_command):
    """The most common mistake of all."""
    assert "no such file" in refused(case, kepsilon_command, source="nobody.csv")


def test_missing_policy(case, kepsilon_command):
    """And its sibling."""
    (case / "policy.toml").unlink()
    assert "cannot read the policy" in refused(case, kepsilon_command)


def test_output_folder_missing(case, kepsilon_command):
    """Said before any work."""
    assert "no such folder" in refused(case, kepsilon_command, output="nowhere/out.csv", check_passes=True)


def test_output_of_unknown_kind(case, kepsilon_command):
    """The suffix decides the format."""
    assert "what kind of file" in refused(case, kepsilon_command, output="out.docx", check_passes=True)


def test_output_equal_to_input(case, kepsilon_command):
    """Also with --overwrite, also by another name."""
    (case / "link.csv").symlink_to(case / "people.csv")
    for output in ("people.csv", "link.csv"):
        outcome = kepsilon_command(
            "anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / output, "--overwrite"
        )
        assert outcome.code == 2
        assert "is the data, an input" in outcome.err
    assert len((case / "people.csv").read_text(encoding="utf-8").splitlines()) == 121


def test_existing_output_is_refused(case, kepsilon_command):
    """A release is drawn once and kept."""
    (case / "out.csv").write_text("precious", encoding="utf-8")
    assert "exists already" in refused(case, kepsilon_command, check_passes=True)
    assert (case / "out.csv").read_text(encoding="utf-8") == "precious"


def test_not_writable_folder(case):
    """As a plain user, for root may write anywhere."""
    with tempfile.TemporaryDirectory() as place:
        open_folder = Path(place)
        open_folder.chmod(0o755)
        for name in ("people.csv", "policy.toml"):
            shutil.copy(case / name, open_folder / name)
        folder = open_folder / "locked"
        folder.mkdir(mode=0o555)
        outcome = _as_plain_user(
            ["anonymise", open_folder / "people.csv", "-p", open_folder / "policy.toml", "-o", folder / "out.csv"],
            warm_up=open_folder / "out.csv",
        )
        assert outcome.returncode == 2, outcome.stderr
        assert "cannot be written: permission denied" in outcome.stderr
        assert list(folder.iterdir()) == []


def test_disk_full_while_writing(case):
    """A limit on file size stands in for a full disk; the operating system refuses the write for real."""
    write_csv(case / "people.csv", people(20_000))
    command = [sys.executable, "-m", "kepsilon", "anonymise", case / "people.csv", "-p", case / "policy.toml"]
    outcome = subprocess.run(
        [*command, "-o", case / "out.csv"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert outcome.returncode == 2, outcome.stderr
    assert "disk is full" in outcome.stderr
    assert sorted(path.name for path in case.iterdir()) == ["people.csv", "policy.toml"]


def test_disk_full_while_syncing(case, kepsilon_command, monkeypatch):
    """Some file systems say so only at fsync."""

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "disk is full" in refused(case, kepsilon_command, check_passes=True)


def test_a_bug_shows_no_record(case, kepsilon_command, monkeypatch):
    """Whatever goes wrong inside, its text is not printed."""

    def broken(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("CANARY-0001 lives at")

    monkeypatch.setattr("kepsilon.predict.noise_ranges.class_ranges", broken)
    message = refused(case, kepsilon_command, code=1)
    assert "a bug of ours (RuntimeError at predict/noise_ranges.py:" in message


def test_wrong_usage_exits_2(kepsilon_command):
    """Before any file is touched."""
    assert kepsilon_command("anonymise").code == 2
    assert kepsilon_command("annonymise").code == 2


def _as_plain_user(arguments: list[object], *, warm_up: Path) -> subprocess.CompletedProcess[str]:
    """The command without root's rights. A first run imports everything, for the interpreter may be root's own."""
    words = [str(argument) for argument in arguments]
    program = (
        "import os, sys\n"
        "from kepsilon.cli.main import run\n"
        f"assert run([*{words[:-1]!r}, {str(warm_up)!r}]) == 0\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        f"sys.exit(run({words!r}))"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd="/")


def test_inputs_of_the_policy_are_never_overwritten(case, kepsilon_command):
    """The policy and its hierarchy files are inputs too."""
    (case / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    change_policy(case, '"suppress"', '"file", path = "sex.csv"')
    outcome = kepsilon_command(
        "anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "sex.csv", "--overwrite"
    )
    assert outcome.code == 2
    assert "is the hierarchy of sex, an input, which is never overwritten" in outcome.err


def test_a_negative_seed_is_wrong_usage(case, kepsilon_command):
    """Not a bug."""
    arguments = [
        "anonymise",
        case / "people.csv",
        "-p",
        case / "policy.toml",
        "-o",
        case / "o.csv",
        "--unsafe-seed",
        "-1",
    ]
    assert kepsilon_command(*arguments).code == 2


def run_command(case: Path, *extra: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kepsilon", "anonymise", case / "people.csv", "-p", case / "policy.toml"]
    return subprocess.run([*command, "-o", case / "out.csv", *extra], text=True, check=False, **options)


def test_a_screen_without_epsilon_is_no_reason_to_stop(case):
    """ASCII terminals exist."""
    outcome = run_command(case, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert outcome.returncode == 0, outcome.stderr
    assert "records read" in outcome.stdout


def test_a_summary_that_cannot_be_shown_is_not_called_a_failed_release(case):
    """The release is there, and the message says so."""
    with open("/dev/full", "w") as full:
        outcome = run_command(case, "--json", stdout=full, stderr=subprocess.PIPE)
    assert outcome.returncode == 2
    assert "was released, but its summary could not be shown" in outcome.stderr
    assert (case / "out.csv").exists()


def test_a_reader_that_goes_away_is_no_error(case):
    """`kepsilon anonymise … | head -1`"""
    command = (
        f"{sys.executable} -m kepsilon anonymise people.csv -p policy.toml -o out.csv | true; exit ${{PIPESTATUS[0]}}"
    )
    outcome = subprocess.run(["bash", "-c", command], cwd=case, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert "nothing was released" not in outcome.stderr
    assert (case / "out.csv").exists()


def _imports_of_pandas(case: Path) -> Path:
    """A stand-in for pandas that leaves a file when it is imported; the name of that file."""
    (case / "stand-in").mkdir()
    marker = case / "stand-in" / "was-imported"
    (case / "stand-in" / "pandas.py").write_text(f"open({str(marker)!r}, 'w').close()\nraise ImportError\n")
    return marker


def test_a_command_does_not_import_pandas(case):
    """Arrow would, where it is installed, which takes longer than a small release."""
    marker = _imports_of_pandas(case)
    places = [str(marker.parent), str(Path(kepsilon.__file__).parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    arguments = ["anonymise", "people.csv", "-p", "policy.toml", "-o", "out.csv"]
    subprocess.run([sys.executable, "-m", "kepsilon", *arguments], cwd=case, env=environment, check=True)
    assert (case / "out.csv").exists()
    assert not marker.exists()


def test_pandas_is_left_to_spark(monkeypatch):
    """Its Python code needs pandas; nothing else that a command does."""
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    leave_pandas_out(["anonymise", "a.parquet", "--engine=spark"])
    assert NoPandas not in sys.meta_path
    leave_pandas_out(["anonymise", "a.parquet", "--engine", "local"])
    assert sys.meta_path[0] is NoPandas
