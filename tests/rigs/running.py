# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a rig in two processes until time or number is up, and says what was tried and what failed."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from rigs.settings import all_settings

PROCESSES = 2
EVERY = 10.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What became of one case; it holds no value."""

    seed: int
    ended: str
    """"released" or "refused"."""
    kinds: tuple[str, ...] = ()
    """What kind of case it was, in a few words each."""
    settings: frozenset[str] = frozenset()
    failures: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Summary:
    """What became of all cases so far."""

    n: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    released_settings: Counter[str] = field(default_factory=Counter)
    """How many releases used each setting."""
    failures: dict[str, list[int]] = field(default_factory=dict)
    """Seeds by what failed."""

    def add(self, tried: Tried) -> None:
        self.n += 1
        self.ended[tried.ended] += 1
        self.kinds.update(tried.kinds)
        if tried.ended == "released":
            self.released_settings.update(tried.settings)
        for failure in tried.failures:
            self.failures.setdefault(failure, []).append(tried.seed)


def run_rig(name: str, try_case: Callable[[int], Tried], *, until: str) -> None:
    """The command line of a rig. `until` is "seconds" or "number": what its length is counted in by default."""
    parser = argparse.ArgumentParser(prog=f"python -m rigs.{name}")
    parser.add_argument("--seconds", type=float, default=300 if until == "seconds" else float("inf"))
    parser.add_argument("--number", type=int, default=2000 if until == "number" else sys.maxsize)
    parser.add_argument("--seed", type=int, help="the first case; the others follow it")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    asked = parser.parse_args()
    if asked.case is not None:
        tried = try_case(asked.case)
        print(tried.ended, *tried.kinds, *tried.failures, sep="\n  ")
        sys.exit(bool(tried.failures))
    first = random.SystemRandom().randrange(10**8) * 10 if asked.seed is None else asked.seed
    summary = _run(
        name, try_case, range(first, first + min(asked.number, 10**8)), seconds=asked.seconds, processes=asked.processes
    )
    print_summary(name, summary, first=first)
    sys.exit(bool(summary.failures))


def _run(
    name: str, try_case: Callable[[int], Tried], seeds: Sequence[int], *, seconds: float, processes: int
) -> Summary:
    summary, start = Summary(), time.monotonic()
    shown = start
    print(f"{name}: cases from {seeds[0]} on, in {processes} processes", flush=True)
    for tried in _tried(try_case, iter(seeds), end=start + seconds, processes=processes):
        summary.add(tried)
        for failure in tried.failures:
            print(f"FAILED {failure}\n  alone: python -m rigs.{name} --case {tried.seed}", flush=True)
        if time.monotonic() - shown > EVERY:
            shown = time.monotonic()
            ended = ", ".join(f"{n:,} {how}" for how, n in summary.ended.most_common())
            print(f"{shown - start:5.0f} s: {summary.n:,} cases, {ended}, {len(summary.failures)} failures", flush=True)
    return summary


def _tried(try_case: Callable[[int], Tried], seeds: Iterator[int], *, end: float, processes: int) -> Iterator[Tried]:
    """Cases as they are done, with only a few waiting; where a process dies, its cases are said to have died."""
    while True:
        pending: dict[Future[Tried], int] = {}
        with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                while True:
                    while (
                        len(pending) < 2 * processes
                        and time.monotonic() < end
                        and (seed := next(seeds, None)) is not None
                    ):
                        pending[pool.submit(try_case, seed)] = seed
                    if not pending:
                        return
                    for done in wait(pending, return_when=FIRST_COMPLETED).done:
                        yield done.result()
                        del pending[done]
            except BrokenProcessPool:
                for seed in pending.values():
                    yield Tried(seed=seed, ended="died", failures=("died: a process died in this case or beside it",))


def print_summary(name: str, summary: Summary, *, first: int) -> None:
    """How many cases of each kind there were, how many releases used each setting, and what failed."""
    print(f"\n{name}: {summary.n:,} cases from {first} on")
    for how, n in summary.ended.most_common():
        print(f"  {n:7,}  {how}")
    print("cases of each kind")
    for kind, n in sorted(summary.kinds.items()):
        print(f"  {n:7,}  {kind}")
    print("releases that used each setting")
    for setting in sorted(all_settings()):
        print(f"  {summary.released_settings[setting]:7,}  {setting}")
    print("failures" if summary.failures else "no failures")
    for failure, seeds in sorted(summary.failures.items()):
        print(f"  {len(seeds):7,}  {failure}: {', '.join(map(str, seeds[:5]))}{', …' if len(seeds) > 5 else ''}")
