# SPDX-License-Identifier: Apache-2.0
"""Chooses the least distorted cell within the curator's limits, and says in words which limit binds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kepsilon.errors import PolicyError, Problem, UnsatisfiableError
from kepsilon.evaluate.estimate import Estimate
from kepsilon.grid.cells import Cell
from kepsilon.json_values import JsonValue
from kepsilon.policy.policy import Policy
from kepsilon.predict.individual_risk import three_digits_from
from kepsilon.rounding import percent, percent_above

WORDS = {
    "max_risk": "linking risk",
    "max_individual_risk": "largest single risk",
    "max_suppression": "suppression",
    "max_total_suppression": "suppression",
    "max_error": "relative error",
}
"""What each limit is about, in the order in which messages list limits."""
NO_CELL = "no cell of the grid keeps the limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(JsonValue):
    """The curator's limits on the expected cost and risk of a release, as shares."""

    max_risk: float | None = None
    """Limit on the headline: the share of records that the strongest attacker links who needs only the quasis."""
    max_individual_risk: float | None = None
    """Limit on how sure an attacker who matches whole classes one to one can be of any one record."""
    max_suppression: float | None = None
    """Limit on the share of the records read that leave for any cause: for k, for confidence, as missing or unlisted."""
    max_error: float | None = None
    """Limit on the relative error of every ε-quasi."""
    max_total_suppression: float | None = None
    """The policy's own limit on what `max_suppression` limits."""

    def __post_init__(self) -> None:
        for name, limit in self.stated().items():
            if not (0 <= limit <= 1 or (name == "max_error" and 0 <= limit < math.inf)):
                what = "should be a number, 0 or more." if name == "max_error" else "should be a share, 0 to 1."
                raise PolicyError(Problem(where=name, what=what))

    def with_those_of(self, policy: Policy) -> Limits:
        """These limits and those that the policy states itself; of two on one figure, the stricter."""
        return dataclasses.replace(
            self,
            max_risk=_stricter(self.max_risk, policy.max_risk),
            max_individual_risk=_stricter(self.max_individual_risk, policy.max_individual_risk),
            max_total_suppression=policy.max_total_suppression,
        )

    @property
    def limit_risk(self) -> bool:
        """Whether a limit is about what an attacker learns."""
        return self.max_risk is not None or self.max_individual_risk is not None

    @property
    def ask_for_least_risk(self) -> bool:
        """Whether the safest cell is wanted: error is limited and risk is not, so the least distorted would be the riskiest."""
        return self.max_error is not None and not self.limit_risk

    @property
    def rising(self) -> Limits:
        """The limits on figures that grow with ε, or shrink with larger groups: risk, and what is left out for confidence."""
        return dataclasses.replace(self, max_error=None)

    @property
    def falling(self) -> Limits:
        """The limit on a figure that falls with ε, or grows with larger groups: the error."""
        return Limits(max_error=self.max_error)

    def stated(self) -> dict[str, float]:
        """The limits that are not None, by name."""
        return {name: limit for name in WORDS if (limit := getattr(self, name)) is not None}

    def broken_by(self, cell: Cell) -> set[str]:
        """Names of the limits that the cell exceeds; the cell must not be a refused one."""
        return {name for name, limit in self.stated().items() if not _limited(cell, name).at_most <= limit}

    def allow(self, cell: Cell) -> bool:
        """Whether the cell is within all limits."""
        return not self.broken_by(cell)

    def miss(self, cell: Cell) -> float:
        """By what factor the cell exceeds the limit that it exceeds most; 1 or less if it is within all limits."""
        found = {name: _limited(cell, name).at_most for name in self.stated()}
        return max(
            (_over(found[name], limit) for name, limit in self.stated().items()),
            default=0.0,
        )


def _over(figure: float, limit: float) -> float:
    """A figure over its limit; a limit of 0 is kept by 0 alone."""
    if limit:
        return figure / limit
    return math.inf if figure else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The cell that some limits choose, and which limit rules out a better one."""

    limits: Limits
    cell: Cell | None
    why: str | None
    """Which limit binds, or why no cell qualifies; None if no limit binds, or none was stated."""
    ways: tuple[str, ...] = ()
    """Where no cell qualifies: for each limit what it would have to be, all others kept, and the cell that it would allow."""

    @property
    def what_would_work(self) -> str:
        """Limits that some cell would keep, in a sentence; empty where one limit more would not be enough."""
        return f"What would work: {'; or '.join(self.ways)}." if self.ways else ""

    def required(self) -> Cell:
        """The chosen cell; raises an error that says why there is none."""
        if self.cell is not None:
            return self.cell
        if not self.limits.stated():
            raise PolicyError(
                Problem(
                    where="limits",
                    what="nothing is chosen without a limit: the least distorted cell alone is the riskiest.",
                    fix="State max_risk, max_individual_risk, max_suppression or max_error.",
                )
            )
        raise UnsatisfiableError(
            Problem(
                where="",
                what=self.why or "no cell qualifies.",
                fix=self.what_would_work or "Explore other k, epsilon, groups to average or algorithms, or allow more.",
            )
        )

    def in_words(self) -> list[str]:
        """Sentences that say what was chosen and which limit binds; none if no cell qualifies."""
        if self.cell is None or self.cell.prediction is None:
            return []
        limits = ", ".join(f"{name} = {limit:g}" for name, limit in self.limits.stated().items())
        chosen = (
            f"Least distorted within {limits}: {self.cell.name} (distortion {self.cell.prediction.distortion:.3f})."
        )
        return [chosen, *([self.why] if self.why else [])]


def _stricter(*limits: float | None) -> float | None:
    """The smallest of the limits that are stated; None where none is."""
    return min((own for own in limits if own is not None), default=None)


def choose(cells: Sequence[Cell], limits: Limits) -> Choice:
    """The least distorted cell within the limits, of those that leave no attribute useless, unless the policy accepts it.

    Ties go to the smaller risk, then to the smaller suppression, then to the larger k, which promises more, and then to the
    cell that is first.
    """
    candidates = [cell for cell in cells if is_ranked(cell)]
    if not limits.stated():
        return Choice(limits=limits, cell=None, why=None)
    allowed = [cell for cell in candidates if limits.allow(cell)]
    if allowed:
        best = min(allowed, key=lambda cell: (*rank(cell, limits), -cell.k))
        return Choice(limits=limits, cell=best, why=_what_binds(candidates, best, limits))
    return Choice(
        limits=limits,
        cell=None,
        why=_why_none(cells, candidates, limits),
        ways=tuple(_ways(candidates, limits)),
    )


def is_ranked(cell: Cell) -> bool:
    """Whether a cell can be compared with others: it is not refused, and no attribute is useless that must not be."""
    prediction = cell.prediction
    return prediction is not None and prediction.distortion is not None and not prediction.refused_useless


def rank(cell: Cell, limits: Limits) -> tuple[float, float, float]:
    """What cells within limits are compared by, the better the smaller: distortion first, or risk if that is wanted."""
    distortion, risk, suppression = _rank(cell)
    return (risk, distortion, suppression) if limits.ask_for_least_risk else (distortion, risk, suppression)


def _rank(cell: Cell) -> tuple[float, float, float]:
    prediction = cell.prediction
    if prediction is None or prediction.distortion is None:
        raise ValueError("only a cell with a defined distortion can be ranked")
    return prediction.distortion, prediction.linking_risk.headline.risk.total, prediction.suppression.total


def _what_binds(candidates: Sequence[Cell], best: Cell, limits: Limits) -> str | None:
    """The next less distorted cell in words, with the limits that rule it out; None if there is no such cell."""
    better = [cell for cell in candidates if _rank(cell)[0] < _rank(best)[0]]
    if not better:
        return None
    next_better = max(better, key=_rank)
    broken = limits.broken_by(next_better)
    return (
        f"The next less distorted setting would be {next_better.name}; "
        f"ruled out by {_names(broken)} ({_misses(next_better, broken, limits)})."
    )


def _why_none(cells: Sequence[Cell], candidates: Sequence[Cell], limits: Limits) -> str:
    if not candidates:
        useless = {name for cell in cells if cell.prediction for name in cell.prediction.refused_useless}
        if useless:
            return (
                f"every cell of the grid that can be met leaves an attribute useless, one of {', '.join(sorted(useless))}, and "
                "the policy does not accept that (accept_useless)."
            )
        refused = [cell for cell in cells if cell.refused]
        if refused:
            return f"no cell of the grid can be met; the first: {refused[0].name}: {refused[0].refused}"
        return (
            "no cell of the grid has a defined distortion: an epsilon-quasi is changed, but its values have no range."
        )
    parts = []
    for name, limit in limits.stated().items():
        least = min(candidates, key=lambda cell: _limited(cell, name).at_most)
        if name in limits.broken_by(least):
            parts.append(
                f"{name} = {limit:g} is kept by no cell; the cell where the {WORDS[name]} is smallest is {least.name}, "
                f"with {_shown(least, name, limit)}"
            )
    if parts:
        return f"{NO_CELL}: {'; '.join(parts)}."
    nearest = min(candidates, key=lambda cell: (limits.miss(cell), _rank(cell)))
    return (
        f"every limit is kept by some cells, but no cell keeps all; {nearest.name} comes nearest "
        f"({_misses(nearest, limits.broken_by(nearest), limits)})."
    )


def _ways(candidates: Sequence[Cell], limits: Limits) -> Iterator[str]:
    """For each limit the least that it would have to be for some cell to keep all limits, and that cell."""
    for name in limits.stated():
        others = dataclasses.replace(limits, **{name: None})
        keeping = [cell for cell in candidates if others.allow(cell) and _limited(cell, name).at_most < math.inf]
        if keeping:
            least = min(keeping, key=lambda cell: (_limited(cell, name).at_most, _rank(cell)))
            yield f"{name} = {three_digits_from(_limited(least, name).at_most):g} ({least.name})"


def _limited(cell: Cell, limit: str) -> Estimate:
    """The figure of a cell that a limit is about; infinite for an error that is undefined, which is within no limit."""
    if cell.prediction is None:
        raise ValueError("a refused cell has no figures to hold against a limit")
    if limit == "max_risk":
        return cell.prediction.linking_risk.headline.risk
    if limit == "max_individual_risk":
        return Estimate(total=cell.prediction.linking_risk.largest_possible_by_matching)
    if limit == "max_error":
        error = cell.prediction.largest_error
        return Estimate(total=math.inf if error is None else error)
    return cell.prediction.suppression


def _shown(cell: Cell, name: str, limit: float) -> str:
    found = _limited(cell, name)
    if found.total == math.inf:
        return "undefined"
    simulated = f" plus three standard errors of {percent(found.standard_error)}" if found.variance else ""
    return f"{percent_above(found.total, limit)}{simulated}"


def _misses(cell: Cell, broken: set[str], limits: Limits) -> str:
    shown = {name: _shown(cell, name, limit) for name, limit in limits.stated().items() if name in broken}
    return ", ".join({WORDS[name]: f"{WORDS[name]} {shown[name]}" for name in WORDS if name in shown}.values())


def _names(broken: set[str]) -> str:
    return " and ".join(name for name in WORDS if name in broken)
