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
from kepsilon.kanonymise.median_cuts import Runs, chosen_codes
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.keys import sorted_keys
from kepsilon.threads import go_on

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
    parts: IntArray = part_of[members]
    weights: IntArray = counts.take(members).astype(np.int64)
    runs, n_found = _open_parts(found, 0, [own.codes for own in attributes], members, parts, weights, k=k)
    while runs.n_parts:
        go_on()
        pieces, is_cut = _one_round(
            attributes, runs, len(counts), k=k, guide=guide, parts_meet=parts_meet, attempts=attempts
        )
        stays = np.repeat(is_cut, runs.lengths)
        done = np.flatnonzero(~stays)
        numbers = np.arange(n_found, n_found + int((~is_cut).sum()))
        found[runs.combinations[done]] = np.repeat(numbers, runs.lengths[~is_cut])
        n_found += len(numbers)
        # Two new parts of each that was cut.
        parts = np.repeat(2 * np.cumsum(is_cut) - 2, runs.lengths)
        parts += pieces
        runs, n_found = _open_parts(
            found,
            n_found,
            [own.codes for own in attributes],
            runs.combinations[stays],
            parts[stays],
            runs.weights[stays],
            k=k,
        )
    return found


def _open_parts(
    found: IntArray,
    n_found: int,
    codes: Sequence[IntArray],
    members: IntArray,
    parts: IntArray,
    weights: IntArray,
    *,
    k: int,
) -> tuple[Runs, int]:
    """The parts that a cut may divide, as runs: those of two combinations or more, and of 2k records.

    All others are finished; `found` takes them, numbered from `n_found` on, and the next number is returned too. `members`
    are combinations, `parts` and `weights` the part and records of each, and `codes` those of all combinations.
    """
    lengths = np.bincount(parts)
    is_open = (lengths > 1) & (np.bincount(parts, weights=weights) >= 2 * k)
    is_finished = (lengths > 0) & ~is_open
    stays = is_open[parts]
    done = np.flatnonzero(~stays)
    found[members[done]] = (np.cumsum(is_finished) + (n_found - 1))[parts[done]]
    if len(done):
        members, parts, weights = members[stays], parts[stays], weights[stays]
    order, _ = sorted_keys(parts, bound=len(lengths))
    members, weights = members.take(order), weights.take(order)
    lengths = lengths[is_open]
    runs = Runs(
        combinations=members,
        codes=tuple(own.take(members) for own in codes),
        weights=weights,
        lengths=lengths,
        sizes=np.add.reduceat(weights, np.cumsum(lengths) - lengths) if len(lengths) else lengths,
    )
    return runs, n_found + int(is_finished.sum())


def _one_round(
    attributes: Sequence[LocalAttribute],
    runs: Runs,
    n_combinations: int,
    *,
    k: int,
    guide: Guide,
    parts_meet: PartsMeet | None,
    attempts: int | None,
) -> tuple[BoolArray, BoolArray]:
    """Cuts every part once where it can be cut: the piece of each member in its part, and which parts were cut."""
    smallest, largest = runs.extremes()
    weights = runs.weights.astype(np.float64)
    found = []
    for at, attribute in enumerate(attributes):
        cuts = _cuts_along(attribute, runs, at, weights, smallest[at], largest[at], k=k, guide=guide)
        found.append(cuts if parts_meet is not None else cuts.best_of_each_part(n_parts=runs.n_parts))
    attribute_of = np.repeat(np.arange(len(found)), [len(cuts.parts) for cuts in found])
    part, first, last, score = (
        np.concatenate([getattr(cuts, field) for cuts in found] or [np.zeros(0, dtype=np.int64)])
        for field in ("parts", "first", "last", "score")
    )
    if parts_meet is None:
        # Of an attribute there is one cut of each part; ties go to the first attribute.
        best = CandidateCuts(parts=part, first=attribute_of, last=np.arange(len(part)), score=score)
        chosen = best.best_of_each_part(n_parts=runs.n_parts).last
        cut_of: IntArray = np.full(runs.n_parts, -1, dtype=np.int64)
        cut_of[part[chosen]] = chosen
        return _pieces(runs, cut_of, attribute_of, first, last), cut_of >= 0
    # Ties go to the first attribute and there to the first cut; `lexsort` is stable.
    order = np.lexsort((-score, part))
    n_candidates = np.bincount(part, minlength=runs.n_parts)
    starts = np.cumsum(n_candidates) - n_candidates
    pieces: BoolArray = np.zeros(len(runs.weights), dtype=np.bool_)
    is_cut: BoolArray = np.zeros(runs.n_parts, dtype=np.bool_)
    for attempt in range(MOST_ATTEMPTS if attempts is None else attempts):
        tried = np.flatnonzero(~is_cut & (n_candidates > attempt))
        if not len(tried):
            break
        cut_of = np.full(runs.n_parts, -1, dtype=np.int64)
        rank = attempt if attempts is not None else _spread(attempt, n_candidates[tried])
        cut_of[tried] = order[starts[tried] + rank]
        attempted = _pieces(runs, cut_of, attribute_of, first, last)
        works = (cut_of >= 0) & _pieces_meet(runs, cut_of >= 0, attempted, n_combinations, parts_meet)
        takes = np.repeat(works, runs.lengths)
        pieces[takes] = attempted[takes]
        is_cut |= works
    return pieces, is_cut


def _cuts_along(
    attribute: LocalAttribute,
    runs: Runs,
    at: int,
    weights: FloatArray,
    smallest: IntArray,
    largest: IntArray,
    *,
    k: int,
    guide: Guide,
) -> CandidateCuts:
    """The candidates of parts that have several codes of an attribute; `first` and `last` are codes here, and not pairs."""
    has_several = smallest < largest
    chosen = np.flatnonzero(has_several)
    codes, lengths, sizes = runs.codes[at], runs.lengths, runs.sizes
    if len(chosen) < runs.n_parts:
        own = np.flatnonzero(np.repeat(has_several, lengths))
        codes, weights = codes.take(own), weights.take(own)
        lengths, sizes, smallest, largest = lengths[chosen], sizes[chosen], smallest[chosen], largest[chosen]
    pairs = pairs_of(codes, weights, lengths=lengths, smallest=smallest, largest=largest)
    cuts = candidates_of(attribute, pairs, sizes=sizes, k=k, guide=guide)
    return CandidateCuts(
        parts=chosen[cuts.parts], first=pairs.codes[cuts.first], last=pairs.codes[cuts.last], score=cuts.score
    )


def _pieces(
    runs: Runs, cut_of: IntArray, attribute_of: IntArray, first_code: IntArray, last_code: IntArray
) -> BoolArray:
    """Whether each member is on the inner side of its part's cut; `cut_of` is the cut of each part, −1 where it has none."""
    has_one = cut_of >= 0
    along = np.where(has_one, attribute_of[cut_of], -1) if len(attribute_of) else cut_of
    low = np.where(has_one, first_code[cut_of], 1) if len(attribute_of) else np.ones_like(cut_of)
    high = np.where(has_one, last_code[cut_of], 0) if len(attribute_of) else np.zeros_like(cut_of)
    codes = chosen_codes(runs, None, lengths=runs.lengths, attribute_of=along)
    pieces: BoolArray = codes >= np.repeat(low, runs.lengths)
    pieces &= codes <= np.repeat(high, runs.lengths)
    return pieces


def _spread(attempt: int, n_candidates: IntArray) -> IntArray:
    """Which candidate of each part, by falling gain, an attempt is about, if MOST_ATTEMPTS have to do; shape (n_parts,)."""
    n_best = MOST_ATTEMPTS // 2
    beyond = n_best + (attempt - n_best) * (n_candidates - n_best) // (MOST_ATTEMPTS - n_best)
    return np.where((attempt < n_best) | (n_candidates <= MOST_ATTEMPTS), attempt, beyond)


def _pieces_meet(
    runs: Runs, is_tried: BoolArray, pieces: BoolArray, n_combinations: int, parts_meet: PartsMeet
) -> BoolArray:
    """Whether both pieces of each part that is tried meet the requirements, shape (n_parts,); true of the others."""
    numbers = np.repeat(2 * np.cumsum(is_tried) - 2, runs.lengths) + pieces
    piece_of: IntArray = np.full(n_combinations, -1, dtype=np.int64)
    inside = np.repeat(is_tried, runs.lengths)
    piece_of[runs.combinations[inside]] = numbers[inside]
    meets = parts_meet(piece_of, 2 * int(is_tried.sum()))
    all_meet: BoolArray = np.ones(runs.n_parts, dtype=np.bool_)
    all_meet[is_tried] = meets[::2] & meets[1::2]
    return all_meet
