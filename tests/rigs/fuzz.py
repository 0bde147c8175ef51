# SPDX-License-Identifier: Apache-2.0
"""The first rig: whatever the table, the policy and the surroundings, nothing breaks and nothing leaks.

`make fuzz` runs it until its time is up; `python -m rigs.fuzz --case SEED` runs one case again.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Collection, Mapping
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
)
from rigs.faults import ANY, draw_fault
from rigs.further_commands import try_audits, try_explore, try_init, try_manifest, try_show_values, try_splits
from rigs.invariants import Published, broken, broken_files, has_markup, tokens_of_left_out
from rigs.kept_types import changes_unsaid, types_of_file, types_of_frame, types_of_input
from rigs.policies import toml
from rigs.running import Tried, run_rig
from rigs.settings import settings_of
from rigs.surroundings import Surroundings, draw_signal, draw_surroundings, run_surrounded, wrong_ending
from rigs.tables import CSV_KINDS
from rigs.tokens import numbers_in, tokens_in
from rigs.trials import Trial, beside, numbers_of_records, run, search


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
        kinds=(
            f"input: {case.kind}",
            f"engine: {case.engine}",
            f"fault: {kind}",
            f"surroundings: {trial.around or 'this process'}",
        ),
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
        notes = "\n".join(map(str, release.warnings))
        trial.fail(*changes_unsaid(case, types_of_frame(frame), types_of_frame(release.frame), notes))
        if "audit" in case.also:
            _audit_frame(trial, frame, release, policy)
    search(trial, said, "a message of the Python API")


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
    search(trial, json.dumps(found.to_json(), ensure_ascii=False) + repr(found), "the findings of an audit")


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
    case = trial.case
    around = draw_surroundings(case)
    if around is not None:
        _try_surrounded(trial, source, policy, around)
        return
    checked = run(trial, "check", source, "-p", policy) if "check" in case.also else None
    if "init" in case.also:
        try_init(trial, source)
    outcome, changes = _try_anonymise(trial, source, policy)
    if checked is not None and trial.where != "arguments":
        _compare_with_check(trial, checked, outcome)
    if outcome.code == 0:
        trial.ended = "released"
        if trial.fault is None or trial.where == "values":
            _look_at_release(trial, changes, source, said=outcome.err)
            try_audits(trial, source, policy)
    if "show values" in case.also:
        try_show_values(trial, source, policy)
    if "explore" in case.also:
        try_explore(trial, source, policy)
    if "splits" in case.also:
        try_splits(trial, source, policy)
    if (
        "manifest" in case.also
        and has_command("manifest")
        and trial.ended == "released"
        and trial.where in ("", "values")
    ):
        try_manifest(trial, policy)


def _spoiled_document(trial: Trial) -> dict[str, Any]:
    document = json.loads(json.dumps(trial.case.document))
    if trial.where == "policy" and trial.fault is not None:
        trial.fault.spoil(document, trial.case.rng("spoil"))
    return document


def _try_anonymise(trial: Trial, source: Path, policy: Path) -> tuple[Outcome, frozenset[str]]:
    """Runs `anonymise`; returns how it ended and the names that are new in the folder."""
    case, path = trial.case, trial.path
    arguments = _anonymise_arguments(trial, source, policy, trial.output)
    if trial.where == "arguments" and trial.fault is not None:
        places = {"folder": path, "policy": policy, "input": source, "output": trial.output}
        arguments = trial.fault.spoil(
            arguments, {name: str(place) for name, place in places.items()}, case.rng("spoil")
        )
    before = {name: _content(path / name) for name in files_in(path)}
    with _little_room(trial):
        outcome = run(trial, *arguments)
    if trial.fault is not None and outcome.code not in trial.fault.codes and outcome.code in ANY:
        trial.fail(f"exit codes: {outcome.code} for {trial.fault.name}")
    changed = [name for name, content in before.items() if _content(path / name) != content]
    if changed:
        trial.fail("input: anonymise changed a file that was there before")
    new = files_in(path) - before.keys()
    if outcome.code == 0 and trial.where != "arguments" and _at_top(new) != _wanted(trial):
        trial.fail("left over: the new files are not those that were asked for")
    return outcome, frozenset(new)


def _anonymise_arguments(trial: Trial, source: Path, policy: Path, output: Path) -> list[str]:
    case = trial.case
    arguments = ["anonymise", str(source), "-p", str(policy), "-o", str(output)]
    if case.with_linkage:
        arguments += ["--linkage", str(trial.path / "linkage.parquet")]
    if case.with_report:
        arguments += ["--report", str(trial.path / "report.html")]
    if case.engine != "in memory":
        arguments += ["--memory", "200MB"]
    if case.unsafe_seed is not None:
        arguments += ["--unsafe-seed", str(case.unsafe_seed)]
    return arguments + ["--json"] * case.as_json


def _wanted(trial: Trial) -> set[str]:
    """Names of the files and folders of a whole release."""
    wanted = {trial.output.name, f"{trial.output.name}.manifest.json", f"{trial.output.name}.curator.json"}
    wanted |= {"linkage.parquet"} if trial.case.with_linkage else set()
    return wanted | ({"report.html"} if trial.case.with_report else set())


def _at_top(names: Collection[str]) -> set[str]:
    return {name.partition("/")[0] for name in names}


def _try_surrounded(trial: Trial, source: Path, policy: Path, around: Surroundings) -> None:
    """Runs `anonymise` in a process of its own: everything is in place and its ending says so, or nothing is there."""
    trial.around = around.name
    rng = trial.case.rng("around")
    sent = draw_signal(around, rng)
    output = trial.output if around.output is None else around.output(trial.output)
    before = {name: _content(trial.path / name) for name in files_in(trial.path)}
    outcome = run_surrounded(
        around,
        _anonymise_arguments(trial, source, policy, output),
        sent=sent,
        temporary=trial.folder / "temporary",
        rng=rng,
    )
    new = files_in(trial.path) - before.keys()
    trial.fail(*wrong_ending(around, sent, outcome, new=_at_top(new), wanted=_wanted(trial)))
    if any(_content(trial.path / name) != content for name, content in before.items()):
        trial.fail("input: anonymise changed a file that was there before")
    search(trial, outcome.err + outcome.out, f"what {outcome.name} says", wrong=outcome.err)
    if _at_top(new) == _wanted(trial):
        trial.ended = "released"
        _look_at_release(trial, frozenset(new), source, said=outcome.err if around.is_heard else None)


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


def _look_at_release(trial: Trial, new: frozenset[str], source: Path, *, said: str | None) -> None:
    """Holds every promise against a release and the files beside it; `said` is what was said, if anybody could hear it."""
    case, path, output = trial.case, trial.path, trial.output
    texts = {end: beside(trial, end) for end in ("manifest", "curator")}
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
        record=json.loads(texts["curator"]),
        manifest=json.loads(texts["manifest"]),
    )
    trial.fail(*broken(case, published))
    if said is not None:
        types = types_of_input(source, case.kind, [column.name for column in case.columns])
        trial.fail(*changes_unsaid(case, types, None if is_text else types_of_file(output), said))
    report = path / "report.html" if case.with_report else None
    trial.fail(*broken_files(case, output, linkage=linkage, report=report))
    gone = tokens_of_left_out(case, published)
    files = [path / name for name in new if (path / name).is_file()]
    if any(gone & tokens_in(file.read_bytes()) for file in files):
        trial.fail("files: a value of a record that was left out is in a file")
    if tokens_in(texts["manifest"]) or numbers_in(texts["manifest"]) & numbers_of_records(case):
        trial.fail("value: the manifest holds a value of a record, or one that the policy lists")
    search(trial, texts["curator"], "the curator's record", wrong="")
    if report is not None:
        page = report.read_text(encoding="utf-8")
        search(trial, page, "the report", wrong="", published=_frequent_labels(case, published))
        if has_markup(page):
            trial.fail("report: the name of a column became a part of the page")


def _frequent_labels(case: Case, published: Published) -> str:
    """The labels of k-quasis that at least k released records carry, which the report shows; one text."""
    k, texts = case.document["k"], []
    for column in case.of_role("k-quasi"):
        counts = Counter(map(str, published.column(column.name)))
        texts += [label for label, count in counts.items() if count >= k]
    return "\0".join(texts)


def _linkage(path: Path) -> Mapping[str, list[int]]:
    names, columns, _ = tables.read(path, delimiter=",")
    return dict(zip(names, columns, strict=True))


if __name__ == "__main__":
    run_rig("fuzz", try_case, until="seconds")
