# SPDX-License-Identifier: Apache-2.0
"""What was measured of one data set, as the claims ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from kepsilon.json_values import Json
from kepsilon.reproduce.scope import ALGORITHM_NAMES, ALGORITHMS, DATA_SETS, SHOWN_CONFIDENCE, Measurements


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """What was measured for one algorithm, k and ε; shares are expected ones."""

    algorithm: str
    k: int
    epsilon: float
    error: float
    error_of_runs: float
    """The mean over the runs."""
    risk: float
    risk_paper_ties: float
    """The linking risk if every tie is a link, as the paper counts."""
    suppressed_by_k: float
    by_confidence: dict[float, Json]
    """What confident k suppresses, expected and over the runs, by rising confidence."""

    @property
    def suppressed(self) -> float:
        """Share suppressed by confident k at the confidence the paper draws."""
        return self.suppressed_by_confidence[SHOWN_CONFIDENCE]

    @property
    def total_suppressed(self) -> float:
        """Share suppressed by the algorithm and by confident k together."""
        return self.suppressed_by_k + self.suppressed

    @property
    def suppressed_by_confidence(self) -> dict[float, float]:
        """Share suppressed by confident k for each confidence that was measured, by rising confidence."""
        return {confidence: spread["expected"] for confidence, spread in self.by_confidence.items()}

    def __str__(self) -> str:
        return f"{ALGORITHM_NAMES[self.algorithm]}, k = {self.k}, ε = {self.epsilon:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured of one data set."""

    name: str
    measurements: Measurements

    def of(self, experiment: str, algorithm: str) -> Json:
        return self.measurements[f"{experiment}-{self.name}-{algorithm}"]

    def by_k(self, experiment: str, algorithm: str) -> dict[int, Json]:
        return {one["k"]: one for one in self.of(experiment, algorithm)["ks"]}

    @property
    def about(self) -> Json:
        """A measurement of the data set, for its title, number of records and whether it is a stand-in."""
        return self.of("releases", ALGORITHMS[0])

    @property
    def suppressed_by_ola(self) -> dict[int, float]:
        """Share suppressed by OLA itself, by k."""
        return {k: one["suppressed_by_k"] for k, one in self.by_k("releases", "ola").items()}

    def cells(self, *algorithms: str) -> Iterator[MeasuredCell]:
        """The cells of every k and ε; of all algorithms if none is named."""
        for algorithm in algorithms or ALGORITHMS:
            for k, one in self.by_k("releases", algorithm).items():
                for figures in one["cells"]:
                    yield MeasuredCell(
                        algorithm=algorithm,
                        k=k,
                        epsilon=figures["epsilon"],
                        error=figures["error"]["expected"],
                        error_of_runs=figures["error"]["mean"],
                        risk=figures["risk"]["expected"],
                        risk_paper_ties=figures["risk_paper_ties"]["expected"],
                        suppressed_by_k=one["suppressed_by_k"],
                        by_confidence={
                            float(c): figures["suppressed"][c] for c in sorted(figures["suppressed"], key=float)
                        },
                    )

    def curves(self, *algorithms: str) -> list[list[MeasuredCell]]:
        """The cells of one algorithm and k, by rising ε."""
        ordered = sorted(self.cells(*algorithms), key=lambda c: (ALGORITHMS.index(c.algorithm), c.k, c.epsilon))
        return [[*curve] for _, curve in groupby(ordered, key=lambda c: (c.algorithm, c.k))]

    def columns(self) -> list[list[MeasuredCell]]:
        """The cells of one algorithm and ε, by rising k."""
        ordered = sorted(self.cells(), key=lambda c: (ALGORITHMS.index(c.algorithm), c.epsilon, c.k))
        return [[*column] for _, column in groupby(ordered, key=lambda c: (c.algorithm, c.epsilon))]


def all_measured(measurements: Measurements) -> list[Measured]:
    """The data sets that were measured, in the paper's order."""
    names = [name for name in DATA_SETS if f"releases-{name}-{ALGORITHMS[0]}" in measurements]
    return [Measured(name=name, measurements=measurements) for name in names]
