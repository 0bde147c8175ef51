# SPDX-License-Identifier: Apache-2.0
"""Records that come back from disk are those that went there, or there is no release; and closed is closed."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kepsilon
from kepsilon.engines.arrow.coding import WrongNumbers, encode
from kepsilon.engines.arrow.moving import used_entries
from kepsilon.engines.on_disk import buckets as spill_files
from kepsilon.engines.on_disk.batches import NoisyRecords, _KeptColumns
from kepsilon.engines.on_disk.buckets import Bucket, Records
from kepsilon.engines.spilling.classes import SpilledClasses
from kepsilon.files.private_folders import SPILL_PREFIX
from material.engine_cases import EVERY, SEED, Case, document, plain, random_people, rare_categories, release
from material.people import OPENLY


@pytest.fixture
def bucket(tmp_path):
    """Two hundred records, appended in two goes."""
    (tmp_path / "private").mkdir()
    bucket = Bucket(tmp_path / "private", 0, n_values=2)
    for first in (0, 100):
        ids = np.arange(first, first + 100)
        bucket.append(
            Records(
                class_ids=ids, values=np.column_stack([ids, -ids]).astype(float), rows=ids, kept=pa.table({"a": ids})
            )
        )
    bucket.store_order(np.arange(200)[::-1])
    return bucket


READS = {
    ".c": lambda bucket: bucket.class_ids(),
    ".e": lambda bucket: bucket.values(150, 200),
    ".r": lambda bucket: bucket.rows(100),
    ".k": lambda bucket: list(bucket.kept()),
    ".o": lambda bucket: bucket.order(),
}


@pytest.mark.parametrize("suffix", READS)
def test_what_was_appended_comes_back(bucket, suffix):
    """The reads that the next test breaks do work."""
    assert len(READS[suffix](bucket)) == {".c": 200, ".e": 50, ".r": 100, ".k": 2, ".o": 200}[suffix]


@pytest.mark.parametrize("n_left", [0, 1, 500, -1, -16])
@pytest.mark.parametrize("suffix", READS)
def test_a_file_that_was_cut_short_is_noticed(bucket, suffix, n_left, tmp_path):
    """At any byte, also between two appends; the message names the folder that the user chose."""
    file = tmp_path / "private" / f"0{suffix}"
    file.write_bytes(file.read_bytes()[:n_left])
    with pytest.raises(kepsilon.EngineError, match="did not come back whole; nothing was released") as caught:
        READS[suffix](bucket)
    assert str(caught.value).startswith(f"{tmp_path}: ")


def test_kept_columns_that_end_between_two_appends_are_noticed(bucket, tmp_path):
    """A whole Arrow stream is there, and another is missing."""
    file = tmp_path / "private" / "0.k"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(kepsilon.EngineError, match="did not come back whole"):
        list(bucket.kept())


@pytest.mark.parametrize("is_pickled", [False, True])
@pytest.mark.parametrize("suffix", READS)
def test_a_file_that_is_gone_is_noticed(bucket, suffix, is_pickled, tmp_path):
    """Somebody tidied up. A worker that is handed the bucket knows what was in it, too."""
    (tmp_path / "private" / f"0{suffix}").unlink()
    handed = pickle.loads(pickle.dumps(bucket)) if is_pickled else bucket
    with pytest.raises(kepsilon.EngineError, match="did not come back whole"):
        READS[suffix](handed)


def test_what_was_never_appended_is_not_missed(tmp_path):
    """Neither positions nor other columns, and no file for them."""
    (tmp_path / "private").mkdir()
    bucket = Bucket(tmp_path / "private", 0, n_values=1)
    bucket.append(Records(class_ids=np.zeros(3), values=np.zeros((3, 1)), rows=None, kept=pa.table({})))
    assert bucket.rows() is None
    assert list(bucket.kept()) == []
    assert NoisyRecords(buckets=[bucket]).rows() is None


def test_records_of_a_place_that_do_not_all_have_the_same_columns_are_damaged(bucket, tmp_path):
    """Two buckets make a place; one has positions and other columns and one has not."""
    other = Bucket(tmp_path / "private", 1, n_values=2)
    other.append(Records(class_ids=np.zeros(5), values=np.zeros((5, 2)), rows=None, kept=pa.table({})))
    place = NoisyRecords(buckets=[bucket, other])
    with pytest.raises(kepsilon.EngineError, match="did not come back whole"):
        place.rows()
    with pytest.raises(kepsilon.EngineError, match="did not come back whole"):
        place.table(np.arange(5), None, None, np.arange(200), integers=())


@pytest.mark.parametrize("n_asked", [[200, 1], [150, 51], [201]])
def test_more_records_than_there_are_columns_for_are_damage(bucket, n_asked):
    """As many as there are do come; there is none to go with one more."""
    columns = _KeptColumns(bucket)
    for n in n_asked[:-1]:
        assert columns._columns(n).num_rows == n
    with pytest.raises(kepsilon.EngineError, match="did not come back whole"):
        columns._columns(n_asked[-1])


@pytest.mark.parametrize("suffix", [".c", ".e", ".r", ".k", ".o"])
def test_noisy_records_that_are_gone_are_noticed(suffix, tmp_path):
    """After the noise and before they are written: no column and no linkage is just left out."""
    with release(plain(), "spilling", tmp_path) as released:
        for file in tmp_path.glob(f"{SPILL_PREFIX}*/*{suffix}"):
            file.unlink()
        with pytest.raises(kepsilon.EngineError, match="did not come back whole"):
            released.linkage if suffix == ".r" else released.frame  # noqa: B018 (looking is what fails)


@pytest.mark.parametrize("is_gone", [False, True])
@pytest.mark.parametrize("suffix", [".c", ".e", ".r", ".k"])
def test_no_release_of_records_that_did_not_come_back(suffix, is_gone, tmp_path, monkeypatch):
    """Cut short, or taken away, after they were brought together; nothing is left behind."""
    draw = SpilledClasses.draw

    def cut(self, *arguments, **options):
        for file in self._folder.path.glob(f"0{suffix}"):
            if is_gone:
                file.unlink()
            else:
                file.write_bytes(file.read_bytes()[:-16])
        return draw(self, *arguments, **options)

    monkeypatch.setattr(SpilledClasses, "draw", cut)
    with pytest.raises(kepsilon.EngineError, match="did not come back whole"):
        release(plain(), "spilling", tmp_path)
    assert list(tmp_path.glob(f"{SPILL_PREFIX}*")) == []


LOOKS = {
    "write": lambda released, folder: released.write(folder / "out.parquet"),
    "a folder": lambda released, folder: released.write(folder / "out"),
    "frame": lambda released, _: released.frame,
    "linkage": lambda released, _: released.linkage,
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_closed_release_says_so(look, tmp_path):
    """What is known of it is still there; nothing half is written."""
    with release(plain(), "spilling", tmp_path) as released:
        pass
    with pytest.raises(kepsilon.EngineError, match="release: is closed, and the records that it kept on disk are gone"):
        LOOKS[look](released, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table"]
    assert released.record["records"]["released"] > 0


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int32()])
def test_dictionaries_are_spilt_with_used_entries(kind):
    """Values and their type stay as they are; null is no entry, and an order that was declared is kept whole."""
    entries = pa.array([f"v{i:03d}" for i in range(128)])

    def with_order(ordered):
        return pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(pa.array(own, kind), entries, ordered=ordered)
                for own in ([127, None, 3, 127], [None, None], [0, 64], [])
            ]
        )

    assert used_entries(with_order(True), least=0).equals(with_order(True))
    assert all(chunk.dictionary.equals(entries) for chunk in used_entries(with_order(True), least=0).chunks)
    column = with_order(False)
    found = used_entries(column, least=0)
    assert found.type == column.type
    assert found.to_pylist() == column.to_pylist()
    assert [chunk.dictionary.to_pylist() for chunk in found.chunks] == [["v003", "v127"], [], ["v000", "v064"], []]
    assert used_entries(column, least=128).chunk(0).dictionary.equals(entries)


def test_a_large_dictionary_is_not_spilt_with_every_part(tmp_path, monkeypatch):
    """Ten thousand entries, and a few records at a time: what is on disk grows with the records."""
    n = 2_000
    rng = np.random.default_rng(SEED)
    entries = pa.array([f"an illness with a long name {i:09d}" for i in range(10_000)])
    columns = random_people(n)
    columns["illness"] = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 10_000, n)), entries)
    sizes = []
    stream = spill_files._as_stream
    monkeypatch.setattr(spill_files, "_as_stream", lambda table: sizes.append(stream(table).size) or stream(table))
    released = release(Case(pa.table(columns), document()), "spilling", tmp_path)
    rows = released.linkage.column("original_row")
    was = pa.table(columns).column("illness").cast(pa.string()).take(rows)
    assert released.frame.column("illness").to_pylist() == was.to_pylist()
    assert max(sizes) < entries.nbytes / 10


@pytest.mark.parametrize("engine", EVERY)
def test_a_null_beside_a_full_dictionary_stays_a_null(engine, tmp_path):
    """128 entries are all that 8 bits can name, and the number that stood for null was none of 8 bits."""
    entries = pa.array([f"{i:05d}" for i in range(128)])
    for kind, n in ((pa.int8(), 128), (pa.uint8(), 128)):
        positions = pa.array([*range(n), None, None], kind)
        values, codes = encode(pa.chunked_array([pa.DictionaryArray.from_arrays(positions, entries)]), "a", "b")
        assert [values[code] for code in codes] == [*entries.to_pylist(), None, None]
    columns = random_people(1_290)
    zips = pa.array([i % 129 if i % 129 < 128 else None for i in range(1_290)], pa.int8())
    columns["zip"] = pa.DictionaryArray.from_arrays(zips, entries)
    policy = {**document(), "max_suppression": 0}
    case = Case(pa.table(columns).drop_columns(["sex"]), policy, memory=10**7)
    del policy["attributes"]["sex"]
    released = release(case, engine, tmp_path)
    assert released.record["levels"] == {"zip": 0}
    assert released.frame.column("zip").null_count == 10


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("column", ["zip", "illness"])
def test_files_with_narrow_dictionaries_of_their_own_are_one_table(column, engine, tmp_path):
    """As pandas writes categories: 100 in each of three files, named by 8 bits, 300 together."""
    parts = []
    for i in range(3):
        entries = pa.array([f"{100 * i + j:05d}" for j in range(100)])
        coded = pa.DictionaryArray.from_arrays(pa.array([j % 100 for j in range(1_000)], pa.int8()), entries)
        parts.append(pa.table({**random_people(1_000), column: coded}))
    source = tmp_path / "table"
    source.mkdir()
    for i, part in enumerate(parts):
        parquet.write_table(part, source / f"{i}.parquet")
    # The same people are in all three files, and heights that come three times tell what is kept of them.
    policy = document(illness=OPENLY, score=OPENLY) | {"records_are_persons": True}
    case = Case(pa.concat_tables(parts), policy, memory=10**7)
    released = release(case, engine, tmp_path)
    assert released.record["records"]["released"] > 2_400
    kept = [own.column("illness").cast(pa.string()) for own in parts]
    rows = released.linkage.column("original_row")
    was = pa.chunked_array([chunk for own in kept for chunk in own.chunks]).take(rows)
    assert released.frame.column("illness").cast(pa.string()).to_pylist() == was.to_pylist()


def test_numbers_that_are_none_any_more_are_noticed(tmp_path, monkeypatch):
    """At the second reading: NaN that was no null would be taken for a missing value."""
    from kepsilon.engines.spilling import columns as spilling

    read, n_readings = spilling.read_doubles, []

    def second_differs(column, name, source, reading):
        values, wrong = read(column, name, source, reading)
        n_readings.append(len(column))
        if sum(n_readings) > 3_000:
            return values, WrongNumbers(n_not_finite=1)
        return values, wrong

    monkeypatch.setattr(spilling, "read_doubles", second_differs)
    with pytest.raises(kepsilon.EngineError, match="was changed while it was being read"):
        release(plain(), "spilling", tmp_path)
    assert list(tmp_path.glob(f"{SPILL_PREFIX}*")) == []


def test_rare_categories_come_back(tmp_path):
    """Every part of every bucket has a dictionary of its own."""
    case = rare_categories()
    released = release(case, "spilling", tmp_path)
    rows = released.linkage.column("original_row")
    was = case.table.column("illness").cast(pa.string()).take(rows).to_pylist()
    assert released.frame.column("illness").to_pylist() == was
