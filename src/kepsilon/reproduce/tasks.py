# SPDX-License-Identifier: Apache-2.0
"""The measuring cut into tasks that need nothing from each other, so that they run side by side and are stored one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path

from kepsilon.json_values import Json
from kepsilon.reproduce.data.data_sets import STAND_INS, adult
from kepsilon.reproduce.experiments.additions import additions
from kepsilon.reproduce.experiments.choices import choices
from kepsilon.reproduce.experiments.counted_data import CountedData, count_data
from kepsilon.reproduce.experiments.dimensions import dimensions
from kepsilon.reproduce.experiments.distributions import distributions
from kepsilon.reproduce.experiments.reasons import reasons
from kepsilon.reproduce.experiments.releases import releases
from kepsilon.reproduce.experiments.running_times import running_times
from kepsilon.reproduce.experiments.uniform_noise import uniform_noise
from kepsilon.reproduce.scope import ALGORITHM_NAMES, ALGORITHMS, Measurements, Scope

Experiment = Callable[[CountedData, str, Scope], Json]

EXPERIMENTS: dict[str, tuple[Experiment, str, int]] = {
    "releases": (releases, "error, risk, suppression", 1),
    "dimensions": (dimensions, "one k-quasi more", 1),
    "distributions": (distributions, "distribution of errors", 2),
    "uniform": (uniform_noise, "uniform noise", 1),
    "reasons": (reasons, "experiments behind what does not hold", 2),
    "additions": (additions, "beyond the paper", 5),
    "times": (running_times, "running times", 10),
    "choice": (lambda data, _, scope: choices(data, scope), "which k and ε to take", 10),
}
"""The function that measures, what it measures in words, and roughly how many seconds it takes on Florida."""
ALONE = "times"
"""The experiment that measures time, so that nothing else may run beside it."""
COMPARES = "choice"
"""The experiment that compares the algorithms, and is done once for all of them."""
SIZES = {"adult": 0.25, "florida": 1.0, "michigan": 0.6}
"""How long a data set takes beside Florida."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One experiment on one data set, which needs nothing from any other."""

    experiment: str
    data_set: str
    algorithm: str | None = None
    """None where an experiment compares them."""
    k: int | None = None
    """None where an experiment looks at every k at once."""

    @property
    def name(self) -> str:
        parts = [self.experiment, self.data_set, self.algorithm, None if self.k is None else f"k{self.k}"]
        return "-".join(part for part in parts if part is not None)

    @property
    def words(self) -> str:
        """The task for whoever watches."""
        title = self.data_set.title() + ("" if self.data_set == "adult" else " (stand-in)")
        about = [title, ALGORITHM_NAMES.get(self.algorithm or "", ""), "" if self.k is None else f"k = {self.k}"]
        return f"{', '.join(part for part in about if part)}: {EXPERIMENTS[self.experiment][1]}"

    @property
    def runs_alone(self) -> bool:
        return self.experiment == ALONE

    @property
    def cost(self) -> float:
        """Rough seconds, to tell the time left by."""
        return SIZES[self.data_set] * EXPERIMENTS[self.experiment][2]


def all_tasks(scope: Scope, data_sets: Sequence[str]) -> list[Task]:
    """All tasks of some data sets, one data set after another: each worker reads and counts it once. What runs alone is last."""
    tasks = []
    by_algorithm = [name for name in EXPERIMENTS if name != COMPARES]
    for data_set in data_sets:
        tasks.append(Task(experiment=COMPARES, data_set=data_set))
        for algorithm, experiment in product(ALGORITHMS, by_algorithm):
            task = Task(experiment=experiment, data_set=data_set, algorithm=algorithm)
            tasks += [replace(task, k=k) for k in scope.ks] if experiment == "releases" else [task]
    return sorted(tasks, key=lambda task: task.runs_alone)


def measure(task: Task, scope: Scope, folder: Path | None) -> Json:
    """What a task measures, as JSON has it. `folder` holds Adult; nothing else is read."""
    data = _counted(task.data_set, scope.seed, folder)
    own = scope if task.k is None else replace(scope, ks=(task.k,))
    return EXPERIMENTS[task.experiment][0](data, task.algorithm or "", own)


def gathered(tasks: Sequence[Task], found: Measurements) -> Measurements:
    """The measurements by name, with those made for one k at a time put together."""
    together: dict[str, Json] = {}
    for task in tasks:
        one = found[task.name]
        if task.k is None:
            together[task.name] = one
            continue
        whole = together.setdefault(replace(task, k=None).name, {**one, "ks": []})
        whole["ks"].extend(one["ks"])
    return together


@lru_cache(maxsize=1)
def _counted(name: str, seed: int, folder: Path | None) -> CountedData:
    if name != "adult":
        return count_data(STAND_INS[name](seed=seed))
    if folder is None:
        raise ValueError("Adult is read from a folder")
    return count_data(adult(folder, seed=seed))
