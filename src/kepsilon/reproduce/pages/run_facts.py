# SPDX-License-Identifier: Apache-2.0
"""The log of a reproduction in words: versions, seeds and seconds, as run.json has them."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.json_values import Json
from kepsilon.pages.figures.figure import Table
from kepsilon.pages.wording import number

_NAMES = {
    "ks": "k",
    "epsilons": "ε",
    "confidences": "confidence",
    "runs": "runs per cell",
    "seed": "seed",
    "is_quick": "quick",
    "data_sets": "data sets",
    "adult": "SHA-256 of Adult's file",
    "code": "digest of the code",
    "created": "made on",
    "n_workers": "tasks side by side",
}


def run_facts(claims: Json, run: Json) -> list[tuple[str, str]]:
    """One line each: what was run, with what, and how long it took."""
    about: Json = run.get("about") or {}
    setting: Json = claims.get("setting") or about.get("setting") or {}
    others = {key: value for key, value in about.items() if key != "setting"}
    seconds: Json = run.get("seconds") or {}
    return [
        *_lines({"created": run.get("created") or claims.get("created")}),
        *([("wall time", duration(run["wall_seconds"]))] if run.get("wall_seconds") else []),
        *_lines({"n_workers": run.get("n_workers")}),
        *_lines(setting),
        *_lines(others),
        *_lines(run.get("versions") or {}),
        *([("seconds of all tasks together", f"{sum(seconds.values()):,.0f}")] if seconds else []),
    ]


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def run_times(run: Json) -> Table | None:
    """Seconds by task, the longest first."""
    seconds: Json = run.get("seconds") or {}
    ordered = sorted(seconds.items(), key=lambda one: -one[1])
    return (
        Table(headers=["task", "seconds"], rows=[[name, number(took)] for name, took in ordered]) if ordered else None
    )


def _lines(found: Json) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if value is not None:
            yield _NAMES.get(key, key.replace("_", " ")), _words(value)


def _words(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_words(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
