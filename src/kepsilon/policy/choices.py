# SPDX-License-Identifier: Apache-2.0
"""Tables of what a policy chooses by name: algorithms, and mechanisms of ε-quasis.

A policy needs only the names and a few facts. The implementations are modules of other packages. A table imports the
module that fills it when a name is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError


class Named(Protocol):
    """Anything that a table can hold."""

    @property
    def name(self) -> str:
        """The name that a policy uses."""


Item = TypeVar("Item", bound=Named)


class Choices(Generic[Item]):
    """A table of everything of one kind that a policy can name, in the order in which it was added."""

    def __init__(self, what: str, *, home: str) -> None:
        """`what` is the kind in a word, such as "algorithm"; `home` is the module that adds the package's own items."""
        self.what = what
        self._home = home
        self._by_name: dict[str, Item] = {}

    def add(self, choice: Item) -> None:
        if choice.name in self._by_name:
            raise ValueError(f"there is a {self.what} called {choice.name} already")
        self._by_name[choice.name] = choice

    @contextmanager
    def having(self, choice: Item) -> Iterator[None]:
        """Adds an item while the block runs, and removes it afterwards; for tests and experiments."""
        self.names()  # adds the package's own items first
        self.add(choice)
        try:
            yield
        finally:
            del self._by_name[choice.name]

    def names(self) -> tuple[str, ...]:
        """Names of all items."""
        import_module(self._home)
        return tuple(self._by_name)

    def __getitem__(self, name: str) -> Item:
        if name not in self.names():
            raise KeyError(f"there is no {self.what} called {name}")
        return self._by_name[name]

    def __iter__(self) -> Iterator[Item]:
        return (self[name] for name in self.names())


class AlgorithmFacts(Named, Protocol):
    """What a policy needs to know about an algorithm."""

    @property
    def title(self) -> str:
        """The name as messages show it."""

    @property
    def needs_hierarchies(self) -> bool:
        """Whether every k-quasi must have a hierarchy."""

    @property
    def may_suppress(self) -> bool:
        """Whether the algorithm may leave records out, within `max_suppression`."""

    @property
    def suppresses_freely(self) -> bool:
        """Whether records are left out to keep the detail of others; a policy has to state `max_suppression` then.

        Otherwise only such are left out that the policy keeps apart from all others, and none if it does not state it.
        """

    @property
    def cuts_apart(self) -> bool:
        """Whether labels that say what occurs never cover a combination of values that is in another class."""

    @property
    def has_levels(self) -> bool:
        """Whether every k-quasi is published at one level of its hierarchy in all classes."""


class MechanismFacts(Named, Protocol):
    """What a policy needs to know about a mechanism."""

    @property
    def range_kinds(self) -> Collection[str]:
        """The kinds of range that the mechanism supports, of "class", "coarse" and "declared"."""

    @property
    def most_attributes(self) -> int:
        """The largest number of ε-quasis that a record may have."""

    @property
    def nearest_is_likeliest(self) -> bool:
        """Whether the nearest original of a class is always the likeliest one, so that an attacker takes it."""

    @property
    def promise(self) -> Callable[[str, Any, Any], str]:
        """What it promises, in a sentence that is true for the chosen range; of a name, its `EpsilonQuasi` and the `Policy`.

        The name is shown as it is given.
        """


ALGORITHMS: Choices[AlgorithmFacts] = Choices("algorithm", home="kepsilon.policy.algorithms")
MECHANISMS: Choices[MechanismFacts] = Choices("mechanism", home="kepsilon.policy.mechanisms")


class OneOf:
    """Annotation for a field of a policy that must hold one of the names in a table."""

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
