# SPDX-License-Identifier: Apache-2.0
"""Bad data and bad policies get one clear message, the right exit code, no file, and no value of a record in the message."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from material.people import POLICY, columns_of, people, write_csv
from material.refusals import change_field, change_policy, refused


def test_policy_that_is_not_toml(case, kepsilon_command):
    """The parser says where."""
    (case / "policy.toml").write_text("k = = 3", encoding="utf-8")
    assert "line 1" in refused(case, kepsilon_command)


@pytest.mark.parametrize("content", ["", "\n\n"], ids=["no bytes", "blank lines"])
def test_empty_file(case, kepsilon_command, content):
    """A failed export."""
    (case / "people.csv").write_text(content, encoding="utf-8")
    assert "is empty" in refused(case, kepsilon_command)


def test_header_only(case, kepsilon_command):
    """An export of nothing."""
    (case / "people.csv").write_text("name,zip,year,sex,height,illness\n", encoding="utf-8")
    assert "no records" in refused(case, kepsilon_command)


@pytest.mark.parametrize("line", ["CANARY,01234", "CANARY,01234,1950,F,170.1,x,y,z"], ids=["short", "long"])
def test_ragged_csv(case, kepsilon_command, line):
    """Arrow's own message quotes the line, which is a record."""
    with (case / "people.csv").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    message = refused(case, kepsilon_command)
    assert "1 records do not have the 6 cells" in message
    assert "line 122" in message


def test_duplicate_column_names(case, kepsilon_command):
    """Which of the two would a role be for?"""
    text = (case / "people.csv").read_text(encoding="utf-8")
    (case / "people.csv").write_text(text.replace("illness", "zip", 1), encoding="utf-8")
    assert '2 columns are named "zip"' in refused(case, kepsilon_command)


def test_column_without_role(case, kepsilon_command):
    """A forgotten column could be a name."""
    change_policy(case, POLICY[POLICY.index("[attributes.illness]") :], "")
    assert 'no role in the policy for column "illness"' in refused(case, kepsilon_command)


def test_role_without_column(case, kepsilon_command):
    """A typing error, most likely: the closest column is named."""
    change_policy(case, "[attributes.illness]", "[attributes.ilness]")
    message = refused(case, kepsilon_command)
    assert 'a role for "ilness", but there is no such column' in message
    assert 'Did you mean "illness"?' in message


def test_text_in_a_numeric_epsilon_quasi(case, kepsilon_command):
    """Counted, not shown."""
    change_field(case, "height", "CANARY tall")
    assert "3 records hold text that is not a number" in refused(case, kepsilon_command)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "NaN"])
def test_nan_and_infinities(case, kepsilon_command, value):
    """No noise hides them."""
    change_field(case, "height", value)
    assert "3 records hold text that is not a number" in refused(case, kepsilon_command)


def test_nan_in_parquet(case, kepsilon_command):
    """A NaN that is a number already."""
    columns = columns_of(people())
    columns["height"] = [float("nan"), *map(float, columns["height"][1:])]
    parquet.write_table(pa.table(columns), case / "people.parquet")
    assert "1 records hold NaN" in refused(case, kepsilon_command, source="people.parquet")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("k = 3", "k = 1", "k: should be greater than or equal to 2"),
        ("k = 3", "k = 121", "only 120 records are there"),
        ("epsilon = 2", "epsilon = 0", "epsilon: should be greater than or equal to 0.0001"),
        ("epsilon = 2", "epsilon = -1", "epsilon"),
        ("epsilon = 2", "epsilon = nan", "epsilon: should be a finite number"),
        ("epsilon = 2", "epsilon = 0.00001", "epsilon"),
        ("epsilon = 2", "epsilon = 101", "epsilon: should be less than or equal to 100"),
        ("max_suppression = 0.1", "max_suppression = 1.5", "max_suppression"),
        ("max_suppression = 0.1", "max_suppression = -0.5", "max_suppression"),
        ("widths = [5, 10]", "widths = [5, 8]", "attributes.year.hierarchy"),
        ('"mask"', '"file", path = "no.csv"', "cannot read no.csv"),
        ("precision = 0.1", "precision = 0.00000001", "is too fine"),
    ],
)  # fmt: skip
def test_wrong_figures_in_the_policy(case, kepsilon_command, old, new, said):
    """The message names the key."""
    change_policy(case, old, new)
    assert said in refused(case, kepsilon_command)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("F;a;*\nM;a;#\n", "two parents"),
        ("F;a;*\n", "60 records hold 1 values that its hierarchy does not list"),
        ("F;M;*\nM;F;*\n", "cyclic"),
        ("F;a;*\nM;a\n", "must be equal in number"),
        ("F;a;*\nF;a;*\nM;a;*\n", "both list"),
    ],
    ids=["not nested", "not covering", "cyclic", "unequal lengths", "duplicate"],
)
def test_wrong_hierarchy_files(case, kepsilon_command, rows, said):
    """The curator's own rows may be quoted; the data's values are counted."""
    (case / "sex.csv").write_text(rows, encoding="utf-8")
    change_policy(case, '"suppress"', '"file", path = "sex.csv"')
    assert said in refused(case, kepsilon_command)


def test_unlisted_values_of_several_columns_are_reported_together(case, kepsilon_command):
    """And ε-quasis' mistakes in the same breath."""
    table = people()
    table[0].update(year="CANARY", height="CANARY")
    table[1]["sex"] = "CANARY"
    write_csv(case / "people.csv", table)
    change_policy(case, '{ type = "suppress" }', '{ type = "groups", levels = [{ P = ["F", "M"] }] }')
    message = refused(case, kepsilon_command)
    for column in ("year", "sex", "height"):
        assert f'column "{column}"' in message


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow"])
def test_files_that_are_not_what_their_suffix_says(case, kepsilon_command, name):
    """A CSV renamed."""
    (case / "people.csv").rename(case / name)
    assert "is not a" in refused(case, kepsilon_command, source=name)


def test_a_policy_that_cannot_be_met_exits_3(case, kepsilon_command):
    """Nothing is weakened, and the message says what would work."""
    (case / "sex.csv").write_text("F\nM\n", encoding="utf-8")
    change_policy(case, '"suppress"', '"file", path = "sex.csv"')
    change_policy(case, "k = 3", "k = 61")
    message = refused(case, kepsilon_command, code=3)
    assert message.startswith("kepsilon: refused: k = 61 with at most 10 % suppressed cannot be met.")
    assert "sex keeps 2 values there" in message
    assert "allow max_suppression" not in message  # 1 would leave out everybody
    assert 'add a level "*" to sex; or choose a smaller k' in message


def test_suppressing_everything_is_no_release(case, kepsilon_command):
    """A limit of 1 is met by leaving out every record, which helps nobody; ncp charges such records, dm* does not."""
    change_policy(case, "max_suppression = 0.1", 'max_suppression = 1\nloss = "dm*"')
    change_policy(case, "k = 3", "k = 119")
    assert "would leave out every record" in refused(case, kepsilon_command, code=3)


@pytest.mark.parametrize("algorithm", ["mondrian", "local-recoding"])
def test_a_small_part_of_missing_values_is_refused_where_nobody_may_be_left_out(case, kepsilon_command, algorithm):
    """Two records cannot form a class of three, and a local algorithm leaves nobody out unless it is told to."""
    change_policy(case, "max_suppression = 0.1\n", "")
    change_field(case, "height", "", records=range(2))
    change_policy(case, 'algorithm = "ola"', f'algorithm = "{algorithm}"')
    change_policy(case, 'range = "class"', 'range = "class"\nmissing = "class"')
    message = refused(case, kepsilon_command, code=3)
    assert "2 records have values missing that fewer than k = 3 records miss together" in message
    assert "leaves no record out" in message
    assert "allow max_suppression = 0.017" in message


INTERVALS = 'hierarchy = { type = "intervals", widths = [5, 10] }'


@pytest.mark.parametrize(("old", "instead"), [("tight", "siblings"), ("cut", "ancestor")])
def test_labels_of_version_0_1_are_refused_with_what_to_write_instead(case, kepsilon_command, old, instead):
    """They published values of single records."""
    change_policy(case, "k = 3", f'k = 3\nlabels = "{old}"')
    assert f'write labels = "{instead}"' in refused(case, kepsilon_command)


def test_numbers_without_hierarchy_need_a_public_step(case, kepsilon_command):
    """The error names the key and where the number must not come from."""
    change_policy(case, 'algorithm = "ola"', 'algorithm = "mondrian"')
    change_policy(case, INTERVALS, "")
    said = refused(case, kepsilon_command)
    assert "attributes.year: holds numbers, and has neither a step nor a hierarchy" in said
    assert "choose it from what is publicly known, not from the data" in said


@pytest.mark.parametrize(
    "hierarchy", ["", 'hierarchy = { type = "suppress" }'], ids=["step alone", "beside a hierarchy"]
)
def test_a_step_at_values_that_are_no_numbers_is_refused_by_count(case, kepsilon_command, hierarchy):
    """With column and count, and never the value."""
    change_field(case, "year", "CANARY-year", records=range(3))
    change_policy(case, 'algorithm = "ola"', 'algorithm = "mondrian"')
    change_policy(case, INTERVALS, f"{hierarchy}\nstep = 5")
    assert 'column "year": 3 records hold 1 values that are no finite numbers' in refused(case, kepsilon_command)


@pytest.mark.parametrize("step", ["0", "-1", "true", '"5"', "nan", "1e300"])
def test_a_step_that_is_no_positive_number_is_refused(case, kepsilon_command, step):
    """What decides a promise is not guessed."""
    change_policy(case, INTERVALS, f"{INTERVALS}\nstep = {step}")
    assert "attributes.year.step" in refused(case, kepsilon_command)


def test_show_values_shows_them_when_asked(case, kepsilon_command):
    """The curator may look at their own data."""
    change_field(case, "height", "very tall")
    outcome = kepsilon_command("check", case / "people.csv", "-p", case / "policy.toml", "--show-values", "height")
    assert (outcome.code, outcome.out.split()) == (0, ["3", "very", "tall"])


def test_the_policy_of_these_tests_works(case, kepsilon_command):
    """Or every refusal above would be for the wrong reason."""
    assert POLICY
    outcome = kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    assert outcome.code == 0, outcome.err


def test_a_stray_quote_does_not_swallow_records(case, kepsilon_command):
    """Arrow reads an unclosed quote to the end of the file: one sensitive cell would hold everybody's records."""
    lines = (case / "people.csv").read_text(encoding="utf-8").splitlines()
    lines[100] = lines[100].replace("illness", '"illness')
    (case / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert "quotes do not match" in refused(case, kepsilon_command)


@pytest.mark.parametrize("distance", [1, 2, 4])
@pytest.mark.parametrize("column", [0, 1, 4, 5], ids=["identifier", "k-quasi", "epsilon-quasi", "last"])
@pytest.mark.parametrize("noise", ["", "lone CR", "vertical tabs"])
def test_two_stray_quotes_do_not_swallow_records(case, kepsilon_command, distance, column, noise):
    """Legal CSV, and yet surely not meant: a cell with whole records in it, in whatever column.

    A bare carriage return elsewhere must not make up for the line that went missing.
    """
    lines = (case / "people.csv").read_text(encoding="utf-8").splitlines()
    opening, closing = lines[100].split(","), lines[100 + distance].split(",")
    opening[column] = '"' + opening[column]
    closing[column] += '"'
    if noise == "vertical tabs":
        opening[2] += "\v"
    lines[100], lines[100 + distance] = ",".join(opening), ",".join(closing)
    text = "\n".join(lines) + "\n"
    if noise == "lone CR":
        text = text.replace("\n", "\r", 1)
    (case / "people.csv").write_bytes(text.encode())
    assert f"a quoted cell that ends on line {101 + distance} holds line breaks" in refused(case, kepsilon_command)


def test_cells_of_several_lines_are_fine(case, kepsilon_command):
    """Notes have line breaks and commas too."""
    table = people()
    for record in table:
        record["illness"] += ": fever, cough\nrest, water\n\nbetter"
    write_csv(case / "people.csv", table)
    outcome = kepsilon_command("anonymise", case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    assert outcome.code == 0, outcome.err


def test_values_longer_than_a_stated_mask_are_unlisted(case, kepsilon_command):
    """One typing error must not lengthen every label."""
    change_field(case, "zip", "CANARY-LONG", records=range(1))
    change_policy(case, '"mask"', '"mask", length = 5')
    assert "1 records hold 1 values that its hierarchy does not list" in refused(case, kepsilon_command)


def test_noise_that_would_not_fit_a_double_is_refused_with_the_policy(case, kepsilon_command):
    """Tiny ε and a precision of many digits."""
    change_policy(case, "epsilon = 2", "epsilon = 0.0001")
    change_policy(case, "precision = 0.1", "precision = 134217728")
    assert "would not fit into a double" in refused(case, kepsilon_command)


@pytest.mark.parametrize("value", ["1_50", "１５０", "abc"])
def test_show_values_shows_whatever_was_refused(case, kepsilon_command, value):
    """One rule decides both."""
    change_field(case, "height", value)
    assert "3 records hold text that is not a number" in refused(case, kepsilon_command)
    outcome = kepsilon_command("check", case / "people.csv", "-p", case / "policy.toml", "--show-values", "height")
    assert value in outcome.out


def test_a_file_without_header_shows_no_record(case, kepsilon_command):
    """Its first line is a record, and must not be quoted as column names."""
    lines = (case / "people.csv").read_text(encoding="utf-8").splitlines()
    (case / "people.csv").write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")
    message = refused(case, kepsilon_command)
    assert "does it have a header line?" in message
    assert "illness-0" not in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("precision = 0.1", "precision = 1e300", "precision"),
        ("precision = 0.1", "precision = 1e-300", "precision"),
        ("precision = 0.1", "precision = true", "precision: should be a number"),
        ("precision = 0.1", f"precision = {10**400}", "precision: should be a number below 2^53"),
        ('range = "class"', "range = [-1e308, 1e308]", "too wide"),
        ('range = "class"', "range = [9007199254740992, 9007199254740993]", "below 2^53"),
        ('range = "class"', "range = { coarse = 1e18 }", "coarse"),
        ('range = "class"', 'range = "class"\ndomain = [1e17, 1e18]', "domain is too wide"),
        ("epsilon = 2", "epsilon = true", "epsilon: should be a number"),
        ("epsilon = 2", 'epsilon = "2"', "epsilon: should be a number"),
        ("max_suppression = 0.1", "max_suppression = true", "max_suppression: should be a number"),
        ("widths = [5, 10]", "widths = [1, 1e300]", "attributes.year.hierarchy"),
        ("widths = [5, 10]", "widths = []", "should not be empty"),
        ('"suppress"', '"groups", levels = [{}]', "should not be empty"),
        ('"intervals", widths = [5, 10]', '"dates", units = ["year"], format = "%Q"', "format"),
        ('"mask"', '"file", path = "a\\u0000b"', "no file name"),
    ],
)  # fmt: skip
def test_absurd_figures_are_refused_in_words(case, kepsilon_command, old, new, said):
    """None of them may end as a bug of ours."""
    change_policy(case, old, new)
    assert said in refused(case, kepsilon_command)


def test_too_many_epsilon_quasis(case, kepsilon_command):
    """More than the sampler's integers hold."""
    quasi = '[attributes.e{}]\nrole = "epsilon-quasi"\nprecision = 1\nrange = "class"\n'
    (case / "policy.toml").write_text(POLICY + "".join(quasi.format(i) for i in range(62)), encoding="utf-8")
    assert "at most 62" in refused(case, kepsilon_command)


def test_precisions_that_are_too_fine_are_reported_together(case, kepsilon_command):
    """Two attributes, one message."""
    table = [{**record, "weight": str(50 + i)} for i, record in enumerate(people())]
    write_csv(case / "people.csv", table)
    fine = '[attributes.weight]\nrole = "epsilon-quasi"\nprecision = 1e-9\nrange = "class"\n'
    text = POLICY.replace("precision = 0.1", "precision = 1e-9") + fine
    (case / "policy.toml").write_text(text, encoding="utf-8")
    message = refused(case, kepsilon_command)
    assert "attributes.height.precision" in message
    assert "attributes.weight.precision" in message


@pytest.mark.parametrize("precision", ["7", "2.5", "0.1", "1"])
def test_values_too_large_for_their_precision(case, kepsilon_command, precision):
    """A double could not tell neighbours apart."""
    change_field(case, "height", "1e300")
    change_policy(case, "precision = 0.1", f"precision = {precision}")
    assert "too large to be published" in refused(case, kepsilon_command)


@pytest.mark.parametrize("end", [0.3, 0.6, 0.95])
def test_truncated_arrow_files(case, kepsilon_command, end):
    """Damaged offsets would lead elsewhere in memory."""
    columns = columns_of(people())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.table(columns).schema) as writer:
        writer.write_table(pa.table(columns), max_chunksize=10)
    content = sink.getvalue().to_pybytes()
    (case / "people.arrow").write_bytes(content[: int(end * len(content))])
    message = refused(case, kepsilon_command, source="people.arrow")
    assert "damaged" in message or "not an Arrow" in message or "cannot be read" in message


def test_lists_do_not_fit_into_csv(case, kepsilon_command):
    """Said in words, with what would work."""
    columns = columns_of(people())
    columns["illness"] = [[value] for value in columns["illness"]]
    parquet.write_table(pa.table(columns), case / "people.parquet")
    assert '"illness" hold lists' in refused(case, kepsilon_command, source="people.parquet", check_passes=True)
