# SPDX-License-Identifier: Apache-2.0
"""Figures of the report about class sizes and about the error that noise causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kepsilon.evaluate.error.error_curves import ErrorPicture
from kepsilon.evaluate.pictures import Pictures
from kepsilon.pages.charts import Bar, Segment, Series, Style, bar_chart, line_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE, GREEN, GREY, VERMILLION
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import counted_by_value, number, percent, plural
from kepsilon.publish.record import Record


def class_size_figures(record: Record, pictures: Pictures) -> Iterator[Figure]:
    sizes = pictures.class_sizes
    if not sizes:
        return
    names = [
        f"{one.smallest:,}–{one.largest:,}" if one.largest > one.smallest else f"{one.smallest:,}" for one in sizes
    ]
    mean = f" The average class has {number(record.classes.mean)}."
    among = f"{record.guarantee.k} records that look"
    if record.persons is not None:
        among = f"{record.guarantee.k} persons whose records look"
        mean = f" The average class has {number(record.classes.mean)} records."
    yield Figure(
        title="Class sizes",
        sentences=[
            (
                f"Everybody hides among at least {among} the same in all generalised "
                f"attributes.{mean} The longer the lower bars, the more records are in a larger class than promised."
            )
        ],
        drawing=bar_chart(
            [
                Bar(
                    name,
                    [Segment("records", one.n_records, BLUE)],
                    f"{one.n_records:,} in {plural(one.n_classes, 'class', 'classes')}",
                )
                for name, one in zip(names, sizes, strict=True)
            ],
            title="Records by the size of their class",
            label="records in classes of this size",
        ),
        table=Table(
            headers=["records in the class", "classes", "records"],
            rows=[[n, f"{one.n_classes:,}", f"{one.n_records:,}"] for n, one in zip(names, sizes, strict=True)],
        ),
    )


@dataclass(frozen=True, slots=True)
class _Curve:
    """Shares of records within each error. Drawn noise is shown as dots where it lies on the line of the expected."""

    words: str
    shares: Sequence[float | None]
    style: Style
    is_drawn: bool = False

    def points(self, at: Sequence[float]) -> list[tuple[float, float]]:
        step = 3 if self.is_drawn else 1
        return [(t, y) for t, y in list(zip(at, self.shares, strict=True))[::step] if y is not None]


def error_figure(picture: ErrorPicture, record: Record) -> Figure:
    name, at = picture.name, picture.at
    curves = [_Curve("as published", picture.realised, Style(BLUE))]
    if picture.per_class is not None and picture.whole_dataset is not None and picture.uniform is not None:
        curves = [
            _Curve("noise per class, expected", picture.per_class, Style(BLUE)),
            _Curve("noise for the whole dataset", picture.whole_dataset, Style(VERMILLION, "7 3")),
            _Curve("uniform noise of ±5 %", picture.uniform, Style(GREY, "2 2")),
            _Curve("noise per class, as drawn", picture.realised, Style(GREEN), is_drawn=True),
        ]
    error = record.error[name]
    expected = error.predicted.expected_relative
    sentences = [*not_given(name, record)]
    if expected is not None:
        same = error.predicted.uniform_equivalent if record.groups is None else None
        cost = f", as much as uniform noise of ±{percent(same)} would cost" if same is not None else ""
        is_drawn = record.guarantee.epsilon is not None or record.policy.spreads
        came = error.realised_relative if is_drawn else None
        came_out = f" ({percent(came)} in the values that were drawn)" if came is not None else ""
        sentences.append(f"On average {name} is off by {percent(expected)} of its value{came_out}{cost}.")
    sentences.append(
        f"The {'curves tell' if len(curves) > 1 else 'curve tells'} which share of records is off by no more than the error "
        "below: higher and further left is better."
    )
    if picture.n_zeros != 0:
        n_zeros = "some" if picture.n_zeros is None else counted_by_value(picture.n_zeros, record.guarantee.k)
        are = "record is" if n_zeros == "1" else "records are"
        sentences.append(f"A value of 0 has no relative error: {n_zeros} {are} not in the curves.")
    if picture.n_sampled < picture.n_records:
        # Rounded, because the exact number would tell how many of all records have a value of 0.
        n_records = float(f"{picture.n_records:.2g}")
        sentences.append(f"Drawn from {picture.n_sampled:,} of about {n_records:,.0f} records, chosen at random.")
    every = range(0, len(at), 5)
    return Figure(
        title=f"Error of {name}",
        sentences=sentences,
        drawing=line_chart(
            [
                Series(
                    one.words if len(curves) > 1 else "",
                    one.points(at),
                    one.style,
                    has_dots=one.is_drawn,
                    has_line=not one.is_drawn,
                )
                for one in curves
            ],
            title=f"Share of records within an error of {name}",
            x_label="relative error, at most",
            y_label="share of records",
            x_words=axis_percent,
            y_words=axis_percent,
            x_reach=(0, at[-1]),
            y_holds=[1],
        ),
        table=Table(
            headers=["error at most", *(one.words for one in curves)],
            rows=[[axis_percent(float(f"{at[i]:.3g}")), *(percent(one.shares[i]) for one in curves)] for i in every],
        ),
    )


def not_given(name: str, record: Record) -> Iterator[str]:
    """A sentence that says why the error of an ε-quasi is missing, if it is."""
    if record.error[name].predicted.expected_relative is None:
        k = record.guarantee.k
        yield f"The mean error of {name} is not given: fewer than {k} records have a relative error."
