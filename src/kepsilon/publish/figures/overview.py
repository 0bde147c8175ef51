# SPDX-License-Identifier: Apache-2.0
"""A release at a glance: the numbers that matter, what to be warned of, all figures in order, how it was made."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.publish.figures.changes import distribution_figure, generalised_figures
from kepsilon.publish.figures.costs import class_size_figures, error_figure, not_given
from kepsilon.publish.figures.figure import Json, Section, Table, Tile, and_more, attributes
from kepsilon.publish.figures.left_out import released_words, suppression_figure
from kepsilon.publish.figures.risks import linking_figures, reidentification_figures
from kepsilon.publish.wording import exact, out_of, percent, plural


def tiles(record: Json) -> Iterator[Tile]:
    guarantee, counts = record["guarantee"], record["records"]
    left_out = counts["read"] - counts["released"]
    share = percent(left_out / counts["read"]) if left_out else "none"
    are = "record read is" if counts["read"] == 1 else "records read are"
    yield Tile(value=released_words(record), meaning=f"{are} released; {share} left out")
    smallest = (record.get("classes") or {}).get("smallest")
    if smallest and attributes(record, "k-quasi"):
        yield Tile(
            value=f"{smallest:,}",
            meaning=f"records share the rarest published combination; promised: {exact(guarantee['k'])}",
        )
    risk = (record.get("linking_risk") or {}).get("expected")
    if risk is not None:
        yield Tile(
            value=out_of(risk),
            meaning="records are linked to the right person, on average, by an attacker who knows every true value",
        )
    yield from and_more(
        [
            Tile(
                value=percent(error["expected_relative"]), meaning=f"is how far {name} is off on average, of its value"
            )
            for name, error in (record.get("error") or {}).items()
            if error.get("expected_relative") is not None
        ]
    )
    loss = ((record.get("loss") or {}).get("precision") or {}).get("overall")
    if loss is not None and attributes(record, "k-quasi"):
        yield Tile(value=percent(loss), meaning="of the detail of the generalised attributes is lost")


def warnings(record: Json) -> Iterator[str]:
    if record.get("seeded"):
        yield (
            "This release was drawn with a seed. Whoever knows or guesses the seed can take the noise away and undo the "
            "order: it is for tests only and must not be given to anybody."
        )
    for name, n_classes in (record.get("constant_classes") or {}).items():
        if n_classes:
            yield (
                f"In {plural(n_classes, 'class', 'classes')} all records agree on {name}, so that its value is published "
                "there without noise. A coarse range would cure this."
            )


def sections(record: Json, pictures: Json) -> Iterator[Section]:
    k = record["guarantee"]["k"]
    generalised = [*generalised_figures(pictures)]
    if generalised:
        yield Section(title="What was generalised", figures=generalised)
    noisy = [distribution_figure(one, k) for one in pictures.get("values") or ()]
    if noisy:
        yield Section(title="What got noise", figures=noisy)
    sizes = [*class_size_figures(record, pictures)]
    if sizes:
        yield Section(title="How many look alike", figures=sizes)
    errors = [error_figure(one, record, k) for one in pictures.get("errors") or ()]
    drawn = {one["name"] for one in pictures.get("errors") or ()}
    undrawn = [words for name in record.get("error") or {} if name not in drawn for words in not_given(name, record)]
    if errors or undrawn:
        yield Section(title="What the noise costs", figures=errors, sentences=undrawn)
    risk = [*linking_figures(record, pictures), *reidentification_figures(record)]
    if risk:
        yield Section(title="What risk is left", figures=risk)
    yield Section(title="Who was left out", figures=[suppression_figure(record)])


def made(record: Json) -> str:
    """By what and when, in a line."""
    said = (f"kepsilon {record.get('kepsilon_version') or ''}".strip(), record.get("created"), record.get("digest"))
    return " · ".join(str(one) for one in said if one)


def making(record: Json) -> Table:
    """How the release was made."""
    policy: Json = record.get("policy") or {}
    seconds = record.get("seconds") or {}
    facts = [
        ("made", record.get("created")),
        ("by", f"kepsilon {record.get('kepsilon_version', '')}".strip()),
        ("engine", record.get("engine")),
        ("algorithm", policy.get("algorithm")),
        ("k", exact(record["guarantee"]["k"])),
        ("ε", exact(record["guarantee"]["epsilon"])),
        ("confidence", record["guarantee"].get("confidence")),
        ("most that may be left out", percent(policy["max_suppression"]) if "max_suppression" in policy else None),
        ("digest of the data file", record.get("digest")),
        ("seconds", f"{sum(seconds.values()):.1f}" if seconds else None),
    ]
    return Table(headers=["", ""], rows=[[name, str(value)] for name, value in facts if value is not None], n_words=2)
