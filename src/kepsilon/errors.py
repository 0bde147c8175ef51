# SPDX-License-Identifier: Apache-2.0
"""Every error a user can meet: its fields, and how the fields are worded.

No error holds a value of a record. What the curator wrote (policy, hierarchy files) may be quoted; data is spoken
of by column and count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake: where it is, what is wrong, and what to do about it."""

    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return head if not self.fix else f"{head}\n  " + self.fix.replace("\n", "\n  ")


class AnonymisationError(Exception):
    """Root of all errors that are not bugs of ours; `exit_code` is what the shell sees."""

    exit_code = 2

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[AnonymisationError], tuple[tuple[Problem, ...]]]:
        """What a worker sends home: the problems, not the text made of them."""
        return type(self), (self.problems,)


class PolicyError(AnonymisationError):
    """The policy, or a file it names, is wrong."""


class DataError(AnonymisationError):
    """The data does not fit the policy, or cannot be read."""


class EngineError(AnonymisationError):
    """The surroundings failed: disk full, folder missing or not writable, an unsupported kind of table."""


class MemoryLimitError(EngineError):
    """Some class needs more memory to be looked at than the limit allows; other classes may not."""


class UnsatisfiableError(AnonymisationError):
    """The policy cannot be met by this data. Nothing was weakened and nothing was written."""

    exit_code = 3

    def __str__(self) -> str:
        return "refused: " + super().__str__()
