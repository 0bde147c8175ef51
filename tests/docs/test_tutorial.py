# SPDX-License-Identifier: Apache-2.0
"""Every command of the tutorial runs as it stands there, and prints what stands there, line by line."""

from __future__ import annotations

import sys

import pytest

from material.machine import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import write_tutorial


def test_the_tutorial_prints_what_it_says():
    """A newcomer compares the screen with the page; a line that differs makes them stop."""
    page = write_tutorial.PAGE.read_text(encoding="utf-8")
    assert write_tutorial.run(page) == page, "run: make docs-tutorial, and look at what it changed"


def test_what_a_command_does_not_print_any_more_is_noticed():
    """The test above can fail."""
    page = "```sh\necho new\n```\n\n```text\nold\n```\n"
    assert write_tutorial.run(page) == page.replace("old", "new")


def test_another_exit_code_is_noticed():
    """A command that fails would otherwise only print less."""
    with pytest.raises(write_tutorial.TutorialError, match="exit code 1, not 0"):
        write_tutorial.run("```sh\nfalse\n```\n")
    write_tutorial.run("```sh\nfalse # exit code 1\n```\n")


def test_a_line_that_the_proposal_has_no_more_is_noticed():
    """So that the tutorial never tells a reader to change what is not there."""
    with pytest.raises(write_tutorial.TutorialError, match="begins with '# k = 99'"):
        write_tutorial.run("```sh\necho 'k = 10' > policy.toml\n```\n\n```diff\n-# k = 99\n+k = 9\n```\n")
