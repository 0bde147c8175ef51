# SPDX-License-Identifier: Apache-2.0
"""The explore page in words: what was chosen and why, what the figures are, and the chosen cell's numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kepsilon.publish.figures.figure import Json, Tile, and_more
from kepsilon.publish.figures.grid import chosen, chosen_words, epsilon_quasis, has_closed_forms, met
from kepsilon.publish.wording import give, listed, out_of, percent, plural

LIMITS = {
    "max_risk": "linking risk",
    "max_suppression": "suppression",
    "max_total_suppression": "suppression (the policy's own limit)",
    "max_error": "error",
}
_LIMIT_IN_WHY = re.compile(
    rf"(?:--)?\b({'|'.join(name.replace('_', '[-_]') for name in LIMITS)})\b(?: = ([\d.]+(?:e-?\d+)?))?"
)


def grid_headline(grid: Json) -> str:
    best, n_cells = chosen(grid), len(grid["cells"])
    if best is not None:
        return chosen_words(best)
    if n_cells and not met(grid):
        return "No choice can be met"
    if not limits_words(grid):
        return f"{plural(n_cells, 'choice')} of k, ε and algorithm"
    return "No choice can be ranked" if _is_unranked(grid) else "No choice keeps the limits"


def grid_lead(grid: Json) -> list[str]:
    """What was looked at and what came of it, in words."""
    counted = (grid.get("records") or {}).get("counted")
    of_records = f" for {plural(counted, 'record')}" if counted is not None else ""
    refused = len(grid["cells"]) - len(met(grid))
    cannot = f", {refused:,} of which cannot be met" if met(grid) else ""
    lead = [
        f"Worked out{of_records}, before any noise is drawn: {plural(len(grid['cells']), 'choice')} of k, ε and algorithm"
        + (f"{cannot}." if refused else ".")
    ]
    limits = limits_words(grid)
    if limits:
        lead.append(f"Limits: {limits}.")
    elif chosen(grid) is None:
        lead.append(
            "No limits were set, so nothing is chosen. Limits (--max-risk, --max-suppression, --max-error) choose the least "
            "distorted of those that keep them."
        )
    if chosen(grid) is not None:
        keeping = " among those that keep the limits" if limits else ""
        lead.append(f"The choice above has the least distortion{keeping}.")
    elif met(grid) and _is_unranked(grid):
        lead.append("Distortion is undefined for every choice, so none can be called the least distorted.")
    return [*lead, *([why_words(grid["why"])] if grid.get("why") else [])]


def _is_unranked(grid: Json) -> bool:
    return all(cell.get("distortion") is None for cell in met(grid))


def limits_words(grid: Json) -> str:
    limits: Json = grid.get("limits") or {}
    return listed(
        [f"{words} at most {percent(limits[key])}" for key, words in LIMITS.items() if limits.get(key) is not None]
    )


def why_words(why: str) -> str:
    """As a sentence, with the limits in words and not as options."""

    def in_words(found: re.Match[str]) -> str:
        words, limit = LIMITS[found[1].replace("-", "_")], found[2]
        return f"the limit on {words}" if limit is None else f"{words} at most {percent(float(limit))}"

    said = _LIMIT_IN_WHY.sub(in_words, why.strip())
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")


def grid_notes(grid: Json) -> list[str]:
    """What every figure of the page is, and is not."""
    cells = met(grid)
    if not cells:
        return []
    rounded = "before" if has_closed_forms(grid) else "after"
    notes = [f"All figures are expected ones, {rounded} published values are rounded and clamped to a domain."]
    if not epsilon_quasis(grid):
        notes.append("There is no ε-quasi: no noise is drawn, and ε has no effect on any figure.")
    if grid.get("confidence"):
        notes.append("Linking risk, error and classes are those before records are left out for confidence.")
    if any(cell.get(f"{key}_standard_error") for cell in cells for key in ("linking_risk", "suppressed_by_confidence")):
        which = "With several ε-quasis some figures" if has_closed_forms(grid) else "Figures of this mechanism"
        notes.append(
            f"{which} are simulated. They are given ± 2 standard errors, and keep a limit only "
            f"with three to spare: {percent(0.049)} ± {percent(0.0007)} may be outside {percent(0.05)}."
        )
    if any(one.get("expected_relative") is None for cell in cells for one in (cell.get("error") or {}).values()):
        notes.append("An error is not given where fewer than k records have a relative error (a value of 0 has none).")
    return notes


def grid_tiles(cell: Json) -> Iterator[Tile]:
    if cell.get("linking_risk") is not None:
        yield Tile(
            value=out_of(cell["linking_risk"]),
            meaning="records linked to the right person by an attacker who knows every true value"
            + _in_brackets(give(cell.get("linking_risk_standard_error"))),
        )
    if cell.get("suppression") is not None:
        yield Tile(
            value=percent(cell["suppression"]),
            meaning="left out of the release" + _in_brackets(give(cell.get("suppressed_by_confidence_standard_error"))),
        )
    yield from and_more(
        [
            Tile(value=percent(one["expected_relative"]), meaning=f"is how far {name} is off on average, of its value")
            for name, one in (cell.get("error") or {}).items()
            if one.get("expected_relative") is not None
        ]
    )
    if cell.get("precision_loss") is not None:
        yield Tile(value=percent(cell["precision_loss"]), meaning="of the detail of the generalised attributes lost")
    yield Tile(value=f"{cell['classes']:,}", meaning="classes of records that look alike")


def _in_brackets(words: str) -> str:
    return f" ({words.strip()})" if words else ""
