# SPDX-License-Identifier: Apache-2.0
"""The folder of a reproduction: what was measured stays, and is never mixed with what another run measured."""

from __future__ import annotations

import json

import pytest

from kepsilon import EngineError
from kepsilon.reproduce.results_on_disk import ResultsFolder, digest_of_code, versions
from kepsilon.reproduce.scope import Scope, quick_scope
from kepsilon.reproduce.tasks import all_tasks, gathered

ABOUT = {"setting": {"runs": 3}, "code": "abc"}


def test_what_was_kept_is_found_by_the_same_run(tmp_path):
    """An interrupted run goes on where it stopped."""
    with ResultsFolder(tmp_path / "out", ABOUT, overwrite=False) as results:
        results.store("one", {"figure": 1})
    again = ResultsFolder(tmp_path / "out", ABOUT, overwrite=False)
    assert "one" in again
    assert "two" not in again
    assert again["one"] == {"figure": 1}


@pytest.mark.parametrize("other", [{"setting": {"runs": 30}, "code": "abc"}, {"setting": {"runs": 3}, "code": "abd"}])
def test_another_run_is_refused_and_nothing_of_the_first_is_lost(tmp_path, other):
    """Other settings or other code would make figures that never belonged together."""
    with ResultsFolder(tmp_path, ABOUT, overwrite=False) as results:
        results.store("one", {"figure": 1})
    with pytest.raises(EngineError, match="another reproduction"):
        ResultsFolder(tmp_path, other, overwrite=False)
    assert ResultsFolder(tmp_path, ABOUT, overwrite=False)["one"] == {"figure": 1}


def test_overwriting_removes_what_was_measured_and_nothing_else(tmp_path):
    """A file of the user's beside the run is not ours to remove."""
    with ResultsFolder(tmp_path, ABOUT, overwrite=False) as results:
        results.store("one", {"figure": 1})
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    other = ResultsFolder(tmp_path, {"setting": {}}, overwrite=True)
    assert "one" not in other
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_measurement_cut_off_while_writing_is_measured_again(tmp_path):
    """Only a whole file is a measurement, whatever a power cut left."""
    results = ResultsFolder(tmp_path, ABOUT, overwrite=False)
    (tmp_path / "measurements" / "one.json.part").write_text('{"fig', encoding="utf-8")
    (tmp_path / "measurements" / "two.json").write_text("", encoding="utf-8")
    assert "one" not in results
    assert "two" not in results


def test_a_folder_with_files_of_our_names_and_no_log_is_refused(tmp_path):
    """Whoever wrote that index.html did not ask us to replace it."""
    (tmp_path / "index.html").write_text("somebody's", encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(EngineError, match="is not of a reproduction"):
            ResultsFolder(tmp_path, ABOUT, overwrite=overwrite)
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == "somebody's"


def test_a_file_is_no_folder(tmp_path):
    """Said so, even with --overwrite."""
    (tmp_path / "out").write_text("", encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(EngineError, match="is a file"):
            ResultsFolder(tmp_path / "out", ABOUT, overwrite=overwrite)


def test_the_log_says_what_the_run_depended_on(tmp_path):
    """Versions, settings and seconds."""
    results = ResultsFolder(tmp_path, ABOUT, overwrite=False)
    results.finish({"claims": []}, facts={"versions": versions()}, seconds={"one": 1.5})
    log = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert log["about"] == ABOUT
    assert log["seconds"] == {"one": 1.5}
    assert {"kepsilon", "python", "numpy"} <= set(log["versions"])
    assert len(digest_of_code()) == 16


@pytest.mark.parametrize("setting", [Scope(), quick_scope()])
def test_tasks_cover_the_paper_and_have_names_of_their_own(setting):
    """What measures time comes last, when nothing else runs."""
    tasks = all_tasks(setting, ["adult", "florida", "michigan"])
    names = [task.name for task in tasks]
    assert len(set(names)) == len(names)
    assert [task.runs_alone for task in tasks] == sorted(task.runs_alone for task in tasks)
    assert all(("(stand-in)" in task.words) == (task.data_set != "adult") for task in tasks)
    found = gathered(tasks, {task.name: {"ks": [{"k": task.k}]} for task in tasks})
    assert [one["k"] for one in found["releases-florida-mondrian"]["ks"]] == [*setting.ks]
    assert {name.split("-")[0] for name in found} == {
        "releases", "dimensions", "distributions", "uniform", "reasons", "additions", "times", "choice",
    }  # fmt: skip


def test_two_runs_in_one_folder_are_kept_apart(tmp_path):
    """They would time each other's work."""
    with ResultsFolder(tmp_path, ABOUT, overwrite=False), pytest.raises(EngineError, match="another run"):
        ResultsFolder(tmp_path, ABOUT, overwrite=False)
    with ResultsFolder(tmp_path, ABOUT, overwrite=False) as results:
        assert "one" not in results


def test_a_folder_in_which_nothing_was_measured_is_taken(tmp_path):
    """As after a run that was refused for its data."""
    with ResultsFolder(tmp_path, ABOUT, overwrite=False):
        pass
    with ResultsFolder(tmp_path, {"code": "other"}, overwrite=False) as results:
        assert "one" not in results
        results.store("one", {})
    with ResultsFolder(tmp_path, {"code": "other"}, overwrite=False) as again:
        assert "one" in again
    with pytest.raises(EngineError, match="of other"):
        ResultsFolder(tmp_path, ABOUT, overwrite=False)


def test_what_differs_is_said(tmp_path):
    """So that the right thing is changed."""
    with ResultsFolder(tmp_path, ABOUT, overwrite=False) as results:
        results.store("one", {})
    with pytest.raises(EngineError, match="of other settings, other code"):
        ResultsFolder(tmp_path, {"setting": {}, "code": "x"}, overwrite=False)
