# SPDX-License-Identifier: Apache-2.0
"""The log of a reproduction in words: versions, seeds and seconds, from run.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kepsilon.publish.figures.figure import Table
from kepsilon.publish.wording import number

Json = Mapping[str, Any]
_LISTED = ("tasks",)
"""Shown as a table of its own."""


def run_facts(claims: Json, run: Json) -> list[tuple[str, str]]:
    """What is known about the run, one line each, nested keys joined by a dot."""
    setting = {} if "setting" in run else {"setting": claims.get("setting") or {}}
    return [*_flat({**run, **setting})]


def run_times(run: Json) -> Table | None:
    """Seconds by task, the longest first."""
    tasks = run.get("tasks")
    if not tasks:
        return None
    seconds = {one["name"]: one.get("seconds") for one in tasks} if isinstance(tasks, Sequence) else dict(tasks)
    ordered = sorted(seconds.items(), key=lambda one: -(one[1] or 0))
    return Table(headers=["task", "seconds"], rows=[[name, number(took)] for name, took in ordered])


def _flat(found: Json, before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if not before and key in _LISTED:
            continue
        name = f"{before}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}, ")
        elif isinstance(value, list | tuple):
            yield name, ", ".join(_words(one) for one in value)
        else:
            yield name, _words(value)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
