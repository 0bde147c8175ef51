# SPDX-License-Identifier: Apache-2.0
"""Experiments behind the claims that do not hold: one thing is changed at a time, and everything else is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kepsilon.evaluate.linking.linking_risk import link_gaps
from kepsilon.evaluate.loss.precision_loss import precision_loss
from kepsilon.evaluate.originals.class_values import count_values
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.policy.roles import fraction
from kepsilon.reproduce.data import bodies
from kepsilon.reproduce.data.data_sets import CENSUS_YEAR, DataSet, florida, michigan
from kepsilon.reproduce.data.draws import Draws
from kepsilon.reproduce.data.voters import REGISTER_YEAR
from kepsilon.reproduce.experiments.counted_data import CountedData, count_data
from kepsilon.reproduce.experiments.experiment import heading, with_extra_k_quasi
from kepsilon.reproduce.setting import Setting
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, class_ranges
from kepsilon.table.coded_values import code_values

SMALL_KS = (2, 5)
BETWEEN = (50, 60, 70, 80, 90, 100)
N_OTHER_SEEDS = 5
SHARES = (0.9, 0.8, 0.7, 0.6)
STEPS = (1, 10, 40)
"""Centimetres or kilograms."""
COARSER_WIDTHS = (2, 4, 8, 16, 32, 64)
"""Eight levels again where the values themselves are whole."""

STAND_INS: Mapping[str, Callable[..., DataSet]] = {"florida": florida, "michigan": michigan}


def reasons(data: CountedData, algorithm: str, setting: Setting) -> Json:
    """Everything that is told of one data set and algorithm to explain what did not hold."""
    partitions = data.partitions(algorithm, setting.ks)
    found = {
        **heading(data.data, algorithm),
        "ks": [_one_k(data, partition, k, setting) for k, partition in partitions.items()],
    }
    found["coarser_extra"] = [
        {"step": step, "ks": _with_coarser_extra(data, partitions, algorithm, step, setting)}
        for step in (STEPS[:1] if algorithm == "ola" else setting.ends_if_quick(STEPS))
    ]
    if algorithm == "ola":
        found["precision_as_loss"] = _with_precision_as_loss(data, setting)
        if data.data.is_stand_in:
            found["other_seeds"] = _other_seeds(data.data.name, setting)
            found["thinned"] = _thinned(data.data, setting)
    else:
        found["between_large_ks"] = _between_large_ks(data, setting)
    return found


def _one_k(data: CountedData, partition: KAnonymised, k: int, setting: Setting) -> Json:
    """Errors are expected relative errors at ε = 1, of the same classes with something else about their values."""
    recoding = partition.recoding
    all_ids = data.class_ids(recoding)
    released = all_ids != SUPPRESSED
    ids, n_classes = all_ids[released], recoding.n_classes
    is_female = _is_female(data.data)[released]
    values = np.asarray(data.data.columns[data.data.epsilon_quasi], dtype=np.float64)
    own = values[released]
    n_women = np.bincount(ids[is_female], minlength=n_classes)
    is_mixed = (n_women > 0) & (n_women < recoding.sizes)
    return {
        "k": k,
        "mean_class": float(recoding.sizes.mean()),
        "below_2k": float(recoding.sizes[recoding.sizes < 2 * k].sum() / len(ids)),
        "error": unit_error(own, ids, n_classes=n_classes),
        "mixed": float(recoding.sizes[is_mixed].sum() / len(ids)),
        "error_by_sex": unit_error(own, 2 * ids + is_female, n_classes=2 * n_classes),
        "error_shuffled": unit_error(_shuffled(values, data.data, setting)[released], ids, n_classes=n_classes),
        "error_other_measure": unit_error(_other_measure(data.data, setting)[released], ids, n_classes=n_classes),
        "range_lost_with_extreme": _range_lost_with_extreme(own, ids, n_classes=n_classes),
    }


def unit_error(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> float:
    """Expected relative error at ε = 1: the mean of R/|v|."""
    low, high = class_ranges(values, class_ids, n_classes=n_classes)
    return float(np.mean((high - low)[class_ids] / np.abs(values)))


def _is_female(data: DataSet) -> BoolArray:
    gender = np.asarray(data.columns["gender"])
    is_female: BoolArray = np.isin(gender, ("F", "Female"))
    return is_female


def _shuffled(values: FloatArray, data: DataSet, setting: Setting) -> FloatArray:
    """The same values among the records of one sex, in another order: whatever else they had to do with is gone."""
    order = Draws(CENSUS_YEAR, setting.seed).order("shuffled measure", len(values))
    shuffled = np.empty_like(values)
    is_female = _is_female(data)
    for sex in (True, False):
        shuffled[np.flatnonzero(is_female == sex)] = values[order[is_female[order] == sex]]
    return shuffled


def _other_measure(data: DataSet, setting: Setting) -> FloatArray:
    """Weights for those who have heights, and heights for those who have weights, by age and sex."""
    year = CENSUS_YEAR if data.name == "adult" else REGISTER_YEAR
    age = year - np.asarray(data.columns["birth_year"], dtype=np.int64)
    draw = bodies.weights if data.epsilon_quasi == "height" else bodies.heights
    return draw(Draws(year, setting.seed, 1), age, _is_female(data))


def _range_lost_with_extreme(values: FloatArray, class_ids: IntArray, *, n_classes: int) -> Json:
    """What share of a class's range goes with its largest record; by classes that have a range."""
    order = np.lexsort((values, class_ids))
    ends = np.cumsum(np.bincount(class_ids, minlength=n_classes)) - 1
    in_order = values[order]
    low, high = class_ranges(values, class_ids, n_classes=n_classes)
    has_range = high > low  # so it has a second largest
    lost = (high - in_order[ends - 1])[has_range] / (high - low)[has_range]
    return {"median": float(np.median(lost)), "largest": float(lost.max())}


def _with_coarser_extra(
    data: CountedData, without: Mapping[int, KAnonymised], algorithm: str, step: int, setting: Setting
) -> list[Json]:
    """The ε-quasi as a k-quasi, but in coarser steps than the one decimal it has here; the paper does not say which."""
    name = data.data.epsilon_quasi
    values = np.asarray(data.data.columns[name], dtype=np.float64)
    coarser = dataclasses.replace(
        data.data,
        columns={**data.data.columns, name: np.round(values / step) * step},
        extra={**data.data.extra, "widths": list(COARSER_WIDTHS)} if algorithm == "ola" else data.data.extra,
    )
    crowded = count_data(coarser, document=with_extra_k_quasi(coarser))
    together = crowded.partitions(algorithm, setting.ks)
    found = []
    for k in setting.ks:
        *others, extra = precision_loss(together[k].recoding).by_attribute
        loss_with, loss_without = float(np.mean(others)), precision_loss(without[k].recoding).overall
        found.append(
            {
                "k": k,
                "loss_with": loss_with,
                "extra_loss": extra,
                "relative_gain": 1 - loss_without / loss_with if loss_with else None,
            }
        )
    return found


def _with_precision_as_loss(data: CountedData, setting: Setting) -> list[Json]:
    """OLA's other loss takes other nodes: how the linking risk would be with them."""
    other = dataclasses.replace(data, document={**data.document, "loss": "precision"})
    ks = [k for k in setting.ks if k in SMALL_KS]
    partitions = other.partitions("ola", ks)
    return [{"k": k, **_risks(other, partitions[k], setting.epsilons)} for k in ks]


def _between_large_ks(data: CountedData, setting: Setting) -> list[Json]:
    """At which k the linking risk comes down, between the paper's two largest."""
    largest = setting.epsilons[-1:]
    partitions = data.partitions("mondrian", setting.ends_if_quick(BETWEEN))
    return [{"k": k, **_risks(data, partition, largest)} for k, partition in partitions.items()]


def _risks(data: CountedData, partition: KAnonymised, epsilons: Sequence[float]) -> Json:
    name = data.data.epsilon_quasi
    all_ids = data.class_ids(partition.recoding)
    released = all_ids != SUPPRESSED
    values = np.asarray(data.data.columns[name], dtype=np.float64)[released]
    ids, n_classes = all_ids[released], partition.recoding.n_classes
    low, high = class_ranges(values, ids, n_classes=n_classes)
    coded = code_values(values, precision=fraction(data.policy().epsilon_quasis[name].precision))
    gaps = link_gaps(count_values(coded, ids, n_classes=n_classes), ranges=high - low, law=LAPLACE)
    return {
        "n_classes": n_classes,
        "mean_class": len(ids) / n_classes,
        "risk": {f"{epsilon:g}": gaps.expected(epsilon).fair.total / len(ids) for epsilon in epsilons},
    }


def _other_seeds(name: str, setting: Setting) -> list[Json]:
    """OLA's suppression for other people drawn in the same way."""
    n_seeds = 1 if setting.is_quick else N_OTHER_SEEDS
    seeds = range(setting.seed + 1, setting.seed + 1 + n_seeds)
    return [{"seed": seed, **_suppressed_by_ola(STAND_INS[name](seed=seed), setting)} for seed in seeds]


def _thinned(data: DataSet, setting: Setting) -> list[Json]:
    """OLA's suppression for a part of the people, who are then spread more thinly over the same values."""
    found = []
    for share in setting.ends_if_quick(SHARES):
        n = round(share * data.n_records)
        part = dataclasses.replace(data, columns={name: column[:n].copy() for name, column in data.columns.items()})
        found.append({"share": share, **_suppressed_by_ola(part, setting)})
    return found


def _suppressed_by_ola(data: DataSet, setting: Setting) -> Json:
    counted = count_data(data)
    n = counted.counted.n_staying
    partitions = counted.partitions("ola", setting.ks)
    return {"suppressed_by_k": {str(k): 1 - int(one.recoding.sizes.sum()) / n for k, one in partitions.items()}}
