# SPDX-License-Identifier: Apache-2.0
"""The table `[averages]` of a policy, and which other settings it goes with."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Raises PydanticCustomError for the first setting that does not go with averages, or that noise lacks."""
    own = policy.averages
    if own is None:
        if policy.epsilon_quasis:
            _refuse_lacking(policy, why="noise is drawn for the epsilon-quasis")
        return
    if not policy.epsilon_quasis:
        raise PydanticCustomError("averages", "averages needs an epsilon-quasi: nothing else is averaged")
    if policy.k < FEWEST_TO_AVERAGE:
        raise PydanticCustomError(
            "averages",
            "averages needs k of at least {least}: in a class of two, each knows the other's values from the average",
            {"least": FEWEST_TO_AVERAGE},
        )
    if own.group < policy.k:
        raise PydanticCustomError(
            "averages",
            "averages.group should be at least k = {k}, so that no published value is shared by fewer",
            {"k": policy.k},
        )
    if own.noise and own.spread:
        raise PydanticCustomError(
            "averages", "averages.spread is for averages without noise; state noise or spread, not both"
        )
    if policy.confidence is not None:
        raise PydanticCustomError(
            "averages",
            "confidence does not apply to averages: every record hides among its group already; take one of them out",
        )
    with_mechanism = [name for name, one in policy.epsilon_quasis.items() if one.mechanism != "laplace"]
    if with_mechanism:
        raise PydanticCustomError(
            "averages",
            "{where}: averages has no mechanism; take it out",
            {"where": ", ".join(f"attributes.{name}.mechanism" for name in with_mechanism)},
        )
    if own.noise:
        loose = [name for name, one in policy.epsilon_quasis.items() if not isinstance(one.range, tuple)]
        if loose:
            raise PydanticCustomError(
                "averages",
                "averages.noise needs a declared range [low, high] that does not come from the data: {where}",
                {"where": ", ".join(f"attributes.{name}.range" for name in loose)},
            )
        _refuse_lacking(policy, why="averages.noise draws with it")


def _refuse_lacking(policy: AveragedPolicy, *, why: str) -> None:
    """Raises PydanticCustomError where ε or a range is lacking, though noise is drawn."""
    if policy.epsilon is None:
        raise PydanticCustomError(
            "epsilon", "epsilon: is required and has no default: it decides what is promised, and {why}", {"why": why}
        )
    lacking = [name for name, one in policy.epsilon_quasis.items() if one.range is None]
    if lacking:
        raise PydanticCustomError(
            "range",
            "{where}: is required and has no default: it decides what is promised; "
            '"class", {{ coarse = step }} or bounds [low, high]',
            {"where": ", ".join(f"attributes.{name}.range" for name in lacking)},
        )
