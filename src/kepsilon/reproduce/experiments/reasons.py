# SPDX-License-Identifier: Apache-2.0
"""Experiments behind the claims that do not hold: one thing is changed at a time, and everything else stays as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.reproduce.data.data_sets import CENSUS_YEAR, STAND_INS, DataSet
from kepsilon.reproduce.data.draws import Draws
from kepsilon.reproduce.experiments.counted_data import CountedData, predictions, with_extra_k_quasi
from kepsilon.reproduce.experiments.dimensions import suppressed_by_k
from kepsilon.reproduce.scope import Scope
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, class_ranges

SMALL_KS = (2, 5)
BETWEEN = (50, 60, 70, 80, 90, 100)
N_OTHER_SEEDS = 5
SHARES = (0.9, 0.8, 0.7, 0.6)
STEPS = (1, 10, 40)
"""Coarser steps of the extra k-quasi, in centimetres or kilograms."""
COARSER_WIDTHS = (2, 4, 8, 16, 32, 64)
"""Widths of its intervals where the values themselves are whole, which makes eight levels again."""


def reasons(data: CountedData, algorithm: str, scope: Scope) -> Json:
    """All measurements of one data set and algorithm that explain claims which did not hold."""
    partitions = data.partitions(algorithm, scope.ks)
    found = {
        **data.heading(algorithm),
        "ks": [_one_k(data, partition, k, scope) for k, partition in partitions.items()],
    }
    found["coarser_extra"] = [
        {"step": step, "ks": _with_coarser_extra(data.data, algorithm, step, scope)}
        for step in (STEPS[:1] if algorithm == "ola" else scope.ends_if_quick(STEPS))
    ]
    if algorithm == "ola":
        # OLA's other loss takes other nodes: how the linking risk would be with them.
        small = [k for k in scope.ks if k in SMALL_KS]
        found["precision_as_loss"] = _risks(data.data, "ola", small, scope.epsilons, loss="precision")
        if data.data.is_stand_in:
            found["other_seeds"] = _other_seeds(data.data.name, scope)
            found["thinned"] = _thinned(data.data, scope)
    else:
        # At which k the linking risk comes down, between the paper's two largest.
        between, largest = scope.ends_if_quick(BETWEEN), scope.epsilons[-1:]
        found["between_large_ks"] = _risks(data.data, "mondrian", between, largest)
    return found


def _one_k(data: CountedData, partition: KAnonymised, k: int, scope: Scope) -> Json:
    """Class sizes of one k, and expected relative errors at ε = 1 with the classes or their values changed."""
    recoding = partition.recoding
    all_ids = data.class_ids(recoding)
    released = all_ids != SUPPRESSED
    ids, n_classes = all_ids[released], recoding.n_classes
    is_female = data.data.is_female[released]
    _, others = data.data.other_measure(Draws(data.data.year, scope.seed, 1))
    own = data.values[released]
    n_women = np.bincount(ids[is_female], minlength=n_classes)
    is_mixed = (n_women > 0) & (n_women < recoding.sizes)
    return {
        "k": k,
        "mean_class": float(recoding.sizes.mean()),
        "below_2k": float(recoding.sizes[recoding.sizes < 2 * k].sum() / len(ids)),
        "error": unit_error(own, ids, n_classes=n_classes),
        "mixed": float(recoding.sizes[is_mixed].sum() / len(ids)),
        "error_by_sex": unit_error(own, 2 * ids + is_female, n_classes=2 * n_classes),
        "error_shuffled": unit_error(_shuffled(data.values, data.data, scope)[released], ids, n_classes=n_classes),
        "error_other_measure": unit_error(others[released], ids, n_classes=n_classes),
        "range_lost_with_extreme": _range_lost_with_extreme(own, ids, n_classes=n_classes),
    }


def unit_error(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> float:
    """Expected relative error at ε = 1: the mean of R/|v|."""
    low, high = class_ranges(values, class_ids, n_classes=n_classes)
    return float(np.mean((high - low)[class_ids] / np.abs(values)))


def _shuffled(values: FloatArray, data: DataSet, scope: Scope) -> FloatArray:
    """The values shuffled among the records of one sex, so that they depend on nothing else."""
    order = Draws(CENSUS_YEAR, scope.seed).order("shuffled measure", len(values))
    shuffled = np.empty_like(values)
    for sex in (True, False):
        shuffled[np.flatnonzero(data.is_female == sex)] = values[order[data.is_female[order] == sex]]
    return shuffled


def _range_lost_with_extreme(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> Json:
    """The share of a class's range that goes with its largest record, over the classes that have a range."""
    order = np.lexsort((values, class_ids))
    ends = np.cumsum(np.bincount(class_ids, minlength=n_classes)) - 1
    in_order = values[order]
    low, high = class_ranges(values, class_ids, n_classes=n_classes)
    has_range = high > low  # so it has a second largest
    lost = (high - in_order[ends - 1])[has_range] / (high - low)[has_range]
    return {"median": float(np.median(lost)), "largest": float(lost.max())}


def _with_coarser_extra(data: DataSet, algorithm: str, step: int, scope: Scope) -> list[Json]:
    """Losses with the ε-quasi as a k-quasi in coarser steps than one decimal; the paper does not say which it has."""
    name = data.epsilon_quasi
    coarser = dataclasses.replace(
        data,
        columns={**data.columns, name: np.round(np.asarray(data.columns[name], dtype=np.float64) / step) * step},
        extra={**data.extra, "widths": list(COARSER_WIDTHS)} if algorithm == "ola" else data.extra,
    )
    without = predictions(data, data.policy, algorithm, scope.ks)
    together = predictions(coarser, with_extra_k_quasi(coarser), algorithm, scope.ks)
    found = []
    for k in scope.ks:
        *others, extra = together[k, 1].loss.precision.by_attribute.values()
        loss_with, loss_without = float(np.mean(others)), without[k, 1].loss.precision.overall
        gain = 1 - loss_without / loss_with if loss_with else None
        found.append({"k": k, "loss_with": loss_with, "extra_loss": extra, "relative_gain": gain})
    return found


def _risks(data: DataSet, algorithm: str, ks: Sequence[int], epsilons: Sequence[float], **changes: str) -> list[Json]:
    """Classes and linking risk by k, the risk for every ε."""
    found = predictions(data, data.policy, algorithm, ks, epsilons, **changes)
    one_of_k = {k: found[k, epsilons[0]] for k in ks}
    return [
        {
            "k": k,
            "n_classes": one.classes.count,
            "mean_class": one.records.entering / one.classes.count,
            "risk": {f"{epsilon:g}": found[k, epsilon].linking_risk.fair.total for epsilon in epsilons},
        }
        for k, one in one_of_k.items()
    ]


def _other_seeds(name: str, scope: Scope) -> list[Json]:
    """OLA's suppression for other people drawn in the same way."""
    n_seeds = 1 if scope.is_quick else N_OTHER_SEEDS
    seeds = range(scope.seed + 1, scope.seed + 1 + n_seeds)
    return [{"seed": seed, **_suppressed_by_ola(STAND_INS[name](seed=seed), scope)} for seed in seeds]


def _thinned(data: DataSet, scope: Scope) -> list[Json]:
    """OLA's suppression for a part of the people, who are then spread more thinly over the same values."""
    found = []
    for share in scope.ends_if_quick(SHARES):
        n = round(share * data.n_records)
        part = dataclasses.replace(data, columns={name: column[:n].copy() for name, column in data.columns.items()})
        found.append({"share": share, **_suppressed_by_ola(part, scope)})
    return found


def _suppressed_by_ola(data: DataSet, scope: Scope) -> Json:
    found = predictions(data, data.policy, "ola", scope.ks)
    return {"suppressed_by_k": {str(k): suppressed_by_k(one) for (k, _), one in found.items()}}
