# SPDX-License-Identifier: Apache-2.0
"""CSV files of mixed encodings, files that are no files, and empty cells in quotes."""

from __future__ import annotations

import csv
import os
import signal
import socket
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import kepsilon as ke
from material.people import people, policy

PLAIN = b"name,q,s\n" + b"".join(b"CANARY-%d,%d,x\n" % (i, i % 3) for i in range(30))
"""A CSV file of 31 lines in ASCII."""

POLICY_OF_PLAIN = {
    "k": 2,
    "epsilon": 1,
    "algorithm": "ola",
    "max_suppression": 0.0,
    "attributes": {
        "name": {"role": "identifier"},
        "q": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "s": {"role": "sensitive"},
    },
}


def plain_policy() -> ke.Policy:
    return ke.Policy.from_dict(POLICY_OF_PLAIN)


def with_lines(tmp_path: Path, lines: dict[int, bytes], *, end: bytes = b"\n", text: bytes = PLAIN) -> Path:
    """A file whose lines of these numbers, counted from 1, have this text in their last cell."""
    all_lines = text.splitlines()
    for number, own in lines.items():
        all_lines[number - 1] = b"CANARY,1," + own
    path = tmp_path / "table.csv"
    path.write_bytes(end.join(all_lines) + end)
    return path


UTF_8, LEGACY = "Zürich".encode(), "Zürich".encode("cp1252")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize(
    ("lines", "first"),
    [({5: UTF_8, 17: LEGACY}, 17), ({5: LEGACY, 17: UTF_8}, 5), ({31: LEGACY, 2: UTF_8}, 31)],
    ids=["UTF-8 first", "Windows-1252 first", "far apart"],
)
def test_f6_mixed_encodings_are_refused_with_the_line(tmp_path, lines, first, end):
    """Read in either encoding, some names would be released as other letters."""
    path = with_lines(tmp_path, lines, end=end)
    for work in (lambda: ke.anonymise(path, plain_policy()), lambda: ke.propose_policy(path)):
        with pytest.raises(ke.DataError, match=rf"\bline {first} is not UTF-8") as refusal:
            work()
        assert "rich" not in str(refusal.value)


def test_f6_lines_are_counted_as_an_editor_does_it(tmp_path):
    """Also where cells hold line breaks, and where a line break lies across two blocks that are read."""
    path = with_lines(tmp_path, {3: b'"one\ntwo\r\nthree"', 10: UTF_8, 20: LEGACY})
    with pytest.raises(ke.DataError, match=r"\bline 22 is not UTF-8, although line 12 is"):
        ke.anonymise(path, plain_policy())
    filler = (
        b"CANARY,1,x\r\n" * 1_398_102
    )  # 16,777,224 bytes: the block of 16 MiB ends inside the last line break but one
    text = b"name,q,s\r\n" + filler + b"CANARY,1," + UTF_8 + b"\r\nCANARY,1," + LEGACY + b"\r\n"
    path.write_bytes(text)
    started = time.perf_counter()
    with pytest.raises(ke.DataError, match=r"\bline 1398105 is not UTF-8, although line 1398104 is"):
        ke.anonymise(path, plain_policy())
    assert time.perf_counter() - started < 5, "bytes are not looked at one by one"


def test_f6_mixed_encodings_beyond_the_beginning_of_the_file(tmp_path):
    """The first megabyte says nothing about the last line."""
    text = PLAIN + b"CANARY,1,x\n" * 200_000
    path = with_lines(tmp_path, {2: UTF_8, 200_031: LEGACY}, text=text)
    with pytest.raises(ke.DataError, match=r"\bline 200031 is not UTF-8, although line 2 is"):
        ke.anonymise(path, plain_policy())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAIN.replace(b"-7,", b"-\x00,"), "line 9 holds a NUL byte"),
        (PLAIN.decode().encode("utf-16"), "is UTF-16 text"),
        (PLAIN.decode().encode("utf-16-le"), "line 1 holds a NUL byte"),
        (b"\xef\xbb\xbf" + PLAIN.replace(b"-7,", b"-\xfc,"), "line 9 is not UTF-8, although its first bytes say so"),
        (PLAIN.replace(b"-7,", b"-\x81,"), "line 9 holds a byte that is a letter neither in UTF-8 nor"),
        (PLAIN + b"CANARY,1,Z\xc3", "line 32 holds"),
        (
            PLAIN.replace(b"-7,1,x", b"-7,1"),
            "1 records do not have the 3 cells of the header; the first begins on line 9",
        ),
        (
            PLAIN.replace(b"-3,0,x", b'-3,0,"x\ny\nz"').replace(b"-7,1,x", b'-7,1,"\n\n",x'),
            "the first begins on line 11",
        ),
    ],
    ids=["NUL", "UTF-16", "UTF-16 without mark", "false mark", "no letter", "cut off", "ragged", "ragged, breaks"],
)
def test_f6_what_is_no_text_is_refused_with_the_line(tmp_path, text, message):
    """Nothing is guessed, and no value is shown."""
    if "line 32" in message:
        text, message = text + b"\xb6\xff\n", "line 32 is not UTF-8, although line 32 is"
    (tmp_path / "table.csv").write_bytes(text)
    with pytest.raises(ke.DataError) as refusal:
        ke.anonymise(tmp_path / "table.csv", plain_policy())
    assert message in str(refusal.value)
    assert "CANARY" not in str(refusal.value)


def test_f6_a_legacy_encoding_is_read_as_a_whole_and_said(tmp_path, kepsilon_command):
    """Windows-1252 also has the letters that Latin-1 takes for control characters, such as €."""
    path = with_lines(tmp_path, {5: "10 € für Zürich".encode("cp1252")})
    (tmp_path / "policy.toml").write_text(
        'k = 2\nepsilon = 1\nalgorithm = "ola"\nmax_suppression = 0\n[attributes]\nname = { role = "identifier" }\n'
        'q = { role = "k-quasi", hierarchy = { type = "suppress" } }\ns = { role = "sensitive" }\n',
        encoding="utf-8",
    )
    outcome = kepsilon_command("anonymise", path, "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.csv")
    assert outcome.code == 0, outcome.err
    assert "is not UTF-8 text, and was read as Windows-1252" in outcome.err
    assert "10 € für Zürich" in (tmp_path / "out.csv").read_text(encoding="utf-8")
    checked = kepsilon_command("check", path, "-p", tmp_path / "policy.toml")
    assert "was read as Windows-1252" in checked.out + checked.err
    assert "was read as Windows-1252" in ke.propose_policy(path).replace("\n# ", " ")


def test_f6_a_hierarchy_file_of_mixed_encodings_is_refused(tmp_path):
    """Its labels are released."""
    (tmp_path / "levels.csv").write_bytes(b"0;" + UTF_8 + b";*\n1;" + LEGACY + b";*\n")
    attributes = {**POLICY_OF_PLAIN["attributes"]}
    attributes["q"] = {"role": "k-quasi", "hierarchy": {"type": "file", "path": "levels.csv"}}
    with pytest.raises(ke.PolicyError, match="line 2 is not UTF-8, although line 1 is"):
        ke.Policy.from_dict({**POLICY_OF_PLAIN, "attributes": attributes}, folder=tmp_path)


class HangsError(BaseException):
    """The command waits; no handler of errors catches this."""


@pytest.fixture
def is_refused_at_once(kepsilon_command):
    """Runs a command, and returns what it says when it refuses; a command that waits for a pipe is ended by an alarm."""

    def end(*_: object) -> None:
        raise HangsError

    def refused(arguments: list[object]) -> str:
        before = signal.signal(signal.SIGALRM, end)
        signal.alarm(20)
        try:
            outcome = kepsilon_command(*arguments)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        assert outcome.code == 2, outcome.err
        return outcome.err

    return refused


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
@pytest.mark.parametrize("role", ["input", "policy", "hierarchy", "linkage", "output", "report"])
def test_f6_a_named_pipe_is_refused_in_every_role(tmp_path, role, is_refused_at_once):
    """Whoever opens it waits for somebody at the other end."""
    table = tmp_path / "table.csv"
    table.write_bytes(PLAIN)
    own = tmp_path / "policy.toml"
    hierarchy = '{ type = "file", path = "levels.csv" }' if role == "hierarchy" else '{ type = "suppress" }'
    own.write_text(
        'k = 2\nepsilon = 1\nalgorithm = "ola"\nmax_suppression = 0\n[attributes]\nname = { role = "identifier" }\n'
        f'q = {{ role = "k-quasi", hierarchy = {hierarchy} }}\ns = {{ role = "sensitive" }}\n',
        encoding="utf-8",
    )
    pipe = tmp_path / {"hierarchy": "levels.csv", "report": "pipe.html"}.get(role, "pipe.csv")
    os.mkfifo(pipe)
    arguments = {
        "input": ["check", pipe, "-p", own],
        "policy": ["check", table, "-p", pipe],
        "hierarchy": ["check", table, "-p", own],
        "linkage": ["audit", table, table, "-p", own, "--linkage", pipe],
        "output": ["anonymise", table, "-p", own, "-o", pipe, "--overwrite"],
        "report": ["anonymise", table, "-p", own, "-o", tmp_path / "out.csv", "--report", pipe, "--overwrite"],
    }
    assert "a named pipe" in is_refused_at_once(arguments[role])
    assert pipe.is_fifo(), "nothing takes its place"


@pytest.mark.parametrize("kind", ["socket", "folder", "device"])
def test_f6_what_is_no_file_is_refused(tmp_path, kind):
    """A socket, a folder with the name of a file, and a device through a link."""
    path = tmp_path / "table.csv"
    if kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        server = socket.socket(socket.AF_UNIX)
        server.bind(os.path.relpath(path))
        server.close()
    with pytest.raises(ke.AnonymisationError, match=rf"is a {kind}|holds no Parquet file"):
        ke.check(path, plain_policy())


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there are no such devices on this system")
@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/null"])
def test_f6_a_release_does_not_go_to_a_device(tmp_path, output):
    """It would have to be a file, with its manifest beside it."""
    with pytest.raises(ke.AnonymisationError, match=r"is a (device|named pipe)|is in a folder of devices"):
        ke.check_outputs(Path(output), None, overwrite=True)


def written(path: Path, records: list[dict[str, str]], *, quoting: int, end: str, mark: bool, blank: bool) -> Path:
    with path.open("w", newline="", encoding="utf-8-sig" if mark else "utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]), quoting=quoting, lineterminator=end)
        if blank:
            file.write(end)
        writer.writeheader()
        for i, record in enumerate(records):
            writer.writerow(record)
            if blank and i % 7 == 0:
                file.write(end)
    return path


def with_gaps() -> list[dict[str, str]]:
    records = people()
    for i, record in enumerate(records):
        for j, name in enumerate(record):
            if (i + 5 * j) % 9 == 0:
                record[name] = ""
    return records


def shown(path: Path) -> list[tuple[str, ...]]:
    """The records of a CSV file as any reader shows them, without the noise and the order."""
    with path.open(newline="", encoding="utf-8") as file:
        return sorted(tuple(r[name] for name in ("zip", "year", "sex", "illness")) for r in csv.DictReader(file))


@pytest.mark.parametrize("mark", [False, True], ids=["", "mark"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("blank", [False, True], ids=["", "blank lines"])
def test_f6_a_quoted_empty_cell_is_missing_like_an_unquoted_one(tmp_path, end, mark, blank):
    """Who quotes every cell gets the same proposal, the same counts, the same release and the same audit."""
    own = policy(
        attributes={"height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class", "missing": "class"}}
    )
    found = {}
    for name, quoting in {"all": csv.QUOTE_ALL, "few": csv.QUOTE_MINIMAL}.items():
        folder = tmp_path / name
        folder.mkdir()
        path = written(folder / "t.csv", with_gaps(), quoting=quoting, end=end, mark=mark, blank=blank)
        release = ke.anonymise(path, own)
        release.write(folder / "out.csv", linkage=folder / "linkage.csv")
        release.write(folder / "out.parquet")
        for output in ("out.csv", "out.parquet"):
            for linkage in (None, folder / "linkage.csv"):
                audit = ke.audit(path, folder / output, own, linkage=linkage)
                assert [f for f in audit.findings if f.severity == "broken"] == []
        nulls = {
            c: pq.read_table(folder / "out.parquet").column(c).null_count for c in ("zip", "year", "sex", "illness")
        }
        found[name] = shown(folder / "out.csv"), nulls, ke.propose_policy(path), release.record.records
        assert b'""' not in (folder / "out.csv").read_bytes().replace(b'"""', b""), "a missing cell has one spelling"
    assert found["all"] == found["few"]


def test_f6_the_proposal_of_init_fits_a_file_that_quotes_every_cell(tmp_path):
    """In 0.1 the empty cell was a value that the proposed hierarchy did not list."""
    path = written(tmp_path / "t.csv", with_gaps(), quoting=csv.QUOTE_ALL, end="\n", mark=False, blank=False)
    decided = "k = 2\nepsilon = 1\nmax_suppression = 0.5\n"
    (tmp_path / "policy.toml").write_text(decided + ke.propose_policy(path), encoding="utf-8")
    ke.check(path, ke.Policy.from_file(tmp_path / "policy.toml"))


@pytest.mark.parametrize(
    "text", ["q\na\n\nb\n\na\nb\n", 'q\n"a"\n""\n"b"\n""\n"a"\n"b"\n'], ids=["blank lines", "quotes"]
)
def test_f6_one_column_with_empty_cells(tmp_path, text):
    """An empty line is a record without a value, quoted or not; the release keeps as many of them."""
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    own = ke.Policy.from_dict(
        {**POLICY_OF_PLAIN, "attributes": {"q": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}}}
    )
    ke.anonymise(tmp_path / "t.csv", own).write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        assert sorted(row["q"] for row in csv.DictReader(file)) == ["", "", "a", "a", "b", "b"]
    findings = ke.audit(tmp_path / "t.csv", tmp_path / "out.csv", own).findings
    assert [finding for finding in findings if finding.severity == "broken"] == []


def test_f6_a_quoted_empty_cell_means_the_missing_row_of_a_hierarchy_file(tmp_path):
    """The row whose first field is empty says what null becomes."""
    (tmp_path / "levels.csv").write_text('"";none;*\na;letter;*\nb;letter;*\n', encoding="utf-8")
    (tmp_path / "t.csv").write_text('q,s\n"",1\n,2\na,3\nb,4\n', encoding="utf-8")
    attributes = {
        "q": {"role": "k-quasi", "hierarchy": {"type": "file", "path": "levels.csv"}},
        "s": {"role": "sensitive"},
    }
    own = ke.Policy.from_dict({**POLICY_OF_PLAIN, "attributes": attributes}, folder=tmp_path)
    released = ke.anonymise(tmp_path / "t.csv", own).frame
    assert sorted(released.column("q").to_pylist()) == ["letter", "letter", "none", "none"]
