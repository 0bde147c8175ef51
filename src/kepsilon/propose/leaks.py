# SPDX-License-Identifier: Apache-2.0
"""Leaves columns out that would be kept under a proposal and give people away, with the role that would hide them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kepsilon.evaluate.kept_columns.findings import KeptColumns
from kepsilon.evaluate.kept_columns.look import look_at_kept_columns
from kepsilon.evaluate.kept_columns.wording import what_it_tells
from kepsilon.evaluate.linking.attackers import names_in_words
from kepsilon.policy.names import shown_name
from kepsilon.propose.proposal import Proposal, epsilon_quasi, k_quasi
from kepsilon.propose.quasi_rules import has_many_numbers
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.whole_records import RecordsInClasses, WholeColumn

MOST_RECORDS = 20_000
CLASS_SIZES = (20, 100)
"""Fewest records of made-up classes. There is no partition yet, so records that are alike stand for one; in large classes a
column shows that tells a little about many."""

KEPT = ("sensitive", "insensitive")
GIVES_AWAY = (
    "It gives people away: {what} (measured on {n:,} records). A release that keeps it as it is would be refused, unless it says "
    'why it may be published: accept_leak = "reason". Suggested instead: role = "{role}".'
)
NOTED = "Note: {what} (measured on {n:,} records)."


def with_leaks(proposals: Sequence[Proposal], columns: Mapping[str, WholeColumn], rows: IntArray) -> list[Proposal]:
    """The proposals, without columns that would be kept and give people away, and with a note at those that tell a little.

    `columns` holds some records of the table with all columns, `rows` where they stand in it. Where two kept columns tell
    something only together, the second is left out.
    """
    by_role: dict[str | None, list[str]] = {}
    for proposal in (own for own in proposals if not own.is_left_out):
        by_role.setdefault(proposal.role, []).append(proposal.column.name)
    kept = [name for role in KEPT for name in by_role.get(role, ())]
    numeric = by_role.get("epsilon-quasi", [])
    if not kept or not (numeric or by_role.get("k-quasi")):
        return list(proposals)
    k_quasis = _of(columns, by_role.get("k-quasi", ()))
    records = RecordsInClasses(
        class_ids=_made_up_classes(k_quasis, len(rows), size=CLASS_SIZES[0]),
        k_quasis=k_quasis,
        epsilon_quasis={name: own for name, own in _of(columns, numeric).items() if own.numbers is not None},
        kept=_of(columns, kept),
        identifiers=_of(columns, by_role.get("identifier", ())),
        rows=rows,
    )
    quasis = names_in_words([*records.k_quasis, *records.epsilon_quasis])
    told: dict[str, str] = {}
    alarms: set[str] = set()
    for size in CLASS_SIZES:
        found = look_at_kept_columns(replace(records, class_ids=_made_up_classes(k_quasis, len(rows), size=size)))
        further = _to_leave_out(found) - alarms
        told |= {
            own.column: shown_name("; ".join(what_it_tells(own, found, quasis=quasis)))
            for own in found.columns
            if own.reasons and (own.column in further or own.column not in told)
        }
        alarms |= further
    changed = []
    for own in proposals:
        name = own.column.name
        if name not in told or not own.is_kept:
            changed.append(own)
        elif name in alarms:
            changed.append(_hidden(own, told[name], n=len(rows), is_noisy=bool(numeric)))
        else:
            changed.append(replace(own, notes=(*own.notes, NOTED.format(what=told[name], n=len(rows)))))
    return changed


def _to_leave_out(found: KeptColumns) -> set[str]:
    """Columns that would have a release refused; of a pair that tells something together, the second."""
    alarms = {own.column for own in found.columns if own.verdict == "alarm" and set(own.reasons) != {"pair"}}
    for pair in found.pairs:
        if not alarms & set(pair.columns):
            alarms.add(pair.columns[1])
    return alarms & {own.column for own in found.columns if own.verdict == "alarm"}


def _hidden(proposal: Proposal, what: str, *, n: int, is_noisy: bool) -> Proposal:
    """A column that gives people away: left out, with the role that would hide it."""
    column = proposal.column
    hides = epsilon_quasi if is_noisy and has_many_numbers(column) else k_quasi
    suggested = hides(column, proposal.reason)
    return replace(suggested, left_out_because=GIVES_AWAY.format(what=what, n=n, role=suggested.role), gives_away=True)


def _of(columns: Mapping[str, WholeColumn], names: Sequence[str]) -> dict[str, WholeColumn]:
    return {name: columns[name] for name in names}


def _made_up_classes(k_quasis: Mapping[str, WholeColumn], n_records: int, *, size: int) -> IntArray:
    """Classes of at least `size` records that are alike: all records, cut in two again and again between values of a k-quasi.

    The k-quasi of the widest part is cut first, as near to the middle as its values allow.
    """
    places = [own.codes / max(1, own.n_distinct - 1) for own in k_quasis.values()]
    class_ids: IntArray = np.zeros(n_records, dtype=np.int64)
    waiting, n_classes = [np.arange(n_records)], 0
    while waiting:
        records = waiting.pop()
        own = [place[records] for place in places]
        cuts = (_cut(own[i], size) for i in np.argsort([-np.ptp(place) for place in own], kind="stable"))
        below = next((cut for cut in cuts if cut is not None), None)
        if below is None:
            class_ids[records] = n_classes
            n_classes += 1
        else:
            waiting += [records[below], records[~below]]
    return class_ids


def _cut(places: FloatArray, size: int) -> BoolArray | None:
    """Which records lie below the middle, at least `size` on both sides; None where no cut leaves so many."""
    values, counts = np.unique(places, return_counts=True)
    n_below = np.cumsum(counts)[:-1]
    allowed = np.flatnonzero((n_below >= size) & (len(places) - n_below >= size))
    if not len(allowed):
        return None
    nearest = allowed[np.argmin(np.abs(n_below[allowed] - len(places) / 2))]
    below: BoolArray = places <= values[nearest]
    return below
