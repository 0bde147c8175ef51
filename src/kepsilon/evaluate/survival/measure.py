# SPDX-License-Identifier: Apache-2.0
"""What survives of each ε-quasi, from what was collected of all batches and from the records that are in no class."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kepsilon.evaluate.error.relative_error import ErrorSums
from kepsilon.evaluate.survival import rules
from kepsilon.evaluate.survival.collected import SampledRecords, SurvivalSums
from kepsilon.evaluate.survival.figures import (
    PERCENTS,
    Compared,
    ConstantError,
    ErrorInUnits,
    Followed,
    ForeseenSurvival,
    Quantiles,
    Relation,
    Survival,
)
from kepsilon.evaluate.survival.moments import Pair, moments_of
from kepsilon.table.arrays import FloatArray
from kepsilon.table.whole_columns import numbers_of
from kepsilon.table.whole_records import WholeColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Records that are in no class, and so are not released: those left out for k."""

    values: FloatArray
    """ε-quasis of those that were looked at, shape (n_records, n_epsilon_quasis)."""
    kept: Mapping[str, WholeColumn] = field(default_factory=dict)
    """Their kept columns of numbers."""
    n_all: int = 0
    """How many there are."""

    @property
    def each_stands_for(self) -> float:
        """How many of them each that was looked at stands for."""
        return self.n_all / len(self.values) if len(self.values) else 0.0

    @property
    def in_words(self) -> str | None:
        """How many were looked at; None where all were."""
        if len(self.values) == self.n_all:
            return None
        return f"all records in classes, and {len(self.values):,} of the {self.n_all:,} records left out for k"


def foreseen(errors: Sequence[ErrorSums], of_constant: Sequence[ErrorSums], *, k: int) -> list[ForeseenSurvival]:
    """What is known of each ε-quasi before noise is drawn: its expected error, and that of the best constant per class."""
    return [
        ForeseenSurvival(
            error=ErrorInUnits(
                expected=own.mean_distance,
                usable=rules.tells_more_than_class(own.mean_distance, of_constant=constant.mean_distance),
            ),
            error_of_best_constant=ConstantError(
                absolute=constant.mean_distance,
                relative=constant.relative_of(k),
                range_relative=constant.range_relative,
            ),
        )
        for own, constant in zip(errors, of_constant, strict=True)
    ]


def survivals(
    names: Sequence[str],
    known: Sequence[ForeseenSurvival],
    realised: Sequence[ErrorSums],
    sums: SurvivalSums,
    sample: SampledRecords,
    left_out: LeftOut,
    *,
    k: int,
) -> dict[str, Survival]:
    """What survives of each ε-quasi, by name."""
    stand_for = left_out.each_stands_for
    before = sums.before + moments_of(left_out.values).times(stand_for)
    kept = _relations_with_kept(sample, left_out, k=k)
    found = {}
    for j, name in enumerate(names):
        own, drawn = before.pair(j, j), sums.after.pair(j, j)
        spread = own.spread_of_x
        follows = sums.inside.correlation(j)
        others = {
            other: _relation(before.pair(j, i), sums.after.pair(j, i), k=k, measured_on=left_out.in_words)
            for i, other in enumerate(names)
            if i != j
        }
        found[name] = Survival(
            mean=Compared(
                before=own.mean_of_x,
                after=drawn.mean_of_x,
                usable=rules.usable(rules.shift(own.mean_of_x, drawn.mean_of_x, spread=spread)),
            ),
            spread=Compared(
                before=spread,
                after=drawn.spread_of_x,
                usable=rules.usable(rules.stretch(spread, drawn.spread_of_x)),
            ),
            quantiles=_quantiles(sample, left_out, j, spread=spread, k=k),
            error=dataclasses.replace(known[j].error, realised=realised[j].mean_distance),
            error_of_best_constant=known[j].error_of_best_constant,
            correlation=Followed(inside_classes=follows, usable=rules.usable(rules.deafness(follows))),
            relations={**others, **{other: by_attribute[j] for other, by_attribute in kept.items()}},
            measured_on=left_out.in_words,
        )
    return found


def _quantiles(sample: SampledRecords, left_out: LeftOut, j: int, *, spread: float | None, k: int) -> Quantiles:
    """The quantiles of the j-th ε-quasi. Sampled records weigh as much as the records that they stand for."""
    of_sampled = sample.each_stands_for
    values = np.concatenate([sample.originals[:, j], left_out.values[:, j]])
    weights = np.repeat([of_sampled, left_out.each_stands_for], [len(sample.stays), len(left_out.values)])
    before = quantiles_of(values, weights, k=k)
    after = quantiles_of(sample.published[sample.stays, j], k=k)
    return Quantiles(
        by_percent={
            str(percent): Compared(before=one, after=other, usable=rules.usable(rules.shift(one, other, spread=spread)))
            for percent, one, other in zip(PERCENTS, before, after, strict=True)
        },
        measured_on=sample.in_words or left_out.in_words,
    )


def quantiles_of(values: FloatArray, weights: FloatArray | None = None, *, k: int) -> list[float | None]:
    """For each of `PERCENTS`, the smallest value that so many per cent of the records do not exceed.

    `values`, NaN where missing, and `weights` have shape (n_records,); without weights all records weigh the same. It is
    always a value that some record holds, so that every engine finds the same one. It is None where fewer than k records
    lie on one side of it: it would be the value of an extreme record.
    """
    present = ~np.isnan(values)
    values = values[present]
    if not values.size:
        return [None] * len(PERCENTS)
    order = np.argsort(values, kind="stable")
    passed = np.arange(1, len(values) + 1) if weights is None else np.cumsum(weights[present][order])
    # Multiplied and not divided, so that whole numbers of records are compared exactly; a little less, for those that are not.
    places = np.searchsorted(passed * 100.0, [percent * passed[-1] * (1 - 1e-12) for percent in PERCENTS])
    found = values[order][np.minimum(places, len(values) - 1)].tolist()
    are_enough = [min(percent, 100 - percent) / 100 * len(values) >= k for percent in PERCENTS]
    return [own if is_enough else None for own, is_enough in zip(found, are_enough, strict=True)]


def _relations_with_kept(sample: SampledRecords, left_out: LeftOut, *, k: int) -> dict[str, list[Relation]]:
    """How each kept column of numbers goes with each ε-quasi, by column."""
    of_sampled = sample.each_stands_for
    found = {}
    for name, parts in sample.kept.items():
        here = [left_out.kept[name]] if name in left_out.kept else []
        numbers = numbers_of([*parts, *here])
        if numbers is None:
            continue
        own = numbers[: len(sample.stays), np.newaxis]
        before = moments_of(sample.originals, own).times(of_sampled)
        if here:
            rest = numbers[len(sample.stays) :, np.newaxis]
            before += moments_of(left_out.values, rest).times(left_out.each_stands_for)
        after = moments_of(sample.published, own, chosen=sample.stays).times(of_sampled)
        found[name] = [
            _relation(before.pair(j, 0), after.pair(j, 0), k=k, measured_on=sample.in_words or left_out.in_words)
            for j in range(sample.originals.shape[1])
        ]
    return found


def _relation(before: Pair, after: Pair, *, k: int, measured_on: str | None) -> Relation:
    """A relation before and after; undefined where fewer than k records hold both values."""
    correlations = [own.correlation if own.n >= k else None for own in (before, after)]
    slopes = [own.slope if own.n >= k else None for own in (before, after)]
    changed = rules.slope_change(*slopes, standard_error=before.standard_error_of_slope)
    return Relation(
        correlation=Compared(
            before=correlations[0],
            after=correlations[1],
            usable=rules.usable(rules.correlation_shift(*correlations)),
        ),
        slope=Compared(before=slopes[0], after=slopes[1], usable=rules.usable(changed)),
        measured_on=measured_on,
    )
