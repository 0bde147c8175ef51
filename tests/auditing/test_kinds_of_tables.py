# SPDX-License-Identifier: Apache-2.0
"""Types and files that hold the same values in different ways must not look like tampering."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kepsilon as ke
from material.audited_releases import patients, patients_policy
from material.people import OPENLY

KEPT = {
    "whole": pa.array([i % 7 for i in range(300)], pa.int64()),
    "double": pa.array([i % 5 / 3 for i in range(300)], pa.float64()),
    "flag": pa.array([i % 2 == 0 for i in range(300)]),
    "day": pa.array([dt.date(2020, 1, 1 + i % 28) for i in range(300)]),
    "moment": pa.array([dt.datetime(2020, 1, 1 + i % 28, 3, 4, 5) for i in range(300)]),
    "amount": pa.array([decimal.Decimal(i % 9) / 4 for i in range(300)]),
    "text": pa.array([None if i % 6 == 0 else "" if i % 5 == 0 else 'a "quoted", text' for i in range(300)]),
    "coded": pa.array(["x" if i % 3 else "y" for i in range(300)]).dictionary_encode(),
}


def table() -> pa.Table:
    columns = {name: pa.array(values) for name, values in patients(300).items()}
    columns["year"] = columns["year"].cast(pa.int64())
    return pa.table({**columns, **KEPT})


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_kept_columns_of_every_type_pass_whatever_file_they_go_through(tmp_path, suffix, algorithm):
    """A number written as text is still the same number."""
    pq.write_table(table(), tmp_path / "original.parquet")
    under = patients_policy(algorithm=algorithm, attributes={name: {"role": "sensitive"} for name in KEPT})
    release = ke.anonymise(tmp_path / "original.parquet", under)
    release.write(tmp_path / f"release.{suffix}", linkage=tmp_path / "linkage.csv")
    for linkage in (tmp_path / "linkage.csv", None):
        audit = ke.audit(tmp_path / "original.parquet", tmp_path / f"release.{suffix}", under, linkage=linkage)
        assert not audit.broken, audit.findings
        assert not [f for f in audit.of("warning") if f.check in ("metadata", "columns")], audit.findings


def test_lists_and_bytes_are_compared_too(tmp_path):
    """Parquet and Arrow hold lists and bytes, which CSV cannot; a changed one is found."""
    lists = pa.array([[i % 3, i % 2] for i in range(300)])
    blobs = pa.array([bytes([i % 4]) for i in range(300)])
    original = table().append_column("list", lists).append_column("blob", blobs)
    under = patients_policy(
        unlisted_columns="drop", attributes={"list": {"role": "sensitive"}, "blob": {"role": "insensitive"}}
    )
    release = ke.anonymise(original, under)
    frame = release.frame
    assert not ke.audit(original, frame, under, linkage=release.linkage).broken
    other = frame.set_column(frame.schema.get_field_index("list"), "list", pa.array([[9, 9]] * frame.num_rows))
    audit = ke.audit(original, other, under, linkage=release.linkage)
    assert "kept columns" in {finding.check for finding in audit.broken}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_of_one_column_with_nulls_passes(tmp_path, suffix):
    """In a CSV file of one column a null is written as an empty text, and passes."""
    document = {"k": 3, "epsilon": 1, "algorithm": "mondrian", "max_suppression": 0}
    under = ke.Policy.from_dict({**document, "attributes": {"ward": {"role": "k-quasi"}}})
    original = pa.table({"ward": pa.array([None if i % 4 == 0 else f"w{i % 7}" for i in range(80)])})
    release = ke.anonymise(original, under)
    release.write(tmp_path / f"release.{suffix}", linkage=tmp_path / "linkage.parquet")
    for linkage in (tmp_path / "linkage.parquet", None):
        audit = ke.audit(original, tmp_path / f"release.{suffix}", under, linkage=linkage)
        assert not audit.broken, audit.findings


def test_a_number_that_meets_an_identifier_by_chance_is_no_leak(tmp_path):
    """Bed numbers and ages share values by chance; only a record's own identifier in its own field is a leak."""
    original = table().set_column(0, "name", pa.array([str(i) for i in range(300)]))
    under = patients_policy(attributes={name: {"role": "sensitive"} for name in KEPT})
    release = ke.anonymise(original, under)
    audit = ke.audit(original, release.frame, under)
    assert not [f for f in audit.findings if f.check == "identifiers" and f.severity != "passed"]
    telling = original.set_column(4, "illness", pa.array([str(i) for i in range(300)]))
    openly = patients_policy(attributes={**{name: {"role": "sensitive"} for name in KEPT}, "illness": OPENLY})
    release = ke.anonymise(telling, openly)
    audit = ke.audit(telling, release.frame, openly)
    assert [f for f in audit.of("warning") if f.check == "identifiers"]


def test_two_columns_of_one_name_are_a_finding(tmp_path):
    """Two columns of one name are broken, because nobody can tell which of them is meant."""
    original = pa.table({name: pa.array(values) for name, values in patients(300).items()})
    frame = ke.anonymise(original, patients_policy()).frame
    twice = pa.table([*frame.columns, frame.column("illness")], names=[*frame.column_names, "illness"])
    audit = ke.audit(original, twice, patients_policy())
    assert "columns" in {finding.check for finding in audit.broken}
    pa.csv.write_csv(twice, tmp_path / "release.csv")
    audit = ke.audit(original, tmp_path / "release.csv", patients_policy())
    assert "columns" in {finding.check for finding in audit.broken}
