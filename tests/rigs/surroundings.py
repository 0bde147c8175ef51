# SPDX-License-Identifier: Apache-2.0
"""Surroundings of a command in a process of its own: closed or full streams, limits of the system, places where nothing
can be written, and signals. A new one is one line in SURROUNDINGS.
"""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import kepsilon
from rigs.cases import Case
from rigs.commands import PATIENCE, TOO_LONG, HangsError, Outcome
from rigs.faults import ANY, is_faulty

SURROUNDED = 0.06
"""Share of the cases with files and without a fault that are run so; each takes about a second."""

INTERRUPTED = 130

MUTANT = "KEPSILON_RIG_MUTANT"
"""Environment variable with Python code that breaks the package in the other process; for the tests of this rig."""

START = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs this in the background may have it ignored
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
exec(os.environ.pop("KEPSILON_RIG_MUTANT", ""))
from kepsilon.__main__ import main
at, number, what = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
del sys.argv[1:4]
sys.argv[0] = "kepsilon"

def watch(event, arguments):
    global at
    is_move = event.startswith(("os.", "shutil.", "fcntl.")) and event not in ("os.listdir", "os.scandir", "os.putenv")
    is_writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if is_move or is_writing or (what == "anything" and event in ("open", "import")):
        at -= 1
        if at == 0:
            os.kill(os.getpid(), number)

if at:
    sys.addaudithook(watch)
main()
"""
"""Runs the command, and sends it a signal at the n-th thing that it opens, imports, makes, moves or removes.

So a case is repeated by its seed, as far as the package does the same again; the moment of a clock would not be.
"""


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A signal, and when it is sent: at a number of events, counting anything that is opened or imported, or writing only."""

    number: int = 0
    at: int = 0
    what: str = "writing"


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What surrounds a command. Lines of the shell are `before; command redirects`."""

    name: str
    before: Sequence[str] = ("",)
    """One of these is drawn."""
    redirects: str = ""
    is_heard: bool = True
    """Whether what is said on stderr can be read afterwards."""
    environment: Mapping[str, str] | None = None
    output: Callable[[Path], Path] | None = None
    """Where the output goes instead; nothing can be written there."""
    signals: Sequence[int] = ()


def _no_place(output: Path) -> Path:
    """A path in a folder into which nobody can write: not even root can make a file in /proc."""
    if os.geteuid() == 0:
        return Path("/proc/self") / output.name
    folder = output.parent / "locked"
    folder.mkdir(mode=0o555, exist_ok=True)
    return folder / output.name


SURROUNDINGS = (
    Surroundings(name="closed stderr", redirects="2>&-", is_heard=False),
    Surroundings(name="closed stdout", redirects=">&-"),
    Surroundings(name="closed stdin", redirects="<&-"),
    Surroundings(name="closed streams", redirects="<&- >&- 2>&-", is_heard=False),
    Surroundings(name="full stdout", redirects=">/dev/full"),
    Surroundings(name="full stderr", redirects="2>/dev/full", is_heard=False),
    Surroundings(name="full streams", redirects=">/dev/full 2>/dev/full", is_heard=False),
    Surroundings(name="nobody reads", redirects="| head -c 0"),
    Surroundings(name="ASCII only", environment={"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"}),
    Surroundings(name="little address space", before=[f"ulimit -v {n}" for n in (150_000, 500_000, 1_000_000, 1_200_000)]),
    Surroundings(name="full disk", before=[f"ulimit -f {n}" for n in (0, 1, 4, 16)]),
    Surroundings(name="few open files", before=[f"ulimit -n {n}" for n in (5, 9, 14, 24)]),
    Surroundings(name="output in no place", output=_no_place),
    Surroundings(name="interrupted", signals=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    Surroundings(name="interrupted again", signals=(signal.SIGINT, signal.SIGTERM)),
)  # fmt: skip
"""`ulimit -f` stands for a full disk: a file that would become larger than so many kilobytes cannot be written.

Two of them are signals, because the moment makes many cases of one.
"""


def draw_surroundings(case: Case) -> Surroundings | None:
    """The surroundings of a case; most have none. Frames have no command, and faults are enough by themselves."""
    rng = case.rng("surroundings")
    is_drawn = rng.random() < SURROUNDED
    chosen = rng.choice(SURROUNDINGS)
    return chosen if is_drawn and not case.is_frame and not is_faulty(case.seed) else None


def draw_signal(around: Surroundings, rng: random.Random) -> Signal:
    """The signal of some surroundings, mostly while files are written, which is when something can be half done."""
    if not around.signals:
        return Signal()
    if rng.random() < 0.3:
        return Signal(number=rng.choice(around.signals), at=rng.randint(1, 2000), what="anything")
    return Signal(number=rng.choice(around.signals), at=rng.randint(1, 40))


def run_surrounded(
    around: Surroundings, arguments: Sequence[str], *, sent: Signal, temporary: Path, rng: random.Random
) -> Outcome:
    """Runs `kepsilon` in a process of its own, with these surroundings."""
    program = [sys.executable, "-c", START, str(sent.at), str(sent.number), sent.what, *arguments]
    command = f"{shlex.join(program)} {around.redirects}"
    environment = {**os.environ, "TMPDIR": str(temporary), **(around.environment or {})}
    environment["PYTHONPATH"] = str(Path(kepsilon.__file__).parents[1])
    try:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {rng.choice(around.before) or ':'}; {command}"],
            capture_output=True,
            check=False,
            env=environment,
            timeout=PATIENCE * TOO_LONG,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise HangsError from None
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    code = done.returncode - 128 if done.returncode > 128 and done.returncode != INTERRUPTED else done.returncode
    is_killed = code != done.returncode  # the shell says 128 and the number of the signal
    return Outcome(name=arguments[0], code=-code if is_killed else code, out=out, err=err)


def wrong_ending(
    around: Surroundings, sent: Signal, outcome: Outcome, *, new: Collection[str], wanted: Collection[str]
) -> Iterator[str]:
    """What is wrong about how `anonymise` ended: everything is in place and that is known, or nothing is there.

    `new` are the names that are new in the folder, `wanted` those of a whole release.
    """
    where = f"surroundings: {around.name}:"
    is_out = set(new) == set(wanted)
    if new and not is_out:
        yield f"{where} a part of a release is there"
    # Signals other than Ctrl-C end the program by themselves before it has a handler for them.
    killed = {-sent.number} if sent.number in (signal.SIGTERM, signal.SIGHUP) and not new else set()
    if outcome.code not in ANY | ({INTERRUPTED} if sent.at else set()) | killed:
        yield f"{where} exit code {outcome.code}"
    if "Traceback" in outcome.err or "Exception ignored" in outcome.err:
        yield f"{where} a traceback"
    is_denied = "nothing was released" in outcome.err.lower()
    says_released = "was released" in outcome.err and not is_denied
    if outcome.code == 0 and not is_out:
        yield f"{where} exit code 0, and nothing is there"
    if is_out and outcome.code != 0 and around.is_heard and not says_released:
        yield f"{where} a release is there, and exit code {outcome.code} without a word of it"
    if is_out and (outcome.code == INTERRUPTED or is_denied):
        yield f"{where} a release is there, and is denied"
    if not is_out and says_released:
        yield f"{where} a release is claimed, and is not there"
    if around.is_heard and outcome.code in (2, 3, INTERRUPTED) and not outcome.err.strip():
        yield f"{where} it ends with {outcome.code} and says nothing"
