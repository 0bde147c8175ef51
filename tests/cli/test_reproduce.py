# SPDX-License-Identifier: Apache-2.0
"""`kepsilon reproduce`: a quick run of everything, what it leaves, how it goes on, and how it says no."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from kepsilon.reproduce.scope import quick_scope
from kepsilon.reproduce.tasks import all_tasks

HOLD_ON_ADULT = (1, 2, 4, 5, 6, 8, 9, 11, 12, 17)
FILES = {"index.html", "claims.json", "run.json", "figures", "measurements"}


def command(*arguments, **more):
    return [sys.executable, "-m", "kepsilon", "reproduce", *map(str, arguments)]


SMALLER = {"N_FLORIDA": 20_000, "N_MICHIGAN": 15_000}
"""Records of the stand-ins, where they are no larger than it takes to measure everything."""


@pytest.fixture(scope="module")
def smaller(tmp_path_factory):
    """The environment of a command, and of processes that it starts, whose stand-ins are smaller; Adult is whole."""
    folder = tmp_path_factory.mktemp("smaller")
    lines = [f"data_sets.{name} = {n}\n" for name, n in SMALLER.items()]
    program = "".join(["from kepsilon.reproduce.data import data_sets\n", *lines])
    (folder / "sitecustomize.py").write_text(program, encoding="utf-8")
    before = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *before])}


@pytest.fixture(scope="module")
def quick(adult_path, tmp_path_factory, smaller):
    """One quick run of all three data sets, in a process of its own."""
    folder = tmp_path_factory.mktemp("reproduce") / "out"
    done = subprocess.run(
        command("--quick", "-o", folder, "--data", adult_path.parent),
        capture_output=True,
        text=True,
        check=False,
        env=smaller,
    )
    assert done.returncode == 0, done.stderr
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert all(f"{n:,}" in page for n in SMALLER.values()), "the stand-ins are those that were asked for"
    return folder, done.stdout


@pytest.mark.shared_data
def test_a_quick_run_leaves_everything_that_was_promised(quick):
    """Page, claims, log, and an SVG and a CSV file for every figure; no left-overs."""
    folder, _ = quick
    assert {path.name for path in folder.iterdir()} == FILES
    drawn = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert drawn == {path.stem for path in (folder / "figures").glob("*.csv")}
    assert {
        "dimensions",
        "error-distributions",
        "error-by-k",
        "error-by-epsilon",
        "risk-by-epsilon",
        "confident-k",
    } <= drawn
    log = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert log["about"]["setting"]["seed"] == 1
    assert {"kepsilon", "python", "numpy"} <= set(log["versions"])


@pytest.mark.shared_data
def test_every_claim_is_decided_on_every_data_set_it_speaks_of(quick):
    """Those that must hold on Adult hold there, and what does not hold has a reason with an experiment."""
    folder, shown = quick
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
    for number in range(1, 21):
        sets = ["florida", "michigan"] if number == 7 else ["adult", "florida", "michigan"]
        assert [claim["data_set"] for claim in claims if claim["id"] == number] == sets
    held = {claim["id"] for claim in claims if claim["data_set"] == "adult" and claim["held"]}
    assert held >= set(HOLD_ON_ADULT)
    for claim in claims:
        if not claim["held"]:
            assert len(claim["why"]) > 100
            assert claim["experiment"]
    assert f"Held: {sum(claim['held'] for claim in claims)} of {len(claims)}" in shown
    assert "too few cells to judge the claims by" in shown


@pytest.mark.shared_data
def test_the_suppression_row_of_adult_is_the_papers(quick):
    """To two decimals, from the CSV of the table."""
    folder, _ = quick
    with (folder / "figures" / "suppression-by-ola.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["data_set"] == "adult"]
    assert {int(row["k"]): round(100 * float(row["suppressed_by_k"]), 2) for row in rows} == {
        2: 1.67,
        5: 2.42,
        20: 1.47,
        100: 4.8,
    }


@pytest.mark.shared_data
def test_no_record_of_adult_or_of_a_stand_in_is_shown(quick, monkeypatch):
    """No identifier that was made up for the data sets is anywhere in what was written."""
    folder, _ = quick
    from kepsilon.reproduce.data import data_sets

    monkeypatch.setattr(data_sets, "N_MICHIGAN", SMALLER["N_MICHIGAN"])
    columns = data_sets.michigan(seed=1).columns
    everything = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())
    for name in ("surname", "address"):
        assert not [value for value in set(columns[name][:2000].tolist()) if value in everything and len(value) > 8]


@pytest.mark.shared_data
def test_a_run_goes_on_where_it_stopped(quick, adult_path, smaller):
    """What is there is not measured again, and what is missing comes out the same."""
    folder, shown = quick
    gone = folder / "measurements" / "releases-adult-ola-k20.json"
    before = json.loads(gone.read_text(encoding="utf-8"))
    other = folder / "measurements" / "releases-adult-ola-k5.json"
    unchanged = other.stat().st_mtime_ns
    gone.unlink()
    again = subprocess.run(
        command("--quick", "-o", folder, "--data", adult_path.parent),
        capture_output=True,
        text=True,
        check=False,
        env=smaller,
    )
    assert again.returncode == 0, again.stderr
    assert other.stat().st_mtime_ns == unchanged
    after = json.loads(gone.read_text(encoding="utf-8"))
    assert {**after, "seconds": 0} == {**before, "seconds": 0}
    assert again.stdout == shown


@pytest.mark.shared_data
def test_another_setting_does_not_mix_with_what_is_there(quick, adult_path, kepsilon_command):
    """Refused, and told what to do."""
    folder, _ = quick
    found = kepsilon_command("reproduce", "--quick", "--runs", 4, "-o", folder, "--data", adult_path.parent)
    assert found.code == 2
    assert "holds another reproduction" in found.err
    assert "--overwrite" in found.err


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_an_interrupted_run_keeps_what_it_measured(tmp_path):
    """Exit code 130, nobody left running, and the next run has less to do."""
    folder = tmp_path / "out"
    process = subprocess.Popen(
        command("--quick", "--data-sets", "michigan", "-o", folder),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    measured = folder / "measurements"
    until = time.monotonic() + 120
    while time.monotonic() < until and len([*measured.glob("*.json")] if measured.exists() else []) < 2:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, shown = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in shown
    assert "nothing was released" not in shown
    assert "Traceback" not in shown
    kept = [*measured.glob("*.json")]
    assert 2 <= len(kept) < len(all_tasks(quick_scope(), ["michigan"]))
    for path in kept:
        json.loads(path.read_text(encoding="utf-8"))


def test_without_adult_it_is_said_what_would_work(kepsilon_command, tmp_path, monkeypatch):
    """Where to get it, and how to do without."""
    monkeypatch.delenv("KEPSILON_DATA", raising=False)
    found = kepsilon_command("reproduce", "--quick", "-o", tmp_path / "out")
    assert found.code == 2
    assert "--data-sets florida,michigan" in found.err
    assert "UCI" in found.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--data-sets", "texas"), "texas"),
        (("--data-sets", ","), "none is named"),
        (("--runs", "1"), "1"),
        (("--data", "nowhere"), "is not there"),
    ],
)
def test_nonsense_is_refused_before_anything_is_measured(kepsilon_command, tmp_path, monkeypatch, arguments, words):
    """And nothing is written."""
    monkeypatch.chdir(tmp_path)
    found = kepsilon_command("reproduce", *arguments)
    assert found.code == 2
    assert words in found.err
    assert [*tmp_path.iterdir()] == []


@pytest.mark.shared_data
def test_a_wrong_adult_is_told_by_line_and_leaves_the_folder_free(kepsilon_command, adult_path, tmp_path):
    """The folder can be used again once the file is right."""
    text = adult_path.read_text(encoding="utf-8").splitlines()
    wrong = tmp_path / "adult.data"
    wrong.write_text("\n".join([*text[:50], "not, a, record"]), encoding="utf-8")
    found = kepsilon_command("reproduce", "--quick", "--data", wrong, "-o", tmp_path / "out")
    assert found.code == 2
    assert "line 51" in found.err
    assert not (tmp_path / "out").exists()
