# SPDX-License-Identifier: Apache-2.0
"""The first rig: whatever the table, the policy and the surroundings, nothing breaks and nothing leaks.

`make fuzz` runs it until its time is up; `python -m rigs.fuzz --case SEED` runs one case again.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import kepsilon
from rigs import tables
from rigs.cases import Case, draw_case
from rigs.commands import (
    HangsError,
    Outcome,
    everything_said,
    files_in,
    has_command,
    limited_time,
    n_open_in,
    nobody_waits_at,
    own_temporary_folder,
    repeatable_noise,
    run_command,
)
from rigs.faults import ANY, Fault, draw_fault
from rigs.invariants import Published, broken, broken_files, tokens_of_left_out
from rigs.policies import toml
from rigs.running import Tried, run_rig
from rigs.settings import settings_of
from rigs.tables import CSV_KINDS
from rigs.tokens import numbers_in, tokens_in

SHOWN_BY_MANY = 20
"""`init` copies a value into its proposal only if so many records hold it."""


@dataclass(kw_only=True)
class Trial:
    """One case while it is tried: its folder, its fault, and what was found."""

    case: Case
    folder: Path
    """Holds everything that the case reads and writes."""
    where: str = ""
    """Where the fault is made: in the policy, in a file, …; empty without a fault."""
    fault: Fault | None = None
    failures: list[str] = field(default_factory=list)
    ended: str = "refused"

    @property
    def path(self) -> Path:
        return self.folder / "files"

    @property
    def output(self) -> Path:
        return self.path / f"out{self.case.output}"

    def fail(self, *what: str) -> None:
        self.failures += what


def try_case(seed: int) -> Tried:
    """Runs everything that the case of a seed is made of, and says what is wrong about it."""
    case = draw_case(seed)
    where, fault = draw_fault(case)
    folder = Path(tempfile.mkdtemp(prefix="kepsilon-rig-")).resolve()
    trial = Trial(case=case, folder=folder, where=where, fault=fault)
    try:
        (folder / "files").mkdir()
        (folder / "temporary").mkdir()
        with own_temporary_folder(folder / "temporary"), repeatable_noise(seed):
            _try_frame(trial) if case.is_frame else _try_files(trial)
        if files_in(folder / "temporary"):
            trial.fail("left over: something stays in the folder for temporary files")
        if n_open_in(folder):
            trial.fail("left over: a file or folder is still open")
    except HangsError:
        trial.fail("hangs: a command takes too long")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    kind = f"{where}: {fault.name}" if fault is not None else "no fault"
    return Tried(
        seed=seed,
        ended=trial.ended,
        kinds=(f"input: {case.kind}", f"engine: {case.engine}", f"fault: {kind}"),
        settings=settings_of(case.document) if where != "policy" else frozenset(),
        failures=tuple(dict.fromkeys(trial.failures)),
    )


# Frames: the Python API


def _try_frame(trial: Trial) -> None:
    """Releases a frame through the Python API; an error must carry no value, not even as its cause."""
    case = trial.case
    if trial.where == "values" and trial.fault is not None:
        trial.fault.spoil(case, case.rng("spoil"))
    frame = tables.as_frame(case.columns, case.kind)
    document = _spoiled_document(trial)
    for name, content in case.hierarchy_files.items():
        (trial.path / name).write_text(content, encoding="utf-8")
    said = ""
    try:
        with limited_time():
            policy = kepsilon.Policy.from_dict(document, folder=trial.path)
            release = kepsilon.anonymise(frame, policy, unsafe_seed=case.unsafe_seed)
            published = _published(release, case)
            said = repr(release) + release._repr_html_()
    except kepsilon.AnonymisationError as error:
        said = everything_said(error)
        codes = ANY if trial.fault is None else trial.fault.codes
        if error.exit_code not in codes:
            trial.fail(f"exit codes: {error.exit_code} in Python")
    except Exception as error:
        said = everything_said(error)
        trial.fail(f"bug: {_place(error)}")
    else:
        trial.ended = "released"
        if trial.fault is not None and 0 not in trial.fault.codes:
            trial.fail(f"wrong, and released: {trial.fault.name}")
        trial.fail(*broken(case, published))
        if "audit" in case.also:
            _audit_frame(trial, frame, release, policy)
    _search(trial, said, "a message of the Python API")


def _published(release: kepsilon.Release, case: Case) -> Published:
    table = tables.from_frame(release.frame)
    return Published(
        names=table.column_names,
        columns=[column.to_pylist() for column in table.columns],
        is_text=False,
        linkage=tables.from_frame(release.linkage).to_pydict(),
        record=release.record.to_json(),
        manifest=release.manifest.to_json(),
        is_pandas=case.kind == "pandas",
    )


def _audit_frame(trial: Trial, frame: Any, release: kepsilon.Release, policy: kepsilon.Policy) -> None:
    found = kepsilon.audit(frame, release.frame, policy, linkage=release.linkage)
    trial.fail(*(f"accused: {finding.check}" for finding in found.broken))
    _search(trial, json.dumps(found.to_json(), ensure_ascii=False) + repr(found), "the findings of an audit")


def _place(error: BaseException) -> str:
    """The type of an error that is a bug, and where in the package it was raised; its text may hold a record."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/kepsilon/" in f.filename]
    place = f"{frames[-1].filename.rpartition('/kepsilon/')[2]}:{frames[-1].lineno}" if frames else "outside kepsilon"
    return f"{type(error).__name__} at {place}"


# Files: the command line


def _try_files(trial: Trial) -> None:
    """Writes table and policy into a folder, and runs the commands of the case there."""
    case, path, rng = trial.case, trial.path, trial.case.rng("files")
    if trial.where == "values" and trial.fault is not None:
        trial.fault.spoil(case, case.rng("spoil"))
    source = tables.write(case.columns, path, case.kind, case.dialect, rng)
    policy = path / "policy.toml"
    content = toml(_spoiled_document(trial)).encode()
    if trial.where == "policy file" and trial.fault is not None:
        content = trial.fault.spoil(content, case.rng("spoil"))
    policy.write_bytes(content)
    for name, text in case.hierarchy_files.items():
        (path / name).write_text(text, encoding="utf-8")
    if trial.where in ("file", "csv") and trial.fault is not None:
        trial.fault.spoil(source, case.rng("spoil"), case)
    if source.is_fifo():
        with nobody_waits_at(source) as waits:
            _run_commands(trial, source, policy)
        trial.fail(*["hangs: a command waits for somebody to write into a pipe"][: len(waits)])
    else:
        _run_commands(trial, source, policy)


def _run_commands(trial: Trial, source: Path, policy: Path) -> None:
    case, rng = trial.case, trial.case.rng("commands")
    checked = _run(trial, "check", source, "-p", policy) if "check" in case.also else None
    if "init" in case.also:
        _try_init(trial, source)
    outcome, changes = _try_anonymise(trial, source, policy)
    if checked is not None and trial.where != "arguments":
        _compare_with_check(trial, checked, outcome)
    if outcome.code == 0:
        trial.ended = "released"
        if trial.fault is None or trial.where == "values":
            _look_at_release(trial, changes)
            _try_audits(trial, source, policy)
    if "explore" in case.also:
        cells = ["--k", "2,3", "--epsilon", "1,4"]
        _run(trial, "explore", source, "-p", policy, *cells, *rng.choice([[], ["--json"], ["--max-risk", "0.5"]]))
    if (
        "manifest" in case.also
        and has_command("manifest")
        and trial.ended == "released"
        and trial.where in ("", "values")
    ):
        _try_manifest(trial, policy)


def _spoiled_document(trial: Trial) -> dict[str, Any]:
    document = json.loads(json.dumps(trial.case.document))
    if trial.where == "policy" and trial.fault is not None:
        trial.fault.spoil(document, trial.case.rng("spoil"))
    return document


def _run(trial: Trial, *arguments: object) -> Outcome:
    """Runs a command and holds what is true of every command against it."""
    before = files_in(trial.path)
    outcome = run_command(arguments)
    if outcome.code == 1:
        where = re.search(r"\(\w+ (at [\w/.]+:\d+|outside kepsilon)\)", outcome.err)
        trial.fail(f"exit code 1: {outcome.name}: {where[0] if where else 'no place'}")
    elif outcome.code not in ANY:
        trial.fail(f"exit codes: {outcome.code}: {outcome.name}")
    if "Traceback" in outcome.err + outcome.out:
        trial.fail(f"traceback: {outcome.name}")
    if outcome.code and not outcome.err.strip() and outcome.name not in ("audit", "explore"):
        trial.fail(f"silence: {outcome.name} ends with {outcome.code} and says nothing")
    expected = {"anonymise"} if outcome.code == 0 else set()
    if outcome.name not in expected and files_in(trial.path) != before:
        trial.fail(f"left over: {outcome.name} with exit code {outcome.code} changed the folder")
    if outcome.name != "init":
        _search(trial, outcome.err + outcome.out, f"what {outcome.name} says", wrong=outcome.err)
    return outcome


def _search(trial: Trial, said: str, where: str, *, wrong: str | None = None) -> None:
    """Looks for values of records in a text. What the curator wrote into the policy may be quoted."""
    allowed = tokens_in(
        json.dumps(trial.case.document, ensure_ascii=False) + json.dumps(trial.case.hierarchy_files, ensure_ascii=False)
    )
    if found := tokens_in(said) - allowed:
        trial.fail(f"value: {len(found)} values of records in {where}")
    numbers = numbers_in(said if wrong is None else wrong)
    if numbers and numbers & _numbers(trial.case):
        trial.fail(f"value: a number of a record in {where}")


def _numbers(case: Case) -> frozenset[str]:
    policy = numbers_in(json.dumps(case.document))
    return frozenset(n for column in case.columns for value in column.values for n in numbers_in(str(value))) - policy


def _try_init(trial: Trial, source: Path) -> None:
    outcome = _run(trial, "init", source)
    counts = Counter(name for column in trial.case.columns for value in column.values for name in tokens_in(str(value)))
    if any(counts[name] < SHOWN_BY_MANY for name in tokens_in(outcome.out)) or tokens_in(outcome.err):
        trial.fail("value: init shows a value that few records hold")


def _try_anonymise(trial: Trial, source: Path, policy: Path) -> tuple[Outcome, frozenset[str]]:
    """Runs `anonymise`; returns how it ended and the names that are new in the folder."""
    case, path = trial.case, trial.path
    arguments = ["anonymise", str(source), "-p", str(policy), "-o", str(trial.output)]
    if case.with_linkage:
        arguments += ["--linkage", str(path / "linkage.parquet")]
    if case.with_report:
        arguments += ["--report", str(path / "report.html")]
    if case.engine != "in memory":
        arguments += ["--memory", "200MB"]
    if case.unsafe_seed is not None:
        arguments += ["--unsafe-seed", str(case.unsafe_seed)]
    arguments += ["--json"] * case.as_json
    if trial.where == "arguments" and trial.fault is not None:
        places = {"folder": path, "policy": policy, "input": source, "output": trial.output}
        arguments = trial.fault.spoil(
            arguments, {name: str(place) for name, place in places.items()}, case.rng("spoil")
        )
    before = {name: _content(path / name) for name in files_in(path)}
    with _little_room(trial):
        outcome = _run(trial, *arguments)
    if trial.fault is not None and outcome.code not in trial.fault.codes and outcome.code in ANY:
        trial.fail(f"exit codes: {outcome.code} for {trial.fault.name}")
    changed = [name for name, content in before.items() if _content(path / name) != content]
    if changed:
        trial.fail("input: anonymise changed a file that was there before")
    new = files_in(path) - before.keys()
    if outcome.code == 0 and trial.where != "arguments":
        wanted = {trial.output.name, f"{trial.output.name}.manifest.json", f"{trial.output.name}.curator.json"}
        wanted |= {"linkage.parquet"} if case.with_linkage else set()
        wanted |= {"report.html"} if case.with_report else set()
        if {name.partition("/")[0] for name in new} != wanted:
            trial.fail("left over: the new files are not those that were asked for")
    return outcome, frozenset(new)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _little_room(trial: Trial) -> Any:
    """Room for a few hundred records, where the case asks for that; the command line has no limit so small."""
    if trial.case.engine != "spilling" or trial.where == "arguments":
        return contextlib.nullcontext()
    return patch("kepsilon.engines.room.parse_bytes", lambda memory: 200_000)


def _compare_with_check(trial: Trial, checked: Outcome, outcome: Outcome) -> None:
    """What `check` lets pass is released, but for what only a draw or an output can show; what it refuses is refused."""
    only_drawn = "confidence" in trial.case.document or outcome.code == 2
    if checked.code == 0 and outcome.code != 0 and not only_drawn:
        trial.fail(f"check: it passes what anonymise ends with {outcome.code}")
    if checked.code in (2, 3) and outcome.code == 0:
        trial.fail(f"check: it ends with {checked.code} where anonymise releases")


def _look_at_release(trial: Trial, new: frozenset[str]) -> None:
    case, path, output = trial.case, trial.path, trial.output
    beside = {end: _beside(trial, end) for end in ("manifest", "curator")}
    linkage = path / "linkage.parquet" if case.with_linkage else None
    try:
        names, columns, is_text = tables.read(
            output, delimiter=case.dialect.delimiter if case.kind in CSV_KINDS else ","
        )
    except (ValueError, OSError) as error:
        trial.fail(f"release: it cannot be read ({type(error).__name__})")
        return
    published = Published(
        names=names,
        columns=columns,
        is_text=is_text,
        linkage=None if linkage is None else _linkage(linkage),
        record=json.loads(beside["curator"]),
        manifest=json.loads(beside["manifest"]),
    )
    trial.fail(*broken(case, published))
    report = path / "report.html" if case.with_report else None
    trial.fail(*broken_files(case, output, linkage=linkage, report=report))
    gone = tokens_of_left_out(case, published)
    files = [path / name for name in new if (path / name).is_file()]
    if any(gone & tokens_in(file.read_bytes()) for file in files):
        trial.fail("files: a value of a record that was left out is in a file")
    if tokens_in(beside["manifest"]) or numbers_in(beside["manifest"]) & _numbers(case):
        trial.fail("value: the manifest holds a value of a record, or one that the policy lists")
    _search(trial, beside["curator"], "the curator's record", wrong="")
    if report is not None:
        page = report.read_text(encoding="utf-8")
        _search(trial, page, "the report", wrong="")
        if any(name in page for name in ("<script>alert", "<b>bold")):
            trial.fail("report: the name of a column became a part of the page")


def _linkage(path: Path) -> Mapping[str, list[int]]:
    names, columns, _ = tables.read(path, delimiter=",")
    return dict(zip(names, columns, strict=True))


def _try_manifest(trial: Trial, policy: Path) -> None:
    """The manifest can be worked out from policy and release alone; what says when and how it was made is left out."""
    outcome = _run(trial, "manifest", trial.output, "-p", policy)
    if outcome.code:
        trial.fail("manifest: it cannot be worked out from the release")
        return
    there, again = (json.loads(text) for text in (_beside(trial, "manifest"), outcome.out))
    differing = sorted(key for key in there.keys() | again.keys() if there.get(key) != again.get(key))
    if wrong := [key for key in differing if key not in ("created", "kepsilon_version", "seeded")]:
        trial.fail(f"manifest: worked out again it differs in {', '.join(wrong)}")


def _beside(trial: Trial, end: str) -> str:
    """The text of the manifest or of the curator's record beside the release."""
    return trial.output.with_name(f"{trial.output.name}.{end}.json").read_text(encoding="utf-8")


def _try_audits(trial: Trial, source: Path, policy: Path) -> None:
    linkage = ["--linkage", trial.path / "linkage.parquet"] if trial.case.with_linkage else []
    for name, more in (("audit", linkage), ("audit without linkage", [])):
        if name in trial.case.also:
            outcome = _run(trial, "audit", source, trial.output, "-p", policy, "--json", *more)
            if outcome.code == 2:
                trial.fail("audit: it cannot read what was just released")
            elif outcome.code == 3:
                checks = {f["check"] for f in json.loads(outcome.out)["findings"] if f["severity"] == "broken"}
                trial.fail(*(f"accused: {check}" for check in sorted(checks)))


if __name__ == "__main__":
    run_rig("fuzz", try_case, until="seconds")
