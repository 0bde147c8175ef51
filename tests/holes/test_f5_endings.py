# SPDX-License-Identifier: Apache-2.0
"""Every ending has the exit code that is documented and one message in words, whatever surrounds the command.

0 done, 2 wrong usage, data, policy or surroundings, 3 refused; 1 only for a bug of ours.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon as ke
from kepsilon.cli.main import commands
from material.people import OF_USE_OR_NOT, WITHOUT_NOTES, people
from material.refusals import change_policy, refused


def ends(case: Path, kepsilon_command, *arguments: object, said: str = "", code: int = 2) -> str:
    """What a command says that ends with an exit code, in words, and leaves no file behind."""
    before = sorted(case.rglob("*"))
    outcome = kepsilon_command(*arguments)
    assert outcome.code == code, outcome.err
    assert said in outcome.err
    assert "Traceback" not in outcome.err
    assert "a bug of ours" not in outcome.err
    assert sorted(case.rglob("*")) == before
    return outcome.err


@pytest.mark.parametrize("output", [".", "", "..", "/", "folder", "folder/"])
@pytest.mark.parametrize("option", ["-o", "--linkage", "--report"])
def test_f5_outputs_that_name_no_file(case, kepsilon_command, monkeypatch, option, output):
    """A folder, nothing at all, or a folder that has files in it."""
    monkeypatch.chdir(case)
    (case / "folder").mkdir()
    (case / "folder" / "mine.txt").write_text("mine", encoding="utf-8")
    arguments = ["anonymise", "people.csv", "-p", "policy.toml", option, output, "--overwrite"]
    arguments += [] if option == "-o" else ["-o", "out.csv"]
    ends(case, kepsilon_command, *arguments)
    assert (case / "folder" / "mine.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("output", [".", "", "..", "x" * 300, "people.csv/x"])
def test_f5_outputs_of_other_commands_that_name_no_file(case, kepsilon_command, monkeypatch, output):
    """They write files too."""
    monkeypatch.chdir(case)
    explore = ["explore", "people.csv", "-p", "policy.toml", "--k", "3", "--epsilon", "1", "--max-risk", "1"]
    ends(case, kepsilon_command, "init", "people.csv", "-o", output)
    ends(case, kepsilon_command, *explore, "-o", output)
    ends(case, kepsilon_command, *explore, "--write-policy", output)
    if output not in (".", "", ".."):
        ends(case, kepsilon_command, "demo", "-o", output)
        ends(case, kepsilon_command, "reproduce", "-o", output, "--quick", "--data-sets", "florida")


@pytest.mark.parametrize("length", [245, 300], ids=["the manifest's is", "its own is"])
def test_f5_names_that_are_too_long(case, kepsilon_command, length):
    """A name that fits can still be too long with .manifest.json behind it."""
    ends(
        case, kepsilon_command, "anonymise", case / "people.csv", "-p", case / "policy.toml",
        "-o", case / ("x" * length + ".csv"), said="File name too long",
    )  # fmt: skip
    ends(case, kepsilon_command, "check", case / ("x" * 300 + ".csv"), "-p", case / "policy.toml")
    ends(case, kepsilon_command, "check", case / "people.csv", "-p", case / ("x" * 300))


def test_f5_names_that_are_not_text(case, kepsilon_command):
    """A byte 0xff, which no UTF-8 has; and a line break, which must not forge a message."""
    odd = Path(os.fsdecode(os.fsencode(case) + b"/p\xff.csv"))
    shutil.copy(case / "people.csv", odd)
    ends(case, kepsilon_command, "anonymise", odd, "-p", case / "policy.toml", "-o", case / "out.csv", said="Rename it")
    (case / "a\nkepsilon: all is well.csv").write_text("taken", encoding="utf-8")
    message = ends(
        case, kepsilon_command, "anonymise", case / "people.csv", "-p", case / "policy.toml",
        "-o", case / "a\nkepsilon: all is well.csv",
    )  # fmt: skip
    assert r"a\nkepsilon: all is well.csv: exists already" in message


@pytest.mark.parametrize("option", ["-o", "--linkage", "--report", "--spill-folder", "-p", "INPUT"])
@pytest.mark.parametrize("source", ["people.csv", "parts/*.parquet"])
def test_f5_a_null_character_in_a_path_of_the_command(case, kepsilon_command, monkeypatch, source, option):
    """No shell can hand one over; a program that calls the command in its own process can."""
    monkeypatch.chdir(case)
    (case / "parts").mkdir()
    parquet.write_table(pa.Table.from_pylist(people()), case / "parts" / "1.parquet")
    words = {"INPUT": source, "-p": "policy.toml", "-o": "out.csv"} | {option: "a\0b.csv"}
    given = [words.pop("INPUT"), *(word for pair in words.items() for word in pair)]
    message = ends(case, kepsilon_command, "anonymise", *given)
    assert message == "kepsilon: a\\0b.csv: holds a character that no name can have.\n"


PATHS = [
    (name, one)
    for name, command in commands.commands.items()
    for one in command.params
    if isinstance(one.type, click.Path)
]


@pytest.mark.parametrize(("name", "one"), PATHS, ids=[f"{name} {one.name}" for name, one in PATHS])
def test_f5_a_null_character_in_any_path_of_any_command(tmp_path, kepsilon_command, monkeypatch, name, one):
    """Every command reads its paths in the same way, before it does anything."""
    monkeypatch.chdir(tmp_path)
    others = [o for o in commands.commands[name].params if o.required and o is not one]
    given = [word for o in (*others, one) for word in (*o.opts[-1:] * (o.param_type_name == "option"), "a\0.csv")]
    assert "holds a character that no name can have" in ends(tmp_path, kepsilon_command, name, *given)


def test_f5_a_null_character_in_a_path_of_the_python_functions(case):
    """The system has no such names; the error is one of ours."""
    release = ke.anonymise(case / "people.csv", ke.Policy.from_file(case / "policy.toml"))
    for call in (
        lambda: release.write("a\0.csv"),
        lambda: release.write(case / "out.csv", linkage="a\0.csv"),
        lambda: release.write(case / "out.csv", report="a\0.html"),
        lambda: ke.Policy.from_file("a\0.toml"),
        lambda: ke.check_new_policy(Path("a\0.toml")),
        lambda: ke.write_new_policy(Path("a\0.toml"), "k = 3\n"),
        lambda: ke.refuse_input(Path("a\0.csv"), ke.inputs_of(case / "*.parquet")),
    ):
        with pytest.raises(ke.AnonymisationError, match="name can have"):
            call()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"intervals", widths = [5, 10]', '"dates", units = ["year"], format = "%Y-%Y"', "strptime can read"),
        ("k = 3", "k = " + "9" * 4301, "too many digits"),
        ("k = 3", "k = 0x" + "f" * 5000, "k: should be less than"),
        ("epsilon = 2", "epsilon = " + "9" * 4301, "too many digits"),
        ("k = 3", "k = " + "[" * 3000, "nested too deeply"),
        ("k = 3", "k = " + "[" * 3000 + "]" * 3000, "nested too deeply"),
        ("k = 3", "k = " + "{ a = " * 3000, "nested too deeply"),
    ],
    ids=["year twice", "k of 4,301 digits", "k of 5,000 hex digits", "epsilon", "open lists", "lists", "tables"],
)
def test_f5_policies_that_cannot_be_read(case, kepsilon_command, old, new, said):
    """A mistake in the policy, however strange, is no bug of ours."""
    change_policy(case, old, new)
    assert said in refused(case, kepsilon_command)


@pytest.mark.parametrize("size", ["9" * 400, "9" * 4301 + "GB", "0." + "0" * 400 + "1GB"])
def test_f5_sizes_of_memory_with_many_digits(case, kepsilon_command, size):
    """Not a size."""
    ends(
        case, kepsilon_command, "anonymise", case / "people.csv", "-p", case / "policy.toml",
        "-o", case / "out.csv", "--memory", size, said="is not a size",
    )  # fmt: skip


@pytest.mark.parametrize("command", ["check", "anonymise", "init"])
def test_f5_a_column_name_that_is_not_text(case, kepsilon_command, command):
    """A byte 0xff in the schema of a Parquet file."""
    columns = {name: [record[name] for record in people()] for name in people()[0]}
    parquet.write_table(pa.table(columns), case / "people.parquet", store_schema=False)
    content = (case / "people.parquet").read_bytes()
    (case / "people.parquet").write_bytes(content.replace(b"zip", b"z\xffp"))
    arguments = [command, case / "people.parquet"] + ([] if command == "init" else ["-p", case / "policy.toml"])
    arguments += ["-o", case / "out.csv"] * (command == "anonymise")
    ends(case, kepsilon_command, *arguments, said="not UTF-8 text")


def in_shell(case: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of the shell in which KE stands for the command."""
    line = f"set -o pipefail; {command.replace('KE', f'{sys.executable} -m kepsilon')}"
    return subprocess.run(["bash", "-c", line], cwd=case, capture_output=True, text=True, check=False)


ANONYMISE = "KE anonymise people.csv -p policy.toml -o out.csv"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"{ANONYMISE} 2>&-", 0, ""),
        (f"{ANONYMISE} >&-", 2, "out.csv was released, but its summary could not be shown"),
        (f"{ANONYMISE} <&- >&- 2>&-", 2, ""),
        (f"{ANONYMISE} >/dev/full", 2, "out.csv was released, but its summary could not be shown: No space left"),
        (f"{ANONYMISE} --json | head -0", 0, ""),
    ],
)
def test_f5_streams_that_are_closed_or_full(case, command, code, said):
    """The release is in place in each case, and what is said says so."""
    (case / "policy.toml").write_text(WITHOUT_NOTES, encoding="utf-8")
    outcome = in_shell(case, command)
    assert outcome.returncode == code, outcome.stderr
    assert said in outcome.stderr
    assert outcome.stderr.count("\n") <= 1
    assert "nothing was released" not in outcome.stderr
    digest = json.loads((case / "out.csv.manifest.json").read_text(encoding="utf-8"))["digest"]
    assert subprocess.check_output(["sha256sum", case / "out.csv"], text=True).split()[0] == digest.split(":")[1]
    assert not list(case.glob(".kepsilon*"))


@pytest.mark.parametrize("command", ["KE --help", "KE schema", "KE check people.csv -p policy.toml --json"])
def test_f5_results_that_cannot_be_shown(case, command):
    """A full disk behind stdout is trouble of the surroundings for every command."""
    (case / "policy.toml").write_text(OF_USE_OR_NOT, encoding="utf-8")
    outcome = in_shell(case, f"{command} >/dev/full")
    assert outcome.returncode == 2
    assert outcome.stderr.count("\n") == 1
    assert "No space left on device" in outcome.stderr


def test_f5_a_broken_promise_is_one_also_if_nobody_reads_it(case, kepsilon_command):
    """The exit code of `audit` does not depend on who reads its output: `| head` must not turn 3 into 0."""
    kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    lines = (case / "out.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (case / "out.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    outcome = in_shell(case, "KE audit people.csv out.csv -p policy.toml | head -c 0")
    assert outcome.returncode == 3
    assert outcome.stderr == ""


def test_f5_a_policy_is_written_also_if_nobody_reads_the_grid(case):
    """`explore --write-policy … | head` has to do what was asked for."""
    (case / "policy.toml").write_text(WITHOUT_NOTES, encoding="utf-8")
    words = "--k 3 --epsilon 16 --algorithm ola --max-risk 1 --write-policy new.toml"
    outcome = in_shell(case, f"KE explore people.csv -p policy.toml {words} | head -c 0")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert (case / "new.toml").exists()


def test_f5_little_address_space(case):
    """Libraries would abort, or say that a file is damaged; nothing is there, and the message names the limit."""
    outcome = in_shell(case, f"ulimit -v 300000; {ANONYMISE}")
    assert outcome.returncode == 2, outcome.stderr
    assert "address space is limited to 292 MB" in outcome.stderr
    assert sorted(path.name for path in case.iterdir()) == ["people.csv", "policy.toml"]


def test_f5_no_memory_is_no_bug(case, kepsilon_command, monkeypatch):
    """Neither Python's way of saying so nor Arrow's."""
    for error in (MemoryError("CANARY"), pa.ArrowMemoryError("CANARY")):

        def broken(*_arguments: object, why: Exception = error, **_options: object) -> None:
            raise why

        monkeypatch.setattr(ke, "anonymise", broken)
        message = ends(
            case, kepsilon_command, "anonymise", case / "people.csv", "-p", case / "policy.toml",
            "-o", case / "out.csv", said="out of memory; nothing was released",
        )  # fmt: skip
        assert "CANARY" not in message


DAMAGE = """
import contextlib, io, os, random, resource, shutil, sys
from pathlib import Path
import pyarrow as pa
from pyarrow import parquet
import kepsilon as ke
from kepsilon.cli.main import run
from material.people import columns_of, people

os.chdir(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a damaged length must not fill the machine
text = Path("policy.toml").read_text(encoding="utf-8").replace('"suppress"', '"file", path = "sex.csv"')
Path("policy.toml").write_text(text, encoding="utf-8")
Path("sex.csv").write_text("F;a;*\\nM;a;*\\n", encoding="utf-8")
table = pa.table(columns_of(people()))
parquet.write_table(table, "people.parquet")
parquet.write_table(table, "plain.parquet", compression="none", use_dictionary=False, row_group_size=40)
with pa.ipc.new_file("people.arrow", table.schema) as writer:
    writer.write_table(table, max_chunksize=50)
coded = table.set_column(1, table.column_names[1], table.column(1).dictionary_encode())
with pa.ipc.new_file("coded.arrow", coded.schema) as writer:
    writer.write_table(coded)
release = ke.anonymise("people.csv", ke.Policy.from_file("policy.toml"))
release.write("out.parquet", linkage="links.parquet")
given = ["-p", "policy.toml"]
audit = ["audit", "people.csv", "out.parquet", *given]
commands = {
    "people.csv": [["check", "people.csv", *given], ["init", "people.csv"]],
    "people.parquet": [["check", "people.parquet", *given], ["init", "people.parquet"]],
    "plain.parquet": [["check", "plain.parquet", *given], ["check", "plain.parquet", *given, "--memory", "1GB"]],
    "people.arrow": [["check", "people.arrow", *given], ["init", "people.arrow"]],
    "coded.arrow": [["check", "coded.arrow", *given]],
    "policy.toml": [["check", "people.csv", *given]],
    "sex.csv": [["check", "people.csv", *given]],
    "out.parquet": [audit],
    "links.parquet": [[*audit, "--linkage", "links.parquet"]],
    "out.parquet.manifest.json": [audit],
}
random = random.Random(20161213)
whole = {name: Path(name).read_bytes() for name in commands}
before = sorted(os.listdir("."))
for turn in range(int(sys.argv[2])):
    for name, several in commands.items():
        content = bytearray(whole[name])
        how = random.randrange(4)
        at = random.randrange(len(content))
        if how == 0:
            content = content[:at]
        elif how == 1:
            content[at:at] = random.randbytes(3)
        else:
            for _ in range(random.choice([1, 1, 3, 20])):
                # The end of a file, where Parquet and Arrow say what is in it, more often than the rest.
                near = max(0, len(content) - 1 - int(random.expovariate(1 / 200))) if how == 2 else at
                content[near] = random.choice([0, 255, content[near] ^ (1 << random.randrange(8))])
                at = random.randrange(len(content))
        Path(name).write_bytes(content)
        out, err = io.StringIO(), io.StringIO()
        command = random.choice(several)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(command)
        Path(name).write_bytes(whole[name])
        if code not in (0, 2, 3) or (code == 2 and not err.getvalue().startswith("kepsilon: ")):
            sys.exit(f"{name} {turn} {command}: {code} {err.getvalue()}")
        if sorted(os.listdir(".")) != before:
            sys.exit(f"{name} {turn} {command}: left {set(os.listdir('.')) - set(before)}")
"""


def test_f5_damaged_files_of_every_kind(case):
    """Cut off, or with bytes put in or changed: refused, or read as what it says; never a bug, never a crash.

    Two hundred files here; KEPSILON_DAMAGE=1000 makes it ten thousand.
    """
    (case / "policy.toml").write_text(OF_USE_OR_NOT, encoding="utf-8")
    turns = os.environ.get("KEPSILON_DAMAGE", "20")
    found_here = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    outcome = subprocess.run(
        [sys.executable, "-c", DAMAGE, str(case), turns],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": found_here},
    )
    assert outcome.returncode == 0, outcome.stderr[-2000:]


def test_f5_what_may_not_be_read_or_written(case, tmp_path_factory):
    """As a plain user, for root may do anything: each file that is read and each place that is written to."""
    (case / "policy.toml").write_text(OF_USE_OR_NOT, encoding="utf-8")
    folder = tmp_path_factory.mktemp("open")
    for parent in (folder, *list(folder.parents)[:2]):
        parent.chmod(0o755)
    for name in ("people.csv", "policy.toml"):
        shutil.copy(case / name, folder / name)
        shutil.copy(case / name, folder / f"secret-{name}")
        (folder / f"secret-{name}").chmod(0)
    (folder / "locked").mkdir(mode=0o555)
    given = ["-p", "policy.toml"]
    commands = [
        ["check", "secret-people.csv", *given],
        ["init", "secret-people.csv"],
        ["check", "people.csv", "-p", "secret-policy.toml"],
        ["audit", "people.csv", "secret-people.csv", *given],
        ["anonymise", "people.csv", *given, "-o", "locked/out.csv"],
        ["anonymise", "people.csv", *given, "-o", "locked/out"],
        ["explore", "people.csv", *given, "--k", "3", "--epsilon", "1", "-o", "locked/grid.csv"],
        ["init", "people.csv", "-o", "locked/policy.toml"],
        ["demo", "-o", "locked/demo"],
        ["reproduce", "-o", "locked/out", "--quick", "--data-sets", "florida"],
    ]
    program = (
        "import contextlib, io, os, sys\n"
        "from importlib.metadata import version\n"
        "from kepsilon.cli.main import run\n"
        "version('numpy')\n"
        f"os.chdir({str(folder)!r})\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    for words in (['check', 'people.csv', '-p', 'policy.toml'], ['init', 'people.csv'],\n"
        "                  ['audit', 'people.csv', 'people.csv', '-p', 'policy.toml'],\n"
        "                  ['explore', 'people.csv', '-p', 'policy.toml', '--k', '3', '--epsilon', '1'],\n"
        "                  ['demo', '-o', 'demo'], ['reproduce', '--data-sets', 'nowhere']):\n"
        "        run(words)\n"  # imports everything, for the interpreter may be one that only root can read
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        f"for words in {commands!r}:\n"
        "    with contextlib.redirect_stderr(io.StringIO()) as err:\n"
        "        code = run(words)\n"
        "    if code != 2 or not any(word in err.getvalue() for word in ('ermission denied', 'not readable', 'may not')):\n"
        "        sys.exit(f'{words}: {code} {err.getvalue()}')\n"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    assert list((folder / "locked").iterdir()) == []


def not_valid(name: str) -> pa.Array:
    """A column that Arrow would refuse in a file: of text that is no UTF-8, or with positions beyond its end."""
    if name == "text":
        text = pa.array([b"\xff\xfe"] * 60).buffers()
        return pa.Array.from_buffers(pa.string(), 60, text)
    if name == "offsets":
        offsets = np.where(np.arange(61) == 30, 10**6, 0).astype(np.int32)
        return pa.Array.from_buffers(pa.string(), 60, [None, pa.py_buffer(offsets), pa.py_buffer(b"x")])
    return pa.DictionaryArray.from_arrays(pa.array([7] * 60, pa.int8()), ["a"], safe=False)


@pytest.mark.parametrize("role", ["sensitive", "k-quasi"])
@pytest.mark.parametrize("name", ["text", "offsets", "dictionary"])
def test_f5_frames_that_are_damaged(name, role):
    """As damaged files are: a release of such text was a file that nobody can read, and the audit ended with a bug of ours."""
    table = pa.table({"town": ["a", "b"] * 30, "s": not_valid(name)})
    attributes = {"town": {"role": "k-quasi"}, "s": {"role": role}}
    policy = ke.Policy.from_dict({"k": 5, "algorithm": "local-recoding", "attributes": attributes})
    for call in (ke.anonymise, ke.check):
        with pytest.raises(ke.DataError, match='column "s": is damaged') as refused:
            call(table, policy)
        assert refused.value.exit_code == 2
    with pytest.raises(ke.DataError, match='column "s": is damaged'):
        ke.audit(table, pa.table({"town": ["a"] * 60, "s": ["x"] * 60}), policy)
