# SPDX-License-Identifier: Apache-2.0
"""Ways to be wrong: each fault spoils one thing about a case, in its policy, its input or its outputs.

A new fault is one function and one line in its table.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rigs.cases import Case
from rigs.tables import CSV_KINDS
from rigs.tokens import token

REFUSED = frozenset({2, 3})
ANY = frozenset({0, 2, 3})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way to be wrong, and the exit codes that are right for it."""

    name: str
    spoil: Callable[..., Any]
    codes: frozenset[int] = REFUSED


# The policy as a document: changed in place before it is written.


def _without(key: str) -> Callable[[dict[str, Any], random.Random], None]:
    return lambda document, rng: document.pop(key)


def _without_epsilon(document: dict[str, Any], rng: random.Random) -> None:
    """Noise is asked for, and how much is not said."""
    for key in ("epsilon", "averages"):
        document.pop(key, None)
    _on_an_attribute(_epsilon())(document, rng)


def _ola_without_a_limit(document: dict[str, Any], _: random.Random) -> None:
    """Local algorithms can do without `max_suppression`, OLA cannot."""
    document["algorithm"] = "ola"
    document.pop("max_suppression", None)


def _with(key: str, *values: Any) -> Callable[[dict[str, Any], random.Random], None]:
    def spoil(document: dict[str, Any], rng: random.Random) -> None:
        document[key] = rng.choice(values)

    return spoil


def _on_an_attribute(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any], random.Random], None]:
    def spoil(document: dict[str, Any], rng: random.Random) -> None:
        change(document["attributes"][rng.choice(list(document["attributes"]))])

    return spoil


def _forget_a_column(document: dict[str, Any], rng: random.Random) -> None:
    del document["attributes"][rng.choice(list(document["attributes"]))]
    document["unlisted_columns"] = "error"


def _hierarchy(hierarchy: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    def change(attribute: dict[str, Any]) -> None:
        attribute.clear()
        attribute.update({"role": "k-quasi", "hierarchy": hierarchy})

    return change


def _epsilon(**keys: Any) -> Callable[[dict[str, Any]], None]:
    def change(attribute: dict[str, Any]) -> None:
        attribute.clear()
        attribute.update({"role": "epsilon-quasi", "precision": 1, "range": "class", **keys})

    return change


IN_POLICY = (
    *(Fault(name=f"no {key}", spoil=_without(key)) for key in ("k", "algorithm")),
    Fault(name="no max_suppression", spoil=_ola_without_a_limit),
    Fault(name="no epsilon", spoil=_without_epsilon),
    Fault(name="averages", spoil=_with("averages", {}, {"group": 2}, {"group": 10**9, "noise": True, "spread": True}, {"group": "8"}, 8, {"group": 5, "size": 1})),
    Fault(name="k", spoil=_with("k", 1, 0, -3, 2.5, "two", True, 10**9, 2**63, 10**400, [2])),
    Fault(name="epsilon", spoil=_with("epsilon", 0, -1, 1e-9, 101, float("nan"), float("inf"), "1", True, 10**400)),
    Fault(name="algorithm", spoil=_with("algorithm", "", "OLA", 3, [])),
    Fault(name="max_suppression", spoil=_with("max_suppression", -0.1, 1.1, "0", float("nan"), True)),
    Fault(name="confidence", spoil=_with("confidence", 0, 1, 2, -1, "0.9", float("nan"))),
    Fault(name="closed sets", spoil=lambda document, rng: document.update({rng.choice(["loss", "labels", "unlisted_columns"]): "no such"})),
    Fault(name="unknown key", spoil=_with("epsilonn", 1)),
    Fault(name="attributes", spoil=_with("attributes", {}, [], "all", 3)),
    Fault(name="unknown role", spoil=_on_an_attribute(lambda attribute: attribute.update(role="quasi"))),
    Fault(name="no role", spoil=_on_an_attribute(lambda attribute: attribute.pop("role"))),
    Fault(name="unknown key of an attribute", spoil=_on_an_attribute(lambda attribute: attribute.update(noise=1))),
    Fault(name="column that is not there", spoil=lambda document, rng: document["attributes"].update({"nobody": {"role": "sensitive"}})),
    Fault(name="column without role", spoil=_forget_a_column),
    Fault(name="dates that say the year twice", spoil=_on_an_attribute(_hierarchy({"type": "dates", "units": ["year"], "format": "%Y-%Y"})), codes=REFUSED),
    Fault(name="dates without a date", spoil=_on_an_attribute(_hierarchy({"type": "dates", "units": ["year"], "format": "%%"})), codes=REFUSED),
    Fault(name="widths that do not nest", spoil=_on_an_attribute(_hierarchy({"type": "intervals", "widths": [2, 5]}))),
    Fault(name="absurd widths", spoil=_on_an_attribute(_hierarchy({"type": "intervals", "widths": [1e-300]}))),
    Fault(name="no hierarchy file", spoil=_on_an_attribute(_hierarchy({"type": "file", "path": "no such.csv"}))),
    Fault(name="a folder as hierarchy file", spoil=_on_an_attribute(_hierarchy({"type": "file", "path": "."}))),
    Fault(name="cyclic groups", spoil=_on_an_attribute(_hierarchy({"type": "groups", "levels": [{"a": ["b"]}, {"b": ["a"]}]}))),
    Fault(name="groups with two mistakes", spoil=_on_an_attribute(_hierarchy({"type": "groups", "levels": [{"a": ["x"], "b": ["x", "y"], "c": ["y"]}]}))),
    Fault(name="no such hierarchy", spoil=_on_an_attribute(_hierarchy({"type": "trees"}))),
    Fault(name="mask of two characters", spoil=_on_an_attribute(_hierarchy({"type": "mask", "char": "**"}))),
    Fault(name="absurd precision", spoil=_on_an_attribute(_epsilon(precision=1e-300))),
    Fault(name="bounds the wrong way round", spoil=_on_an_attribute(_epsilon(range=[5, 1]))),
    Fault(name="domain off the precision", spoil=_on_an_attribute(_epsilon(precision=2, domain=[1, 5]))),
    Fault(name="range without meaning", spoil=_on_an_attribute(_epsilon(range="wide"))),
)  # fmt: skip


# The policy file: bytes in, bytes out.

IN_POLICY_FILE = (
    Fault(name="not TOML", spoil=lambda content, rng: content + b"\nk = = 3\n"),
    Fault(name="not UTF-8", spoil=lambda content, rng: b"# \xff\xfe\n" + content),
    Fault(name="UTF-16", spoil=lambda content, rng: content.decode().encode("utf-16")),
    Fault(name="empty policy", spoil=lambda content, rng: b""),
    Fault(name="nested too deep", spoil=lambda content, rng: b"x = " + b"[" * 3000 + b"]" * 3000 + b"\n" + content),
    Fault(name="NUL in the policy", spoil=lambda content, rng: content + b"\x00"),
    Fault(name="k of many digits", spoil=lambda content, rng: content.replace(b"k = ", b"k = " + b"9" * 4301, 1)),
    Fault(name="key twice", spoil=lambda content, rng: content.replace(b"k = ", b"k = 3\nk = ", 1)),
)


# The input: files are changed after they were written.


def _truncated(path: Path, rng: random.Random, case: Case) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * rng.choice([0, 0.01, 0.3, 0.6, 0.95, 0.999]))])


def _flipped(path: Path, rng: random.Random, case: Case) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 5, 50])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _is_something_else(path: Path, rng: random.Random, case: Case) -> None:
    path.write_bytes(
        rng.choice([b"PAR1", b"ARROW1\x00\x00", b"\x00" * 100, b"%PDF-1.4", f"{token(rng)};{token(rng)}\n".encode()])
    )


def _gone(path: Path, rng: random.Random, case: Case) -> None:
    path.unlink()


def _is_a_pipe(path: Path, rng: random.Random, case: Case) -> None:
    path.unlink()
    os.mkfifo(path)


def _without_columns(path: Path, rng: random.Random, case: Case) -> None:
    if path.suffix == ".parquet":
        pa.parquet.write_table(pa.table({}), path)
    else:
        path.write_bytes(b"\n\n")


def _edited(change: Callable[[str, random.Random, Case], str]) -> Callable[[Path, random.Random, Case], None]:
    """A change of the text of a CSV file."""

    def spoil(path: Path, rng: random.Random, case: Case) -> None:
        path.write_bytes(change(path.read_bytes().decode("utf-8"), rng, case).encode("utf-8", "surrogateescape"))

    return spoil


def _ragged(text: str, rng: random.Random, case: Case) -> str:
    delimiter = case.dialect.delimiter
    return (
        text.rstrip("\r\n")
        + case.dialect.line_end
        + delimiter.join([token(rng)] * (len(case.columns) + rng.choice([1, 3])))
        + "\n"
    )


def _stray_quote(text: str, rng: random.Random, case: Case) -> str:
    lines = text.split(case.dialect.line_end)
    at = rng.randrange(len(lines))
    lines[at] = f'"{lines[at]}'
    return case.dialect.line_end.join(lines)


def _mixed_encodings(text: str, rng: random.Random, case: Case) -> str:
    """One line in UTF-8, another in Latin-1."""
    empty = case.dialect.delimiter * (len(case.columns) - 1)
    return text.rstrip("\r\n") + f"\né{token(rng)}{empty}\n\udce9{token(rng)}{empty}\n"


def _twice(text: str, rng: random.Random, case: Case) -> str:
    head, end, rest = text.partition(case.dialect.line_end)
    names = head.split(case.dialect.delimiter)
    return case.dialect.delimiter.join([names[0]] * len(names)) + end + rest if len(names) > 1 else ""


def _bare_returns(text: str, rng: random.Random, case: Case) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r")


IN_FILE = (
    Fault(name="truncated", spoil=_truncated, codes=ANY),
    Fault(name="flipped bits", spoil=_flipped, codes=ANY),
    Fault(name="something else", spoil=_is_something_else),
    Fault(name="no file", spoil=_gone),
    Fault(name="a pipe", spoil=_is_a_pipe),
    Fault(name="no columns", spoil=_without_columns),
)
IN_CSV = (
    Fault(name="ragged", spoil=_edited(_ragged)),
    Fault(name="stray quote", spoil=_edited(_stray_quote), codes=ANY),
    Fault(name="mixed encodings", spoil=_edited(_mixed_encodings), codes=ANY),
    Fault(
        name="UTF-16 table", spoil=lambda path, rng, case: path.write_bytes(path.read_bytes().decode().encode("utf-16"))
    ),
    Fault(name="one name for all columns", spoil=_edited(_twice), codes=ANY),
    Fault(name="NUL in the table", spoil=_edited(lambda text, rng, case: text + "\x00"), codes=ANY),
    Fault(name="only a header", spoil=_edited(lambda text, rng, case: case.dialect.delimiter.join("abc") + "\n")),
    Fault(name="bare returns", spoil=_edited(_bare_returns), codes=ANY),
)


# Values of the table: changed before it is written.


def _in_epsilon_quasi(*values: Any) -> Callable[[Case, random.Random], None]:
    """Some records hold an ε-quasi that no noise can hide."""

    def spoil(case: Case, rng: random.Random) -> None:
        column = rng.choice(case.of_role("epsilon-quasi"))
        # In pandas NaN is the mark of what is missing, and 1,5 is a number where decimals have commas.
        fine = {"1,5"} if case.document.get("decimal") == "," else set()
        attribute = case.document["attributes"].get(column.name, {})
        fine |= {*case.document.get("missing_values", ()), *attribute.get("missing_values", ())}
        wrong = rng.choice([v for v in values if str(v) not in fine and (case.kind != "pandas" or v == v)])
        is_text = case.kind in CSV_KINDS or isinstance(wrong, str)
        own = [None if v is None else str(v) if is_text else float(str(v).replace(",", ".")) for v in column.values]
        for i in rng.sample(range(len(own)), min(3, len(own))):
            own[i] = str(wrong) if is_text else wrong
        column.array = pa.array(own, pa.string() if is_text else pa.float64())

    return spoil


def _in_k_quasi(case: Case, rng: random.Random) -> None:
    """Values that no hierarchy of numbers, dates or lists has, or that look like a huge number."""
    column = rng.choice(case.of_role("k-quasi"))
    own = [None if value is None else str(value) for value in column.values]
    odd = ["1e999999999", "-1e-999999999", "٣", "1_000", "0x1F", "9" * 5000, "Infinity", "²"]
    for i in rng.sample(range(len(own)), min(len(own), rng.choice([1, 1, 5]))):
        own[i] = rng.choice([token(rng), f"{token(rng)} " * 12, rng.choice(odd)])
    column.array = pa.array(own, pa.string())


IN_VALUES = (
    Fault(name="text among numbers", spoil=_in_epsilon_quasi("QZBBBBBBBBB tall", "1,5", "--", "1_000", "٣")),
    Fault(name="not finite", spoil=_in_epsilon_quasi(float("nan"), float("inf"), float("-inf"))),
    Fault(name="huge numbers", spoil=_in_epsilon_quasi("1e300", "1e-300", "-1e308", "1e400", "1e999999999"), codes=ANY),
    Fault(name="foreign value of a k-quasi", spoil=_in_k_quasi, codes=ANY),
)


# Outputs and options: arguments of `anonymise` in, arguments out. `places` has the paths of the case.


def _replaced(arguments: list[str], option: str, value: str) -> list[str]:
    at = arguments.index(option)
    return [*arguments[: at + 1], value, *arguments[at + 2 :]]


def _output(name: str) -> Callable[..., list[str]]:
    return lambda arguments, places, rng: _replaced(arguments, "-o", name.format(**places))


def _there_already(arguments: list[str], places: dict[str, str], rng: random.Random) -> list[str]:
    beside = Path(places["output"] + rng.choice(["", ".manifest.json", ".curator.json"]))
    beside.write_text("here before\n", encoding="utf-8")
    return arguments


def _is_a_folder(arguments: list[str], places: dict[str, str], rng: random.Random) -> list[str]:
    Path(places["output"]).mkdir()
    return [*arguments, "--overwrite"]


def _policy_in_the_way(arguments: list[str], places: dict[str, str], rng: random.Random) -> list[str]:
    """The policy is called what the curator's record or the manifest would be called."""
    taken = Path(places["output"] + rng.choice([".curator.json", ".manifest.json"]))
    Path(places["policy"]).rename(taken)
    return [*_replaced(arguments, "-p", str(taken)), "--overwrite"]


def _more(*words: str) -> Callable[..., list[str]]:
    return lambda arguments, places, rng: [*arguments, *(word.format(**places) for word in words)]


def _spill_folder_alone(arguments: list[str], places: dict[str, str], rng: random.Random) -> list[str]:
    """A folder to spill to, and no limit on memory beyond which anything is spilled; some cases have one of their own."""
    if "--memory" in arguments:
        at = arguments.index("--memory")
        arguments = [*arguments[:at], *arguments[at + 2 :]]
    return [*arguments, "--spill-folder", places["folder"]]


IN_ARGUMENTS = (
    Fault(name="output there already", spoil=_there_already),
    Fault(name="output is a folder", spoil=_is_a_folder),
    Fault(name="output in no folder", spoil=_output("{folder}/no/such/out.csv")),
    Fault(name="output below a file", spoil=_output("{policy}/out.csv")),
    Fault(name="output of no kind", spoil=_output("{folder}/out.docx")),
    Fault(name="output without name", spoil=_output("")),
    Fault(name="output is here", spoil=_output(".")),
    Fault(name="output is above", spoil=_output("..")),
    Fault(name="output with NUL", spoil=_output("{folder}/a\0b.csv")),
    Fault(name="output with a long name", spoil=_output("{folder}/" + "x" * 300 + ".csv")),
    Fault(name="output is the policy", spoil=lambda arguments, places, rng: [*_replaced(arguments, "-o", places["policy"]), "--overwrite"]),
    Fault(name="output is the input", spoil=lambda arguments, places, rng: [*_replaced(arguments, "-o", places["input"]), "--overwrite"]),
    Fault(name="policy in the way", spoil=_policy_in_the_way),
    Fault(name="linkage is the output", spoil=_more("--linkage", "{output}")),
    Fault(name="linkage of no kind", spoil=_more("--linkage", "{folder}/linkage")),
    Fault(name="report is no page", spoil=_more("--report", "{folder}/report.pdf")),
    Fault(name="report is the output", spoil=_more("--report", "{output}")),
    Fault(name="memory that is no size", spoil=_more("--memory", "much")),
    Fault(name="too little memory", spoil=_more("--memory", "3MB")),
    Fault(name="memory of many digits", spoil=_more("--memory", "9" * 400)),
    Fault(name="spill folder alone", spoil=_spill_folder_alone),
    Fault(name="spill folder that is not there", spoil=_more("--memory", "200MB", "--spill-folder", "{folder}/no")),
    Fault(name="master alone", spoil=_more("--master", "local[2]")),
    Fault(name="negative seed", spoil=_more("--unsafe-seed", "-1")),
    Fault(name="no such option", spoil=_more("--faster")),
    Fault(name="no such engine", spoil=_more("--engine", "steam")),
)  # fmt: skip


FAULTY = 0.25
"""Share of the cases that are deliberately wrong in one way."""


def is_faulty(seed: int) -> bool:
    """Whether the case of a seed is wrong in one way; known without drawing it."""
    return random.Random(f"{seed} is faulty").random() < FAULTY


def draw_fault(case: Case) -> tuple[str, Fault | None]:
    """Where a case is wrong, and how; most are not."""
    if not is_faulty(case.seed):
        return "", None
    rng = case.rng("fault")
    possible = faults_for(case)
    where = rng.choice(list(possible))
    return where, rng.choice(possible[where])


def faults_for(case: Case) -> dict[str, tuple[Fault, ...]]:
    """Faults that can be made in a case, by where they are made; a frame has no file and no options."""
    found = {"policy": IN_POLICY}
    values = [f for f in IN_VALUES if case.of_role("k-quasi" if "k-quasi" in f.name else "epsilon-quasi")]
    if values and case.n_records:
        found["values"] = tuple(values)
    if not case.is_frame:
        found |= {"policy file": IN_POLICY_FILE, "arguments": IN_ARGUMENTS}
        if case.kind not in ("folder", "pattern"):
            found["file"] = IN_FILE
        if case.kind in CSV_KINDS:
            found["csv"] = IN_CSV
    return found
