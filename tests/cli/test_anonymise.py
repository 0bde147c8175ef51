# SPDX-License-Identifier: Apache-2.0
"""The released file, read back by code that shares nothing with the package."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import stat
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from material.people import POLICY, people, write_csv

QUASIS = ("zip", "year", "sex")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def release(case: Path, kepsilon_command, *extra: object, output: str = "out.csv", source: str = "people.csv"):
    outcome = kepsilon_command(
        "anonymise", case / source, "-p", case / "policy.toml", "-o", case / output, "--json", *extra
    )
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def set_policy(case: Path, *changes: tuple[str, str]) -> None:
    text = POLICY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (case / "policy.toml").write_text(text, encoding="utf-8")


MONDRIAN = ('algorithm = "ola"', 'algorithm = "mondrian"')
REGIONS = ("k = 3", 'k = 3\nlabels = "ancestor"')
ON_A_STEP = ('hierarchy = { type = "intervals", widths = [5, 10] }', "step = 5")


@pytest.mark.parametrize(
    "changes",
    [(), (MONDRIAN,), (MONDRIAN, REGIONS), (MONDRIAN, ON_A_STEP)],
    ids=["ola", "mondrian", "mondrian, regions", "mondrian, on a step"],
)
def test_every_combination_of_labels_occurs_k_times_and_nothing_is_lost(case, kepsilon_command, changes):
    """The promise itself: k by counting, released + suppressed = read, columns in order, identifiers gone."""
    set_policy(case, *changes)
    record = release(case, kepsilon_command)
    released = read(case / "out.csv")
    assert list(released[0]) == ["zip", "year", "sex", "height", "illness"]
    assert min(Counter(tuple(r[q] for q in QUASIS) for r in released).values()) >= 3
    records = record["records"]
    assert records["released"] == len(released)
    assert records["read"] == 120 == sum(n for key, n in records.items() if key != "read")
    assert "CANARY" not in (case / "out.csv").read_text(encoding="utf-8")


def test_sensitive_values_of_a_class_are_untouched(case, kepsilon_command):
    """Per class, the multiset of sensitive values is what it was; the linkage file says which class is which."""
    record = release(case, kepsilon_command, "--linkage", case / "linkage.csv")
    original, released = people(), read(case / "out.csv")
    links = read(case / "linkage.csv")
    assert len(links) == len(released) == record["records"]["released"]
    before, after = defaultdict(Counter), defaultdict(Counter)
    for link in links:
        before[link["class_id"]][original[int(link["original_row"])]["illness"]] += 1
        after[link["class_id"]][released[int(link["released_row"])]["illness"]] += 1
    assert before == after
    assert len(before) == record["classes"]["count"]
    assert min(sum(c.values()) for c in before.values()) == record["classes"]["smallest"] >= 3


def test_labels_contain_their_records(case, kepsilon_command):
    """Followed through the linkage file, every published label covers the value it stands for."""
    release(case, kepsilon_command, "--linkage", case / "linkage.csv")
    original, released = people(), read(case / "out.csv")
    for link in read(case / "linkage.csv"):
        was, now = original[int(link["original_row"])], released[int(link["released_row"])]
        assert now["sex"] in (was["sex"], "*")
        assert all(shown in ("*", held) for shown, held in zip(now["zip"], was["zip"], strict=True))
        if now["year"] not in ("*", was["year"]):
            low, high = (int(end) for end in now["year"][1:-1].split(", "))
            assert low <= int(was["year"]) < high


def test_published_values_are_multiples_of_the_precision(case, kepsilon_command):
    """No digit beyond the declared precision, or the grid of the noise would show."""
    release(case, kepsilon_command)
    heights = [r["height"] for r in read(case / "out.csv")]
    assert all(Decimal(h) % Decimal("0.1") == 0 for h in heights)
    assert len(set(heights)) > 60


def test_two_releases_differ_and_a_seed_repeats_one(case, kepsilon_command):
    """Noise and order come from the system, unless a seed is asked for by its unsafe name, which the manifest tells."""
    first = release(case, kepsilon_command, output="1.csv")
    release(case, kepsilon_command, output="2.csv")
    assert read(case / "1.csv") != read(case / "2.csv")
    assert first["seeded"] is False
    for name in ("3.csv", "4.csv"):
        assert release(case, kepsilon_command, "--unsafe-seed", 7, output=name)["seeded"] is True
        manifest = json.loads((case / f"{name}.manifest.json").read_text(encoding="utf-8"))
        assert manifest["seeded"] is True
    assert (case / "3.csv").read_bytes() == (case / "4.csv").read_bytes()
    assert (case / "3.csv").read_bytes() != (case / "1.csv").read_bytes()


def test_the_order_of_records_is_shuffled(case, kepsilon_command):
    """Fixed points of a random permutation of 120: 1 on average; 12 or more has probability below 1e-9."""
    release(case, kepsilon_command, "--linkage", case / "linkage.csv")
    links = read(case / "linkage.csv")
    rows = [int(link["original_row"]) for link in links]
    assert sum(row == i for i, row in enumerate(rows)) < 12
    rises = sum(a < b for a, b in pairwise(rows))
    assert 0.25 < rises / len(rows) < 0.75  # 60 ± 3.2 in 119; the bounds are 9 standard deviations away


def test_files_beside_the_release(case, kepsilon_command):
    """The manifest is public and holds the digest; record and linkage are for the owner only."""
    os.umask(0o022)
    record = release(case, kepsilon_command, "--linkage", case / "linkage.csv")
    digest = "sha256:" + hashlib.sha256((case / "out.csv").read_bytes()).hexdigest()
    manifest = json.loads((case / "out.csv.manifest.json").read_text(encoding="utf-8"))
    on_disk = json.loads((case / "out.csv.curator.json").read_text(encoding="utf-8"))
    assert digest == manifest["digest"] == on_disk["digest"] == record["digest"]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in case.iterdir()}
    assert modes["out.csv.curator.json"] == modes["linkage.csv"] == 0o600
    assert modes["out.csv"] == modes["out.csv.manifest.json"] == 0o644
    assert sorted(modes) == sorted(
        ["linkage.csv", "out.csv", "out.csv.curator.json", "out.csv.manifest.json", "people.csv", "policy.toml"]
    )


def test_without_asking_nothing_links_release_and_original(case, kepsilon_command):
    """No linkage file, and no row numbers anywhere else."""
    release(case, kepsilon_command)
    assert sorted(path.name for path in case.iterdir()) == [
        "out.csv", "out.csv.curator.json", "out.csv.manifest.json", "people.csv", "policy.toml",
    ]  # fmt: skip


def test_the_manifest_leaves_out_lists_paths_and_times(case, kepsilon_command):
    """Group lists may have been copied from the data by init; a path tells about the curator's machine."""
    (case / "zip.csv").write_text(
        "\n".join(f"{z};{z[:2]}***;*" for z in {p["zip"] for p in people()}), encoding="utf-8"
    )
    set_policy(
        case,
        ('{ type = "mask" }', '{ type = "file", path = "zip.csv" }'),
        ('{ type = "suppress" }', '{ type = "groups", levels = [{ P = ["F", "M", "SECRET-LIST"] }] }'),
    )
    release(case, kepsilon_command)
    text = (case / "out.csv.manifest.json").read_text(encoding="utf-8")
    for secret in ("SECRET-LIST", "zip.csv", "seconds", "constant_classes", str(case)):
        assert secret not in text


def test_formats_keep_text_and_nulls(case, kepsilon_command):
    """01234 stays text and null stays null, whatever goes in and comes out."""
    table = people()
    for record in table[::10]:
        record["illness"] = ""
    write_csv(case / "people.csv", table)
    for output, reader in (
        ("out.csv", lambda path: pa.Table.from_pylist(read(path))),
        ("out.parquet", parquet.read_table),
        ("out.feather", feather.read_table),
        ("out.arrow", lambda path: pa.ipc.open_file(path).read_all()),
        (
            "out.tsv",
            lambda path: pa.Table.from_pylist(list(csv.DictReader(path.read_text().splitlines(), delimiter="\t"))),
        ),
    ):
        record = release(case, kepsilon_command, output=output)
        back = reader(case / output)
        assert back.num_rows == record["records"]["released"]
        assert back.column("zip").type in (pa.string(), pa.large_string())
        assert all(zip_code[0] in "0*" for zip_code in back.column("zip").to_pylist())
        missing = sum(value in (None, "") for value in back.column("illness").to_pylist())
        assert 0 < missing <= 12
        assert (back.schema.metadata or {}).keys() <= {b"ARROW:schema"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_delimiters_are_sniffed_and_kept(case, kepsilon_command, delimiter):
    """A file comes back the way it came."""
    write_csv(case / "people.csv", people(), delimiter=delimiter)
    release(case, kepsilon_command)
    with (case / "out.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file, delimiter=delimiter)) == ["zip", "year", "sex", "height", "illness"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(case, kepsilon_command, encoding):
    """UTF-8 with or without BOM, and Latin-1, also where the header itself is not ASCII."""
    table = [{("größe" if key == "height" else key): value for key, value in record.items()} for record in people()]
    for record in table:
        record["illness"] = "Fußpilz é " + record["illness"]
    write_csv(case / "people.csv", table, encoding=encoding)
    set_policy(case, ("attributes.height", 'attributes."größe"'))
    release(case, kepsilon_command)
    released = read(case / "out.csv")
    assert all(record["illness"].startswith("Fußpilz é ") for record in released)
    assert "größe" in released[0]


def test_quoted_cells_survive(case, kepsilon_command):
    """Delimiters, quotes and line breaks inside cells."""
    table = people()
    for record in table:
        record["illness"] = 'a "b", c\nd; ' + record["illness"]
    write_csv(case / "people.csv", table)
    release(case, kepsilon_command)
    wanted = {record["illness"] for record in table}
    assert {record["illness"] for record in read(case / "out.csv")} <= wanted


def test_missing_epsilon_values_are_left_out_and_counted(case, kepsilon_command):
    """The default: those records leave before anything is counted."""
    table = people()
    for record in table[:7]:
        record["height"] = ""
    write_csv(case / "people.csv", table)
    record = release(case, kepsilon_command)
    assert record["records"]["suppressed_missing"] == 7
    assert record["records"]["released"] + record["records"]["suppressed_by_k"] == 113
    assert all(r["height"] for r in read(case / "out.csv"))


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_missingness_can_be_part_of_the_class(case, kepsilon_command, algorithm):
    """Whether a value is missing is visible, so no class may mix the two, and each still has k records."""
    table = people()
    for record in table[::2]:
        record["height"] = ""
    write_csv(case / "people.csv", table)
    set_policy(
        case,
        ('range = "class"', 'range = "class"\nmissing = "class"'),
        ('"ola"', f'"{algorithm}"'),
        ("0.1\n[attr", "0.3\n[attr"),
    )
    record = release(case, kepsilon_command, "--linkage", case / "linkage.csv")
    released = read(case / "out.csv")
    assert record["records"]["suppressed_missing"] == 0
    kinds = defaultdict(Counter)
    for link in read(case / "linkage.csv"):
        kinds[link["class_id"]][released[int(link["released_row"])]["height"] == ""] += 1
    assert all(len(kind) == 1 and sum(kind.values()) >= 3 for kind in kinds.values())
    assert {is_missing for kind in kinds.values() for is_missing in kind} == {True, False}


def test_unlisted_values_can_be_left_out(case, kepsilon_command):
    """`unlisted = "suppress"` leaves those records out before anything is counted."""
    table = people()
    for record in table[:5]:
        record["sex"] = "CANARY"
    write_csv(case / "people.csv", table)
    groups = '{ type = "groups", levels = [{ P = ["F", "M"] }] }\nunlisted = "suppress"'
    set_policy(case, ('{ type = "suppress" }', groups))
    record = release(case, kepsilon_command)
    assert record["records"]["suppressed_unlisted"] == 5
    assert "CANARY" not in (case / "out.csv").read_text(encoding="utf-8")


def test_columns_without_role_can_be_dropped(case, kepsilon_command):
    """Only when the policy says so."""
    illness = POLICY[POLICY.index("[attributes.illness]") :]
    set_policy(case, (illness, ""), ("k = 3", 'k = 3\nunlisted_columns = "drop"'))
    release(case, kepsilon_command)
    assert list(read(case / "out.csv")[0]) == ["zip", "year", "sex", "height"]


def test_declared_bounds_clip_and_count(case, kepsilon_command):
    """Values outside are clipped first, and counted among released records."""
    set_policy(case, ('range = "class"', "range = [160, 180]"), ("0.1\n[attr", "0\n[attr"))
    record = release(case, kepsilon_command)
    outside = sum(not 160 <= float(p["height"]) <= 180 for p in people())
    assert record["clipped"] == {"height": outside}
    assert outside > 0
    assert "local promise" in record["guarantee"]["statement"]


def test_a_domain_clamps_what_is_published(case, kepsilon_command):
    """No negative heights, by public bounds."""
    set_policy(case, ("epsilon = 2", "epsilon = 0.01"), ('range = "class"', 'range = "class"\ndomain = [100, 220]'))
    release(case, kepsilon_command)
    heights = [float(r["height"]) for r in read(case / "out.csv")]
    assert min(heights) == 100
    assert max(heights) == 220


@pytest.mark.parametrize(
    ("range_", "words"),
    [
        ('"class"', "an extreme record moves the range itself"),
        ("{ coarse = 5 }", "widened to steps of 5"),
        ("[100, 250]", "bounds that were declared and not read from the data"),
    ],
)
def test_the_guarantee_is_worded_for_the_chosen_range(case, kepsilon_command, range_, words):
    """A stronger sentence than the range allows would be a lie; "a differentially private dataset" is never said."""
    set_policy(case, ('range = "class"', f"range = {range_}"))
    record = release(case, kepsilon_command)
    said = record["guarantee"]["statement"]
    assert words in said
    assert "occurs at least 3 times" in said
    assert ("This is not differential privacy" in said) is (range_ != "[100, 250]")
    assert "differentially private" not in said


def test_anonymize_is_the_same_command(case, kepsilon_command):
    """Both spellings."""
    outcome = kepsilon_command("anonymize", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    assert outcome.code == 0
    assert "records read" in outcome.out


def test_overwrite_replaces_when_asked(case, kepsilon_command):
    """And only then (see test_bad_input)."""
    release(case, kepsilon_command)
    first = (case / "out.csv").read_bytes()
    release(case, kepsilon_command, "--overwrite")
    assert (case / "out.csv").read_bytes() != first


def test_check_says_what_a_policy_achieves(case, kepsilon_command):
    """It tells the release's node and suppression, without writing anything; repeated names are pointed out."""
    table = [{**person, "name": person["name"].replace("-", " ")} for person in people()]
    table[1]["name"] = table[0]["name"]
    write_csv(case / "people.csv", table)
    outcome = kepsilon_command("check", case / "people.csv", "-p", case / "policy.toml", "--json")
    finding = json.loads(outcome.out)
    record = release(case, kepsilon_command)
    assert finding["levels"] == record["levels"]
    assert finding["records"]["suppressed_by_k"] == record["records"]["suppressed_by_k"]
    assert finding["classes"]["count"] == record["classes"]["count"]
    plain = kepsilon_command("check", case / "people.csv", "-p", case / "policy.toml")
    assert "a class of k records can hold fewer than k persons" in " ".join(plain.out.split())
    assert "CANARY" not in plain.out + plain.err


@pytest.mark.parametrize("command", ["check", "anonymise", "explore"])
@pytest.mark.parametrize(
    ("stated", "code"),
    [("", 3), ("records_are_persons = true\n", 0), ('person = "name"\nepsilon_per = "record"\n', 0)],
    ids=["nothing", "records are persons", "person"],
)
def test_repeated_codes_are_refused_unless_the_policy_says_what_a_person_is(
    case, kepsilon_command, command, stated, code
):
    """A class of k records could be one person's, and nobody would have said so."""
    table = people()
    table[1]["name"] = table[0]["name"]
    write_csv(case / "people.csv", table)
    policy = case / "policy.toml"
    policy.write_text(stated + policy.read_text(encoding="utf-8"), encoding="utf-8")
    output = ["-o", case / "out.csv"] if command == "anonymise" else []
    outcome = kepsilon_command(command, case / "people.csv", "-p", policy, *output)
    assert outcome.code == code, outcome.err
    assert (case / "out.csv").exists() is (command == "anonymise" and code == 0)
    said = " ".join(outcome.err.split())
    assert ('State person = "name" in the policy' in said) is (code == 3)
    assert ("records_are_persons = true" in said) is (code == 3)
    assert "CANARY" not in outcome.out + outcome.err


def test_schema_is_json(kepsilon_command):
    """For editors."""
    assert json.loads(kepsilon_command("schema").out)["title"] == "kepsilon policy"


def test_check_warns_of_cells_that_a_spreadsheet_would_run(case, kepsilon_command):
    """Warned of, never altered: a minus sign is a number."""
    table = people()
    for i, cell in enumerate(["=1+1", "@x", "+cmd", "-cmd", "-5", "+5.2", "plain"]):
        table[i]["illness"] = cell
    write_csv(case / "people.csv", table)
    outcome = kepsilon_command("check", case / "people.csv", "-p", case / "policy.toml")
    assert 'column "illness": 4 cells begin like a formula' in " ".join(outcome.out.split())


def test_one_column_keeps_its_nulls(case, kepsilon_command):
    """An empty line is a record there; Arrow would skip it, and so would readers of the release."""
    (case / "people.csv").write_text("q\n" + "\na\n" * 5 + "\n\n", encoding="utf-8")
    (case / "policy.toml").write_text(
        'k = 2\nepsilon = 1\nalgorithm = "ola"\nmax_suppression = 0\n'
        '[attributes.q]\nrole = "k-quasi"\nhierarchy = { type = "suppress" }\n',
        encoding="utf-8",
    )
    record = release(case, kepsilon_command)
    assert record["records"]["released"] == record["records"]["read"] == 10
    assert sorted(r["q"] for r in read(case / "out.csv")) == [""] * 5 + ["a"] * 5


def test_a_byte_order_mark_before_latin_1(case, kepsilon_command):
    """Some programs write one and then not UTF-8: which of the two is meant, nobody knows."""
    table = people()
    for record in table:
        record["illness"] = "é"
    write_csv(case / "people.csv", table, encoding="latin-1")
    (case / "people.csv").write_bytes(b"\xef\xbb\xbf" + (case / "people.csv").read_bytes())
    outcome = kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    assert outcome.code == 2
    assert "line 2 is not UTF-8, although its first bytes say so" in outcome.err


def test_blank_lines_before_the_header_and_long_cells(case, kepsilon_command):
    """Neither is a mistake."""
    table = people()
    table[0]["illness"] = "long " * 1_500_000
    write_csv(case / "people.csv", table)
    (case / "people.csv").write_bytes(b"\r\n\n" + (case / "people.csv").read_bytes())
    assert release(case, kepsilon_command)["records"]["read"] == 120


def test_epsilon_is_stated_as_written(case, kepsilon_command):
    """A rounded ε would be another promise."""
    set_policy(case, ("epsilon = 2", "epsilon = 1.2345678"), ('range = "class"', "range = [123.4567, 234.5678]"))
    said = release(case, kepsilon_command)["guarantee"]["statement"]
    assert "ε = 1.2345678" in said
    assert "[123.4567, 234.5678]" in said


def test_clipped_values_stay_out_of_the_manifest(case, kepsilon_command):
    """A count that is exact to one value tells about that value; the local promise would be broken."""
    set_policy(case, ('range = "class"', "range = [160, 180]"))
    release(case, kepsilon_command)
    assert "clipped" not in json.loads((case / "out.csv.manifest.json").read_text(encoding="utf-8"))
    assert "clipped" in json.loads((case / "out.csv.curator.json").read_text(encoding="utf-8"))


def test_missingness_is_no_k_quasi_in_the_figures(case, kepsilon_command):
    """It shapes classes, but nothing is generalised in it, so it must not dilute the loss."""
    table = people()
    for record in table[::2]:
        record["height"] = ""
    write_csv(case / "people.csv", table)
    set_policy(case, ('range = "class"', 'range = "class"\nmissing = "class"'), ("k = 3", "k = 25"))
    record = release(case, kepsilon_command)
    losses = record["loss"]["precision"]
    assert losses["overall"] == pytest.approx(sum(losses[q] for q in QUASIS) / 3)
    assert list(record["levels"]) == list(QUASIS)


@pytest.mark.parametrize("labels", ["siblings", "ancestor"])
def test_values_of_records_left_out_shape_no_label(case, kepsilon_command, labels):
    """Neither in a set label, nor as the longest value of a mask."""
    table = people()
    table[0].update(sex="CANARY", height="")
    table[1].update(zip="CANARY-CANARY", height="")
    write_csv(case / "people.csv", table)
    mask = '{ type = "mask", length = 5 }\nunlisted = "suppress"'
    changes = (("k = 3", f'k = 40\nlabels = "{labels}"'), ('\nhierarchy = { type = "suppress" }', ""))
    set_policy(case, MONDRIAN, *changes, ('{ type = "mask" }', mask))
    record = release(case, kepsilon_command)
    assert (record["records"]["suppressed_missing"], record["records"]["suppressed_unlisted"]) == (1, 1)
    assert "CANARY" not in (case / "out.csv").read_text(encoding="utf-8")
    shown = [label for r in read(case / "out.csv") for label in r["zip"].strip("{}").split(", ")]
    assert {len(label) for label in shown} == {5}


def test_a_single_column_of_numbers_keeps_its_missing_values(tmp_path, kepsilon_command):
    """A null alone on its line would be an empty line, which readers skip."""
    (tmp_path / "d.csv").write_text("v\n" + "1.5\n2.5\n3.5\n4.5\n" + '""\n' * 4, encoding="utf-8")
    (tmp_path / "p.toml").write_text(
        'k = 2\nepsilon = 1\nalgorithm = "ola"\nmax_suppression = 0\n'
        '[attributes.v]\nrole = "epsilon-quasi"\nprecision = 0.1\nrange = "class"\nmissing = "class"\n',
        encoding="utf-8",
    )
    outcome = kepsilon_command("anonymise", tmp_path / "d.csv", "-p", tmp_path / "p.toml", "-o", tmp_path / "o.csv")
    assert outcome.code == 0, outcome.err
    lines = (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 9
    assert lines.count('""') == 4
