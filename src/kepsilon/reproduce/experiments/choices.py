# SPDX-License-Identifier: Apache-2.0
"""Which k and ε to take for at most 5 % linking risk and 5 % suppression: the question a curator asks."""

from __future__ import annotations

from dataclasses import replace

from kepsilon import Choice, Limits, explore
from kepsilon.engines.arrow.tables import table_from
from kepsilon.json_values import Json
from kepsilon.reproduce.experiments.counted_data import CountedData
from kepsilon.reproduce.scope import ALGORITHM_NAMES, ALGORITHMS, SHOWN_CONFIDENCE, Scope

MAX_RISK = 0.05
MAX_SUPPRESSION = 0.05


def choices(data: CountedData, scope: Scope) -> Json:
    """The least distorted cell within the limits, of all and by algorithm; suppression for confident k is counted."""
    limits = Limits(max_risk=MAX_RISK, max_suppression=MAX_SUPPRESSION)
    grid = explore(
        table_from(data.data.columns),
        data.policy(),
        k=scope.ks,
        epsilon=scope.epsilons,
        algorithm=ALGORITHMS,
        confidence=SHOWN_CONFIDENCE,
    )
    of_algorithm = {
        name: replace(grid, cells=tuple(cell for cell in grid.cells if cell.algorithm == name)).choose(limits)
        for name in ALGORITHMS
    }
    choice, title = grid.choose(limits), data.data.title
    return {
        "data_set": data.data.name,
        "title": title,
        "is_stand_in": data.data.is_stand_in,
        "limits": {"max_risk": MAX_RISK, "max_suppression": MAX_SUPPRESSION},
        "confidence": SHOWN_CONFIDENCE,
        "answer": _answer(choice),
        "words": _words(title, choice),
        "by_algorithm": {algorithm: _answer(own) for algorithm, own in of_algorithm.items()},
        "words_by_algorithm": {algorithm: _words(title, own) for algorithm, own in of_algorithm.items()},
    }


def _answer(choice: Choice) -> Json | None:
    cell = choice.cell
    if cell is None or cell.prediction is None:
        return None
    found = cell.prediction
    return {
        "algorithm": cell.algorithm,
        "k": cell.k,
        "epsilon": None if cell.epsilon is None else float(cell.epsilon),
        "risk": found.linking_risk.fair.total,
        "suppression": found.suppression.total,
        "error": found.largest_error,
        "distortion": found.distortion,
        "precision_loss": found.loss.precision.overall,
    }


def _words(title: str, choice: Choice) -> str:
    """The answer, what it costs, and which limit stands in the way of a better one."""
    answer = _answer(choice)
    if choice.cell is None or answer is None:
        return f"{title}: {choice.why}"
    costs = (
        f"{100 * answer['risk']:.1f} % of records linked, {100 * answer['suppression']:.1f} % left out, "
        f"{100 * answer['error']:.1f} % mean error, precision loss {answer['precision_loss']:.2f}"
    )
    name = f"{ALGORITHM_NAMES[choice.cell.algorithm]}, k = {choice.cell.k}, ε = {choice.cell.epsilon:g}"
    return f"{title}: {name} ({costs}). {choice.why or ''}".strip()
