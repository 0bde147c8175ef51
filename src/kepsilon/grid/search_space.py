# SPDX-License-Identifier: Apache-2.0
"""Which k, ε and sizes of groups `explore` tries where nobody lists any: few at first, and more where limits begin to hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from kepsilon.grid.cells import PAPER_KS
from kepsilon.policy.averages import FEWEST_TO_AVERAGE
from kepsilon.predict.individual_risk import three_digits, three_digits_up_to
from kepsilon.table.arrays import IntArray

LARGEST_EPSILON = 100.0
"""No larger ε is tried: its noise hides next to nothing."""
SHARE_OF_RECORDS = 20
"""The largest k that is tried is the number of records over this."""
FIRST_GROUPS = (10, 20, 50)
"""Sizes of groups that are tried where no limit says how large they should be."""
_LARGER_KS = 4
"""Most k beyond the paper's that are tried before the search knows where to look closer."""
_CLOSE = 1.12
"""Two k whose ratio is below this have no other between them that is worth looking at."""

Ratios = Callable[[Sequence[float]], Sequence[float]]
"""For each of several ε, by what factor its cell exceeds the limit that it exceeds most; 1 or less where limits hold."""


def larger_ks(n_records: int) -> tuple[int, ...]:
    """At most four k beyond the paper's, at equal ratios, up to a twentieth of the records."""
    largest = n_records // SHARE_OF_RECORDS
    found: set[int] = set()
    if largest > PAPER_KS[-1]:
        ratio = largest / PAPER_KS[-1]
        n_more = min(_LARGER_KS, math.ceil(math.log2(ratio)))
        found |= {readable(PAPER_KS[-1] * ratio ** (i / n_more)) for i in range(1, n_more)} | {largest}
    return tuple(sorted(found))


def ks_beside(k: int, tried: Collection[int]) -> list[int]:
    """The k halfway, by ratio, between one k and the next smaller and larger that were tried; none where these are close."""
    smaller = max((own for own in tried if own < k), default=None)
    larger = min((own for own in tried if own > k), default=None)
    pairs = [(low, high) for low, high in ((smaller, k), (k, larger)) if low is not None and high is not None]
    between = [readable(math.sqrt(low * high)) for low, high in pairs if high / low > _CLOSE]
    return [own for own in between if own not in tried]


def readable(number: float) -> int:
    """A whole number of two digits followed by zeros, near the one given."""
    return int(float(f"{number:.2g}"))


def epsilon_at_limit(at: Ratios, *, within: float, beyond: float) -> tuple[float, float]:
    """The ε of three digits that keeps the limits and is nearest to `beyond`, and its neighbour, which does not keep them.

    `within` is an ε of three digits that keeps them, `beyond` one that does not; between the two they are taken to begin to
    hold once. Where a figure is a power of ε, as the error of noise is, the first guess is right.
    """
    low, high = _number(within), _number(beyond)
    at_low, at_high = at([within, beyond])
    while abs(high - low) > 1:
        guess = _number(_crossing(three_digits(low), at_low, three_digits(high), at_high))
        first, last = min(low, high) + 1, max(low, high) - 1
        thirds = (first + (last - first) // 3, last - (last - first) // 3)  # a flat figure would mislead guesses
        asked = sorted({min(max(own, first), last) for own in (guess - 1, guess, guess + 1, *thirds)})
        if low > high:
            asked.reverse()
        for number, ratio in zip(asked, at([three_digits(own) for own in asked]), strict=True):
            if ratio > 1:
                high, at_high = number, ratio
                break
            low, at_low = number, ratio
    return three_digits(low), three_digits(high)


def _number(epsilon: float) -> int:
    return three_digits_up_to(epsilon)


def _crossing(low: float, at_low: float, high: float, at_high: float) -> float:
    """Where a power of ε through two points would be 1; halfway between them where no power passes through both."""
    if not (0 < at_low < math.inf and 0 < at_high < math.inf) or at_low >= at_high:
        return math.sqrt(low * high)
    share = math.log(at_low) / (math.log(at_low) - math.log(at_high))
    return float(low * (high / low) ** min(max(share, 0.0), 1.0))


def smallest_group(sizes: IntArray, *, k: int, max_risk: float | None, max_individual_risk: float | None) -> int | None:
    """The size of groups that keeps limits on risk in classes of these sizes and makes most groups; None where none keeps them.

    A class of m records has m // g groups of g, or is one group. Whoever knows all quasis links one record of each group.
    """
    n_records = int(sizes.sum())

    def keeps(group: int) -> bool:
        n_groups = int((sizes // group).clip(min=1).sum())
        return max_risk is None or n_groups <= max_risk * n_records

    least = max(k, FEWEST_TO_AVERAGE)
    if max_individual_risk is not None:
        if max_individual_risk * int(sizes.min()) < 1:
            return None
        least = max(least, math.ceil(1 / max_individual_risk))
    most = max(int(sizes.max()), least)
    if not keeps(most):
        return None
    while least < most:
        halfway = (least + most) // 2
        least, most = (least, halfway) if keeps(halfway) else (halfway + 1, most)
    return least
