# SPDX-License-Identifier: Apache-2.0
"""What `kepsilon demo` tells: an attack, a setting, a release, the attack again, and what an analyst gets."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

import kepsilon
from kepsilon.cli.demo_attack import Texts, linked_share
from kepsilon.cli.explored_grid import distortion_in_words
from kepsilon.cli.next_command import pasted, show_next
from kepsilon.cli.screen import show_heading, show_paths, show_table, show_wrapped
from kepsilon.rounding import number, percent

LIMITS = {"max_risk": 0.05, "max_suppression": 0.05}
LABELLED = ("gender", "year_of_birth", "zip_code", "marital_status")
MEASURED = ("height", "weight")
GROUPS = {"marital_status": {"In marriage": ("Married", "Separated"), "Alone": ("Single", "Divorced", "Widowed")}}
N_SHOWN = 2
HEAVY = 120
"""Kilograms. An average of many hides who is heavier."""
ENOUGH = 0.05
"""Of its value: an analysis survives that changes by less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A figure that somebody works out from the table, before and after."""

    name: str
    unit: str
    before: float
    after: float

    @property
    def survives(self) -> bool:
        return abs(self.after - self.before) < ENOUGH * abs(self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What was found by attacking and analysing the raw file and the release."""

    before: Texts
    after: Texts
    linked_before: float
    linked_after: float
    analyses: tuple[Analysis, ...]

    @classmethod
    def of(cls, data: Path, output: Path, release: kepsilon.Release) -> Story:
        """The attacker's register lists the same people by name, with the columns of `LABELLED` and `MEASURED`."""
        before, after = _read(data), _read(output)
        linkage = release.linkage
        truth = np.empty(len(linkage), dtype=np.int64)
        truth[linkage["released_row"].to_numpy()] = linkage["original_row"].to_numpy()
        everybody = np.arange(len(before["name"]))
        attack = partial(linked_share, register=before, labelled=LABELLED, measured=MEASURED, groups=GROUPS)
        return cls(
            before=before,
            after=after,
            linked_before=attack(before, truth=everybody),
            linked_after=attack(after, truth=truth),
            analyses=tuple(_analyses(before, after)),
        )


def show_story(story: Story, written: kepsilon.Written, grid: kepsilon.Grid, choice: kepsilon.Choice) -> None:
    """Prints the story in the order of what happened, where the files are, and what to do next."""
    record, folder = written.record, written.path.parent
    n_read, n_released = record.records.read, record.records.released
    show_wrapped(f"{n_read:,} patients, all of them made up. A hospital wants to give them to researchers.")

    show_heading("1. Attacked without names")
    show_wrapped(
        f"Names and numbers are taken out. But an attacker has a register of the same people: their names, with "
        f"{', '.join((*LABELLED, *MEASURED))}. Whoever takes the nearest line of the register for each patient finds "
        f"{percent(story.linked_before)} of them, and learns their diagnoses."
    )
    show_heading("2. A setting within limits")
    show_wrapped(
        f"The limits: even the strongest such attacker links at most {percent(LIMITS['max_risk'])} of the records, and at most "
        f"{percent(LIMITS['max_suppression'])} are left out. explore predicts {len(grid.cells)} settings, and chooses the least "
        "distorted one that keeps both and ruins no attribute."
    )
    show_wrapped(_settings_in_words(grid))
    show_table(["", "setting", "linked", "left out", "distortion", "useless"], list(_settings(grid, choice)))
    show_heading("3. Released")
    show_table(*_before_and_after(story))
    show_wrapped("These are not the same persons: the order of the records is shuffled.")
    show_wrapped(record.verdict.usefulness.sentence)

    show_heading("4. Attacked again")
    show_wrapped(
        f"The same attacker now finds {percent(story.linked_after)} of the {n_released:,} released patients. The strongest "
        f"attacker that kepsilon knows of with the same register, who {_strongest(record).how}, is expected to find "
        f"{percent(record.linking_risk.predicted.headline.risk.total)}. {n_read - n_released:,} patients "
        f"({percent(1 - n_released / n_read)}) were left out."
    )
    show_heading("5. Analysed")
    show_wrapped("What researchers work out from the raw file, and from the release:")
    show_table(["", "figure", "raw file", "release"], list(_figures(story.analyses)))

    show_heading("Files")
    show_paths(
        [
            ("data", folder / "patients.csv", "made up"),
            ("policy", folder / "chosen.toml", "policy.toml with the chosen setting"),
            ("release", written.path, "to give away"),
            ("manifest", written.manifest_path, "give it away with the release"),
            ("record", written.record_path, "for you only"),
            ("report", folder / "report.html", "for you only: open it in a browser"),
        ]
    )
    click.echo(f"\nWith a table of your own:\n  {pasted('init', 'YOUR.csv', '-o', 'policy.toml')}")
    show_next(
        "audit",
        folder / "patients.csv",
        written.path,
        "-p",
        folder / "chosen.toml",
        why="Next: let other code check it",
    )


def _strongest(record: kepsilon.Record) -> kepsilon.Attacker:
    """The attacker of the headline: of those who need to know nothing but the quasis, the one expected to link most."""
    shares = {own: own.risk.total for own in record.attackers if own.needs_only_quasis and own.risk is not None}
    return max(shares, key=lambda own: shares[own])


def _settings_in_words(grid: kepsilon.Grid) -> str:
    """What the settings of the table stand for, for somebody who has read nothing yet."""
    k = max(grid.ks)
    return (
        f"k = {k}: {', '.join(LABELLED)} become coarser until at least {k} patients look alike in all of them. ε: "
        f"{' and '.join(MEASURED)} get noise, the more the smaller ε is. averages of 25: they are published as averages of 25 "
        "similar patients, or of all who look alike."
    )


def _settings(grid: kepsilon.Grid, choice: kepsilon.Choice) -> Iterator[list[str]]:
    """A line for each setting: whether it is the chosen one, and what is predicted of it."""
    for cell in grid.cells:
        if cell.prediction is not None:
            found = cell.prediction
            n_useless = sum(own.verdict == "useless" for own in found.verdicts.values())
            yield [
                "chosen" if cell == choice.cell else "",
                cell.name,
                percent(found.linking_risk.headline.risk.total),
                percent(found.suppression.total),
                distortion_in_words(found),
                f"{n_useless} of {len(found.verdicts)}" if n_useless else "none",
            ]


def _before_and_after(story: Story) -> tuple[list[str], list[list[str]]]:
    """The first records of both files, one line for each column."""
    names = ["", *(f"raw, {i + 1}" for i in range(N_SHOWN)), *(f"released, {i + 1}" for i in range(N_SHOWN))]
    rows = []
    for name, values in story.before.items():
        released = story.after[name][:N_SHOWN].tolist() if name in story.after else ["(dropped)"]
        rows.append([name, *values[:N_SHOWN].tolist(), *released])
    return names, rows


def _figures(analyses: Sequence[Analysis]) -> Iterator[list[str]]:
    """A line for each analysis: whether it survives, and what it gives before and after."""
    for own in analyses:
        verdict = "survives" if own.survives else "does not"
        yield [verdict, own.name, *(f"{number(figure)} {own.unit}" for figure in (own.before, own.after))]


def _analyses(before: Texts, after: Texts) -> Iterator[Analysis]:
    """Some figures of researchers, each worked out from the raw file and from the release."""
    for gender in ("Female", "Male"):
        means = [_numbers(own, "weight")[own["gender"] == gender].mean() for own in (before, after)]
        yield Analysis(name=f"mean weight, {gender.lower()}", unit="kg", before=means[0], after=means[1])
    slopes = [
        10 * np.polyfit(_numbers(own, "weight"), _numbers(own, "blood_pressure"), 1)[0] for own in (before, after)
    ]
    yield Analysis(name="blood pressure per 10 kg", unit="mmHg", before=slopes[0], after=slopes[1])
    shares = [100 * (_numbers(own, "weight") > HEAVY).mean() for own in (before, after)]
    yield Analysis(name=f"heavier than {HEAVY} kg", unit="%", before=shares[0], after=shares[1])


def _numbers(table: Texts, name: str) -> npt.NDArray[np.float64]:
    return table[name].astype(np.float64)


def _read(path: Path) -> Texts:
    """A CSV file by column, every value as it is written."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    return {name: np.array(column) for name, column in zip(header, zip(*lines, strict=True), strict=True)}
