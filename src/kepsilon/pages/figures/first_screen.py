# SPDX-License-Identifier: Apache-2.0
"""The first screen of the report: one sentence, three marks, and every warning, before any figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from kepsilon.errors import Problem
from kepsilon.evaluate.linking.attackers import Attacker
from kepsilon.pages.figures.groups import group_warnings
from kepsilon.pages.figures.left_out import released_words
from kepsilon.pages.wording import listed, out_of, percent, plural
from kepsilon.predict.kept_columns import ALARM
from kepsilon.predict.verdicts import ABOVE, COARSER, KEPT, NO_LIMIT, USELESS, WITHIN
from kepsilon.publish.record import Record
from kepsilon.rounding import percent_at_most

GOOD, FAIR, BAD, OPEN = "good", "fair", "bad", "open"
SIGNS = {GOOD: "✓", FAIR: "≈", BAD: "✗", OPEN: "?"}
"""What stands beside each mark, so that it is not told by colour alone."""

_MOST_NAMED = 5
_TOLD_ELSEWHERE = re.compile(r"\.(range|domain)$|^averages")
"""Where warnings stand that the page words itself, because some of their counts are below k."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """A warning: what is wrong, and in a fold what stands behind it and what would cure it."""

    short: str
    more: str = ""


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
        useful = "no attribute is useless" + (f", {n_coarser:,} coarser" if n_coarser else "")
    are = "record read is" if record.records.read == 1 else "records read are"
    headline = record.linking_risk.predicted.headline.risk.total
    return (
        f"{released_words(record)} {are} released; the promise is {verdict.promise.state}, "
        f"an attacker links {out_of(headline)} records on average ({_limit_words(record)}"
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
        Part(id="limit", words=f"{_capital(_limit_words(record))}."),
    ]
    surest = surest_attacker(record)
    if surest is not None and surest.largest is not None:
        parts.append(
            Part(
                id="largest-risk",
                words=f"Largest single risk: {percent_at_most(surest.largest)}, to whoever {surest.how}.",
            )
        )
    return Mark(id="mark-risk", state=state, title=title, parts=parts)


def surest_attacker(record: Record) -> Attacker | None:
    """Of the attackers who need to know nothing but the quasis, the one who can be surest of a single record."""
    known = [own for own in record.attackers if own.needs_only_quasis and own.largest is not None]
    return max(known, key=lambda own: own.largest or 0.0, default=None)


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
        ],
    )


def _names(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED:,} more"
    return listed(names) if names else "none"


def warnings(record: Record, problems: Sequence[Problem] = ()) -> Iterator[Warned]:
    """Every warning: those that follow from the record, then those that only the run knew."""
    if record.seeded:
        undo = "undo the order" if record.guarantee.epsilon is None else "take the noise away and undo the order"
        yield Warned(
            short="This release was drawn with a seed: it must not be given to anybody.",
            more=f"Whoever knows or guesses the seed can {undo}: it is for tests only.",
        )
    for own in record.kept_columns.values():
        if own.verdict == ALARM:
            yield Warned(short=f"{_capital('; '.join(own.in_words))}. The policy accepts this.")
    if record.groups is not None:
        for words in group_warnings(record, record.groups):
            yield _divided(words)
    for name, n_classes in record.constant_classes.items():
        if n_classes and record.groups is None:
            yield Warned(
                short=f"In {plural(n_classes, 'class', 'classes')} all records agree on {name}, so that its value is "
                "published there without noise.",
                more="A coarse range would cure this.",
            )
    for name, small in record.small_noise.items():
        if small.classes:
            yield Warned(
                short=f"In {plural(small.classes, 'class', 'classes')} the noise of {name} is small beside its precision.",
                more=f"At least every second value is published as it is, in the worst class {percent(small.likeliest)} of "
                "them. A smaller ε, a wider range or a finer precision would cure this.",
            )
    for name, found in record.outliers.items():
        if found.recoverable:
            yield Warned(
                short=f"In {plural(found.recoverable, 'class', 'classes')} one record's {name} stands out, and the size of the "
                "noise gives it away.",
                more=f"Within {percent(found.within)}, to an attacker who knows all other records of the class and which "
                f"published values are theirs: with a chance of one half or more, at most {percent(found.likeliest)}, "
                "whatever ε is. Declared bounds would cure this.",
            )
    for problem in problems:
        if not _TOLD_ELSEWHERE.search(problem.where):
            first, rest = _first_sentence(problem.what)
            about = PurePath(problem.where).name  # of a file, its name alone
            short = f"{about}: {first}" if about else _capital(first)
            yield Warned(short=short, more=" ".join(filter(None, (rest, problem.fix))))


def _divided(words: str) -> Warned:
    """A warning whose first sentence is shown, and the rest folded."""
    first, rest = _first_sentence(words)
    return Warned(short=_capital(first), more=rest)


def _first_sentence(words: str) -> tuple[str, str]:
    """The first sentence, and the others."""
    first, stop, rest = words.partition(". ")
    return (f"{first}.", rest) if stop else (words, "")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
