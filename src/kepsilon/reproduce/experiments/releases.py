# SPDX-License-Identifier: Apache-2.0
"""The paper's grid: error, linking risk and suppression for every k, ε and confidence, in closed form and over runs.

Noise is drawn by the mechanism of every release; what it did is read off `neighbour_tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.expectations import Expectations
from kepsilon.evaluate.loss.precision_loss import precision_loss
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.mechanisms.laplace import perturb
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.predict.noise_ranges import NoiseRanges
from kepsilon.predict.outlook import expect_batch
from kepsilon.randomness import ByteSource
from kepsilon.reproduce.experiments.counted_data import CountedData
from kepsilon.reproduce.experiments.experiment import heading, noise_source
from kepsilon.reproduce.experiments.neighbour_tables import NeighbourTables, in_units, neighbour_tables
from kepsilon.reproduce.setting import Setting
from kepsilon.table.arrays import FloatArray, IntArray


def releases(
    data: CountedData, algorithm: str, setting: Setting, *, on_cell: Callable[[], None] = lambda: None
) -> Json:
    """Every cell of one data set and algorithm. `on_cell` is told of each k and ε that is done."""
    partitions = data.partitions(algorithm, setting.ks)
    return {
        **heading(data.data, algorithm),
        "n_counted": data.counted.n_staying,
        "runs": setting.runs,
        "ks": [
            _one_k(data, partition, data.policy(algorithm=algorithm, k=k), setting, on_cell)
            for k, partition in partitions.items()
        ],
    }


def _one_k(
    data: CountedData, partition: KAnonymised, policy: Policy, setting: Setting, on_cell: Callable[[], None]
) -> Json:
    recoding = partition.recoding
    ranges, expectations = expect_batch(data.batch(recoding), policy, mechanism_of(policy))
    n_counted, n_released = data.counted.n_staying, len(ranges.class_ids)
    loss = precision_loss(recoding)
    values = np.asarray(data.data.columns[data.data.epsilon_quasi], dtype=np.float64)
    classes = _NoisyClasses.of(ranges, policy)
    cells = []
    for epsilon in setting.epsilons:
        own = policy.with_changes(epsilon=epsilon)
        source = noise_source(setting, "noise", data.data.name, policy.algorithm, policy.k, epsilon)
        cells.append(_cell(expectations, classes, own, setting, source, n_counted=n_counted))
        on_cell()
    return {
        "k": policy.k,
        "n_classes": recoding.n_classes,
        "n_released": n_released,
        "suppressed_by_k": (n_counted - n_released) / n_counted,
        "levels": None if recoding.levels is None else list(recoding.levels),
        "loss": dict(zip(policy.k_quasis, loss.by_attribute, strict=True)),
        "precision_loss": loss.overall,
        "whole_error": float(np.ptp(values) * np.mean(1 / np.abs(ranges.values))),
        "cells": cells,
    }


def _cell(
    expectations: Expectations,
    classes: _NoisyClasses,
    policy: Policy,
    setting: Setting,
    source: ByteSource,
    *,
    n_counted: int,
) -> Json:
    epsilon = float(policy.exact_epsilon)
    expected = expectations.at(epsilon)
    n = expected.n_records
    run = [classes.run(policy, setting.confidences, source) for _ in range(setting.runs)]
    suppressed = {}
    for i, confidence in enumerate(setting.confidences):
        asked = ConfidentK.asked_by(policy.with_changes(confidence=confidence))
        gone = expectations.at(epsilon, confident=asked).suppressed
        if gone is None:
            raise ValueError("a policy with a confidence asks for confident k")
        suppressed[f"{confidence:g}"] = {
            **spread(gone.total / n_counted, [one.gone[i] / n_counted for one in run]),
            "in_small_classes": float(np.mean([one.gone_in_small_classes[i] for one in run])) / n_counted,
        }
    return {
        "epsilon": policy.epsilon,
        "error": spread(expected.errors[0].relative, [one.error for one in run]),
        "risk": spread(expected.links.fair.total / n, [one.fair / n for one in run]),
        "risk_paper_ties": spread(expected.links.paper.total / n, [one.paper / n for one in run]),
        "suppressed": suppressed,
    }


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
    """Those of them in classes of fewer than 2k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoisyClasses:
    """Released records by class, so that what is looked up for neighbours lies close together."""

    values: FloatArray
    units: IntArray
    class_ids: IntArray
    sizes: IntArray
    low: FloatArray
    high: FloatArray
    tables: NeighbourTables
    precision: float

    @classmethod
    def of(cls, ranges: NoiseRanges, policy: Policy) -> _NoisyClasses:
        (attribute,) = policy.epsilon_quasis.values()
        order = np.argsort(ranges.class_ids, kind="stable")
        values, class_ids = ranges.values[order], ranges.class_ids[order]
        units = in_units(values[:, 0], attribute.precision)
        n_classes = len(ranges.low)
        return cls(
            values=values,
            units=units,
            class_ids=class_ids,
            sizes=np.bincount(class_ids, minlength=n_classes),
            low=ranges.low,
            high=ranges.high,
            tables=neighbour_tables(units, class_ids, n_classes=n_classes, k=policy.k),
            precision=attribute.precision,
        )

    def run(self, policy: Policy, confidences: Sequence[float], source: ByteSource) -> _Run:
        """Draws the noise once; the same draw is judged at every confidence."""
        (attribute,) = policy.epsilon_quasis.values()
        published = perturb(
            self.values,
            self.class_ids,
            self.low,
            self.high,
            epsilon=policy.exact_epsilon,
            precisions=[fraction(attribute.precision)],
            domains=[None],
            source=source,
        )[:, 0]
        units = in_units(published, self.precision)
        near = self.tables.look_up(units, self.class_ids)
        is_link = np.abs(units - self.units) == near.nearest
        # r_c = −(R/ε)·ln(1 − c) + precision/2, so a distance is within it if it is within −ln(1 − c) once half a
        # unit is taken off and it is measured in R/ε. Where R is 0, everything is within.
        per_unit = (self.precision * float(policy.exact_epsilon)) * _reciprocal(self.high - self.low)[:, 0]
        scale = per_unit[self.class_ids]
        first, kth = (near.nearest - 0.5) * scale, (near.kth - 0.5) * scale
        gone, in_small = zip(*self._gone(first, kth, confidences, k=policy.k), strict=True)
        return _Run(
            error=float(np.mean(np.abs(published - self.values[:, 0]) / np.abs(self.values[:, 0]))),
            fair=float(np.sum(is_link / near.n_nearest)),
            paper=int(np.count_nonzero(is_link)),
            gone=[*gone],
            gone_in_small_classes=[*in_small],
        )

    def _gone(
        self, first: FloatArray, kth: FloatArray, confidences: Sequence[float], *, k: int
    ) -> Iterator[tuple[int, int]]:
        """0 < ℓ < k goes, and then whole classes left with fewer than k: all that go, and those of them in small classes."""
        for confidence in confidences:
            reach = -math.log1p(-confidence)
            goes = (first <= reach) & (kth > reach)
            n_gone = np.bincount(self.class_ids[goes], minlength=len(self.sizes))
            n_gone = np.where(self.sizes - n_gone < k, self.sizes, n_gone)
            yield int(n_gone.sum()), int(n_gone[self.sizes < 2 * k].sum())


def _reciprocal(ranges: FloatArray) -> FloatArray:
    return np.divide(1.0, ranges, out=np.zeros_like(ranges), where=ranges > 0)
