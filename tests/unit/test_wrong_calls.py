# SPDX-License-Identifier: Apache-2.0
"""What a caller does wrong is said to be theirs: arguments of the wrong type, and functions that they gave and that fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import kepsilon as ke

DOCUMENT: dict[str, Any] = {
    "k": 2,
    "epsilon": 1,
    "algorithm": "ola",
    "max_suppression": 0.5,
    "attributes": {"town": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}},
}
TABLE = pa.table({"town": ["a", "a", "b", "b"]})
NEED_NO_GUARD = {"earlier_draw", "inputs_of", "json_schema", "made_up_patients", "refuse_input"}
"""Public functions that see paths and settings only."""


def released() -> pa.Table:
    return ke.anonymise(TABLE, ke.Policy.from_dict(DOCUMENT)).frame


CALLS: dict[str, Callable[..., object]] = {
    "anonymise": lambda policy, **more: ke.anonymise(TABLE, policy, **more),
    "check": lambda policy, **more: ke.check(TABLE, policy, **more),
    "explore": lambda policy, **more: ke.explore(TABLE, policy, **more),
    "audit": lambda policy, **more: ke.audit(TABLE, released(), policy, **more),
    "manifest": lambda policy, **more: ke.manifest(released(), policy, **more),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("policy", [DOCUMENT, "policy.toml", None], ids=["dictionary", "path", "nothing"])
def test_something_else_for_a_policy(call: Callable[..., object], policy: object) -> None:
    with pytest.raises(ValueError, match=f"policy: should be Policy, and is {type(policy).__name__}") as told:
        call(policy)
    assert "Policy.from_dict" in str(told.value)
    assert told.value.__cause__ is None
    assert told.value.__context__ is None


@pytest.mark.parametrize("name", ["anonymise", "check", "explore"])
def test_a_name_for_an_engine(name: str) -> None:
    with pytest.raises(ValueError, match=r"an engine is a value and not a name.*spark_engine"):
        CALLS[name](ke.Policy.from_dict(DOCUMENT), engine="spark")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_an_error_of_the_callers_own_function_is_passed_on(call: Callable[..., object]) -> None:
    def fail(step: str) -> None:
        raise LookupError(step)

    with pytest.raises(LookupError):
        call(ke.Policy.from_dict(DOCUMENT), on_step=fail)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ke.Policy.from_file({}), "path: should be str or Path, and is dict"),
        (lambda: ke.anonymise(TABLE, ke.Policy.from_dict(DOCUMENT), unsafe_seed="1"), "unsafe_seed: should be int"),
        (
            lambda: ke.anonymise(TABLE, ke.Policy.from_dict(DOCUMENT), unsafe_seed=-1),
            "unsafe_seed: should be 0 or more",
        ),
        (lambda: ke.anonymise(TABLE, ke.Policy.from_dict(DOCUMENT), memory=1.5), "memory: should be str or int"),
        (
            lambda: ke.anonymise(TABLE, ke.Policy.from_dict(DOCUMENT)).write(3),
            "path: should be str or Path, and is int",
        ),
    ],
)
def test_other_arguments_of_the_wrong_type(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_a_bug_with_right_arguments_stays_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AttributeError("a value")

    monkeypatch.setattr("kepsilon.pipeline.anonymise.k_anonymise", fail)
    with pytest.raises(ke.UnexpectedError):
        ke.anonymise(TABLE, ke.Policy.from_dict(DOCUMENT))


def test_every_public_function_is_guarded() -> None:
    functions = {name for name in ke.__all__ if inspect.isfunction(getattr(ke, name))}
    assert {name for name in functions if not hasattr(getattr(ke, name), "__wrapped__")} == NEED_NO_GUARD
    assert hasattr(ke.Manifest.write, "__wrapped__")
