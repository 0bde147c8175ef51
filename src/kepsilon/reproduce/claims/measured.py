# SPDX-License-Identifier: Apache-2.0
"""What was measured of one data set, as the claims ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kepsilon.json_values import Json
from kepsilon.reproduce.setting import ALGORITHM_NAMES, ALGORITHMS, DATA_SETS, SHOWN_CONFIDENCE, Measurements


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One algorithm, k and ε; shares are expected ones."""

    algorithm: str
    k: int
    epsilon: float
    figures: Json
    suppressed_by_k: float

    @property
    def error(self) -> float:
        return float(self.figures["error"]["expected"])

    @property
    def risk(self) -> float:
        return float(self.figures["risk"]["expected"])

    @property
    def suppressed(self) -> float:
        """By confident k at the confidence the paper draws."""
        return self.suppressed_at(SHOWN_CONFIDENCE)

    @property
    def total_suppressed(self) -> float:
        """With what the algorithm itself left out."""
        return self.suppressed_by_k + self.suppressed

    def suppressed_at(self, confidence: float) -> float:
        return float(self.figures["suppressed"][f"{confidence:g}"]["expected"])

    def __str__(self) -> str:
        return f"{ALGORITHM_NAMES[self.algorithm]}, k = {self.k}, ε = {self.epsilon:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One data set."""

    name: str
    measurements: Measurements

    def of(self, experiment: str, algorithm: str) -> Json:
        return self.measurements[f"{experiment}-{self.name}-{algorithm}"]

    def by_k(self, experiment: str, algorithm: str) -> dict[int, Json]:
        return {one["k"]: one for one in self.of(experiment, algorithm)["ks"]}

    @property
    def title(self) -> str:
        return str(self.of("releases", ALGORITHMS[0])["title"])

    @property
    def is_stand_in(self) -> bool:
        return bool(self.of("releases", ALGORITHMS[0])["is_stand_in"])

    @property
    def n_records(self) -> int:
        return int(self.of("releases", ALGORITHMS[0])["n_counted"])

    def cells(self, *algorithms: str) -> Iterator[Cell]:
        """Every k and ε; of all algorithms if none is named."""
        for algorithm in algorithms or ALGORITHMS:
            for one in self.of("releases", algorithm)["ks"]:
                for figures in one["cells"]:
                    yield Cell(
                        algorithm=algorithm,
                        k=one["k"],
                        epsilon=figures["epsilon"],
                        figures=figures,
                        suppressed_by_k=one["suppressed_by_k"],
                    )

    def curves(self, *algorithms: str) -> Iterator[list[Cell]]:
        """The cells of one algorithm and k, by rising ε."""
        cells = [*self.cells(*algorithms)]
        for algorithm, k in dict.fromkeys((cell.algorithm, cell.k) for cell in cells):
            yield sorted((c for c in cells if (c.algorithm, c.k) == (algorithm, k)), key=lambda cell: cell.epsilon)

    def columns(self, *algorithms: str) -> Iterator[list[Cell]]:
        """The cells of one algorithm and ε, by rising k."""
        cells = [*self.cells(*algorithms)]
        for algorithm, epsilon in dict.fromkeys((cell.algorithm, cell.epsilon) for cell in cells):
            yield sorted(
                (c for c in cells if (c.algorithm, c.epsilon) == (algorithm, epsilon)), key=lambda cell: cell.k
            )


def all_measured(measurements: Measurements) -> list[Measured]:
    """The data sets that were measured, in the paper's order."""
    return [
        Measured(name=name, measurements=measurements)
        for name in DATA_SETS
        if f"releases-{name}-{ALGORITHMS[0]}" in measurements
    ]
