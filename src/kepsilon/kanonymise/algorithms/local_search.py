# SPDX-License-Identifier: Apache-2.0
"""What local algorithms have in common: the table is divided first, and parts that cannot be released are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kepsilon.errors import AnonymisationError
from kepsilon.kanonymise.algorithms.local_refusals import cannot_be_met, not_for_unions
from kepsilon.kanonymise.algorithms.protocol import KAnonymised, Request
from kepsilon.kanonymise.first_parts import FirstParts, FirstPartsFailError, first_parts
from kepsilon.kanonymise.node_counts import sum_of_squares
from kepsilon.kanonymise.partitions import MOST_TOGETHER
from kepsilon.kanonymise.requirements.protocol import Requirement
from kepsilon.table.classes import Recoding
from kepsilon.table.frequency import FrequencyTable
from kepsilon.threads import each_of

Classes = Callable[[FrequencyTable, Request, FirstParts, int, Sequence[Requirement]], Recoding]
"""Makes classes of the first parts, for one k and the requirements beyond k records."""


def find_local(
    table: FrequencyTable, request: Request, classes: Classes
) -> dict[int, KAnonymised | AnonymisationError]:
    """Classes for every k, or why there are none, as `Algorithm.find` describes.

    Several k are searched for at a time, but few where the table is large.
    """

    def answer(k: int) -> KAnonymised | AnonymisationError:
        return _answer(table, request, k, request.beyond_k[k], classes)

    ks = list(request.beyond_k)
    found = each_of(ks, answer, sizes=[table.n_combinations] * len(ks), most=MOST_TOGETHER)
    return dict(zip(ks, found, strict=True))


def _answer(
    table: FrequencyTable, request: Request, k: int, further: Sequence[Requirement], classes: Classes
) -> KAnonymised | AnonymisationError:
    """The classes for one k, or the refusal."""
    refusal = not_for_unions(request, further)
    if refusal is not None:
        return refusal
    try:
        parts = first_parts(
            table,
            k=k,
            further=further,
            fixed=request.fixed(table),
            max_levels=request.max_levels(table),
            max_suppressed=request.policy.most_suppressed(table.n_records),
        )
    except FirstPartsFailError as error:
        return cannot_be_met(error, table, request)
    recoding = classes(table, request, parts, k, further)
    return KAnonymised(recoding=recoding, dm_star=sum_of_squares(recoding.sizes) + sum_of_squares(parts.left_out))
