# SPDX-License-Identifier: Apache-2.0
"""Figures of the report about risk: linking by known values, and finding somebody by generalised attributes."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.pictures import Pictures
from kepsilon.pages.charts import Bar, Mark, Segment, Series, Style, bar_chart, line_chart
from kepsilon.pages.charts.axes import percent as axis_percent
from kepsilon.pages.charts.palette import BLUE
from kepsilon.pages.figures.figure import Figure, Table
from kepsilon.pages.wording import exact, give, listed, out_of, percent
from kepsilon.publish.record import Record


def linking_figure(record: Record, pictures: Pictures) -> Figure:
    risk, predicted = record.linking_risk, record.linking_risk.predicted
    expected = predicted.fair.total
    names = listed(record.policy.attributes_with_role("epsilon-quasi"))
    known = f"everybody's true {names}" if names else "everybody's generalised attributes"
    made = ", and so can make the same groups," if record.groups is not None else ""
    spread = give(predicted.fair.standard_error).strip()
    simulated = f" ({spread}, estimated by simulation)" if spread else ""
    left_out = ", before any is left out for confidence" if record.confident_k else ""
    sentences = [
        (
            f"On average an attacker who knows {known}{made} links {out_of(expected)} records to the right person{simulated}, "
            f"without the help of kept columns{left_out}{_guessing(record) if names else ''}."
        )
    ]
    averaged = record.groups is not None
    if names and (not averaged or risk.over_half):
        sentences.append(
            f"An average hides people: this attacker links {percent(risk.over_half)} of the released records with a chance "
            "above one half."
        )
    quasis = [*record.policy.attributes_with_role("k-quasi"), *record.policy.attributes_with_role("epsilon-quasi")]
    sentence = predicted.by_matching_in_words(quasis, averaged=averaged, noisy=bool(names))
    sentences.append(f"{sentence[:1].upper()}{sentence[1:]}." if averaged else f"Whatever was drawn, {sentence}.")
    curve = pictures.risk_by_epsilon
    drawing = None
    epsilon = record.guarantee.epsilon
    if curve and names and epsilon is not None:
        sentences.append(
            "The curve is what this attacker would link had another ε been chosen: a smaller ε hides more, a larger one keeps "
            "values closer."
        )
        drawing = line_chart(
            [Series("", curve, Style(BLUE))],
            title="Linking risk against ε",
            x_label="ε (smaller hides more)",
            y_label="records linked",
            y_words=axis_percent,
            x_log=True,
            mark=Mark(epsilon, expected, f"ε = {exact(epsilon)}: {percent(expected)}"),
        )
    rows = [
        (f"links, expected, per record that {'is averaged' if averaged else 'got noise'}", expected),
        ("standard error of that", predicted.fair.standard_error),
        ("links as drawn, per record released", risk.realised),
        ("the same, expected, every tie a success", predicted.paper_ties.total),
        ("the same, as drawn, every tie a success", risk.realised_paper_ties),
        ("largest chance of one record", risk.largest),
        ("the most it could have been, whatever was drawn", predicted.largest_possible),
        *(
            []
            if averaged
            else [("the most to whoever matches a whole class one to one", predicted.largest_possible_by_matching)]
        ),
        ("released records linked with a chance above 50 %", risk.over_half),
        ("released records linked with a chance above 90 %", risk.over_nine_tenths),
        ("links, expected, per record read", risk.per_original.expected),
        ("links as drawn, per record read", risk.per_original.realised),
        *((f"expected at ε = {exact(a)}", b) for a, b in curve),
    ]
    return Figure(
        title="Linking by known values",
        sentences=sentences,
        drawing=drawing,
        table=Table(headers=["figure", "share"], rows=[[words, percent(share)] for words, share in rows]),
    )


def _guessing(record: Record) -> str:
    """Words for the share of records that guessing links: one in every class, without the values that got noise."""
    if record.persons is not None:
        share = record.reidentification.prosecutor.average
        return f"; naming the person with most records of each class would link {out_of(share)}"
    return f"; guessing within a class would link {out_of(record.classes.count / record.records.released)}"


def outlier_figures(record: Record) -> Iterator[Figure]:
    """What the size of the noise tells about extreme values, where the values of a class set its range."""
    if not record.outliers:
        return
    found = record.outliers.values()
    n_recoverable = sum(one.recoverable for one in found)
    within = percent(next(iter(found)).within)
    sentences = [
        (
            f"The noise of {listed(list(record.outliers))} is as large as the values of a class are spread, so its size tells how "
            "far the outermost value lies from the others, whatever ε is. The figures are for an attacker who knows all other "
            "records of the class and which published values are theirs; rounding and clamping are left aside."
        ),
        f"This attacker works out a value that stands out (no other value of its class is within {within} of it) to within {within}"
        + (
            ", with a chance of one half or more, in the classes below."
            if n_recoverable
            else " in no class with a chance of one half or more."
        ),
    ]
    yield Figure(
        title="Extreme values",
        sentences=sentences,
        drawing=bar_chart(
            [
                Bar(name, [Segment("chance", one.likeliest or 0.0, BLUE)], percent(one.likeliest))
                for name, one in record.outliers.items()
            ],
            title="Chance of working out the most extreme value of a class",
            label="largest chance of any class",
            axis_words=axis_percent,
        ),
        table=Table(
            headers=["attribute", "classes with noise", "with a value that stands out", "worked out", "likeliest"],
            rows=[
                [name, f"{one.classes:,}", f"{one.standing_out:,}", f"{one.recoverable:,}", percent(one.likeliest)]
                for name, one in record.outliers.items()
            ],
        ),
    )


def reidentification_figure(record: Record) -> Figure:
    found = record.reidentification
    easiest = found.prosecutor.highest
    marketer = found.marketer
    attackers = [
        ("prosecutor", "knows that the person is in the data", found.prosecutor),
        ("journalist", "does not know who is in the data", found.journalist),
        ("marketer", "wants as many as possible, not one", None),
    ]
    bars, rows = [], []
    for kind, who, chance in attackers:
        average = marketer if kind == "marketer" else chance.average if chance else None
        if average is None:
            continue
        bars.append(Bar(kind, [Segment("average", average, BLUE)], percent(average)))
        highest, at_highest = (chance.highest, chance.share_at_highest) if chance else (None, None)
        rows.append([kind, who, percent(highest), percent(average), percent(at_highest)])
    return Figure(
        title="Finding somebody by generalised attributes",
        sentences=[
            "The chance of finding a person through the generalised attributes alone, on average, for three attackers: "
            + "; ".join(f"the {kind} {who}" for kind, who, _ in attackers)
            + ". The record that is easiest to find is found with a chance of "
            + (f"1 in {round(1 / easiest):,}." if record.persons is None else f"{percent(easiest)}.")
        ],
        drawing=bar_chart(
            bars, title="Chance of finding a person, by attacker", label="average chance", axis_words=axis_percent
        ),
        table=Table(headers=["attacker", "who", "highest", "average", "records at the highest"], rows=rows, n_words=2),
    )
