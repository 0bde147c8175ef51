# SPDX-License-Identifier: Apache-2.0
"""Checks data against a policy: everything that is wrong at once, or what a release would be. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from kepsilon.count import read_and_count
from kepsilon.engines.choose import engine_for, local_engine
from kepsilon.engines.protocol import Engine
from kepsilon.errors import DataError, Problem, guarded
from kepsilon.kanonymise.algorithms import k_anonymise
from kepsilon.policy.policy import Policy
from kepsilon.policy.reading import PLAIN
from kepsilon.predict.limits import refuse_outside_limits
from kepsilon.predict.predict import predict
from kepsilon.predict.prediction import Prediction
from kepsilon.predict.warnings import warnings_about_formulas, warnings_about_reading
from kepsilon.stopwatch import Stopwatch, ignore_step


@guarded
def check(
    source: object,
    policy: Policy,
    *,
    engine: Engine | None = None,
    memory: str | int | None = None,
    spill_folder: str | Path | None = None,
    on_step: Callable[[str], None] = ignore_step,
) -> Prediction:
    """What a release would be; an error names every reason why the policy cannot be applied.

    `engine`, `memory` and `spill_folder` are as for `anonymise`.
    """
    chosen = engine_for(source, engine, memory=memory, spill_folder=spill_folder)
    clock = Stopwatch(on_step)
    counted = read_and_count(source, policy, engine=chosen, clock=clock)
    with clock.step("k-anonymise"):
        partition = k_anonymise(counted.table, policy)
    with closing(counted.columns):
        with clock.step("expect"):
            preview = counted.columns.preview(partition.recoding)
            predicted = predict(preview, partition, counted, policy)
            refuse_outside_limits(predicted, preview, partition, counted, policy)
        with clock.step("look at columns"):
            return predicted.prediction.with_warnings(
                after=(*warnings_about_reading(counted, policy), *warnings_about_formulas(counted)),
            )


@guarded
def offending_values(
    source: object, policy: Policy, column: str, *, engine: Engine | None = None
) -> list[tuple[str, int]]:
    """Values of one column that the policy cannot place, most frequent first, with how many records hold each.

    No other function returns values of records; the curator calls it on their own machine.
    """
    opened = (engine or local_engine()).open_source(source)
    if column not in policy.attributes or column not in opened.column_names:
        raise DataError(Problem(where=opened.name, what=f'there is no column "{column}" with a role to look into.'))
    return opened.offending(column, policy.attributes[column], policy.readings.get(column, PLAIN))
