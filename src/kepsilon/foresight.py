# SPDX-License-Identifier: Apache-2.0
"""What a release larger than memory will take, told before any work starts."""

from __future__ import annotations

from pathlib import Path

from kepsilon.classify import classify
from kepsilon.counting import spilling_engine
from kepsilon.engines.needs import Needs
from kepsilon.policy.policy import Policy


def estimate_needs(
    source: object,
    policy: Policy,
    *,
    memory: str | int,
    spill_folder: str | Path | None = None,
    with_linkage: bool = True,
) -> Needs:
    """Records, distinct values and combinations of k-quasis, memory and disk, from a sample of the files.

    The arguments are those of `anonymise`, which would refuse what this refuses. Takes about a second however large the table is.
    """
    opened = spilling_engine(memory, spill_folder, linkage=with_linkage).open_source(source)
    return opened.needs(classify(opened.column_names, policy, source=opened.name))
