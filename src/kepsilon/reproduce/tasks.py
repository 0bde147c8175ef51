# SPDX-License-Identifier: Apache-2.0
"""The measuring cut into tasks that need nothing from each other, so that they run side by side and are kept one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from kepsilon.json_values import Json
from kepsilon.reproduce.data.data_sets import DataSet, adult, florida, michigan
from kepsilon.reproduce.experiments.additions import additions
from kepsilon.reproduce.experiments.choices import choices
from kepsilon.reproduce.experiments.counted_data import CountedData, count_data
from kepsilon.reproduce.experiments.dimensions import dimensions
from kepsilon.reproduce.experiments.distributions import distributions
from kepsilon.reproduce.experiments.reasons import reasons
from kepsilon.reproduce.experiments.releases import releases
from kepsilon.reproduce.experiments.running_times import running_times
from kepsilon.reproduce.experiments.uniform_noise import uniform_noise
from kepsilon.reproduce.setting import ALGORITHM_NAMES, ALGORITHMS, Measurements, Setting

Experiment = Callable[[CountedData, str, Setting], Json]

EXPERIMENTS: dict[str, Experiment] = {
    "releases": releases,
    "dimensions": dimensions,
    "distributions": distributions,
    "uniform": uniform_noise,
    "reasons": reasons,
    "additions": additions,
    "times": running_times,
}
WORDS = {
    "releases": "error, risk, suppression",
    "dimensions": "one k-quasi more",
    "distributions": "distribution of errors",
    "uniform": "uniform noise",
    "reasons": "experiments behind what does not hold",
    "additions": "beyond the paper",
    "times": "running times",
    "choice": "which k and ε to take",
}
ALONE = "times"
"""What it measures is time, so that nothing else may run beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
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
        """For whoever watches."""
        title = self.data_set.title() + ("" if self.data_set == "adult" else " (stand-in)")
        about = [title, ALGORITHM_NAMES.get(self.algorithm or "", ""), "" if self.k is None else f"k = {self.k}"]
        return f"{', '.join(part for part in about if part)}: {WORDS[self.experiment]}"

    @property
    def runs_alone(self) -> bool:
        return self.experiment == ALONE

    @property
    def cost(self) -> float:
        """Roughly, to tell the time left by."""
        seconds = {"releases": 1, "dimensions": 1, "distributions": 2, "uniform": 1, "reasons": 2, "additions": 5}
        size = {"adult": 0.25, "florida": 1.0, "michigan": 0.6}[self.data_set]
        return size * seconds.get(self.experiment, 10)


def all_tasks(setting: Setting, data_sets: Sequence[str]) -> list[Task]:
    """One data set after another, so that each is read and counted once per worker; what runs alone comes last."""
    tasks = []
    for name in data_sets:
        tasks.append(Task(experiment="choice", data_set=name))
        for algorithm in ALGORITHMS:
            for experiment in EXPERIMENTS:
                task = Task(experiment=experiment, data_set=name, algorithm=algorithm)
                tasks += [replace(task, k=k) for k in setting.ks] if experiment == "releases" else [task]
    return sorted(tasks, key=lambda task: task.runs_alone)


def measure(task: Task, setting: Setting, folder: Path | None) -> Json:
    """`folder` holds Adult; nothing else is read."""
    data = _counted(task.data_set, setting.seed, folder)
    if task.algorithm is None:
        return choices(data, setting)
    own = setting if task.k is None else replace(setting, ks=(task.k,))
    return EXPERIMENTS[task.experiment](data, task.algorithm, own)


def gathered(tasks: Sequence[Task], found: Measurements) -> Measurements:
    """What was measured for one k at a time, put together."""
    together: dict[str, Json] = {}
    for task in tasks:
        one = found[task.name]
        if task.k is None:
            together[task.name] = one
            continue
        whole = together.setdefault(replace(task, k=None).name, {**one, "ks": []})
        whole["ks"].extend(one["ks"])
    return together


def data_set(name: str, *, seed: int, folder: Path | None) -> DataSet:
    if name == "adult":
        if folder is None:
            raise ValueError("Adult is read from a folder")
        return adult(folder, seed=seed)
    return {"florida": florida, "michigan": michigan}[name](seed=seed)


@lru_cache(maxsize=1)
def _counted(name: str, seed: int, folder: Path | None) -> CountedData:
    return count_data(data_set(name, seed=seed, folder=folder))
