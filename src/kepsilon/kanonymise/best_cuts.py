# SPDX-License-Identifier: Apache-2.0
"""Cuts the parts of a table where that lowers the loss most, all parts at once, until no cut lowers it.

What a cut is, `candidate_cuts` says. In every round each part is cut once, at the best of its candidates whose sides meet
the requirements; a part without any is finished. Nothing is known beforehand about which cuts meet them, and asking takes
as long as the part has combinations. So of a part with many candidates only some are asked about, otherwise time would
grow with the square of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kepsilon.kanonymise.candidate_cuts import CandidateCuts, Guide, candidates_of, pairs_of
from kepsilon.kanonymise.local_attributes import LocalAttribute
from kepsilon.kanonymise.run_losses import Pairs
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.keys import number

MOST_ATTEMPTS = 256
"""How many cuts of a part are tried at the most where requirements fail: half of them the best, the others spread evenly."""

PartsMeet = Callable[[IntArray, int], BoolArray]
"""Tells which parts meet every requirement beyond k records, shape (n_parts,).

Takes the part of every combination of the table, −1 for those in no part, and the number of parts.
"""


def cut_to_the_end(
    attributes: Sequence[LocalAttribute],
    counts: IntArray,
    part_of: IntArray,
    *,
    k: int,
    guide: Guide,
    parts_meet: PartsMeet | None = None,
    attempts: int | None = None,
) -> IntArray:
    """Part of every combination after all cuts, shape (n_combinations,); −1 stays −1.

    `part_of` are the parts to begin with, and `counts` the records of every combination. With `parts_meet`, the best cuts
    of a part are tried in turn until the sides of one meet the requirements: the best `attempts`. Without `attempts` all are
    tried; of a part that has more than MOST_ATTEMPTS, the best ones and then some of the others, evenly spread by gain. Such
    a part may stay whole although a cut that was not tried would meet the requirements.
    """
    found: IntArray = np.full(len(part_of), -1, dtype=np.int64)
    members = np.flatnonzero(part_of >= 0)
    parts: IntArray = part_of[members].astype(np.int64)
    n_found = 0
    while len(members):
        parts, n_parts = number([parts], sizes=[int(parts.max()) + 1], length=len(parts))
        sizes = np.bincount(parts, weights=counts[members], minlength=n_parts).astype(np.int64)
        is_open = sizes >= 2 * k
        pieces: IntArray = np.zeros(len(members), dtype=np.int64)
        if is_open.any():
            inside = np.flatnonzero(is_open[parts])
            pieces[inside], is_cut = _one_round(
                attributes,
                counts,
                members[inside],
                (np.cumsum(is_open) - 1)[parts[inside]],
                sizes=sizes[is_open],
                k=k,
                guide=guide,
                parts_meet=parts_meet,
                attempts=attempts,
            )
            is_open[is_open] = is_cut
        stays = is_open[parts]
        done = ~stays
        found[members[done]] = n_found + (np.cumsum(~is_open) - 1)[parts[done]]
        n_found += int((~is_open).sum())
        parts = parts[stays] * (int(pieces.max(initial=0)) + 1) + pieces[stays]
        members = members[stays]
    return found


def _one_round(
    attributes: Sequence[LocalAttribute],
    counts: IntArray,
    members: IntArray,
    parts: IntArray,
    *,
    sizes: IntArray,
    k: int,
    guide: Guide,
    parts_meet: PartsMeet | None,
    attempts: int | None,
) -> tuple[IntArray, BoolArray]:
    """Cuts every part once where it can be cut: the piece of each member in its part, and which parts were cut."""
    weights = counts[members]
    pairs_by_attribute: list[Pairs] = []
    found: list[CandidateCuts] = []
    for attribute in attributes:
        pairs = pairs_of(attribute.codes[members], parts, weights, n_codes=attribute.n_codes, n_parts=len(sizes))
        cuts = candidates_of(attribute, pairs, sizes=sizes, k=k, guide=guide)
        pairs_by_attribute.append(pairs)
        found.append(cuts if parts_meet is not None else cuts.best_of_each_part(n_parts=len(sizes)))
    attribute_of = np.repeat(np.arange(len(found)), [len(cuts.parts) for cuts in found])
    part, first, last, score = (
        np.concatenate([getattr(cuts, field) for cuts in found] or [np.zeros(0)])
        for field in ("parts", "first", "last", "score")
    )
    # Ties go to the first attribute and there to the first cut; `lexsort` is stable.
    order = np.lexsort((-score, part))
    n_candidates = np.bincount(part.astype(np.int64), minlength=len(sizes))
    starts = np.cumsum(n_candidates) - n_candidates
    pieces: IntArray = np.zeros(len(members), dtype=np.int64)
    is_cut: BoolArray = np.zeros(len(sizes), dtype=np.bool_)
    most = MOST_ATTEMPTS if attempts is None else attempts
    for attempt in range(1 if parts_meet is None else most):
        tried = np.flatnonzero(~is_cut & (n_candidates > attempt))
        if not len(tried):
            break
        cut_of: IntArray = np.full(len(sizes), -1, dtype=np.int64)
        rank = attempt if attempts is not None else _spread(attempt, n_candidates[tried])
        cut_of[tried] = order[starts[tried] + rank]
        own = cut_of[parts]
        inside = np.flatnonzero(own >= 0)
        own = own[inside]
        attempted = np.zeros(len(inside), dtype=np.int64)
        for at, pairs in enumerate(pairs_by_attribute):
            along = np.flatnonzero(attribute_of[own] == at)
            pair, cut = pairs.of_member[inside[along]], own[along]
            attempted[along] = (first[cut] <= pair) & (pair <= last[cut])
        works = cut_of >= 0
        if parts_meet is not None:
            works &= _pieces_meet(attempted, members[inside], parts[inside], len(sizes), len(counts), parts_meet)
        takes = works[parts[inside]]
        pieces[inside[takes]] = attempted[takes]
        is_cut |= works
    return pieces, is_cut


def _spread(attempt: int, n_candidates: IntArray) -> IntArray:
    """Which candidate of each part, by falling gain, an attempt is about, if MOST_ATTEMPTS have to do; shape (n_parts,)."""
    n_best = MOST_ATTEMPTS // 2
    beyond = n_best + (attempt - n_best) * (n_candidates - n_best) // (MOST_ATTEMPTS - n_best)
    return np.where((attempt < n_best) | (n_candidates <= MOST_ATTEMPTS), attempt, beyond)


def _pieces_meet(
    pieces: IntArray, members: IntArray, parts: IntArray, n_parts: int, n_combinations: int, parts_meet: PartsMeet
) -> BoolArray:
    """Whether all pieces of each part meet the requirements, shape (n_parts,); true of parts without members."""
    piece_of: IntArray = np.full(n_combinations, -1, dtype=np.int64)
    n_in_part = int(pieces.max()) + 1
    numbers, n_pieces = number([parts, pieces], sizes=[n_parts, n_in_part], length=len(parts))
    piece_of[members] = numbers
    meets = parts_meet(piece_of, n_pieces)
    all_meet: BoolArray = np.ones(n_parts, dtype=np.bool_)
    all_meet[parts[~meets[numbers]]] = False
    return all_meet
