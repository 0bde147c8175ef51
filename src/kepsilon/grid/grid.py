# SPDX-License-Identifier: Apache-2.0
"""Explore's grid: all cells, which of them no other beats, the choice of one by limits, and how the grid is written."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from kepsilon.errors import EngineError, Problem, guarded
from kepsilon.files.atomic import Staging
from kepsilon.grid.answer import answer_in_words
from kepsilon.grid.best_split import answer
from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import Choice, Limits, choose, is_ranked
from kepsilon.json_values import FrozenMapping, Json, JsonValue
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.guarantee import single_risk_in_words
from kepsilon.policy.policy import Policy
from kepsilon.publish.inputs import Input
from kepsilon.publish.outputs import check_output
from kepsilon.publish.policy_document import normalised
from kepsilon.version import __version__

SUFFIXES = (".html", ".csv", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredRecords(JsonValue):
    """How many records were read, and how many of them were counted."""

    read: int
    missing: int
    unlisted: int
    by_cap: int = 0
    """Records beyond those that one person may have."""

    @property
    def counted(self) -> int:
        return self.read - self.missing - self.unlisted - self.by_cap

    @property
    def why_not_counted(self) -> str:
        """Why records are left out before anything is counted, in words."""
        if not self.by_cap:
            return "a value is missing or unlisted"
        return "a value is missing or unlisted, or a person has more records than max_records_per_person"

    def to_json(self) -> Json:
        return {
            "read": self.read,
            "counted": self.counted,
            "missing": self.missing,
            "unlisted": self.unlisted,
            "by_cap": self.by_cap,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(JsonValue):
    """All cells of one exploration, predicted without drawing any noise."""

    cells: tuple[Cell, ...]
    policy: Policy
    records: ExploredRecords
    seconds: Mapping[str, float]
    page: Callable[[Grid, Choice], str] = field(compare=False, repr=False)
    """Makes one HTML page from a grid and the choice that was made from it."""
    warnings: tuple[Problem, ...] = ()
    """What is worth knowing of how the files were read, which types change, and which leaks the policy accepts; said once
    for all cells."""
    n_looked_at: int | None = None
    """How many cells were looked at, with those that only served to find where limits begin to hold; None where all are here."""
    inputs: tuple[Input, ...] = field(default=(), compare=False, repr=False)
    """What was read; none of it is ever overwritten."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", _with_front(self.cells))
        object.__setattr__(self, "seconds", FrozenMapping(self.seconds))

    @property
    def ks(self) -> list[int]:
        """Every k that was explored, the smallest first."""
        return sorted({cell.k for cell in self.cells})

    @property
    def epsilons(self) -> list[float]:
        """Every ε that was explored, the smallest first."""
        return sorted({cell.epsilon for cell in self.cells if cell.epsilon is not None})

    @property
    def groups(self) -> list[int]:
        """Every size of averaged groups that was explored, the smallest first."""
        return sorted({cell.group for cell in self.cells if cell.group is not None})

    @property
    def algorithms(self) -> list[str]:
        """Every algorithm that was explored, in the order of the cells."""
        return list(dict.fromkeys(cell.algorithm for cell in self.cells))

    @property
    def pareto(self) -> list[Cell]:
        """Cells that leave no attribute useless, and that no other beats in distortion, risk and suppression at once."""
        return [cell for cell in self.cells if cell.pareto]

    @property
    def about_smaller_k(self) -> str:
        """Where a smaller k loses more than a larger one of the same algorithm, in one sentence; empty where none does.

        A cell says what `anonymise` does with its k alone, so a better result for a larger k is not taken over.
        """
        found = {
            (cell.algorithm, cell.k): cell.prediction.loss.ncp.overall
            for cell in self.cells
            if cell.prediction is not None
        }
        worse = []
        for algorithm in self.algorithms:
            own = sorted((k, lost) for (name, k), lost in found.items() if name == algorithm)
            for (k, lost), (larger_k, lost_less) in itertools.pairwise(own):
                if round(lost, 3) > round(lost_less, 3):
                    worse.append(f"{algorithm} loses {lost:.3f} with k = {k} and {lost_less:.3f} with k = {larger_k}")
        if not worse:
            return ""
        return f"A smaller k need not lose less, because no search tries all classes: {'; '.join(worse)}."

    @property
    def about_single_risk(self) -> str:
        """Whom the largest single risk of a cell is about, and what it says, in one sentence."""
        policy = self.policy
        return single_risk_in_words(
            [*policy.k_quasis, *policy.epsilon_quasis],
            noisy=bool(policy.epsilon_quasis),
            averaged={cell.group is not None for cell in self.cells} or {False},
        )

    @property
    def compares_splits(self) -> bool:
        """Whether cells are splits of the numeric quasis into k-quasis and ε-quasis."""
        return any(cell.split is not None for cell in self.cells)

    @property
    def current(self) -> Cell | None:
        """The cell of the policy as it is; None where it was not explored."""
        own = self.policy
        group = None if own.averages is None else own.averages.group
        epsilon = own.epsilon if own.draws_noise else None
        wanted = (own.algorithm, own.k, epsilon, group)
        for cell in self.cells:
            is_own = (cell.algorithm, cell.k, cell.epsilon, cell.group) == wanted
            if cell.split.is_own if cell.split is not None else is_own:
                return cell
        return None

    @property
    def cells_looked_at(self) -> int:
        """How many cells were looked at, with those that are not here because they only served to find others."""
        return len(self.cells) if self.n_looked_at is None else self.n_looked_at

    def in_words(self, choice: Choice) -> list[str]:
        """The answer, the most important sentence first: what was chosen, what it costs, and what rules out a better one."""
        if self.compares_splits:
            return [*self.answer, *choice.in_words()]
        return [*answer_in_words(choice, self.policy, current=self.current)]

    @property
    def answer(self) -> list[str]:
        """Sentences that say which split is better than the policy's own one; none where no splits are compared."""
        return answer(self.cells) if self.compares_splits else []

    def choose(self, limits: Limits | None = None) -> Choice:
        """The least distorted cell within the limits, and which limit rules out a better one.

        Of cells that are equally good, one of the policy's own algorithm is chosen.
        """
        own_first = sorted(self.cells, key=lambda cell: cell.algorithm != self.policy.algorithm)
        return choose(own_first, (limits or Limits()).with_those_of(self.policy))

    def best(
        self,
        *,
        max_risk: float | None = None,
        max_individual_risk: float | None = None,
        max_suppression: float | None = None,
        max_error: float | None = None,
    ) -> Policy:
        """The policy of the least distorted cell within the limits; UnsatisfiableError says why there is none."""
        limits = Limits(
            max_risk=max_risk,
            max_individual_risk=max_individual_risk,
            max_suppression=max_suppression,
            max_error=max_error,
        )
        cell = self.choose(limits).required()
        if cell.split is not None and cell.split.policy is not None:
            return cell.split.policy
        return self.policy.with_changes(**self.changes(cell))

    def changes(self, cell: Cell) -> Json:
        """Top-level keys of the policy that a cell replaces, with the cell's values; for a split, attributes too."""
        if cell.split is not None:
            return cell.split.changes
        changes: Json = {"k": cell.k, "algorithm": cell.algorithm}
        if ALGORITHMS[cell.algorithm].suppresses_freely and "max_suppression" not in self.policy.model_fields_set:
            changes["max_suppression"] = self.policy.max_suppression
        if cell.group is not None:
            changes |= self.policy.averaging(cell.group)
            if cell.epsilon is not None:
                changes["epsilon"] = cell.epsilon
            return changes
        if self.policy.averages is not None:
            changes["averages"] = None
        if cell.epsilon is not None:
            changes["epsilon"] = cell.epsilon
        if self.policy.confidence is not None:
            changes["confidence"] = self.policy.confidence
        return changes

    def to_json(self, choice: Choice | None = None) -> Json:
        """All cells, the policy, and what was chosen by which limits."""
        choice = choice or self.choose()
        cells, current = [], self.current
        for cell in self.cells:
            found = {**cell.to_json(), "current": cell is current}
            if cell.prediction is not None:
                found["within_limits"] = choice.limits.allow(cell)
            cells.append(found)
        return {
            "kepsilon_version": __version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "policy": normalised(self.policy),
            "records": self.records.to_json(),
            "warnings": [dataclasses.asdict(warning) for warning in self.warnings],
            "k": self.ks,
            "epsilon": self.epsilons,
            "group": self.groups,
            "algorithms": self.algorithms,
            "confidence": self.policy.confidence,
            "limits": choice.limits.to_json(),
            "chosen": None if choice.cell is None else self.cells.index(choice.cell),
            "why": choice.why,
            "current": None if current is None else self.cells.index(current),
            "answer": self.answer if self.compares_splits else self.in_words(choice),
            "cells_looked_at": self.cells_looked_at,
            "cells": cells,
            "seconds": dict(self.seconds),
        }

    @guarded
    def write(self, path: str | Path, choice: Choice | None = None, *, overwrite: bool = False) -> None:
        """Writes the grid as a page, a table or JSON, by the suffix; the file appears whole or not at all."""
        target = Path(path)
        check_grid_output(target, overwrite=overwrite, inputs=self.inputs)
        text = _WRITERS[target.suffix.lower()](self, choice or self.choose())
        with Staging([target.parent]) as staging:
            with staging.new_file(target, owner_only=True) as temporary:
                temporary.write_text(text, encoding="utf-8")
            staging.publish(overwrite=overwrite)

    def _repr_html_(self) -> str:
        """The cells of the front as a small HTML table."""
        names = ("algorithm", "k", "epsilon", "group", "distortion", "headline", "suppression")
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        rows = []
        for cell in self.pareto:
            found = cell.to_json()
            found["headline"] = found["headline"]["share"]
            fields = (f"{v:.4g}" if isinstance(v := found[name], float) else html.escape(str(v)) for name in names)
            rows.append("<tr>" + "".join(f"<td>{text}</td>" for text in fields) + "</tr>")
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"

    def __repr__(self) -> str:
        return f"<Grid of {len(self.cells):,} cells, {len(self.pareto):,} of them on the front>"


@guarded
def check_grid_output(path: Path, *, overwrite: bool, inputs: Iterable[Input] = ()) -> None:
    """Refuses a path that no grid can be written to, before any work is done."""
    if path.suffix.lower() not in SUFFIXES:
        raise EngineError(Problem(where=str(path), what=f"a grid is written as {', '.join(SUFFIXES)}, by its suffix."))
    check_output(path, overwrite=overwrite, inputs=inputs)


def _with_front(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells, marked as on the front where no other is at least as good in all three figures and better in one.

    A cell that would be refused because it leaves an attribute useless is not on the front, and beats no other.
    """
    places = [i for i, cell in enumerate(cells) if is_ranked(cell)]
    points = np.array([_compared_figures(cells[i]) for i in places]).reshape(-1, 3)
    as_good = np.all(points[np.newaxis] <= points[:, np.newaxis], axis=2)
    better = np.any(points[np.newaxis] < points[:, np.newaxis], axis=2)
    is_beaten = dict(zip(places, np.any(as_good & better, axis=1).tolist(), strict=True))
    return tuple(dataclasses.replace(cell, pareto=not is_beaten.get(i, True)) for i, cell in enumerate(cells))


def _compared_figures(cell: Cell) -> tuple[float | None, float, float]:
    """The three figures that cells are compared by; smaller is better."""
    if cell.prediction is None:
        raise ValueError("a refused cell has no figures to compare")
    prediction = cell.prediction
    return prediction.distortion, prediction.linking_risk.headline.risk.total, prediction.suppression.total


def _csv(grid: Grid, choice: Choice) -> str:
    """The grid as CSV text, one line per cell; figures that differ by attribute have a column for each."""
    lines = [_flat(cell) for cell in grid.to_json(choice)["cells"]]
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _flat(cell: Json, prefix: str = "") -> Json:
    flat: Json = {}
    for key, value in cell.items():
        written = "; ".join(map(str, value)) if isinstance(value, list) else value
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: written})
    return flat


def _json(grid: Grid, choice: Choice) -> str:
    return json.dumps(grid.to_json(choice), indent=2, ensure_ascii=False) + "\n"


def _html(grid: Grid, choice: Choice) -> str:
    return grid.page(grid, choice)


_WRITERS = {".csv": _csv, ".json": _json, ".html": _html}
