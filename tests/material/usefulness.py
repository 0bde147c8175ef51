# SPDX-License-Identifier: Apache-2.0
"""Useless attributes in tests: most tables here are tiny, and ε is small on purpose, so that noise drowns what is published.

Tests about other things take it as if every policy accepted that (`accept_useless`). Tests of the refusal itself, and the
rigs, ask for the fixture `refuses_useless`, which puts back what users have.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from kepsilon.predict.verdicts import AttributeVerdict, Mark, ReleaseVerdict

_AS_USERS_HAVE_IT = AttributeVerdict.is_refused

NO_VERDICT = ReleaseVerdict(
    promise=Mark(state="kept", sentence="Made up."),
    risk=Mark(state="no limit", sentence="Made up."),
    usefulness=Mark(state="kept", sentence="Made up."),
)
"""The verdict of a made-up prediction."""


@contextmanager
def useless_is_accepted():
    """No attribute is refused for being useless while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AttributeVerdict, "is_refused", property(lambda self: False))
        yield


def accept_in_file(policy: Path) -> None:
    """Makes a policy file accept useless ε-quasis, for tests that run kepsilon in a process of its own."""
    role = 'role = "epsilon-quasi"\n'
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace(role, f'{role}accept_useless = "made-up people"\n'), encoding="utf-8")


@contextmanager
def useless_is_refused():
    """Useless attributes are refused while the block runs, unless the policy accepts them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AttributeVerdict, "is_refused", _AS_USERS_HAVE_IT)
        yield
