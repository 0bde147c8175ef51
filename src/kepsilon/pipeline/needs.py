# SPDX-License-Identifier: Apache-2.0
"""Estimates the memory and disk that a release larger than memory needs, before any work starts."""

from __future__ import annotations

from pathlib import Path

from kepsilon.classify import classify
from kepsilon.engines.choose import spilling_engine, unstarted_spark
from kepsilon.engines.on_disk.needs import Needs
from kepsilon.engines.spark.source import SparkSource
from kepsilon.engines.spilling.source import SpilledSource
from kepsilon.errors import guarded
from kepsilon.policy.policy import Policy


@guarded
def estimate_needs(
    source: object,
    policy: Policy,
    *,
    memory: str | int,
    spill_folder: str | Path | None = None,
    with_linkage: bool = True,
    on_spark: bool = False,
) -> Needs:
    """Estimated records, distinct values and combinations of k-quasis, memory and disk, from a sample of the files.

    The arguments are those of `anonymise`, which refuses the same inputs; `on_spark` asks for the engine of a cluster.
    Takes about a second, however large the table is.
    """
    opened: SpilledSource | SparkSource
    if on_spark:
        opened = unstarted_spark(memory, spill_folder, linkage=with_linkage).open_source(source)
    else:
        opened = spilling_engine(memory, spill_folder, linkage=with_linkage).open_source(source)
    return opened.needs(classify(opened.column_names, policy, source=opened.name))
