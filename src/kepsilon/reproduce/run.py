# SPDX-License-Identifier: Apache-2.0
"""The paper's evaluation from beginning to end: measure what is not yet measured, judge the claims, write the pages."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from kepsilon import DataError, EngineError, PolicyError, Problem, __version__
from kepsilon.errors import guarded
from kepsilon.json_values import Json
from kepsilon.publish.inputs import inputs_of, refuse_input
from kepsilon.reproduce.claims.all_claims import judge_all
from kepsilon.reproduce.data.adult_file import GET_IT, adult_path, read_adult
from kepsilon.reproduce.data.data_sets import N_ADULT
from kepsilon.reproduce.pages.page import write_pages
from kepsilon.reproduce.results_on_disk import OURS, PAGE, ResultsFolder, digest_of_code, versions
from kepsilon.reproduce.scope import DATA_SETS, Measurements, Scope, quick_scope
from kepsilon.reproduce.tasks import Task, all_tasks, gathered, measure

MOST_WORKERS = 4

OnTask = Callable[[str, float], None]
"""Called with what was just done in words, and with the share of the work that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What came out, and where it was written."""

    folder: Path
    claims: list[Json]
    """One entry per claim and data set, as in claims.json."""
    answers: dict[str, str]
    """Which k and ε to take, by data set, in words."""
    notes: list[str]
    """What to know before believing the verdicts."""
    seconds: float

    @property
    def page(self) -> Path:
        return self.folder / PAGE


@guarded
def reproduce_paper(
    folder: str | Path,
    *,
    data: str | Path | None = None,
    runs: int | None = None,
    quick: bool = False,
    data_sets: Sequence[str] = DATA_SETS,
    overwrite: bool = False,
    on_task: OnTask = lambda words, share: None,  # noqa: ARG005 (shows nothing)
) -> Reproduction:
    """Runs the paper's evaluation and writes its figures and verdicts; what the folder already holds is not run again.

    `data` is the folder or file with UCI's Adult. `quick` takes fewer cells, and 3 runs instead of 30.
    """
    started = time.perf_counter()
    scope = _scope(runs, quick=quick)
    chosen = _chosen(data_sets)
    source = _adult(data) if "adult" in chosen else None
    about = {
        "setting": scope.to_json(),
        "data_sets": chosen,
        "adult": None if source is None else hashlib.sha256(source.read_bytes()).hexdigest(),
        "code": digest_of_code(),
        "versions": versions(),
    }
    tasks = all_tasks(scope, chosen)
    inputs = inputs_of(source, None if source is None or data is None else adult_path(Path(data)))
    for name in OURS:  # --overwrite removes these
        refuse_input(Path(folder) / name, inputs)
    with ResultsFolder(Path(folder), about, overwrite=overwrite) as results:
        _measure_missing(tasks, results, scope, source, on_task)
        on_task("writing", 1.0)
        found = {task.name: results[task.name] for task in tasks}
        measurements = gathered(tasks, found)
        created, seconds = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter() - started
        claims = judge_all(measurements)
        content: Json = {
            "kepsilon_version": __version__,
            "created": created,
            "setting": scope.to_json(),
            "code": about["code"],
            "claims": claims,
        }
        facts = {
            "created": created,
            "versions": versions(),
            "n_workers": _n_workers(),
            "wall_seconds": round(seconds, 1),
        }
        log = results.finish(content, facts=facts, seconds={name: one["seconds"] for name, one in found.items()})
        write_pages(Path(folder), measurements, content, log)
    return Reproduction(
        folder=Path(folder),
        claims=claims,
        answers={name: str(measurements[f"choice-{name}"]["words"]) for name in chosen},
        notes=[*_notes(scope, measurements)],
        seconds=seconds,
    )


def _notes(scope: Scope, measurements: Measurements) -> Iterator[str]:
    """Sentences to read before believing the verdicts."""
    if scope.is_quick:
        yield "A quick run: too few cells to judge the claims by."
    adult = measurements.get("releases-adult-ola")
    if adult is not None and adult["n_counted"] != N_ADULT:
        yield f"This Adult has {adult['n_counted']:,} records of persons under 80; the paper's has {N_ADULT:,}."


def _scope(runs: int | None, *, quick: bool) -> Scope:
    if runs is not None and runs < 2:
        raise PolicyError(Problem(where="runs", what="a spread needs two runs at least."))
    scope = quick_scope() if quick else Scope()
    return scope if runs is None else replace(scope, runs=runs)


def _chosen(data_sets: Sequence[str]) -> list[str]:
    unknown = [name for name in data_sets if name not in DATA_SETS]
    if unknown or not data_sets:
        what = f"there is no {' or '.join(unknown)}." if unknown else "none is named."
        raise PolicyError(Problem(where="data_sets", what=what, fix=f"The paper has {', '.join(DATA_SETS)}."))
    return [name for name in DATA_SETS if name in data_sets]


def _adult(data: str | Path | None) -> Path:
    if data is None:
        fix = f"{GET_IT} Without it: --data-sets florida,michigan."
        raise DataError(Problem(where="adult", what="the folder with Adult's file is not named.", fix=fix))
    path = adult_path(Path(data)).resolve()
    read_adult(path)  # what is wrong with it is said before anything is measured or written
    return path


def _measure_missing(
    tasks: Sequence[Task], results: ResultsFolder, scope: Scope, source: Path | None, on_task: OnTask
) -> None:
    """Measures side by side but for what has to run alone; each result is stored as soon as it is there."""
    missing = [task for task in tasks if task.name not in results]
    total, left = (sum(task.cost for task in several) for several in (tasks, missing))
    on_task("starting" if len(missing) == len(tasks) else "going on where it stopped", 1 - left / total)
    together, alone = ([task for task in missing if task.runs_alone is is_alone] for is_alone in (False, True))
    one_by_one = ((task, _timed(task, scope, source)) for task in alone)
    for task, measured in chain(_side_by_side(together, scope, source) if together else (), one_by_one):
        results.store(task.name, measured)
        left -= task.cost
        on_task(task.words, 1 - left / total)


def _side_by_side(tasks: Sequence[Task], scope: Scope, source: Path | None) -> Iterator[tuple[Task, Json]]:
    n_workers = min(_n_workers(), len(tasks))
    # A fresh interpreter for each: a fork would copy the locks of threads that Arrow may have started.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, mp_context=context, initializer=_leave_interrupts_to_parent) as pool:
        try:
            futures = {pool.submit(_timed, task, scope, source): task for task in tasks}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            what = "a worker was ended by the system, probably for want of memory."
            raise EngineError(Problem(where="", what=what, fix="The same command goes on where it stopped.")) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.kill()
            raise


def _n_workers() -> int:
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _timed(task: Task, scope: Scope, source: Path | None) -> Json:
    started = time.perf_counter()
    measured = measure(task, scope, source)
    return {**measured, "seconds": round(time.perf_counter() - started, 2)}
