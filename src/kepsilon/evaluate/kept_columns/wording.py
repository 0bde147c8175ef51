# SPDX-License-Identifier: Apache-2.0
"""What a kept column tells, and to whom, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.evaluate.kept_columns.findings import KeptColumn, KeptColumns, KeptPair
from kepsilon.rounding import percent


def what_it_tells(
    found: KeptColumn, all_found: KeptColumns, *, quasis: str, without: float | None = None
) -> Iterator[str]:
    """What a column tells, and to whom, one sentence for each reason.

    `quasis` lists them in words; `without` is the share of records that is linked without any kept column, where known.
    """
    name = found.column
    words = {
        "links": f"whoever knows {quasis} works out what {name} must be{_from_one(found)}, and links "
        f"{percent(found.share_linked)} of the records through it{_beside(found.share_linked, without)}",
        "bits": f"whoever sees the release learns {percent(found.bits)} of what generalising hid of {found.bits_of} "
        f"from {name}",
        "alone": f"whoever sees the release learns {percent(found.told)} of how {found.told_of} differs within a class from "
        f"{name} alone",
        "serial": f"{name} rises or falls with the rows of the input: whoever knows their order "
        + ("knows whose record is whose" if found.is_serial else "knows about where each record stood"),
        "identifiers": f"{percent(found.identifiers_inside)} of the texts of {name} hold an identifier of the same "
        "record: whoever reads the release reads who it is",
        "persons": f"{name} is the same in all records of a person and differs between persons, for "
        f"{percent(found.joined)} of those who have several: whoever sees the release knows which records are one person's",
        "unique": f"{percent(found.unique)} of the values of {name} {_alone(all_found)} among the records looked at: whoever "
        f"knows the {name} of a person has few records to choose from",
        "date": f"{name} holds exact dates: whoever knows such a date of a person has few records to choose from",
        "free text": f"{name} is free text: whoever knows a person may recognise what was written",
    }
    for reason in found.reasons:
        if reason == "pair":
            yield from (_pair_in_words(pair) for pair in all_found.pairs if name in pair.columns)
        else:
            yield words[reason]


def _alone(all_found: KeptColumns) -> str:
    return "are those of one person alone" if all_found.names_persons else "occur once"


def _from_one(found: KeptColumn) -> str:
    """The one quasi that a column is worked out from, in words; empty where it takes several."""
    return "" if found.of is None else f" from {found.of}"


def _beside(share: float, without: float | None) -> str:
    """The share that is linked without the column, beside the share through it, so that nothing is said to help that does not.

    Links through a column use it instead of the published quasis, and may be fewer than these give.
    """
    if without is None:
        return ""
    if percent(share) == percent(without):
        return " alone, as many as without it"
    if share < without:
        return f" alone, no more than the {percent(without)} without it"
    return f" ({percent(without)} without it)"


def _pair_in_words(pair: KeptPair) -> str:
    first, second = pair.columns
    together = "their ratio" if pair.kind == "ratio" else "their sum"
    return (
        f"whoever sees the release works out {pair.of} from {first} and {second} together: {together} tells "
        f"{percent(pair.r_squared)} of how it differs within a class"
    )
