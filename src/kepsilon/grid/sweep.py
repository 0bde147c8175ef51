# SPDX-License-Identifier: Apache-2.0
"""Every cell from one count of the data and one sweep of the lattice; no noise is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from kepsilon.counting import Counted, local_engine, read_and_count
from kepsilon.engines.protocol import ColumnsInMemory, Engine
from kepsilon.errors import AnonymisationError, PolicyError, Problem
from kepsilon.evaluate.confident_k import ConfidentK
from kepsilon.evaluate.expectations import Expectations
from kepsilon.evaluate.precision_loss import precision_loss
from kepsilon.evaluate.tally import Expected
from kepsilon.grid.cells import Cell, Figures, distortion
from kepsilon.grid.grids import Grid
from kepsilon.kanonymise.algorithms import KAnonymised, for_every_k
from kepsilon.policy.policy import Policy
from kepsilon.predict.noise_ranges import code_all, expect_noise, noise_ranges
from kepsilon.publish.record import expected_error
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.coded_values import CodedValues

KS = (2, 5, 10, 20, 50, 100)
EPSILONS = (0.05, 0.5, 1, 2, 4, 8, 16)
ALGORITHMS = ("ola", "mondrian")

Number = TypeVar("Number", int, float)


def explore(
    source: object,
    policy: Policy,
    *,
    k: int | Sequence[int] | None = None,
    epsilon: float | Sequence[float] | None = None,
    algorithm: str | Sequence[str] | None = None,
    confidence: float | None = None,
    engine: Engine[ColumnsInMemory] | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Grid:
    """What every combination of k, ε and algorithm would cost and leave at risk; everything else as the policy says.

    Without a list, those of the paper and the policy's own are taken. `confidence` replaces the policy's.
    """
    ks = _distinct("k", [k] if isinstance(k, int) else k, (*KS, policy.k))
    epsilons = _distinct(
        "epsilon", [epsilon] if isinstance(epsilon, int | float) else epsilon, (*EPSILONS, policy.epsilon)
    )
    if not policy.epsilon_quasis:
        epsilons = (policy.epsilon,)  # nothing depends on it
    if confidence is not None:
        policy = policy.with_changes(confidence=confidence)
    # Nonsense is refused before the data is read.
    for own_k in ks:
        policy.with_changes(k=own_k)
    for one in epsilons:
        policy.with_changes(epsilon=one)
    algorithms = _algorithms([algorithm] if isinstance(algorithm, str) else algorithm)
    policies = {name: _with_algorithm(policy, name, required=algorithm is not None) for name in algorithms}
    clock = Stopwatch(on_step)
    counted = read_and_count(source, policy.with_changes(k=min(ks)), engine=engine or local_engine(), clock=clock)
    with clock.step("code values"):
        coded = code_all(counted.columns, policy)
    n_cells = len(policies) * len(ks) * len(epsilons)
    cells: list[Cell] = []
    for name, own in policies.items():
        if isinstance(own, PolicyError):
            cells += [_refused(name, own_k, e, own) for own_k in ks for e in epsilons]
            continue
        with clock.step(f"k-anonymise ({name})"):
            possible = [own_k for own_k in ks if own_k <= counted.n_staying]
            partitions = for_every_k(counted.table, own, ks=possible)
        for own_k in ks:
            partition = partitions.get(own_k) or _too_few(counted.n_staying, own_k)
            shown = f"cells {len(cells):,} of {n_cells:,}"
            cells += _cells_of(partition, own.with_changes(k=own_k), epsilons, counted, coded, clock, shown=shown)
    return Grid(
        cells=cells,
        policy=policy,
        n_read=counted.columns.n_records,
        n_missing=counted.left_out.missing,
        n_unlisted=counted.left_out.unlisted,
        seconds=clock.seconds,
    )


def _cells_of(
    partition: KAnonymised | AnonymisationError,
    policy: Policy,
    epsilons: Sequence[float],
    counted: Counted[ColumnsInMemory],
    coded: Sequence[CodedValues],
    clock: Stopwatch,
    *,
    shown: str,
) -> Iterator[Cell]:
    """The cells of one partition: all that depends on ε is worked out from one look at its values."""
    try:
        if isinstance(partition, AnonymisationError):
            raise partition
        with clock.step("look at classes", shown=shown):
            expectations = _look_at(partition, policy, counted, coded)
    except AnonymisationError as error:
        yield from (_refused(policy.algorithm, policy.k, epsilon, error) for epsilon in epsilons)
        return
    confident = ConfidentK.asked_by(policy)
    with clock.step("expect", shown=shown):
        expected_at = expectations.at_each([(float(epsilon), confident) for epsilon in epsilons])
    for epsilon, expected in zip(epsilons, expected_at, strict=True):
        figures = _figures(partition, expected, policy, counted, epsilon=epsilon)
        yield Cell(algorithm=policy.algorithm, k=policy.k, epsilon=epsilon, figures=figures)


def _look_at(
    partition: KAnonymised, policy: Policy, counted: Counted[ColumnsInMemory], coded: Sequence[CodedValues]
) -> Expectations:
    class_ids = counted.columns.by_class(partition.recoding)
    ranges = noise_ranges(counted.columns, class_ids, partition.recoding, policy)
    return expect_noise(coded, class_ids, ranges, policy)


def _figures(
    partition: KAnonymised, expected: Expected, policy: Policy, counted: Counted[ColumnsInMemory], *, epsilon: float
) -> Figures:
    names, n_counted = counted.roles.k_quasis, counted.n_staying
    loss, levels = precision_loss(partition.recoding), partition.recoding.levels
    error = {
        name: expected_error(sums, policy, epsilon=float(epsilon))
        for name, sums in zip(policy.epsilon_quasis, expected.errors, strict=True)
    }
    return Figures(
        n_classes=partition.recoding.n_classes,
        levels=None if levels is None else dict(zip(names, levels, strict=True)),
        dm_star=partition.dm_star,
        loss=dict(zip(names, loss.by_attribute, strict=True)),
        precision_loss=loss.overall,
        error=error,
        linking_risk=expected.links.fair.per(expected.n_records),
        linking_risk_paper_ties=expected.links.paper.total / expected.n_records,
        suppressed_by_k=(n_counted - expected.n_records) / n_counted,
        suppressed_by_confidence=None if expected.suppressed is None else expected.suppressed.per(n_counted),
        distortion=distortion(list(loss.by_attribute), expected.errors),
    )


def _with_algorithm(policy: Policy, name: str, *, required: bool) -> Policy | PolicyError:
    """The policy with another algorithm; one that nobody named and that cannot be used is shown as refused."""
    try:
        return policy.with_changes(algorithm=name)
    except PolicyError as error:
        if required:
            raise
        return error


def _refused(algorithm: str, k: int, epsilon: float, error: AnonymisationError) -> Cell:
    why = "; ".join(problem.what for problem in error.problems)
    return Cell(algorithm=algorithm, k=k, epsilon=epsilon, figures=None, refused=why)


def _too_few(n_staying: int, k: int) -> PolicyError:
    return PolicyError(Problem(where="k", what=f"k = {k}, but only {n_staying:,} records are there to be released."))


def _algorithms(given: Sequence[str] | None) -> tuple[str, ...]:
    if given is not None and not len(given):
        raise PolicyError(Problem(where="algorithm", what="no value is given to explore."))
    return tuple(dict.fromkeys(ALGORITHMS if given is None else given))


def _distinct(name: str, given: Sequence[Number] | None, default: Sequence[Number]) -> tuple[Number, ...]:
    chosen = default if given is None else given
    if not len(chosen):
        raise PolicyError(Problem(where=name, what="no value is given to explore."))
    return tuple(sorted(set(chosen)))
