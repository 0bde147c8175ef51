# SPDX-License-Identifier: Apache-2.0
"""Figures of the report about which statistics of ε-quasis survive, and may be used."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.survival.figures import PERCENTS, Compared, Survival
from kepsilon.evaluate.survival.words import survival_in_words
from kepsilon.pages.charts import Box, SlopePanel, before_after
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import NOTHING, percent
from kepsilon.publish.record import Record
from kepsilon.rounding import number, told_apart

RULES = (
    "A mean or quantile may be used if it is off by no more than a tenth of the spread before, a spread if it is off by no "
    "more than a tenth, a correlation by no more than 0.05, and a slope by no more than a tenth or its standard error before; "
    "single values if they are off by less than one constant per class would be. "
    "“Before” is over all records that were counted, those left out included."
)

_MOST_PANELS = 6
"""Relations that are drawn; the table has all of them."""
_MOST_RELATED = 3
"""Relations that a line of the summary names."""


def survival_table(record: Record) -> Table | None:
    """What an analyst may use of each ε-quasi, one line for each; None where there is none."""
    if not record.survives:
        return None
    rows = []
    for name, own in record.survives.items():
        related = [
            f"{other} ({'yes' if one.slope.usable and one.correlation.usable else 'no'})"
            for other, one in own.relations.items()
            if one.slope.usable is not None and one.correlation.usable is not None
        ]
        more = f" and {len(related) - _MOST_RELATED:,} more" if len(related) > _MOST_RELATED else ""
        rows.append(
            [
                name,
                _change(own.mean),
                _change(own.spread),
                _used(own.quantiles.usable),
                _used(own.error.usable),
                (", ".join(related[:_MOST_RELATED]) + more) or NOTHING,
            ]
        )
    headers = ["", "mean", "spread", "quantiles", "single values", "how it goes with"]
    return Table(headers=headers, rows=rows, n_words=6)


def _change(one: Compared) -> str:
    """Whether a statistic may be used, with its figures before and after."""
    if one.before is None or one.after is None:
        return _used(one.usable)
    return f"{_used(one.usable)}: {number(one.before)} → {number(one.after)}"


def survival_figures(record: Record) -> Iterator[Figure]:
    """A figure for each ε-quasi."""
    for name, own in record.survives.items():
        yield _figure(name, own)


def _figure(name: str, own: Survival) -> Figure:
    words = survival_in_words({name: own})
    sentences = [] if words is None else [words]
    sentences += [*_about_single_values(name, own)]
    measured = {own.measured_on, own.quantiles.measured_on, *(one.measured_on for one in own.relations.values())}
    sentences += [f"Measured on {one}." for one in sorted(filter(None, measured))]
    unknown = Compared(before=None, after=None, usable=None)
    quantiles = [own.quantiles.by_percent.get(str(percent), unknown) for percent in PERCENTS]
    boxes = [
        Box(name="before", quantiles=[one.before for one in quantiles], mean=own.mean.before),
        Box(name="published", quantiles=[one.after for one in quantiles], mean=own.mean.after),
    ]
    drawn = None
    if all(box.numbers for box in boxes):
        drawn = before_after(boxes, [*_panels(own)], title=f"{name} before and as published", x_label=name)
    return Figure(title=f"Statistics of {name}", sentences=sentences, drawing=drawn, table=_table(name, own))


def _about_single_values(name: str, own: Survival) -> Iterator[str]:
    error, constant = own.error, own.error_of_best_constant.absolute
    if error.expected is None or constant is None:
        return
    as_drawn = "" if error.realised is None else f" ({number(error.realised)} as drawn)"
    yield (
        f"A single value is off by {number(error.expected)} on average{as_drawn}, in the units of {name}; one constant per "
        f"class, its median, would be off by {number(constant)}."
    )


def _panels(own: Survival) -> Iterator[SlopePanel]:
    """A panel for each of the first relations that have a slope; the strongest before come first."""
    defined = [
        (other, one, one.correlation.before, one.slope.before, one.slope.after)
        for other, one in own.relations.items()
        if one.correlation.before and one.slope.before and one.slope.after is not None
    ]
    defined.sort(key=lambda row: -abs(row[2] or 0.0))
    for other, one, correlation, before, after in defined[:_MOST_PANELS]:
        if correlation is None or before is None or after is None:
            continue
        yield SlopePanel(
            name=other,
            before=correlation,
            after=correlation * after / before,
            words=" → ".join(told_apart(before, after)),
            verdict="may be used" if one.slope.usable else "not to be used",
        )


def _table(name: str, own: Survival) -> Table:
    rows = [_row("mean", own.mean), _row("spread (standard deviation)", own.spread)]
    rows += [_row(f"{share} % quantile", one) for share, one in own.quantiles.by_percent.items()]
    follows = own.correlation
    rows.append(
        ["correlation with the true value inside classes", "1", _number(follows.inside_classes), _used(follows.usable)]
    )
    rows.append(["error of a single value, expected", "0", _number(own.error.expected), _used(own.error.usable)])
    rows.append(["error of a single value, as drawn", "0", _number(own.error.realised), ""])
    constant = own.error_of_best_constant
    relative = "" if constant.relative is None else f" ({percent(constant.relative)} of the value)"
    rows.append([f"error of the best constant per class{relative}", "0", _number(constant.absolute), ""])
    for other, one in own.relations.items():
        rows.append(_row(f"correlation with {other}", one.correlation))
        rows.append(_row(f"slope of {other} on {name}", one.slope))
    return Table(headers=["", "before", "published", "may be used"], rows=rows)


def _row(words: str, one: Compared) -> list[str]:
    return [words, _number(one.before), _number(one.after), _used(one.usable)]


def _number(figure: float | None) -> str:
    """A figure with three digits: with all of them, a quantile would be the value of a record."""
    return number(figure)


def _used(usable: bool | None) -> str:
    return NOTHING if usable is None else "yes" if usable else "no"
