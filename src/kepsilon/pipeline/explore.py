# SPDX-License-Identifier: Apache-2.0
"""Predicts every cell of the grid from one count of the data and one search of the lattice; no noise is drawn."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kepsilon.count import Counted, read_and_count
from kepsilon.engines.choose import engine_for
from kepsilon.engines.protocol import Engine
from kepsilon.errors import AnonymisationError, MemoryLimitError, PolicyError, Problem, UnsatisfiableError, guarded
from kepsilon.grid.cells import PAPER_EPSILONS, PAPER_KS, Cell
from kepsilon.grid.choice import Choice
from kepsilon.grid.grid import ExploredRecords, Grid
from kepsilon.kanonymise.algorithms import KAnonymised, for_every_k
from kepsilon.policy.averages import FEWEST_TO_AVERAGE
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy
from kepsilon.predict.kept_columns import notes_on_accepted_leaks
from kepsilon.predict.predict import predict
from kepsilon.predict.warnings import warnings_about_namesakes, warnings_about_reading
from kepsilon.predict.whole_records import WholeTable, fit_whole_table
from kepsilon.publish.inputs import inputs_of
from kepsilon.stopwatch import Stopwatch, ignore_step

Number = TypeVar("Number", int, float)


@guarded
def explore(
    source: object,
    policy: Policy,
    *,
    k: int | Sequence[int] | None = None,
    epsilon: float | Sequence[float] | None = None,
    group: int | Sequence[int] | None = None,
    algorithm: str | Sequence[str] | None = None,
    confidence: float | None = None,
    split: bool = False,
    engine: Engine | None = None,
    memory: str | int | None = None,
    spill_folder: str | Path | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Grid:
    """The grid of what every combination of k, ε and algorithm would cost and what risk it would leave.

    Everything else is as the policy says. If `k` or `epsilon` is None, the paper's values and the policy's own are taken;
    if `algorithm` is None, all algorithms are. `group` compares averages of groups of so many records with noise, or those
    of the policy where it has averages; there is no cell for groups smaller than k. `confidence` replaces the policy's.
    With `split` the cells are splits of the numeric quasis into k-quasis and ε-quasis, at the policy's k, ε (or averages) and
    algorithm, or at those given, of which there may be one each. `engine`, `memory` and `spill_folder` are as for `anonymise`.
    """
    if split:
        given = {"k": k, "epsilon": epsilon, "group": group, "algorithm": algorithm, "confidence": confidence}
        chosen = engine_for(source, engine, memory=memory, spill_folder=spill_folder)
        return _explore_splits(source, policy, given, engine=chosen, clock=Stopwatch(on_step))
    ks = _distinct("k", [k] if isinstance(k, int) else k, (*PAPER_KS, policy.k))
    if confidence is not None:
        policy = policy.with_changes(confidence=confidence)
    settings = _settings(
        policy,
        [epsilon] if isinstance(epsilon, int | float) else epsilon,
        [group] if isinstance(group, int) else None if group is None else [operator.index(own) for own in group],
    )
    # Values that no policy can have are refused before the data is read.
    for setting in settings:
        setting.refuse_impossible(policy, ks)
    ks = tuple(own_k for own_k in ks if any(setting.fits(own_k) for setting in settings))
    algorithms = _algorithms([algorithm] if isinstance(algorithm, str) else algorithm)
    policies = {name: _with_algorithm(policy, name, required=algorithm is not None) for name in algorithms}
    clock = Stopwatch(on_step)
    chosen = engine_for(source, engine, memory=memory, spill_folder=spill_folder)
    smallest = next(setting for setting in settings if setting.fits(min(ks))).of(policy, min(ks))
    counted = read_and_count(source, smallest, engine=chosen, clock=clock)
    n_cells = len(policies) * sum(len(own.epsilons) for own in settings for own_k in ks if own.fits(own_k))
    cells: list[Cell] = []
    with closing(counted.columns):
        warnings = (*warnings_about_namesakes(counted), *warnings_about_reading(counted, policy))
        with clock.step("look at columns"):
            table = fit_whole_table(counted, policy) if policy.kept else None
        for name, own in policies.items():
            if isinstance(own, PolicyError):
                pairs = [(setting, own_k) for own_k in ks for setting in settings if setting.fits(own_k)]
                cells += [cell for setting, own_k in pairs for cell in setting.refused(name, own_k, own)]
                continue
            with clock.step(f"k-anonymise ({name})"):
                possible = [own_k for own_k in ks if own_k <= counted.n_staying]
                partitions = for_every_k(counted.table, own, ks=possible)
            for own_k in ks:
                partition = partitions.get(own_k) or _too_few(counted.n_staying, own_k)
                for setting in (one for one in settings if one.fits(own_k)):
                    with clock.step("expect", part=(len(cells), n_cells, "cells")):
                        cells += _cells_of(partition, own, own_k, setting, counted, table)
    looked_at = [(cell.name, cell.prediction.kept_columns) for cell in cells if cell.prediction is not None]
    return Grid(
        cells=tuple(cells),
        policy=policy,
        records=ExploredRecords(
            read=counted.columns.n_records,
            missing=counted.left_out.missing,
            unlisted=counted.left_out.unlisted,
            by_cap=counted.left_out.by_cap,
        ),
        seconds=clock.seconds,
        page=_page,
        warnings=(*warnings, *notes_on_accepted_leaks(looked_at, policy)),
        inputs=inputs_of(source, policy=policy),
    )


def _explore_splits(
    source: object, policy: Policy, given: Mapping[str, Any], *, engine: Engine, clock: Stopwatch
) -> Grid:
    """The grid of all splits of the numeric quasis, with what was `given` in place of the policy's own settings.

    What only splits need is imported here.
    """
    from kepsilon.pipeline.splits import compare_splits, shared_settings

    settings = shared_settings(policy, given)
    found = compare_splits(source, policy, settings, engine=engine, clock=clock)
    looked_at = [(cell.name, cell.prediction.kept_columns) for cell in found.cells if cell.prediction is not None]
    own = found.cells[0].split
    return Grid(
        cells=found.cells,
        policy=policy if own is None or own.policy is None else own.policy,
        records=found.records,
        seconds=clock.seconds,
        page=_page,
        warnings=(*found.warnings, *notes_on_accepted_leaks(looked_at, policy)),
        inputs=inputs_of(source, policy=policy),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """What is done to the ε-quasis in some cells: noise at several ε, or averages of groups of one size."""

    epsilons: tuple[float | None, ...]
    """None where nothing is drawn with it."""
    group: int | None

    def changes(self, policy: Policy) -> Mapping[str, Any]:
        """What has to change in the policy, apart from ε."""
        if self.group is not None:
            return policy.averaging(self.group)
        return {} if policy.averages is None else {"averages": None}

    def of(self, policy: Policy, k: int, epsilon: float | None = None) -> Policy:
        """The policy of a cell; at the first ε, if none is given."""
        chosen = self.epsilons[0] if epsilon is None else epsilon
        return policy.with_changes(k=k, **self.changes(policy), **({} if chosen is None else {"epsilon": chosen}))

    def fits(self, k: int) -> bool:
        """Whether there can be such groups at this k: no published value is shared by fewer than k."""
        return self.group is None or FEWEST_TO_AVERAGE <= k <= self.group

    def refuse_impossible(self, policy: Policy, ks: Sequence[int]) -> None:
        """Raises PolicyError where no policy can have these values with one of the ks."""
        fitting = [own_k for own_k in ks if self.fits(own_k)]
        # Where no k fits, the policy itself says what is wrong with the smallest.
        for own_k in fitting or [min(ks)]:
            self.of(policy, own_k)
        for epsilon in self.epsilons:
            self.of(policy, min(fitting or ks), epsilon)

    def refused(self, algorithm: str, k: int, error: AnonymisationError) -> list[Cell]:
        """The cells of one algorithm and k, all refused for one reason."""
        why = "; ".join(problem.what for problem in error.problems)
        return [
            Cell(algorithm=algorithm, k=k, epsilon=own, group=self.group, prediction=None, refused=why)
            for own in self.epsilons
        ]


def _settings(policy: Policy, epsilons: Sequence[float] | None, groups: Sequence[int] | None) -> tuple[_Setting, ...]:
    """What is done to the ε-quasis: noise at each ε, beside averages of each size of groups, where these are asked for.

    A policy with averages is compared with noise only where ε is given, or stated together with all that noise needs.
    """
    stated = () if policy.epsilon is None else (policy.epsilon,)
    own_groups = () if policy.averages is None else (policy.averages.group,)
    chosen_groups = _distinct("group", groups, own_groups) if groups is not None or own_groups else ()
    if chosen_groups and not policy.epsilon_quasis:
        raise PolicyError(Problem(where="group", what="there is no epsilon-quasi to average."))
    if not policy.epsilon_quasis:
        return (_Setting(epsilons=(None,), group=None),)  # no figure depends on ε
    chosen = _distinct("epsilon", epsilons, (*PAPER_EPSILONS, *stated))
    has_noise = policy.averages is not None and policy.averages.noise
    found = [_Setting(epsilons=chosen if has_noise else (None,), group=own) for own in chosen_groups]
    noise = _Setting(epsilons=chosen, group=None)
    if policy.averages is None or epsilons is not None or (stated and not has_noise and _has_all_for(noise, policy)):
        found.insert(0, noise)
    return tuple(found)


def _has_all_for(noise: _Setting, policy: Policy) -> bool:
    """Whether a policy with averages states all that noise in their place needs, such as ranges."""
    try:
        noise.refuse_impossible(policy, [policy.k])
    except PolicyError:
        return False
    return True


def _cells_of(
    partition: KAnonymised | AnonymisationError,
    policy: Policy,
    k: int,
    setting: _Setting,
    counted: Counted,
    table: WholeTable | None,
) -> list[Cell]:
    """The cells of one algorithm, k and setting; classes are previewed once for all ε, and `table` is fitted once for all k."""
    if isinstance(partition, AnonymisationError):
        return setting.refused(policy.algorithm, k, partition)
    try:
        own = setting.of(policy, k)
        preview = counted.columns.preview(partition.recoding)
        asked = [epsilon for epsilon in setting.epsilons if epsilon is not None]
        predicted = predict(preview, partition, counted, own, epsilons=asked or None, table=table, all_attackers=False)
    except (PolicyError, MemoryLimitError) as error:
        return setting.refused(policy.algorithm, k, error)
    leaks = predicted.leaks(own)
    if leaks:
        return setting.refused(policy.algorithm, k, UnsatisfiableError(leaks))
    return [
        Cell(algorithm=own.algorithm, k=k, epsilon=epsilon, group=setting.group, prediction=prediction)
        for epsilon, prediction in zip(setting.epsilons, predicted.predictions, strict=True)
    ]


def _with_algorithm(policy: Policy, name: str, *, required: bool) -> Policy | PolicyError:
    """The policy with another algorithm, or the error why it cannot have that one; raised if the caller `required` it."""
    try:
        return policy.with_changes(algorithm=name)
    except PolicyError as error:
        if required:
            raise
        return error


def _too_few(n_staying: int, k: int) -> PolicyError:
    return PolicyError(Problem(where="k", what=f"k = {k}, but only {n_staying:,} records are there to be released."))


def _algorithms(given: Sequence[str] | None) -> tuple[str, ...]:
    if given is not None and not len(given):
        raise PolicyError(Problem(where="algorithm", what="no value is given to explore."))
    return tuple(dict.fromkeys(ALGORITHMS.names() if given is None else given))


def _distinct(name: str, given: Sequence[Number] | None, default: Sequence[Number]) -> tuple[Number, ...]:
    chosen = default if given is None else given
    if not len(chosen):
        raise PolicyError(Problem(where=name, what="no value is given to explore."))
    return tuple(sorted(set(chosen)))


def _page(grid: Grid, choice: Choice) -> str:
    """The page of a grid. Pages are imported here, because a grid that nobody looks at does not need them."""
    from kepsilon.pages.render import explore_page

    return explore_page(grid, choice)
