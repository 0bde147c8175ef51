# SPDX-License-Identifier: Apache-2.0
"""Which k and ε to take for at most 5 % linking risk and 5 % suppression: the question a curator asks."""

from __future__ import annotations

import dataclasses

from kepsilon import Choice, Limits, explore
from kepsilon.engines.arrow.tables import table_from
from kepsilon.json_values import Json
from kepsilon.reproduce.experiments.counted_data import CountedData
from kepsilon.reproduce.setting import ALGORITHM_NAMES, ALGORITHMS, SHOWN_CONFIDENCE, Setting

MAX_RISK = 0.05
MAX_SUPPRESSION = 0.05


def choices(data: CountedData, setting: Setting) -> Json:
    """The least distorted cell within the limits, of all and by algorithm; suppression for confident k is counted."""
    limits = Limits(max_risk=MAX_RISK, max_suppression=MAX_SUPPRESSION)
    table = table_from(data.data.columns)
    grids = {
        algorithm: explore(
            table,
            data.policy(algorithm=algorithm),
            k=setting.ks,
            epsilon=setting.epsilons,
            algorithm=[algorithm],
            confidence=SHOWN_CONFIDENCE,
        )
        for algorithm in ALGORITHMS
    }
    together = dataclasses.replace(
        grids[ALGORITHMS[0]], cells=tuple(cell for grid in grids.values() for cell in grid.cells), seconds={}
    )
    choice = together.choose(limits)
    return {
        "data_set": data.data.name,
        "title": data.data.title,
        "is_stand_in": data.data.is_stand_in,
        "limits": {"max_risk": MAX_RISK, "max_suppression": MAX_SUPPRESSION},
        "confidence": SHOWN_CONFIDENCE,
        "answer": _answer(choice),
        "words": _words(data.data.title, choice),
        "by_algorithm": {algorithm: _answer(grid.choose(limits)) for algorithm, grid in grids.items()},
        "words_by_algorithm": {
            algorithm: _words(data.data.title, grid.choose(limits)) for algorithm, grid in grids.items()
        },
    }


def _answer(choice: Choice) -> Json | None:
    cell = choice.cell
    if cell is None or cell.prediction is None:
        return None
    found = cell.prediction
    return {
        "algorithm": cell.algorithm,
        "k": cell.k,
        "epsilon": float(cell.epsilon),
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
