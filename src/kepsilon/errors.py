# SPDX-License-Identifier: Apache-2.0
"""Every error that a user can meet: its fields and its wording.

No error holds a value of a record. What the curator wrote (policy, hierarchy files) may be quoted; data is described
by column and count. Errors of other code (Arrow, Polars, a reader that the user wrote) may quote records, so none of
them leaves the package, not even as the cause of one of ours: `calling_others` words those of code that is called to
read a table, and `guarded` is around every public function and stops what is left.
"""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

CALLBACKS = {"on_step", "on_note"}
"""Parameters of public functions that are functions of the caller."""
HINTS = {"Policy": "\n  Make one with Policy.from_file(path) or Policy.from_dict(dictionary)."}
"""What to do about an argument that should be of a class."""

SHOW_CAUSES = "KEPSILON_SHOW_CAUSES"
"""The environment variable that, set to 1, lets an error of other code be the `__cause__` of ours, for debugging."""
NOT_SHOWN = f"What it says is not shown, because it may quote records; {SHOW_CAUSES}=1 lets you see it in Python."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake: where it is, what is wrong, and what to do about it."""

    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        head = _visible(f"{self.where}: {self.what}" if self.where else self.what)
        return "\n  ".join([head, *(_visible(line) for line in self.fix.split("\n") if self.fix)])


def _visible(line: str) -> str:
    """A line with control characters as escapes: the name of a file or column could otherwise forge a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in line)


class AnonymisationError(Exception):
    """Base of all errors that are not bugs of this package; `exit_code` is what the command returns to the shell.

    No error holds what other code said of a record. To see that while you look for a fault, set the environment variable
    `KEPSILON_SHOW_CAUSES` to 1: the other error is then the `__cause__` of ours.
    """

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


class UnexpectedError(RuntimeError):
    """A bug of ours, or an error of a library that nobody foresaw; says its type and where it came up, and nothing else."""

    def __init__(self, kind: str, place: str) -> None:
        self.kind, self.place = kind, place
        super().__init__(f"a bug of ours ({kind} {place}).\n  {NOT_SHOWN} Please report the first line.")

    def __reduce__(self) -> tuple[type[UnexpectedError], tuple[str, str]]:
        return type(self), (self.kind, self.place)

    @classmethod
    def of(cls, error: BaseException) -> UnexpectedError:
        """The error that stands for another one outside the package; an `UnexpectedError` stands for itself."""
        return error if isinstance(error, UnexpectedError) else cls(type(error).__name__, _place(error))


class EarlierDrawWarning(UserWarning):
    """A release takes the place of one with other noise for the same records, which may be out already."""


class ArgumentError(ValueError):
    """A public function was called with arguments that contradict each other or are of the wrong type; its text is ours."""


def calling_others(work: Callable[[], Result], word: Callable[[str], AnonymisationError]) -> Result:
    """What `work` returns, which calls code of others; where that fails, `word` makes our error from the error's type.

    Also errors that are no `Exception` are caught: Polars raises such, and they quote values like any other.
    """
    cause: BaseException | None = None
    try:
        return work()
    except (AnonymisationError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 (its text may quote a record, whatever it is)
        kind = type(error).__name__
        cause = error if _shows_causes() else None
    # Raised outside the except block: inside it Python would put the other error into __context__.
    raise word(kind) from cause


def guarded(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A public function whose errors hold no text of other code: not as message, not as cause, not as context.

    Errors of the system, such as a full disk, are passed on; they name files, not records. So are errors of functions that
    the caller gave (`on_step`): they are told names of steps and numbers of what is done, nothing else. What fails because an
    argument is of another type than the function says is the caller's mistake, and no bug of ours.
    """

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        cause: BaseException | None = None
        of_caller: list[BaseException] = []
        for name in CALLBACKS & kwargs.keys():
            if callable(kwargs[name]):
                kwargs[name] = _Noting(cast("Callable[..., object]", kwargs[name]), of_caller)
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            if any(error is own for own in of_caller):
                raise
            if _is_known(error) or _is_wrong_call(error):
                if not _shows_causes():
                    error.__cause__ = error.__context__ = None
                raise
            wrong_type = "" if isinstance(error, UnexpectedError) else _wrong_type(function, args, kwargs)
            better = ArgumentError(wrong_type) if wrong_type else UnexpectedError.of(error)
            cause = error if _shows_causes() else None
        raise better from cause

    return call


class _Noting:
    """The function, with every error that it raises put into a list; so is its `on_count`, if it has one."""

    def __init__(self, function: Callable[..., object], raised: list[BaseException]) -> None:
        self._function, self._raised = function, raised
        on_count = getattr(function, "on_count", None)
        self.on_count = _Noting(on_count, raised) if callable(on_count) else None

    def __call__(self, *args: object, **kwargs: object) -> object:
        try:
            return self._function(*args, **kwargs)
        except BaseException as error:
            self._raised.append(error)
            raise


def _wrong_type(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    """What to say of the first argument whose type is not one that the function says; empty if all are."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        hints = get_type_hints(function)
    except (TypeError, NameError):
        return ""
    for name, value in given.items():
        types = _classes_of(hints.get(name, object))
        if types and not isinstance(value, types):
            wanted = " or ".join(one.__name__ for one in types if one is not NoneType)
            return f"{name}: should be {wanted}, and is {type(value).__name__}.{HINTS.get(wanted, '')}"
    return ""


def _classes_of(hint: object) -> tuple[type, ...]:
    """The classes that a type hint allows; none if it says more than classes can, such as what a function is called with."""
    parts = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    classes = tuple(get_origin(part) or part for part in parts)
    checkable = all(isinstance(one, type) and not getattr(one, "_is_protocol", False) for one in classes)
    return classes if checkable else ()


def _place(error: BaseException) -> str:
    """File and line of our own code where an error came up, such as "at table/codes.py:12"."""
    package = Path(__file__).parent
    frames = [f for f in traceback.extract_tb(error.__traceback__) if package in Path(f.filename).parents]
    own = [f for f in frames if Path(f.filename) != Path(__file__)]
    if not own:
        return "outside kepsilon"
    return f"at {Path(own[-1].filename).relative_to(package).as_posix()}:{own[-1].lineno}"


def _is_known(error: BaseException) -> bool:
    """Whether the text of an error holds no record: it is ours, or the system's, or that of a module that is not there."""
    if isinstance(error, OSError):
        return error.errno is not None  # Arrow raises OSError for damaged data, without a number
    ours = (AnonymisationError, UnexpectedError, ArgumentError, EarlierDrawWarning)
    return isinstance(error, (*ours, ImportError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit))


def _is_wrong_call(error: BaseException) -> bool:
    """Whether a function was called with arguments that it does not have, which Python says without their values."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None


def _shows_causes() -> bool:
    return os.environ.get(SHOW_CAUSES) == "1"
