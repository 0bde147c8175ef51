# SPDX-License-Identifier: Apache-2.0
"""The folder of a reproduction: what was measured stays, and is never mixed with what another run measured."""

from __future__ import annotations

import json

import pytest

from kepsilon import EngineError
from kepsilon.reproduce.kept import Kept, digest_of_code
from kepsilon.reproduce.setting import Setting, quick_setting
from kepsilon.reproduce.tasks import all_tasks, gathered

ABOUT = {"setting": {"runs": 3}, "code": "abc"}


def test_what_was_kept_is_found_by_the_same_run(tmp_path):
    """An interrupted run goes on where it stopped."""
    Kept(tmp_path / "out", ABOUT, overwrite=False).keep("one", {"figure": 1})
    again = Kept(tmp_path / "out", ABOUT, overwrite=False)
    assert "one" in again
    assert "two" not in again
    assert again["one"] == {"figure": 1}


@pytest.mark.parametrize("other", [{"setting": {"runs": 30}, "code": "abc"}, {"setting": {"runs": 3}, "code": "abd"}])
def test_another_run_is_refused_and_nothing_of_the_first_is_lost(tmp_path, other):
    """Other settings or other code would make figures that never belonged together."""
    Kept(tmp_path, ABOUT, overwrite=False).keep("one", {"figure": 1})
    with pytest.raises(EngineError, match="another reproduction"):
        Kept(tmp_path, other, overwrite=False)
    assert Kept(tmp_path, ABOUT, overwrite=False)["one"] == {"figure": 1}


def test_overwriting_removes_what_was_measured_and_nothing_else(tmp_path):
    """A file of the user's beside the run is not ours to remove."""
    Kept(tmp_path, ABOUT, overwrite=False).keep("one", {"figure": 1})
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    other = Kept(tmp_path, {"setting": {}}, overwrite=True)
    assert "one" not in other
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_measurement_cut_off_while_writing_is_measured_again(tmp_path):
    """Only a whole file has the name of a measurement."""
    kept = Kept(tmp_path, ABOUT, overwrite=False)
    (tmp_path / "measurements" / "one.json.part").write_text('{"fig', encoding="utf-8")
    assert "one" not in kept


def test_a_folder_with_files_of_our_names_and_no_log_is_refused(tmp_path):
    """Whoever wrote that index.html did not ask us to replace it."""
    (tmp_path / "index.html").write_text("somebody's", encoding="utf-8")
    with pytest.raises(EngineError, match="another reproduction"):
        Kept(tmp_path, ABOUT, overwrite=False)
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == "somebody's"


def test_a_file_is_no_folder(tmp_path):
    """Said so, even with --overwrite."""
    (tmp_path / "out").write_text("", encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(EngineError, match="is a file"):
            Kept(tmp_path / "out", ABOUT, overwrite=overwrite)


def test_the_log_says_what_the_run_depended_on(tmp_path):
    """Versions, settings and seconds."""
    kept = Kept(tmp_path, ABOUT, overwrite=False)
    kept.finish({"claims": []}, seconds={"one": 1.5})
    log = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert log["about"] == ABOUT
    assert log["seconds"] == {"one": 1.5}
    assert {"kepsilon", "python", "numpy"} <= set(log["versions"])
    assert len(digest_of_code()) == 16


@pytest.mark.parametrize("setting", [Setting(), quick_setting()])
def test_tasks_cover_the_paper_and_have_names_of_their_own(setting):
    """What measures time comes last, when nothing else runs."""
    tasks = all_tasks(setting, ["adult", "florida", "michigan"])
    names = [task.name for task in tasks]
    assert len(set(names)) == len(names)
    assert [task.runs_alone for task in tasks] == sorted(task.runs_alone for task in tasks)
    found = gathered(tasks, {task.name: {"ks": [{"k": task.k}]} for task in tasks})
    assert [one["k"] for one in found["releases-florida-mondrian"]["ks"]] == [*setting.ks]
    assert {name.split("-")[0] for name in found} == {
        "releases", "dimensions", "distributions", "uniform", "reasons", "additions", "times", "choice",
    }  # fmt: skip
