# SPDX-License-Identifier: Apache-2.0
"""A kind of table that the package does not know: one class, one line that adds it, and everything takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import kepsilon
from kepsilon.sources.files import OpenedFile
from kepsilon.sources.kinds import SOURCES
from kepsilon.sources.protocol import Sink, Write
from material.people import people, policy


class Lines:
    """A record on each line, its fields between bars, after a line of names; an empty field is a null."""

    name = "lines"
    suffixes = (".lines",)
    other_suffixes = ()
    open_in_parts = None

    def takes(self, source: object) -> bool:
        return False

    def open(self, source: Path) -> OpenedFile:
        names = source.read_text(encoding="utf-8").partition("\n")[0].split("|")
        return OpenedFile(path=source, column_names=tuple(names), read=partial(self._read, source))

    def _read(self, path: Path, columns: Sequence[str]) -> pa.Table:
        names, *records = [line.split("|") for line in path.read_text(encoding="utf-8").splitlines()]
        fields = dict(zip(names, zip(*records, strict=True), strict=True))
        return pa.table({name: pa.array([field or None for field in fields[name]], pa.string()) for name in columns})

    @contextmanager
    def writing(self, sink: Sink) -> Iterator[Write]:
        with sink.target.open("w", encoding="utf-8") as file:

            def write(table: pa.Table) -> None:
                if not file.tell():
                    print(*table.column_names, sep="|", file=file)
                for record in table.to_pylist():
                    print(*("" if field is None else field for field in record.values()), sep="|", file=file)

            yield write


@pytest.fixture
def lines(case: Path) -> Iterator[Path]:
    """The made-up people in the toy's format, beside those in CSV and their policy."""
    records = people()
    text = "\n".join("|".join(fields) for fields in [list(records[0]), *(record.values() for record in records)])
    (case / "people.lines").write_text(text + "\n", encoding="utf-8")
    with SOURCES.having(Lines()):
        yield case


def test_checked_like_csv(lines):
    """Counted the same, and with the same notes."""
    found, wanted = (kepsilon.check(lines / f"people.{kind}", policy()) for kind in ("lines", "csv"))
    assert found.records.read == wanted.records.read == 120
    assert found == wanted


def test_explored_like_csv(lines):
    """Every figure of every cell."""
    found, wanted = (
        kepsilon.explore(lines / f"people.{kind}", policy(), k=[3, 5], epsilon=[1, 2]).to_json()
        for kind in ("lines", "csv")
    )
    assert found["cells"] == wanted["cells"]
    assert len(found["cells"]) >= 4


def test_proposed_for_like_csv(lines):
    """`init` gives the columns the same roles."""
    found, wanted = (kepsilon.propose_policy(lines / f"people.{kind}") for kind in ("lines", "csv"))
    assert found == wanted.replace("people.csv", "people.lines")


def test_released_written_and_audited(lines):
    """The release is that of CSV, in the toy's own format with all that goes beside it, and keeps its promises."""
    out, links = lines / "out.lines", lines / "links.lines"
    release = kepsilon.anonymise(lines / "people.lines", policy(), unsafe_seed=1)
    release.write(out, linkage=links, report=lines / "out.html")
    assert release.frame.equals(kepsilon.anonymise(lines / "people.csv", policy(), unsafe_seed=1).frame)
    names, *records = out.read_text(encoding="utf-8").splitlines()
    assert names == "zip|year|sex|height|illness"
    assert len(records) == release.record["records"]["released"] > 100
    assert "CANARY" not in out.read_text(encoding="utf-8")
    assert json.loads((lines / "out.lines.manifest.json").read_text(encoding="utf-8"))["digest"]
    assert "<svg" in (lines / "out.html").read_text(encoding="utf-8")
    audit = kepsilon.audit(lines / "people.lines", out, policy(), linkage=links)
    assert not audit.broken, audit.findings


def test_every_command_takes_it(lines, kepsilon_command):
    """By its suffix, from the first look at the data to the audit."""
    data, out, policy = lines / "people.lines", lines / "out.lines", ("-p", lines / "policy.toml")
    commands = [
        ("init", data, "-o", lines / "proposed.toml"),
        ("check", data, *policy),
        ("explore", data, *policy),
        ("anonymise", data, *policy, "-o", out, "--linkage", lines / "links.lines", "--report", lines / "out.html"),
        ("audit", data, out, *policy, "--linkage", lines / "links.lines"),
    ]
    for command in commands:
        outcome = kepsilon_command(*command)
        assert outcome.code == 0, outcome.out + outcome.err
    assert out.read_text(encoding="utf-8").startswith("zip|year|sex|height|illness\n")


def test_it_goes_in_and_others_come_out(lines):
    """And the other way round."""
    kepsilon.anonymise(lines / "people.lines", policy()).write(lines / "out.csv")
    assert (lines / "out.csv").read_text(encoding="utf-8").startswith('"zip","year","sex","height","illness"\n')
    kepsilon.anonymise(lines / "people.csv", policy()).write(lines / "out.lines")
    assert (lines / "out.lines").read_text(encoding="utf-8").startswith("zip|year|sex|height|illness\n")


def test_it_is_never_overwritten_as_an_input(lines):
    """The table of kinds says what was read."""
    with pytest.raises(kepsilon.EngineError, match="is the data, an input, which is never overwritten"):
        kepsilon.anonymise(lines / "people.lines", policy()).write(lines / "people.lines", overwrite=True)


def test_it_is_refused_where_records_have_to_come_in_parts(lines):
    """The toy reads all its records at once."""
    with pytest.raises(kepsilon.EngineError, match=r"people\.lines: under a memory limit only Parquet can be read"):
        kepsilon.anonymise(lines / "people.lines", policy(), memory="300MB")


def test_without_the_line_that_adds_it_nobody_knows_it(case):
    """Everything above is the work of that line."""
    (case / "people.lines").write_text("a|b\n1|2\n", encoding="utf-8")
    with pytest.raises(kepsilon.DataError, match="cannot tell what kind of file this is"):
        kepsilon.propose_policy(case / "people.lines")
