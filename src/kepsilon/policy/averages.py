# SPDX-License-Identifier: Apache-2.0
"""The table `[averages]` of a policy, and which other settings it goes with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Protocol

from pydantic import Field
from pydantic_core import PydanticCustomError

from kepsilon.policy.exact_bounds import EXACT
from kepsilon.policy.hierarchies.levels import Specification
from kepsilon.policy.roles import EpsilonQuasi, Number

FEWEST_TO_AVERAGE = 3
"""Of two records each would know the other's value from the average."""


class Averages(Specification):
    """Every record publishes the average of its group instead of its own values with noise."""

    group: Annotated[int, Field(ge=FEWEST_TO_AVERAGE, lt=EXACT, strict=True)]
    """Records of a group, at least; persons, where it is known whom records are about. A smaller class is one group."""
    noise: Annotated[bool, Field(strict=True)] = False
    """Whether noise is drawn for the sums, which needs epsilon and declared ranges."""
    spread: Annotated[bool, Field(strict=True)] = False
    """Whether every record gets a draw of its own around the average, so that variances are about right."""


class AveragedPolicy(Protocol):
    """What of a policy decides whether averages can be made."""

    k: int
    epsilon: Number | None
    averages: Averages | None
    confidence: float | None

    @property
    def epsilon_quasis(self) -> Mapping[str, EpsilonQuasi]: ...


def refuse_unfit(policy: AveragedPolicy) -> None:
    """Raises PydanticCustomError for everything that does not go with averages, or that noise lacks."""
    own = policy.averages
    mistakes = [] if own is None else [*_misfits(policy, own)]
    if policy.epsilon_quasis and (own is None or own.noise):
        ranges = {name: one.range for name, one in policy.epsilon_quasis.items()}
        lacking = [name for name, one in ranges.items() if one is None and own is None]
        why = WHY_EPSILON if own is None else WHY_EPSILON_OF_SUMS
        mistakes += [f"{where}: {what}" for where, what in lacking_for_noise(policy.epsilon, lacking, why=why)]
    if mistakes:
        raise PydanticCustomError(LACKING, "{first}", {"first": mistakes[0], "mistakes": mistakes})


LACKING = "averages"
"""The type of error that a policy has with all mistakes about averages, and about what noise lacks."""
WHY_EPSILON = "noise is drawn for the epsilon-quasis"
WHY_EPSILON_OF_SUMS = "averages.noise draws with it"


def lacking_for_noise(epsilon: object, without_range: Iterable[str], *, why: str) -> Iterator[tuple[str, str]]:
    """What noise lacks: the path of each key, and what to write; `without_range` are the ε-quasis that state none."""
    if epsilon is None:
        yield "epsilon", f"is required and has no default: it decides what is promised, and {why}."
    for name in without_range:
        yield (
            f"attributes.{name}.range",
            'is required and has no default: it decides what is promised; "class", { coarse = step } or bounds [low, high].',
        )


def _misfits(policy: AveragedPolicy, own: Averages) -> Iterator[str]:
    """What does not go with averages, each with what to write."""
    if not policy.epsilon_quasis:
        yield (
            'averages: needs a column with role = "epsilon-quasi", because nothing else is averaged; give a column of '
            "numbers that role, or take averages out"
        )
        return
    if policy.k < FEWEST_TO_AVERAGE:
        yield (
            f"averages: needs k of at least {FEWEST_TO_AVERAGE}, because in a class of two each knows the other's values "
            f"from the average; write k = {FEWEST_TO_AVERAGE} or more"
        )
    elif own.group < policy.k:
        yield (
            f"averages.group: should be at least k = {policy.k}, so that no published value is shared by fewer; write "
            f"group = {policy.k} or more"
        )
    if own.noise and own.spread:
        yield "averages.spread: is for averages without noise; state noise or spread, not both"
    if policy.confidence is not None:
        yield (
            "confidence: does not apply to averages, where every record hides among its group already; take confidence or "
            "averages out"
        )
    for name, one in policy.epsilon_quasis.items():
        if "mechanism" in one.model_fields_set:
            yield f"attributes.{name}.mechanism: averages have no mechanism; take it out"
        if own.noise and not isinstance(one.range, tuple):
            yield (
                f"attributes.{name}.range: averages.noise needs a declared range that does not come from the data; write "
                "range = [low, high]"
            )
