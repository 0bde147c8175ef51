# SPDX-License-Identifier: Apache-2.0
"""The curse of dimensionality: what the other k-quasis lose when the ε-quasi is made one of them. Paper §III-A."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kepsilon.evaluate.error.relative_error import epsilon_for_error
from kepsilon.evaluate.loss.precision_loss import precision_loss
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.reproduce.experiments.counted_data import CountedData, count_data
from kepsilon.reproduce.experiments.experiment import heading, look_at, with_extra_k_quasi
from kepsilon.reproduce.setting import Setting
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, class_ranges

OTHER_LOSSES = ("precision", "entropy")
"""The paper does not say what its OLA minimised; its table of suppression is that of dm*."""


def dimensions(data: CountedData, algorithm: str, setting: Setting) -> Json:
    """By k, with and without the extra k-quasi: losses, levels and suppression; and what an interval costs beside noise."""
    crowded = count_data(data.data, document=with_extra_k_quasi(data.data))
    without, together = (counted.partitions(algorithm, setting.ks) for counted in (data, crowded))
    found = {
        **heading(data.data, algorithm),
        "extra": data.data.epsilon_quasi,
        "ks": [_of_k(data, crowded, without[k], together[k], algorithm=algorithm, k=k) for k in setting.ks],
    }
    if algorithm == "ola":
        found["by_loss"] = {loss: _by_loss(data, crowded, loss, setting) for loss in OTHER_LOSSES}
    return found


def _of_k(
    data: CountedData, crowded: CountedData, alone: KAnonymised, together: KAnonymised, *, algorithm: str, k: int
) -> Json:
    unit_error = look_at(data, alone, data.policy(algorithm=algorithm, k=k)).error(1)
    extra_error = _error_of_middles(crowded, together)
    return {
        "k": k,
        **_compared(data, crowded, alone, together),
        "extra_error": extra_error,
        "noise_error_at_1": unit_error,
        "epsilon_same_error": epsilon_for_error(extra_error, error=unit_error, epsilon=1) if extra_error else None,
        "suppressed_without": _suppressed(data, alone),
        "suppressed_with": _suppressed(crowded, together),
        "classes_without": alone.recoding.n_classes,
        "classes_with": together.recoding.n_classes,
    }


def _by_loss(data: CountedData, crowded: CountedData, loss: str, setting: Setting) -> list[Json]:
    """The same losses and levels if OLA had minimised something else."""
    without, together = (
        replace(one, document={**one.document, "loss": loss}).partitions("ola", setting.ks) for one in (data, crowded)
    )
    return [{"k": k, **_compared(data, crowded, without[k], together[k])} for k in setting.ks]


def _compared(data: CountedData, crowded: CountedData, alone: KAnonymised, together: KAnonymised) -> Json:
    losses_alone, losses_together = _losses(data, alone), _losses(crowded, together)
    extra_loss = losses_together.pop(data.data.epsilon_quasi)
    loss_without, loss_with = _mean(losses_alone), _mean(losses_together)
    return {
        "loss_without": loss_without,
        "loss_with": loss_with,
        "relative_gain": (loss_with - loss_without) / loss_with if loss_with else None,
        "losses_without": losses_alone,
        "losses_with": losses_together,
        "extra_loss": extra_loss,
        "levels_without": _levels(data, alone),
        "levels_with": _levels(crowded, together),
    }


def _losses(data: CountedData, partition: KAnonymised) -> dict[str, float]:
    losses = precision_loss(partition.recoding).by_attribute
    return dict(zip(data.counted.roles.k_quasis, losses, strict=True))


def _mean(losses: dict[str, float]) -> float:
    return sum(losses.values()) / len(losses)


def _levels(data: CountedData, partition: KAnonymised) -> dict[str, int] | None:
    levels = partition.recoding.levels
    return None if levels is None else dict(zip(data.counted.roles.k_quasis, levels, strict=True))


def _suppressed(data: CountedData, partition: KAnonymised) -> float:
    return 1 - int(partition.recoding.sizes.sum()) / data.counted.n_staying


def _error_of_middles(data: CountedData, partition: KAnonymised) -> float | None:
    """Mean relative error of the extra attribute if everybody takes the middle of the interval that is published.

    None where OLA publishes nothing of it, so that there is no middle.
    """
    name = data.data.epsilon_quasi
    class_ids = data.class_ids(partition.recoding)
    is_released = class_ids != SUPPRESSED
    values, class_ids = data.data.columns[name][is_released], class_ids[is_released]
    levels = _levels(data, partition)
    if levels is None:
        middles = _middles_of_classes(values, class_ids, n_classes=partition.recoding.n_classes)
    else:
        widths = [0, *data.data.extra["widths"], None]
        width = widths[levels[name]]
        if width is None:
            return None
        # The hierarchy's intervals begin at multiples of their width.
        middles = values if width == 0 else width * np.floor(values / width) + width / 2
    return float(np.mean(np.abs(middles - values) / values))


def _middles_of_classes(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> FloatArray:
    """Mondrian's intervals are as narrow as the records of a class need."""
    low, high = class_ranges(values, class_ids, n_classes=n_classes)
    middles: FloatArray = ((low + high) / 2)[class_ids]
    return middles
