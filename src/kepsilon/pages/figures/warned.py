# SPDX-License-Identifier: Apache-2.0
"""Every warning of a release, for the first screen of its report; what is alike of several columns is said once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from kepsilon.errors import Problem
from kepsilon.pages.figures.groups import group_warnings
from kepsilon.pages.wording import capital, listed, percent, plural
from kepsilon.predict.kept_columns import ALARM
from kepsilon.publish.record import Record

_MOST_NAMED = 12
_TOLD_ELSEWHERE = re.compile(r"\.(range|domain)$|^averages")
_COUNTED = re.compile(r"(in )?[\d,]+ of [\d,]+ ")
"""Where warnings stand, and how they begin, that the page words itself, because some of their counts are below k."""
_ACCEPTED_LEAK = "gives people away, which the policy accepts"
"""How a warning begins that the record tells too."""
_OF_THE_POLICY = ("attributes.", 'column "')
"""How the place of a warning begins where it is no file; names of columns may look like paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """A warning: what is wrong, and in a fold what stands behind it and what would cure it, in paragraphs."""

    short: str
    more: Sequence[str] = ()


_ALIKE = tuple(
    (re.compile(pattern, flags=re.DOTALL), words)
    for pattern, words in (
        (
            r"In (?P<n>[\d,]+ class(?:es)?) all records agree on (?P<name>.+), so that its value is published",
            "In some classes all records agree on a value, so that it is published there without noise",
        ),
        (
            r"In (?P<n>[\d,]+ class(?:es)?) the noise of (?P<name>.+) is small beside its precision",
            "In some classes the noise is small beside the precision",
        ),
        (
            r"In (?P<n>[\d,]+ class(?:es)?) one record's (?P<name>.+) stands out, and the size of the noise",
            "In some classes one record's value stands out, and the size of the noise gives it away",
        ),
        (
            r"In (?P<n>[\d,]+ groups?) all records agree on (?P<name>.+), so that their average is",
            "In some groups all records agree on a value, so that their average is everybody's own value",
        ),
        (
            r"In (?P<n>[\d,]+ groups?) one record's (?P<name>.+) stands out, and the average",
            "In some groups one record's value stands out, and the average gives it away to whoever roughly knows the others",
        ),
        (
            r"attributes\.(?P<name>.+)\.accept_leak: is stated, but nothing was found",
            "accept_leak is stated, but nothing was found that these columns give away",
        ),
        (
            r"attributes\.(?P<name>.+)\.accept_useless: is stated, but the attribute is (?P<n>\w+):",
            "accept_useless is stated, but these attributes are not useless",
        ),
        (r"attributes\.(?P<name>.+): is useless, which the policy accepts", "Useless, which the policy accepts"),
        (
            r'column "(?P<name>.+)": whoever knows the (?:class|group) of a person knows .+ too for (?P<n>\S+ ?%)',
            "Whoever knows the class or group of a person knows a sensitive value too, for this share of the records",
        ),
        (
            r'column "(?P<name>.+)": whoever knows .+ works out what .+ must be, and links (?P<n>\S+ ?%)',
            (
                "Whoever knows the quasi-identifiers works out what a kept column must be, and links this share of the records "
                "through it"
            ),
        ),
    )
)
"""Warnings that may be about many columns: how each of them begins, and how all of them are said at once."""


def warnings(record: Record, problems: Sequence[Problem] = ()) -> list[Warned]:
    """Every warning: those that follow from the record, then those that only the run knew."""
    return _gathered([*_of_record(record), *_of_run(problems)])


def _gathered(found: Iterable[Warned]) -> list[Warned]:
    """The warnings, in order; several of one kind are one, which names their columns, with all of them in its fold."""
    kinds: dict[str, list[tuple[str, Warned]]] = {}
    for one in found:
        kind, about = _kind(one)
        kinds.setdefault(kind, []).append((about, one))
    gathered = []
    for kind, alike in kinds.items():
        if len(alike) == 1:
            gathered.append(alike[0][1])
            continue
        more = [*(one.short for _, one in alike), *dict.fromkeys(words for _, one in alike for words in one.more)]
        gathered.append(Warned(short=f"{kind}: {_names([about for about, _ in alike])}.", more=more))
    return gathered


def _kind(one: Warned) -> tuple[str, str]:
    """The words for all warnings of its kind, and which column it is about; a warning of no kind is its own."""
    for pattern, words in _ALIKE:
        fits = pattern.match(one.short)
        if fits:
            n = fits.groupdict().get("n")
            return words, f"{fits['name']} ({n})" if n else fits["name"]
    return one.short, ""


def _names(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED:,} more"
    return listed(names)


def _of_record(record: Record) -> Iterator[Warned]:
    if record.seeded:
        undo = "undo the order" if record.guarantee.epsilon is None else "take the noise away and undo the order"
        yield Warned(
            short="This release was drawn with a seed: it must not be given to anybody.",
            more=[f"Whoever knows or guesses the seed can {undo}: it is for tests only."],
        )
    for own in record.kept_columns.values():
        if own.verdict == ALARM:
            yield Warned(short=f"{capital('; '.join(own.in_words))}. The policy accepts this.")
    if record.groups is not None:
        for words in group_warnings(record, record.groups):
            first, rest = _first_sentence(words)
            yield Warned(short=capital(first), more=[rest] if rest else [])
    for name, n_classes in record.constant_classes.items():
        if n_classes and record.groups is None:
            yield Warned(
                short=f"In {plural(n_classes, 'class', 'classes')} all records agree on {name}, so that its value is "
                "published there without noise.",
                more=["A coarse range would cure this."],
            )
    for name, small in record.small_noise.items():
        if small.classes:
            yield Warned(
                short=f"In {plural(small.classes, 'class', 'classes')} the noise of {name} is small beside its precision.",
                more=[
                    (
                        f"{name}: at least every second value is published as it is, in the worst class "
                        f"{percent(small.likeliest)} of them. A smaller ε, a wider range or a finer precision would cure this."
                    )
                ],
            )
    for name, found in record.outliers.items():
        if found.recoverable:
            yield Warned(
                short=f"In {plural(found.recoverable, 'class', 'classes')} one record's {name} stands out, and the size of the "
                "noise gives it away.",
                more=[
                    (
                        f"{name}: within {percent(found.within)}, to an attacker who knows all other records of the class and "
                        f"which published values are theirs: with a chance of one half or more, at most "
                        f"{percent(found.likeliest)}, whatever ε is. Declared bounds would cure this."
                    )
                ],
            )


def _of_run(problems: Sequence[Problem]) -> Iterator[Warned]:
    for problem in problems:
        is_counted = _TOLD_ELSEWHERE.search(problem.where) and _COUNTED.match(problem.what)
        if is_counted or problem.what.startswith(_ACCEPTED_LEAK):
            continue
        first, rest = _first_sentence(problem.what)
        place = problem.where
        about = place if place.startswith(_OF_THE_POLICY) else PurePath(place).name  # of a file, its name alone
        short = f"{about}: {first}" if about else capital(first)
        yield Warned(short=short, more=[words for words in (rest, problem.fix) if words])


def _first_sentence(words: str) -> tuple[str, str]:
    """The first sentence, and the others."""
    first, stop, rest = words.partition(". ")
    return (f"{first}.", rest) if stop else (words, "")
