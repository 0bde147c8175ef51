# SPDX-License-Identifier: Apache-2.0
"""Parquet in folders and by patterns: read as one table, and released as a folder that appears whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.publish.record import Fates
from kepsilon.sources import folders
from kepsilon.sources.folders import files_of
from kepsilon.sources.parquet_files import ParquetFiles
from material.engine_cases import ENGINES, EVERY, POLICY, Case, document, plain, random_people, release

TABLE = pa.table({"a": [1, 2], "b": ["x", "y"]})


def write(folder: Path, *names: str, table: pa.Table = TABLE) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, folder / name)


def test_files_of_a_folder_in_the_order_of_their_names(tmp_path):
    """Folders inside count; marks and left-overs of whoever wrote it do not."""
    write(tmp_path, "b.parquet", "a.pq", "inner/c.parquet", "_SUCCESS.parquet", ".crc/d.parquet")
    (tmp_path / "readme.txt").write_text("hello", encoding="utf-8")
    assert [str(path.relative_to(tmp_path)) for path in files_of(tmp_path)] == ["a.pq", "b.parquet", "inner/c.parquet"]


def test_files_of_a_pattern(tmp_path):
    """Also one with ** in it; a file whose own name looks like a pattern is a file."""
    write(tmp_path, "x-1.parquet", "x-2.parquet", "y-1.parquet", "inner/x-3.parquet", "[z].parquet")
    assert [path.name for path in files_of(tmp_path / "x-*.parquet")] == ["x-1.parquet", "x-2.parquet"]
    assert len(files_of(tmp_path / "**" / "x-*.parquet")) == 3
    assert [path.name for path in files_of(tmp_path / "[z].parquet")] == ["[z].parquet"]


def test_nothing_to_read_is_said(tmp_path):
    """An empty folder, and a pattern that matches nothing."""
    for path in (tmp_path, tmp_path / "*.parquet"):
        with pytest.raises(kepsilon.DataError, match="holds no Parquet file"):
            files_of(path)


def test_folders_named_after_values_are_refused(tmp_path):
    """The column would be missing from the release without a word."""
    write(tmp_path, "year=2020/a.parquet")
    with pytest.raises(kepsilon.DataError, match="named after values of a column"):
        files_of(tmp_path)


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize("engine", EVERY)
def test_a_file_of_two_names_is_refused(engine, link, tmp_path):
    """Everybody in it would count twice, and a class of k would be one of half as many people."""
    source = plain().write(tmp_path)
    getattr(source / "latest.parquet", link)(source / "part-0.parquet")
    with pytest.raises(kepsilon.DataError, match=r"part-0\.parquet: is the same file as .*latest\.parquet"):
        release(plain(), engine, tmp_path)
    with pytest.raises(kepsilon.DataError, match="everybody in it would count twice"):
        files_of(source / "*.parquet")


@pytest.mark.parametrize("engine", EVERY)
def test_records_that_are_not_those_of_the_files_are_refused(engine, tmp_path, monkeypatch):
    """A second safeguard against reading anybody twice."""
    monkeypatch.setattr(folders, "_each_once", lambda found: tuple(found) * 2)
    with pytest.raises(kepsilon.EngineError, match="was changed while it was being read"):
        release(plain(), engine, tmp_path)


def change_a_value(file: Path) -> None:
    """As many records of the same columns; the time is another even where a clock is slow."""
    before = file.stat()
    parquet.write_table(parquet.read_table(file).set_column(1, "b", pa.array(["x", "z"])), file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("change", [change_a_value, empty, Path.unlink])
@pytest.mark.parametrize("changed", ["a.parquet", "b.parquet"])
def test_a_file_that_changes_after_it_was_opened_is_not_read(changed, change, tmp_path):
    """Even if it still has as many records and the same columns."""
    write(tmp_path, "a.parquet", "b.parquet")
    files = ParquetFiles(tmp_path)
    assert files.arrow_table(["a", "b"]).num_rows == 4
    change(tmp_path / changed)
    with pytest.raises(kepsilon.EngineError, match=rf"{changed}: was changed while it was being read"):
        files.arrow_table(["a", "b"])
    with pytest.raises(kepsilon.EngineError, match=rf"{changed}: was changed while it was being read"):
        list(files.parts(["a", "b"], coded=[], n_records=10))


def test_a_name_that_a_pattern_lists_twice_is_read_once(tmp_path):
    """Two ** reach the same file in more than one way."""
    write(tmp_path, "a.parquet", "inner/b.parquet", "inner/deep/c.parquet")
    found = files_of(tmp_path / "**" / "**" / "*.parquet")
    assert [path.name for path in found] == ["a.parquet", "b.parquet", "c.parquet"]
    assert ParquetFiles(tmp_path / "**" / "**" / "*.parquet").arrow_table(["a"]).num_rows == 6


def test_patterns_leave_out_what_folders_do(tmp_path):
    """Marks and left-overs, and folders that are named after values, below what the pattern leaves open."""
    write(tmp_path, "_out/a.parquet", "_out/_b.parquet", "_out/inner/_c/d.parquet", "_out/inner/e.parquet")
    for pattern in ("_out/**/*.parquet", "_out"):
        assert [path.name for path in files_of(tmp_path / pattern)] == ["a.parquet", "e.parquet"]
    write(tmp_path, "_out/year=2020/f.parquet")
    with pytest.raises(kepsilon.DataError, match="named after values of a column"):
        files_of(tmp_path / "_out" / "**" / "*.parquet")


@pytest.mark.parametrize(
    "wrong",
    [{"read": 9}, {"suppressed_by_k": -1, "released": 8}, {"suppressed_missing": 2}],
    ids=["read", "negative", "too many"],
)
def test_fates_that_do_not_add_up_release_nothing(wrong):
    """Whatever made them wrong, classes may be smaller than they seem."""
    causes = ("by_k", "by_confidence", "missing", "unlisted")
    fates = {"read": 10, "released": 6, **{f"suppressed_{cause}": 1 for cause in causes}}
    assert Fates(**fates).entering == 7
    with pytest.raises(kepsilon.EngineError, match="does not add up"):
        Fates(**fates | wrong)


def test_files_with_other_columns_are_refused(tmp_path):
    """Named by file and column; the order of columns does not matter."""
    write(tmp_path, "a.parquet")
    write(tmp_path, "b.parquet", table=TABLE.select(["b", "a"]))
    assert ParquetFiles(tmp_path).arrow_table(["a"]).column(0).to_pylist() == [1, 2, 1, 2]
    write(tmp_path, "c.parquet", table=TABLE.set_column(0, "a", pa.array([1.5, 2.5])))
    with pytest.raises(kepsilon.DataError, match=r'c\.parquet: columns "a" are missing, new, or of another type'):
        ParquetFiles(tmp_path)


def test_a_damaged_file_is_refused_by_name(tmp_path):
    """Without anything it holds."""
    write(tmp_path, "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 CANARY")
    with pytest.raises(kepsilon.DataError, match=r"b\.parquet: is not a Parquet file"):
        ParquetFiles(tmp_path)


@pytest.mark.parametrize("engine", EVERY)
def test_original_rows_count_through_the_files_in_the_order_of_their_paths(engine, tmp_path):
    """Written in any order: compared part by part and as text, and each file from its first record to its last."""
    case = plain()
    names = ["a/z.parquet", "b.parquet", "part-10.parquet", "part-2.parquet", "part-2.pq"]
    pieces = dict(zip(names, range(0, 3_000, 600), strict=True))
    for name in reversed(names):
        write(tmp_path / "table", name, table=case.table.slice(pieces[name], 600))
    released = release(case, engine, tmp_path)
    rows = released.linkage.column("original_row")
    assert released.frame.column("score").to_pylist() == case.table.column("score").take(rows).to_pylist()
    assert len(rows) > 2_000


@pytest.mark.parametrize("engine", EVERY)
def test_a_folder_is_released_whole(engine, tmp_path):
    """Parquet files that together are the release; the digest is that of the list of their digests."""
    released = release(plain(), engine, tmp_path)
    released.write(tmp_path / "out", linkage=tmp_path / "links.parquet")
    table = parquet.read_table(tmp_path / "out")
    assert (
        table.num_rows == released.record["records"]["released"] == len(parquet.read_table(tmp_path / "links.parquet"))
    )
    assert table.equals(released.frame)
    manifest = json.loads((tmp_path / "out.manifest.json").read_text(encoding="utf-8"))
    printed = subprocess.run(
        "sha256sum * | sha256sum", shell=True, cwd=tmp_path / "out", capture_output=True, text=True, check=True
    )
    assert manifest["digest"] == "sha256:" + printed.stdout.split()[0]
    assert [path.name for path in tmp_path.glob(".kepsilon-staging-*")] == []


def test_a_folder_is_never_replaced(tmp_path):
    """It might hold anything; also with overwrite."""
    released = release(plain(), "in memory", tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("mine", encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(kepsilon.EngineError, match="a folder is never replaced"):
            released.write(tmp_path / "out", overwrite=overwrite)
    assert (tmp_path / "out" / "precious").read_text(encoding="utf-8") == "mine"


def test_a_release_is_not_written_into_the_folder_that_is_read(tmp_path, kepsilon_command):
    """The next run would read it as a part of the table."""
    Case(pa.table(random_people(300)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    for name in ("out.parquet", "inner"):
        output = tmp_path / "table" / name
        outcome = kepsilon_command("anonymise", tmp_path / "table", "-p", tmp_path / "policy.toml", "-o", output)
        assert outcome.code == 2
        assert "inside the folder that is read" in outcome.err


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("source", ["table", "table/**/*.parquet", "table/**/part-?.parquet"])
def test_a_release_is_not_written_where_the_next_run_would_read_it(source, engine, tmp_path):
    """Said by the release itself, in a folder and where a pattern looks."""
    case = plain()
    (case.write(tmp_path) / "inner").mkdir()
    shutil.move(tmp_path / "table" / "part-2.parquet", tmp_path / "table" / "inner" / "part-2.parquet")
    released = kepsilon.anonymise(
        tmp_path / source, kepsilon.Policy.from_dict(case.policy), engine=ENGINES[engine](tmp_path, case.memory)
    )
    for name in ("out.parquet", "out", "links.parquet", "inner/out.parquet"):
        target = tmp_path / "table" / name
        paths = {"path": tmp_path / "out.csv", "linkage": target} if "links" in name else {"path": target}
        with pytest.raises(kepsilon.EngineError, match=r"is inside the folder that is read|is where the pattern finds"):
            released.write(**paths)
        assert not target.exists()
    released.write(tmp_path / "out.parquet")


@pytest.mark.parametrize("memory", [(), ("--memory", "300MB")], ids=["in memory", "spilling"])
def test_an_output_that_a_pattern_reads_is_refused_before_any_work(memory, tmp_path, kepsilon_command, monkeypatch):
    """As a file and as a folder; one beside the policy is none of them."""
    source = Case(pa.table(random_people(300)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "new").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("kepsilon.anonymise", lambda *_a, **_o: pytest.fail("work has begun"))
        for pattern, output in (
            (source / "*.parquet", source / "out.parquet"),
            (source / "*.parquet", source / "out.csv"),
            (source / "part-*.parquet", source / "out"),
            (tmp_path / "*" / "*.parquet", tmp_path / "new" / "out.parquet"),
            (tmp_path / "*" / "part-*.parquet", tmp_path / "new-folder"),
            (tmp_path / "**" / "part-*.parquet", tmp_path / "new" / "out"),
        ):
            outcome = kepsilon_command("anonymise", pattern, "-p", tmp_path / "policy.toml", "-o", output, *memory)
            assert outcome.code == 2, (pattern, output)
            assert "is where the pattern finds the files that are read" in outcome.err
    done = kepsilon_command(
        "anonymise", source / "*.parquet", "-p", tmp_path / "policy.toml", "-o", tmp_path / "out", *memory
    )
    assert done.code == 0, done.err


def test_an_input_that_a_folder_links_to_is_not_overwritten(tmp_path, kepsilon_command):
    """It is an input by whatever name."""
    source = Case(pa.table(random_people(300)), document()).write(tmp_path)
    shutil.move(source / "part-0.parquet", tmp_path / "elsewhere.parquet")
    (source / "part-0.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    outcome = kepsilon_command(
        "anonymise", source, "-p", tmp_path / "policy.toml", "-o", tmp_path / "elsewhere.parquet", "--overwrite"
    )
    assert outcome.code == 2
    assert "is the data, an input, which is never overwritten" in outcome.err


def test_check_init_and_audit_read_folders_too(tmp_path, kepsilon_command):
    """From the first look at the data to the audit of a released folder."""
    Case(pa.table(random_people(2_000)), document()).write(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    source, policy = tmp_path / "table", tmp_path / "policy.toml"
    assert kepsilon_command("init", source, "-o", tmp_path / "proposed.toml").code == 0
    assert kepsilon_command("check", source, "-p", policy).code == 0
    made = kepsilon_command(
        "anonymise", f"{source}/*.parquet", "-p", policy, "-o", tmp_path / "out", "--memory", "300MB",
        "--linkage", tmp_path / "links.parquet",
    )  # fmt: skip
    assert made.code == 0, made.err
    audit = kepsilon_command("audit", source, tmp_path / "out", "-p", policy, "--linkage", tmp_path / "links.parquet")
    assert audit.code == 0, audit.out + audit.err
