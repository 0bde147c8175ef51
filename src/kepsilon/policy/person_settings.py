# SPDX-License-Identifier: Apache-2.0
"""Refuses settings about persons that contradict each other, or that leave open what ε covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from pydantic_core import PydanticCustomError

from kepsilon.policy.exact_bounds import SMALLEST_EPSILON
from kepsilon.policy.roles import EpsilonQuasi


class PersonSettings(Protocol):
    """What a policy says about persons."""

    person: str | None
    epsilon_per: Any
    max_records_per_person: int | None
    records_are_persons: bool
    averages: Any

    @property
    def identifiers(self) -> Sequence[str]: ...

    @property
    def epsilon_quasis(self) -> Mapping[str, EpsilonQuasi]: ...

    @property
    def draws_noise(self) -> bool: ...

    @property
    def record_epsilon(self) -> Fraction: ...

    @property
    def draws_once_per_person(self) -> bool: ...


def refuse_contradictions(policy: PersonSettings) -> None:
    """Raises PydanticCustomError for the first thing that is wrong."""
    if policy.person is None:
        for key in ("epsilon_per", "max_records_per_person"):
            if getattr(policy, key) is not None:
                what = "{key} needs person, the column that says whom a record is about"
                raise PydanticCustomError("person", what, {"key": key})
        return
    if policy.records_are_persons:
        raise PydanticCustomError("person", "records_are_persons contradicts person; state one of them")
    if policy.person not in policy.identifiers:
        what = 'person names "{name}", which should be among the attributes, with role = "identifier"'
        raise PydanticCustomError("person", what, {"name": policy.person})
    _refuse_open_epsilon(policy)


def _refuse_open_epsilon(policy: PersonSettings) -> None:
    """Raises PydanticCustomError unless it is clear what ε covers, and how it can be kept."""
    if not policy.draws_noise:
        if policy.epsilon_per is not None:
            raise PydanticCustomError("epsilon_per", "epsilon_per is about noise, and none is drawn here; take it out")
        return
    if policy.epsilon_per is None:
        raise PydanticCustomError(
            "epsilon_per",
            'person needs epsilon_per = "person", where epsilon covers all records of a person together, or '
            'epsilon_per = "record", where a person of r records spends r times epsilon',
        )
    if policy.averages is not None and policy.epsilon_per == "person" and policy.max_records_per_person is None:
        raise PydanticCustomError(
            "epsilon_per",
            'epsilon_per = "person" with averages needs max_records_per_person: a group\'s noise is drawn once, and a '
            "person may be in several groups, so that the records of a person have to share epsilon",
        )
    if policy.draws_once_per_person:
        _refuse_several_draws(policy)
    if policy.record_epsilon < SMALLEST_EPSILON:
        raise PydanticCustomError(
            "max_records_per_person",
            "epsilon shared by {most} records leaves each less than {least}, the smallest epsilon there is; "
            "state fewer records per person, or a larger epsilon",
            {"most": policy.max_records_per_person, "least": float(SMALLEST_EPSILON)},
        )


def _refuse_several_draws(policy: PersonSettings) -> None:
    """Raises PydanticCustomError where one draw cannot serve all records of a person."""
    loose = [name for name, own in policy.epsilon_quasis.items() if not isinstance(own.range, tuple)]
    if loose:
        raise PydanticCustomError(
            "epsilon_per",
            'epsilon_per = "person" without max_records_per_person draws once for each person, which needs a declared '
            "range [low, high] for {names}: one draw scaled by the ranges of two classes gives the value away; "
            "declare it, or state max_records_per_person, so that a person's records share epsilon",
            {"names": ", ".join(loose)},
        )
    in_class = [name for name, own in policy.epsilon_quasis.items() if own.missing == "class"]
    if in_class:
        raise PydanticCustomError(
            "epsilon_per",
            'epsilon_per = "person" without max_records_per_person draws all epsilon-quasis of a person together, so '
            'none may be missing in some records: {names} needs missing = "suppress"; or state max_records_per_person',
            {"names": ", ".join(in_class)},
        )
