# SPDX-License-Identifier: Apache-2.0
"""Words and numbers at the top of the explore page: what was chosen and why, and what the figures mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kepsilon.pages.figures.explored import Explored, setting_words
from kepsilon.pages.figures.figure import Tile, and_more
from kepsilon.pages.wording import give, listed, percent, plural
from kepsilon.policy.guarantee import single_risk_in_words
from kepsilon.predict.prediction import Prediction

LIMITS = {
    "max_risk": "linking risk",
    "max_individual_risk": "largest single risk",
    "max_suppression": "suppression",
    "max_total_suppression": "suppression (the policy's own limit)",
    "max_error": "error",
}
_LIMIT_IN_WHY = re.compile(
    rf"(?:--)?\b({'|'.join(name.replace('_', '[-_]') for name in LIMITS)})\b(?: = ([\d.]+(?:e-?\d+)?))?"
)


def choices_words(explored: Explored) -> str:
    """What the cells of the grid differ in."""
    parts = [
        "k",
        *(["ε"] if explored.grid.epsilons else []),
        *(["groups"] if explored.grid.groups else []),
        "algorithm",
    ]
    return listed(parts)


def grid_headline(explored: Explored) -> str:
    n_cells = len(explored.grid.cells)
    if explored.chosen is not None:
        return setting_words(explored.chosen)
    if n_cells and not explored.met:
        return "No choice can be met"
    if not limits_words(explored):
        return f"{plural(n_cells, 'choice')} of {choices_words(explored)}"
    return "No choice can be ranked" if _is_unranked(explored) else "No choice keeps the limits"


def grid_lead(explored: Explored) -> list[str]:
    """Sentences that say what was explored, by which limits, and what was chosen."""
    n_cells, n_met = len(explored.grid.cells), len(explored.met)
    refused = f", {n_cells - n_met:,} of which cannot be met" if 0 < n_met < n_cells else ""
    of_records = f"for {plural(explored.grid.records.counted, 'record')}, before anything is drawn"
    lead = [] if explored.chosen is None else [explored.grid.in_words(explored.choice)[0]]
    lead += [f"Worked out {of_records}: {plural(n_cells, 'choice')} of {choices_words(explored)}{refused}."]
    limits = limits_words(explored)
    if limits:
        lead.append(f"Limits: {limits}.")
    elif explored.chosen is None:
        lead.append(
            "No limits were set, so nothing is chosen. Limits (--max-risk, --max-individual-risk, --max-suppression, --max-error) "
            "choose the least distorted of those that keep them."
        )
    if explored.chosen is not None:
        keeping = " among those that keep the limits" if limits else ""
        lead.append(f"The choice above has the least distortion{keeping}.")
    elif explored.met and _is_unranked(explored):
        lead.append("Distortion is undefined for every choice, so none can be called the least distorted.")
    return [*lead, *([why_words(explored.choice.why)] if explored.choice.why else [])]


def _is_unranked(explored: Explored) -> bool:
    return all(prediction.distortion is None for prediction in explored.met)


def limits_words(explored: Explored) -> str:
    stated = explored.choice.limits.stated()
    return listed([f"{words} at most {percent(stated[name])}" for name, words in LIMITS.items() if name in stated])


def why_words(why: str) -> str:
    """The reason of a choice as a sentence, with limits in words in place of their names."""

    def in_words(found: re.Match[str]) -> str:
        words, limit = LIMITS[found[1].replace("-", "_")], found[2]
        return f"the limit on {words}" if limit is None else f"{words} at most {percent(float(limit))}"

    said = _LIMIT_IN_WHY.sub(in_words, why.strip())
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")


def grid_notes(explored: Explored) -> list[str]:
    """Sentences that say what the figures of the page mean, and what they leave out."""
    if not explored.met:
        return []
    notes = []
    if explored.epsilon_quasis and any(own.groups is None for own in explored.met):
        of = "Figures of noise" if explored.grid.groups else "All figures"
        notes.append(
            f"{of} are expected ones, before published values are rounded. Linking risk is before they are clamped to a "
            "domain too, which makes it no larger."
            if explored.has_closed_forms
            else f"{of} are expected ones, after published values are rounded and clamped to a domain."
        )
    if explored.grid.groups:
        notes.append(
            "Averages: every record publishes the average of a group of near neighbours of its class, of at least so many "
            "records or the whole class. Figures of averages are exact: an attacker who knows every quasi-identifier of "
            "everybody makes the same groups, and is right for one record of each. Groups smaller than k are not offered."
        )
        notes.append(
            "Noise is drawn for the sum of each group."
            if explored.grid.policy.averages is not None and explored.grid.policy.averages.noise
            else "Averages carry no noise, so that an extreme value shows to an attacker who roughly knows the others of its group."
        )
    quasis = [*explored.met[0].loss.ncp.by_attribute, *explored.epsilon_quasis]
    averaged = {own.groups is not None for own in explored.met}
    notes.append(single_risk_in_words(quasis, noisy=bool(explored.epsilon_quasis), averaged=averaged))
    if explored.grid.about_smaller_k:
        notes.append(explored.grid.about_smaller_k)
    if not explored.epsilon_quasis:
        notes.append("There is no ε-quasi: no noise is drawn, and ε has no effect on any figure.")
    if explored.confidence:
        notes.append("Linking risk, error and classes are those before records are left out for confidence.")
    if any(own.linking_risk.headline.risk.variance or own.suppression.variance for own in explored.met):
        which = "With several ε-quasis some figures" if explored.has_closed_forms else "Figures of this mechanism"
        notes.append(
            f"{which} are simulated. They are given ± 2 standard errors, and keep a limit only "
            f"with three to spare: {percent(0.049)} ± {percent(0.0007)} may be outside {percent(0.05)}."
        )
    if any(error.expected_relative is None for own in explored.met for error in own.error.values()):
        notes.append("An error is not given where fewer than k records have a relative error (a value of 0 has none).")
    return notes


def grid_tiles(prediction: Prediction) -> Iterator[Tile]:
    headline, suppression = prediction.linking_risk.headline, prediction.suppression
    yield Tile(
        value=percent(headline.risk.total),
        meaning="records linked by the strongest attacker who needs to know nothing but the quasi-identifiers"
        + _in_brackets(give(headline.risk.standard_error)),
    )
    yield Tile(
        value=percent(suppression.total),
        meaning="left out of the release" + _in_brackets(give(suppression.standard_error)),
    )
    yield from and_more([tile for name in prediction.error for tile in _error_tile(prediction, name)])
    yield Tile(value=percent(prediction.loss.ncp.overall), meaning="of the detail of the generalised attributes lost")
    yield Tile(value=f"{prediction.classes.count:,}", meaning="classes of records that look alike")
    if prediction.groups is not None:
        yield Tile(
            value=f"{prediction.groups.count:,}", meaning=f"averages, of at least {prediction.groups.smallest:,} each"
        )


def _error_tile(prediction: Prediction, name: str) -> Iterator[Tile]:
    """How far an attribute is off: of its spread, as in the answer above; of its value where it has no spread."""
    error = prediction.error[name]
    share, of = error.share_of_spread, "spread"
    if share is None:
        share, of = error.expected_relative, "value"
    if share is not None:
        yield Tile(value=percent(share), meaning=f"of its {of} is how far {name} is off on average")


def _in_brackets(words: str) -> str:
    return f" ({words.strip()})" if words else ""
