# SPDX-License-Identifier: Apache-2.0
"""Predicts every cell of the grid from one count of the data and one search of the lattice; no noise is drawn."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kepsilon.count import Counted, read_and_count
from kepsilon.engines.choose import engine_for
from kepsilon.engines.protocol import Engine
from kepsilon.errors import AnonymisationError, PolicyError, Problem, guarded
from kepsilon.grid.cells import PAPER_KS
from kepsilon.grid.choice import Choice, Limits
from kepsilon.grid.grid import ExploredRecords, Grid
from kepsilon.grid.search_space import larger_ks
from kepsilon.kanonymise.algorithms import KAnonymised, for_every_k
from kepsilon.pipeline.partitions import Partition
from kepsilon.pipeline.search import Search
from kepsilon.pipeline.settings import distinct, settings_of
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy
from kepsilon.predict.kept_columns import notes_on_accepted_leaks
from kepsilon.predict.warnings import warnings_about_namesakes, warnings_about_reading
from kepsilon.predict.whole_records import WholeTable, fit_whole_table
from kepsilon.publish.inputs import inputs_of
from kepsilon.stopwatch import Stopwatch, ignore_step


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
    limits: Limits | None = None,
    engine: Engine | None = None,
    memory: str | int | None = None,
    spill_folder: str | Path | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Grid:
    """The grid of what every combination of k, ε and algorithm would cost and what risk it would leave.

    Everything else is as the policy says. If `k` or `epsilon` is None, the paper's values and the policy's own are taken;
    where `limits` are stated, here or in the policy, also those ε at which they just hold, and, with a limit on risk, k up
    to a twentieth of the records. If `algorithm` is None, all algorithms are. `group` compares averages of groups of so
    many records with noise, or those of the policy where it has averages; there is no cell for groups smaller than k. If
    neither `group` nor `epsilon` is given, some sizes are tried. `confidence` replaces the policy's.
    With `split` the cells are splits of the numeric quasis into k-quasis and ε-quasis, at the policy's k, ε (or averages) and
    algorithm, or at those given, of which there may be one each. `engine`, `memory` and `spill_folder` are as for `anonymise`.
    """
    if split:
        given = {"k": k, "epsilon": epsilon, "group": group, "algorithm": algorithm, "confidence": confidence}
        chosen = engine_for(source, engine, memory=memory, spill_folder=spill_folder)
        return _explore_splits(source, policy, given, engine=chosen, clock=Stopwatch(on_step))
    if confidence is not None:
        policy = policy.with_changes(confidence=confidence)
    wanted = (limits or Limits()).with_those_of(policy)
    listed = None if k is None else distinct("k", [k] if isinstance(k, int) else k, ())
    settings = settings_of(
        policy,
        [epsilon] if isinstance(epsilon, int | float) else epsilon,
        [group] if isinstance(group, int) else None if group is None else [operator.index(own) for own in group],
        has_limits=bool(wanted.stated()),
    )
    # Values that no policy can have are refused before the data is read.
    ks = listed or tuple(sorted({*PAPER_KS, policy.k}))
    for setting in settings.listed:
        setting.refuse_impossible(policy, ks)
    algorithms = _algorithms([algorithm] if isinstance(algorithm, str) else algorithm)
    policies = {name: _with_algorithm(policy, name, required=algorithm is not None) for name in algorithms}
    clock = Stopwatch(on_step)
    chosen = engine_for(source, engine, memory=memory, spill_folder=spill_folder)
    fitting = [own for own in ks if any(setting.fits(own) for setting in settings.listed)]
    smallest = next(own for own in settings.listed if own.fits(min(fitting))).of(policy, min(fitting))
    counted = read_and_count(source, smallest, engine=chosen, clock=clock)
    search = Search(settings=settings, limits=wanted, clock=clock)
    with closing(counted.columns):
        warnings = (*warnings_about_namesakes(counted), *warnings_about_reading(counted, policy))
        with clock.step("look at columns"):
            table = fit_whole_table(counted, policy) if policy.kept else None

        def partitions(name: str, own_ks: Sequence[int], shown: str | None = None) -> list[Partition]:
            with clock.step(f"k-anonymise ({name})", shown=shown):
                return _partitions(name, policies[name], own_ks, counted, table)

        first = [partition for name in policies for partition in partitions(name, fitting)]
        search.look_at_listed(first)
        if wanted.stated():
            # Where risk is not limited, the best cell would have the largest k, whatever is left of the data.
            looks_closer = listed is None and wanted.limit_risk
            more = larger_ks(counted.n_staying) if looks_closer else ()
            larger = [partition for name in policies for partition in partitions(name, more)] if more else []
            search.solve([*first, *larger])
            if looks_closer:
                search.look_closer(partitions)
    cells = search.cells
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
        n_looked_at=search.n_looked_at,
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


def _with_algorithm(policy: Policy, name: str, *, required: bool) -> Policy | PolicyError:
    """The policy with another algorithm, or the error why it cannot have that one; raised if the caller `required` it."""
    try:
        return policy.with_changes(algorithm=name)
    except PolicyError as error:
        if required:
            raise
        return error


def _partitions(
    name: str, policy: Policy | PolicyError, ks: Sequence[int], counted: Counted, table: WholeTable | None
) -> list[Partition]:
    """The classes of one algorithm for each k, or why there are none."""
    if isinstance(policy, PolicyError):
        found: Mapping[int, KAnonymised | AnonymisationError] = dict.fromkeys(ks, policy)
    else:
        found = for_every_k(counted.table, policy, ks=[own for own in ks if own <= counted.n_staying])
    return [
        Partition(
            algorithm=name,
            policy=policy,
            k=own,
            found=found.get(own) or _too_few(counted.n_staying, own),
            counted=counted,
            table=table,
        )
        for own in ks
    ]


def _too_few(n_staying: int, k: int) -> PolicyError:
    return PolicyError(Problem(where="k", what=f"k = {k}, but only {n_staying:,} records are there to be released."))


def _algorithms(given: Sequence[str] | None) -> tuple[str, ...]:
    if given is not None and not len(given):
        raise PolicyError(Problem(where="algorithm", what="no value is given to explore."))
    return tuple(dict.fromkeys(ALGORITHMS.names() if given is None else given))


def _page(grid: Grid, choice: Choice) -> str:
    """The page of a grid. Pages are imported here, because a grid that nobody looks at does not need them."""
    from kepsilon.pages.render import explore_page

    return explore_page(grid, choice)
