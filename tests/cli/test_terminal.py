# SPDX-License-Identifier: Apache-2.0
"""What people see on a terminal: progress with counts and time left, colours that are not needed, whole words, no records."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from kepsilon.cli.colours import COLOURS, coloured
from kepsilon.cli.progress import STEPS, _Steps, counted, duration, fitting, in_words
from kepsilon.cli.wrapping import wrapped, wrapped_message
from material.machine import ROOT
from material.people import POLICY, people, write_csv

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def folder(tmp_path):
    write_csv(tmp_path / "people.csv", people())
    (tmp_path / "policy.toml").write_text(POLICY.replace("epsilon = 2", "epsilon = 16"), encoding="utf-8")
    return tmp_path


def on_terminal(folder, *arguments, **environment):
    """What a terminal of 80 columns receives from a command, on stdout and stderr together."""
    main, terminal = pty.openpty()
    unset = {"NO_COLOR", "CI", "FORCE_COLOR"}
    variables = {name: own for name, own in os.environ.items() if name not in unset}
    variables |= {"COLUMNS": "80", "LINES": "50", "TERM": "xterm-256color", **environment}
    command = [sys.executable, "-m", "kepsilon", *arguments]
    with subprocess.Popen(command, cwd=folder, env=variables, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        received = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not part:
                break
            received += part
    os.close(main)
    assert process.returncode == 0, received
    return received.decode()


def test_colours_go_with_no_color_and_say_nothing_alone(folder):
    """Without its colours the screen is, word for word, that of NO_COLOR."""
    check = ("check", "people.csv", "-p", "policy.toml")
    in_colour, plain = on_terminal(folder, *check), on_terminal(folder, *check, NO_COLOR="1")

    def summary(text):
        return ESCAPES.sub("", text[text.index("Figures") :]).replace("\r", "")

    assert "\x1b[3" in in_colour[in_colour.index("Figures") :]
    assert "\x1b[" not in plain[plain.index("Figures") :]
    assert summary(in_colour) == summary(plain)


@pytest.mark.parametrize("word", COLOURS)
def test_a_coloured_word_is_still_the_word(word, monkeypatch):
    """Padded as in a table or not."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert ESCAPES.sub("", coloured(word.ljust(20))) == word.ljust(20)
    assert coloured(word) != word
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured(word, bold=True) == word


def test_no_screen_shows_a_record(folder):
    """Names are canaries, and illnesses are numbered by person; progress is a screen too."""
    commands = [
        ("check", "people.csv", "-p", "policy.toml"),
        ("explore", "people.csv", "-p", "policy.toml", "--k", "3,4", "--epsilon", "16", "--all"),
        ("anonymise", "people.csv", "-p", "policy.toml", "-o", "out.csv", "--report", "out.html"),
        ("audit", "people.csv", "out.csv", "-p", "policy.toml"),
    ]
    records = people()
    values = {record["name"] for record in records} | {record["illness"] for record in records}
    for command in commands:
        shown = on_terminal(folder, *command)
        assert "CANARY" not in shown, command
        assert not [value for value in values if value in shown], command


def test_progress_shows_counts_on_a_terminal_and_nothing_elsewhere(folder):
    """A pipe would keep every one of its lines."""
    explore = ("explore", "people.csv", "-p", "policy.toml", "--k", "3,4", "--epsilon", "16,32", "--algorithm", "ola")
    assert re.search(r"\d+ of \d+ \w+", ESCAPES.sub("", on_terminal(folder, *explore)).partition("Take ")[0])
    command = [sys.executable, "-m", "kepsilon", *explore]
    piped = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert " of " not in "".join(line for line in piped.stderr.splitlines() if "…" in line)
    assert "\r" not in piped.stderr


def test_progress_says_how_much_is_done_and_how_long_the_rest_takes():
    """At the speed so far, once there is a speed."""
    now, shown = [0.0], []
    steps = _Steps(shown.append, clock=lambda: now[0])
    steps("expect")
    steps.on_count(1, 10, "classes")
    now[0] = 20.0
    steps.on_count(2, 10, "classes")
    steps.on_count(10, 10, "classes")
    assert shown == [
        "predicting what a release will be …",
        "predicting what a release will be: 1 of 10 classes",
        "predicting what a release will be: 2 of 10 classes, about 80 s left",
        "predicting what a release will be: 10 of 10 classes",
    ]


def test_a_line_of_progress_never_wraps():
    """A line that wraps is not rewritten: each change would leave one more line on the screen."""
    words = "predicting what a release will be: 26 of 30 cells near the limits, about 170 s left"
    assert fitting(words, room=len(words)) == words
    for room in range(1, len(words)):
        assert len(fitting(words, room=room)) <= room
    assert fitting(words, room=77).endswith("…: 26 of 30 cells near the limits, about 170 s left")


def test_a_slow_search_leaves_nothing_on_a_narrow_screen(folder):
    """Whatever is written before the answer is one line, rewritten each time."""
    explore = ("explore", "people.csv", "-p", "policy.toml", "--max-risk", "0.9")
    shown = on_terminal(folder, *explore, COLUMNS="40")
    frames = re.split(r"\x1b\[2K|\r", shown.partition("Take ")[0])
    assert len(frames) > 3
    assert max(len(ESCAPES.sub("", frame).strip()) for frame in frames) < 40
    assert all(frame.count("\n") <= 1 for frame in frames)


def test_figures_of_progress_are_those_that_people_use():
    """Megabytes, seconds, minutes, hours."""
    assert counted(1200, 12345, "classes") == "1,200 of 12,345 classes"
    assert counted(5_000_000, 12_000_000, "bytes") == "5 of 12 MB"
    assert [duration(own) for own in (0.2, 119, 600, 8000)] == ["1 s", "119 s", "10 min", "2 h"]


def test_every_step_is_announced_in_words_that_say_what_is_done():
    """Not "expect …" or "perturb …"."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "kepsilon").rglob("*.py"))
    names = set(re.findall(r"\.step\(\s*\"([^\"]+)\"", sources))
    assert len(names) > 5
    for name in names:
        assert name in STEPS or len(in_words(name).split()) > 1, name


@pytest.mark.parametrize("columns", ["40", "80", "100"])
def test_text_is_wrapped_between_words(monkeypatch, columns):
    """Never inside a word, a name or a figure, and no word is lost."""
    monkeypatch.setenv("COLUMNS", columns)
    text = " ".join(["well-known attributes.height_in_centimetres links 12.5 % where k = 10 and ε = 2,"] * 9)
    lines = wrapped(text, first="- ", indent="  ")
    assert all(len(line) <= int(columns) for line in lines)
    assert " ".join(line[2:] for line in lines).split() == text.split()
    assert not any(line.endswith(("12.5", "k", "k =", "ε", "ε =")) for line in lines)
    assert wrapped_message("refused: a.\n  What would work: b.") == "refused: a.\n  What would work: b."


def test_commands_round_in_one_way():
    """`kepsilon.rounding` decides how many digits a figure has; a format in a command would be a second way."""
    for path in sorted((ROOT / "src" / "kepsilon" / "cli").glob("*.py")):
        own = re.findall(r"\{[^{}]*:[,+]?\.\d[fge%]\}", path.read_text(encoding="utf-8"))
        allowed = {"progress.py": 2, "explored_grid.py": 1, "compared_splits.py": 9, "reproduce.py": 9}
        assert len(own) <= allowed.get(path.name, 0), (path.name, own)
