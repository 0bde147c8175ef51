# SPDX-License-Identifier: Apache-2.0
"""What the report consists of: tiles with the main numbers, warnings, all figures in order, and how it was made."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.pictures import Pictures
from kepsilon.pages.figures.attackers import attackers_figure, kept_columns_figures
from kepsilon.pages.figures.changes import distribution_figure, generalised_figures
from kepsilon.pages.figures.costs import class_size_figures, error_figure, not_given
from kepsilon.pages.figures.figure import Section, Table, Tile, and_more
from kepsilon.pages.figures.groups import group_figures, group_warnings
from kepsilon.pages.figures.labels import label_figures
from kepsilon.pages.figures.left_out import released_words, suppression_figure
from kepsilon.pages.figures.risks import linking_figure, outlier_figures, reidentification_figure
from kepsilon.pages.figures.sensitive import sensitive_figures
from kepsilon.pages.figures.survival import RULES, survival_figures
from kepsilon.pages.wording import exact, out_of, percent, plural
from kepsilon.predict.kept_columns import ALARM
from kepsilon.publish.record import Record


def tiles(record: Record) -> Iterator[Tile]:
    counts = record.records
    left_out = counts.read - counts.released
    share = percent(left_out / counts.read) if left_out else "none"
    are = "record read is" if counts.read == 1 else "records read are"
    yield Tile(value=released_words(record), meaning=f"{are} released; {share} left out")
    has_k_quasis = bool(record.policy.attributes_with_role("k-quasi"))
    if has_k_quasis and record.persons is not None:
        yield Tile(
            value=f"{record.persons.fewest_in_a_class:,}",
            meaning=f"persons share the rarest published combination; promised: {exact(record.guarantee.k)}",
        )
    elif has_k_quasis:
        yield Tile(
            value=f"{record.classes.smallest:,}",
            meaning=f"records share the rarest published combination; promised: {exact(record.guarantee.k)}",
        )
    if record.groups is not None:
        of = "records" if record.persons is None else "persons"
        are = "averages are published" if record.groups.count != 1 else "average is published"
        each = f"each of at least {record.groups.smallest:,} {of}; asked for: {exact(record.groups.asked)}, or a whole class"
        yield Tile(value=f"{record.groups.count:,}", meaning=f"{are}, {each}")
    headline = record.linking_risk.predicted.headline
    yield Tile(
        value=out_of(headline.risk.total),
        meaning=f"records are linked to the right person, on average, by {headline.attacker}",
    )
    yield from and_more(
        [
            Tile(value=percent(expected), meaning=f"is how far {name} is off on average, of its value")
            for name, error in record.error.items()
            if (expected := error.predicted.expected_relative) is not None
        ]
    )
    if has_k_quasis:
        loss = record.loss.ncp.overall
        yield Tile(value=percent(loss), meaning="of the detail of the generalised attributes is lost")


def warnings(record: Record) -> Iterator[str]:
    if record.seeded:
        undo = "undo the order" if record.guarantee.epsilon is None else "take the noise away and undo the order"
        yield (
            f"This release was drawn with a seed. Whoever knows or guesses the seed can {undo}: it is for tests only and must "
            "not be given to anybody."
        )
    for own in record.kept_columns.values():
        if own.verdict == ALARM:
            yield f"{_sentence('; '.join(own.in_words))}. The policy accepts this."
    if record.groups is not None:
        yield from group_warnings(record, record.groups)
    for name, n_classes in record.constant_classes.items():
        if n_classes and record.groups is None:
            yield (
                f"In {plural(n_classes, 'class', 'classes')} all records agree on {name}, so that its value is published "
                "there without noise. A coarse range would cure this."
            )
    for name, small in record.small_noise.items():
        if small.classes:
            yield (
                f"In {plural(small.classes, 'class', 'classes')} the noise of {name} is small beside its precision: at least "
                f"every second value is published as it is, in the worst class {percent(small.likeliest)} of them. A smaller "
                "ε, a wider range or a finer precision would cure this."
            )
    for name, found in record.outliers.items():
        if found.recoverable:
            yield (
                f"In {plural(found.recoverable, 'class', 'classes')} one record's {name} stands out, and the size of the noise "
                f"gives it away within {percent(found.within)} to an attacker who knows all other records of the class and "
                f"which published values are theirs: with a chance of one half or more, at most {percent(found.likeliest)}, "
                "whatever ε is. Declared bounds would cure this."
            )


def _sentence(words: str) -> str:
    """Words with a capital letter at their beginning."""
    return words[:1].upper() + words[1:]


def sections(record: Record, pictures: Pictures) -> Iterator[Section]:
    surviving = [*survival_figures(record)]
    if surviving:
        yield Section(title="What may be used", figures=surviving, sentences=[RULES])
    generalised = [*generalised_figures(pictures), *label_figures(pictures)]
    if generalised:
        yield Section(title="What was generalised", figures=generalised)
    averaged = record.groups is not None
    changed = [distribution_figure(one, record.guarantee.k, averaged=averaged) for one in pictures.values]
    if changed:
        yield Section(title="What was averaged" if averaged else "What got noise", figures=changed)
    sizes = [*class_size_figures(record, pictures), *group_figures(record)]
    if sizes:
        yield Section(title="How many look alike", figures=sizes)
    errors = [error_figure(one, record) for one in pictures.errors]
    drawn = {one.name for one in pictures.errors}
    undrawn = [words for name in record.error if name not in drawn for words in not_given(name, record)]
    if errors or undrawn:
        costs = "What averaging costs" if averaged else "What the noise costs"
        yield Section(title=costs, figures=errors, sentences=undrawn)
    risk = [
        attackers_figure(record),
        *kept_columns_figures(record),
        linking_figure(record, pictures),
        *sensitive_figures(record),
        reidentification_figure(record),
        *outlier_figures(record),
    ]
    yield Section(title="What risk is left", figures=risk)
    yield Section(title="Who was left out", figures=[suppression_figure(record)])


def made(*, version: str, created: str, digest: str | None = None) -> str:
    """One line that says by which version and when a page was made."""
    return " · ".join(said for said in (f"kepsilon {version}", created, digest) if said)


def making(record: Record) -> Table:
    """Table of how the release was made."""
    limit = record.policy.max_suppression
    facts = [
        ("made", record.created),
        ("by", f"kepsilon {record.kepsilon_version}"),
        ("engine", record.engine),
        ("algorithm", record.policy.algorithm),
        ("k", exact(record.guarantee.k)),
        ("averages of", None if record.groups is None else f"{exact(record.groups.asked)} or the whole class"),
        ("ε", None if record.guarantee.epsilon is None else exact(record.guarantee.epsilon)),
        ("confidence", record.guarantee.confidence),
        ("most that may be left out", None if limit is None else percent(limit)),
        ("digest of the data file", record.digest),
        ("seconds", f"{sum(record.seconds.values()):.1f}"),
    ]
    return Table(headers=["", ""], rows=[[name, str(value)] for name, value in facts if value is not None], n_words=2)
