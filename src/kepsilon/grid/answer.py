# SPDX-License-Identifier: Apache-2.0
"""Says in words which setting the limits choose, who links how many records with it, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import NO_CELL, Choice, Limits
from kepsilon.policy.guarantee import matching_in_words
from kepsilon.policy.policy import Policy
from kepsilon.predict.prediction import Prediction
from kepsilon.rounding import number, percent, percent_at_most

NO_LIMITS = (
    "No limit was stated, so nothing is chosen: the least distorted setting alone is the riskiest. Try --max-risk 0.05 "
    "--max-suppression 0.05, or state max_risk in the policy."
)
NO_RISK_LIMIT = (
    "No limit on risk was stated, so the least distorted setting that keeps the others was chosen, which is a risky one. State "
    "--max-risk, or max_risk in the policy."
)
SAFEST = "Only cost is limited, so of all settings that keep the limits the one that links fewest records was chosen."


def answer_in_words(choice: Choice, policy: Policy, *, current: Cell | None) -> Iterator[str]:
    """Sentences, the most important first: what was chosen, what changes, and what rules out a better one."""
    cell = choice.cell
    if cell is None or cell.prediction is None:
        yield from ([NO_LIMITS] if not choice.limits.stated() else [no_choice(choice)])
        return
    yield _first(cell, cell.prediction, choice.limits)
    if current is not None and cell == current:
        yield "That is your policy as it is."
    elif (cell.group is None) is not (policy.averages is None) and policy.epsilon_quasis:
        yield _other_promise(cell)
    own = policys_own(choice.limits, policy)
    if own:
        yield f"{own} {'is' if ' and ' not in own else 'are'} stated in your policy."
    if not choice.limits.limit_risk:
        yield SAFEST if choice.limits.ask_for_least_risk else NO_RISK_LIMIT
    if choice.why:
        yield choice.why


def no_choice(choice: Choice) -> str:
    """Why nothing was chosen though there are limits, and what would work, as sentences."""
    why = (choice.why or "no cell qualifies.").removeprefix(f"{NO_CELL}: ")
    return f"No setting keeps the limits: {why}" + (f" {choice.what_would_work}" if choice.ways else "")


def policys_own(limits: Limits, policy: Policy) -> str:
    """The limits that are those of the policy itself, in words; empty where none is."""
    names = ("max_risk", "max_individual_risk", "max_total_suppression")
    own = [
        name for name in names if getattr(limits, name) is not None and getattr(limits, name) == getattr(policy, name)
    ]
    return " and ".join(f"{name} = {getattr(policy, name):g}" for name in own)


def _first(cell: Cell, found: Prediction, limits: Limits) -> str:
    """The setting, how many records are linked by whom against which limit, and what is lost, in one sentence."""
    headline = found.linking_risk.headline
    against = "" if limits.max_risk is None else f" (limit {percent(limits.max_risk)})"
    single = ""
    if limits.max_individual_risk is not None:
        sure = percent_at_most(found.linking_risk.largest_possible_by_matching)
        does = matching_in_words(averaged=cell.group is not None, noisy=bool(found.error))
        single = (
            f"; whoever {does} is at most {sure} sure of any one record (limit {percent(limits.max_individual_risk)})"
        )
    return (
        f"Take {cell.name}: {percent(headline.risk.total)} of the records are linked{against} by {headline.attacker}"
        f"{single}; {'; '.join(lost_in_words(found))}."
    )


def lost_in_words(found: Prediction) -> Iterator[str]:
    """What a setting costs: how far each ε-quasi is off, what labels leave open, and who is left out."""
    for name, own in found.survives.items():
        if own.error.expected is not None:
            share = found.error[name].share_of_spread
            of_spread = "" if share is None else f" ({percent(share)} of its spread)"
            yield f"{name} is off by {number(own.error.expected)} on average{of_spread}"
    if found.loss.ncp.by_attribute:
        generalised = "other quasis" if found.survives else "quasis"
        yield f"labels leave {percent(found.loss.ncp.overall)} of the {generalised} open"
    left_out = found.suppression.total
    yield f"{percent(left_out)} of the records are left out" if left_out else "no record is left out"


def _other_promise(cell: Cell) -> str:
    """What is promised otherwise than by the policy as it is."""
    if cell.group is None:
        return (
            "Noise takes the place of your policy's averages: values are hidden by ε, and no longer shared by a group."
        )
    return (
        "Averages take the place of your policy's noise: every value is shared by a group, and hidden from nobody who knows the "
        "rest of the group."
    )
