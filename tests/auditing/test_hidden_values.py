# SPDX-License-Identifier: Apache-2.0
"""What a release can hold beside its records: entries of dictionaries, metadata, and the index of a frame."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import kepsilon as ke
from material.audited_releases import arrow, patients, patients_policy, released


@pytest.fixture(scope="module")
def case():
    return released(patients(300), patients_policy())


def written(table: pa.Table, path, suffix: str):
    file = path / f"release.{suffix}"
    (pq.write_table if suffix == "parquet" else feather.write_feather)(table, file)
    return file


def with_column(table: pa.Table, name: str, column) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "frame"])
def test_entries_of_a_dictionary_that_no_record_shows_are_broken(case, tmp_path, kind):
    """Values that no record shows can still be read from the dictionary in the file."""
    table = arrow(case.released)
    coded = table["illness"].combine_chunks().dictionary_encode()
    fuller = pa.DictionaryArray.from_arrays(
        coded.indices, pa.concat_arrays([coded.dictionary, pa.array(["CANARY-00001", "CANARY-00002"])])
    )
    for column, is_sound in ((coded, True), (fuller, False)):
        release = with_column(table, "illness", column)
        audit = ke.audit(
            arrow(case.original), release if kind == "frame" else written(release, tmp_path, kind), case.policy
        )
        found = [f for f in audit.broken if "holds values that no record shows" in f.what]
        assert (not found) is is_sound, audit.findings
        assert "CANARY" not in str(audit.to_json())


@pytest.mark.parametrize("kind", ["parquet", "arrow", "frame"])
def test_metadata_of_a_field_is_warned_about(case, tmp_path, kind):
    """A comment on a column can hold an original as well as one on the table."""
    table = arrow(case.released)
    fields = [f.with_metadata({"note": "CANARY"}) if f.name == "height" else f for f in table.schema]
    release = table.cast(pa.schema(fields))
    audit = ke.audit(
        arrow(case.original), release if kind == "frame" else written(release, tmp_path, kind), case.policy
    )
    assert ["note" in f.what for f in audit.of("warning") if f.check == "metadata"] == [True]
    assert "CANARY" not in str(audit.to_json())


@pytest.mark.parametrize("where", ["footer", "batch"])
def test_metadata_of_an_arrow_file_is_warned_about(case, tmp_path, where):
    """Arrow files hold metadata at the end of the file and beside each batch; both are reported."""
    table, path = arrow(case.released), tmp_path / "release.arrow"
    footer = {"metadata": {"note": "CANARY"}} if where == "footer" else {}
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, **footer) as writer:
        beside = {"custom_metadata": {"note": "CANARY"}} if where == "batch" else {}
        writer.write_batch(table.combine_chunks().to_batches()[0], **beside)
    audit = ke.audit(arrow(case.original), path, case.policy)
    assert ["note" in f.what for f in audit.of("warning") if f.check == "metadata"] == [True]


def test_the_index_of_a_frame_is_warned_about(case):
    """The index of a frame could be the row of the original."""
    frame = arrow(case.released).to_pandas()
    assert not [f for f in ke.audit(arrow(case.original), frame, case.policy).of("warning") if f.check == "metadata"]
    frame.index = case.linkage["original_row"]
    audit = ke.audit(arrow(case.original), frame, case.policy)
    assert ["index" in f.what for f in audit.of("warning") if f.check == "metadata"] == [True]
