# SPDX-License-Identifier: Apache-2.0
"""Every error that a user can meet: its fields and its wording.

No error holds a value of a record. What the curator wrote (policy, hierarchy files) may be quoted; data is described
by column and count.
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
        head = f"{_visible(self.where)}: {self.what}" if self.where else self.what
        return head if not self.fix else f"{head}\n  " + self.fix.replace("\n", "\n  ")


def _visible(where: str) -> str:
    """A place with control characters as escapes: the name of a file or column could otherwise forge a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in where)


class AnonymisationError(Exception):
    """Base of all errors that are not bugs of this package; `exit_code` is what the command returns to the shell."""

    exit_code = 2

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[AnonymisationError], tuple[tuple[Problem, ...]]]:
        """Pickled as its problems, not its text, so that it can be sent from a worker."""
        return type(self), (self.problems,)


class PolicyError(AnonymisationError):
    """The policy, or a file it names, is wrong."""


class DataError(AnonymisationError):
    """The data does not fit the policy, or cannot be read."""


class EngineError(AnonymisationError):
    """Something around the data failed: disk full, folder missing or not writable, an unsupported kind of table."""


class MemoryLimitError(EngineError):
    """A class needs more memory than the limit allows; another recoding may have smaller classes."""


class InterruptedAfterRelease(KeyboardInterrupt):
    """The program was interrupted (Ctrl-C) when a release was out already: all its files are there, and whole.

    Whoever catches a KeyboardInterrupt catches it too. Do not draw a second release of the same records because of it.
    """


class UnsatisfiableError(AnonymisationError):
    """The policy cannot be met by this data. Nothing was weakened and nothing was written."""

    exit_code = 3

    def __str__(self) -> str:
        return "refused: " + super().__str__()
