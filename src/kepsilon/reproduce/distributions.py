# SPDX-License-Identifier: Apache-2.0
"""How relative errors are distributed: noise per class, noise for the whole data set's range, and uniform noise. Paper Fig. 2.

The figure has no ε; here it is the one that costs per class, on average, as much as the uniform noise does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.error_curves import (
    N_POINTS,
    UNIFORM,
    curve_end,
    points,
    relative_scales,
    shares_within,
    uniform_shares,
)
from kepsilon.evaluate.relative_error import epsilon_for_error
from kepsilon.perturb.laplace import perturb
from kepsilon.perturb.randomness import ByteSource
from kepsilon.policy.roles import fraction
from kepsilon.reproduce.counted_data import CountedData
from kepsilon.reproduce.experiment import NoisyClasses, heading, look_at, noise_source
from kepsilon.reproduce.setting import SHOWN_K, Json, Setting
from kepsilon.table.arrays import FloatArray, IntArray

SHOWN_EPSILONS = (1, 8)
"""Beside the ε of the figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """The same records with noise of two kinds: R of their class, and R of the whole data set, at the same ε."""

    values: FloatArray
    class_ids: IntArray
    low: FloatArray
    """By class, shape (n_classes,)."""
    high: FloatArray
    whole: tuple[float, float]
    """Smallest and largest value of all counted records: before k-anonymising nobody is left out."""

    def scales(self, *, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Of the relative error, by record: per class, and for the whole data set."""
        sizes = np.abs(self.values)
        widths = (self.high - self.low)[self.class_ids]
        whole = self.whole[1] - self.whole[0]
        return relative_scales(widths, sizes, epsilon=epsilon), relative_scales(whole, sizes, epsilon=epsilon)

    def errors_of_classes(self, *, epsilon: Fraction, precision: Fraction, source: ByteSource) -> FloatArray:
        """Relative errors of one run, as released."""
        return self._errors(self.class_ids, self.low, self.high, epsilon, precision, source)

    def errors_of_whole(self, *, epsilon: Fraction, precision: Fraction, source: ByteSource) -> FloatArray:
        low, high = (np.array([end]) for end in self.whole)
        return self._errors(np.zeros_like(self.class_ids), low, high, epsilon, precision, source)

    def _errors(
        self,
        class_ids: IntArray,
        low: FloatArray,
        high: FloatArray,
        epsilon: Fraction,
        precision: Fraction,
        source: ByteSource,
    ) -> FloatArray:
        published = perturb(
            self.values[:, np.newaxis],
            class_ids,
            low[:, np.newaxis],
            high[:, np.newaxis],
            epsilon=epsilon,
            precisions=[precision],
            domains=[None],
            source=source,
        )
        errors: FloatArray = np.abs(published[:, 0] - self.values) / np.abs(self.values)
        return errors


def distributions(data: CountedData, algorithm: str, setting: Setting) -> Json:
    """Curves at k = 20, expected and over the runs; and for every k how much worse the whole data set's range is."""
    ks = tuple(dict.fromkeys((*setting.ks, SHOWN_K)))
    partitions = data.partitions(algorithm, ks)
    looks = {k: look_at(data, partitions[k], data.policy(algorithm=algorithm, k=k)) for k in ks}
    rivals = {k: rival_of(data, noisy) for k, noisy in looks.items()}
    as_uniform = {k: epsilon_as_uniform(noisy) for k, noisy in looks.items()}
    precision = fraction(data.document["attributes"][data.data.epsilon_quasi]["precision"])
    cells = [
        curves(
            rivals[SHOWN_K],
            epsilon=epsilon,
            precision=precision,
            runs=setting.runs,
            source=noise_source(setting, "distributions", data.data.name, algorithm, SHOWN_K, epsilon),
        )
        for epsilon in (as_uniform[SHOWN_K], *SHOWN_EPSILONS)
    ]
    by_k = []
    for k in setting.ks:
        own = cells[0]
        if k != SHOWN_K:
            source = noise_source(setting, "distributions", data.data.name, algorithm, k, as_uniform[k])
            own = curves(rivals[k], epsilon=as_uniform[k], precision=precision, runs=setting.runs, source=source)
        by_k.append({"k": k, **_ratio(rivals[k]), **{name: own[name] for name in ("epsilon", *EXCESSES)}})
    return {
        **heading(data.data, algorithm),
        "k": SHOWN_K,
        "epsilon_as_uniform": as_uniform[SHOWN_K],
        "uniform": UNIFORM,
        "uniform_error": UNIFORM / 2,
        "runs": setting.runs,
        "cells": cells,
        "ks": by_k,
    }


EXCESSES = ("largest_excess", "largest_excess_runs", "largest_excess_standard_error", "largest_excess_at")


def epsilon_as_uniform(noisy: NoisyClasses) -> float:
    """The ε that costs per class as much as uniform ±5 % noise; four decimals, for the sampler takes ε as it is written."""
    return round(epsilon_for_error(UNIFORM / 2, error=noisy.unit_error, epsilon=1), 4)


def rival_of(data: CountedData, noisy: NoisyClasses) -> Rival:
    values = data.counted.columns.numbers(data.data.epsilon_quasi)
    return Rival(
        values=noisy.values,
        class_ids=noisy.ranges.class_ids,
        low=noisy.ranges.low[:, 0],
        high=noisy.ranges.high[:, 0],
        whole=(float(values.min()), float(values.max())),
    )


def curves(rival: Rival, *, epsilon: float, precision: Fraction, runs: int, source: ByteSource) -> Json:
    """The cumulative shares of one ε, and where the whole data set's curve comes nearest to that of the classes."""
    scales, wide_scales = rival.scales(epsilon=epsilon)
    n_active = np.ones(len(scales), dtype=np.int64)
    step = curve_end(scales, n_active) / N_POINTS
    at = points(step)
    per_class, whole = (shares_within(s, n_active, step=step) for s in (scales, wide_scales))
    noise = {"epsilon": fraction(epsilon), "precision": precision, "source": source}
    class_runs, whole_runs = np.empty((runs, len(at))), np.empty((runs, len(at)))
    for run in range(runs):
        class_runs[run] = _shares_of(rival.errors_of_classes(**noise), at)
        whole_runs[run] = _shares_of(rival.errors_of_whole(**noise), at)
    return {
        "epsilon": float(epsilon),
        "at": list(at),
        "per_class": per_class.tolist(),
        "whole_data": whole.tolist(),
        "uniform": uniform_shares(at).tolist(),
        "per_class_runs": class_runs.mean(axis=0).tolist(),
        "whole_data_runs": whole_runs.mean(axis=0).tolist(),
        "per_class_mean": float(scales.mean()),
        "whole_data_mean": float(wide_scales.mean()),
        **_excess(at, whole - per_class, whole_runs - class_runs),
    }


def _shares_of(errors: FloatArray, at: tuple[float, ...]) -> FloatArray:
    """The share of records whose error is at most each of `at`, up to a double's rounding."""
    first = np.searchsorted(np.array(at) * (1 + 1e-12), errors, side="left")
    shares: FloatArray = np.cumsum(np.bincount(first, minlength=len(at) + 1)[: len(at)]) / len(errors)
    return shares


def _excess(at: tuple[float, ...], expected: FloatArray, runs: FloatArray) -> Mapping[str, float | None]:
    """By how much the whole data set's curve is above that of the classes, at most; below 0 it never is.

    Beyond 0, where neither has any record.
    """
    mean = runs[:, 1:].mean(axis=0)
    worst = int(mean.argmax())
    deviation = float(runs[:, 1 + worst].std(ddof=1)) if len(runs) > 1 else None
    return {
        "largest_excess": float(expected[1:].max()),
        "largest_excess_runs": float(mean[worst]),
        "largest_excess_standard_error": None if deviation is None else deviation / math.sqrt(len(runs)),
        "largest_excess_at": at[1 + worst],
    }


def _ratio(rival: Rival) -> Json:
    """Mean errors at ε = 1; their ratio is the same at every ε."""
    per_class, whole = (float(scales.mean()) for scales in rival.scales(epsilon=1))
    return {"class_error": per_class, "whole_error": whole, "ratio": whole / per_class}
