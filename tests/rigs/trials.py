# SPDX-License-Identifier: Apache-2.0
"""One case while it is tried: its folder, what was found, and what is held against every command and every text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from rigs.cases import Case
from rigs.columns import Column
from rigs.commands import Outcome, files_in, run_command
from rigs.faults import ANY, Fault
from rigs.tokens import numbers_in, tokens_in


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
    around: str = ""
    """The name of what surrounds the command; empty if it is run in this process."""

    @property
    def path(self) -> Path:
        return self.folder / "files"

    @property
    def output(self) -> Path:
        return self.path / f"out{self.case.output}"

    def fail(self, *what: str) -> None:
        self.failures += what


def run(trial: Trial, *arguments: object, may_write: Collection[str] = (), shows: Column | None = None) -> Outcome:
    """Runs a command and holds what is true of every command against it.

    `may_write` are names of files that it may make; `anonymise`, where it releases, may make any. `shows` is the column
    whose values it may print to stdout.
    """
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
    if outcome.name not in expected and files_in(trial.path) - set(may_write) != before - set(may_write):
        trial.fail(f"left over: {outcome.name} with exit code {outcome.code} changed the folder")
    if shows is not None:
        search(trial, outcome.err, f"what {outcome.name} says beside the values that it is asked for")
        search(trial, outcome.out, f"the values that {outcome.name} shows of another column", shows=shows)
    elif outcome.name != "init":
        search(trial, outcome.err + outcome.out, f"what {outcome.name} says", wrong=outcome.err)
    return outcome


def search(
    trial: Trial, said: str, where: str, *, wrong: str | None = None, shows: Column | None = None, published: str = ""
) -> None:
    """Looks for values of records in a text. What the curator wrote into the policy may be quoted.

    Numbers are looked for in `wrong` alone, where it is given. Values of the column `shows` may be there, and so may what is
    `published`.
    """
    own = "\0".join(map(str, shows.values)) if shows is not None else ""
    allowed = tokens_in(
        json.dumps(trial.case.document, ensure_ascii=False)
        + json.dumps(trial.case.hierarchy_files, ensure_ascii=False)
        + own
        + published
    )
    if found := tokens_in(said) - allowed:
        trial.fail(f"value: {len(found)} values of records in {where}")
    numbers = numbers_in(said if wrong is None else wrong) - numbers_in(own)
    if numbers and numbers & numbers_of_records(trial.case):
        trial.fail(f"value: a number of a record in {where}")


def numbers_of_records(case: Case) -> frozenset[str]:
    """All recognisable numbers that records hold and the policy does not."""
    policy = numbers_in(json.dumps(case.document))
    return frozenset(n for column in case.columns for value in column.values for n in numbers_in(str(value))) - policy


def beside(trial: Trial, end: str) -> str:
    """The text of the manifest or of the curator's record beside the release."""
    return trial.output.with_name(f"{trial.output.name}.{end}.json").read_text(encoding="utf-8")
