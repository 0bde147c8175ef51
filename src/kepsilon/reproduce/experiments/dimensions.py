# SPDX-License-Identifier: Apache-2.0
"""The curse of dimensionality: what the other k-quasis lose when the ε-quasi is made one of them. Paper §III-A."""

from __future__ import annotations

import numpy as np

from kepsilon import Prediction
from kepsilon.evaluate.error.relative_error import epsilon_for_error
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.reproduce.experiments.counted_data import CountedData, count_data, predictions, with_extra_k_quasi
from kepsilon.reproduce.scope import Scope
from kepsilon.table.classes import SUPPRESSED, class_ranges

OTHER_LOSSES = ("precision", "entropy")
"""The paper does not say what its OLA minimised; its table of suppression is that of dm*."""

Pair = tuple[Prediction, Prediction]
"""Predictions without the extra k-quasi, and with it."""


def dimensions(data: CountedData, algorithm: str, scope: Scope) -> Json:
    """Losses, levels and suppression by k, with and without the extra k-quasi, and the error of an interval beside noise."""
    crowded = count_data(data.data, document=with_extra_k_quasi(data.data))
    alone, together = (counted.partitions(algorithm, scope.ks) for counted in (data, crowded))
    ks = []
    for k, pair in _pairs(data, crowded, algorithm, scope).items():
        without, included = pair
        unit_error = data.noisy_classes(alone[k], data.policy(algorithm=algorithm, k=k)).error(1)
        extra_error = _error_of_middles(crowded, together[k], included)
        ks.append(
            {
                "k": k,
                **_compared(pair, data.data.epsilon_quasi),
                "extra_error": extra_error,
                "noise_error_at_1": unit_error,
                "epsilon_same_error": epsilon_for_error(extra_error, error=unit_error, epsilon=1)
                if extra_error
                else None,
                "suppressed_without": suppressed_by_k(without),
                "suppressed_with": suppressed_by_k(included),
                "classes_without": without.classes.count,
                "classes_with": included.classes.count,
            }
        )
    found = {**data.heading(algorithm), "extra": data.data.epsilon_quasi, "ks": ks}
    if algorithm == "ola":
        found["by_loss"] = {
            loss: [
                {"k": k, **_compared(pair, data.data.epsilon_quasi)}
                for k, pair in _pairs(data, crowded, algorithm, scope, loss=loss).items()
            ]
            for loss in OTHER_LOSSES
        }
    return found


def _pairs(data: CountedData, crowded: CountedData, algorithm: str, scope: Scope, **changes: str) -> dict[int, Pair]:
    """Predictions without and with the extra k-quasi, by k."""
    without, together = (
        predictions(one.data, one.document, algorithm, scope.ks, (1,), **changes) for one in (data, crowded)
    )
    return {k: (without[k, 1], together[k, 1]) for k in scope.ks}


def _compared(pair: Pair, extra: str) -> Json:
    without, together = (dict(one.loss.precision.by_attribute) for one in pair)
    extra_loss = together.pop(extra)
    loss_without, loss_with = (sum(losses.values()) / len(losses) for losses in (without, together))
    return {
        "loss_without": loss_without,
        "loss_with": loss_with,
        "relative_gain": (loss_with - loss_without) / loss_with if loss_with else None,
        "losses_without": without,
        "losses_with": together,
        "extra_loss": extra_loss,
        "levels_without": _levels(pair[0]),
        "levels_with": _levels(pair[1]),
    }


def _levels(found: Prediction) -> dict[str, int] | None:
    return None if found.levels is None else dict(found.levels)


def suppressed_by_k(found: Prediction) -> float:
    """Share of the counted records that k-anonymising leaves out."""
    return 1 - found.records.entering / found.records.counted


def _error_of_middles(data: CountedData, partition: KAnonymised, found: Prediction) -> float | None:
    """Mean relative error of the extra attribute if everybody takes the middle of the interval that is published.

    None where OLA publishes nothing of it, so that there is no middle.
    """
    class_ids = data.class_ids(partition.recoding)
    is_released = class_ids != SUPPRESSED
    values, class_ids = data.values[is_released], class_ids[is_released]
    if found.levels is None:
        # Mondrian's intervals are as narrow as the records of a class need.
        low, high = class_ranges(values, class_ids, n_classes=partition.recoding.n_classes)
        middles = ((low + high) / 2)[class_ids]
    else:
        width = [0, *data.data.extra["widths"], None][found.levels[data.data.epsilon_quasi]]
        if width is None:
            return None
        # The hierarchy's intervals begin at multiples of their width.
        middles = values if width == 0 else width * np.floor(values / width) + width / 2
    return float(np.mean(np.abs(middles - values) / values))
