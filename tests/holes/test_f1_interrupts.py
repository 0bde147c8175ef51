# SPDX-License-Identifier: Apache-2.0
"""A signal at the moment of publishing ends with the truth: released and said so, or nothing there and nothing left."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kepsilon as ke
from material.people import OF_USE_OR_NOT

AIMED = """
import os, signal, sys
import pyarrow.csv, pyarrow.parquet, kepsilon as ke
from kepsilon.cli import main

os.chdir(sys.argv[1])
warm_up, release = (ke.anonymise("people.csv", ke.Policy.from_file("policy.toml")) for _ in range(2))
warm_up.write("warm-up.parquet", report="warm-up.html")  # imports everything that a release needs
ke.anonymise = lambda *_arguments, **_options: release  # drawn once, because only what follows is watched
# Whoever runs the tests in the background may have had signals ignored, which a child inherits.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
calls = target = 0
sent = []
open_plainly = os.open

def aimed(function):
    def call(*args, **options):
        global calls
        for is_after in (False, True):
            calls += 1
            if calls == target:
                for number in sent:
                    os.kill(os.getpid(), number)
            if not is_after:
                result = function(*args, **options)
        return result
    return call

for name in ("mkdir", "fsync", "link", "replace", "rename", "unlink", "rmdir", "open", "close", "scandir"):
    setattr(os, name, aimed(getattr(os, name)))
print("ready", flush=True)
for line in sys.stdin:  # a fork for each signal
    words = line.split()
    folder, target, sent = words[0], int(words[1]), [int(word) for word in words[2].split(",")]
    child = os.fork()
    if child == 0:
        for stream, name in ((1, "shown"), (2, "said")):
            os.dup2(open_plainly(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        calls = 0
        sys.argv = ["kepsilon", "anonymise", "people.csv", "-p", "policy.toml", *words[3:]]
        try:
            main.main()
        except SystemExit as ending:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ending.code if calls >= target else 99)
        except BaseException:  # a second signal, and nobody to catch what its handler raised
            os._exit(77)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture
def case(case):
    """Releases are made by programs of their own."""
    (case / "policy.toml").write_text(OF_USE_OR_NOT, encoding="utf-8")
    return case


class Aimed:
    """Runs `kepsilon anonymise` and sends it signals right before or after one of its calls that touch files."""

    def __init__(self, case: Path) -> None:
        self.case = case
        self._process = subprocess.Popen(
            [sys.executable, "-c", AIMED, str(case)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        assert self._process.stdout.readline() == "ready\n"
        for path in case.glob("warm-up*"):
            path.unlink()

    def run(self, moment: int, signals: list[int], *arguments: str) -> tuple[int, str]:
        """The exit code and what was said; the code is 99 if the command was over before that moment."""
        numbers = ",".join(str(int(number)) for number in signals)
        self._process.stdin.write(f"{self.case} {moment} {numbers} {' '.join(arguments)}\n")
        code = int(self._process.stdout.readline())
        said = (self.case / "said").read_text(encoding="utf-8")
        for name in ("said", "shown"):
            (self.case / name).unlink()
        return code, said

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def aimed(case):
    runs = Aimed(case)
    yield runs
    runs.close()


def content(case: Path) -> dict[str, bytes]:
    """Every file below the folder, hidden ones too."""
    return {str(path.relative_to(case)): path.read_bytes() for path in case.rglob("*") if path.is_file()}


def sha256(path: Path) -> str:
    if path.is_dir():
        lines = "".join(f"{sha256(file)}  {file.name}\n" for file in sorted(path.iterdir()))
        return hashlib.sha256(lines.encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_whole(output: Path, *, n_files: int) -> bool:
    """All files are there, and data, manifest and record are of one release."""
    beside = [output.with_name(f"{output.name}.{kind}.json") for kind in ("manifest", "curator")]
    others = [output.parent / name for name in ("links.csv", "report.html")][: n_files - 3]
    if not all(path.exists() for path in (output, *beside, *others)):
        return False
    return all(json.loads(path.read_bytes())["digest"] == f"sha256:{sha256(output)}" for path in beside)


SCRIPT = "from kepsilon.__main__ import main; main()"

WHILE_LOADED = """
import importlib.abc, os, sys, time

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), 2)
                time.sleep(5)
            except KeyboardInterrupt:
                if sys.argv[2]:
                    raise ImportError("compiled code failed")
                raise

import runpy, _signal
_signal.signal(2, _signal.default_int_handler)
sys.modules.pop("signal", None)
sys.meta_path.insert(0, Interrupting())
{start}
"""
"""Sends Ctrl-C while a module is imported."""

SIGNALS = [
    [signal.SIGINT],
    [signal.SIGTERM],
    [signal.SIGHUP],
    [signal.SIGHUP, signal.SIGTERM],  # what a terminal that is closed sends
]


@pytest.mark.parametrize(
    ("arguments", "n_files"),
    [
        (("-o", "out.csv"), 3),
        (("-o", "out.parquet", "--linkage", "links.csv", "--report", "report.html"), 5),
        (("-o", "out", "--linkage", "links.csv"), 4),
        (("-o", "out.csv", "--linkage", "links.csv", "--overwrite"), 4),
    ],
    ids=["CSV", "Parquet", "folder", "overwrite"],
)
def test_f1_a_signal_at_any_file_operation_ends_with_the_truth(case, aimed, arguments, n_files):
    """Before and after every call that touches a file, from the first to the last, by every signal in turn.

    The earlier release, if there is one, is whole or the new one is; no private folder stays.
    """
    output = case / arguments[1]
    earlier: dict[str, bytes] = {}
    fresh = content(case)
    if "--overwrite" in arguments:
        policy = ke.Policy.from_file(case / "policy.toml")
        ke.anonymise(case / "people.csv", policy).write(output, linkage=case / "links.csv")
        earlier = {name: old for name, old in content(case).items() if name not in fresh}
    before = content(case)
    n_released = n_not = 0
    for moment in range(1, 10**4):
        code, said = aimed.run(moment, SIGNALS[moment % len(SIGNALS)], *arguments)
        if code == 99:
            break
        after = content(case)
        assert "Traceback" not in said
        assert not [name for name in after if "kepsilon" in name], "a private folder stayed"
        if after == before:
            n_not += 1
            assert code == 130, (moment, said)
            assert said.strip().endswith("kepsilon: interrupted; nothing was released.")
            continue
        n_released += 1
        assert is_whole(output, n_files=n_files), (moment, code, said)
        assert code == 0, (moment, said)
        assert f"kepsilon: {output.name} was released before the interrupt." in said
        assert "nothing was released" not in said
        for name in after.keys() - before.keys():
            (case / name).unlink()
        if output.is_dir():
            output.rmdir()
        for name, old in earlier.items():
            (case / name).write_bytes(old)
    assert n_not > 20
    assert n_released > 5


FROM_PYTHON = """
import os, signal, sys
import kepsilon as ke

os.chdir(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)
release = ke.anonymise("people.csv", ke.Policy.from_file("policy.toml"))
link = os.link

def linked(temporary, final, **options):
    if sys.argv[2] == "before" and str(final).endswith("out.csv"):
        os.kill(os.getpid(), signal.SIGINT)
    link(temporary, final, **options)
    if sys.argv[2] == "after" and str(final).endswith("out.csv"):
        os.kill(os.getpid(), signal.SIGINT)

os.link = linked
try:
    release.write("out.csv", linkage="links.csv")
except KeyboardInterrupt as interrupt:
    print("was released" in str(interrupt), release.record["digest"] is not None)
else:
    print("no interrupt")
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_f1_an_interrupt_of_the_python_function_tells_the_truth(case, moment):
    """`Release.write` is interrupted right before or right after the data file gets its name.

    The first takes all files back. The second finds a release that is out: the interrupt says so, and so does the record.
    """
    outcome = subprocess.run(
        [sys.executable, "-c", FROM_PYTHON, str(case), moment], capture_output=True, text=True, check=True
    )
    left = sorted(path.name for path in case.iterdir())
    assert "no interrupt" not in outcome.stdout
    if left == ["people.csv", "policy.toml"]:
        assert outcome.stdout == "False False\n"
    else:
        assert left == [
            "links.csv", "out.csv", "out.csv.curator.json", "out.csv.manifest.json", "people.csv", "policy.toml",
        ]  # fmt: skip
        assert outcome.stdout == "True True\n"


@pytest.mark.parametrize("sent", ["SIGTERM", "SIGHUP"])
def test_f1_a_signal_that_ends_a_python_program_leaves_nothing_half_done(case, sent):
    """Nobody handles it, so the system ends the program: after the files are in place, and the private folder is gone."""
    program = FROM_PYTHON.replace("SIGINT)", f"{sent})").replace("signal.default_int_handler", "signal.SIG_DFL")
    program = program.replace(
        "signal.signal(signal.SIGINT, signal.SIG_DFL)", f"signal.signal(signal.{sent}, signal.SIG_DFL)"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, str(case), "after"], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == -getattr(signal, sent)
    assert is_whole(case / "out.csv", n_files=4)
    assert not list(case.glob(".kepsilon*"))


@pytest.mark.parametrize("start", ["runpy.run_module('kepsilon', run_name='__main__')", SCRIPT], ids=["-m", "script"])
@pytest.mark.parametrize(
    ("module", "is_swallowed"),
    [("signal", False), ("click", False), ("click", True), ("kepsilon.cli.main", False), ("kepsilon.cli.main", True)],
)
def test_f1_an_interrupt_while_the_command_is_loaded_is_no_traceback(tmp_path, start, module, is_swallowed):
    """The first tenth of a second: nothing was read, nothing is left, and one line says so.

    Also where the module that is being imported makes another error of the KeyboardInterrupt, once there is a handler.
    """
    done = subprocess.run(
        [sys.executable, "-c", WHILE_LOADED.format(start=start), module, "swallowed" * is_swallowed],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "kepsilon: interrupted; nothing was released.\n"


def test_f1_next_to_nothing_is_loaded_before_there_is_a_handler():
    """Ctrl-C while `kepsilon` itself is imported is Python's to answer, and Python answers with a traceback."""
    program = (
        "import sys; before = set(sys.modules); import kepsilon.__main__; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.partition(".")[0] not in ("importlib", "warnings")}
    assert loaded <= {"__future__", "kepsilon", "kepsilon.__main__", "kepsilon.version"}


SWALLOWED = """
import os, signal, sys
import kepsilon
from kepsilon.cli import main
from kepsilon.policy.policy import Policy

def read(path):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    except KeyboardInterrupt:
        raise RuntimeError("compiled code failed")

Policy.from_file = read
sys.argv = ["kepsilon", "check", "in.csv", "-p", "policy.toml"]
main.main()
"""


def test_f1_an_interrupt_that_other_code_turns_into_an_error_is_an_interrupt():
    """Compiled code, such as that of an import, may fail on the KeyboardInterrupt; that is no bug of anybody."""
    done = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stderr == "kepsilon: interrupted; nothing was released.\n"
