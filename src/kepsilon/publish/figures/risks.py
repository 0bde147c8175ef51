# SPDX-License-Identifier: Apache-2.0
"""What risk is left: links by known values, and finding somebody by generalised attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kepsilon.publish.charts import (
    Bar,
    Look,
    Mark,
    Part,
    Series,
    bar_chart,
    line_chart,
)
from kepsilon.publish.charts.axes import percent as axis_percent
from kepsilon.publish.charts.palette import BLUE
from kepsilon.publish.figures.figure import Figure, Json, Table, attributes
from kepsilon.publish.wording import exact, give, listed, out_of, percent


def linking_figures(record: Json, pictures: Json) -> Iterator[Figure]:
    risk: Json = record.get("linking_risk") or {}
    expected = risk.get("expected")
    if expected is None:
        return
    names = listed(list(attributes(record, "epsilon-quasi")))
    known = f"everybody's true {names}" if names else "everybody's generalised attributes"
    spread = give(risk.get("standard_error")).strip()
    simulated = f" ({spread}, estimated by simulation)" if spread else ""
    left_out = ", before any is left out for confidence" if record.get("confident_k") else ""
    sentences = [
        (
            f"On average an attacker who knows {known} links {out_of(expected)} records to the right person{simulated}"
            f"{left_out}{_guessing(record) if names else ''}."
        )
    ]
    over = risk.get("over_half")
    if over is not None and names:
        sentences.append(
            f"An average hides people: {percent(over)} of the released records are linked with a chance above one half."
        )
    curve: Sequence[Sequence[float]] = pictures.get("risk_by_epsilon") or ()
    drawing = None
    if curve and names:
        sentences.append(
            "The curve is the same risk had another ε been chosen: a smaller ε hides more, a larger one keeps values closer."
        )
        epsilon = record["guarantee"]["epsilon"]
        drawing = line_chart(
            [Series("", [(float(a), float(b)) for a, b in curve], Look(BLUE))],
            title="Linking risk against ε",
            x_label="ε (smaller hides more)",
            y_label="records linked",
            y_words=axis_percent,
            x_log=True,
            mark=Mark(epsilon, expected, f"ε = {exact(epsilon)}: {percent(expected)}"),
        )
    rows = [[words, percent(risk[key])] for key, words in _RISKS.items() if risk.get(key) is not None]
    for key, words in (
        ("expected", "links, expected, per record read"),
        ("realised", "links as drawn, per record read"),
    ):
        if (risk.get("per_original") or {}).get(key) is not None:
            rows.append([words, percent(risk["per_original"][key])])
    rows += [[f"expected at ε = {exact(a)}", percent(b)] for a, b in curve]
    yield Figure(
        title="Linking by known values",
        sentences=sentences,
        drawing=drawing,
        table=Table(headers=["figure", "share"], rows=rows),
    )


_RISKS = {
    "expected": "links, expected, per record that got noise",
    "standard_error": "standard error of that",
    "realised": "links as drawn, per record released",
    "expected_paper_ties": "the same, expected, every tie a success",
    "realised_paper_ties": "the same, as drawn, every tie a success",
    "largest": "largest chance of one record",
    "over_half": "released records linked with a chance above 50 %",
    "over_nine_tenths": "released records linked with a chance above 90 %",
}


def _guessing(record: Json) -> str:
    """One right guess in every class: what is linked without looking at the values that got noise."""
    n_classes, released = (record.get("classes") or {}).get("count"), record["records"]["released"]
    return f"; guessing within a class would link {out_of(n_classes / released)}" if n_classes and released else ""


def reidentification_figures(record: Json) -> Iterator[Figure]:
    found: Json = record.get("reidentification") or {}
    kinds = {
        "prosecutor": "knows that the person is in the data",
        "journalist": "does not know who is in the data",
        "marketer": "wants as many as possible, not one",
    }
    bars, rows = [], []
    for kind, who in kinds.items():
        figures = found.get(kind)
        if figures is None:
            continue
        figures = figures if isinstance(figures, Mapping) else {"average": figures}
        average = figures.get("average")
        if average is not None:
            bars.append(Bar(kind, [Part("average", average, BLUE)], percent(average)))
        at_highest = figures.get("share_at_highest")
        rows.append([kind, who, percent(figures.get("highest")), percent(average), percent(at_highest)])
    if not rows:
        return
    highest = (found.get("prosecutor") or {}).get("highest")
    worst = (
        f" The record that is easiest to find is found with a chance of 1 in {round(1 / highest):,}." if highest else ""
    )
    yield Figure(
        title="Finding somebody by generalised attributes",
        sentences=[
            "The chance of finding a person through the generalised attributes alone, on average, for three attackers: "
            + "; ".join(f"the {kind} {who}" for kind, who in kinds.items())
            + f".{worst}"
        ],
        drawing=bar_chart(
            bars, title="Chance of finding a person, by attacker", label="average chance", axis_words=axis_percent
        )
        if bars
        else None,
        table=Table(headers=["attacker", "who", "highest", "average", "records at the highest"], rows=rows, n_words=2),
    )
