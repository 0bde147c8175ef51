# SPDX-License-Identifier: Apache-2.0
"""How relative errors are distributed: noise per class, noise for the whole data set's range, and uniform noise. Paper Fig. 2.

The figure has no ε; here it is the one that costs per class, on average, as much as the uniform noise does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from kepsilon.evaluate.error.error_curves import (
    N_POINTS,
    UNIFORM,
    ExponentialErrors,
    curve_end,
    points,
    relative_scales,
    uniform_shares,
)
from kepsilon.evaluate.error.relative_error import epsilon_for_error
from kepsilon.json_values import Json
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.randomness import ByteSource
from kepsilon.reproduce.experiments.counted_data import CountedData, NoisyClasses, noise_source
from kepsilon.reproduce.scope import SHOWN_K, Scope
from kepsilon.table.arrays import FloatArray

SHOWN_EPSILONS = (1, 8)
"""The ε that are measured beside that of the figure."""


EXCESSES = ("largest_excess", "largest_excess_runs", "largest_excess_standard_error", "largest_excess_at")


def distributions(data: CountedData, algorithm: str, scope: Scope) -> Json:
    """Curves at k = 20, expected and over the runs; and for every k how much worse the whole data set's range is."""
    ks = tuple(dict.fromkeys((*scope.ks, SHOWN_K)))
    partitions = data.partitions(algorithm, ks)
    # Before k-anonymising nobody is left out, so the range of the whole is that of all counted records.
    rivals = {}
    for k in ks:
        noisy = data.noisy_classes(partitions[k], data.policy(algorithm=algorithm, k=k))
        rivals[k] = (noisy, noisy.as_one_class(data.values))

    def of_k(k: int, epsilon: float) -> Json:
        source = noise_source(scope, "distributions", data.data.name, algorithm, k, epsilon)
        return curves(*rivals[k], epsilon=epsilon, runs=scope.runs, source=source)

    as_uniform = {k: epsilon_as_uniform(noisy) for k, (noisy, _) in rivals.items()}
    alike = {k: of_k(k, as_uniform[k]) for k in ks}
    return {
        **data.heading(algorithm),
        "k": SHOWN_K,
        "epsilon_as_uniform": as_uniform[SHOWN_K],
        "uniform": UNIFORM,
        "uniform_error": UNIFORM / 2,
        "runs": scope.runs,
        "cells": [alike[SHOWN_K], *(of_k(SHOWN_K, epsilon) for epsilon in SHOWN_EPSILONS)],
        "ks": [
            {
                "k": k,
                # Mean errors at ε = 1; their ratio is the same at every ε.
                "class_error": noisy.error(1),
                "whole_error": wide.error(1),
                "ratio": wide.error(1) / noisy.error(1),
                **{name: alike[k][name] for name in ("epsilon", *EXCESSES)},
            }
            for k, (noisy, wide) in rivals.items()
            if k in scope.ks
        ],
    }


def epsilon_as_uniform(noisy: NoisyClasses) -> float:
    """The ε at which noise per class errs as much as uniform ±5 %; four decimals, for the sampler takes ε as written."""
    return round(epsilon_for_error(UNIFORM / 2, error=noisy.error(1), epsilon=1), 4)


def curves(noisy: NoisyClasses, wide: NoisyClasses, *, epsilon: float, runs: int, source: ByteSource) -> Json:
    """The cumulative shares of one ε, and where the whole data set's curve comes nearest to that of the classes.

    `wide` holds the same records with the noise of the whole data set's range.
    """
    both = (noisy, wide)
    scales = [relative_scales(one.widths, one.values, epsilon=epsilon) for one in both]
    n_active = np.ones(len(noisy.values), dtype=np.int64)
    errors = [ExponentialErrors(scales=own, n_active=n_active, law=LAPLACE) for own in scales]
    step = curve_end(errors[0]) / N_POINTS
    at = points(step)
    per_class, whole = (own.shares_within(step) for own in errors)
    class_runs, whole_runs = (np.array([_run(one, epsilon, source, at) for _ in range(runs)]) for one in both)
    return {
        "epsilon": float(epsilon),
        "at": list(at),
        "per_class": per_class.tolist(),
        "whole_data": whole.tolist(),
        "uniform": uniform_shares(at).tolist(),
        "per_class_runs": class_runs.mean(axis=0).tolist(),
        "whole_data_runs": whole_runs.mean(axis=0).tolist(),
        "per_class_mean": noisy.error(epsilon),
        "whole_data_mean": wide.error(epsilon),
        **_excess(at, whole - per_class, whole_runs - class_runs),
    }


def _run(noisy: NoisyClasses, epsilon: float, source: ByteSource, at: tuple[float, ...]) -> FloatArray:
    """The share of records of one run whose error is at most each of `at`, up to a double's rounding."""
    errors = np.abs(noisy.draw(epsilon, source) - noisy.values) / noisy.values
    first = np.searchsorted(np.array(at) * (1 + 1e-12), errors, side="left")
    shares: FloatArray = np.cumsum(np.bincount(first, minlength=len(at) + 1)[: len(at)]) / len(errors)
    return shares


def _excess(at: tuple[float, ...], expected: FloatArray, runs: FloatArray) -> Mapping[str, float | None]:
    """The most by which the whole data set's curve lies above that of the classes; negative if it nowhere does.

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
