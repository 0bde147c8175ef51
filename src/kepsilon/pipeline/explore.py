# SPDX-License-Identifier: Apache-2.0
"""Predicts every cell of the grid from one count of the data and one search of the lattice; no noise is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from kepsilon.count import Counted, read_and_count
from kepsilon.engines.choose import engine_for
from kepsilon.engines.protocol import Engine
from kepsilon.errors import AnonymisationError, MemoryLimitError, PolicyError, Problem, UnsatisfiableError, guarded
from kepsilon.grid.cells import PAPER_EPSILONS, PAPER_KS, Cell
from kepsilon.grid.choice import Choice
from kepsilon.grid.grid import ExploredRecords, Grid
from kepsilon.kanonymise.algorithms import KAnonymised, for_every_k
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
    algorithm: str | Sequence[str] | None = None,
    confidence: float | None = None,
    engine: Engine | None = None,
    memory: str | int | None = None,
    spill_folder: str | Path | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Grid:
    """The grid of what every combination of k, ε and algorithm would cost and what risk it would leave.

    Everything else is as the policy says. If `k` or `epsilon` is None, the paper's values and the policy's own are taken;
    if `algorithm` is None, all algorithms are. `confidence` replaces the policy's.
    `engine`, `memory` and `spill_folder` are as for `anonymise`.
    """
    ks = _distinct("k", [k] if isinstance(k, int) else k, (*PAPER_KS, policy.k))
    epsilons = _distinct(
        "epsilon", [epsilon] if isinstance(epsilon, int | float) else epsilon, (*PAPER_EPSILONS, policy.epsilon)
    )
    if not policy.epsilon_quasis:
        epsilons = (policy.epsilon,)  # no figure depends on ε
    if confidence is not None:
        policy = policy.with_changes(confidence=confidence)
    # Values that no policy can have are refused before the data is read.
    for own_k in ks:
        policy.with_changes(k=own_k)
    for one in epsilons:
        policy.with_changes(epsilon=one)
    algorithms = _algorithms([algorithm] if isinstance(algorithm, str) else algorithm)
    policies = {name: _with_algorithm(policy, name, required=algorithm is not None) for name in algorithms}
    clock = Stopwatch(on_step)
    chosen = engine_for(source, engine, memory=memory, spill_folder=spill_folder)
    counted = read_and_count(source, policy.with_changes(k=min(ks)), engine=chosen, clock=clock)
    n_cells = len(policies) * len(ks) * len(epsilons)
    cells: list[Cell] = []
    with closing(counted.columns):
        warnings = (*warnings_about_namesakes(counted), *warnings_about_reading(counted, policy))
        with clock.step("look at columns"):
            table = fit_whole_table(counted, policy) if policy.kept else None
        for name, own in policies.items():
            if isinstance(own, PolicyError):
                cells += [_refused(name, own_k, e, own) for own_k in ks for e in epsilons]
                continue
            with clock.step(f"k-anonymise ({name})"):
                possible = [own_k for own_k in ks if own_k <= counted.n_staying]
                partitions = for_every_k(counted.table, own, ks=possible)
            for own_k in ks:
                partition = partitions.get(own_k) or _too_few(counted.n_staying, own_k)
                with clock.step("expect", shown=f"cells {len(cells):,} of {n_cells:,}"):
                    cells += _cells_of(partition, own.with_changes(k=own_k), epsilons, counted, table)
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


def _cells_of(
    partition: KAnonymised | AnonymisationError,
    policy: Policy,
    epsilons: Sequence[float],
    counted: Counted,
    table: WholeTable | None,
) -> list[Cell]:
    """The cells of one algorithm and k; its classes are previewed once for all ε, and `table` is fitted once for all k."""
    if isinstance(partition, AnonymisationError):
        return [_refused(policy.algorithm, policy.k, epsilon, partition) for epsilon in epsilons]
    try:
        preview = counted.columns.preview(partition.recoding)
        predicted = predict(preview, partition, counted, policy, epsilons=epsilons, table=table, all_attackers=False)
    except (PolicyError, MemoryLimitError) as error:
        return [_refused(policy.algorithm, policy.k, epsilon, error) for epsilon in epsilons]
    leaks = predicted.leaks(policy)
    if leaks:
        return [_refused(policy.algorithm, policy.k, epsilon, UnsatisfiableError(leaks)) for epsilon in epsilons]
    return [
        Cell(algorithm=policy.algorithm, k=policy.k, epsilon=epsilon, prediction=prediction)
        for epsilon, prediction in zip(epsilons, predicted.predictions, strict=True)
    ]


def _with_algorithm(policy: Policy, name: str, *, required: bool) -> Policy | PolicyError:
    """The policy with another algorithm, or the error why it cannot have that one; raised if the caller `required` it."""
    try:
        return policy.with_changes(algorithm=name)
    except PolicyError as error:
        if required:
            raise
        return error


def _refused(algorithm: str, k: int, epsilon: float, error: AnonymisationError) -> Cell:
    why = "; ".join(problem.what for problem in error.problems)
    return Cell(algorithm=algorithm, k=k, epsilon=epsilon, prediction=None, refused=why)


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
