# SPDX-License-Identifier: Apache-2.0
"""The first screen of the report: one sentence and three marks, before any figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from kepsilon.evaluate.linking.attackers import WORKING_OUT
from kepsilon.pages.figures.left_out import released_words
from kepsilon.pages.wording import capital, listed, percent, plural
from kepsilon.predict.verdicts import ABOVE, COARSER, KEPT, NO_LIMIT, USELESS, WITHIN
from kepsilon.publish.record import Record
from kepsilon.rounding import percent_at_most

GOOD, FAIR, BAD, OPEN = "good", "fair", "bad", "open"
SIGNS = {GOOD: "✓", FAIR: "≈", BAD: "✗", OPEN: "?"}
"""What stands beside each mark, so that it is not told by colour alone."""

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A sentence of a mark, which has a name of its own in the page."""

    id: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One of the three marks."""

    id: str
    state: str
    title: str
    """What is marked, and how, in a few words."""
    parts: Sequence[Part]

    @property
    def sign(self) -> str:
        return SIGNS[self.state]


def marks(record: Record) -> list[Mark]:
    """Promise, risk and usefulness, as the record judges them."""
    return [_promise(record), _risk(record), _usefulness(record)]


def sentence(record: Record) -> str:
    """The release in one sentence."""
    verdict = record.verdict
    n_useless, n_coarser = len(_judged(record, USELESS)), len(_judged(record, COARSER))
    if n_useless:
        useful = f"{plural(n_useless, 'attribute is', 'attributes are')} useless"
    else:
        useful = "no attribute is useless"
        if n_coarser:
            useful += f" ({plural(n_coarser, 'is', 'are')} coarser)"
    are = "record read is" if record.records.read == 1 else "records read are"
    headline = record.linking_risk.predicted.headline.risk.total
    return (
        f"{released_words(record)} {are} released; the promise is {verdict.promise.state}, "
        f"an attacker links {percent(headline)} of the records on average ({_limit_words(record)}"
        f"{', exceeded' if verdict.risk.state == ABOVE else ''}), and {useful}."
    )


def _promise(record: Record) -> Mark:
    found = record.verdict.promise
    return Mark(
        id="mark-promise",
        state=GOOD if found.state == KEPT else BAD,
        title=f"Promise {found.state}",
        parts=[Part(id="promise-verdict", words=found.sentence)],
    )


_RISKS = {
    WITHIN: (GOOD, "Risk within the limit"),
    ABOVE: (BAD, "Risk above the limit"),
    NO_LIMIT: (OPEN, "Risk: no limit stated"),
}
"""The mark and its title, by what the record says of the risk."""


def _risk(record: Record) -> Mark:
    headline = record.linking_risk.predicted.headline
    state, title = _RISKS[record.verdict.risk.state]
    parts = [
        Part(
            id="headline",
            words=f"{percent(headline.risk.total)} of the records are linked to the right person, on average, by "
            f"{headline.attacker}.",
        ),
        Part(id="limit", words=f"{capital(_limit_words(record))}."),
    ]
    risks = [f"at most {percent_at_most(share)} for whoever {how}" for share, how in surest_attackers(record)]
    if risks:
        parts.append(Part(id="largest-risk", words=f"Largest single risk: {'; '.join(risks)}."))
    return Mark(id="mark-risk", state=state, title=title, parts=parts)


def surest_attackers(record: Record) -> list[tuple[float, str]]:
    """How sure of a single record they can be who need to know nothing but the quasis, and how each of them links.

    First whoever uses no kept column, who is the one that `max_individual_risk` limits; then whoever works one out, where
    that makes somebody surer.
    """
    known = [(own.largest, own) for own in record.attackers if own.needs_only_quasis and own.largest is not None]
    found: list[tuple[float, str]] = []
    for uses_column in (False, True):
        possible = [pair for pair in reversed(known) if (pair[1].name == WORKING_OUT) is uses_column]
        if possible:
            share, own = max(possible, key=itemgetter(0))  # of those alike, the one who knows most
            if not found or share > found[0][0]:
                found.append((share, own.how))
    return found


def max_risk(record: Record) -> float | None:
    """The policy's limit on the headline; None where it states none."""
    limit = record.policy.document.get("max_risk")
    return None if limit is None else float(limit)


def _limit_words(record: Record) -> str:
    limit = max_risk(record)
    return "no limit stated" if limit is None else f"limit {percent(limit)}"


def _judged(record: Record, verdict: str) -> list[str]:
    """Names of the attributes with this verdict."""
    return [name for name, own in record.verdicts.items() if own.verdict == verdict]


_USES = {
    KEPT: (GOOD, "Useful: all attributes kept"),
    COARSER: (FAIR, "Useful, in parts coarser"),
    USELESS: (BAD, "Not useful throughout"),
}
"""The mark and its title, by the worst verdict on an attribute."""


def _usefulness(record: Record) -> Mark:
    state, title = _USES[record.verdict.usefulness.state]
    useless, coarser = _judged(record, USELESS), _judged(record, COARSER)
    return Mark(
        id="mark-usefulness",
        state=state,
        title=title,
        parts=[
            Part(id="useless", words=f"Useless: {_names(useless)}."),
            Part(id="coarser", words=f"Coarser: {_names(coarser)}."),
            Part(id="lost", words=f"{capital(_left_out_words(record))}."),
        ],
    )


def _left_out_words(record: Record) -> str:
    """How many records the release lacks, as a share of those read."""
    counts = record.records
    n = counts.read - counts.released
    return f"{percent(n / counts.read)} of the records are left out" if n else "no record is left out"


def _names(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED:,} more"
    return listed(names) if names else "none"
