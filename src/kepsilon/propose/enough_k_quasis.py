# SPDX-License-Identifier: Apache-2.0
"""Chooses which columns stay k-quasis in a proposal, where there are more than the records can keep in any detail.

n records in classes of k or more are at most n/k classes, so a release can keep log2(n/k) bits about a record, all
k-quasis together and whatever the algorithm. If the columns hold several times that, each of them gets coarse. Columns
help each other where they are related, so no exact number follows; what is taken here is generous.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kepsilon.propose.hierarchies import public_step
from kepsilon.propose.proposal import Proposal, epsilon_quasi
from kepsilon.propose.quasi_rules import has_many_numbers
from kepsilon.propose.toml_text import comment, toml_string

TYPICAL_K = 10
"""The k that is reckoned with; the curator has not chosen one yet."""
ALWAYS = 6
"""So many columns stay k-quasis, however much they hold."""
MOST_TIMES = 3
"""More stay while all together hold at most so many times what can be kept. Local recoding, k = 10: of unrelated columns
0.32, 0.44 and 0.71 of the detail is lost at two, three and six times; of the ten columns of Adult, which are related,
0.10 at two times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnoughKQuasis:
    """The proposals, with some k-quasis in another role or left out, and why."""

    proposals: list[Proposal]
    explained: str = ""
    """Lines of a comment; empty where all k-quasis stay."""
    left_out: tuple[str, ...] = ()
    """Columns that are not published."""


def enough_k_quasis(proposals: Sequence[Proposal]) -> EnoughKQuasis:
    """The proposals with no more k-quasis than make sense.

    Columns that others are known to know come first, and those of less detail before those of more. Of the rest, numbers of
    many values become ε-quasis, and others are left out: to publish them as they are would give people away.
    """
    found = [own for own in proposals if own.role == "k-quasi"]
    n_records = max((own.column.n_records for own in found), default=0)
    kept_bits = math.log2(max(2.0, n_records / TYPICAL_K))
    ranked = sorted(found, key=lambda own: (own.is_guess, _bits(own)))
    staying, n_bits = set[str](), 0.0
    for own in ranked:
        if len(staying) < ALWAYS or n_bits + _bits(own) <= MOST_TIMES * kept_bits:
            staying.add(own.column.name)
            n_bits += _bits(own)
    if len(staying) == len(found):
        return EnoughKQuasis(proposals=list(proposals))
    changed = [own if own not in found or own.column.name in staying else _otherwise(own) for own in proposals]
    left_out = tuple(own.column.name for own in changed if own.is_left_out)
    noisy = [own.column.name for own in ranked if own.column.name not in (*staying, *left_out)]
    return EnoughKQuasis(
        proposals=changed,
        explained=_explained(found, len(staying), kept_bits, n_records=n_records, noisy=noisy, left_out=left_out),
        left_out=left_out,
    )


def _bits(proposal: Proposal) -> float:
    """Detail of a column as it is generalised: not more than its public step leaves."""
    column = proposal.column
    step = public_step(column, proposal.hierarchy)
    if step is None:
        return column.bits
    return min(column.bits, math.log2((column.high - column.low) / step + 1))


def _otherwise(proposal: Proposal) -> Proposal:
    """A k-quasi that does not stay one."""
    if has_many_numbers(proposal.column):
        reason = (
            f"{proposal.reason} As one more k-quasi it would make all of them coarser, so noise hides its numbers within each "
            "class instead."
        )
        return epsilon_quasi(proposal.column, reason)
    return replace(
        proposal,
        left_out_because="As one more k-quasi it would make all of them coarser, so it is not published for now.",
    )


def _explained(
    found: Sequence[Proposal],
    n_staying: int,
    kept_bits: float,
    *,
    n_records: int,
    noisy: Sequence[str],
    left_out: Sequence[str],
) -> str:
    """Why not all columns that look like k-quasis are k-quasis, and how the curator gets one back."""
    together = sum(map(_bits, found))
    told = (
        f"ATTENTION: {len(found)} columns look like k-quasis, and hold {together:.0f} bits of detail about a record together. "
        f"{n_records:,} records in classes of at least {TYPICAL_K} can keep {kept_bits:.0f} bits, whatever the algorithm, so each "
        f"further k-quasi makes all of them coarser. Here the {n_staying} are k-quasis that others most likely know, and of "
        "these first those of few values."
    )
    if noisy:
        told += f" Numbers that are epsilon-quasis instead: {_names(noisy)}."
    if left_out:
        told += (
            f' Not published at all, by unlisted_columns = "drop": {_names(left_out)}. To publish one, remove the # of its '
            "section, and put a # before another k-quasi that matters less."
        )
    return comment(f"{told} Which of them could anybody really know, and which does an analyst need?")


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(toml_string, names))
