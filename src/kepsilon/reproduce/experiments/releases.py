# SPDX-License-Identifier: Apache-2.0
"""The paper's grid: error, linking risk and suppression for every k, ε and confidence, in closed form and over runs.

Noise is drawn by the mechanism of every release; what it did is read off `neighbour_tables`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon import Policy
from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.loss.precision_loss import precision_loss
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.randomness import ByteSource
from kepsilon.reproduce.experiments.counted_data import CountedData, NoisyClasses, noise_source
from kepsilon.reproduce.experiments.neighbour_tables import NeighbourTables, in_units, neighbour_tables
from kepsilon.reproduce.scope import Scope
from kepsilon.table.arrays import FloatArray, IntArray


def releases(data: CountedData, algorithm: str, scope: Scope) -> Json:
    """Every cell of one data set and algorithm."""
    partitions = data.partitions(algorithm, scope.ks)
    return {
        **data.heading(algorithm),
        "n_counted": data.counted.n_staying,
        "runs": scope.runs,
        "ks": [
            _one_k(data, partition, data.policy(algorithm=algorithm, k=k), scope) for k, partition in partitions.items()
        ],
    }


def _one_k(data: CountedData, partition: KAnonymised, policy: Policy, scope: Scope) -> Json:
    recoding, n_counted = partition.recoding, data.counted.n_staying
    noisy = data.noisy_classes(partition, policy)
    loss = precision_loss(recoding)
    return {
        "k": policy.k,
        "n_classes": recoding.n_classes,
        "n_released": len(noisy.values),
        "suppressed_by_k": (n_counted - len(noisy.values)) / n_counted,
        "levels": None if recoding.levels is None else list(recoding.levels),
        "loss": dict(zip(policy.k_quasis, loss.by_attribute, strict=True)),
        "precision_loss": loss.overall,
        "whole_error": float(np.ptp(data.values) * np.mean(1 / np.abs(noisy.values))),
        "cells": _cells(data, noisy, policy, scope),
    }


def _cells(data: CountedData, noisy: NoisyClasses, policy: Policy, scope: Scope) -> list[Json]:
    """Expected figures and those of the runs, for every ε."""
    classes, n_counted = _ReleasedClasses.of(noisy, k=policy.k), data.counted.n_staying
    asked = [ConfidentK.asked_by(policy.with_changes(confidence=confidence)) for confidence in scope.confidences]
    cells = []
    for epsilon in scope.epsilons:
        source = noise_source(scope, "noise", data.data.name, policy.algorithm, policy.k, epsilon)
        runs = [classes.run(epsilon, scope.confidences, source) for _ in range(scope.runs)]
        expected = noisy.expectations.at(epsilon)
        n = expected.n_records
        suppressed = {}
        for i, confidence in enumerate(scope.confidences):
            gone = noisy.expectations.at(epsilon, confident=asked[i]).suppressed
            if gone is None:
                raise ValueError("a policy with a confidence asks for confident k")
            suppressed[f"{confidence:g}"] = {
                **spread(gone.total / n_counted, [run.gone[i] / n_counted for run in runs]),
                "in_small_classes": float(np.mean([run.gone_in_small_classes[i] for run in runs])) / n_counted,
            }
        cells.append(
            {
                "epsilon": epsilon,
                "error": spread(expected.errors[0].relative, [run.error for run in runs]),
                "risk": spread(expected.links.fair.total / n, [run.fair / n for run in runs]),
                "risk_paper_ties": spread(expected.links.paper.total / n, [run.paper / n for run in runs]),
                "suppressed": suppressed,
            }
        )
    return cells


def spread(expected: float | None, runs: Sequence[float]) -> Json:
    """Closed form, mean over the runs, and their sample deviation."""
    return {"expected": expected, "mean": float(np.mean(runs)), "deviation": float(np.std(runs, ddof=1))}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What one drawing of the noise did; counts of records, except for the error."""

    error: float
    fair: float
    paper: int
    gone: list[int]
    """Records that confident k leaves out, one number per confidence."""
    gone_in_small_classes: list[int]
    """Records that confident k leaves out of classes of fewer than 2k, one number per confidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReleasedClasses:
    """Released records by class, with the tables that tell how near a published value is to the originals."""

    noisy: NoisyClasses
    units: IntArray
    sizes: IntArray
    tables: NeighbourTables
    precision: float
    k: int

    @classmethod
    def of(cls, noisy: NoisyClasses, *, k: int) -> _ReleasedClasses:
        noisy = noisy.by_class()
        (precision,) = map(float, noisy.precisions)
        units, class_ids, n_classes = in_units(noisy.values, precision), noisy.ranges.class_ids, len(noisy.ranges.low)
        return cls(
            noisy=noisy,
            units=units,
            sizes=np.bincount(class_ids, minlength=n_classes),
            tables=neighbour_tables(units, class_ids, n_classes=n_classes, k=k),
            precision=precision,
            k=k,
        )

    def run(self, epsilon: float, confidences: Sequence[float], source: ByteSource) -> _Run:
        """Draws the noise once; the same draw is judged at every confidence."""
        values, class_ids = self.noisy.values, self.noisy.ranges.class_ids
        published = self.noisy.draw(epsilon, source)
        units = in_units(published, self.precision)
        near = self.tables.look_up(units, class_ids)
        is_link = np.abs(units - self.units) == near.nearest
        # r_c = −(R/ε)·ln(1 − c) + precision/2, so a distance is within it if it is within −ln(1 − c) once half a
        # unit is taken off and it is measured in R/ε. Where R is 0, everything is within.
        widths = self.noisy.ranges.widths[:, 0]
        per_width = np.divide(1.0, widths, out=np.zeros_like(widths), where=widths > 0)
        scale = ((self.precision * float(epsilon)) * per_width)[class_ids]
        first, kth = (near.nearest - 0.5) * scale, (near.kth - 0.5) * scale
        gone = [self._gone(first, kth, confidence) for confidence in confidences]
        return _Run(
            error=float(np.mean(np.abs(published - values) / np.abs(values))),
            fair=float(np.sum(is_link / near.n_nearest)),
            paper=int(np.count_nonzero(is_link)),
            gone=[int(one.sum()) for one in gone],
            gone_in_small_classes=[int(one[self.sizes < 2 * self.k].sum()) for one in gone],
        )

    def _gone(self, first: FloatArray, kth: FloatArray, confidence: float) -> IntArray:
        """Records that confident k leaves out, by class: 0 < ℓ < k goes, and then whole classes left with fewer than k."""
        reach = -math.log1p(-confidence)
        goes = (first <= reach) & (kth > reach)
        n_gone = np.bincount(self.noisy.ranges.class_ids[goes], minlength=len(self.sizes))
        return np.where(self.sizes - n_gone < self.k, self.sizes, n_gone)
