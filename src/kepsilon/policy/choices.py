# SPDX-License-Identifier: Apache-2.0
"""What a policy chooses by name: the algorithm, and the mechanism of an ε-quasi.

A policy knows names and a few facts. What stands behind a name is one file in another package, which one line adds to
the table here; the module with these lines is imported when a policy first asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError


class Named(Protocol):
    @property
    def name(self) -> str:
        """As in a policy."""


Choice = TypeVar("Choice", bound=Named)


class Choices(Generic[Choice]):
    """Everything of one kind that a policy can name, in the order in which it was added."""

    def __init__(self, what: str, *, home: str) -> None:
        """`home` is the module that adds what the package comes with."""
        self.what = what
        self._home = home
        self._by_name: dict[str, Choice] = {}

    def add(self, choice: Choice) -> None:
        if choice.name in self._by_name:
            raise ValueError(f"there is a {self.what} called {choice.name} already")
        self._by_name[choice.name] = choice

    @contextmanager
    def having(self, choice: Choice) -> Iterator[None]:
        """With one more while the block runs, for whoever tries something out."""
        self.names()  # those that the package comes with are first
        self.add(choice)
        try:
            yield
        finally:
            del self._by_name[choice.name]

    def names(self) -> tuple[str, ...]:
        import_module(self._home)
        return tuple(self._by_name)

    def __getitem__(self, name: str) -> Choice:
        if name not in self.names():
            raise KeyError(f"there is no {self.what} called {name}")
        return self._by_name[name]

    def __iter__(self) -> Iterator[Choice]:
        return (self[name] for name in self.names())


class AlgorithmFacts(Named, Protocol):
    """What a policy has to know of an algorithm."""

    @property
    def title(self) -> str:
        """For people."""

    @property
    def needs_hierarchies(self) -> bool:
        """Whether every k-quasi needs one."""

    @property
    def may_suppress(self) -> bool:
        """Whether it may leave records out, within `max_suppression`."""

    @property
    def has_levels(self) -> bool:
        """Whether every k-quasi is published at one level of its hierarchy, the same for all classes."""


class MechanismFacts(Named, Protocol):
    """What a policy has to know of a mechanism."""

    @property
    def range_kinds(self) -> Collection[str]:
        """Which ranges it can work with: "class", "coarse" and "declared"."""

    @property
    def most_attributes(self) -> int:
        """How many ε-quasis a record may have."""


ALGORITHMS: Choices[AlgorithmFacts] = Choices("algorithm", home="kepsilon.policy.algorithms")
MECHANISMS: Choices[MechanismFacts] = Choices("mechanism", home="kepsilon.policy.mechanisms")


class OneOf:
    """Annotates a text of a policy that has to be one of the names."""

    def __init__(self, choices: Choices[Any]) -> None:
        self._choices = choices

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        schema: CoreSchema = BeforeValidator(self._check).__get_pydantic_core_schema__(source, handler)
        return schema

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "enum": list(self._choices.names())}

    def _check(self, name: object) -> object:
        names = self._choices.names()
        if name not in names:
            raise PydanticCustomError("literal_error", "should be {expected}", {"expected": _listed(names)})
        return name


def _listed(names: Collection[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)
