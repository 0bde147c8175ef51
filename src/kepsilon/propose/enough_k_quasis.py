# SPDX-License-Identifier: Apache-2.0
"""Chooses which columns are quasis in a proposal, where there are more than the records can keep in any detail.

n records in classes of k or more are at most n/k classes, so a release can keep log2(n/k) bits about a record, all
k-quasis together and whatever the algorithm. If the columns hold several times that, each of them gets coarse. Columns
help each other where they are related, so no exact number follows; what is taken here is generous.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kepsilon.engines.arrow.profile import Kind
from kepsilon.propose.column_names import is_well_known, meanings_of
from kepsilon.propose.hierarchies import public_step
from kepsilon.propose.meanings import Meaning
from kepsilon.propose.persons import counted_as, person_of
from kepsilon.propose.proposal import Proposal, different, k_quasi
from kepsilon.propose.toml_text import comment, toml_string

K_OF_PERSONS = 50
"""The k that is suggested where persons have several records: a class names the one with most of them more easily."""
TYPICAL_K = 25
"""The k, and the group of averages, that is reckoned with and suggested; the curator has not chosen one yet. Whoever knows
all quasis then finds one record in 25, which leaves room below a limit of 5 % for what kept columns tell."""
ALWAYS = 6
"""So many columns stay k-quasis, however much they hold."""
MOST_TIMES = 2.5
"""More stay that others are known to know, while all together hold at most so many times what can be kept. Local recoding,
k = 10: of unrelated columns 0.32, 0.44 and 0.71 of the detail is lost at two, three and six times; of the ten columns of
Adult, which are related, 0.10 at two times."""
GUESSED_TIMES = 2
"""Columns that are k-quasis for safety alone stay up to so many times."""
COARSER = "One more k-quasi would make all of them coarser."


@dataclass(frozen=True, slots=True, kw_only=True)
class EnoughKQuasis:
    """The proposals, with some k-quasis in another role or left out, and why."""

    proposals: list[Proposal]
    explained: str = ""
    """Lines of a comment; empty where all k-quasis stay."""
    left_out: tuple[str, ...] = ()
    """Columns that are not published."""


def enough_k_quasis(proposals: Sequence[Proposal]) -> EnoughKQuasis:
    """The proposals with no more quasis than make sense.

    Numbers stay ε-quasis while classes are so large that several groups of records fit into one; in smaller ones noise and
    averages tell no more than the class does, so they become k-quasis like others. Of the k-quasis, columns that others are
    known to know come first, and those of less detail before those of more. The rest is left out: to publish it as it is
    would give people away.
    """
    kept_bits = _kept_bits(proposals)
    chosen = _staying([own for own in proposals if own.role == "k-quasi" and own.is_quasi], kept_bits)
    noisy = [own for own in proposals if own.role == "epsilon-quasi" and own.is_quasi]
    if noisy and len(noisy) > kept_bits - sum(map(_bits, chosen)):
        proposals = [_generalised(own) if own in noisy else own for own in proposals]
    found = [own for own in proposals if own.role == "k-quasi" and own.is_quasi]
    chosen = _staying(found, kept_bits)
    if len(chosen) == len(found):
        return EnoughKQuasis(proposals=list(proposals))
    changed = [
        own if own not in found or own in chosen else replace(own, left_out_because=COARSER) for own in proposals
    ]
    left_out = tuple(own.column.name for own in found if own not in chosen)
    return EnoughKQuasis(
        proposals=changed,
        explained=_explained(
            found,
            len(chosen),
            kept_bits,
            who=_who_is_hidden(proposals),
            k=suggested_k(proposals),
            left_out=left_out,
        ),
        left_out=left_out,
    )


def suggested_k(proposals: Sequence[Proposal]) -> int:
    """The k that is reckoned with, and suggested to the curator, who decides."""
    return TYPICAL_K if person_of(proposals) is None else K_OF_PERSONS


def _staying(found: Sequence[Proposal], kept_bits: float) -> list[Proposal]:
    """The k-quasis that stay."""
    chosen, n_bits = list[Proposal](), 0.0
    for own in sorted(found, key=lambda own: (not is_well_known(own.column.name), own.is_guess, _bits(own))):
        times = GUESSED_TIMES if own.is_guess else MOST_TIMES
        if len(chosen) < ALWAYS or n_bits + _bits(own) <= times * kept_bits:
            chosen.append(own)
            n_bits += _bits(own)
    return chosen


def _n_hidden(proposals: Sequence[Proposal]) -> int:
    """How many persons there are to hide among, or records where nothing says whom they are about."""
    person = person_of(proposals)
    if person is not None:
        return person.column.repetition.n_distinct
    return max((own.column.n_records for own in proposals), default=0)


def _who_is_hidden(proposals: Sequence[Proposal]) -> str:
    """Whom there is to hide among, with how many there are."""
    person = person_of(proposals)
    return f"{_n_hidden(proposals):,} {'records' if person is None else counted_as(person)}"


def _kept_bits(proposals: Sequence[Proposal]) -> float:
    """Bits about a record that classes of the suggested k can keep."""
    return math.log2(max(2.0, _n_hidden(proposals) / suggested_k(proposals)))


def _generalised(proposal: Proposal) -> Proposal:
    """A column of numbers as a k-quasi."""
    reason = (
        f"{different(proposal.column)}, in intervals. Beside so many k-quasis classes are small, and noise or averages would "
        "tell little more than the class does."
    )
    return replace(k_quasi(proposal.column, reason), is_guess=Meaning.QUANTITY not in meanings_of(proposal.column.name))


def _bits(proposal: Proposal) -> float:
    """Detail of a column as it is generalised: not more than its public step or, of dates, months leave."""
    column = proposal.column
    if column.kind is Kind.DATE:
        return min(column.bits, math.log2(max(1, column.n_months)))
    step = public_step(column, proposal.hierarchy)
    if step is None:
        return column.bits
    return min(column.bits, math.log2((column.high - column.low) / step + 1))


def _bits_in_words(n_bits: float) -> str:
    return f"{n_bits:.0f} bit{'s' * (round(n_bits) != 1)}"


def _explained(
    found: Sequence[Proposal], n_staying: int, kept_bits: float, *, who: str, k: int, left_out: Sequence[str]
) -> str:
    """Why not all columns that look like k-quasis are k-quasis, and how the curator gets one back."""
    together = sum(map(_bits, found))
    return comment(
        f"ATTENTION: {len(found)} columns look like k-quasis, and hold {together:.0f} bits of detail about a record together. "
        f"{who} in classes of at least {k} can keep {_bits_in_words(kept_bits)}, whatever the algorithm, so each further k-quasi "
        f"makes all of them coarser. Here the {n_staying} are k-quasis that others most likely know, and of these first those "
        f'of few values. Not published at all, by unlisted_columns = "drop": {", ".join(map(toml_string, left_out))}. To '
        "publish one, remove the # of its section, and put a # before another k-quasi that matters less. Which of them could "
        "anybody really know, and which does an analyst need?"
    )
