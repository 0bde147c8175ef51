# SPDX-License-Identifier: Apache-2.0
"""The least distorted cell within the curator's limits, and in words which limit binds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from kepsilon.errors import PolicyError, Problem, UnsatisfiableError
from kepsilon.grid.cells import Cell

WORDS = {"max_risk": "linking risk", "max_suppression": "suppression", "max_error": "relative error"}
"""What each limit is about, in the order in which they are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_risk: float | None = None
    """Expected links per record."""
    max_suppression: float | None = None
    """Left out by k and, expectedly, by confidence; share of the counted records."""
    max_error: float | None = None
    """Expected relative error of every ε-quasi."""

    def __post_init__(self) -> None:
        for name, limit in self.stated().items():
            if not 0 <= limit <= (1 if name != "max_error" else float("inf")):
                raise PolicyError(
                    Problem(
                        where=name, what="should be a share, 0 to 1." if name != "max_error" else "should be 0 or more."
                    )
                )

    def stated(self) -> dict[str, float]:
        return {name: limit for name, limit in dataclasses.asdict(self).items() if limit is not None}

    def broken_by(self, cell: Cell) -> set[str]:
        """Names of the limits that the cell does not keep; it must have figures."""
        if cell.figures is None:
            raise ValueError("a refused cell has no figures to hold against a limit")
        figures = cell.figures.held_against()
        return {name for name, limit in self.stated().items() if not figures[name] <= limit}

    def allow(self, cell: Cell) -> bool:
        return not self.broken_by(cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    limits: Limits
    cell: Cell | None
    why: str | None
    """Which limit binds, or why nothing qualifies; None where nothing stood in the way."""

    def required(self) -> Cell:
        if self.cell is None:
            raise UnsatisfiableError(Problem(where="", what=self.why or "no cell qualifies.", fix=self._fix()))
        return self.cell

    def in_words(self) -> list[str]:
        """What was chosen and what binds, for people; nothing where nothing qualifies."""
        if self.cell is None or self.cell.figures is None:
            return []
        figures, cell = self.cell.figures, self.cell
        by = f"within {', '.join(f'{name} = {limit:g}' for name, limit in self.limits.stated().items())}"
        chosen = f"Least distorted{f' {by}' if self.limits.stated() else ''}: {cell.name} (distortion {figures.distortion:.3f})."
        return [chosen, *([self.why] if self.why else [])]

    def _fix(self) -> str:
        return "Explore other k, epsilon or algorithms, allow more, or coarsen what the policy says of ranges."


def choose(cells: Sequence[Cell], limits: Limits) -> Choice:
    """Ties in distortion go to the smaller risk, then the smaller suppression, then the order of the grid."""
    candidates = [cell for cell in cells if cell.figures is not None and cell.figures.distortion is not None]
    allowed = [cell for cell in candidates if limits.allow(cell)]
    if allowed:
        best = min(allowed, key=_rank)
        return Choice(limits=limits, cell=best, why=_what_binds(candidates, best, limits))
    return Choice(limits=limits, cell=None, why=_why_none(cells, candidates, limits))


def _rank(cell: Cell) -> tuple[float, float, float]:
    figures = cell.figures
    if figures is None or figures.distortion is None:
        raise ValueError("only a cell with a defined distortion can be ranked")
    return figures.distortion, figures.linking_risk, figures.suppression


def _what_binds(candidates: Sequence[Cell], best: Cell, limits: Limits) -> str | None:
    """The least distorted cell that a limit ruled out, if it would have been better."""
    better = [cell for cell in candidates if _rank(cell) < _rank(best)]
    if not better:
        return None
    ruled_out = min(better, key=_rank)
    broken = limits.broken_by(ruled_out)
    return f"Less distorted would be {ruled_out.name}; ruled out by {_names(broken)} ({_misses(ruled_out, broken)})."


def _why_none(cells: Sequence[Cell], candidates: Sequence[Cell], limits: Limits) -> str:
    if not candidates:
        refused = [cell for cell in cells if cell.refused]
        if refused:
            return f"no cell of the grid can be met; the first: {refused[0].name}: {refused[0].refused}"
        return (
            "no cell of the grid has a defined distortion: an epsilon-quasi gets noise, but its values have no range."
        )
    parts = []
    for name, limit in limits.stated().items():
        keep = [cell for cell in candidates if name not in limits.broken_by(cell)]
        nearest = min(candidates, key=lambda cell: _held(cell, name))
        if not keep:
            parts.append(
                f"{name} = {limit:g} is kept by no cell; the least {WORDS[name]} is {_shown(nearest, name)} ({nearest.name})"
            )
    if parts:
        return f"no cell of the grid keeps the limits: {'; '.join(parts)}."
    for name, limit in limits.stated().items():
        keep = [cell for cell in candidates if name not in limits.broken_by(cell)]
        nearest = min(keep, key=lambda cell: (len(limits.broken_by(cell)), *_rank(cell)))
        broken = limits.broken_by(nearest)
        parts.append(
            f"of the cells that keep {name} = {limit:g}, {nearest.name} comes nearest ({_misses(nearest, broken)})"
        )
    return f"every limit is kept by some cells, but no cell keeps all: {'; '.join(parts)}."


def _held(cell: Cell, name: str) -> float:
    if cell.figures is None:
        raise ValueError("a refused cell has no figures to hold against a limit")
    return cell.figures.held_against()[name]


def _shown(cell: Cell, name: str) -> str:
    held = _held(cell, name)
    return f"{held:.2%}" if held < float("inf") else "undefined"


def _misses(cell: Cell, broken: set[str]) -> str:
    return ", ".join(f"{WORDS[name]} {_shown(cell, name)}" for name in WORDS if name in broken)


def _names(broken: set[str]) -> str:
    return " and ".join(name for name in WORDS if name in broken)
