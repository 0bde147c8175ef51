# SPDX-License-Identifier: Apache-2.0
"""What of the statistics of all ε-quasis may be used, as one sentence for the top of a report or a screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kepsilon.evaluate.survival.figures import Compared, Relation, Survival
from kepsilon.rounding import number, told_apart

_MOST_NAMED = 6
"""Statistics of each kind that the sentence names; a table names them all."""


def survival_in_words(survives: Mapping[str, Survival]) -> str | None:
    """Which statistics an analyst may use, and which not, with how far they are off; None where there is none."""
    may = list(_usable(survives))
    not_ = list(_unusable(survives))
    if not may and not not_:
        return None
    words = f"An analyst may use: {_listed(may)}." if may else "An analyst may use none of the statistics compared."
    return f"{words} Not: {_listed(not_)}." if not_ else words


def _usable(survives: Mapping[str, Survival]) -> Iterator[str]:
    for what, names in (
        ("mean", [name for name, own in survives.items() if own.mean.usable]),
        ("spread", [name for name, own in survives.items() if own.spread.usable]),
        ("quantiles", [name for name, own in survives.items() if own.quantiles.usable]),
    ):
        if names:
            yield f"the {what} of {_names(names)}"
    names = [name for name, own in survives.items() if own.error.usable]
    if names:
        yield f"single values of {_names(names)}"
    for name, own in survives.items():
        others = [other for other, relation in _once(survives, name, own) if _both(relation)]
        if others:
            yield f"how {name} goes with {_names(others)}"


def _unusable(survives: Mapping[str, Survival]) -> Iterator[str]:
    for name, own in survives.items():
        if own.mean.usable is False:
            yield f"the mean of {name} ({_instead(own.mean)})"
        if own.spread.usable is False:
            yield f"the spread of {name} ({_times(own.spread)})"
        wrong = [percent for percent, one in own.quantiles.by_percent.items() if one.usable is False]
        if wrong:
            which = "the" if len(wrong) == len(own.quantiles.by_percent) else f"the {_names(wrong)} %"
            yield f"{which} quantile{'s' * (len(wrong) > 1)} of {name}"
        if own.error.usable is False and own.error.expected is not None:
            constant = number(own.error_of_best_constant.absolute or 0.0)
            yield f"single values of {name} (off by {number(own.error.expected)}; one constant per class by {constant})"
    for name, own in survives.items():
        for other, relation in _once(survives, name, own):
            if relation.slope.usable is False:
                yield f"the slope of {other} on {name} ({_instead(relation.slope)})"
            elif relation.correlation.usable is False:
                yield f"the correlation of {name} with {other} ({_instead(relation.correlation)})"


def _once(survives: Mapping[str, Survival], name: str, own: Survival) -> Iterator[tuple[str, Relation]]:
    """The relations of an ε-quasi; those with another ε-quasi only at the first of the two."""
    names = list(survives)
    for other, relation in own.relations.items():
        if other not in survives or names.index(name) < names.index(other):
            yield other, relation


def _both(relation: Relation) -> bool:
    return bool(relation.correlation.usable and relation.slope.usable)


def _instead(one: Compared) -> str:
    if one.after is None or one.before is None:
        return "undefined after"
    after, before = told_apart(one.after, one.before)
    return f"{after} instead of {before}"


def _times(one: Compared) -> str:
    if one.after is None or not one.before:
        return _instead(one)
    return f"{number(one.after / one.before)} times what it was"


def _listed(parts: Sequence[str]) -> str:
    """Parts with semicolons between them, because names in them have commas; the last one says how many are not named."""
    shown = list(parts[:_MOST_NAMED])
    if len(parts) > len(shown):
        shown.append(f"and {len(parts) - len(shown):,} more")
    return "; ".join(shown)


def _names(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMED])
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown):,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
