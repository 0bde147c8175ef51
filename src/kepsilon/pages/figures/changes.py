# SPDX-License-Identifier: Apache-2.0
"""Figures of the report about what became of each attribute: levels of k-quasis, distributions of ε-quasis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kepsilon.evaluate.pictures import KQuasiPicture, Pictures, ValuePicture
from kepsilon.pages.charts import Ladder, histogram_pair, level_ladders
from kepsilon.pages.charts.axes import plain
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import exact, listed, percent, plural
from kepsilon.publish.record import Record


def generalised_figures(pictures: Pictures) -> Iterator[Figure]:
    quasis = pictures.k_quasis
    if any(quasi.level is not None for quasi in quasis):
        yield _by_level(quasis)
    elif quasis:
        yield _by_class(quasis)


def _by_level(quasis: Sequence[KQuasiPicture]) -> Figure:
    """The figure for an algorithm that publishes a whole column at one level."""
    exactly = [quasi.name for quasi in quasis if quasi.level == 0]
    are = "are published as they are" if len(exactly) > 1 else "is published as it is"
    if not exactly:
        became = "Each of them was replaced by a coarser label for the whole column."
    elif len(exactly) == len(quasis):
        became = f"None of them had to be made coarser: {listed(exactly)} {are}."
    else:
        became = f"{listed(exactly)} {are}; the others were replaced by coarser labels, each for the whole column."
    return Figure(
        title="Generalised attributes",
        sentences=[
            became,
            "The filled dot is the level that was chosen: far left is the exact value, far right the coarsest label.",
        ],
        drawing=level_ladders(
            [Ladder(quasi.name, quasi.n_levels, quasi.level, quasi.loss, _ladder_words(quasi)) for quasi in quasis],
            title="Levels of the generalised attributes",
        ),
        table=Table(
            headers=["attribute", "level", "values before", "labels after", "detail lost", "bits lost"],
            rows=[
                [
                    quasi.name,
                    "–" if quasi.level is None else f"{quasi.level} of {quasi.n_levels - 1}",
                    f"{quasi.n_values_before:,}",
                    f"{quasi.n_labels_after:,}",
                    percent(quasi.loss),
                    percent(quasi.bits_lost),
                ]
                for quasi in quasis
            ],
        ),
    )


def _ladder_words(quasi: KQuasiPicture) -> str:
    if quasi.level == 0:
        return "published as it is"
    return f"{quasi.n_values_before:,} → {plural(quasi.n_labels_after, 'label')}"


def _by_class(quasis: Sequence[KQuasiPicture]) -> Figure:
    """The figure for an algorithm that gives every class its own labels.

    Such labels overlap, so there may be more labels than there were values; the number of values is not shown.
    """
    return Figure(
        title="Generalised attributes",
        sentences=[
            "Every class got labels of its own: finer where many records are alike, coarser where they are few.",
            "The bar is the share of detail lost: full is one label for everybody.",
        ],
        drawing=level_ladders(
            [
                Ladder(quasi.name, quasi.n_levels, None, quasi.loss, plural(quasi.n_labels_after, "different label"))
                for quasi in quasis
            ],
            title="Detail lost by attribute",
        ),
        table=Table(
            headers=["attribute", "different labels", "detail lost", "bits lost"],
            rows=[
                [quasi.name, f"{quasi.n_labels_after:,}", percent(quasi.loss), percent(quasi.bits_lost)]
                for quasi in quasis
            ],
        ),
    )


def distribution_figure(picture: ValuePicture, k: int, *, averaged: bool = False) -> Figure:
    name, edges = picture.name, picture.edges
    bins = zip(_bin_names(edges), picture.before, picture.after, strict=True)
    rows = [[bin_name, *("not shown" if n is None else f"{n:,}" for n in pair)] for bin_name, *pair in bins]
    drawing = None
    if len(edges) > 1:
        drawing = histogram_pair(
            edges,
            picture.before,
            picture.after,
            title=f"Distribution of {name} before and as published",
            x_label=name,
        )
    return Figure(
        title=name,
        sentences=[
            (
                f"How {name} is spread {'in the data' if averaged else 'before noise'} (line) and as published (filled): the "
                f"closer the two, the less a statistic of it changes. Cells of fewer than {k} records, and sometimes one more "
                "so that they cannot be worked out, are not shown; ‹ and › hold everything beyond."
            )
        ],
        drawing=drawing,
        table=Table(headers=[name, "records before", "records published"], rows=rows),
    )


def _bin_names(edges: Sequence[float]) -> list[str]:
    if not edges:
        return ["all"]
    inner = [f"{plain(a)} to under {plain(b)}" for a, b in pairwise(edges)]
    return [f"under {plain(edges[0])}", *inner, f"{plain(edges[-1])} and more"]


def protected_words(record: Record, name: str) -> str:
    """What was done to an ε-quasi: noise, averages, or both."""
    how = record.guarantee.ranges.get(name)
    epsilon = f"{exact(record.guarantee.epsilon)}{record.policy.share_of_epsilon}"
    noise = "" if how is None else f"noise, ε = {epsilon}, range: {how}"
    if record.groups is None:
        return noise
    of = "records" if record.persons is None else "persons"
    words = f"averaged with its neighbours, at least {exact(record.groups.asked)} {of} or the whole class"
    if record.policy.spreads:
        words += ", with a draw around the average"
    return f"{words}; the sums have {noise}" if noise else words


def generalised_words(quasi: KQuasiPicture | None, level: int | None) -> str:
    """What was done to a k-quasi; without a level for the whole column, every class has labels of its own."""
    if level is None:
        return "generalised"
    of = f" of {quasi.n_levels - 1}" if quasi else ""
    return f"generalised to level {level}{of}" if level else f"published as it is (level 0{of})"
