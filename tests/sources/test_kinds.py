# SPDX-License-Identifier: Apache-2.0
"""The table of kinds: by suffix and by type, with messages that are made from it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import kepsilon
from kepsilon.sources.kinds import SOURCES, Kinds, find_kind, kind_of, open_source, writer_for, writing
from kepsilon.sources.protocol import Sink

TABLE = pa.table({"a": ["x", None, "y"], "b": [1, 2, 3]})
SUFFIXES = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
}


class Toy:
    """A kind of table, as far as the table of kinds looks at it."""

    open_in_parts = None
    writing = None

    def __init__(self, name: str, *suffixes: str, others: tuple[str, ...] = (), taken: type | None = None) -> None:
        self.name, self.suffixes, self.other_suffixes, self._taken = name, suffixes, others, taken

    def takes(self, source: object) -> bool:
        return self._taken is not None and isinstance(source, self._taken)

    def open(self, source: object) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(("suffix", "name"), SUFFIXES.items())
def test_suffixes_tell_kinds(suffix, name):
    """In capitals too, and whether a path is a text or a Path."""
    for path in (f"people{suffix}", Path(f"people{suffix.upper()}")):
        assert kind_of(path).name == name
        assert writer_for(Path(path)) is not None


def test_types_tell_kinds():
    """Nothing is read for that."""
    for frame in (TABLE, TABLE.to_reader(), pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pl.LazyFrame()):
        assert kind_of(frame).name == "table in memory"
    spark = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe", "__arrow_c_stream__": None})
    assert kind_of(spark()).name == "Spark DataFrame"


def test_a_folder_or_a_pattern_is_parquet_whatever_it_is_called(tmp_path):
    """A folder that is called like a CSV file is no CSV file."""
    (tmp_path / "people.csv").mkdir()
    for path in (tmp_path, tmp_path / "people.csv", tmp_path / "*.parquet", tmp_path / "nobody-*.csv"):
        assert kind_of(path).name == "Parquet"


@pytest.mark.parametrize("ask", [kind_of, open_source, writer_for], ids=["kind", "open", "write"])
def test_an_unknown_suffix_is_refused_with_those_that_are_known(ask):
    """The list is made from the table, so that whatever is added appears in it."""
    fix = "Use CSV (.csv, .tsv), Parquet (.parquet) or Arrow (.arrow, .feather)."
    for added in (None, Toy("Excel", ".xlsx", others=(".xls",))):
        with pytest.raises(kepsilon.DataError) as caught:
            ask_with(added, ask, Path("people.docx"))
        (problem,) = caught.value.problems
        assert (problem.where, problem.what) == (
            "people.docx",
            "cannot tell what kind of file this is from its suffix.",
        )
        if added is not None and ask is not writer_for:
            assert problem.fix == "Use CSV (.csv, .tsv), Parquet (.parquet), Arrow (.arrow, .feather) or Excel (.xlsx)."
        else:
            assert problem.fix == fix


def ask_with(added: Toy | None, ask, path: Path) -> None:
    if added is None:
        ask(path)
        return
    with SOURCES.having(added):
        ask(path)


def test_an_object_that_is_no_table_is_refused():
    """With what would be right, and without anything that is in it."""
    assert find_kind(["CANARY"]) is None
    with pytest.raises(kepsilon.EngineError) as caught:
        open_source(["CANARY"])
    (problem,) = caught.value.problems
    assert problem.what == "a list is not a table that can be read."
    assert problem.fix == "Give a path, or an Arrow, Polars, pandas or DuckDB table."


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there(suffix, tmp_path):
    """Every kind says so in the same words."""
    with pytest.raises(kepsilon.DataError, match=rf"nobody\{suffix}: there is no such file\."):
        open_source(tmp_path / f"nobody{suffix}")


@pytest.mark.parametrize(
    "kind", [Toy("Toy", ".csv"), Toy("Toy", ".toy", others=(".ipc",))], ids=["named", "understood"]
)
def test_two_kinds_of_one_suffix_are_refused(kind):
    """Nobody could tell which of them reads a file; and the table is as it was."""
    before = list(SOURCES)
    with pytest.raises(ValueError, match=r"(\.csv is a suffix of CSV|\.ipc is a suffix of Arrow) already"):
        SOURCES.add(kind)
    assert list(SOURCES) == before
    assert find_kind("people.toy") is None


def test_two_kinds_of_one_name_are_refused():
    """A message could not say which of them is meant."""
    with pytest.raises(ValueError, match="there is a kind of table called Toy already"):
        Kinds(Toy("Toy", ".a"), Toy("Toy", ".b"))


@pytest.mark.parametrize("suffix", [".XLSX", "xlsx", ".tar.gz", ""])
def test_a_suffix_that_no_path_has_is_refused(suffix):
    """It would never be found."""
    with pytest.raises(ValueError, match="is no suffix in lower case"):
        Kinds(Toy("Toy", suffix))


def test_the_last_kind_that_takes_an_object_has_it():
    """So that somebody's own frame can be told from all others."""

    class Frame(list):
        __arrow_c_stream__ = None

    assert kind_of(Frame()).name == "table in memory"
    with SOURCES.having(Toy("Toy", taken=Frame)):
        assert kind_of(Frame()).name == "Toy"
    assert kind_of(Frame()).name == "table in memory"


def test_a_kind_that_is_only_read_is_not_written():
    """Said by name, with what is written instead."""
    with SOURCES.having(Toy("SAS", ".sas7bdat")), pytest.raises(kepsilon.DataError) as caught:
        writer_for(Path("out.sas7bdat"))
    (problem,) = caught.value.problems
    assert problem.what == "SAS can be read, but not written."
    assert problem.fix == "Use CSV (.csv, .tsv), Parquet (.parquet) or Arrow (.arrow, .feather)."


@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "in parts"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_again(suffix, in_parts, tmp_path):
    """By every suffix, with nulls."""
    path = tmp_path / f"table{suffix}"
    with writing(Sink(target=path, final_name=path, in_parts=in_parts)) as write:
        for table in [TABLE.slice(0, 1), TABLE.slice(1)] if in_parts else [TABLE]:
            write(table)
    opened = open_source(path)
    assert opened.name == path.name
    assert opened.column_names == ("a", "b")
    assert path in opened.inputs
    assert (
        opened.arrow_table(["b", "a"])
        .cast(pa.schema([("b", pa.int64()), ("a", pa.string())]))
        .equals(TABLE.select(["b", "a"]))
    )
    assert opened.like(TABLE) is TABLE


def test_a_release_has_the_delimiter_of_the_csv_file_that_it_comes_from(tmp_path):
    """Unless its name says that it has tabs."""
    (tmp_path / "in.csv").write_text("a;b\nx;1\n", encoding="utf-8")
    source = open_source(tmp_path / "in.csv")
    for name, like, wanted in (("1.csv", source, "a;b"), ("2.csv", None, "a,b"), ("3.tsv", source, "a\tb")):
        with writing(Sink(target=tmp_path / name, final_name=tmp_path / name, like=like)) as write:
            write(TABLE)
        assert (tmp_path / name).read_text(encoding="utf-8").splitlines()[0].replace('"', "") == wanted


def test_one_parquet_file_and_a_folder_of_it_are_read_alike(tmp_path):
    """One reader: the same values and types, text that repeats as coded text in both."""
    table = pa.table({"zip": ["01234", "01235", None] * 500, "n": range(1_500)}).replace_schema_metadata({"note": "x"})
    (tmp_path / "folder").mkdir()
    parquet.write_table(table, tmp_path / "one.parquet")
    parquet.write_table(table.slice(0, 700), tmp_path / "folder" / "1.parquet")
    parquet.write_table(table.slice(700), tmp_path / "folder" / "2.parquet")
    one, many = (open_source(tmp_path / name) for name in ("one.parquet", "folder"))
    assert type(one) is type(many)
    found = one.arrow_table(["n", "zip"], coded=["zip"])
    assert found.schema.equals(many.arrow_table(["n", "zip"], coded=["zip"]).schema, check_metadata=True)
    assert (
        found.to_pylist()
        == many.arrow_table(["n", "zip"], coded=["zip"]).to_pylist()
        == table.select(["n", "zip"]).to_pylist()
    )
    assert one.beside() == many.beside() == ("note",)


def test_one_parquet_file_that_was_changed_is_refused(tmp_path):
    """As files of a folder are: what was counted and what is released would be of different people."""
    parquet.write_table(TABLE, tmp_path / "one.parquet")
    opened = open_source(tmp_path / "one.parquet")
    parquet.write_table(TABLE.slice(1), tmp_path / "one.parquet")
    with pytest.raises(kepsilon.EngineError, match="was changed while it was being read"):
        opened.arrow_table(["a"])


def test_only_text_files_are_read_whole(tmp_path):
    """And only a single column of CSV cannot tell a null from an empty text."""
    (tmp_path / "two.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    (tmp_path / "one.csv").write_text("a\nx\n", encoding="utf-8")
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    feather.write_feather(TABLE, str(tmp_path / "t.feather"))
    sources = [TABLE, *(tmp_path / name for name in ("one.csv", "two.csv", "t.parquet", "t.feather"))]
    opened = [open_source(source) for source in sources]
    assert [own.by_column for own in opened] == [True, False, False, True, True]
    assert [own.tells_null_from_empty for own in opened] == [True, False, True, True, True]
